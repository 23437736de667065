/* Reductions among many nodes in one process: each node brings its value, and the last one to come combines them
 * all, in the order of the nodes.
 *
 * An entry belongs to one collective, which its sequence number names. It is gone when all nodes that get the result
 * have fetched it. Behind a lock: any thread. */
#ifndef TEST_LOCAL_REDUCE_H
#define TEST_LOCAL_REDUCE_H

#include "base/park.h"
#include "base/vec.h"
#include "comm/exchange.h"

typedef struct local_reduction {
    uint64_t sequence;
    int came, to_fetch;
    size_t bytes;
    char *value; /* of all nodes, one after the other, `bytes` each; the result is the first, when all have come */
} local_reduction;

typedef struct local_reductions {
    ti_lock lock;
    TI_VEC(local_reduction) under_way;
} local_reductions;

/* Bring this node's value of a collective. */
void local_reduce_bring(local_reductions *all, const ti_exchange *x, int node, const void *value, size_t bytes);
/* Fetch the result of one to which this node has brought its value; false if it is not there yet. */
bool local_reduce_fetch(local_reductions *all, int nodes, uint64_t sequence, void *result);
void local_reductions_fini(local_reductions *all, int nodes);

#endif
