/* Weights of the devices of all nodes, as TACIT_BALANCE measures or gives them; without, devices have those of
 * TACIT_DEVICES. Each node measures its own: how many items of tasks that all of its devices share each has completed,
 * in which time. A node chooses for its devices alone; the others hear of it, so that each can log or plan it.
 *
 * The application thread, but for ti_shares_note. */
#ifndef TI_SHARES_H
#define TI_SHARES_H

#include "base/strbuf.h"
#include "comm/comm.h"
#include "ir/system.h"

#include <stdatomic.h>

/* Who computes fastest has as many, where weights are measured. */
enum { TI_SHARES_FULL = 1000 };

typedef struct ti_meter {
    _Atomic uint64_t items, ns;
} ti_meter;

typedef struct ti_shares {
    const ti_system *system;
    int nodes;
    bool are_alike;   /* all nodes are taken to be like this one: a dry run */
    int most;         /* devices that share the work of a node, on the node that has most; 0: not known yet */
    uint32_t *weight; /* as ti_system.shares; NULL: there are none, and never will be */
    ti_meter meter[TI_MAX_MEMORIES]; /* of this node's devices */
} ti_shares;

/* Weights in proportion to rates, the largest TI_SHARES_FULL; a rate that is not known (0) counts as the mean. Whether
 * what is shared takes at most nine tenths of the time with them that it takes with `now`. */
bool ti_weigh(const uint64_t *rate, const uint32_t *now, int count, uint32_t *weight);
/* What each node says, on all nodes, but for all bits behind the first 15. All nodes call it, as ti_comm_ops.sum. */
void ti_gather(ti_comm *comm, uint64_t own, uint64_t *all);

void ti_shares_init(ti_shares *shares, const ti_system *system, bool is_dry);
void ti_shares_fini(ti_shares *shares);
/* There will be weights: ti_system.shares are `weight` from now on. */
void ti_shares_open(ti_shares *shares);

/* Devices of this node that share its work. */
int ti_shares_count(const ti_shares *shares);

/* Any thread: a device of this node has computed so many items in so many nanoseconds, all of it. */
static inline void ti_shares_note(ti_shares *shares, int device, uint64_t items, uint64_t ns)
{
    atomic_fetch_add_explicit(&shares->meter[device].items, items, memory_order_relaxed);
    atomic_fetch_add_explicit(&shares->meter[device].ns, ns, memory_order_relaxed);
}
/* Items that were noted since the last choice, and how long they take if no device waits for another. Returns how long
 * the device took that took longest. */
uint64_t ti_shares_sum(const ti_shares *shares, uint64_t *items, uint64_t *ns);
/* From what was noted, which is forgotten. Whether the weights of any node's devices are others now. All nodes. */
bool ti_shares_choose(ti_shares *shares, ti_comm *comm);

/* The weights of one node's devices, TI_MAX_MEMORIES; the first is 0: those of TACIT_DEVICES. */
static inline uint32_t *ti_shares_of(const ti_shares *shares, int node)
{
    return shares->weight ? &shares->weight[(size_t)node * TI_MAX_MEMORIES] : NULL;
}
/* Append them, as in =8+1; nothing if there are none. */
void ti_shares_add(const ti_shares *shares, int node, ti_strbuf *out);

#endif
