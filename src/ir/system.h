/* What the planners may know of the machine: numbers, no addresses, but for who wants to be told. Constant during a
 * run; the same on all nodes but for `node`.
 *
 * Memory 0 is the host's. Devices either all share it (memories is 1) or have one each: device d computes in memory
 * d + 1. */
#ifndef TI_SYSTEM_H
#define TI_SYSTEM_H

#include "base/macro.h"

enum { TI_HOST_MEMORY = 0 };
enum { TI_COLLECTIVES_OFF, TI_COLLECTIVES_DISCOVER, TI_COLLECTIVES_LOOKAHEAD };

struct ti_explain;

typedef struct ti_system {
    int node, num_nodes;
    int devices;           /* of this node */
    int memories;          /* host memory and device memories */
    int workers;           /* of each device: parts of a kernel that run at once */
    int64_t total_workers; /* of all nodes */
    int64_t horizon_step;
    int64_t horizon_front;
    int lookahead;              /* horizons that a window of allocations may hold; 0: every batch is a window */
    int local_nodes;            /* nodes on this machine */
    uint64_t memory;            /* bytes that this node may allocate for the program's data; 0: no limit */
    uint64_t machine;           /* bytes of memory that this machine has; 0: not known */
    int collectives;            /* TI_COLLECTIVES_OFF ... */
    int old_producers;          /* that a task reads from before a horizon, at most, before they become one; 0: 4 */
    bool record;                /* derive the dependencies of commands too: only graphs and tests look at them */
    struct ti_explain *explain; /* who wants to know what becomes of edges between tasks, or NULL: trace/explain.h */
} ti_system;

static inline int ti_system_memory(const ti_system *system, int device)
{
    return system->memories > 1 ? device + 1 : TI_HOST_MEMORY;
}

#endif
