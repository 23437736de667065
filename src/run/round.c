/* Rounds that the program's thread carries out: see round.h. Application thread. */
#include "run/round.h"

#include "base/check.h"
#include "base/clock.h"
#include "run/impl.h"

#include <string.h>

/* Fewer rounds than these were not worth it, and the next ones are not tried: twice as many each time, up to a
 * bound. */
enum { WORTH = 4, MAX_SKIPPED = 1023 };

static bool is_looked_at(const ti_runtime *rt)
{
    return rt->dry || rt->trace.recorder || rt->purity || rt->config.bounds_check || rt->config.graph ||
           rt->balance.measures || rt->tune.on || rt->system.record || rt->system.explain;
}

/* Whether messages are so short that a thread may as well wait for them. */
static bool are_near(const ti_comm *comm)
{
    return comm->num_nodes == 1 || (comm->local_nodes == comm->num_nodes && comm->delay_ns == 0);
}

void ti_round_init(ti_runtime *rt)
{
    ti_round *r = &rt->round;
    const ti_system *s = &rt->system;
    const bool mode = rt->mode == TI_RUN_INLINE || s->num_nodes == 1;
    r->always = rt->config.rounds == TACIT_ROUNDS_ON;
    r->rests = rt->config.rounds != TACIT_ROUNDS_OFF && !is_looked_at(rt) && !s->derive_always;
    r->off = !r->rests || !mode || !are_near(rt->comm) || s->devices != 1 || s->accelerators > 0 || s->memories != 1;
    if (s->num_nodes > 1) {
        r->rests = rt->comm->ops->sum(rt->comm, r->rests) == s->num_nodes;
    }
}

/* ---- a round begins */

/* Instructions point to the tasks of the steps, and to what is kept of them. */
static void join(ti_round *r)
{
    const uint64_t *results = r->results.data, *dep = r->dep.data;
    const ti_instruction_box *box = r->box.data;
    const ti_combination *combination = r->combination.data;
    for (size_t k = 0; k < r->step.count; k++) {
        for (size_t n = 0; n < r->step.data[k].count; n++) {
            ti_instruction *i = &r->instruction.data[r->step.data[k].first + n];
            i->task = &r->part.data[k].task;
            i->dep = dep;
            dep += i->deps;
            if (i->kind == TI_INSTRUCTION_KERNEL && i->as.kernel.results) {
                i->as.kernel.results = results;
                results += i->as.kernel.views;
            } else if (i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE) {
                i->as.transfer.box = box;
                box += i->as.transfer.boxes;
            } else if (i->kind == TI_INSTRUCTION_COLLECTIVE) {
                i->as.collective.place = box;
                box += i->as.collective.places;
                i->as.collective.first = i->as.collective.first ? combination++ : NULL;
            }
        }
    }
    TI_ASSERT((size_t)(box - r->box.data) == r->box.count);
}

/* Horizons are passed with the task before them. */
static void link_steps(ti_round *r)
{
    uint32_t points = 0, horizons = 0, next = 0;
    for (size_t k = 0; k < r->step.count; k++) {
        ti_round_step *s = &r->step.data[k];
        s->points = points;
        points += s->kind == TI_TASK_HORIZON || s->kind == TI_TASK_EPOCH;
    }
    for (size_t k = r->step.count; k-- > 0;) {
        ti_round_step *s = &r->step.data[k];
        s->next = next;
        s->horizons = horizons;
        horizons = s->kind == TI_TASK_HORIZON ? horizons + 1 : 0;
        next = s->kind == TI_TASK_HORIZON ? next : (uint32_t)k;
    }
    TI_ASSERT(r->step.data[0].kind != TI_TASK_HORIZON && points == r->points);
}

/* What is counted together: messages by peer and direction, and collectives. */
static uint64_t counted_as(const ti_instruction *i)
{
    return i->kind == TI_INSTRUCTION_COLLECTIVE ? 0 : (uint64_t)i->kind << 32 | (uint32_t)i->as.transfer.peer;
}

/* Of the next one. */
static uint64_t number_of(const ti_command_graph *graph, const ti_instruction *i)
{
    return i->kind == TI_INSTRUCTION_COLLECTIVE
               ? ti_command_graph_next_collective(graph)
               : ti_command_graph_next_message(graph, i->as.transfer.peer, i->kind == TI_INSTRUCTION_SEND);
}

/* There are few of them: two for each node of the machine. */
static ti_round_count *count_of(ti_round *r, const ti_instruction *i)
{
    const uint64_t what = counted_as(i);
    for (size_t k = 0; k < r->counts.count; k++) {
        if (r->counts.data[k].what == what) {
            return &r->counts.data[k];
        }
    }
    ti_vec_push(&r->counts, ((ti_round_count){ .what = what }));
    return &r->counts.data[r->counts.count - 1];
}

/* The numbers of the messages and collectives of the first round. */
static void number(ti_runtime *rt)
{
    ti_round *r = &rt->round;
    ti_vec_clear(&r->counts);
    for (size_t k = 0; k < r->instruction.count; k++) {
        if (ti_round_talks(&r->instruction.data[k])) {
            count_of(r, &r->instruction.data[k])->all++;
        }
    }
    for (size_t k = 0; k < r->instruction.count; k++) {
        const ti_instruction *i = &r->instruction.data[k];
        if (ti_round_talks(i)) {
            ti_round_count *count = count_of(r, i);
            ti_round_number(&r->ops, k, number_of(rt->scheduler.commands, i) + count->before++, count->all);
        }
    }
}

static bool is_at_round(ti_runtime *rt)
{
    const ti_round *r = &rt->round;
    const ti_scheduler *s = &rt->scheduler;
    return ti_round_kept(r) && ti_task_graph_round(rt->tasks) == r->number && ti_ring_is_empty(&s->tasks) &&
           ti_ring_is_empty(&s->instructions) && !atomic_load_explicit(&s->backlog, memory_order_relaxed) &&
           ti_command_graph_is_at_round(s->commands, r->number);
}

/* A round may have several passes of the tasks' loop: whether the first one begins. */
static bool is_at_first_pass(const ti_runtime *rt)
{
    return ti_instruction_graph_round(rt->scheduler.graph) == rt->round.cycle;
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
        ti_round_keep(r, 0);
        return;
    }
    join(r);
    link_steps(r);
    r->is_active = ti_executor_begin_round(rt->executor, &r->ops, r->instruction.data, r->instruction.count,
                                           rt->mode == TI_RUN_INLINE ? 0 : rt->lent_worker, r->always);
    if (r->is_active) {
        number(rt);
    }
    r->at = 0;
    r->rounds = 0;
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
    const bool is_there = ti_failure_get(&rt->progress.failure) == TACIT_OK && is_at_round(rt);
    const bool is_pass = is_there && !is_at_first_pass(rt) && ++r->misses < r->passes;
    if (is_there && is_at_first_pass(rt)) {
        start(rt);
    }
    ti_roles_leave_executor(rt);
    ti_lock_drop(&rt->scheduling);
    if (is_pass) {
        return false; /* one of the next */
    }
    r->misses = 0;
    if (!r->is_active) {
        postpone(r);
    }
    return r->is_active;
}

/* ---- how the thread spends its time */

/* What handing the tasks of a round over would take. */
static uint64_t handing_ns(const ti_round *r)
{
    enum { EACH_NS = 1000 };
    return EACH_NS * r->step.count;
}

/* The thread is mostly elsewhere, for longer than handing tasks over would take. */
static bool is_away(const ti_round *r)
{
    const ti_round_watch *w = &r->watch;
    const uint64_t outside = ti_clock_ns() - w->begun - w->inside;
    return outside > w->inside / 3 && outside > handing_ns(r);
}

/* Kernels take far longer than was known or is accepted, so that others might run beside them. Where workers carry them
 * out, the thread may hand several rounds over at once and then wait for them: single rounds need not say so. */
static void watch_length(ti_round *r)
{
    enum { SPAN = 16, LONGER = 8 };
    ti_round_watch *w = &r->watch;
    if (r->rounds % SPAN != 0) {
        return;
    }
    const uint64_t now = ti_clock_ns(), accepted = r->ops.long_ns + LONGER * handing_ns(r);
    const bool is_slow = r->rounds > 0 && r->ops.long_ns && now - w->since > SPAN * accepted;
    w->slow = is_slow ? w->slow + 1 : 0;
    w->since = now;
}

/* A round begins. False: better without. */
static bool watch(ti_round *r)
{
    enum { EVERY = 64, MAX_AWAY = 2, MAX_SLOW = 2 };
    ti_round_watch *w = &r->watch;
    if (w->on) {
        w->away = is_away(r) ? w->away + 1 : 0;
    }
    watch_length(r);
    w->on = r->rounds % EVERY < MAX_AWAY;
    w->inside = 0;
    w->begun = w->on ? ti_clock_ns() : 0;
    return (w->away < MAX_AWAY && w->slow < MAX_SLOW) || r->always;
}

/* ---- a task */

/* Tasks and horizons; of these: points. */
static uint64_t passed(const ti_round *r)
{
    return r->rounds * r->step.count + r->at;
}

static uint64_t passed_points(const ti_round *r)
{
    return r->rounds * r->points + r->step.data[r->at].points;
}

static void go_on(ti_runtime *rt, const ti_round_step *s)
{
    ti_round *r = &rt->round;
    r->at = s->next;
    r->rounds += s->next == 0;
    for (uint32_t i = 0; i < s->horizons; i++) {
        ti_executor_round_horizon(rt->executor);
    }
}

static bool is_next(ti_runtime *rt, ti_task_kind kind, const ti_shape *shape)
{
    const ti_round_step *next = &rt->round.step.data[rt->round.at];
    return next->kind == kind && (!shape || next->serial == shape->serial) &&
           ti_failure_get(&rt->progress.failure) == TACIT_OK;
}

/* What nodes compare. Of a task that does not have its arguments compared that is done when there is time. */
static void note(ti_runtime *rt, const ti_round_step *s, const void *args)
{
    const ti_round *r = &rt->round;
    ti_task *task = &r->part.data[r->at].task;
    const uint64_t id = ti_task_graph_tasks(rt->tasks) + passed(r) + 1;
    if (!s->hashes) {
        ti_agreement_note_later(rt->agreement, task, id);
        return;
    }
    task->id = id;
    task->args = args;
    ti_agreement_note(rt->agreement, task);
}

/* Nothing is under way any more, and other nodes know how far this one is. What nodes compare is noted while others are
 * awaited anyway. The executor role is the caller's, and left for a long wait. */
static void await_inside(ti_runtime *rt)
{
    enum { FIRST_LOOKS = 8, LOOKS = 256 };
    bool all = ti_executor_round_poll(rt->executor, &rt->round.ops, FIRST_LOOKS);
    if (!all) {
        if (rt->agreement) {
            ti_agreement_catch_up(rt->agreement);
        }
        all = ti_executor_round_poll(rt->executor, &rt->round.ops, LOOKS);
    }
    if (rt->agreement) {
        ti_agreement_turn(rt->agreement, true, &rt->progress.failure);
    }
    if (!all) {
        atomic_store_explicit(&rt->round.awaits, true, memory_order_relaxed);
        ti_lock_drop(&rt->executing);
        ti_waiting_until(rt, TI_CAUSE_ROUND, NULL);
        ti_lock_take(&rt->executing);
        atomic_store_explicit(&rt->round.awaits, false, memory_order_relaxed);
    }
}

/* The executor role is given back: others may have to look after messages now. */
static void leave_messages(ti_runtime *rt)
{
    ti_executor_round_leave(rt->executor, &rt->round.ops);
    ti_roles_note_step(rt);
    ti_lock_drop(&rt->executing);
}

static void await_messages(ti_runtime *rt)
{
    ti_lock_take(&rt->executing);
    await_inside(rt);
    leave_messages(rt);
}

static bool is_talking(const ti_runtime *rt)
{
    return atomic_load_explicit(&rt->progress.round_messages, memory_order_acquire) > 0;
}

/* All messages of the task are started before one of them is awaited; collectives may go on until the next task. The
 * lock is taken before them only: what is written for other nodes is on its way while kernels run, and taking a lock
 * would wait for it. */
static void talk(ti_runtime *rt, const ti_round_step *s, const void *args, const ti_user_copy *fence)
{
    ti_round *r = &rt->round;
    bool is_inside = true;
    ti_lock_take(&rt->executing);
    await_inside(rt);
    for (size_t i = s->first; i < s->first + s->count; i++) {
        const ti_instruction_kind kind = r->instruction.data[i].kind;
        const bool talks = ti_round_talks(&r->instruction.data[i]);
        if (!is_inside && (talks || is_talking(rt))) {
            ti_lock_take(&rt->executing);
            is_inside = true;
        }
        if (is_talking(rt) && (!talks || kind == TI_INSTRUCTION_COLLECTIVE)) {
            await_inside(rt);
        }
        if (talks) {
            ti_executor_rest_round(rt->executor);
            ti_executor_round_talk(rt->executor, &r->ops, i);
            continue;
        }
        if (is_inside) {
            ti_lock_drop(&rt->executing);
            is_inside = false;
        }
        ti_executor_round_op(rt->executor, &r->ops, i, args, fence ? fence->memory : NULL,
                             fence ? fence->signal : NULL);
    }
    if (is_inside) {
        leave_messages(rt);
    }
}

static void carry_out(ti_runtime *rt, const void *args, const ti_user_copy *fence)
{
    ti_round *r = &rt->round;
    const ti_round_step *s = &r->step.data[r->at];
    const uint64_t begun = r->watch.on ? ti_clock_ns() : 0;
    if (rt->agreement) {
        note(rt, s, args);
    }
    if (s->talks || is_talking(rt)) {
        talk(rt, s, args, fence);
    } else {
        for (size_t i = s->first; i < s->first + s->count; i++) {
            ti_executor_round_op(rt->executor, &r->ops, i, args, fence ? fence->memory : NULL,
                                 fence ? fence->signal : NULL);
        }
    }
    rt->fences += fence != NULL;
    r->tasks++;
    go_on(rt, s);
    r->watch.inside += begun ? ti_clock_ns() - begun : 0;
}

static bool is_at_next(ti_runtime *rt, const ti_shape *shape, const ti_user_copy *fence)
{
    ti_round *r = &rt->round;
    if (!r->is_active) {
        if (ti_task_graph_round(rt->tasks) != ti_round_kept(r) || !begin(rt)) {
            return false;
        }
    }
    if (!is_next(rt, fence ? TI_TASK_FENCE : TI_TASK_EXECUTE, shape)) {
        ti_round_catch_up(rt);
        return false;
    }
    if (r->at == 0 && !watch(r)) {
        ti_round_catch_up(rt);
        r->skips = r->skipped = MAX_SKIPPED;
        return false;
    }
    return true;
}

static TI_NOINLINE bool take(ti_runtime *rt, const ti_shape *shape, const void *args, const ti_user_copy *fence)
{
    if (!is_at_next(rt, shape, fence)) {
        return false;
    }
    carry_out(rt, args, fence);
    return true;
}

/* Nearly always a task is the next one, and there is nothing to be looked at but its kernels. */
bool ti_round_take(ti_runtime *rt, const ti_shape *shape, const void *args, const ti_user_copy *fence)
{
    ti_round *r = &rt->round;
    if (!r->is_active || fence || r->at == 0 || r->watch.on || is_talking(rt)) {
        return (r->is_active || ti_round_kept(r)) && take(rt, shape, args, fence);
    }
    const ti_round_step *s = &r->step.data[r->at];
    if (s->talks || !is_next(rt, TI_TASK_EXECUTE, shape)) {
        return take(rt, shape, args, NULL);
    }
    if (rt->agreement) {
        note(rt, s, args);
    }
    for (size_t i = s->first; i < s->first + s->count; i++) {
        ti_executor_round_op(rt->executor, &r->ops, i, args, NULL, NULL);
    }
    r->tasks++;
    go_on(rt, s);
    return true;
}

/* ---- a wait */

uint64_t ti_round_tasks(const ti_runtime *rt)
{
    return ti_task_graph_tasks(rt->tasks) + (rt->round.is_active ? passed(&rt->round) : 0);
}

/* Nodes hold the same tasks back, as far as these concern them; not where placed tasks wait for their readers, or to be
 * computed again elsewhere. */
static bool holds_alike(const ti_runtime *rt)
{
    const ti_system *s = &rt->system;
    return !atomic_load_explicit(&rt->progress.placed, memory_order_relaxed) ||
           (s->multicast < TI_MULTICAST_TREES && s->latency_tasks <= 1);
}

/* A wait need not be a point, which ends what the graphs repeat. On one node it is none while a loop goes round that
 * has no such points. Several nodes must decide alike: it is none after many passes of a loop and so many horizons,
 * which do for the graphs what it would. After few passes it is better seen as part of the loop, which then begins anew
 * with its horizons, too. */
static bool may_rest(ti_runtime *rt, bool is_long)
{
    enum { MANY = 16 };
    ti_round *r = &rt->round;
    const uint64_t points = ti_task_graph_horizons(rt->tasks) + (r->is_active ? passed_points(r) : 0);
    const uint64_t since = points - r->waited;
    r->waited = points;
    if (!r->rests) {
        return false;
    }
    return rt->system.num_nodes == 1 ? ti_task_graph_is_in_loop(rt->tasks)
                                     : is_long && since >= MANY && holds_alike(rt);
}

static void note_rest(ti_runtime *rt)
{
    if (rt->agreement) {
        ti_agreement_note_call(rt->agreement, TI_SUBMITTED_WAIT, 0, 0, 0);
    }
}

/* What is held back is planned. */
static void await_all(ti_runtime *rt)
{
    atomic_store_explicit(&rt->progress.awaits_all, true, memory_order_seq_cst);
    ti_waiting_until(rt, TI_CAUSE_ALL, NULL);
    ti_lock_take(&rt->scheduling);
    bool more = ti_scheduler_flush(&rt->scheduler);
    if (ti_instruction_graph_is_waiting(rt->scheduler.graph)) {
        ti_lock_drop(&rt->scheduling);
        ti_waiting_until(rt, TI_CAUSE_ALL, NULL);
        ti_lock_take(&rt->scheduling);
        ti_scheduler_close(&rt->scheduler);
        more = true;
    }
    ti_lock_drop(&rt->scheduling);
    if (more) {
        ti_waiting_until(rt, TI_CAUSE_ALL, NULL);
    }
    atomic_store_explicit(&rt->progress.awaits_all, false, memory_order_relaxed);
}

static void rest_after_all(ti_runtime *rt)
{
    await_all(rt);
    note_rest(rt);
}

/* Where a wait is a point, it may be one of the tasks. */
static bool rest_in_round(ti_runtime *rt, bool rests)
{
    ti_round *r = &rt->round;
    const bool is_step = !rests && is_next(rt, TI_TASK_EPOCH, NULL);
    if (!is_step && !rests) {
        ti_round_catch_up(rt);
        return false;
    }
    if (!is_step) {
        note_rest(rt);
    } else if (rt->agreement) {
        note(rt, &r->step.data[r->at], NULL);
    }
    await_messages(rt);
    ti_executor_rest_round(rt->executor);
    if (is_step) {
        go_on(rt, &r->step.data[r->at]);
    }
    return true;
}

bool ti_round_rest(ti_runtime *rt, bool is_long)
{
    const bool rests = may_rest(rt, is_long);
    if (rt->round.is_active) {
        return rest_in_round(rt, rests);
    }
    if (rests) {
        rest_after_all(rt);
    }
    return rests;
}

/* ---- the end */

static void pass_rounds(ti_runtime *rt, uint64_t rounds)
{
    const ti_round *r = &rt->round;
    ti_task_graph_pass(rt->tasks, rounds * r->step.count, rounds * r->points);
    ti_command_graph_pass(rt->scheduler.commands, rounds * r->step.count, rounds * r->commands);
    ti_instruction_graph_pass(rt->scheduler.graph, rounds * r->instruction.count);
    ti_ahead_pass(&rt->ahead, rounds * r->points);
    ti_executor_pass_all(rt->executor, rounds * r->instruction.count, rounds * r->points);
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
static void tell(ti_runtime *rt, const ti_round_part *s)
{
    const ti_task *made[TI_TASK_GRAPH_BATCH];
    const bool is_wait = s->task.kind == TI_TASK_EPOCH;
    ti_task *task = ti_task_graph_new(rt->tasks, s->task.kind,
                                      is_wait ? ti_task_graph_shape(rt->tasks, s->task.shape->name) : s->task.shape);
    if (s->task.kind == TI_TASK_FENCE) {
        ti_local_piece *piece = TI_ARENA_NEW(ti_task_graph_arena(rt->tasks), ti_local_piece);
        *piece = s->piece;
        task->as.fence = (ti_user_copy){ NULL, piece, 1, &rt->round.nobody };
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
        const ti_round_part *s = &r->part.data[k % r->step.count];
        if (s->task.kind != TI_TASK_HORIZON) {
            tell(rt, s);
        }
    }
}

static TI_NOINLINE void leave(ti_runtime *rt)
{
    ti_round *r = &rt->round;
    if (is_talking(rt)) {
        await_messages(rt);
    }
    if (rt->agreement) {
        ti_agreement_catch_up(rt->agreement);
    }
    ti_lock_take(&rt->scheduling);
    ti_lock_take(&rt->executing);
    ti_executor_end_round(rt->executor, &r->ops);
    r->is_active = false;
    tell_all(rt);
    ti_scheduler_release(&rt->scheduler, ti_waiting_executed(rt));
    ti_roles_leave_executor(rt);
    ti_lock_drop(&rt->scheduling);
    ti_waiting_release(rt);
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
