/* Producers: which access of which task wrote each part of a buffer that nobody has overwritten, for forwards
 * (plan/task/forward.h).
 *
 * A map from disjoint boxes to producers, with a mark on what a forward has moved. What a horizon has passed may be
 * *merged*: its producers are no longer told apart, since by then the versions of the command graph show who has what.
 * A merged producer remembers how it was written only if all of it was written alike. For the report merged producers
 * are kept apart by name, which changes nothing else. Application thread. */
#ifndef TI_PRODUCER_H
#define TI_PRODUCER_H

#include "grid/region_map.h"
#include "grid/tile.h"
#include "ir/task.h"
#include "plan/track/tracker.h"

/* What tasks must have in common to be divided among nodes alike. Compared as bytes. */
typedef struct ti_geometry {
    ti_box range;
    int64_t gran[3], grid[3];
    uint64_t weights; /* a hash */
    int place, oversubscribe;
    bool two_dimensional;
} ti_geometry;

void ti_geometry_fill(ti_geometry *out, const ti_shape *shape, int nodes);

/* How something was written. */
typedef struct ti_manner {
    ti_geometry geometry;
    ti_mapper mapper;
    uint64_t reduced : 1, /* the result of a reduction: one node has it */
        made : 63;        /* by a write that is known: all with this number have this manner; or 0 */
} ti_manner;

/* How a task may read of a producer: see plan/task/forward.c. */
enum { TI_READ_KINDS = 4 };

typedef struct ti_producer {
    uint64_t task;                       /* 0: merged. Of tiles nothing is looked at but this and the next two words */
    int place;                           /* the node, if it was placed on one and has not reduced; else -1 */
    uint32_t tile : TI_TILE_BITS;        /* not merged: the number of the box, or 0 */
    uint32_t marked : 1;                 /* some of it has a mark */
    uint32_t whole : 1;                  /* nothing of it has gone since it was written */
    int64_t volume;                      /* of what is left; 0: there is no such producer */
    ti_box box;                          /* that it wrote, not merged */
    ti_manner *manner;                   /* if it has no place, or NULL if merged; memory that is kept */
    const char *name;                    /* of the task, if somebody wants to know */
    struct ti_producer *previous, *next; /* in the list of those that are not merged; `next` also of free ones */
    uint64_t question, met;              /* for forwards: the latest that it has candidates in, and that it is old in */
    uint32_t candidate[TI_READ_KINDS];   /* of these; + 1; 0: none */
} ti_producer;

/* About 270 bytes each, with its entry. */
enum { TI_PRODUCERS = 1 << 18 };

/* Of one buffer. */
typedef struct ti_producers {
    ti_region_map map;                /* box -> address of the producer | moved */
    ti_tile_notes *tiles;             /* address of the producer that wrote a tile last: if it still says so */
    ti_producer *free, *first, *last; /* the list: older ones come first, as far as they have not written again */
    uint32_t listed, bound;           /* more of them are merged as they come; TI_PRODUCERS */
    TI_VEC(ti_producer *) merged;     /* by name */
    const char *others;               /* the name of all further ones; only if somebody wants to know */
    const char *buffer;               /* the buffer's, which no other has that lives; likewise */
    int64_t loose; /* the volume that tasks wrote which are not placed on one node, or that is merged */
    int64_t merged_volume;
    uint64_t changes; /* grows whenever entries are added or go: if not, they lie where they lay */
    bool various;
    ti_producer *merged_like; /* unless they are various: one of the merged, as it was; NULL until there are such */
    ti_region_entries hits;
} ti_producers;

/* What a task wrote, to be written again by another one. */
typedef struct ti_producer_write {
    ti_producers *to;
    ti_producer producer; /* whose task is 0 if nobody is the producer of the box then */
    ti_manner manner;     /* of the producer, if it has one */
    uint32_t tile;
} ti_producer_write;
typedef TI_VEC(ti_producer_write) ti_producer_writes;
typedef TI_VEC(uint64_t) ti_written; /* ids of producers */

void ti_producers_init(ti_producers *producers, const char *others);
void ti_producers_fini(ti_producers *producers);

static inline ti_producer *ti_producer_of(uint64_t value)
{
    return (ti_producer *)(uintptr_t)(value & ~(uint64_t)1);
}
static inline bool ti_producer_moved(uint64_t value)
{
    return value & 1;
}
/* The number of its manner, if it counts; or 0. */
static inline uint64_t ti_producer_made(const ti_producer *p)
{
    return p->task && p->place < 0 && p->manner ? p->manner->made : 0;
}
/* The node whose placed tasks wrote it, or -1. */
static inline int ti_producer_place(const ti_producers *producers, const ti_producer *p)
{
    return p->task ? p->place : producers->various ? -1 : producers->merged_like->place;
}
/* How it was written, if not on one node; NULL: in several ways. */
static inline const ti_manner *ti_producer_manner(const ti_producers *producers, const ti_producer *p)
{
    return ti_producer_place(producers, p) >= 0 ? NULL
           : p->task                            ? p->manner
           : producers->various                 ? NULL
                                                : producers->merged_like->manner;
}

/* Of a box that is an entry of the map without a mark, and all that its producer wrote: that producer, if it is found
 * without a search. Else NULL. */
ti_producer *ti_producers_near(ti_producers *producers, const ti_footprint *touched); /* without a number */
static inline ti_producer *ti_producers_of_tile(ti_producers *producers, uint32_t tile)
{
    ti_producer *p = (ti_producer *)(uintptr_t)ti_tile_note_of(producers->tiles, tile);
    return p && p->tile == tile && p->task && p->whole && !p->marked ? p : NULL;
}
static inline ti_producer *ti_producers_of_box(ti_producers *producers, const ti_footprint *touched)
{
    return TI_LIKELY(touched->tile) ? ti_producers_of_tile(producers, touched->tile)
                                    : ti_producers_near(producers, touched);
}
/* A task that is placed on a node writes such a box; nobody wants to know names. */
static inline void ti_producer_rewrite(ti_producer *p, uint64_t task, int place)
{
    p->task = task;
    p->place = place;
}

/* Whoever wrote parts of the box is no longer their producer. */
void ti_producers_erase(ti_producers *producers, const ti_box *box);
/* A new producer wrote the box, whose number is `tile` or 0; its manner is copied. If there are too many, those that
 * wrote up to task `point` are merged. */
void ti_producers_write(ti_producers *producers, const ti_producer *producer, uint32_t tile, uint64_t point);
/* The same by a write of this number, not of a tile: whether it wrote all of the box before, and nobody has since. If
 * not, nothing has changed. */
bool ti_producers_write_again(ti_producers *producers, const ti_box *box, uint64_t made, uint64_t task);
/* Mark what has moved, a part of an entry. */
void ti_producers_mark(ti_producers *producers, const ti_region_entry *entry, const ti_box *part);
void ti_producers_merge(ti_producers *producers, ti_producer *producer);

/* ---- for cycles (plan/task/cycle.h) */

/* Append all on which forwards depend: ids, and everything else. False: some have been merged, or have
 * moved. */
bool ti_producers_describe(ti_producers *producers, ti_tracker_state *state, ti_written *ids);
/* Let all ids from `first` on grow by `by`. */
void ti_producers_shift(ti_producers *producers, uint64_t first, uint64_t by);
/* Whether the task is the producer of all of the box; then how it wrote it. */
bool ti_producers_written(ti_producers *producers, const ti_box *box, uint64_t task, ti_producer_write *out);
/* Another task does the same; `point` as in ti_producers_write. */
void ti_producers_repeat(const ti_producer_write *write, uint64_t task, uint64_t point);

#endif
