/* Collective discovery: what becomes of a forward, decided alike on every node, from the versions that the forward's region has.
 *
 * Table 2 of Knorr et al., doi 10.1007/s10766-024-00767-y: the decision needs how many nodes write and read, and whether mappers are constant,
 * non-overlapping or a transposition; no node is looked at by itself, so it costs the same on any number of nodes. A collective is another way
 * to carry the transfers that the reads cause anyway: what versions say afterwards is the same. Collectives that were made are kept and used again
 * by the loops that repeat them. Scheduler thread. */
#ifndef TI_PLAN_COLLECTIVE_H
#define TI_PLAN_COLLECTIVE_H

#include "ir/collective.h"
#include "plan/version.h"

typedef struct ti_collective_planner {
    int node, nodes;
    uint64_t next_serial;
    uint64_t sequence;      /* collectives planned so far */
    ti_collective *retired; /* that instructions under way may still name */
    ti_boxes region;        /* that the question at hand is about */
    ti_boxes scratch;
} ti_collective_planner;

void ti_collective_planner_init(ti_collective_planner *planner, int node, int nodes);
void ti_collective_planner_fini(ti_collective_planner *planner);
/* Everything before task `executed` is done: free what was retired before it. */
void ti_collective_planner_release(ti_collective_planner *planner, uint64_t executed);

/* The collectives of one buffer. A zeroed one is empty. */
typedef struct ti_collective_cache {
    struct ti_collective_known {
        ti_collective *collective;
        ti_holder *from, *to; /* referenced, or NULL */
        uint64_t last_use;
    } * known;
    size_t count, capacity;
    uint64_t clock;
} ti_collective_cache;

void ti_collective_cache_fini(ti_collective_cache *cache, ti_collective_planner *planner);

/* What `task` asks for by one of its forwards. */
typedef struct ti_collective_question {
    ti_version_map *map;
    ti_holder *const *read; /* the task's reads of the buffer */
    size_t reads;
    const ti_split_ref *split; /* of the task */
    const ti_box *box;         /* of the forward */
    uint32_t boxes;
    uint64_t task;
} ti_collective_question;

/* The verdict, and for TI_VERDICT_COLLECTIVE the collective, which lives until it has been executed. */
ti_verdict ti_collective_decide(ti_collective_planner *planner, ti_collective_cache *cache,
                                const ti_collective_question *question, ti_collective **out);

#endif
