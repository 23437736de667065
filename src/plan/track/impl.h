/* What the files of trackers share: values of entries, notes. Included by tracker*.c only.
 *
 * Most entries have a writer and no reader; their map value is the writer's id. Only entries with readers have a record,
 * and the value is the record's index with the mark bit.
 *
 * Notes are exact where one of them covers what is written of an entry; otherwise the writer is waited for too, which all readers follow. What follows a
 * reader that came before the horizon was applied need not follow that horizon: so the horizon itself is waited for where notes have
 * faded beneath such readers. */
#ifndef TI_TRACKER_IMPL_H
#define TI_TRACKER_IMPL_H

#include "plan/track/tracker.h"

#define TI_TRACKER_MARK ((uint64_t)1 << 63)
enum { TI_MOST_NOTES = 64 };

static inline uint64_t ti_tracker_now(const ti_tracker *t, uint64_t id)
{
    return id && id < t->era->applied ? t->era->applied : id;
}

static inline struct ti_tracker_record *ti_tracker_record_of(const ti_tracker *t, uint64_t value)
{
    return &t->record[value & ~TI_TRACKER_MARK];
}

static inline uint64_t ti_tracker_writer_of(const ti_tracker *t, uint64_t value)
{
    return value & TI_TRACKER_MARK ? ti_tracker_record_of(t, value)->writer : value;
}

static inline void ti_tracker_depend_on_readers(const ti_tracker *t, const struct ti_tracker_record *r, ti_deps *deps)
{
    if (r->readers.count == 0) {
        ti_deps_push(deps, ti_tracker_now(t, r->writer));
    }
    for (size_t i = 0; i < r->readers.count; i++) {
        ti_deps_push(deps, ti_tracker_now(t, r->readers.data[i]));
    }
}

/* Who uses an entry, but for notes. */
static inline void ti_tracker_depend_on_entry(const ti_tracker *t, uint64_t value, ti_deps *deps)
{
    const struct ti_tracker_record *r = value & TI_TRACKER_MARK ? ti_tracker_record_of(t, value) : NULL;
    if (r && r->readers.count != 1) {
        ti_tracker_depend_on_readers(t, r, deps);
    } else {
        ti_deps_push(deps, ti_tracker_now(t, r ? r->readers.data[0] : value));
    }
}

/* note.c: forget what the horizon has passed; what has been overwritten by a write of `box`. */
void ti_tracker_fade(ti_tracker *t);
void ti_tracker_drop_notes_in(ti_tracker *t, const ti_box *box);
static inline void ti_tracker_fade_old(ti_tracker *t)
{
    if (TI_UNLIKELY(t->notes.count > 0 && t->notes.data[0].last <= t->era->applied)) {
        ti_tracker_fade(t);
    }
}
/* `id` reads `box`, beside the map. There are fewer than TI_MOST_NOTES. */
void ti_tracker_note_read(ti_tracker *t, const ti_box *box, uint64_t id);
/* What a write of `box`, which meets the entry, waits for. */
void ti_tracker_depend_on_noted(const ti_tracker *t, const ti_region_ref *e, const ti_box *box, ti_deps *deps);

#endif
