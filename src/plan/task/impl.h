/* The state of the task graph. Included by graph.c and cycle.c only. Application thread. */
#ifndef TI_TASK_IMPL_H
#define TI_TASK_IMPL_H

#include "base/check.h"
#include "plan/task/anchor.h"
#include "plan/task/cycle.h"
#include "plan/task/forward.h"
#include "plan/task/graph.h"
#include "plan/task/horizon.h"
#include "plan/track/order.h"
#include "plan/track/tracker.h"

/* What is known of a buffer. Whatever was written stays written, so `written` only grows: a check that lies inside it
 * asks no tracker. */
typedef struct ti_tracked {
    ti_tracker tracker;
    ti_tiles *tiles; /* boxes that placed tasks have named, or NULL */
    ti_box written;  /* somebody wrote all of it; there may be more. Once that is all of the buffer, it begins below */
} ti_tracked;

struct ti_task_graph {
    const ti_system *system;
    ti_arena_ring arenas;
    ti_horizon horizon;
    ti_anchor anchor;
    ti_era era;
    TI_VEC(ti_tracked *) buffer; /* by slot; NULL: no such buffer */
    ti_orders orders;
    ti_forwards *forwards; /* or NULL */
    ti_task_cycle cycle;
    uint64_t next_id, horizons;
    uint64_t *horizon_ns; /* or NULL */
    ti_deps deps;
};

/* Of horizons that the graph inserts. */
extern const ti_shape ti_horizon_shape;

/* A horizon, or an epoch: everything so far precedes it. A horizon applies the one before it; an epoch applies
 * itself. */
static inline void ti_task_graph_pass_point(ti_task_graph *graph, uint64_t id, bool is_epoch)
{
    const uint64_t before = ti_horizon_insert(&graph->horizon, id), applied = is_epoch ? id : before;
    TI_ASSERT(before < id && graph->era.applied <= applied);
    if (applied) {
        ti_horizon_apply(&graph->horizon, applied);
        ti_era_apply(&graph->era, applied);
    }
}

#endif
