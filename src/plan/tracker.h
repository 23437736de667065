/* Who wrote and who read each part of a buffer last: the source of all dependencies, in every stage.
 *
 * A tracker maps disjoint boxes to {last writer, readers since}, by id (of tasks, commands or instructions). Ids ascend. Reading a box yields its
 * writers; writing it yields its readers, or where nobody read since, its writers. Reads and writes cut entries at their borders.
 *
 * Horizons: all trackers of a stage share an era. After ti_era_apply(h) every id below h *reads as* h. Nothing is rewritten
 * at that moment but what is young: entries are rewritten and merged when something touches them, and by a sweep over the
 * entries made since the last horizon. So the number of entries depends on what the last two horizons saw, not on the
 * length of the run, and the cost of a horizon on neither the number of buffers nor that of entries.
 * Owned by the thread of its stage. */
#ifndef TI_TRACKER_H
#define TI_TRACKER_H

#include "grid/region.h"
#include "grid/region_map.h"

/* Ids that something depends on, without repetition. */
typedef struct ti_deps {
    TI_VEC(uint64_t) ids;
    uint64_t self; /* whose dependencies these are: never added */
} ti_deps;

void ti_deps_add(ti_deps *deps, uint64_t id); /* 0 is nobody */
static inline void ti_deps_start(ti_deps *deps, uint64_t self)
{
    deps->ids.count = 0;
    deps->self = self;
}
void ti_deps_fini(ti_deps *deps);

typedef TI_VEC(uint64_t) ti_tracker_readers;

typedef struct ti_tracker ti_tracker;

typedef struct ti_era {
    uint64_t applied;
    TI_VEC(ti_tracker *) dirty; /* those with young entries */
} ti_era;

void ti_era_fini(ti_era *era); /* a zeroed era is a fresh one */
void ti_era_apply(ti_era *era, uint64_t horizon);

struct ti_tracker {
    ti_era *era;
    ti_region_map map; /* value: writer id, or the index of a record with a mark */
    struct ti_tracker_record {
        uint64_t writer;
        ti_tracker_readers readers;
        uint32_t next_free;
    } * record;
    uint32_t records, free_record;
    ti_region_entries young; /* entries made since the last sweep, if there are many */
    ti_region_entries scratch, touching;
    ti_boxes rest;
};

/* The tracker stays where it is until fini: its era points to it. */
void ti_tracker_init(ti_tracker *t, ti_era *era);
void ti_tracker_fini(ti_tracker *t);

/* Where one id reads and writes the same box, its reads are recorded first. */
/* `id` reads `box`: adds the last writers to `deps`. Parts that nobody wrote add nothing. */
void ti_tracker_read(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps);
/* `id` writes `box`: adds the readers and writers that it must wait for. */
void ti_tracker_write(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps);
/* What has to be awaited before `box` may be written, without writing it. */
void ti_tracker_uses(ti_tracker *t, const ti_box *box, ti_deps *deps);
/* Whether somebody wrote every element of `box`; if not, `hole` is a box that nobody wrote. */
bool ti_tracker_is_written(ti_tracker *t, const ti_box *box, ti_box *hole);
/* The written parts of `box`. */
void ti_tracker_written(ti_tracker *t, const ti_box *box, ti_region_entries *out);
/* Forget what is known of `box`. */
void ti_tracker_forget(ti_tracker *t, const ti_box *box);
bool ti_tracker_is_valid(const ti_tracker *t);

#endif
