/* Cycles of the task graph: the dependencies and forwards of a steady loop are those of the last round, but for ids.
 *
 * Rounds are found as plan/track/loop.h says, and the next one is recorded. If what the graph knows after it is what it
 * knew before, but for ids that have all grown by the tasks of the round, then the same tasks get the same dependencies
 * and forwards again, and horizons fall at the same places. So as long as each task has the shape that was recorded,
 * nothing is derived; neither trackers, producers nor the count of paths are told. When another task comes, they catch
 * up, and all is as if each had been looked at. For impl.h only. Application thread. */
#ifndef TI_TASK_CYCLE_H
#define TI_TASK_CYCLE_H

#include "ir/system.h"
#include "ir/task.h"
#include "plan/task/producer.h"
#include "plan/track/loop.h"
#include "plan/track/tracker.h"

struct ti_task_graph;

/* Points of the program, which have no shape: it waits, or gives everything on. */
#define TI_STEP_WAIT UINT64_MAX
#define TI_STEP_FLUSH (UINT64_MAX - 1)

/* A task, or a horizon. */
typedef struct ti_task_step {
    uint64_t serial;                        /* of its shape, or one of these; 0: a horizon that the graph inserts */
    size_t dep, forward, box, touch, write; /* the first of each of these, */
    uint32_t deps, forwards, touches, writes;
    bool completes;  /* its shape is bare, and something looks at its mappers */
    bool is_anchor;  /* the task before a horizon: anchor.h */
    uint64_t missed; /* by the anchor when a horizon comes */
} ti_task_step;

/* What a task reads or writes. */
typedef struct ti_task_touch {
    ti_tracker *tracker;
    uint32_t tile; /* the number of the box, or 0 */
    bool write;
    ti_box box;
} ti_task_touch;

/* All that the graph knows on which anything depends. What was written once and is never written again has the same
 * producer for ever; all other ids grow. */
typedef struct ti_task_state {
    ti_tracker_state known;
    ti_written written; /* producers */
    int64_t path;       /* of the applied horizon */
} ti_task_state;

typedef struct ti_task_cycle {
    bool off;
    ti_loop loop;
    size_t wanted;   /* segments that are still to be recorded */
    uint64_t waited; /* segments until the program waited last, at a point of its own */
    bool has_waits;  /* such points are part of the round */
    TI_VEC(ti_task_step) step;
    TI_VEC(uint64_t) dep;
    TI_VEC(ti_forward) forward; /* whose boxes are the next of: */
    TI_VEC(ti_box) box;
    TI_VEC(ti_task_touch) touch;
    ti_producer_writes write; /* of the tasks: who is the producer then */
    uint64_t number;          /* ti_task::again of its first step */
    uint64_t first, length;   /* its first id, how many ids it has */
    uint64_t applied;         /* when it had been recorded */
    ti_task_state before, after;
    size_t at;              /* the step that comes next */
    uint64_t rounds, shift; /* complete ones since; what is added to the ids of the recorded one */
    uint64_t repeated;      /* tasks and horizons, so far */
} ti_task_cycle;

void ti_task_cycle_init(ti_task_cycle *cycle, const ti_system *system);
void ti_task_cycle_fini(ti_task_cycle *cycle);

/* Whether the task is the next one of the round; then it has its id, dependencies and forwards. If not, all has caught
 * up. */
bool ti_task_cycle_take(struct ti_task_graph *graph, ti_task *task);
/* After that: whether a horizon follows it. */
static inline bool ti_task_cycle_has_horizon(const ti_task_cycle *c)
{
    return !c->step.data[c->at].serial;
}
/* So many tasks have come, in whole rounds. */
static inline void ti_task_cycle_pass(ti_task_cycle *c, uint64_t tasks)
{
    TI_ASSERT(c->loop.phase == TI_LOOP_REPEATS && c->at == 0 && tasks % c->length == 0);
    c->rounds += tasks / c->length;
    c->shift += tasks;
    c->repeated += tasks;
}
void ti_task_cycle_take_horizon(struct ti_task_graph *graph, ti_task *horizon);
/* A brief comes, with which nothing is repeated: catch up. */
void ti_task_cycle_skip(struct ti_task_graph *graph);
/* The task has been derived, and had the shape `was` before. */
void ti_task_cycle_note(struct ti_task_graph *graph, const ti_task *task, const ti_shape *was);

#endif
