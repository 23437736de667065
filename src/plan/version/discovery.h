/* Collective discovery: what becomes of a forward, decided alike on every node, from the versions that the forward's
 * region has.
 *
 * Table 2 of Knorr et al., doi 10.1007/s10766-024-00767-y: the decision needs how many nodes write and read, and
 * whether mappers are constant, non-overlapping or a transposition; no node is looked at by itself, so it costs the
 * same on any number of nodes. A collective is another way to carry the transfers that the reads cause anyway: what
 * versions say afterwards is the same. Collectives that were made are kept and used again by the loops that repeat
 * them. Scheduler thread. */
#ifndef TI_DISCOVERY_H
#define TI_DISCOVERY_H

#include "ir/collective.h"
#include "plan/version/version.h"

typedef struct ti_discovery {
    int node, nodes;
    uint64_t next_serial;
    uint64_t sequence;      /* collectives planned so far */
    ti_collective *retired; /* that instructions under way may still name */
    ti_collective *spare;   /* whose memory serves again */
    int spares;
    ti_boxes region; /* that the question at hand is about */
    bool copied;     /* others than its source hold parts of the region */
    bool again;      /* and the collective brings some of that again */
    ti_boxes scratch, got, given;
    ti_demand demand;
} ti_discovery;

void ti_discovery_init(ti_discovery *planner, int node, int nodes);
void ti_discovery_fini(ti_discovery *planner);
/* Everything before task `executed` is done: free what was retired before it. */
void ti_discovery_release(ti_discovery *planner, uint64_t executed);

typedef struct ti_discovery_known {
    ti_collective *collective;
    ti_holder *from, *to; /* referenced, or NULL */
    uint64_t last_use;
} ti_discovery_known;

/* The collectives of one buffer. A zeroed one is empty. */
typedef struct ti_discovery_cache {
    TI_VEC(ti_discovery_known) known;
    uint64_t clock;
    uint64_t forgotten; /* collectives that are not known any more */
} ti_discovery_cache;

void ti_discovery_cache_fini(ti_discovery_cache *cache, ti_discovery *planner);

/* A forward of a task. */
typedef struct ti_discovery_question {
    ti_version_map *map;
    ti_holders reads;  /* of the buffer by the task; none: all nodes want all of it */
    const ti_box *box; /* the forward's */
    uint32_t boxes;
    uint64_t task;
} ti_discovery_question;

/* The verdict, and for TI_VERDICT_COLLECTIVE the collective, which lives until it has been executed. It may bring a
 * part of the forward only; what is left is another question. */
ti_verdict ti_discovery_decide(ti_discovery *planner, ti_discovery_cache *cache, const ti_discovery_question *question,
                               ti_collective **out);
/* The reduction of all of a buffer to one node, or to all (root -1), for `task`; lives until it has been executed. */
const ti_collective *ti_discovery_reduction(ti_discovery *planner, ti_discovery_cache *cache,
                                            const ti_buffer_info *buffer, int root, const ti_reducer *reducer,
                                            uint64_t task);
/* What of the forward's region every node reads; decided without versions. Valid until the next call. */
const ti_boxes *ti_discovery_wanted_by_all(ti_discovery *planner, const ti_discovery_question *question);

#endif
