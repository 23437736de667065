/* What the application thread does while it waits in a call: it takes whatever role is free, and runs its part of
 * kernels. See impl.h. Application thread. */
#include "run/impl.h"

#include "base/check.h"
#include "base/clock.h"
#include "device/host.h"

enum { WATCH_EVERY = 64, LONG_WAIT_NS = 2 * 1000 * 1000 };

bool ti_waiting_compute(ti_runtime *rt, uint32_t looks)
{
    bool any = rt->mode != TI_RUN_INLINE && ti_roles_lend(rt, looks);
    for (int d = 0; rt->mode == TI_RUN_INLINE && d < ti_system_hosts(&rt->system); d++) {
        any |= ti_device_host_work(rt->device[d], 0, looks);
    }
    return any;
}

/* Do something useful while waiting: take free roles, run a part of a kernel. Planning comes last, and in small steps
 * while messages are under way, so that neither kernels nor messages wait behind it. */
static bool help(ti_runtime *rt, const ti_waiter *waiter, bool *completed)
{
    if (rt->mode == TI_RUN_THREAD) {
        return false;
    }
    const bool rests = !ti_spins(waiter, &rt->progress.lot);
    if (rt->mode == TI_RUN_SHARED && !rests && !*completed && waiter->round % TI_HOST_LOOKS_PER_IDLE != 0) {
        return *completed = ti_waiting_compute(rt, 0);
    }
    bool any = (rests || !ti_home_left_by_program(rt, *completed)) && ti_roles_execute_idly(rt);
    enum { PER_STEAL = TI_HOST_LOOKS_PER_STEAL };
    *completed = ti_waiting_compute(rt, rests ? TI_HOST_LOOKS_AT_REST : waiter->round % PER_STEAL == 0 ? PER_STEAL : 0);
    any |= *completed;
    return any || ti_roles_schedule(rt, ti_roles_must_poll(rt) ? 1 : TI_PLAN_BUDGET);
}

/* After some waiting, which was seen first at *since: let other nodes know where this one stands, and say what it waits
 * for if that takes long. */
static void watch(ti_runtime *rt, uint64_t *since)
{
    uint64_t now = ti_clock_ns();
    *since = *since ? *since : now;
    if (rt->agreement && now - *since > LONG_WAIT_NS) {
        ti_agreement_idle(rt->agreement, true);
    }
    if (now - *since > TI_SIBLINGS_SECONDS * 1000000000u && rt->watchdog.limit >= 0) {
        ti_siblings_look(&rt->member);
    }
    if (rt->watchdog.limit >= 0 && ti_lock_try(&rt->executing)) {
        ti_watchdog_look(&rt->watchdog, rt->executor, rt->agreement, ti_task_graph_tasks(rt->tasks));
        ti_watchdog_look_at_kernels(&rt->watchdog, rt->executor, rt->system.node);
        ti_roles_leave_executor(rt);
    }
}

static uint64_t executed_points(const ti_runtime *rt)
{
    return atomic_load_explicit(&rt->progress.points, memory_order_acquire);
}

/* Whether all that was submitted is planned; then, whether it is executed, or some of it waits in a window of
 * allocations for more. Who has a role is waited for: it may have said already that all is done. */
static bool is_all_done(ti_runtime *rt)
{
    ti_scheduler *s = &rt->scheduler;
    if (!ti_ring_is_empty(&s->tasks) || !ti_ring_is_empty(&s->instructions)) {
        return false;
    }
    ti_lock_take(&rt->scheduling);
    const bool planned = ti_ring_is_empty(&s->tasks) && !atomic_load_explicit(&s->backlog, memory_order_relaxed);
    bool done = planned && ti_instruction_graph_is_waiting(s->graph);
    if (planned && !done) {
        ti_lock_take(&rt->executing);
        done = ti_ring_is_empty(&s->instructions) && ti_executor_incomplete(rt->executor) == 0;
        ti_roles_leave_executor(rt);
    }
    ti_lock_drop(&rt->scheduling);
    return done;
}

bool ti_waiting_holds(ti_runtime *rt, ti_trace_cause kind, const ti_signal *signal)
{
    TI_ASSERT(executed_points(rt) <= rt->ahead.points && (kind == TI_CAUSE_SIGNAL) == (signal != NULL));
    switch (kind) {
    case TI_CAUSE_NEAR: /* the program is not too far ahead */
        return ti_ahead_is_near(&rt->ahead, executed_points(rt), (uint64_t)rt->config.run_ahead);
    case TI_CAUSE_ROOM:
        return ti_ring_space(&rt->scheduler.tasks) > 0;
    case TI_CAUSE_SIGNAL:
        return atomic_load_explicit(&signal->set, memory_order_acquire) != 0;
    case TI_CAUSE_POINTS:
        return rt->ahead.points == executed_points(rt);
    case TI_CAUSE_SETTLED:
        return ti_agreement_is_settled(rt->agreement);
    case TI_CAUSE_ALL:
        return is_all_done(rt);
    case TI_CAUSE_ROUND:
        return atomic_load_explicit(&rt->progress.round_messages, memory_order_acquire) == 0;
    case TI_CAUSES:
        break;
    }
    TI_UNREACHABLE();
}

void ti_waiting_let_go(ti_runtime *rt)
{
    if (rt->mode == TI_RUN_INLINE) {
        atomic_store_explicit(&rt->progress.holding, false, memory_order_relaxed);
    }
}

/* What this thread can do while it waits. */
static uint32_t abilities(const ti_runtime *rt)
{
    const uint32_t runs = rt->lent_worker >= 0 ? TI_CAN_RUN_ON(0) : 0;
    const uint32_t shared = TI_CAN_PLAN | TI_CAN_EXECUTE | runs | TI_CAN_WAIT;
    return rt->mode == TI_RUN_SHARED ? shared : rt->mode == TI_RUN_INLINE ? TI_CAN_ANYTHING : TI_CAN_WAIT;
}

/* Where results are awaited, this thread is the next that needs them. */
static bool is_for_results(ti_trace_cause kind)
{
    return kind != TI_CAUSE_NEAR && kind != TI_CAUSE_ROOM;
}

static void enter_wait(ti_runtime *rt, ti_trace_cause kind)
{
    ti_waiting_let_go(rt);
    if (rt->mode == TI_RUN_SHARED && rt->lent_worker >= 0) {
        ti_device_host_join(rt->device[0], rt->lent_worker);
    }
    rt->unplanned = 0; /* soon */
    ti_home_enter(rt, TI_CAN_PLAN | (is_for_results(kind) ? TI_CAN_EXECUTE : 0));
}

/* What comes next is left to workers, who may be asleep. */
static void leave_wait(ti_runtime *rt, ti_trace_cause kind)
{
    if (rt->mode != TI_RUN_SHARED) {
        return;
    }
    if (rt->lent_worker >= 0) {
        ti_device_host_leave(rt->device[0]);
    }
    if (!is_for_results(kind)) {
        ti_home_leave(rt, TI_CAN_EXECUTE);
    }
    if (ti_lot_has_runners(&rt->progress.lot) && ti_home_has_work(rt, TI_CAN_EXECUTE)) {
        ti_lot_wake_able(&rt->progress.lot, 1, TI_CAN_EXECUTE);
    }
}

void ti_waiting_until(ti_runtime *rt, ti_trace_cause kind, const ti_signal *signal)
{
    uint64_t since = 0, start = 0;
    bool completed = false; /* parts of kernels, the last time */
    ti_waiter waiter = { .can = abilities(rt) };
    enter_wait(rt, kind);
    while (ti_failure_get(&rt->progress.failure) == TACIT_OK) {
        const uint32_t ticket = ti_spins(&waiter, &rt->progress.lot) ? 0 : ti_lot_ticket(&rt->progress.lot);
        if (ti_waiting_holds(rt, kind, signal)) {
            break;
        }
        start = rt->trace.recorder && !start ? ti_clock_ns() : start;
        if (help(rt, &waiter, &completed)) {
            waiter.round = 0;
            if (completed && !is_for_results(kind)) {
                ti_home_leave(rt, TI_CAN_PLAN); /* who has time for it */
            }
        } else {
            ti_backoff(&waiter, &rt->progress.lot, ticket, ti_roles_must_poll(rt));
            if (waiter.round % WATCH_EVERY == 0) {
                watch(rt, &since);
            }
        }
    }
    ti_tracing_note_wait(&rt->trace, kind, start);
    if (since && rt->agreement) {
        ti_agreement_idle(rt->agreement, false);
    }
    leave_wait(rt, kind);
    if (ti_failure_get(&rt->progress.failure) != TACIT_OK) {
        /* Whoever executes finishes its step, so that nothing writes to what the caller waited for any more. */
        ti_lock_take(&rt->executing);
        ti_roles_end_job(rt);
        ti_roles_leave_executor(rt);
    }
}

uint64_t ti_waiting_executed(const ti_runtime *rt)
{
    return ti_dry_run_executed(rt->dry, atomic_load_explicit(&rt->progress.task, memory_order_acquire));
}

void ti_waiting_release(ti_runtime *rt)
{
    uint64_t executed = ti_waiting_executed(rt);
    if (executed != rt->released) {
        TI_ASSERT(executed > rt->released);
        rt->released = executed;
        ti_task_graph_release(rt->tasks, executed);
    }
}
