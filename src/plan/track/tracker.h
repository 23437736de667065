/* Who wrote and who read each part of a buffer last: the source of all dependencies, in every stage.
 *
 * A tracker maps disjoint boxes to {last writer, readers since}, by id (of tasks, commands or instructions). Ids
 * ascend. Reading a box yields its writers; writing it yields its readers, or where nobody read since, its writers.
 * Reads and writes cut entries at their borders.
 *
 * Horizons: all trackers of a stage share an era. After ti_era_apply(h) every id below h *reads as* h. Nothing is
 * rewritten at that moment: applying a horizon is one store. Entries are rewritten when something touches them, and
 * merged in two cases. A read that touches several old ones makes one of them. And while a stage has more entries than
 * its bound, every entry that is added pays for looking at a few others. So the number of entries depends on that bound
 * and on what the last two horizons saw, not on the length of the run. Boxes that are used again and again, like tiles
 * or single elements, stay as they are.
 *
 * A read of many entries is not added to each of them, but noted beside the map: see note.c. Owned by the thread of its
 * stage. */
#ifndef TI_TRACKER_H
#define TI_TRACKER_H

#include "grid/region.h"
#include "grid/region_map.h"
#include "grid/tile.h"
#include "plan/track/deps.h"

typedef TI_VEC(uint64_t) ti_tracker_readers;

enum { TI_ERA_ENTRIES = 1 << 18 };

/* A zeroed one is fresh. */
typedef struct ti_era {
    uint64_t applied;
    size_t entries;     /* of all its trackers */
    size_t bound;       /* more entries than these are merged; 0: TI_ERA_ENTRIES */
    size_t few;         /* a read of more entries is noted beside the map; 0: of more than 4 */
    ti_region_refs met; /* scratch of the tracker that is asked */
    ti_region_entries scratch, joining;
} ti_era;

void ti_era_fini(ti_era *era); /* when its trackers are gone */

static inline void ti_era_apply(ti_era *era, uint64_t horizon)
{
    era->applied = horizon;
}

/* A box run: boxes that follow each other along one dimension. The i-th is [border[i], border[i + 1]) there. */
enum { TI_MAX_IN_RUN = 32 };
typedef struct ti_box_run {
    ti_box box; /* around all of them */
    int along;
    uint32_t count;
    int64_t border[TI_MAX_IN_RUN + 1];
} ti_box_run;
static inline ti_box ti_box_run_at(const ti_box_run *run, uint32_t i)
{
    ti_box box = run->box;
    box.min[run->along] = run->border[i];
    box.max[run->along] = run->border[i + 1];
    return box;
}

/* Ids [first, last] have read `box`: each of them all of it, or, if there are borders, one box of a run. */
typedef struct ti_tracker_note {
    ti_box box;
    uint64_t first, last;
    int along;
    TI_VEC(int64_t) border;
} ti_tracker_note;

typedef struct ti_tracker {
    ti_era *era;
    ti_region_map map; /* value: writer id, or the index of a record with a mark */
    TI_VEC(struct ti_tracker_record {
        uint64_t writer;
        ti_tracker_readers readers;
        uint32_t next_free;
        uint32_t tile; /* that is the entry's box, or 0 */
    })
    record;
    ti_tile_notes *tiles; /* the record of a tile that is an entry, + 1: if the record still says so; or its parts */
    struct ti_tracker_parts *parts; /* of tiles that consist of a few entries; or NULL */
    uint32_t free_record;
    uint32_t notes_made; /* behind the notes are others that have borders for the next */
    struct ti_tracker_look {
        uint64_t cursor;           /* where to look for entries to merge, */
        ti_region_entries waiting; /* and those that are looked at next */
    } * look;                      /* NULL until there are too many */
    TI_VEC(ti_tracker_note) notes; /* ascending */
    uint64_t newest, newest_noted; /* of all readers, and of those in notes */
    uint64_t forgotten;            /* the newest reader when notes or readers were forgotten last */
    uint64_t changes;              /* grows whenever entries are added or go: if not, they lie where they lay */
} ti_tracker;

/* The era outlives the tracker. */
void ti_tracker_init(ti_tracker *t, ti_era *era);
void ti_tracker_fini(ti_tracker *t);

/* `id` reads `box`: adds the last writers to `deps`. Parts that nobody wrote add nothing. Where one id reads and writes
 * the same box, its reads are recorded first. */
void ti_tracker_read(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps);
/* The `count` ids from `first` on read what the id before them has just read; their dependencies are the same. */
void ti_tracker_read_again(ti_tracker *t, const ti_box *box, uint64_t first, size_t count);
/* The ids from `first` on read one box of the run each. If their dependencies are the same: adds them to `deps`.
 * Otherwise false, and nothing has changed. */
bool ti_tracker_read_run(ti_tracker *t, const ti_box_run *run, uint64_t first, ti_deps *deps);
/* The same where they write: only if each box is an entry by itself, and they have their readers in common. */
bool ti_tracker_write_run(ti_tracker *t, const ti_box_run *run, uint64_t first, ti_deps *deps);
/* The reader `id`, the newest one, waits for a writer by its own name instead of the applied horizon. */
void ti_tracker_note_early(ti_tracker *t, uint64_t id);
/* Where the entries of a box lie, as long as none has been added or removed: for whoever asks one tracker for the same
 * box again and again. A zeroed one is empty. */
enum { TI_TRACKER_FOUND = 8 };
typedef struct ti_tracker_found {
    uint64_t changes; /* of the tracker, + 1 */
    uint64_t count;
    ti_region_ref entry[TI_TRACKER_FOUND];
} ti_tracker_found;
/* As below and above, with what was found there the last time. */
void ti_tracker_read_found(ti_tracker *t, const ti_box *box, ti_tracker_found *found, uint64_t id, ti_deps *deps);
void ti_tracker_write_found(ti_tracker *t, const ti_box *box, ti_tracker_found *found, uint64_t id, ti_deps *deps);
/* `id` writes `box`: adds the readers and writers that it must wait for. */
void ti_tracker_write(ti_tracker *t, const ti_box *box, uint64_t id, ti_deps *deps);
/* The note of a tile that has parts has this bit, and their index. */
#define TI_TRACKER_PARTS ((uint64_t)1 << 62)
/* Whether this tile is an entry, so that all of it was written; it may have been even if not. */
static inline struct ti_tracker_record *ti_tracker_tile(const ti_tracker *t, uint32_t tile)
{
    const uint64_t note = ti_tile_note_of(t->tiles, tile);
    struct ti_tracker_record *r = note && !(note & TI_TRACKER_PARTS) ? &t->record.data[note - 1] : NULL;
    return r && r->tile == tile ? r : NULL;
}
static inline bool ti_tracker_knows_tile(const ti_tracker *t, uint32_t tile)
{
    return ti_tracker_tile(t, tile) != NULL;
}
/* As ti_tracker_read and ti_tracker_write, where `box` has this number, or 0. */
void ti_tracker_read_any(ti_tracker *t, uint32_t tile, const ti_box *box, uint64_t id, ti_deps *deps);
void ti_tracker_write_any(ti_tracker *t, uint32_t tile, const ti_box *box, uint64_t id, ti_deps *deps);
/* What an id reads as. */
static inline uint64_t ti_tracker_now(const ti_tracker *t, uint64_t id)
{
    return id && id < t->era->applied ? t->era->applied : id;
}
/* Whether a reader can be added as it is: there are some that came after the horizon, at most that one before them, or
 * none, and there is room. */
static inline bool ti_tracker_takes(const ti_tracker *t, const struct ti_tracker_record *r, uint64_t id)
{
    const size_t n = r->readers.count;
    return n < r->readers.capacity &&
           (n == 0 || (r->readers.data[0] >= t->era->applied && r->readers.data[n - 1] > t->era->applied &&
                       r->readers.data[n - 1] != id));
}
/* The same two by number alone. False: it takes the box, and nothing has changed. Nearly all tiles are entries, and few
 * trackers that have any have notes. */
static inline bool ti_tracker_read_number(ti_tracker *t, uint32_t tile, uint64_t id, ti_deps *deps)
{
    struct ti_tracker_record *r = ti_tracker_tile(t, tile);
    if (TI_UNLIKELY(!r || t->notes.count > 0 || !ti_tracker_takes(t, r, id))) {
        return false;
    }
    t->newest = id;
    r->writer = ti_tracker_now(t, r->writer);
    ti_deps_push(deps, r->writer);
    r->readers.data[r->readers.count++] = id;
    return true;
}
static inline bool ti_tracker_write_number(ti_tracker *t, uint32_t tile, uint64_t id, ti_deps *deps)
{
    struct ti_tracker_record *r = ti_tracker_tile(t, tile);
    if (TI_UNLIKELY(!r || t->notes.count > 0 || t->forgotten > t->era->applied)) {
        return false;
    }
    const size_t readers = r->readers.count;
    if (readers == 0) {
        ti_deps_push(deps, ti_tracker_now(t, r->writer));
    }
    for (size_t i = 0; i < readers; i++) {
        ti_deps_push(deps, ti_tracker_now(t, r->readers.data[i]));
    }
    r->writer = id;
    r->readers.count = 0;
    return true;
}
static inline void ti_tracker_read_tile(ti_tracker *t, uint32_t tile, const ti_box *box, uint64_t id, ti_deps *deps)
{
    if (TI_UNLIKELY(!ti_tracker_read_number(t, tile, id, deps))) {
        ti_tracker_read_any(t, tile, box, id, deps);
    }
}
static inline void ti_tracker_write_tile(ti_tracker *t, uint32_t tile, const ti_box *box, uint64_t id, ti_deps *deps)
{
    if (TI_UNLIKELY(!ti_tracker_write_number(t, tile, id, deps))) {
        ti_tracker_write_any(t, tile, box, id, deps);
    }
}
/* What has to be awaited before `box` may be written, without writing it. */
void ti_tracker_uses(ti_tracker *t, const ti_box *box, ti_deps *deps);
/* Whether somebody wrote every element of `box`; if not, `hole` is a box that nobody wrote. */
bool ti_tracker_is_written(ti_tracker *t, const ti_box *box, ti_box *hole);
bool ti_tracker_is_valid(ti_tracker *t);

/* All that trackers know on which a dependency may depend, in an order of its own: the ids, and everything else. */
typedef struct ti_tracker_state {
    TI_VEC(uint64_t) ids, others;
} ti_tracker_state;
/* Append words that do not grow; `bytes` are whole words. */
void ti_tracker_state_add(ti_tracker_state *state, const void *words, size_t bytes);
/* Append what this one knows. What lies below the applied horizon is rewritten. */
void ti_tracker_describe(ti_tracker *t, ti_tracker_state *state);
/* Whether two states differ in that all ids have grown by `by` alone. */
bool ti_tracker_state_has_grown(const ti_tracker_state *before, const ti_tracker_state *after, uint64_t by);
void ti_tracker_state_fini(ti_tracker_state *state);
/* Let all ids from `first` on grow by `by`. */
void ti_tracker_shift(ti_tracker *t, uint64_t first, uint64_t by);

#endif
