/* The command graph, windows of pure tasks: fewer messages for some redundant work.
 *
 * Tasks that are marked pure are held until there are as many as the setting says (ti_system::latency_tasks), or
 * something comes that cannot be in the window. Then it is known how far beyond its chunk each node has to execute each
 * of them, so that later ones find on the node itself what they read of earlier ones (plan/tolerance/margins.h, or
 * closure.h where custom mappers read what the window writes). The tasks are planned one after the other, like any
 * others, but with larger chunks: they read more, and what they wrote beyond their chunks are copies that the versions
 * know of. So the first task of the window brings what all of them need, in one message for each neighbour, and
 * whatever is still missing later comes by itself. All of it depends on the sequence of tasks alone, so all nodes do
 * the same.
 *
 * A window is extended as long as margins are no longer than chunks. It closes at fences and epochs, at tasks that are
 * not pure, and before a task that does not fit, which begins the next one. Horizons are held with it, in their place,
 * up to ti_system::latency_horizons of them: a program that may be ahead by as many waits for no window.
 *
 * Paper: Eijkhout: Task Graph Transformations for Latency Tolerance, 2022, section 2. Scheduler thread. */
#include "plan/lookahead/impl.h"

#include "base/hash.h"
#include "plan/tolerance/closure.h"

#include <string.h>

enum { MAX_STATES = 1024 };

static void drop_spreads(ti_spread *const *spread, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ti_spread_unref(spread[i]);
    }
}

static void forget_states(ti_command_pure *p)
{
    for (size_t i = 0; i < p->state.count; i++) {
        const ti_pure_state *s = &p->state.data[i];
        drop_spreads(s->spread, s->tasks);
        ti_free(s->margin, s->tasks * sizeof(ti_margin));
        ti_free(s->spread, s->tasks * sizeof(ti_spread *));
    }
    ti_vec_clear(&p->state);
    ti_map_fini(&p->by_last);
    ti_command_forget_alone(p);
}

static void drop_splits(ti_command_pure *p)
{
    for (size_t i = 0; i < p->split.count; i++) {
        p->split.data[i]->interned.refs--;
    }
    ti_vec_clear(&p->split);
}

void ti_command_pure_fini(ti_command_pure *p)
{
    drop_splits(p);
    forget_states(p);
    ti_vec_fini(&p->held);
    ti_vec_fini(&p->task);
    ti_vec_fini(&p->split);
    ti_vec_fini(&p->margin);
    ti_vec_fini(&p->trial);
    drop_spreads(p->spread.data, p->spread.count);
    ti_vec_fini(&p->spread);
    ti_vec_fini(&p->attempt);
    ti_command_widenings_fini(p);
    ti_vec_fini(&p->late);
    ti_vec_fini(&p->stage);
    ti_command_bundles_fini(p);
    ti_vec_fini(&p->state);
    ti_vec_fini(&p->alones);
    ti_vec_fini(&p->seen);
    ti_vec_fini(&p->seen_read);
    ti_vec_fini(&p->seen_piece);
}

/* ---- what is known of windows */

static uint64_t key_of(int before, uint64_t serial)
{
    return ti_hash_mix(serial, (uint64_t)before);
}

/* The state of the window and one more task, or NULL. */
static const ti_pure_state *find_state(const ti_command_pure *p, const ti_shape *last)
{
    const uint64_t *at = p->at >= 0 && last->serial ? ti_map_find(&p->by_last, key_of(p->at, last->serial)) : NULL;
    TI_ASSERT(!at || (*at > 0 && *at <= p->state.count));
    const ti_pure_state *s = at ? &p->state.data[*at - 1] : NULL;
    return s && s->before == p->at && s->serial == last->serial ? s : NULL;
}

/* Note what has been found of the window, whose last task has just come. */
static void keep_state(ti_command_pure *p, uint64_t serial, ti_window_verdict verdict)
{
    if (p->at < 0 || !serial || ti_map_find(&p->by_last, key_of(p->at, serial))) {
        return;
    }
    if (p->state.count == MAX_STATES) {
        forget_states(p);
        p->at = -1;
        return;
    }
    TI_ASSERT(p->trial.count == p->task.count && p->attempt.count == p->task.count);
    bool fits = verdict == TI_WINDOW_FITS;
    ti_pure_state s = { .before = p->at, .serial = serial, .verdict = verdict, .tasks = fits ? p->task.count : 0 };
    if (fits) {
        s.margin = TI_NEW_ARRAY(ti_margin, s.tasks);
        memcpy(s.margin, p->trial.data, s.tasks * sizeof(ti_margin));
        s.spread = TI_NEW_ARRAY(ti_spread *, s.tasks);
        for (size_t i = 0; i < s.tasks; i++) {
            s.spread[i] = ti_spread_ref(p->attempt.data[i]);
        }
    }
    ti_vec_push(&p->state, s);
    *ti_map_at(&p->by_last, key_of(p->at, serial)) = p->state.count;
}

/* ---- the window */

static void push(ti_command_graph *graph, const ti_task *task)
{
    ti_command_pure *p = &graph->pure;
    ti_split_ref *split = ti_command_shape_of(graph, task)->split;
    TI_ASSERT(p->split.count == p->task.count && p->held.count == p->task.count + (size_t)p->horizons);
    TI_ASSERT(p->held.count == 0 || p->held.data[p->held.count - 1]->id < task->id);
    graph->single_task = 0; /* what is known of the task may not outlive the horizons that are planned before it */
    split->interned.refs++;
    ti_vec_push(&p->split, split);
    ti_vec_push(&p->task, ((ti_windowed){ task->shape, &split->split }));
    ti_vec_push(&p->held, task);
}

static void pop(ti_command_pure *p)
{
    p->split.data[--p->split.count]->interned.refs--;
    p->task.count--;
    p->held.count--;
}

/* Of longer windows the last tasks have what those of shorter ones had: one value is enough. */
static void share_spreads(ti_command_pure *p)
{
    for (size_t i = 0; i < p->attempt.count; i++) {
        for (size_t k = 0; k < p->spread.count && p->attempt.data[i]; k++) {
            if (p->spread.data[k] != p->attempt.data[i] && ti_spread_equal(p->spread.data[k], p->attempt.data[i])) {
                ti_spread_unref(p->attempt.data[i]);
                p->attempt.data[i] = ti_spread_ref(p->spread.data[k]);
            }
        }
    }
}

/* What nodes execute of the tasks of the window: into `trial`, and `attempt`, referenced. */
static ti_window_verdict find_widenings(ti_command_pure *p)
{
    memset(p->attempt.data, 0, p->attempt.count * sizeof(ti_spread *));
    ti_window_verdict verdict = ti_window_margins(p->task.data, p->task.count, p->trial.data);
    if (verdict == TI_WINDOW_CUSTOM || verdict == TI_WINDOW_GOES_AROUND) {
        memset(p->trial.data, 0, p->trial.count * sizeof(ti_margin));
        verdict = ti_window_closure(p->task.data, p->task.count, p->attempt.data);
        share_spreads(p);
    }
    return verdict;
}

/* The same as it was the last time. */
static void recall(ti_command_pure *p, const ti_pure_state *known)
{
    TI_ASSERT(known->tasks == (known->verdict == TI_WINDOW_FITS ? p->task.count : 0));
    for (size_t i = 0; i < known->tasks; i++) {
        p->trial.data[i] = known->margin[i];
        p->attempt.data[i] = ti_spread_ref(known->spread[i]);
    }
}

static void accept(ti_command_pure *p, const ti_pure_state *known)
{
    p->at = known ? (int)(known - p->state.data) + 1 : -1;
    ti_margins kept = p->margin;
    p->margin = p->trial;
    p->trial = kept;
    drop_spreads(p->spread.data, p->spread.count);
    ti_spreads had = p->spread;
    p->spread = p->attempt;
    p->attempt = had;
}

/* Add the task to the window, if it fits; it is known then what nodes execute. */
static ti_window_verdict extend(ti_command_graph *graph, const ti_task *task)
{
    ti_command_pure *p = &graph->pure;
    const ti_pure_state *known = find_state(p, task->shape);
    ti_window_verdict verdict;
    push(graph, task);
    ti_vec_reserve(&p->trial, p->task.count);
    ti_vec_reserve(&p->attempt, p->task.count);
    p->trial.count = p->attempt.count = p->task.count;
    if (known) {
        verdict = known->verdict;
        recall(p, known);
    } else if (!ti_command_is_distributed(graph)) { /* there is nothing beyond its chunk */
        verdict = TI_WINDOW_FITS;
        memset(p->trial.data, 0, p->trial.count * sizeof(ti_margin));
        memset(p->attempt.data, 0, p->attempt.count * sizeof(ti_spread *));
    } else {
        verdict = find_widenings(p);
        keep_state(p, task->shape->serial, verdict);
        known = find_state(p, task->shape);
    }
    if (verdict != TI_WINDOW_FITS) {
        pop(p);
        return verdict;
    }
    accept(p, known);
    return verdict;
}

/* Tasks, or all else. */
static void plan_kind(ti_command_graph *graph, bool tasks)
{
    const ti_command_pure *p = &graph->pure;
    for (size_t i = 0; i < p->held.count; i++) {
        if ((p->held.data[i]->kind == TI_TASK_EXECUTE) == tasks) {
            ti_command_window_add(graph, p->held.data[i]);
        }
    }
}

/* Horizons would keep tasks apart that are executed tile by tile: they come after them, and after those that lookahead
 * has held, which they end as they would have done before. */
static void plan_held(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    p->cuts = true;
    if (graph->system->latency_tiles) {
        p->tiling = ++p->tilings ? p->tilings : ++p->tilings;
        plan_kind(graph, true);
        p->tiling = 0;
        if (p->horizons) {
            ti_command_window_flush(graph);
            plan_kind(graph, false);
        }
    }
    for (size_t i = 0; !graph->system->latency_tiles && i < p->held.count; i++) {
        ti_command_window_add(graph, p->held.data[i]);
    }
    p->cuts = false;
    ti_vec_clear(&p->late);
}

/* Horizons come after the tasks: whatever waits for a horizon waits for all messages of the window before it, and
 * nothing that is sent may. */
static void plan_stages(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    ti_command_window_flush(graph);
    if (graph->system->explain && graph->system->latency_tiles) {
        ti_command_tell_no_tiles(graph);
    }
    TI_ASSERT(p->bundles == 0);
    for (size_t i = 0; i < p->held.count; i++) {
        if (p->held.data[i]->kind == TI_TASK_EXECUTE) {
            p->staging++;
            ti_command_plan(graph, p->held.data[i]);
        }
    }
    TI_ASSERT((size_t)p->staging == p->task.count);
    p->staging = 0;
    ti_command_bundles_end(graph);
    for (size_t i = 0; i < p->held.count; i++) {
        if (p->held.data[i]->kind != TI_TASK_EXECUTE) {
            ti_command_window_add(graph, p->held.data[i]);
        }
    }
}

/* What the setting says, or the least that a task of the window does. */
static size_t most_tasks(const ti_command_graph *graph)
{
    int most = graph->system->latency_tasks;
    for (size_t i = 0; i < graph->pure.task.count; i++) {
        int window = graph->pure.task.data[i].shape->window;
        most = window ? TI_MIN(most, window) : most;
    }
    TI_ASSERT(most > 0);
    return (size_t)most;
}

/* A reason that more than half of the early windows have in common is the one that is left. */
static void count_window(ti_command_graph *graph, ti_window_verdict verdict, const ti_task *closer)
{
    ti_window_counts *c = &graph->pure.counts;
    bool by_task, is_full = graph->pure.task.count >= most_tasks(graph);
    const char *why = ti_command_window_reason(verdict, closer, &by_task);
    c->windows++;
    if (is_full || (verdict == TI_WINDOW_FITS && closer->kind == TI_TASK_EXECUTE)) {
        return;
    }
    c->early++;
    if (c->votes == 0) {
        c->why = why;
        c->by_task = by_task;
    }
    c->votes = c->why == why ? c->votes + 1 : c->votes - 1;
    TI_ASSERT(c->votes <= c->early && c->early <= c->windows);
}

/* Plan what is held: the task is the last one of the window, or the first that is not in it. */
static void close_window(ti_command_graph *graph, ti_window_verdict verdict, const ti_task *closer)
{
    ti_command_pure *p = &graph->pure;
    size_t k = 0;
    TI_ASSERT(!p->cuts && !p->tiling && !p->staging); /* no window is planned inside of another one */
    TI_ASSERT(p->task.count > 0 && p->held.count == p->task.count + (size_t)p->horizons);
    TI_ASSERT(p->margin.count == p->task.count && p->spread.count == p->task.count);
    count_window(graph, verdict, closer);
    const bool staged = ti_command_is_distributed(graph) &&
                        (graph->system->latency_staged || ti_command_has_common_messages(graph));
    ti_stage_verdict stages = staged ? ti_command_find_stages(graph) : TI_STAGE_FITS;
    if (graph->system->explain) {
        ti_command_look_at_window(graph, verdict, closer, stages);
    }
    for (size_t i = 0; i < p->held.count; i++) {
        if (p->held.data[i]->kind == TI_TASK_EXECUTE) {
            ti_command_widen(graph, p->held.data[i], &p->margin.data[k], p->spread.data[k]);
            k++;
        }
    }
    TI_ASSERT(k == p->task.count);
    if (staged && stages == TI_STAGE_FITS) {
        plan_stages(graph);
    } else {
        plan_held(graph);
    }
    ti_command_drop_widenings(graph);
    ti_vec_clear(&p->held);
    ti_vec_clear(&p->task);
    drop_splits(p);
    p->horizons = 0;
    p->at = 0;
}

static void add_pure(ti_command_graph *graph, const ti_task *task)
{
    ti_command_pure *p = &graph->pure;
    if (task->shape->window && p->task.count >= (size_t)task->shape->window) {
        close_window(graph, TI_WINDOW_FITS, task); /* it may not be the last of so many */
    }
    ti_window_verdict verdict = extend(graph, task);
    if (verdict != TI_WINDOW_FITS) {
        close_window(graph, verdict, task);
        verdict = extend(graph, task); /* alone */
        TI_ASSERT(verdict == TI_WINDOW_FITS);
    }
    if (p->task.count >= most_tasks(graph)) {
        close_window(graph, verdict, task);
    }
}

static void add(ti_command_graph *graph, const ti_task *task)
{
    ti_command_pure *p = &graph->pure;
    bool on = graph->system->latency_tasks > 1 && (ti_command_is_distributed(graph) || graph->system->latency_tiles);
    ti_window_verdict verdict = on && task->kind == TI_TASK_EXECUTE ? ti_window_admits(task->shape)
                                                                    : TI_WINDOW_NOT_PURE;
    TI_ASSERT(p->task.count > 0 || p->held.count == 0);
    if (verdict == TI_WINDOW_FITS) {
        add_pure(graph, task);
        return;
    }
    if (p->task.count && task->kind == TI_TASK_HORIZON && p->horizons + 1 < graph->system->latency_horizons) {
        p->horizons++;
        ti_vec_push(&p->held, task);
        return;
    }
    if (p->task.count) {
        close_window(graph, verdict, task);
    }
    ti_command_window_add(graph, task);
    ti_command_drop_widenings(graph);
}

void ti_command_pure_add(ti_command_graph *graph, const ti_task *task)
{
    add(graph, task);
    if (TI_UNLIKELY(graph->pure.seen.count > 0)) {
        ti_command_tell_windows(graph);
    }
}

void ti_command_pure_flush(ti_command_graph *graph)
{
    static const ti_task wait = { .kind = TI_TASK_EPOCH };
    if (graph->pure.task.count) {
        close_window(graph, TI_WINDOW_NOT_PURE, &wait);
    }
    ti_command_window_flush(graph);
    ti_command_drop_widenings(graph);
}
