/* What the files of trackers share.
 *
 * tracker.c keeps the map from boxes to {last writer, readers since}, and calls note.c for reads that are listed beside
 * the map. state.c says what a tracker knows, for whoever compares that. Nothing else includes this. Thread of the
 * stage.
 *
 * Most entries have a writer and no reader; their map value is the writer's id. An entry with readers has a record, and
 * its value is the record's index with the mark bit. So has one that is a tile: it is found by the tile's number,
 * without a look at the map, and keeps its record until it is cut or merged. A tile that consists of a few entries has
 * parts: where these lie, as long as the map does not change. Invariant: readers of a record ascend. */
#ifndef TI_TRACKER_IMPL_H
#define TI_TRACKER_IMPL_H

#include "base/check.h"
#include "plan/track/tracker.h"

#define TI_TRACKER_MARK ((uint64_t)1 << 63)
enum { TI_MAX_NOTES = 64 };

enum { TI_TRACKER_MAX_PARTS = 4096 }; /* 0.6 MB */

struct ti_tracker_parts {
    TI_VEC(struct ti_tracker_part {
        ti_tracker_found found;
        uint32_t tile; /* whose parts they are: others may have come since; or 0 */
    })
    of;
    TI_VEC(uint32_t) unused;
    size_t refused; /* how often there was no room: one in SELDOM takes another's place */
};

static inline struct ti_tracker_record *ti_tracker_record_of(const ti_tracker *t, uint64_t value)
{
    TI_ASSERT((value & ~TI_TRACKER_MARK) < t->record.count);
    return &t->record.data[value & ~TI_TRACKER_MARK];
}

static inline uint64_t ti_tracker_writer_of(const ti_tracker *t, uint64_t value)
{
    return value & TI_TRACKER_MARK ? ti_tracker_record_of(t, value)->writer : value;
}

/* What the map knows of the users of an entry: its readers, or if there are none its writer. */
static inline void ti_tracker_depend_on_entry(const ti_tracker *t, uint64_t value, ti_deps *deps)
{
    if (!(value & TI_TRACKER_MARK)) {
        ti_deps_push(deps, ti_tracker_now(t, value));
        return;
    }
    const ti_tracker_readers *readers = &ti_tracker_record_of(t, value)->readers;
    if (readers->count == 0) {
        ti_deps_push(deps, ti_tracker_now(t, ti_tracker_writer_of(t, value)));
    }
    for (size_t i = 0; i < readers->count; i++) {
        ti_deps_push(deps, ti_tracker_now(t, readers->data[i]));
    }
}

/* ---- tracker.c, for state.c */

/* Rewrite what of a value lies below the applied horizon. */
uint64_t ti_tracker_normalise(ti_tracker *t, uint64_t value);

/* ---- note.c, which is called by tracker.c and state.c */

/* Forget the notes that the applied horizon has passed. To be called before anything looks at notes. */
void ti_tracker_forget(ti_tracker *t);
static inline void ti_tracker_forget_passed(ti_tracker *t)
{
    if (TI_UNLIKELY(t->notes.count > 0 && t->notes.data[0].last <= t->era->applied)) {
        ti_tracker_forget(t);
    }
}
/* `id` reads `box`. There are fewer than TI_MAX_NOTES. */
void ti_tracker_note_read(ti_tracker *t, const ti_box *box, uint64_t id);
/* What a write of `box`, which meets the entry, waits for: the users that the map knows, and those in notes. */
void ti_tracker_depend_on_noted(const ti_tracker *t, const ti_region_ref *e, const ti_box *box, ti_deps *deps);
/* A write of `box` makes up for notes that lie in it. */
void ti_tracker_drop_notes_in(ti_tracker *t, const ti_box *box);

#endif
