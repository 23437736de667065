/* Spreads: which items the node of each chunk executes, where that is neither its chunk alone nor a chunk with a margin
 * (margin.h), but some items around it as well, in boxes: in windows of pure tasks.
 *
 * There are two kinds. *Listed*: the boxes of each chunk. *Around*: a chunk with a margin, less what other chunks have
 * of it further inside than a depth. Items of a chunk are disjoint boxes in normal form, and have the chunk itself. An
 * immutable value; whoever keeps it counts. One thread. */
#ifndef TI_SPREAD_H
#define TI_SPREAD_H

#include "grid/margin.h"
#include "grid/region.h"
#include "grid/split.h"

typedef struct ti_spread {
    uint32_t refs;
    uint64_t hash; /* of all that follows */
    /* Listed: those of chunk c are box[start[c]] to box[start[c + 1] - 1]. */
    int64_t chunks;
    size_t *start; /* NULL: around */
    ti_box *box;
    ti_margin margin, depth; /* around: no margin is longer than a chunk */
} ti_spread;

/* For the caller to release. The boxes of each of `chunks` chunks are in normal form. */
ti_spread *ti_spread_list(const ti_boxes *chunk, int64_t chunks);
ti_spread *ti_spread_around(const ti_margin *margin, const ti_margin *depth);

/* NULL is allowed, and stands for the chunks themselves. */
static inline ti_spread *ti_spread_ref(ti_spread *s)
{
    if (s) {
        s->refs++;
    }
    return s;
}
void ti_spread_unref(ti_spread *s);
bool ti_spread_equal(const ti_spread *a, const ti_spread *b);
static inline uint64_t ti_spread_hash(const ti_spread *s)
{
    return s ? s->hash : 0;
}

/* Append the items of chunk c of the split. */
void ti_spread_items(const ti_spread *s, const ti_split *split, int64_t c, ti_boxes *out);

/* What of a chunk lies further than the depth from its borders to other chunks; an empty box if nothing does. */
ti_box ti_split_inside(const ti_split *split, const ti_margin *depth, const ti_box *chunk);

#endif
