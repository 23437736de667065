/* What a tracker knows, as words that can be compared; and how all ids in it are raised by a constant. See tracker.h.
 *
 * Two trackers answer alike, but for a constant that is added to all ids, if their states differ by that constant: the
 * same boxes are entries, with writers and readers that correspond, and so do notes. What lies below the applied
 * horizon reads as the horizon, so it is rewritten first. Thread of the stage. */
#include "plan/track/impl.h"

#include <string.h>

void ti_tracker_state_add(ti_tracker_state *state, const void *from, size_t bytes)
{
    const size_t words = bytes / sizeof(uint64_t);
    TI_ASSERT(bytes % sizeof(uint64_t) == 0);
    if (words > 0) {
        ti_vec_reserve(&state->others, state->others.count + words);
        memcpy(state->others.data + state->others.count, from, bytes);
        state->others.count += words;
    }
}

/* An id that only counts if it came after the horizon. */
static void add_recent(ti_tracker_state *state, const ti_tracker *t, uint64_t id)
{
    ti_vec_push(&state->ids, id > t->era->applied ? id : 0);
}

static void describe_entry(const ti_tracker *t, const ti_region_entry *e, ti_tracker_state *state)
{
    const bool marked = e->value & TI_TRACKER_MARK;
    const struct ti_tracker_record *r = marked ? ti_tracker_record_of(t, e->value) : NULL;
    const uint64_t readers = r ? r->readers.count : 0;
    ti_tracker_state_add(state, &e->box, sizeof(e->box));
    ti_tracker_state_add(state, &readers, sizeof(readers));
    ti_vec_push(&state->ids, r ? r->writer : e->value);
    for (size_t i = 0; i < readers; i++) {
        ti_vec_push(&state->ids, r->readers.data[i]);
    }
}

static void describe_note(const ti_tracker_note *n, ti_tracker_state *state)
{
    const uint64_t counts[] = { (uint64_t)n->along, n->border.count };
    ti_tracker_state_add(state, &n->box, sizeof(n->box));
    ti_tracker_state_add(state, counts, sizeof(counts));
    ti_tracker_state_add(state, n->border.data, n->border.count * sizeof(*n->border.data));
    ti_vec_push(&state->ids, n->first);
    ti_vec_push(&state->ids, n->last);
}

void ti_tracker_describe(ti_tracker *t, ti_tracker_state *state)
{
    ti_region_entries *all = &t->era->scratch;
    ti_tracker_forget_passed(t);
    const ti_box everything = ti_box_everything();
    ti_region_map_refer(&t->map, &everything, &t->era->met);
    for (size_t i = 0; i < t->era->met.count; i++) {
        *t->era->met.data[i].value = ti_tracker_normalise(t, *t->era->met.data[i].value);
    }
    ti_vec_clear(all);
    ti_region_map_query(&t->map, &everything, all);
    const uint64_t counts[] = { all->count, t->notes.count };
    ti_tracker_state_add(state, counts, sizeof(counts));
    for (size_t i = 0; i < all->count; i++) {
        describe_entry(t, &all->data[i], state);
    }
    for (size_t i = 0; i < t->notes.count; i++) {
        describe_note(&t->notes.data[i], state);
    }
    add_recent(state, t, t->newest);
    add_recent(state, t, t->newest_noted);
    add_recent(state, t, t->forgotten);
}

bool ti_tracker_state_has_grown(const ti_tracker_state *before, const ti_tracker_state *after, uint64_t by)
{
    bool grown = before->ids.count == after->ids.count && before->others.count == after->others.count &&
                 (before->others.count == 0 || memcmp(before->others.data, after->others.data,
                                                      before->others.count * sizeof(*before->others.data)) == 0);
    for (size_t i = 0; grown && i < before->ids.count; i++) {
        const uint64_t id = before->ids.data[i];
        grown = after->ids.data[i] == (id ? id + by : 0);
    }
    return grown;
}

void ti_tracker_state_fini(ti_tracker_state *state)
{
    ti_vec_fini(&state->ids);
    ti_vec_fini(&state->others);
}

static inline uint64_t shifted(uint64_t id, uint64_t first, uint64_t by)
{
    return id >= first ? id + by : id;
}

void ti_tracker_shift(ti_tracker *t, uint64_t first, uint64_t by)
{
    TI_ASSERT(first > 0);
    const ti_box everything = ti_box_everything();
    ti_region_map_refer(&t->map, &everything, &t->era->met);
    for (size_t i = 0; i < t->era->met.count; i++) {
        uint64_t *value = t->era->met.data[i].value;
        if (!(*value & TI_TRACKER_MARK)) {
            *value = shifted(*value, first, by);
            continue;
        }
        struct ti_tracker_record *r = ti_tracker_record_of(t, *value);
        r->writer = shifted(r->writer, first, by);
        for (size_t k = 0; k < r->readers.count; k++) {
            r->readers.data[k] = shifted(r->readers.data[k], first, by);
        }
    }
    for (size_t i = 0; i < t->notes.count; i++) {
        t->notes.data[i].first = shifted(t->notes.data[i].first, first, by);
        t->notes.data[i].last = shifted(t->notes.data[i].last, first, by);
    }
    t->newest = shifted(t->newest, first, by);
    t->newest_noted = shifted(t->newest_noted, first, by);
    t->forgotten = shifted(t->forgotten, first, by);
}
