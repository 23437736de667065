/* What threads do that plan and execute: see impl.h. */
#include "run/impl.h"

#include "base/log.h"
#include "device/host.h"

enum { SENDS_BUDGET = 1024, MAX_INCOMPLETE = 16384, LOOKS_PER_LIMIT = 8 };

/* Whether a window of allocations is open, which somebody must look at from time to time. */
static bool is_waiting(ti_runtime *rt)
{
    return atomic_load_explicit(&rt->scheduler.waiting, memory_order_relaxed);
}

static void refuse_memory(ti_runtime *rt, const ti_refusal *refusal)
{
    if (ti_failure_get(&rt->progress.failure) == TACIT_OK) {
        ti_log_text(TI_LOG_ERROR, refusal->table.text);
        ti_failure_set(&rt->progress.failure, TACIT_ERROR_MEMORY, "%s", refusal->sentence.text);
    }
}

/* Who executes at this moment may have looked already, and not have seen what there is to do now. */
static void let_executor_look_again(ti_runtime *rt)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (ti_lock_is_held(&rt->executing)) {
        ti_lot_move(&rt->progress.lot);
    }
}

void ti_roles_leave_executor(ti_runtime *rt)
{
    ti_lock_drop(&rt->executing);
    if (rt->mode != TI_RUN_INLINE) {
        ti_lot_wake_able(&rt->progress.lot, 1, TI_CAN_EXECUTE);
    }
}

static bool schedule(ti_runtime *rt, int budget)
{
    if (!ti_home_is_behind(rt) || !ti_lock_try(&rt->scheduling)) {
        return false;
    }
    bool any = ti_scheduler_step(&rt->scheduler, budget,
                                 atomic_load_explicit(&rt->progress.task, memory_order_acquire));
    const ti_refusal *refusal = ti_instruction_graph_refusal(rt->scheduler.graph);
    if (TI_UNLIKELY(refusal)) {
        refuse_memory(rt, refusal);
    }
    ti_lock_drop(&rt->scheduling);
    return any;
}

bool ti_roles_schedule(ti_runtime *rt, int budget)
{
    bool any = schedule(rt, budget);
    if (any && rt->mode == TI_RUN_SHARED) {
        let_executor_look_again(rt);
    }
    return any;
}

/* Who planned them wrote them, maybe on another core: they come while those before are submitted, first an instruction,
 * then what it points to. */
static void fetch_ahead(const ti_ring *instructions)
{
    const ti_instruction *next = ti_ring_ahead(instructions, 1);
    ti_prefetch(ti_ring_ahead(instructions, 2), sizeof(ti_instruction));
    if (next) {
        ti_prefetch(next->dep, 1);
        ti_prefetch(next->task, sizeof(ti_task));
    }
}

static bool drain_instructions(ti_runtime *rt)
{
    bool any = false;
    while (ti_executor_incomplete(rt->executor) < MAX_INCOMPLETE) {
        fetch_ahead(&rt->scheduler.instructions);
        const ti_instruction *i = ti_ring_pop(&rt->scheduler.instructions);
        if (!i) {
            break;
        }
        ti_executor_submit(rt->executor, i);
        any = true;
    }
    return any;
}

/* Before sends leave: what has been submitted already may send the same to others. */
bool ti_roles_plan_first(void *user)
{
    ti_runtime *rt = user;
    return rt->mode == TI_RUN_SHARED && schedule(rt, SENDS_BUDGET) && drain_instructions(rt);
}

/* After an error nothing more is started, and the other nodes are told, once. */
void ti_roles_end_job(ti_runtime *rt)
{
    if (!rt->ended && rt->system.num_nodes > 1) {
        rt->ended = true;
        ti_executor_trace_unfinished(rt->executor);
        ti_tracing_flush(&rt->trace);
        ti_failure_print_in_turn(&rt->progress.failure, rt->system.node);
        rt->comm->ops->abort(rt->comm, rt->progress.failure.text);
    }
}

static bool has_messages(void *user)
{
    ti_runtime *rt = user;
    return atomic_load_explicit(&rt->progress.messages, memory_order_relaxed) > 0;
}

/* Somebody might have to look after them. */
static bool needs_attendant(void *user)
{
    ti_runtime *rt = user;
    return has_messages(rt) && !atomic_load_explicit(&rt->round.awaits, memory_order_relaxed);
}

/* The attendant must know when the first message is under way, in case all threads go into kernels now. */
void ti_roles_note_step(ti_runtime *rt)
{
    bool before = rt->under_way;
    rt->under_way = needs_attendant(rt);
    ti_attendant_expect(&rt->attendant, &rt->progress.lot, rt->comm->due);
    atomic_store_explicit(&rt->looks, atomic_load_explicit(&rt->looks, memory_order_relaxed) + 1, memory_order_relaxed);
    if (rt->under_way && !before) {
        ti_attendant_call(&rt->attendant);
    }
}

static bool execute(ti_runtime *rt, bool (*step)(ti_executor *executor))
{
    if (!ti_lock_try(&rt->executing)) {
        return false;
    }
    if (ti_failure_get(&rt->progress.failure) != TACIT_OK) {
        ti_roles_end_job(rt);
        ti_lock_drop(&rt->executing);
        return false;
    }
    bool any = drain_instructions(rt);
    any |= step(rt->executor);
    ti_roles_note_step(rt);
    if (rt->agreement) {
        ti_agreement_turn(rt->agreement, any, &rt->progress.failure);
    }
    ti_lock_drop(&rt->executing);
    return any;
}

bool ti_roles_execute(void *user)
{
    return execute(user, ti_executor_step);
}

bool ti_roles_start(ti_runtime *rt)
{
    return execute(rt, ti_executor_start);
}

bool ti_roles_execute_idly(ti_runtime *rt)
{
    return !ti_home_is_quiet(rt) && ti_roles_execute(rt);
}

static bool is_polling(ti_runtime *rt)
{
    return has_messages(rt) || (rt->agreement && ti_agreement_is_busy(rt->agreement));
}

bool ti_roles_must_poll(void *user)
{
    ti_runtime *rt = user;
    return rt->mode != TI_RUN_THREAD && is_polling(rt);
}

bool ti_roles_must_look(void *user)
{
    ti_runtime *rt = user;
    return ti_roles_must_poll(rt) || (rt->mode != TI_RUN_THREAD && is_waiting(rt));
}

/* Run a part of a kernel as the worker that has no thread, unless somebody else does. */
bool ti_roles_lend(ti_runtime *rt, uint32_t looks)
{
    if (rt->lent_worker < 0 || !ti_lock_try(&rt->lending)) {
        return false;
    }
    bool any = ti_device_host_work(rt->device[0], rt->lent_worker, looks);
    ti_lock_drop(&rt->lending);
    return any;
}

/* What this thread then had to do next as that worker is left to others. */
static bool lend_shortly(ti_runtime *rt)
{
    bool any = ti_roles_lend(rt, 1);
    if (any) {
        ti_device_host_leave(rt->device[0]);
    }
    return any;
}

/* First what completes and starts kernels. */
static bool execute_idly(ti_runtime *rt, bool completed)
{
    bool executed = ti_roles_execute_idly(rt);
    if (completed && !executed) { /* who has the role may leave it just now: then this thread takes it */
        let_executor_look_again(rt);
        executed = ti_roles_execute_idly(rt);
    }
    return executed;
}

/* A worker without a job: then those of other devices, then planning. */
ti_host_found ti_roles_idle_worker(void *user, ti_host_idle when)
{
    ti_runtime *rt = user;
    if (rt->mode != TI_RUN_SHARED) {
        return TI_HOST_NOTHING;
    }
    const bool completed = when == TI_HOST_COMPLETED;
    const uint32_t left = ti_home_left_by_worker(rt, when);
    if (when == TI_HOST_RESTS && ti_home_has_work(rt, left)) {
        return TI_HOST_SOMETHING; /* it stays awake, and sees whether that lies still */
    }
    bool any = (completed || !(left & TI_CAN_EXECUTE)) && execute_idly(rt, completed);
    any = any || (ti_system_hosts(&rt->system) > 1 && lend_shortly(rt)) ||
          (!(left & TI_CAN_PLAN) && ti_roles_schedule(rt, ti_roles_must_poll(rt) ? 1 : TI_PLAN_BUDGET));
    return any ? TI_HOST_SOMETHING : left == (TI_CAN_PLAN | TI_CAN_EXECUTE) ? TI_HOST_OTHERS_LOOK : TI_HOST_NOTHING;
}

void *ti_roles_scheduler_main(void *user)
{
    ti_runtime *rt = user;
    ti_pin_thread(&rt->pin, rt->pin.count - 2); /* behind the workers' */
    for (ti_waiter waiter = { .can = TI_CAN_PLAN }; !atomic_load_explicit(&rt->stop, memory_order_acquire);) {
        uint32_t ticket = ti_lot_ticket(&rt->progress.lot);
        if (ti_roles_schedule(rt, TI_PLAN_BUDGET)) {
            ti_lot_wake_able(&rt->progress.lot, INT32_MAX, TI_CAN_EXECUTE | TI_CAN_WAIT);
            waiter.round = 0;
        } else {
            ti_backoff(&waiter, &rt->progress.lot, ticket, is_waiting(rt));
        }
    }
    return NULL;
}

void *ti_roles_executor_main(void *user)
{
    ti_runtime *rt = user;
    ti_pin_thread(&rt->pin, rt->pin.count - 1);
    for (ti_waiter waiter = { .can = TI_CAN_EXECUTE }; !atomic_load_explicit(&rt->stop, memory_order_acquire);) {
        uint32_t ticket = ti_lot_ticket(&rt->progress.lot);
        if (ti_roles_execute(rt)) {
            waiter.round = 0;
        } else {
            ti_backoff(&waiter, &rt->progress.lot, ticket, is_polling(rt));
        }
    }
    return NULL;
}

/* ---- the attendant */

static uint64_t count_looks(void *user)
{
    return atomic_load_explicit(&((ti_runtime *)user)->looks, memory_order_relaxed);
}

static void look_at_kernels(void *user)
{
    ti_runtime *rt = user;
    if (ti_lock_try(&rt->executing)) {
        ti_watchdog_look_at_kernels(&rt->watchdog, rt->executor, rt->system.node);
        ti_roles_leave_executor(rt);
    }
}

/* It does not sleep in the lot, so it sees here whether it should look again. */
static bool look_after_messages(void *user)
{
    ti_runtime *rt = user;
    uint32_t ticket = ti_lot_ticket(&rt->progress.lot);
    return ti_roles_execute(rt) || ti_lot_ticket(&rt->progress.lot) != ticket;
}

/* Without it the run goes on as well, but that messages may wait for kernels. */
void ti_roles_start_attendant(ti_runtime *rt)
{
    const ti_attendant_desc desc = {
        .is_needed = needs_attendant,
        .looks = count_looks,
        .timed = rt->comm->nap_ns ? &rt->progress.lot : NULL,
        .look = look_after_messages,
        .watch = look_at_kernels,
        .watch_ns = rt->watchdog.limit > 0 ? (uint64_t)rt->watchdog.limit * 1000000000u / LOOKS_PER_LIMIT : 0,
        .user = rt,
    };
    if (rt->attended && !ti_attendant_start(&rt->attendant, &desc)) {
        ti_log(TI_LOG_WARNING, "the system grants no thread that moves messages while kernels compute, so these wait "
                               "for kernels; raise the limit on threads");
    }
}
