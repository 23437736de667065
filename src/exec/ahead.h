/* How far submission is ahead of execution, for back-pressure.
 *
 * It is counted in horizons, by how much of them concerns this node: of a horizon whose tasks are placed on a hundred
 * nodes, a hundredth counts. So a node has as much work of its own before it as if it were alone, however many others
 * there are. Tasks of other nodes take memory, too, until the horizon behind them has been executed; so their number is
 * bounded as well. Nodes need not agree. Application thread. */
#ifndef TI_AHEAD_H
#define TI_AHEAD_H

#include "base/check.h"
#include "ir/task.h"

/* A task with six accesses takes 2 kB of the task graph's arenas: 128 MiB. */
enum { TI_AHEAD_TASKS = 65536, TI_AHEAD_POINTS = 128, TI_AHEAD_WHOLE = 1024 };

typedef struct ti_ahead {
    uint64_t points;     /* horizons and epochs submitted */
    uint64_t tasks, own; /* since the last one */
    struct ti_ahead_sum {
        uint64_t weight; /* of horizons, TI_AHEAD_WHOLE for a whole one */
        uint64_t tasks;
    } sum, at[TI_AHEAD_POINTS]; /* up to now; up to a point, by its number */
} ti_ahead;                     /* a zeroed one is fresh */

/* The task has been submitted on this node. */
static inline void ti_ahead_note(ti_ahead *a, const ti_task *task, int node)
{
    if (task->kind != TI_TASK_HORIZON && task->kind != TI_TASK_EPOCH) {
        a->tasks++;
        a->own += task->kind != TI_TASK_EXECUTE || task->shape->place < 0 || task->shape->place == node;
        return;
    }
    a->sum.tasks += a->tasks;
    a->sum.weight += a->tasks ? (TI_AHEAD_WHOLE * a->own + a->tasks - 1) / a->tasks : (uint64_t)TI_AHEAD_WHOLE;
    a->points++;
    a->at[a->points % TI_AHEAD_POINTS] = a->sum;
    a->tasks = a->own = 0;
}

/* So many points have been submitted, and executed. */
static inline void ti_ahead_pass(ti_ahead *a, uint64_t points)
{
    TI_ASSERT(a->tasks == 0);
    a->points += points;
    a->at[a->points % TI_AHEAD_POINTS] = a->sum;
}

/* Whether no more than `horizons` are ahead, of which `executed` points have been executed. */
static inline bool ti_ahead_is_near(const ti_ahead *a, uint64_t executed, uint64_t horizons)
{
    uint64_t points = a->points - executed;
    const struct ti_ahead_sum *done = &a->at[executed % TI_AHEAD_POINTS];
    return points <= horizons || (points < TI_AHEAD_POINTS && a->sum.tasks - done->tasks <= TI_AHEAD_TASKS &&
                                  a->sum.weight - done->weight <= TI_AHEAD_WHOLE * horizons);
}

#endif
