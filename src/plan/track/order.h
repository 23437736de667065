/* Orders: on each node, tasks that name the same one run one after the other, whatever they touch.
 *
 * An order is a number (a slot of a table) with an id: the vertex that came last. It has no contents, no owner and no messages; a slot that
 * serves another purpose later costs a needless edge at most. All three stages keep a table of their own. Owned by the thread of its stage. */
#ifndef TI_ORDER_H
#define TI_ORDER_H

#include "ir/task.h"
#include "plan/track/tracker.h"

typedef struct ti_orders {
    TI_VEC(uint64_t) last; /* by slot; 0: none yet */
} ti_orders;

void ti_orders_fini(ti_orders *orders); /* a zeroed table is an empty one */
void ti_orders_follow_each(ti_orders *orders, const ti_task *task, uint64_t id, uint64_t applied, ti_deps *deps);

/* Vertex `id` belongs to `task`: what came last in the task's orders goes to `deps`, and it is the last one now. Ids below `applied` read as it. */
static inline void ti_orders_follow(ti_orders *orders, const ti_task *task, uint64_t id, uint64_t applied,
                                    ti_deps *deps)
{
    if (TI_UNLIKELY(task->shape->orders)) {
        ti_orders_follow_each(orders, task, id, applied, deps);
    }
}

#endif
