/* Notes: reads that are listed beside the map of a tracker. See impl.h.
 *
 * A read of many entries would have to be added to the record of each, and soon a write drops all those records again.
 * Instead the tracker has a list of notes in the order of their ids: "these ids have read this box". Whoever writes
 * looks through the list, from the newest note back to the writer of the entry; earlier notes do not count for it,
 * since the writer has waited for them. If a note covers all that is written of the entry, nobody needs to wait for the
 * entry's writer, whom the noted readers follow. Otherwise the writer is waited for too.
 *
 * A note may stand for many ids: all of them have read its box, as messages do that send the same data to many nodes.
 * Or, if it has borders, each id has read one box of a box run, as messages do that send neighbouring parts.
 *
 * Once the applied horizon has passed a note, the note is forgotten, because writers wait for that horizon instead. One
 * case needs care. An entry may have readers that are newer than the horizon but were planned before it was applied.
 * Those wait for the entry's writer under its own name, not for the horizon. A writer that waits for such readers alone
 * would miss the readers that have been forgotten. So where something has been forgotten since the oldest of such
 * readers may have come, the writer waits for the horizon as well (misses_forgotten).
 *
 * Invariants: notes ascend, and there are at most TI_MAX_NOTES; then reads are added to entries again. Thread of the
 * stage. */
#include "plan/track/impl.h"

#include <string.h>

/* Those at [first, end). */
static void drop_notes(ti_tracker *t, size_t first, size_t end)
{
    TI_ASSERT(first <= end && end <= t->notes.count);
    for (; end < t->notes.count; first++, end++) { /* what is dropped moves to the end, for its borders */
        ti_tracker_note dropped = t->notes.data[first];
        t->notes.data[first] = t->notes.data[end];
        t->notes.data[end] = dropped;
    }
    t->notes.count = first;
}

void ti_tracker_forget(ti_tracker *t)
{
    size_t passed = 0;
    while (passed < t->notes.count && t->notes.data[passed].last <= t->era->applied) {
        passed++;
    }
    drop_notes(t, 0, passed);
    t->forgotten = t->newest;
}

/* With few notes it does not matter whether some of them have no meaning any more. */
void ti_tracker_drop_notes_in(ti_tracker *t, const ti_box *box)
{
    enum { MAX_KEPT = 8 };
    for (size_t i = t->notes.count > MAX_KEPT ? t->notes.count : 0; i-- > 0;) {
        if (ti_box_covers(box, &t->notes.data[i].box)) {
            drop_notes(t, i, i + 1);
        }
    }
}

static ti_tracker_note *newest_note(const ti_tracker *t)
{
    return t->notes.count ? &t->notes.data[t->notes.count - 1] : NULL;
}

/* The borders of notes that were dropped are used again, so that steady loops allocate nothing. */
static ti_tracker_note *add_note(ti_tracker *t, const ti_box *box, uint64_t first, uint64_t last)
{
    TI_ASSERT(t->notes.count < TI_MAX_NOTES && first <= last && last > t->era->applied);
    if (t->notes.count == t->notes_made) {
        t->notes_made++;
        ti_vec_reserve(&t->notes, t->notes_made);
        t->notes.data[t->notes.count] = (ti_tracker_note){ .first = 0 };
    }
    ti_tracker_note *n = &t->notes.data[t->notes.count++];
    n->box = *box;
    n->first = first;
    n->last = t->newest_noted = last;
    ti_vec_clear(&n->border);
    return n;
}

void ti_tracker_note_read(ti_tracker *t, const ti_box *box, uint64_t id)
{
    const ti_tracker_note *newest = newest_note(t);
    if (!newest || newest->last != id || !ti_box_covers(&newest->box, box)) {
        add_note(t, box, id, id);
    }
}

/* ---- what writers wait for */

/* Whether an entry may have had readers that are forgotten, and that a write does not wait for by waiting for its
 * writer, or for its readers, the newest of which is `reader`. */
static inline bool misses_forgotten(const ti_tracker *t, uint64_t writer, uint64_t reader)
{
    uint64_t applied = t->era->applied;
    return t->forgotten > applied && writer <= applied && reader > applied;
}

typedef enum noted { NOT_NOTED, NOTED_IN_PART, NOTED } noted;

/* Whoever writes `box`, a part of an entry, waits for those readers in notes that are newer than the entry's writer.
 * Returns whether there are any, and whether a note covers all of the box. */
static inline noted depend_on_notes(const ti_tracker *t, const ti_box *box, uint64_t writer, ti_deps *deps)
{
    noted found = NOT_NOTED;
    for (size_t i = t->notes.count; i-- > 0 && t->notes.data[i].last > writer;) {
        const ti_tracker_note *n = &t->notes.data[i];
        if (!ti_box_meets(&n->box, box)) {
            continue;
        }
        found = ti_box_covers(&n->box, box) ? NOTED : TI_MAX(found, NOTED_IN_PART);
        TI_ASSERT(n->first > t->era->applied);
        for (uint64_t id = n->first; id <= n->last; id++) {
            const int64_t *border = n->border.count ? &n->border.data[id - n->first] : NULL;
            if (!border || (border[0] < box->max[n->along] && box->min[n->along] < border[1])) {
                ti_deps_push(deps, id);
            }
        }
    }
    return found;
}

void ti_tracker_depend_on_noted(const ti_tracker *t, const ti_region_ref *e, const ti_box *box, ti_deps *deps)
{
    const struct ti_tracker_record *r = *e->value & TI_TRACKER_MARK ? ti_tracker_record_of(t, *e->value) : NULL;
    bool is_read = r && r->readers.count > 0;
    uint64_t writer = r ? r->writer : *e->value, newest = is_read ? r->readers.data[r->readers.count - 1] : 0;
    noted found = NOT_NOTED;
    if (t->newest_noted > writer) {
        const ti_box part = box == e->box ? *box : ti_box_intersect(e->box, box);
        found = depend_on_notes(t, &part, writer, deps);
    }
    if (is_read || found != NOTED) {
        ti_tracker_depend_on_entry(t, *e->value, deps);
    }
    if (TI_UNLIKELY(misses_forgotten(t, writer, found == NOT_NOTED ? newest : t->newest))) {
        ti_deps_push(deps, t->era->applied);
    }
}

/* ---- box runs */

/* Add a run to the newest note, which it continues, or as a new note. */
static void note_run(ti_tracker *t, const ti_box_run *run, uint64_t first)
{
    ti_tracker_note *newest = newest_note(t);
    ti_box joined;
    bool goes_on = newest && newest->border.count && newest->last == first - 1 && newest->along == run->along &&
                   newest->box.max[run->along] == run->border[0] && ti_box_join(&newest->box, &run->box, &joined);
    if (goes_on) {
        TI_ASSERT(newest->border.data[newest->border.count - 1] == run->border[0]);
        newest->box = joined;
        newest->last = t->newest_noted = first + run->count - 1;
    } else {
        newest = add_note(t, &run->box, first, first + run->count - 1);
        newest->along = run->along;
        ti_vec_push(&newest->border, run->border[0]);
    }
    ti_vec_reserve(&newest->border, newest->border.count + run->count);
    memcpy(newest->border.data + newest->border.count, run->border + 1, run->count * sizeof(int64_t));
    newest->border.count += run->count;
    TI_ASSERT(newest->border.count == newest->last - newest->first + 2);
}

bool ti_tracker_read_run(ti_tracker *t, const ti_box_run *run, uint64_t first, ti_deps *deps)
{
    ti_tracker_forget_passed(t);
    ti_region_map_refer(&t->map, &run->box, &t->era->met);
    if (t->era->met.count != 1 || !ti_box_covers(t->era->met.data[0].box, &run->box) ||
        t->notes.count == TI_MAX_NOTES) {
        return false;
    }
    t->newest = first + run->count - 1;
    ti_deps_push(deps, ti_tracker_now(t, ti_tracker_writer_of(t, *t->era->met.data[0].value)));
    note_run(t, run, first);
    return true;
}

/* Whether `box`, whose writers lie in [oldest, newest], has been read since in notes that cover all of it, and in no
 * others. */
static bool is_read_as_a_whole(const ti_tracker *t, const ti_box *box, uint64_t oldest, uint64_t newest)
{
    bool is_read = false;
    for (size_t i = t->notes.count; i-- > 0 && t->notes.data[i].last > oldest;) {
        const ti_tracker_note *n = &t->notes.data[i];
        if (ti_box_meets(&n->box, box)) {
            if (n->first <= newest || n->border.count > 0 || !ti_box_covers(&n->box, box)) {
                return false;
            }
            is_read = true;
        }
    }
    return is_read;
}

bool ti_tracker_write_run(ti_tracker *t, const ti_box_run *run, uint64_t first, ti_deps *deps)
{
    uint64_t *writer[TI_MAX_IN_RUN], oldest = UINT64_MAX, newest = 0;
    TI_ASSERT(run->count > 0 && run->count <= TI_MAX_IN_RUN && run->along >= 0 && run->along < 3);
    ti_tracker_forget_passed(t);
    for (uint32_t i = 0; i < run->count; i++) {
        ti_box box = ti_box_run_at(run, i);
        writer[i] = ti_region_map_find(&t->map, &box);
        if (!writer[i] || *writer[i] & TI_TRACKER_MARK) {
            return false;
        }
        oldest = TI_MIN(oldest, *writer[i]);
        newest = TI_MAX(newest, *writer[i]);
    }
    if (!is_read_as_a_whole(t, &run->box, oldest, newest)) {
        return false;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        *writer[i] = first + i;
    }
    depend_on_notes(t, &run->box, newest, deps);
    if (misses_forgotten(t, oldest, t->newest)) {
        ti_deps_push(deps, t->era->applied);
    }
    return true;
}
