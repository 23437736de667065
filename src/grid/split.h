/* A split: the pure function from (range, granularity, parts) to chunks, and from chunks to nodes.
 *
 * Chunks are numbered row-major over parts[0] x parts[1] x parts[2]. Chunk c belongs to node c / per_node, so the nodes
 * that have chunks are [0, ceil(chunks / per_node)), or [place, place + 1) for a placed task. A split *everywhere* has
 * one chunk per node, each of which is the whole range. The box of a chunk, and the part that holds an index, take O(1)
 * (O(log parts) for table splits, which cut dimension 0 by weights of nodes or of items).
 *
 * Invariants: no chunk is empty, and but for splits everywhere they are disjoint and together the range. A split is a
 * plain value: bytes that are not used are zero, so equal splits compare equal with memcmp, up to `table`, which is
 * compared by content. Any thread. */
#ifndef TI_SPLIT_H
#define TI_SPLIT_H

#include "grid/box.h"
#include "grid/weights.h"

enum { TI_PLACE_SPLIT = -1, TI_PLACE_EVERYWHERE = -2 }; /* what `place` may be besides a node */

typedef struct ti_split {
    int64_t lo[3], hi[3]; /* the range; not empty */
    int64_t gran[3];      /* chunk borders lie on lo + multiples of it */
    int64_t parts[3];
    int64_t quot[3], rest[3]; /* granules per part: quot, and one more for the first `rest` parts */
    int64_t chunks;           /* parts[0] * parts[1] * parts[2] */
    int64_t per_node;
    int32_t nodes;        /* of the run */
    int32_t place;        /* a node, or TI_PLACE_... */
    const int64_t *table; /* parts[0] + 1 borders of dimension 0, or NULL for a uniform split */
} ti_split;

/* What a task asks for. */
typedef struct ti_split_request {
    ti_box range; /* not empty */
    int64_t gran[3];
    int nodes, place;
    int oversubscribe;
    bool two_dimensional;
    int64_t grid[3];         /* parts per dimension, at most nodes * oversubscribe together; zeros: chosen */
    const uint32_t *weights; /* one per node, or NULL */
    const int64_t *border;   /* of dimension 0, made by ti_split_cut for this request, or NULL */
} ti_split_request;

/* The grid of `parts` chunks that a split in two dimensions takes: two factors that are as equal as possible, larger
 * first. The larger one cuts the dimension that has more granules. */
void ti_split_grid(int64_t parts, int64_t out[2]);

/* Borders of dimension 0 for parts with about equal sums of `items`, which cover the range; in proportion to the
 * weights of nodes, if there are any. There is room for nodes * oversubscribe + 1 borders. Returns how many there are:
 * one more than there are parts. Not of splits in two dimensions, and not of placed ones. */
int64_t ti_split_cut(const ti_split_request *request, const ti_weights *items, int64_t *border);

/* Without weights a uniform split. With those of nodes, the caller gives room for nodes * oversubscribe + 1 borders in
 * `table`, which the split refers to; with borders, it refers to them. */
ti_split ti_split_make(const ti_split_request *request, int64_t *table);

/* First index of part i of dimension d; not of a split everywhere. */
static inline int64_t ti_split_border(const ti_split *s, int d, int64_t i)
{
    if (d == 0 && s->table) {
        return s->table[i];
    }
    int64_t at = s->lo[d] + s->gran[d] * (i * s->quot[d] + TI_MIN(i, s->rest[d]));
    return TI_MIN(at, s->hi[d]);
}

/* Where part i begins if n units are dealt to `parts` as evenly as possible: nodes, devices and workers all cut like
 * this. */
static inline int64_t ti_split_share(int64_t n, int64_t parts, int64_t i)
{
    return n / parts * i + TI_MIN(i, n % parts);
}

/* The part of dimension d that holds index x of the range. */
int64_t ti_split_part(const ti_split *s, int d, int64_t x);

/* The box of chunk c. */
ti_box ti_split_chunk(const ti_split *s, int64_t c);

static inline int ti_split_node(const ti_split *s, int64_t c)
{
    return s->place >= 0 ? s->place : (int)(c / s->per_node);
}

/* The chunks of a node: their number, the first in *first. */
static inline int64_t ti_split_chunks_of(const ti_split *s, int node, int64_t *first)
{
    if (s->place >= 0) {
        *first = 0;
        return s->place == node ? s->chunks : 0;
    }
    *first = TI_MIN(s->chunks, (int64_t)node * s->per_node);
    return TI_MIN(s->chunks, *first + s->per_node) - *first;
}

/* The nodes that have chunks: [*a, *b). */
static inline void ti_split_nodes(const ti_split *s, int *a, int *b)
{
    *a = s->place >= 0 ? s->place : 0;
    *b = s->place >= 0 ? s->place + 1 : (int)ti_ceil_div(s->chunks, s->per_node);
}

static inline ti_box ti_split_range(const ti_split *s)
{
    ti_box b;
    for (int d = 0; d < 3; d++) {
        b.min[d] = s->lo[d];
        b.max[d] = s->hi[d];
    }
    return b;
}

uint64_t ti_split_hash(const ti_split *s);
bool ti_split_equal(const ti_split *a, const ti_split *b);

#endif
