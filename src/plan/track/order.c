/* Orders: see order.h. */
#include "plan/track/order.h"

void ti_orders_fini(ti_orders *orders)
{
    ti_vec_fini(&orders->last);
}

void ti_orders_follow_each(ti_orders *orders, const ti_task *task, uint64_t id, uint64_t applied, ti_deps *deps)
{
    for (uint32_t i = 0; i < task->shape->orders; i++) {
        while (orders->last.count <= task->shape->order[i]) {
            ti_vec_push(&orders->last, 0);
        }
        uint64_t *last = &orders->last.data[task->shape->order[i]];
        if (*last) {
            ti_deps_add(deps, TI_MAX(*last, applied));
        }
        *last = id;
    }
}
