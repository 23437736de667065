/* Notes of trackers, who reads many entries at once, and rows, which one id after the other touches: see impl.h. */
#include "plan/track/impl.h"

#include "base/check.h"

/* A new one at the end; borders of earlier ones are used again. */
static ti_tracker_note *add_note(ti_tracker *t, const ti_box *box, uint64_t first, uint64_t last)
{
    ti_vec_reserve(&t->notes, t->notes.count + 1);
    ti_tracker_note *n = &t->notes.data[t->notes.count++];
    if (t->notes.count > t->notes_made) {
        *n = (ti_tracker_note){ .first = 0 };
        t->notes_made++;
    }
    n->box = *box;
    n->first = first;
    n->last = last;
    ti_vec_clear(&n->border);
    t->newest_noted = last;
    return n;
}

/* The notes at [first, end) go; their borders stay behind those that are left. */
static void drop_notes(ti_tracker *t, size_t first, size_t end)
{
    for (; end < t->notes.count; first++, end++) {
        ti_tracker_note gone = t->notes.data[first];
        t->notes.data[first] = t->notes.data[end];
        t->notes.data[end] = gone;
    }
    t->notes.count = first;
}

/* Where the horizon has passed a note, readers after it may not follow the horizon. */
void ti_tracker_fade(ti_tracker *t)
{
    ti_tracker_note *faded = &t->faded;
    if (faded->last <= t->era->applied) {
        faded->box = t->notes.data[0].box;
    }
    size_t gone = 0;
    while (gone < t->notes.count && t->notes.data[gone].last <= t->era->applied) {
        faded->box = ti_box_bounding(&faded->box, &t->notes.data[gone++].box);
    }
    drop_notes(t, 0, gone);
    faded->last = t->newest;
}

/* All of `box` has been written: who read it before does not count any more. With few notes that does not matter. */
void ti_tracker_drop_notes_in(ti_tracker *t, const ti_box *box)
{
    enum { FEW = 8 };
    for (size_t i = t->notes.count > FEW ? t->notes.count : 0; i-- > 0;) {
        if (ti_box_covers(box, &t->notes.data[i].box)) {
            drop_notes(t, i, i + 1);
        }
    }
}

/* Whether an entry's readers, the newest of which is `reader`, may have come before notes faded there. */
static inline bool has_faded(const ti_tracker *t, uint64_t writer, uint64_t reader, const ti_box *box)
{
    uint64_t applied = t->era->applied;
    return t->faded.last > applied && writer <= applied && reader > applied && ti_box_meets(&t->faded.box, box);
}

/* Those who have read the boxes of a row that meet `box`. */
static void depend_on_row(const ti_tracker *t, const ti_tracker_note *n, const ti_box *box, ti_deps *deps)
{
    for (size_t i = 0; i + 1 < n->border.count; i++) {
        if (n->border.data[i] < box->max[n->along] && box->min[n->along] < n->border.data[i + 1]) {
            ti_deps_push(deps, ti_tracker_now(t, n->first + i));
        }
    }
}

/* Whoever writes `box`, a part of an entry, waits for those who have noted that they read it. Returns whether there are any; *covered: whether a
 * note covers all of it, so that nobody needs to wait for the writer. */
static inline bool depend_on_notes(const ti_tracker *t, const ti_box *box, uint64_t writer, ti_deps *deps,
                                   bool *covered)
{
    bool met = false;
    for (size_t i = t->notes.count; i-- > 0 && t->notes.data[i].last > writer;) {
        const ti_tracker_note *n = &t->notes.data[i];
        bool covers = ti_box_covers(&n->box, box);
        if (!covers && !ti_box_meets(&n->box, box)) {
            continue;
        }
        met = true;
        *covered |= covers;
        if (n->first == n->last) {
            ti_deps_push(deps, n->last);
        } else if (n->border.count == 0 || ti_box_covers(box, &n->box)) {
            ti_deps_push_all(deps, TI_MAX(n->first, t->era->applied), n->last);
        } else {
            depend_on_row(t, n, box, deps);
        }
    }
    return met;
}

/* What a write of `box`, which meets the entry, waits for. Where notes cover parts of it only, that includes the writer. */
void ti_tracker_depend_on_noted(const ti_tracker *t, const ti_region_ref *e, const ti_box *box, ti_deps *deps)
{
    const struct ti_tracker_record *r = *e->value & TI_TRACKER_MARK ? ti_tracker_record_of(t, *e->value) : NULL;
    uint64_t writer = r ? r->writer : *e->value, newest = r ? r->readers.data[r->readers.count - 1] : 0;
    bool covered = false;
    if (t->newest_noted > writer) {
        bool whole = box == e->box || ti_box_covers(box, e->box);
        ti_box part = whole ? *box : ti_box_intersect(e->box, box);
        newest = depend_on_notes(t, whole ? e->box : &part, writer, deps, &covered) ? t->newest : newest;
    }
    if (r || !covered) {
        ti_tracker_depend_on_entry(t, *e->value, deps);
    }
    if (TI_UNLIKELY(has_faded(t, writer, newest, e->box))) {
        ti_deps_push(deps, t->era->applied);
    }
}

void ti_tracker_note_read(ti_tracker *t, const ti_box *box, uint64_t id)
{
    const ti_tracker_note *last = t->notes.count ? &t->notes.data[t->notes.count - 1] : NULL;
    if (!last || last->last != id || !ti_box_covers(&last->box, box)) {
        add_note(t, box, id, id);
    }
}

/* ---- rows */

/* Of `row`, which follows what was noted last, or not. */
static void note_row(ti_tracker *t, const ti_row *row, uint64_t first)
{
    ti_tracker_note *last = t->notes.count ? &t->notes.data[t->notes.count - 1] : NULL;
    ti_box joined;
    bool goes_on = last && last->border.count && last->last == first - 1 && last->along == row->along &&
                   last->box.max[row->along] == row->border[0] && ti_box_join(&last->box, &row->box, &joined);
    if (goes_on) {
        last->box = joined;
        last->last = t->newest_noted = first + row->count - 1;
    } else {
        last = add_note(t, &row->box, first, first + row->count - 1);
        last->along = row->along;
        ti_vec_push(&last->border, row->border[0]);
    }
    ti_vec_reserve(&last->border, last->border.count + row->count);
    for (uint32_t i = 1; i <= row->count; i++) {
        last->border.data[last->border.count++] = row->border[i];
    }
}

bool ti_tracker_read_row(ti_tracker *t, const ti_row *row, uint64_t first, ti_deps *deps)
{
    ti_tracker_fade_old(t);
    ti_region_map_refer(&t->map, &row->box, &t->met);
    if (t->met.count != 1 || !ti_box_covers(t->met.data[0].box, &row->box) || t->notes.count == TI_MOST_NOTES) {
        return false;
    }
    t->newest = first + row->count - 1;
    ti_deps_push(deps, ti_tracker_now(t, ti_tracker_writer_of(t, *t->met.data[0].value)));
    note_row(t, row, first);
    return true;
}

/* Whether all notes after `writer` that meet `box` cover it. They came in (after, before), and before that others, or none. */
static bool notes_cover(const ti_tracker *t, const ti_box *box, uint64_t writer, uint64_t *after, uint64_t *before)
{
    *after = 0;
    *before = UINT64_MAX;
    for (size_t i = t->notes.count; i-- > 0 && *after == 0;) {
        const ti_tracker_note *n = &t->notes.data[i];
        if (n->last <= writer) {
            *after = n->last;
        } else if (ti_box_covers(&n->box, box) && n->border.count == 0) {
            *before = n->first;
        } else if (ti_box_meets(&n->box, box)) {
            return false;
        }
    }
    return *before < UINT64_MAX;
}

bool ti_tracker_write_row(ti_tracker *t, const ti_row *row, uint64_t first, ti_deps *deps)
{
    uint64_t *value[TI_MOST_IN_ROW], after = 0, before = 0;
    bool covered = false, faded = false;
    ti_tracker_fade_old(t);
    for (uint32_t i = 0; i < row->count; i++) {
        ti_box box = ti_row_box(row, i);
        value[i] = ti_region_map_find(&t->map, &box);
        if (!value[i] || (i == 0 && !notes_cover(t, &row->box, *value[0], &after, &before)) || *value[i] <= after ||
            *value[i] >= before) { /* a record is larger than any id */
            return false;
        }
        faded |= has_faded(t, *value[i], t->newest, &row->box);
    }
    for (uint32_t i = 0; i < row->count; i++) {
        *value[i] = first + i;
    }
    depend_on_notes(t, &row->box, before - 1, deps, &covered);
    if (faded) {
        ti_deps_push(deps, t->era->applied);
    }
    return true;
}
