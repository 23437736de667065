/* Copies: who holds a part of a buffer besides those that wrote it, as a value.
 *
 * Two kinds. Nodes that hold all of the part are a set, kept as ascending intervals: any number of placed tasks may
 * read one tile. Reads of which each node holds what it reads itself, such as halos, are holders, in the order in which
 * they came. Values are interned: tiles that the same nodes have read share one, and are compared by pointer.
 *
 * Bounds: a set has at most half as many intervals as there are nodes. At most TI_COPIES_READERS holders are
 * remembered; then the oldest is forgotten and counted, which may cost a message and never a wrong value. There are at
 * most eight times as many values as entries refer to, and a few. Scheduler thread. */
#ifndef TI_COPIES_H
#define TI_COPIES_H

#include "plan/holder/holder.h"

enum { TI_COPIES_READERS = 32 };

/* Nodes [a,b). */
typedef struct ti_node_range {
    int a, b;
} ti_node_range;

/* NULL stands for nobody. */
typedef struct ti_copies {
    ti_interned interned;
    TI_VEC(ti_node_range) nodes; /* ascending; none is empty, and none touches the next */
    TI_VEC(ti_holder *) reader;  /* oldest first; referenced */
} ti_copies;

typedef struct ti_copies_cache {
    ti_interner values;
    ti_copies draft; /* scratch */
    struct ti_copies_step {
        const ti_copies *before;
        ti_copies *after;
        ti_node_range range;
    } * step;           /* what became of values to which nodes were added; a hash, NULL until nodes are added */
    size_t steps;       /* a power of two */
    uint64_t forgotten; /* readers */
} ti_copies_cache;

void ti_copies_cache_init(ti_copies_cache *cache);
/* Before the holders are gone that the values refer to. */
void ti_copies_cache_fini(ti_copies_cache *cache);

static inline void ti_copies_ref(ti_copies *c)
{
    if (c) {
        c->interned.refs++;
    }
}
static inline void ti_copies_unref(ti_copies *c)
{
    TI_ASSERT(!c || c->interned.refs > 0);
    if (c) {
        c->interned.refs--;
    }
}
static inline size_t ti_copies_readers(const ti_copies *c)
{
    return c ? c->reader.count : 0;
}

/* Whether all of nodes [a,b) are in the set; those of `more` count as if they were. */
bool ti_copies_have(const ti_copies *c, ti_node_range range, ti_node_range more);
/* The same of one node, without more. */
static inline bool ti_copies_have_node(const ti_copies *c, int node)
{
    if (!c || !c->nodes.count) {
        return false;
    }
    const ti_node_range *first = c->nodes.data; /* the last interval that does not begin behind the node */
    for (size_t n = c->nodes.count; n > 1; n -= n / 2) {
        first += first[n / 2].a <= node ? n / 2 : 0;
    }
    return first->a <= node && node < first->b;
}
/* How many of nodes [a,b) are in the set. */
int ti_copies_count(const ti_copies *c, ti_node_range range);

/* What becomes of a value. The result is to be referenced, else it is valid until the next of these calls. */
ti_copies *ti_copies_add_nodes(ti_copies_cache *cache, const ti_copies *c, ti_node_range range);
/* The same for so many single nodes, at least one; the list is sorted. */
ti_copies *ti_copies_add_each(ti_copies_cache *cache, const ti_copies *c, int32_t *node, size_t count);
/* Unless one is there that covers it; those that it covers go. */
ti_copies *ti_copies_add_reader(ti_copies_cache *cache, ti_copies *c, ti_holder *reader);
/* Without these nodes, and without readers that have no others. */
ti_copies *ti_copies_drop_nodes(ti_copies_cache *cache, const ti_copies *c, ti_node_range range);
/* Without readers that miss the box. */
ti_copies *ti_copies_cut(ti_copies_cache *cache, ti_copies *c, const ti_box *box);

#endif
