/* Messages counted by peer: a number per node that this one has met.
 *
 * A node that meets few of many keeps them in a hash map; once it has met an eighth of all nodes, they are an array, so
 * that patterns in which all talk to all look up by index. The memory is in proportion to the peers met, never to the
 * nodes of the run. Scheduler thread. */
#ifndef TI_PEER_COUNTERS_H
#define TI_PEER_COUNTERS_H

#include "base/check.h"
#include "base/map.h"

typedef struct ti_peer_counters {
    ti_map few;
    uint64_t *many; /* by node; NULL while there are few */
    size_t nodes;   /* that `many` has room for */
} ti_peer_counters; /* a zeroed one is empty */

static inline void ti_peer_counters_fini(ti_peer_counters *counters)
{
    ti_map_fini(&counters->few);
    ti_free(counters->many, counters->nodes * sizeof(*counters->many));
}

/* All that the map has goes to an array of `nodes`. */
static inline void ti_peer_counters_spread(ti_peer_counters *counters, int nodes)
{
    counters->nodes = (size_t)nodes;
    counters->many = TI_NEW_ARRAY(uint64_t, counters->nodes);
    for (size_t i = 0; i < counters->few.capacity; i++) {
        if (counters->few.used[i]) {
            counters->many[counters->few.slot[i].key] = counters->few.slot[i].value;
        }
    }
    ti_map_fini(&counters->few);
}

/* The number of the next message for `peer`, one of `nodes` nodes: 0, 1, ... */
static inline uint64_t ti_peer_count(ti_peer_counters *counters, int peer, int nodes)
{
    TI_ASSERT(0 <= peer && peer < nodes && (!counters->many || counters->nodes == (size_t)nodes));
    enum { SHARE = 8 };
    if (TI_LIKELY(counters->many != NULL)) {
        return counters->many[peer]++;
    }
    uint64_t next = (*ti_map_at(&counters->few, (uint64_t)peer))++;
    if (SHARE * counters->few.count >= (size_t)nodes) {
        ti_peer_counters_spread(counters, nodes);
    }
    return next;
}

/* The number that comes next; so many have been given. */
static inline uint64_t ti_peer_next(const ti_peer_counters *counters, int peer)
{
    const uint64_t *next = counters->many ? &counters->many[peer] : ti_map_find(&counters->few, (uint64_t)peer);
    return next ? *next : 0;
}
static inline void ti_peer_count_on(ti_peer_counters *counters, int peer, uint64_t by)
{
    *(counters->many ? &counters->many[peer] : ti_map_at(&counters->few, (uint64_t)peer)) += by;
}

/* The latest number has been of no use, and is given again. */
static inline void ti_peer_count_back(ti_peer_counters *counters, int peer)
{
    uint64_t *next = counters->many ? &counters->many[peer] : ti_map_at(&counters->few, (uint64_t)peer);
    TI_ASSERT(*next > 0);
    --*next;
}

#endif
