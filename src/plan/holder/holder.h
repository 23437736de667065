/* Holders: who touches which part of a buffer, as a value: a range mapper over a split.
 *
 * Node q holds what the mapper covers for its chunks. Holders are interned: equal values are one object, so that
 * versions compare by pointer, and properties (constant, disjoint, nodes, task-level image) are computed once. Splits
 * are interned likewise. A few that nobody refers to are kept, because loops ask for them again. Custom mappers have a
 * table of all chunks with an index instead of an inverse. What is found depends on values only, never on addresses.
 * Scheduler thread. */
#ifndef TI_HOLDER_H
#define TI_HOLDER_H

#include "base/check.h"
#include "grid/margin.h"
#include "grid/region_map.h"
#include "grid/spread.h"
#include "ir/task.h"
#include "plan/holder/interner.h"

typedef struct ti_split_ref {
    ti_interned interned;
    ti_split split;
    int64_t own_first, own_count; /* this node's chunks */
    int node_a, node_b;           /* nodes with chunks */
} ti_split_ref;

typedef struct ti_split_cache {
    ti_interner values;
    int node;
    TI_VEC(int64_t) table; /* scratch: borders */
} ti_split_cache;

void ti_split_cache_init(ti_split_cache *cache, int node);
void ti_split_cache_fini(ti_split_cache *cache);
/* The split of a request; lives until nobody refers to it and others need its place in the cache. */
ti_split_ref *ti_split_cache_get(ti_split_cache *cache, const ti_split_request *request);

/* How the images of chunks lie along one dimension of the buffer: all alike, side by side, or otherwise. */
typedef enum ti_along { TI_ALONG_OTHER, TI_ALONG_CONSTANT, TI_ALONG_PARTITIONED } ti_along;

typedef struct ti_holder {
    ti_interned interned;
    ti_mapper mapper;
    const ti_custom_mapper *custom;
    ti_split_ref *split;
    bool constant; /* every chunk has the same image */
    bool disjoint; /* images of different chunks do not overlap */
    /* The same two, of custom mappers too as their chunks show: what versions must not rely on, collectives may. */
    bool observed_constant, observed_disjoint;
    ti_along along[3];
    int members; /* of each group of chunks that touch the same, if there are such, side by side; else 0 */
    int stride;  /* from one chunk of a group to the next */
    ti_box extent;
    int dims;
    bool clipped; /* images end at `within`, too: a box that all items together touch, so of one that was widened */
    ti_box within;
    ti_spread *spread;            /* for which items chunks stand; referenced; NULL: their own */
    ti_boxes image;               /* of the whole range; custom: of all chunks together */
    struct ti_chunk_table *table; /* custom mappers, and spreads that are listed */
} ti_holder;

/* Whether the mapper and the split do not say alone what chunks touch. */
static inline bool ti_holder_is_irregular(const ti_holder *h)
{
    return h->table || h->spread;
}

/* Several, of which the union counts: the reads of a task. */
typedef struct ti_holders {
    ti_holder *const *data;
    size_t count;
} ti_holders;

typedef struct ti_holder_cache {
    ti_interner values;
    uint64_t *evaluated; /* counts mapper evaluations on chunks */
} ti_holder_cache;

void ti_holder_cache_init(ti_holder_cache *cache, uint64_t *evaluated);
void ti_holder_cache_fini(ti_holder_cache *cache);
/* The holder of a value. Keep it with ti_holder_ref; without a reference it is valid until the next get. */
ti_holder *ti_holder_get(ti_holder_cache *cache, const ti_access *access, uint32_t mapper, ti_split_ref *split);
/* The same of chunks that are enlarged by the margin; not of custom mappers. `copies`: of what has been written, where
 * what lies beyond the range does not matter. */
ti_holder *ti_holder_get_wide(ti_holder_cache *cache, const ti_access *access, uint32_t mapper, ti_split_ref *split,
                              const ti_margin *margin, bool copies);
/* The same of chunks that stand for the items of the spread; of what they read, or of what they have computed. */
ti_holder *ti_holder_get_spread(ti_holder_cache *cache, const ti_access *access, uint32_t mapper, ti_split_ref *split,
                                ti_spread *spread);
static inline ti_holder *ti_holder_ref(ti_holder *h)
{
    h->interned.refs++;
    return h;
}
static inline void ti_holder_unref(ti_holder *h)
{
    TI_ASSERT(h->interned.refs > 0);
    h->interned.refs--;
}

/* The boxes of all chunks of a custom mapper, for the caller to keep: those of chunk c are box[start[c]] to box[start[c
 * + 1] - 1]. */
void ti_holder_copy_table(const ti_holder *h, ti_box **box, size_t **start);

/* Append the parts of chunk c's image that lie in `clip`. */
void ti_holder_chunk(const ti_holder_cache *cache, const ti_holder *h, int64_t c, const ti_box *clip, ti_boxes *out);
/* Append the parts that node q touches inside `clip`, chunk after chunk; once if all chunks have the same. */
void ti_holder_node(const ti_holder_cache *cache, const ti_holder *h, int q, const ti_box *clip, ti_boxes *out);

/* Chunks whose image may meet `box`, ascending; never misses one. */
typedef TI_VEC(int64_t) ti_chunk_list;
/* Bring a list into ascending order, each number once; the contents of `other` are lost. */
void ti_chunks_settle(ti_chunk_list *list, ti_chunk_list *other);
void ti_holder_candidates(const ti_holder *h, const ti_box *box, ti_chunk_list *out);
/* The same as nodes [*a, *b] that enclose them; false if there is none. */
bool ti_holder_candidate_nodes(const ti_holder *h, const ti_box *box, int *a, int *b);

/* Whether a node that holds `a` holds `b` too. */
bool ti_holder_covers(const ti_holder *a, const ti_holder *b);

#endif
