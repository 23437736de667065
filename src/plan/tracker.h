/* Who wrote and who read each part of a buffer last: the source of all dependencies, in every stage.
 *
 * A tracker maps disjoint boxes to {last writer, readers since}, by id (of tasks, commands or instructions). Ids ascend. Reading a box yields its
 * writers; writing it yields its readers, or where nobody read since, its writers. Reads and writes cut entries at their borders.
 *
 * Horizons: all trackers of a stage share an era. After ti_era_apply(h) every id below h *reads as* h. Nothing is rewritten at that moment, whatever
 * there is: applying a horizon is one store. Entries are rewritten when something touches them, and merged in two cases: a read that touches
 * several old ones makes one of them, and while a stage has more entries than its bound, every entry that is added pays for looking at a few
 * others. So the number of entries depends on that bound and on what the last two horizons saw, not on the length of the run; and boxes that are
 * used again and again, like tiles or single elements, stay as they are.
 * Owned by the thread of its stage. */
#ifndef TI_TRACKER_H
#define TI_TRACKER_H

#include "grid/region.h"
#include "grid/region_map.h"

/* Ids that something depends on, without repetition: a list, and once it is long also a set, which gets them when somebody asks. Ids often come
 * in ascending order, once or a few times over, and then nobody does: all ids are in [low, last] or from `ceiling` on. */
typedef struct ti_deps {
    TI_VEC(uint64_t) ids;
    uint64_t low, last, ceiling;
    size_t in_set;  /* this many of the list */
    uint64_t self;  /* whose dependencies these are: never added */
    uint64_t round; /* of the set's slots, those of this round are in use */
    struct ti_deps_slot {
        uint64_t id, round;
    } * slot;
    size_t slots; /* a power of two */
} ti_deps;

void ti_deps_add(ti_deps *deps, uint64_t id); /* 0 is nobody */
static inline void ti_deps_start(ti_deps *deps, uint64_t self)
{
    deps->ids.count = 0;
    deps->low = deps->ceiling = UINT64_MAX;
    deps->last = 0;
    deps->in_set = 0;
    deps->self = self;
    deps->round++;
}
void ti_deps_fini(ti_deps *deps);

typedef TI_VEC(uint64_t) ti_tracker_readers;

enum { TI_ERA_ENTRIES = 32768 };

/* A zeroed one is fresh. */
typedef struct ti_era {
    uint64_t applied;
    size_t entries; /* of all its trackers */
    size_t bound;   /* more entries than these are merged; 0: TI_ERA_ENTRIES */
} ti_era;

static inline void ti_era_apply(ti_era *era, uint64_t horizon)
{
    era->applied = horizon;
}

typedef struct ti_tracker {
    ti_era *era;
    ti_region_map map; /* value: writer id, or the index of a record with a mark */
    struct ti_tracker_record {
        uint64_t writer;
        ti_tracker_readers readers;
        uint32_t next_free;
    } * record;
    uint32_t records, free_record;
    uint64_t cursor;           /* where to look for entries to merge, */
    ti_region_entries waiting; /* and those that are looked at next */
    ti_region_refs met;
    ti_region_entries scratch, touching;
    ti_boxes rest;
} ti_tracker;

/* The era outlives the tracker. */
void ti_tracker_init(ti_tracker *t, ti_era *era);
void ti_tracker_fini(ti_tracker *t);

/* Where one id reads and writes the same box, its reads are recorded first. */
/* `id` reads `box`: adds the last writers to `deps`. Parts that nobody wrote add nothing. */
void ti_tracker_read(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps);
/* The `count` ids from `first` on read what the id before them has just read; their dependencies are the same. */
void ti_tracker_read_again(ti_tracker *t, const ti_box *box, uint64_t first, size_t count);
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
bool ti_tracker_is_valid(ti_tracker *t);

#endif
