/* Reductions among many nodes in one process: values meet at a place behind a lock, and the last node to come combines them in the order of the nodes.
 *
 * A meeting belongs to one collective, which its sequence number names. It is gone when all nodes that get the result have fetched it. Any thread. */
#ifndef TI_LOCAL_REDUCE_H
#define TI_LOCAL_REDUCE_H

#include "base/park.h"
#include "base/vec.h"
#include "comm/exchange.h"

typedef struct ti_local_meeting {
    uint64_t sequence;
    int came, to_fetch;
    size_t bytes;
    char *value; /* of all nodes, one after the other; the result is the first, when all have come */
} ti_local_meeting;

typedef struct ti_local_meetings {
    ti_lock lock;
    TI_VEC(ti_local_meeting) meeting;
} ti_local_meetings;

/* Bring this node's value of a collective; fetch the result of one to which this node has brought its value: false if it is not there yet. */
void ti_local_reduce_bring(ti_local_meetings *all, const ti_exchange *x, int node, const void *value, size_t bytes);
bool ti_local_reduce_fetch(ti_local_meetings *all, int nodes, uint64_t sequence, void *result);
void ti_local_meetings_fini(ti_local_meetings *all, int nodes);

#endif
