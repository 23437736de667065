/* A collective: one region that changes hands among all nodes at once, as a value that every node derives alike.
 *
 * Who gives what and who gets what are *parts*: one node has all of it, or node q has what a mapper covers for its
 * chunks. So a collective is described without naming nodes one by one, and what travels from node r to node q is one
 * question: the region, in r's part, in q's part. The patterns are those of Knorr et al., doi
 * 10.1007/s10766-024-00767-y, table 2, and reductions: there every node gives all of the region, and what one node or
 * all nodes get is combined from that in the order of the nodes.
 *
 * A pattern may hold within *groups* of nodes, which have nothing for each other: rows or columns of a grid. The groups
 * of a collective are alike: each has `members` nodes, `stride` apart. Who carries one out looks at the members of its
 * own group only.
 *
 * Immutable once made, and self-contained: the executor reads it while the planners go on. Any thread. */
#ifndef TI_COLLECTIVE_H
#define TI_COLLECTIVE_H

#include "grid/mapper.h"
#include "grid/region.h"
#include "ir/reduction.h"

typedef enum ti_pattern {
    TI_PATTERN_NONE,
    TI_PATTERN_GATHER,     /* many nodes have parts, one gets all */
    TI_PATTERN_ALL_GATHER, /* many nodes have parts, all get all */
    TI_PATTERN_BROADCAST,  /* one node has all, all get all */
    TI_PATTERN_SCATTER,    /* one node has all, each gets its part */
    TI_PATTERN_ALL_TO_ALL, /* each has a part, and gets another part */
    TI_PATTERN_REDUCE,     /* each has a value of all of it, one gets all of them combined */
    TI_PATTERN_ALL_REDUCE, /* each has a value of all of it, all get all of them combined */
    TI_PATTERN_KINDS
} ti_pattern;

/* Who carries a collective out: messages between pairs of nodes, the network's library, or devices among themselves. */
typedef enum ti_carrier { TI_BY_MESSAGES, TI_BY_LIBRARY, TI_BY_DEVICES, TI_CARRIERS } ti_carrier;

static inline bool ti_pattern_combines(ti_pattern pattern)
{
    return pattern == TI_PATTERN_REDUCE || pattern == TI_PATTERN_ALL_REDUCE;
}
/* "all-gather" */
const char *ti_pattern_name(ti_pattern pattern);

/* What becomes of a forward. Those behind TI_VERDICT_COLLECTIVE are the first condition of the patterns that does
 * not hold. */
typedef enum ti_verdict {
    TI_VERDICT_FREE,          /* nothing moves */
    TI_VERDICT_COLLECTIVE,    /* a pattern */
    TI_VERDICT_MIXED,         /* several writes reach the consumer */
    TI_VERDICT_MOVED,         /* a part of it is on other nodes already */
    TI_VERDICT_REPLICATED,    /* several nodes have all of it */
    TI_VERDICT_OVERLAP,       /* the producer's parts overlap */
    TI_VERDICT_ONE_TO_ONE,    /* one node to one node */
    TI_VERDICT_FEW_GIVE,      /* a gather, but not all nodes have a part */
    TI_VERDICT_FEW_GET,       /* some nodes read it, neither one nor all */
    TI_VERDICT_NEITHER,       /* the consumer's mapper is neither constant nor non-overlapping */
    TI_VERDICT_PARTITION,     /* M nodes to M nodes, without overlaps, but no transposition */
    TI_VERDICT_SEVERAL_READS, /* a scatter or transposition, but the consumer reads the region in several ways */
    TI_VERDICT_GROUP_CHUNKS,  /* rows or columns of a grid, but nodes have several chunks of it */
    TI_VERDICT_GROUP_GRID,    /* rows or columns of a grid, but the producer has no such grid */
    TI_VERDICT_GROUP_BORDERS, /* rows or columns of a grid, but what one reads was written in others */
    TI_VERDICT_CAME,          /* an earlier transfer has brought it */
    TI_VERDICT_MULTICAST,     /* several nodes read it, and a planned multicast brings it to all of them */
    TI_VERDICT_BROADCAST, /* several nodes read it, and its sender's broadcast brings it sooner than a planned one */
    TI_VERDICT_EARLIER,   /* no forward: an earlier one moved it, or tried to */
    TI_VERDICT_HINT,      /* no forward: the consumer wants none */
    TI_VERDICT_OFF        /* no forward: there are no collectives */
} ti_verdict;
enum { TI_VERDICTS = TI_VERDICT_OFF + 1 };

/* Which node has or gets which part of a buffer. */
typedef struct ti_parts {
    enum { TI_PARTS_NODE, TI_PARTS_ALL, TI_PARTS_SPLIT } kind; /* one node has all, every node has all, or: */
    int node;
    ti_mapper mapper; /* node q: what this covers for the chunks of q */
    ti_split split;   /* with a table of its own, if it has one */
    ti_box extent;
    ti_box *box;   /* custom mappers: the boxes of chunk c are box[start[c]] to box[start[c + 1] - 1] */
    size_t *start; /* or NULL */
} ti_parts;

/* Append the part of `node` inside `clip`. */
void ti_parts_of(const ti_parts *parts, int node, const ti_box *clip, ti_boxes *out);
void ti_parts_fini(ti_parts *parts);

typedef struct ti_collective {
    ti_pattern pattern;
    int nodes;          /* of the run */
    int root;           /* of a gather, broadcast, scatter or reduce; in groups: which member of each */
    int members;        /* of each group; 0: all nodes are one */
    int stride;         /* from one member to the next */
    uint64_t serial;    /* equal for equal collectives; never 0 */
    ti_reducer reducer; /* of reductions */
    ti_parts from, to;
    ti_box *region; /* disjoint */
    uint32_t regions;
    ti_box *give, *get; /* what the node that made this gives and gets: of its own planner only */
    uint32_t gives, gets;
    ti_box *boxes; /* the memory of those three */
    size_t room;
    uint64_t last_use;          /* task id, for the owner */
    struct ti_collective *next; /* for the owner */
} ti_collective;

/* How many nodes are in the group of node q, itself included; 0: it has no part in the collective. */
static inline int ti_collective_members(const ti_collective *c, int q)
{
    return !c->members ? c->nodes : q < c->to.split.chunks ? c->members : 0;
}
/* Which of them node q is, in ascending order; the i-th of the group of node q. */
static inline int ti_collective_rank(const ti_collective *c, int q)
{
    return c->members ? q / c->stride % c->members : q;
}
static inline int ti_collective_member(const ti_collective *c, int q, int i)
{
    return c->members ? q + (i - ti_collective_rank(c, q)) * c->stride : i;
}
/* How many groups there are. */
int ti_collective_groups(const ti_collective *c);

/* What of region `index` comes together on node q, of an all-gather or broadcast. False: nothing. */
bool ti_collective_together(const ti_collective *c, int q, uint32_t index, ti_box *out);

/* Append what travels from node r to node q, in an order that both know; r and q differ. Nothing of a reduction,
 * whose values meet on the way, and nothing if they are in different groups. */
void ti_collective_message(const ti_collective *c, int r, int q, ti_boxes *out, ti_boxes *scratch);
/* Append what node r gives to anybody. */
void ti_collective_given(const ti_collective *c, int r, ti_boxes *out);
/* What node q gets from others, of a reduction what it gets. Replaces `out`. */
void ti_collective_got(const ti_collective *c, int q, ti_boxes *out, ti_boxes *scratch);

void ti_collective_destroy(ti_collective *c);

#endif
