/* Orders: on each node, tasks that name the same one run one after the other, whatever they touch.
 *
 * An order is a number (a slot of a table) with an id: the vertex that came last. It has no contents, no owner and no
 * messages. A slot that serves another purpose later costs a needless edge at most. Each of the three stages keeps a
 * table of its own. Owned by the thread of its stage. */
#ifndef TI_ORDER_H
#define TI_ORDER_H

#include "ir/task.h"
#include "plan/track/tracker.h"

typedef struct ti_orders {
    TI_VEC(uint64_t) last; /* by slot; 0: none yet */
} ti_orders;               /* a zeroed table is an empty one */

static inline void ti_orders_fini(ti_orders *orders)
{
    ti_vec_fini(&orders->last);
}

/* Vertex `id` belongs to `task`: what came last in the task's orders goes to `deps`, and `id` is the last one now.
 * Ids below `applied` read as it. */
static inline void ti_orders_follow(ti_orders *orders, const ti_task *task, uint64_t id, uint64_t applied,
                                    ti_deps *deps)
{
    for (uint32_t i = 0; TI_UNLIKELY(i < task->shape->orders); i++) {
        while (orders->last.count <= task->shape->order[i]) {
            ti_vec_push(&orders->last, 0);
        }
        uint64_t *last = &orders->last.data[task->shape->order[i]];
        TI_ASSERT(*last < id);
        ti_deps_add(deps, *last ? TI_MAX(*last, applied) : 0);
        *last = id;
    }
}

#endif
