/* The runtime of one node: see runtime.h. */
#include "run/impl.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/crowd.h"
#include "base/log.h"
#include "device/host.h"
#include "run/kernel_communicator.h"
#include "trace/explain.h"

#include <string.h>

/* ---- creation, in order; destruction in reverse */

static bool choose(ti_runtime *rt, ti_strbuf *why)
{
    ti_choice choice;
    bool good = ti_choose(&rt->config, rt->comm, rt->dry != NULL, &choice, why);
    rt->mode = choice.mode;
    rt->attended = choice.attended;
    rt->comm->attended = choice.attended || choice.mode == TI_RUN_THREAD;
    rt->share = choice.share;
    rt->progress.lot.nap_ns = (uint32_t)rt->comm->nap_ns;
    rt->progress.lot.role = &rt->executing;
    rt->progress.failure.lot = &rt->progress.lot;
    rt->devices = choice.list;
    rt->pin = choice.pin;
    ti_choose_system(&choice, &rt->system);
    rt->system.device_name = rt->devices.name;
    rt->progress.lot.patience_ns = ti_choose_yields(&choice, &rt->system);
    rt->progress.lot.spins = rt->progress.lot.patience_ns ? TI_SPINS_CROWDED : choice.spins;
    return good;
}

/* Whether the planners have to know no more of a task on tiles of another node than a brief says. Where tasks wait for
 * those that follow, across horizons or for their readers, none passes by at once. */
static bool has_briefs(const ti_runtime *rt)
{
    const ti_system *s = &rt->system;
    return s->num_nodes > 1 && s->multicast < TI_MULTICAST_TREES && s->latency_tasks <= 1 && !rt->tune.on &&
           !s->record && !s->explain;
}

/* The same of those that look at every task. */
static bool looks_at_none(const ti_runtime *rt)
{
    return !rt->dry && !rt->trace.recorder;
}

/* A dry run measures nothing, but repeats what another run has chosen. */
static bool may_tune(const ti_runtime *rt)
{
    const char *list;
    return !rt->dry || (ti_tune_parse(rt->config.latency, &list) && list);
}

/* What nodes agree on at the start. */
static tacit_status describe_system(ti_runtime *rt, ti_strbuf *why)
{
    ti_system *s = &rt->system;
    s->node = rt->comm->node;
    s->num_nodes = rt->comm->num_nodes;
    rt->progress.failure.leaves_kernels = s->num_nodes > 1;
    /* Horizons must fall alike on all nodes, so what is known of this node alone enters only as a sum over all of
     * them. */
    s->total_workers = ti_advisor_begin(&rt->advisor, &rt->config, rt->comm, (int64_t)s->workers * s->devices);
    rt->agreement = rt->comm->stats.error ? NULL : ti_agreement_create(rt->comm, &rt->config);
    if (rt->comm->stats.error) {
        ti_strbuf_add(why, "%s", rt->comm->stats.error);
        return TACIT_ERROR_NETWORK;
    }
    if (!ti_dry_run_simulate(rt->dry, &rt->config, s, why) || !ti_tracing_open(&rt->trace, &rt->config, s, why)) {
        return TACIT_ERROR_CONFIG;
    }
    ti_tracing_begin(&rt->trace, rt->comm, &rt->config, rt->mode, rt->agreement != NULL);
    const ti_run_kind kind = { rt->mode, rt->dry != NULL, rt->dry && !ti_dry_run_is_known(rt->dry) };
    ti_choose_planning(s, &rt->config, &kind, rt->comm);
    ti_choose_direct(s, &rt->config, rt->comm);
    ti_lock *const locks[] = { &rt->scheduling, &rt->executing };
    ti_tune_init(&rt->tune, may_tune(rt) ? rt->config.latency : NULL, rt->comm, s, locks);
    rt->purity = s->check_pure ? ti_purity_create(rt->comm) : NULL;
    rt->trace.tune = rt->tune.on ? &rt->tune : NULL;
    if (!ti_balance_init(&rt->balance, rt->config.balance, rt->comm, s, rt->dry != NULL, why)) {
        return TACIT_ERROR_CONFIG;
    }
    s->shares = rt->balance.shares.weight;
    return ti_dry_run_begin(rt->dry, &rt->config, s, why) ? TACIT_OK : TACIT_ERROR_CONFIG;
}

/* Whoever wants to know what workers do: traced runs, advice, what is chosen by measurements. */
static void note_part(void *user, const ti_host_part *part)
{
    ti_runtime *rt = user;
    if (rt->advisor.on) {
        ti_advisor_note_part(&rt->advisor, part);
    }
    if (rt->balance.measures) {
        ti_balance_note_part(&rt->balance, part);
    }
    if (rt->trace.recorder) {
        ti_tracing_note_part(&rt->trace, part);
    } else if (rt->tune.on) {
        ti_tune_note_part(&rt->tune, part);
    }
}

static void note_busy(void *user, int device, uint64_t items, uint64_t ns)
{
    ti_runtime *rt = user;
    ti_shares_note(&rt->balance.shares, device, items, ns);
}

static bool hears_of_parts(const ti_runtime *rt)
{
    return rt->trace.recorder || rt->tune.on || rt->balance.measures || rt->advisor.on;
}

static bool create_devices(ti_runtime *rt, ti_strbuf *why)
{
    bool spare = rt->mode == TI_RUN_SHARED && rt->system.workers * ti_system_hosts(&rt->system) > 1;
    ti_devices_desc desc = {
        .list = &rt->devices,
        .system = &rt->system,
        .threads = rt->mode != TI_RUN_INLINE,
        .spare = spare,
        .is_dry = rt->dry != NULL,
        .pin = &rt->pin,
        .host = { .idle = ti_roles_idle_worker,
                  .polling = ti_roles_must_look,
                  .user = rt,
                  .ran = hears_of_parts(rt) ? note_part : NULL,
                  .listener = rt,
                  .lot = &rt->progress.lot,
                  .can = rt->mode == TI_RUN_SHARED ? TI_CAN_PLAN | TI_CAN_EXECUTE : 0,
                  .told = rt->mode == TI_RUN_THREAD ? &rt->progress.lot : NULL,
                  .told_can = TI_CAN_EXECUTE,
                  .failure = &rt->progress.failure },
        .kernel_cache = rt->config.kernel_cache,
        .failure = &rt->progress.failure,
    };
    rt->lent_worker = spare ? rt->system.workers - 1 : -1;
    rt->device = ti_devices_create(&desc, why);
    if (rt->device) {
        ti_choose_device_memory(&rt->system, &rt->config, rt->device);
    }
    return rt->device && ti_devices_connect(rt->device, &rt->system, &rt->config, rt->comm, why);
}

static bool start_threads(ti_runtime *rt, ti_strbuf *why)
{
    static void *(*const mains[])(void *) = { ti_roles_scheduler_main, ti_roles_executor_main };
    for (int code; rt->mode == TI_RUN_THREAD && rt->started < 2; rt->started++) {
        if ((code = pthread_create(&rt->threads[rt->started], NULL, mains[rt->started], rt)) != 0) {
            ti_strbuf_add(
                why,
                "the scheduler and executor threads cannot be started: %s; use TACIT_PROGRESS=shared or raise the "
                "limit on threads",
                strerror(code));
            return false;
        }
    }
    return true;
}

/* Workers look for roles as soon as they exist: the executor's is held until there is one, and so is the worker that
 * is lent. */
static bool start(ti_runtime *rt, const ti_runtime_desc *desc, ti_strbuf *why)
{
    ti_lock_take(&rt->executing);
    ti_lock_take(&rt->lending);
    bool created = create_devices(rt, why);
    if (created) {
        ti_lock_drop(&rt->lending);
        if (rt->config.bounds_check) {
            rt->bounds = ti_bounds_create(ti_system_hosts(&rt->system) * rt->system.workers + 1, &rt->progress.failure);
        }
        rt->busy = (ti_busy){ .user = rt, .done = note_busy };
        rt->executor = ti_executor_create(&(ti_executor_desc){
            .system = &rt->system,
            .context = desc->context,
            .comm = rt->comm,
            .device = rt->device,
            .progress = &rt->progress,
            .trace = rt->trace.executor,
            .is_inline = rt->mode == TI_RUN_INLINE,
            .cores = ti_pin_set(&rt->pin),
            .dry = rt->dry ? &rt->dry->executed : NULL,
            .memory = rt->dry ? NULL : rt->advisor.memory,
            .bounds = rt->bounds,
            .busy = rt->balance.measures && rt->system.accelerators ? &rt->busy : NULL,
            .purity = rt->purity,
            .explains = ti_agreement_explains,
            .user = rt->agreement,
            .plan = ti_roles_plan_first,
            .planner = rt,
        });
        atomic_store_explicit(&rt->has_executor, true, memory_order_release);
        ti_roles_leave_executor(rt);
    }
    return created && start_threads(rt, why);
}

static bool is_behind(const void *user)
{
    const ti_runtime *rt = user;
    return ti_runtime_executed(rt) < ti_task_graph_tasks(rt->tasks);
}

ti_runtime *ti_runtime_create(const ti_runtime_desc *desc, tacit_status *status, ti_strbuf *why)
{
    static const char *const modes[] = { "inline", "shared", "thread" };
    ti_runtime *rt = TI_NEW(ti_runtime);
    rt->config = desc->config;
    rt->watchdog.limit = desc->config.watchdog;
    rt->comm = desc->comm;
    rt->dry = rt->config.dry_run ? ti_dry_run_create(&rt->comm->stats) : NULL;
    bool good = choose(rt, why) && ti_graph_files_open(&rt->graphs, rt->config.graph, rt->config.graph_tasks, why);
    *status = good ? describe_system(rt, why) : TACIT_ERROR_CONFIG;
    if (*status != TACIT_OK) {
        rt->comm->stats.error = ti_strbuf_text(why); /* of this node: the others need not know of it */
        ti_agreement_destroy(rt->agreement);
        ti_purity_destroy(rt->purity);
        ti_balance_fini(&rt->balance);
        rt->comm->ops->destroy(rt->comm);
        ti_explain_destroy(rt->system.explain);
        ti_dry_run_destroy(rt->dry);
        TI_DELETE(rt);
        return NULL;
    }
    ti_choose_memory(&rt->system, &rt->config, rt->comm->local_nodes);
    ti_advisor_init(&rt->advisor, &rt->system);
    rt->tasks = ti_task_graph_create(&rt->system);
    ti_scheduler_init(&rt->scheduler, &rt->system, ti_choose_patience(rt->mode, &rt->config));
    rt->briefs = has_briefs(rt) && looks_at_none(rt);
    rt->scheduler.dry = rt->dry;
    rt->scheduler.trace = rt->trace.planner;
    rt->scheduler.command_dot = rt->config.graph ? &rt->graphs.command : NULL;
    rt->scheduler.instruction_dot = rt->config.graph ? &rt->graphs.instruction : NULL;
    ti_choose_relays(&rt->system, rt->comm); /* before there are threads */
    ti_round_init(rt);
    rt->scheduler.round = rt->round.off ? NULL : &rt->round;
    ti_pin_begin(&rt->pin);
    ti_crowd_join(rt->share);
    if (!start(rt, desc, why)) {
        ti_pin_end(&rt->pin, -1);
        if (rt->system.num_nodes > 1) { /* the others may have started and wait for this node */
            ti_log(TI_LOG_ERROR, "%s", ti_strbuf_text(why));
            rt->comm->ops->abort(rt->comm, ti_strbuf_text(why));
        }
        ti_runtime_destroy(rt);
        *status = TACIT_ERROR_UNSUPPORTED;
        return NULL;
    }
    ti_roles_start_attendant(rt);
    ti_pin_end(&rt->pin, rt->mode == TI_RUN_INLINE ? 0 : rt->lent_worker);
    if (rt->mode == TI_RUN_INLINE && rt->system.num_nodes > 1 && !rt->dry) {
        ti_siblings_join(&rt->member, is_behind, rt);
    }
    ti_log(TI_LOG_INFO, "node %d of %d, %d devices of %d workers, progress %s, network %s", rt->system.node,
           rt->system.num_nodes, rt->system.devices, rt->system.workers, modes[rt->mode], rt->comm->ops->name);
    return rt;
}

void ti_runtime_destroy(ti_runtime *rt)
{
    if (rt->executor) {
        ti_round_catch_up(rt);
    }
    ti_siblings_leave(&rt->member);
    ti_attendant_stop(&rt->attendant);
    atomic_store_explicit(&rt->stop, true, memory_order_release);
    ti_lot_wake(&rt->progress.lot, INT32_MAX);
    for (int i = 0; i < rt->started; i++) {
        pthread_join(rt->threads[i], NULL);
    }
    ti_devices_stop(rt->device, &rt->system);
    ti_attendant_fini(&rt->attendant);
    if (rt->executor) { /* not where starting failed */
        ti_executor_destroy(rt->executor);
    }
    ti_devices_destroy(rt->device, &rt->system);
    ti_pin_release(&rt->pin);
    ti_crowd_leave(rt->share);
    ti_bounds_destroy(rt->bounds);
    ti_purity_destroy(rt->purity);
    ti_scheduler_fini(&rt->scheduler);
    ti_round_fini(&rt->round);
    ti_dry_run_destroy(rt->dry); /* whose simulated nodes know the tasks */
    ti_task_graph_destroy(rt->tasks);
    ti_agreement_destroy(rt->agreement);
    rt->comm->ops->destroy(rt->comm);
    ti_graph_files_fini(&rt->graphs);
    ti_explain_destroy(rt->system.explain);
    ti_tracing_close(&rt->trace);
    ti_tune_fini(&rt->tune);
    ti_balance_fini(&rt->balance);
    ti_advisor_fini(&rt->advisor);
    TI_DELETE(rt);
}

const ti_pin *ti_runtime_pin(const ti_runtime *rt)
{
    return &rt->pin;
}

const ti_system *ti_runtime_system(const ti_runtime *rt)
{
    return &rt->system;
}

ti_task_graph *ti_runtime_task_graph(ti_runtime *rt)
{
    ti_round_catch_up(rt);
    return rt->tasks;
}

uint64_t ti_runtime_tasks(const ti_runtime *rt)
{
    return ti_round_tasks(rt);
}

ti_task_graph *ti_runtime_task_graph_now(ti_runtime *rt)
{
    return rt->tasks;
}

bool ti_runtime_repeat(ti_runtime *rt, const ti_shape *shape, const void *args, ti_user_copy *fence)
{
    ti_claim_take(&rt->claim, &rt->progress.failure);
    const bool taken = ti_round_take(rt, shape, args, fence);
    ti_claim_drop(&rt->claim);
    return taken;
}

bool ti_runtime_rest(ti_runtime *rt, bool is_long)
{
    ti_claim_take(&rt->claim, &rt->progress.failure);
    const bool rests = ti_round_rest(rt, is_long);
    ti_claim_drop(&rt->claim);
    return rests;
}

void ti_runtime_forget_round(ti_runtime *rt)
{
    ti_round_forget(rt);
}

ti_failure *ti_runtime_failure(ti_runtime *rt)
{
    return &rt->progress.failure;
}

uint64_t ti_runtime_executed(const ti_runtime *rt)
{
    return ti_waiting_executed(rt);
}

void ti_runtime_abort(ti_runtime *rt, const char *why)
{
    rt->comm->ops->abort(rt->comm, why);
}

/* ---- the application thread */

static void push_task(ti_runtime *rt, const ti_task *task)
{
    ti_ring *ring = &rt->scheduler.tasks;
    if (rt->config.graph) {
        ti_dot_task(&rt->graphs.task, task);
    }
    if (ti_ring_space(ring) == 0) {
        ti_waiting_until(rt, TI_CAUSE_ROOM, NULL);
    }
    ti_ring_push(ring, (void *)(uintptr_t)task);
    /* A consumer that found the channel empty may be going to sleep; one that did not will look again. */
    if (rt->mode != TI_RUN_INLINE && ti_ring_was_empty(ring)) {
        ti_lot_wake_able(&rt->progress.lot, 1, TI_CAN_PLAN);
    }
}

/* ---- inline, tasks are submitted ahead of what they start */

enum { HELD_NODES = 3, HELD_PER_LOOK = 16 };

/* Tasks on single nodes may read what others read, too, in tasks that the program is about to submit. So until it is as
 * far ahead as it may be, or waits, kernels and sends wait: contents leave for all their readers at once. With fewer
 * nodes they have one reader each. */
static bool may_hold(const ti_runtime *rt, bool placed)
{
    return placed && rt->system.num_nodes >= HELD_NODES && !rt->dry;
}

/* Plan only, and look at the network now and then. */
static void hold(ti_runtime *rt)
{
    atomic_store_explicit(&rt->progress.holding, true, memory_order_relaxed);
    ti_roles_schedule(rt, TI_PLAN_BUDGET);
    if (++rt->held % HELD_PER_LOOK == 0) {
        ti_roles_execute(rt);
    }
}

static bool has_backlog(ti_runtime *rt)
{
    return !ti_ring_is_empty(&rt->scheduler.tasks) ||
           atomic_load_explicit(&rt->scheduler.backlog, memory_order_relaxed);
}

/* Whether all that has been submitted is done, or waits in a window. The attendant may be at work on it. */
static bool has_settled(ti_runtime *rt)
{
    if (has_backlog(rt) || !ti_ring_is_empty(&rt->scheduler.instructions) || !ti_lock_try(&rt->executing)) {
        return false;
    }
    bool idle = ti_executor_running(rt->executor) == 0;
    ti_roles_leave_executor(rt);
    return idle && !ti_roles_must_poll(rt);
}

static uint64_t kernels_left(const ti_runtime *rt)
{
    return atomic_load_explicit(&rt->progress.kernels_left, memory_order_relaxed);
}

/* Run what messages let go, and send what that lets go, until no more than so many kernels are left, or so many looks
 * have found nothing since one ran: then it is false. With 0 it goes on for other messages as well. */
static bool answer(ti_runtime *rt, uint64_t kernels, int looks)
{
    int fruitless = 0;
    while (ti_roles_must_poll(rt) && (kernels == 0 || kernels_left(rt) > kernels)) {
        if (!ti_roles_execute(rt)) {
            if (++fruitless >= looks) {
                return false;
            }
        } else if (ti_waiting_compute(rt, 1)) {
            ti_roles_start(rt);
            fruitless = 0;
        }
    }
    return true;
}

/* The program stays one kernel ahead of what runs: so what it submits is planned while messages are under way, and what
 * a kernel sends leaves when that ends, since whoever reads it is known. On nodes that keep step, the kernel before can
 * run a moment later, and is waited for. If that is fruitless, others come late, or something else takes long: the next
 * submissions look once, and more of them each time. */
static void stay_close(ti_runtime *rt)
{
    enum { AHEAD = 1, LOOKS = 32, MAX_PASSED = 63 };
    if (rt->passes > 0) {
        rt->passes--;
        answer(rt, AHEAD, 1);
    } else if (answer(rt, AHEAD, LOOKS)) {
        rt->passed = 0;
    } else {
        rt->passes = rt->passed = TI_MIN(2 * rt->passed + 1, MAX_PASSED);
    }
}

/* First what is ready, then what waits for messages. */
static void run_inline(ti_runtime *rt)
{
    const uint64_t before = atomic_load_explicit(&rt->progress.kernels, memory_order_relaxed);
    bool any;
    ti_waiting_let_go(rt);
    do {
        any = ti_roles_schedule(rt, ti_roles_must_poll(rt) ? 1 : TI_PLAN_BUDGET) && has_backlog(rt);
        ti_roles_start(rt);
        any |= ti_waiting_compute(rt, 1);
    } while (any && !has_settled(rt));
    const uint64_t now = atomic_load_explicit(&rt->progress.kernels, memory_order_relaxed);
    if (rt->system.accelerators == 0 && now > before) {
        stay_close(rt);
    } else {
        answer(rt, 0, 1);
    }
}

static size_t add_task(ti_runtime *rt, ti_task *task, const ti_task *made[TI_TASK_GRAPH_BATCH])
{
    if (TI_LIKELY((!rt->dry || rt->take) && !rt->trace.recorder)) {
        return ti_task_graph_add(rt->tasks, task, made);
    }
    uint64_t start = ti_clock_ns();
    size_t count = ti_task_graph_add(rt->tasks, task, made);
    if (rt->dry) {
        rt->dry->ns[TI_STAGE_TASK] += ti_clock_ns() - start;
    } else {
        ti_tracing_note_tasks(&rt->trace, made, count, start);
    }
    return count;
}

/* Where planning is this thread's, it does it while it submits, by so many tasks at a time. */
static void plan_ahead(ti_runtime *rt, size_t tasks)
{
    if (!ti_home_is_program(rt, TI_CAN_PLAN) || (rt->unplanned += (uint32_t)tasks) < TI_PLAN_BUDGET) {
        return;
    }
    rt->unplanned = 0;
    if (ti_roles_schedule(rt, TI_PLAN_BUDGET)) {
        ti_lot_wake_able(&rt->progress.lot, 1, TI_CAN_EXECUTE);
    }
}

/* The task is in the graph; `points` there were before. */
static void hand_on(ti_runtime *rt, const ti_task *made[TI_TASK_GRAPH_BATCH], size_t count, bool placed)
{
    TI_ASSERT(count == 1 || (count == TI_TASK_GRAPH_BATCH && made[0]->id + 1 == made[1]->id));
    const uint64_t points = rt->ahead.points;
    if (placed) {
        atomic_store_explicit(&rt->progress.placed, true, memory_order_relaxed);
    }
    if (rt->agreement) {
        ti_agreement_note(rt->agreement, made[0]);
    }
    if (rt->take) {
        for (size_t i = 0; i < count; i++) {
            rt->take(rt->take_user, made[i]);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ti_ahead_note(&rt->ahead, made[i], rt->system.node);
        push_task(rt, made[i]);
    }
    if (rt->mode == TI_RUN_INLINE) {
        (may_hold(rt, placed) ? hold : run_inline)(rt);
    }
    ti_dry_run_take(rt->dry, made, count);
    if (rt->dry && points != rt->ahead.points) {
        ti_dry_run_note_held(rt->dry, rt->tasks, rt->scheduler.commands, rt->scheduler.graph);
    }
    plan_ahead(rt, count);
    if (!ti_waiting_holds(rt, TI_CAUSE_NEAR, NULL)) {
        ti_waiting_until(rt, TI_CAUSE_NEAR, NULL);
    }
    ti_waiting_release(rt);
}

void ti_runtime_submit(ti_runtime *rt, ti_task *task)
{
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    ti_round_catch_up(rt);
    ti_claim_take(&rt->claim, &rt->progress.failure);
    rt->fences += task->kind == TI_TASK_FENCE;
    ti_tune_note(&rt->tune, task);
    ti_balance_note(&rt->balance, task);
    size_t count = add_task(rt, task, made);
    hand_on(rt, made, count, task->shape->place >= 0);
    ti_claim_drop(&rt->claim);
}

bool ti_runtime_submit_brief(ti_runtime *rt, const ti_brief_desc *what)
{
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    size_t count = 0;
    TI_ASSERT(what->place != rt->system.node);
    ti_claim_take(&rt->claim, &rt->progress.failure);
    if (rt->briefs && (count = ti_task_graph_add_brief(rt->tasks, what, made)) > 0) {
        hand_on(rt, made, count, true);
    }
    ti_claim_drop(&rt->claim);
    return count > 0;
}

static void wait_alone(ti_runtime *rt, ti_trace_cause kind, const ti_signal *signal)
{
    ti_claim_take(&rt->claim, &rt->progress.failure);
    ti_waiting_until(rt, kind, signal);
    ti_claim_drop(&rt->claim);
}

void ti_runtime_wait_signal(ti_runtime *rt, const ti_signal *signal)
{
    ti_dry_run_wait(rt->dry, TI_CLUSTER_VALUES);
    if (ti_waiting_holds(rt, TI_CAUSE_SIGNAL, signal)) {
        return;
    }
    ti_round_catch_up(rt);
    wait_alone(rt, TI_CAUSE_SIGNAL, signal);
}

void ti_runtime_set_signal(ti_runtime *rt, ti_signal *signal)
{
    atomic_store_explicit(&signal->set, 1, memory_order_release);
    ti_lot_wake_able(&rt->progress.lot, INT32_MAX, TI_CAN_WAIT);
}

void ti_runtime_wait_points(ti_runtime *rt)
{
    ti_dry_run_wait(rt->dry, TI_CLUSTER_POINTS);
    ti_round_catch_up(rt);
    wait_alone(rt, TI_CAUSE_POINTS, NULL);
}

void ti_runtime_open_group(ti_runtime *rt, int group)
{
    ti_round_catch_up(rt);
    ti_lock_take(&rt->executing); /* whose network it is */
    if (rt->comm->ops->open_group && !rt->comm->ops->open_group(rt->comm, group)) {
        ti_runtime_fail(rt, TACIT_ERROR_NETWORK, "%s",
                        rt->comm->stats.error ? rt->comm->stats.error : "the network failed");
    }
    ti_roles_leave_executor(rt);
}

bool ti_runtime_is_due(const ti_runtime *rt)
{
    return ti_tune_is_due(&rt->tune) || ti_balance_is_due(&rt->balance);
}

bool ti_runtime_choose(ti_runtime *rt, bool asked)
{
    bool changed = false;
    if (asked || ti_tune_is_due(&rt->tune)) {
        ti_tune_choose(&rt->tune);
        ti_dry_run_choose(rt->dry, &rt->system);
    }
    if (asked || ti_balance_is_due(&rt->balance)) {
        ti_lock_take(&rt->executing); /* whose network it is */
        changed = ti_balance_choose(&rt->balance);
        ti_roles_leave_executor(rt);
    }
    return changed;
}

const ti_balance *ti_runtime_balance(const ti_runtime *rt)
{
    return &rt->balance;
}

/* As a setting that all nodes and dry runs have alike, so that these plan what a live run does. */
bool ti_runtime_checks_pure(const ti_runtime *rt)
{
    return rt->config.check_pure != 0;
}

static void say_compared(const ti_runtime *rt)
{
    if (ti_purity_tasks(rt->purity)) {
        ti_log(TI_LOG_INFO, "TACIT_CHECK_PURE has compared %llu elements of %llu tasks",
               (unsigned long long)ti_purity_elements(rt->purity), (unsigned long long)ti_purity_tasks(rt->purity));
    } else if (rt->system.node == 0) {
        ti_log(TI_LOG_WARNING,
               "TACIT_CHECK_PURE has found nothing to compare: no two nodes have computed the same. Set "
               "TACIT_LATENCY=halo:4, too, and run on several nodes (doc/latency.md)");
    }
}

void ti_runtime_check_pure(ti_runtime *rt, bool last)
{
    ti_strbuf why = { 0 };
    if (!rt->purity || ti_failure_get(&rt->progress.failure) != TACIT_OK) {
        return;
    }
    ti_lock_take(&rt->scheduling);
    ti_lock_take(&rt->executing);
    if (!ti_purity_compare(rt->purity, ti_command_graph_sampled(rt->scheduler.commands), &why)) {
        ti_failure_set(&rt->progress.failure, TACIT_ERROR_KERNEL, "%s", why.text);
        ti_roles_end_job(rt);
    } else if (last) {
        say_compared(rt);
    }
    ti_roles_leave_executor(rt);
    ti_lock_drop(&rt->scheduling);
    ti_strbuf_fini(&why);
}

void ti_runtime_note(ti_runtime *rt, ti_submission_kind kind, uint64_t number, uint64_t bytes, unsigned properties)
{
    if (rt->agreement) {
        ti_agreement_note_call(rt->agreement, kind, number, bytes, properties);
    }
}

void ti_runtime_settle(ti_runtime *rt)
{
    if (rt->agreement) {
        ti_agreement_finish(rt->agreement);
        wait_alone(rt, TI_CAUSE_SETTLED, NULL);
    }
}

/* ---- the network's library, for kernels */

const void *ti_runtime_communicator(const ti_runtime *rt, const tacit_launch *launch, const tacit_mpi_comm *like,
                                    ti_strbuf *why)
{
    return ti_kernel_communicator(rt->comm, rt->mode == TI_RUN_INLINE, launch, like, why);
}

/* ---- results of fences */

bool ti_runtime_keep_results(ti_runtime *rt, uint64_t bytes)
{
    uint64_t buffers = atomic_load_explicit(&rt->progress.buffer_bytes, memory_order_relaxed);
    return ti_scheduler_keep_results(&rt->scheduler, bytes, buffers, rt->system.memory);
}

void ti_runtime_drop_results(ti_runtime *rt, uint64_t bytes)
{
    TI_ASSERT(bytes <= atomic_load_explicit(&rt->scheduler.results, memory_order_relaxed));
    atomic_fetch_sub_explicit(&rt->scheduler.results, bytes, memory_order_relaxed);
}

uint64_t ti_runtime_fences(const ti_runtime *rt)
{
    return rt->fences;
}

void ti_runtime_give_values(ti_runtime *rt, uint64_t fence, void *data, size_t bytes)
{
    ti_dry_run_give_values(rt->dry, fence, data, bytes);
    ti_tracing_note_values(&rt->trace, fence, data, bytes);
}

/* ---- dry runs */

void ti_runtime_divert(ti_runtime *rt, ti_runtime_taker *take, void *user, bool briefs)
{
    ti_round_catch_up(rt);
    rt->round.off = true;
    rt->round.rests = false;
    rt->take = take;
    rt->take_user = user;
    rt->briefs = has_briefs(rt) && (take ? briefs : looks_at_none(rt));
}

void ti_runtime_tap(ti_runtime *rt, const ti_plan_tap *plans, const ti_executor_tap *executed)
{
    ti_round_catch_up(rt);
    ti_lock_take(&rt->scheduling);
    rt->scheduler.tap = plans;
    ti_lock_drop(&rt->scheduling);
    ti_lock_take(&rt->executing);
    ti_executor_set_tap(rt->executor, executed);
    ti_roles_leave_executor(rt);
}

const ti_dry_run *ti_runtime_dry(const ti_runtime *rt)
{
    return rt->dry;
}

bool ti_runtime_has_fenced(const ti_runtime *rt)
{
    return rt->dry->tasks[TI_TASK_FENCE] > 0;
}
