/* Cycles of the task graph: see cycle.h.
 *
 * Steps of a cycle are tasks and fences whose shapes come again, horizons, and points where the program waits for its
 * node alone. There are no cycles of tasks with host objects; across points where all nodes meet, since tasks may be
 * cut in another way from there on; where reports want edges or forwards are marked; nor once producers have been
 * merged. */
#include "plan/task/impl.h"

const ti_shape ti_horizon_shape = { .name = "horizon" };

/* A round has at most MAX_STEPS tasks; graphs with more than MAX_ENTRIES entries are not compared. WORTH rounds make up
 * for the recording. */
enum { MAX_STEPS = TI_AGAIN_STEPS, MAX_ENTRIES = 32768, WORTH = 2 };

void ti_task_cycle_init(ti_task_cycle *c, const ti_system *system)
{
    const bool marks = system->collectives == TI_COLLECTIVES_DISCOVER;
    c->off = system->derive_always || system->record || system->explain || marks;
}

static void state_fini(ti_task_state *state)
{
    ti_tracker_state_fini(&state->known);
    ti_vec_fini(&state->written);
}

void ti_task_cycle_fini(ti_task_cycle *c)
{
    ti_vec_fini(&c->step);
    ti_vec_fini(&c->dep);
    ti_vec_fini(&c->forward);
    ti_vec_fini(&c->box);
    ti_vec_fini(&c->touch);
    ti_vec_fini(&c->write);
    state_fini(&c->before);
    state_fini(&c->after);
    ti_loop_fini(&c->loop);
}

/* ---- what the graph knows */

static inline ti_producers *producers_of(const ti_task_graph *graph, size_t slot)
{
    return graph->forwards ? ti_forwards_producers(graph->forwards, slot) : NULL;
}

/* Write down what the graph knows. False: some of it is of a kind that is not compared. Numbers of tiles are left out:
 * they only lead to the same entries faster. */
static bool describe(ti_task_graph *graph, ti_task_state *state)
{
    bool can = true;
    ti_vec_clear(&state->known.ids);
    ti_vec_clear(&state->known.others);
    ti_vec_clear(&state->written);
    ti_vec_push(&state->known.ids, graph->era.applied);
    state->path = ti_horizon_describe(&graph->horizon, &state->known);
    uint64_t anchor[TI_ANCHOR_WORDS];
    ti_anchor_describe(&graph->anchor, graph->next_id, ti_horizon_least(&graph->horizon), anchor);
    ti_tracker_state_add(&state->known, anchor, sizeof(anchor));
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_vec_push(&state->known.others, graph->buffer.data[i] != NULL);
        if (graph->buffer.data[i]) {
            ti_producers *producers = producers_of(graph, i);
            ti_tracker_describe(&graph->buffer.data[i]->tracker, &state->known);
            can = can && (!producers || ti_producers_describe(producers, &state->known, &state->written));
        }
    }
    return can;
}

/* Whether a producer is one of a task of a round, whose id has grown since. All others came before the rounds. */
static inline bool grows(const ti_task_cycle *c, uint64_t producer)
{
    return producer >= c->first - c->length;
}

static bool has_grown(const ti_task_cycle *c)
{
    bool grown = c->first > c->length && c->before.written.count == c->after.written.count &&
                 ti_tracker_state_has_grown(&c->before.known, &c->after.known, c->length);
    for (size_t i = 0; i < c->before.written.count && grown; i++) {
        const uint64_t before = c->before.written.data[i];
        grown = c->after.written.data[i] == before + (grows(c, before) ? c->length : 0);
    }
    return grown;
}

static bool is_small(const ti_task_graph *graph)
{
    return graph->era.entries + ti_forwards_entries(graph->forwards) <= MAX_ENTRIES;
}

/* ---- recording */

static void start_recording(ti_task_graph *graph, size_t segments)
{
    ti_task_cycle *c = &graph->cycle;
    c->loop.phase = TI_LOOP_RECORDS;
    c->wanted = segments;
    c->has_waits = c->loop.segments - c->waited < segments;
    ti_vec_clear(&c->step);
    ti_vec_clear(&c->dep);
    ti_vec_clear(&c->forward);
    ti_vec_clear(&c->box);
    ti_vec_clear(&c->touch);
    ti_vec_clear(&c->write);
    c->first = graph->next_id;
    if (!describe(graph, &c->before)) {
        ti_loop_give_up(&c->loop, false);
    }
}

static void finish_recording(ti_task_graph *graph)
{
    ti_task_cycle *c = &graph->cycle;
    c->length = c->shift = graph->next_id - c->first;
    TI_ASSERT(c->length == c->step.count);
    if (graph->era.applied && is_small(graph) && describe(graph, &c->after) && has_grown(c)) {
        c->loop.phase = TI_LOOP_REPEATS;
        TI_ASSERT(c->number % TI_AGAIN_STEPS == 0 && c->length <= TI_AGAIN_STEPS);
        c->number += TI_AGAIN_STEPS;
        c->applied = graph->era.applied;
        c->at = 0;
        c->rounds = 0;
        return;
    }
    ti_loop_give_up(&c->loop, false);
}

/* Reads first, as they are tracked. */
static void record_touches(ti_task_graph *graph, const ti_shape *shape, ti_task_step *s)
{
    ti_task_cycle *c = &graph->cycle;
    s->touch = c->touch.count;
    for (int write = 0; write < 2; write++) {
        for (uint32_t i = 0; i < shape->accesses && !ti_box_is_empty(&shape->range); i++) {
            const ti_footprint *f = &shape->footprint[i];
            for (uint32_t k = 0; k < f->boxes && (shape->access[i].mode != TACIT_READ) == (write == 1); k++) {
                ti_tracked *b = graph->buffer.data[shape->access[i].buffer->slot];
                ti_vec_push(&c->touch, ((ti_task_touch){ &b->tracker, f->tile, write == 1, f->box[k] }));
            }
        }
    }
    s->touches = (uint32_t)(c->touch.count - s->touch);
}

static void record_forwards(ti_task_cycle *c, const ti_task *task, ti_task_step *s)
{
    s->forward = c->forward.count;
    s->forwards = task->forwards;
    s->box = c->box.count;
    for (uint32_t i = 0; i < task->forwards; i++) {
        ti_vec_push(&c->forward, task->forward[i]);
        for (uint32_t k = 0; k < task->forward[i].boxes; k++) {
            ti_vec_push(&c->box, task->forward[i].box[k]);
        }
    }
}

static bool record_writes(ti_task_graph *graph, const ti_task *task, ti_task_step *s)
{
    ti_task_cycle *c = &graph->cycle;
    const ti_shape *shape = task->shape;
    bool can = true;
    s->write = c->write.count;
    for (uint32_t i = 0; graph->forwards && i < shape->accesses && can && !ti_box_is_empty(&shape->range); i++) {
        const ti_footprint *touched = &shape->footprint[i];
        const bool reduces = shape->access[i].mode == TACIT_REDUCE;
        const bool nobody = shape->place == TI_PLACE_EVERYWHERE && !reduces;
        ti_producers *producers = producers_of(graph, shape->access[i].buffer->slot);
        for (uint32_t k = 0; k < touched->boxes && can && (reduces || ti_access_writes(&shape->access[i])); k++) {
            ti_producer_write w = { .to = producers, .producer.box = touched->box[k] };
            can = nobody || ti_producers_written(producers, &touched->box[k], task->id, &w);
            if (can) {
                ti_vec_push(&c->write, w);
            }
        }
    }
    s->writes = (uint32_t)(c->write.count - s->write);
    return can;
}

static inline bool is_point(uint64_t serial)
{
    return serial == 0 || serial >= TI_STEP_FLUSH;
}

/* Whether it may be a step, and which. Fences of a box come again, as tasks do. */
static inline bool comes_again(const ti_task *task, uint64_t *serial)
{
    switch (task->kind) {
    case TI_TASK_EXECUTE:
    case TI_TASK_FENCE:
        *serial = task->shape->serial;
        return *serial != 0;
    case TI_TASK_EPOCH:
        *serial = TI_STEP_WAIT;
        return !task->as.barrier;
    case TI_TASK_HORIZON:
        *serial = task->shape == &ti_horizon_shape ? 0 : TI_STEP_FLUSH;
        return true;
    case TI_TASK_CREATE:
    case TI_TASK_DESTROY:
    case TI_TASK_BRIEF:
        return false;
    }
    TI_UNREACHABLE();
}

static bool record_task(ti_task_graph *graph, const ti_task *task, ti_task_step *s)
{
    const ti_shape *shape = task->shape;
    if (!comes_again(task, &s->serial)) {
        return false;
    }
    if (is_point(s->serial)) {
        return true;
    }
    if (shape->orders || task->writes_new || task->source) {
        return false;
    }
    record_touches(graph, shape, s);
    record_forwards(&graph->cycle, task, s);
    return record_writes(graph, task, s);
}

static void record(ti_task_graph *graph, const ti_task *task, const ti_shape *was)
{
    ti_task_cycle *c = &graph->cycle;
    ti_task_step s = { .dep = c->dep.count, .deps = task->deps, .completes = task->shape != was };
    s.is_anchor = task->kind == TI_TASK_HORIZON && graph->anchor.id == task->id - 1;
    s.missed = graph->anchor.missed;
    for (uint32_t i = 0; i < task->deps; i++) {
        ti_vec_push(&c->dep, task->dep[i]);
    }
    if (c->step.count == MAX_STEPS || !record_task(graph, task, &s)) {
        ti_loop_give_up(&c->loop, false);
        return;
    }
    ti_vec_push(&c->step, s);
}

static void end_segment(ti_task_graph *graph)
{
    ti_task_cycle *c = &graph->cycle;
    ti_loop_end_segment(&c->loop);
    if (c->loop.phase == TI_LOOP_RECORDS) {
        TI_ASSERT(c->wanted > 0);
        if (--c->wanted == 0) {
            finish_recording(graph);
        }
        return;
    }
    const size_t round = is_small(graph) ? ti_loop_round(&c->loop) : 0;
    if (round) {
        start_recording(graph, round);
    }
}

void ti_task_cycle_note(ti_task_graph *graph, const ti_task *task, const ti_shape *was)
{
    ti_task_cycle *c = &graph->cycle;
    if (c->off) {
        return;
    }
    TI_ASSERT(c->loop.phase != TI_LOOP_REPEATS);
    if (c->loop.phase == TI_LOOP_RECORDS) {
        record(graph, task, was);
    }
    uint64_t serial;
    const bool again = comes_again(task, &serial);
    ti_loop_note(&c->loop, again ? serial << 1 : task->id << 1 | 1);
    if (again && is_point(serial)) {
        c->waited = task->kind == TI_TASK_EPOCH ? c->loop.segments + 1 : c->waited;
        end_segment(graph);
    } else if (task->kind == TI_TASK_EPOCH) {
        ti_loop_forget(&c->loop);
    }
}

/* ---- catching up */

static void tell_point(ti_task_graph *graph, const ti_task_step *s, uint64_t id)
{
    graph->anchor.id = s->is_anchor ? id - 1 : graph->anchor.id;
    graph->anchor.missed = s->missed;
    ti_task_graph_pass_point(graph, id, s->serial == TI_STEP_WAIT);
}

static void tell_task(ti_task_graph *graph, const ti_task_step *s, uint64_t id)
{
    const ti_task_cycle *c = &graph->cycle;
    ti_deps *deps = &graph->deps;
    ti_deps_start(deps, id);
    for (uint32_t i = 0; i < s->touches; i++) {
        const ti_task_touch *t = &c->touch.data[s->touch + i];
        (t->write ? ti_tracker_write_tile : ti_tracker_read_tile)(t->tracker, t->tile, &t->box, id, deps);
    }
    for (uint32_t i = 0; i < s->writes; i++) {
        ti_producers_repeat(&c->write.data[s->write + i], id, graph->horizon.newest);
    }
    TI_ASSERT(deps->ids.count == s->deps);
    ti_horizon_note(&graph->horizon, id, deps->ids.data, deps->ids.count);
}

/* The complete rounds have changed nothing but ids. */
static void pass_rounds(ti_task_graph *graph)
{
    const ti_task_cycle *c = &graph->cycle;
    const uint64_t by = c->rounds * c->length;
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_producers *producers = producers_of(graph, i);
        if (graph->buffer.data[i]) {
            ti_tracker_shift(&graph->buffer.data[i]->tracker, c->applied, by);
        }
        if (producers) {
            ti_producers_shift(producers, c->first - c->length, by);
        }
    }
    graph->anchor.id += graph->anchor.id >= c->first ? by : 0;
    ti_horizon_shift(&graph->horizon, by, (int64_t)c->rounds * (c->after.path - c->before.path));
    ti_era_apply(&graph->era, c->applied + by);
}

static TI_NOINLINE void stop(ti_task_graph *graph)
{
    ti_task_cycle *c = &graph->cycle;
    TI_ASSERT(c->shift == (c->rounds + 1) * c->length);
    if (c->rounds > 0) {
        pass_rounds(graph);
    }
    uint64_t segments = c->rounds * c->loop.recorded;
    for (size_t at = 0; at < c->at; at++) {
        const uint64_t id = c->first + at + c->shift;
        if (is_point(c->step.data[at].serial)) {
            tell_point(graph, &c->step.data[at], id);
            segments++;
        } else {
            tell_task(graph, &c->step.data[at], id);
        }
    }
    TI_ASSERT(graph->horizon.next == graph->next_id); /* all ids up to it have been told */
    if (graph->forwards) {
        ti_forwards_pass_point(graph->forwards, graph->horizon.newest);
    }
    ti_loop_give_up(&c->loop, c->rounds >= WORTH);
    ti_loop_go_on(&c->loop, segments);
}

void ti_task_cycle_skip(ti_task_graph *graph)
{
    ti_task_cycle *c = &graph->cycle;
    if (c->loop.phase == TI_LOOP_REPEATS) {
        stop(graph);
    } else if (c->loop.phase == TI_LOOP_RECORDS) {
        ti_loop_give_up(&c->loop, false);
    }
    ti_loop_note(&c->loop, graph->next_id << 1 | 1);
}

/* ---- repeating */

static void go_on(ti_task_cycle *c)
{
    c->repeated++;
    if (++c->at == c->step.count) {
        c->at = 0;
        c->rounds++;
        c->shift += c->length;
    }
}

static void take_forwards(ti_task_graph *graph, const ti_task_step *s, ti_task *task)
{
    const ti_task_cycle *c = &graph->cycle;
    ti_arena *arena = ti_arena_ring_top(&graph->arenas);
    const ti_box *box = c->box.data + s->box;
    ti_forward *forward = ti_arena_copy(arena, c->forward.data + s->forward, s->forwards * sizeof(*forward));
    for (uint32_t i = 0; i < s->forwards; i++) {
        forward[i].producer += grows(c, forward[i].producer) ? c->shift : 0;
        TI_ASSERT(forward[i].producer < task->id);
        forward[i].box = ti_arena_copy(arena, box, forward[i].boxes * sizeof(*box));
        box += forward[i].boxes;
    }
    TI_ASSERT(box <= c->box.data + c->box.count);
    task->forwards = s->forwards;
    task->forward = forward;
}

static void take_deps(ti_task_graph *graph, const ti_task_step *s, ti_task *task)
{
    const ti_task_cycle *c = &graph->cycle;
    TI_ASSERT(s->dep + s->deps <= c->dep.count && c->at < TI_AGAIN_STEPS);
    uint64_t *dep = ti_arena_alloc(ti_arena_ring_top(&graph->arenas), s->deps * sizeof(*dep));
    for (uint32_t i = 0; i < s->deps; i++) {
        dep[i] = c->dep.data[s->dep + i] + c->shift;
    }
    task->deps = s->deps;
    task->dep = dep;
    task->id = graph->next_id++;
    task->again = c->number + c->at;
    TI_ASSERT(task->id == c->first + c->at + c->shift);
}

static void take_point(ti_task_graph *graph, ti_task *point)
{
    take_deps(graph, &graph->cycle.step.data[graph->cycle.at], point);
    ti_arena_ring_advance(&graph->arenas, point->id);
    graph->horizons++;
    go_on(&graph->cycle);
}

bool ti_task_cycle_take(ti_task_graph *graph, ti_task *task)
{
    ti_task_cycle *c = &graph->cycle;
    const ti_task_step *s = &c->step.data[c->at];
    TI_ASSERT(c->at < c->step.count && task->id == 0);
    uint64_t serial;
    if (!comes_again(task, &serial) || serial != s->serial) {
        stop(graph);
        return false;
    }
    if (is_point(serial)) {
        take_point(graph, task);
        return true;
    }
    if (TI_UNLIKELY(s->completes)) {
        task->shape = ti_shape_complete(task->shape, ti_arena_ring_top(&graph->arenas));
    }
    take_deps(graph, s, task);
    if (s->forwards) {
        take_forwards(graph, s, task);
    }
    go_on(c);
    return true;
}

void ti_task_cycle_take_horizon(ti_task_graph *graph, ti_task *horizon)
{
    take_point(graph, horizon);
}
