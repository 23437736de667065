/* Where roles are at home, with the application thread or with the workers: see impl.h.
 *
 * A role that moves to another core takes longer there than a short task: all that it needs was written by the core
 * that had it before. Idle workers would be faster to see what there is to do, and so take a role each time from a
 * thread that needs its result a moment later. So each role is at home on one side. The other side leaves it alone
 * unless the role's work has not moved for some microseconds: then whoever has the role at home computes, or is
 * elsewhere in the program.
 *
 * When the program waits for results, both roles are its own, and stay so until a worker finds work that has not moved.
 * When it only waits for workers to catch up, it plans, and they execute. Only the mode shared has homes. Any thread.
 */
#include "run/impl.h"

#include "base/clock.h"

/* Whether something has come for the executor since its last step, that can be seen by who may not take the role.
 * Nothing is written: threads that have nothing to do look again and again, and would take the cache lines of the role
 * away from who works. */
static bool has_come(ti_runtime *rt)
{
    const bool can = atomic_load_explicit(&rt->has_executor, memory_order_acquire); /* and then there are devices */
    bool any = can && !ti_ring_is_empty(&rt->scheduler.instructions);
    for (int d = 0; can && d < ti_system_hosts(&rt->system) && !any; d++) {
        any = ti_device_host_has_ended(rt->device[d]);
    }
    return any;
}

/* Of several nodes, and of what threads of their own do, only a step knows. */
bool ti_home_is_quiet(ti_runtime *rt)
{
    if (!atomic_load_explicit(&rt->has_executor, memory_order_acquire)) {
        return true;
    }
    return rt->mode == TI_RUN_SHARED && rt->system.num_nodes == 1 &&
           atomic_load_explicit(&rt->progress.messages, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&rt->progress.unseen, memory_order_relaxed) &&
           ti_failure_get(&rt->progress.failure) == TACIT_OK && !has_come(rt);
}

/* Tasks, instructions that did not fit into their channel, or an open window of allocations. */
bool ti_home_is_behind(ti_runtime *rt)
{
    return !ti_ring_is_empty(&rt->scheduler.tasks) ||
           atomic_load_explicit(&rt->scheduler.backlog, memory_order_relaxed) ||
           atomic_load_explicit(&rt->scheduler.waiting, memory_order_relaxed);
}

/* At one of so many looks, of 50 ns and more each, a thread sees whether the work of others has moved. It waits longer
 * than kernels that are not cut, which move with the executor's role, and what they touch moves with them. */
enum { LOOKS_APART = 32, STILL_NS = 20000, ALL = TI_CAN_PLAN | TI_CAN_EXECUTE };

/* What this thread has seen of the runtime that it belongs to, or of another one: then it waits once more. */
static _Thread_local struct {
    uint32_t looks;
    size_t planned; /* tasks */
    uint64_t steps; /* of the executor */
    uint64_t since; /* on the clock: when that was */
} seen;

/* Which of these roles have work that has not moved since this thread looked last. */
static uint32_t lie_still(ti_runtime *rt, uint32_t roles)
{
    const uint64_t now = ti_clock_ns();
    if (now - seen.since < STILL_NS) {
        return 0;
    }
    const size_t planned = atomic_load_explicit(&rt->scheduler.tasks.head, memory_order_relaxed);
    const uint64_t steps = atomic_load_explicit(&rt->looks, memory_order_relaxed);
    const bool plans = (roles & TI_CAN_PLAN) && planned == seen.planned && ti_home_is_behind(rt);
    const bool executes = (roles & TI_CAN_EXECUTE) && steps == seen.steps && !ti_home_is_quiet(rt);
    seen.planned = planned;
    seen.steps = steps;
    seen.since = now;
    return (plans ? TI_CAN_PLAN : 0) | (executes ? TI_CAN_EXECUTE : 0);
}

void ti_home_enter(ti_runtime *rt, uint32_t roles)
{
    if (rt->mode == TI_RUN_SHARED && (atomic_load_explicit(&rt->at_home, memory_order_relaxed) & roles) != roles) {
        atomic_fetch_or_explicit(&rt->at_home, roles, memory_order_relaxed);
    }
}

void ti_home_leave(ti_runtime *rt, uint32_t roles)
{
    if (atomic_load_explicit(&rt->at_home, memory_order_relaxed) & roles) {
        atomic_fetch_and_explicit(&rt->at_home, ~roles, memory_order_relaxed);
    }
}

uint32_t ti_home_left_by_worker(ti_runtime *rt, ti_host_idle when)
{
    const uint32_t left = atomic_load_explicit(&rt->at_home, memory_order_relaxed);
    if (!left || when == TI_HOST_COMPLETED ||
        (when == TI_HOST_SPINS && left != ALL && ++seen.looks % LOOKS_APART != 0)) {
        return left;
    }
    const uint32_t taken = lie_still(rt, left);
    ti_home_leave(rt, taken);
    return left & ~taken;
}

bool ti_home_has_work(ti_runtime *rt, uint32_t roles)
{
    return ((roles & TI_CAN_PLAN) && ti_home_is_behind(rt)) || ((roles & TI_CAN_EXECUTE) && has_come(rt));
}

static bool all_compute(const ti_runtime *rt)
{
    bool all = true;
    for (int d = 0; d < ti_system_hosts(&rt->system) && all; d++) {
        all = ti_device_host_all_compute(rt->device[d]);
    }
    return all;
}

bool ti_home_left_by_program(ti_runtime *rt, bool completed)
{
    if (rt->mode != TI_RUN_SHARED || ti_home_is_program(rt, TI_CAN_EXECUTE) || (completed && all_compute(rt))) {
        return false;
    }
    if (++seen.looks % LOOKS_APART != 0 || !lie_still(rt, TI_CAN_EXECUTE)) {
        return true;
    }
    ti_home_enter(rt, TI_CAN_EXECUTE);
    return false;
}
