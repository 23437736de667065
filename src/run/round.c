/* Rounds that the program's thread carries out: see round.h. */
#include "run/round.h"

#include "base/check.h"
#include "base/clock.h"
#include "run/impl.h"

#include <string.h>

/* A round has so many tasks and horizons at most. Fewer rounds than these were not worth it, and the next ones are not
 * tried: twice as many each time, up to a bound. */
enum { MAX_STEPS = 4096, WORTH = 4, MAX_SKIPPED = 1023 };

void ti_round_init(ti_runtime *rt)
{
    const ti_system *s = &rt->system;
    const bool looked_at = rt->dry || rt->trace.recorder || rt->agreement || rt->purity || rt->bounds ||
                           rt->config.graph || rt->advisor.on || rt->balance.measures || rt->tune.on || s->record ||
                           s->explain;
    rt->round.always = rt->config.rounds == TACIT_ROUNDS_ON;
    rt->round.off = rt->config.rounds == TACIT_ROUNDS_OFF || looked_at || s->num_nodes > 1 || s->devices != 1 || s->accelerators > 0 || s->memories != 1 ||
                    rt->mode == TI_RUN_THREAD || (rt->mode == TI_RUN_SHARED && rt->lent_worker < 0);
}

static void clear(ti_round *r)
{
    ti_vec_clear(&r->results);
    ti_vec_clear(&r->step);
    ti_vec_clear(&r->instruction);
    r->commands = r->horizons = 0;
}

void ti_round_fini(ti_round *r)
{
    ti_vec_fini(&r->results);
    ti_vec_fini(&r->step);
    ti_vec_fini(&r->instruction);
    ti_round_ops_fini(&r->ops);
}

/* ---- what is kept: scheduler role */

static void keep(ti_round *r, uint64_t number)
{
    atomic_store_explicit(&r->kept, number, memory_order_release);
}

static uint64_t kept(const ti_round *r)
{
    return atomic_load_explicit(&r->kept, memory_order_acquire);
}

static bool keep_instruction(ti_round *r, const ti_instruction *i)
{
    ti_instruction copy = *i;
    copy.deps = 0;
    copy.dep = NULL;
    copy.task = NULL;
    for (uint32_t k = 0; i->kind == TI_INSTRUCTION_KERNEL && i->as.kernel.results && k < i->as.kernel.views; k++) {
        ti_vec_push(&r->results, i->as.kernel.view[k].mode == TACIT_REDUCE ? i->as.kernel.results[k] : 0);
    }
    ti_vec_push(&r->instruction, copy);
    return ti_round_can(i);
}

static bool keep_task(ti_round *r, const ti_task *task, size_t commands, ti_instruction_batch batch)
{
    ti_round_step s = { .task = { .kind = task->kind, .shape = task->shape },
                        .first = r->instruction.count,
                        .count = batch.count };
    bool can = r->step.count < MAX_STEPS;
    if (task->kind == TI_TASK_FENCE) {
        can = can && task->as.fence.pieces == 1 && task->as.fence.signal;
        s.piece = can ? task->as.fence.piece[0] : s.piece;
    } else {
        can = can && (task->kind == TI_TASK_EXECUTE || task->kind == TI_TASK_HORIZON);
    }
    for (size_t i = 0; i < batch.count && can; i++) {
        can = keep_instruction(r, batch.instruction[i]);
    }
    r->commands += commands;
    r->horizons += task->kind == TI_TASK_HORIZON;
    ti_vec_push(&r->step, s);
    return can;
}

void ti_round_note(ti_round *r, const ti_task *task, uint64_t cycle, size_t commands, ti_instruction_batch batch)
{
    if (cycle && (r->records || kept(r)) && r->number == task->again && r->cycle == cycle) {
        r->records = false;
        keep(r, r->number);
        return;
    }
    if (cycle) {
        keep(r, 0);
        clear(r);
        r->number = task->again;
        r->first = task->id;
        r->cycle = cycle;
        r->records = true;
    }
    r->records = r->records && keep_task(r, task, commands, batch);
}

/* ---- a round begins */

/* Instructions point to the tasks of the steps, and to what is kept of their results. */
static void join(ti_round *r)
{
    const uint64_t *results = r->results.data;
    for (size_t k = 0; k < r->step.count; k++) {
        for (size_t i = 0; i < r->step.data[k].count; i++) {
            ti_instruction *at = &r->instruction.data[r->step.data[k].first + i];
            at->task = &r->step.data[k].task;
            if (at->kind == TI_INSTRUCTION_KERNEL && at->as.kernel.results) {
                at->as.kernel.results = results;
                results += at->as.kernel.views;
            }
        }
    }
    TI_ASSERT(results == r->results.data + r->results.count || !r->results.data);
}

static bool is_at_round(ti_runtime *rt)
{
    const ti_round *r = &rt->round;
    const ti_scheduler *s = &rt->scheduler;
    return kept(r) && ti_task_graph_round(rt->tasks) == r->number && ti_ring_is_empty(&s->tasks) &&
           ti_ring_is_empty(&s->instructions) && !atomic_load_explicit(&s->backlog, memory_order_relaxed) &&
           ti_command_graph_is_at_round(s->commands, r->number) && ti_instruction_graph_round(s->graph) == r->cycle;
}

static void postpone(ti_round *r)
{
    if (r->always) {
        return;
    }
    r->skips = r->skipped = TI_MIN(2 * r->skipped + 1, (uint32_t)MAX_SKIPPED);
}

static void start(ti_runtime *rt)
{
    ti_round *r = &rt->round;
    if (r->first <= r->since) {
        keep(r, 0);
        return;
    }
    join(r);
    r->is_active = ti_executor_begin_round(rt->executor, &r->ops, r->instruction.data, r->instruction.count,
                                           TI_MAX(rt->lent_worker, 0), r->always);
    r->at = 0;
    r->rounds = r->passed = 0;
    r->watch = (ti_round_watch){ .on = false };
}

static bool begin(ti_runtime *rt)
{
    ti_round *r = &rt->round;
    if (r->skips > 0) {
        r->skips--;
        return false;
    }
    ti_waiting_until(rt, TI_CAUSE_POINTS, NULL);
    ti_lock_take(&rt->scheduling);
    ti_lock_take(&rt->executing);
    if (ti_failure_get(&rt->progress.failure) == TACIT_OK && is_at_round(rt)) {
        start(rt);
    }
    ti_roles_leave_executor(rt);
    ti_lock_drop(&rt->scheduling);
    if (!r->is_active) {
        postpone(r);
    }
    return r->is_active;
}

/* ---- how the thread spends its time */

/* A round begins. False: the thread is mostly elsewhere, and more of it than handing tasks over would take. */
static bool watch(ti_round *r)
{
    enum { EVERY = 64, AWAY_NS = 1000, MAX_AWAY = 2 };
    ti_round_watch *w = &r->watch;
    if (w->on) {
        const uint64_t outside = ti_clock_ns() - w->begun - w->inside;
        const bool is_away = outside > w->inside / 3 && outside > AWAY_NS * r->step.count;
        w->away = is_away ? w->away + 1 : 0;
    }
    w->on = r->rounds % EVERY < MAX_AWAY;
    w->inside = 0;
    w->begun = w->on ? ti_clock_ns() : 0;
    return w->away < MAX_AWAY || r->always;
}

/* ---- a task */

static void go_on(ti_round *r)
{
    r->passed++;
    if (++r->at == r->step.count) {
        r->at = 0;
        r->rounds++;
    }
}

static bool is_next(ti_runtime *rt, const ti_shape *shape, bool is_fence)
{
    const ti_task *next = &rt->round.step.data[rt->round.at].task;
    return next->kind == (is_fence ? TI_TASK_FENCE : TI_TASK_EXECUTE) && next->shape->serial == shape->serial &&
           ti_failure_get(&rt->progress.failure) == TACIT_OK;
}

static void carry_out(ti_runtime *rt, const void *args, const ti_user_copy *fence)
{
    ti_round *r = &rt->round;
    const ti_round_step *s = &r->step.data[r->at];
    const uint64_t begun = r->watch.on ? ti_clock_ns() : 0;
    for (size_t i = s->first; i < s->first + s->count; i++) {
        ti_executor_round_op(rt->executor, &r->ops, i, args, fence ? fence->memory : NULL,
                             fence ? fence->signal : NULL);
    }
    rt->fences += fence != NULL;
    r->tasks++;
    do {
        go_on(r);
    } while (r->step.data[r->at].task.kind == TI_TASK_HORIZON);
    r->watch.inside += begun ? ti_clock_ns() - begun : 0;
}

bool ti_round_take(ti_runtime *rt, const ti_shape *shape, const void *args, const ti_user_copy *fence)
{
    ti_round *r = &rt->round;
    if (!r->is_active) {
        const uint64_t number = kept(r);
        if (!number || ti_task_graph_round(rt->tasks) != number || !begin(rt)) {
            return false;
        }
    }
    if (!is_next(rt, shape, fence != NULL)) {
        ti_round_catch_up(rt);
        return false;
    }
    if (r->at == 0 && !watch(r)) {
        ti_round_catch_up(rt);
        r->skips = r->skipped = MAX_SKIPPED;
        return false;
    }
    carry_out(rt, args, fence);
    return true;
}

bool ti_round_rest(ti_runtime *rt)
{
    if (rt->round.is_active) {
        ti_executor_rest_round(rt->executor);
    }
    return rt->round.is_active;
}

/* ---- the end */

static void pass_rounds(ti_runtime *rt, uint64_t rounds)
{
    const ti_round *r = &rt->round;
    ti_task_graph_pass(rt->tasks, rounds * r->step.count, rounds * r->horizons);
    ti_command_graph_pass(rt->scheduler.commands, rounds * r->step.count, rounds * r->commands);
    ti_instruction_graph_pass(rt->scheduler.graph, rounds * r->instruction.count);
    ti_ahead_pass(&rt->ahead, rounds * r->horizons);
    ti_executor_pass_all(rt->executor, rounds * r->instruction.count, rounds * r->horizons);
}

static void tell_planned(ti_runtime *rt, const ti_task *task)
{
    ti_scheduler *s = &rt->scheduler;
    ti_ahead_note(&rt->ahead, task, rt->system.node);
    ti_command_batch commands = ti_command_graph_add(s->commands, &task, 1);
    ti_instruction_batch batch = ti_instruction_graph_add(s->graph, commands);
    for (size_t i = 0; i < batch.count; i++) {
        ti_executor_pass(rt->executor, batch.instruction[i]);
    }
}

/* The graphs plan the task, and what comes of it has been carried out. */
static void tell(ti_runtime *rt, const ti_round_step *s)
{
    static ti_signal nobody;
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    ti_task *task = ti_task_graph_new(rt->tasks, s->task.kind, s->task.shape);
    if (s->task.kind == TI_TASK_FENCE) {
        ti_local_piece *piece = TI_ARENA_NEW(ti_task_graph_arena(rt->tasks), ti_local_piece);
        *piece = s->piece;
        task->as.fence = (ti_user_copy){ NULL, piece, 1, &nobody };
    }
    const size_t count = ti_task_graph_add(rt->tasks, task, made);
    for (size_t i = 0; i < count; i++) {
        tell_planned(rt, made[i]);
    }
}

/* What graphs remember is of the last complete round and of the one at hand. */
static void tell_all(ti_runtime *rt)
{
    const ti_round *r = &rt->round;
    const uint64_t told = TI_MIN(r->rounds, (uint64_t)1);
    if (r->rounds > told) {
        pass_rounds(rt, r->rounds - told);
    }
    for (size_t k = 0; k < told * r->step.count + r->at; k++) {
        const ti_round_step *s = &r->step.data[k % r->step.count];
        if (s->task.kind != TI_TASK_HORIZON) {
            tell(rt, s);
        }
    }
}

static TI_NOINLINE void leave(ti_runtime *rt)
{
    ti_round *r = &rt->round;
    ti_lock_take(&rt->scheduling);
    ti_lock_take(&rt->executing);
    ti_executor_end_round(rt->executor, &r->ops);
    r->is_active = false;
    tell_all(rt);
    ti_scheduler_release(&rt->scheduler, ti_runtime_executed(rt));
    ti_roles_leave_executor(rt);
    ti_lock_drop(&rt->scheduling);
    ti_runtime_release(rt);
    if (r->rounds < WORTH) {
        postpone(r);
    } else {
        r->skipped = 0;
    }
}

void ti_round_catch_up(ti_runtime *rt)
{
    if (TI_UNLIKELY(rt->round.is_active)) {
        leave(rt);
    }
}

void ti_round_forget(ti_runtime *rt)
{
    ti_round_catch_up(rt);
    rt->round.since = ti_task_graph_tasks(rt->tasks);
}
