/* Stage 1, the task graph: see graph.h. */
#include "plan/task/impl.h"

#include "base/clock.h"

ti_task_graph *ti_task_graph_create(const ti_system *system)
{
    ti_task_graph *graph = TI_NEW(ti_task_graph);
    graph->system = system;
    graph->next_id = 1;
    ti_arena_ring_init(&graph->arenas);
    graph->forwards = ti_forwards_create(system);
    ti_task_cycle_init(&graph->cycle, system);
    ti_horizon_init(&graph->horizon, system->horizon_step, system->horizon_front, graph->next_id);
    return graph;
}

static void close_buffer(ti_task_graph *graph, uint32_t slot)
{
    if (graph->buffer.data[slot]) {
        ti_tracker_fini(&graph->buffer.data[slot]->tracker);
        ti_tiles_destroy(graph->buffer.data[slot]->tiles);
        TI_DELETE(graph->buffer.data[slot]);
        graph->buffer.data[slot] = NULL;
    }
}

void ti_task_graph_destroy(ti_task_graph *graph)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        close_buffer(graph, (uint32_t)i);
    }
    ti_vec_fini(&graph->buffer);
    ti_orders_fini(&graph->orders);
    ti_forwards_destroy(graph->forwards);
    ti_task_cycle_fini(&graph->cycle);
    ti_horizon_fini(&graph->horizon);
    ti_arena_ring_fini(&graph->arenas);
    ti_deps_fini(&graph->deps);
    ti_era_fini(&graph->era);
    TI_DELETE(graph);
}

ti_arena *ti_task_graph_arena(ti_task_graph *graph)
{
    return ti_arena_ring_top(&graph->arenas);
}

ti_task *ti_task_graph_new(ti_task_graph *graph, ti_task_kind kind, const ti_shape *shape)
{
    ti_task *task = TI_ARENA_NEW(ti_task_graph_arena(graph), ti_task);
    task->kind = kind;
    task->shape = shape;
    return task;
}

ti_shape *ti_task_graph_shape(ti_task_graph *graph, const char *name)
{
    return ti_shape_new(ti_task_graph_arena(graph), name);
}

static ti_tracked *tracked_of(ti_task_graph *graph, const ti_buffer_info *buffer)
{
    TI_ASSERT(buffer->slot < graph->buffer.count && graph->buffer.data[buffer->slot]);
    return graph->buffer.data[buffer->slot];
}

static void open_buffer(ti_task_graph *graph, uint32_t slot)
{
    while (graph->buffer.count <= slot) {
        ti_vec_push(&graph->buffer, NULL);
    }
    TI_ASSERT(!graph->buffer.data[slot]);
    graph->buffer.data[slot] = TI_NEW(ti_tracked);
    ti_tracker_init(&graph->buffer.data[slot]->tracker, &graph->era);
}

ti_tiles **ti_task_graph_tiles(ti_task_graph *graph, const ti_buffer_info *buffer, const ti_tracker **tracker)
{
    ti_tracked *b = tracked_of(graph, buffer);
    if (tracker) {
        *tracker = &b->tracker;
    }
    return &b->tiles;
}

void ti_task_graph_expect(const ti_task_graph *graph, const ti_buffer_info *buffer, uint32_t tile)
{
    const ti_tracker *t = &graph->buffer.data[buffer->slot]->tracker;
    const uint64_t note = ti_tile_note_of(t->tiles, tile);
    if (note && !(note & TI_TRACKER_PARTS)) {
        __builtin_prefetch(&t->record.data[note - 1], 1);
    }
    if (graph->forwards) {
        ti_forwards_expect(graph->forwards, buffer, tile);
    }
}

static void say_uninitialised(const ti_shape *shape, const ti_access *access, const ti_box *hole, ti_strbuf *why)
{
    char text[TI_BOX_TEXT];
    ti_box_format(hole, TI_MAX(access->buffer->dims, 1), text);
    ti_strbuf_add(why,
                  "task '%s' reads %s of buffer '%s', which nobody has written; "
                  "give the buffer .init, write it in an earlier task%s",
                  shape->name, text, access->buffer->name,
                  access->mode == TACIT_UPDATE ? ", or use tacit_write if old contents do not matter"
                                               : ", or read less");
}

static inline bool is_complete(const ti_tracked *b)
{
    return b->written.min[0] < 0;
}

/* Note what has been written: boxes that continue what is known are joined to it; of others the largest is kept. */
static TI_NOINLINE void note_written(ti_tracked *b, const ti_buffer_info *buffer, const ti_box *box)
{
    if (ti_box_covers(&b->written, box)) {
        return;
    }
    if (!ti_box_join(&b->written, box, &b->written) && ti_box_volume(box) > ti_box_volume(&b->written)) {
        b->written = *box;
    }
    if (ti_box_covers(&b->written, &buffer->extent)) {
        b->written.min[0] = -1;
    }
}

tacit_status ti_task_graph_check(ti_task_graph *graph, const ti_shape *shape, ti_strbuf *why)
{
    const ti_buffer_info *complete = NULL;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *access = &shape->access[i];
        if (access->buffer == complete || !ti_access_needs_old(access)) {
            continue;
        }
        ti_tracked *b = tracked_of(graph, access->buffer);
        if (TI_LIKELY(is_complete(b))) {
            complete = access->buffer;
            continue;
        }
        if (ti_tracker_knows_tile(&b->tracker, shape->footprint[i].tile)) {
            continue;
        }
        for (size_t k = 0; k < shape->footprint[i].boxes; k++) {
            const ti_box *box = &shape->footprint[i].box[k];
            ti_box hole;
            if (!ti_box_covers(&b->written, box) && !ti_tracker_is_written(&b->tracker, box, &hole)) {
                say_uninitialised(shape, access, &hole, why);
                return TACIT_ERROR_UNINITIALIZED;
            }
            note_written(b, access->buffer, box);
        }
    }
    return TACIT_OK;
}

void ti_task_graph_written(ti_task_graph *graph, const ti_buffer_info *buffer, const ti_box *box, ti_boxes *out)
{
    ti_tracked *b = tracked_of(graph, buffer);
    ti_boxes open = { 0 };
    ti_vec_push(&open, *box);
    while (open.count) {
        const ti_box at = open.data[--open.count];
        ti_box hole, piece[6];
        if (is_complete(b) || ti_tracker_is_written(&b->tracker, &at, &hole)) {
            ti_vec_push(out, at);
            continue;
        }
        TI_ASSERT(!ti_box_is_empty(&hole) && ti_box_covers(&at, &hole));
        int pieces = ti_box_subtract(&at, &hole, piece);
        for (int i = 0; i < pieces; i++) {
            ti_vec_push(&open, piece[i]);
        }
    }
    ti_vec_fini(&open);
    ti_boxes_normalize(out);
}

static inline void track_read(ti_task_graph *graph, const ti_task *task, ti_tracked *b, const ti_footprint *touched)
{
    if (TI_LIKELY(touched->tile)) {
        ti_tracker_read_tile(&b->tracker, touched->tile, touched->box, task->id, &graph->deps);
        return;
    }
    for (size_t k = 0; k < touched->boxes; k++) {
        ti_tracker_read(&b->tracker, &touched->box[k], task->id, &graph->deps);
    }
}

static inline void track_write(ti_task_graph *graph, ti_task *task, const ti_access *access,
                               const ti_footprint *touched)
{
    ti_tracked *b = tracked_of(graph, access->buffer);
    for (size_t k = 0; k < touched->boxes; k++) {
        const ti_box *box = &touched->box[k];
        ti_tracker_write_tile(&b->tracker, touched->tile, box, task->id, &graph->deps);
        if (!is_complete(b)) {
            task->writes_new |= !ti_box_covers(&b->written, box);
            note_written(b, access->buffer, box);
        }
    }
}

/* Reads first, so that a task does not hide the writer that it depends on behind its own write. An update is tracked as
 * a write only, which depends on all that the read would. */
static void track_accesses(ti_task_graph *graph, ti_task *task)
{
    const ti_shape *shape = task->shape;
    uint32_t writes = 0; /* bits: accesses */
    _Static_assert(TACIT_MAX_ACCESSES <= 32, "a bit for each access");
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (shape->access[i].mode == TACIT_READ) {
            track_read(graph, task, tracked_of(graph, shape->access[i].buffer), &shape->footprint[i]);
        } else {
            writes |= (uint32_t)1 << i;
        }
    }
    for (; writes; writes &= writes - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(writes);
        track_write(graph, task, &shape->access[i], &shape->footprint[i]);
    }
}

static void derive_dependencies(ti_task_graph *graph, ti_task *task)
{
    switch (task->kind) {
    case TI_TASK_EXECUTE:
    case TI_TASK_FENCE:
        if (!ti_box_is_empty(&task->shape->range)) {
            track_accesses(graph, task);
            ti_orders_follow(&graph->orders, task, task->id, graph->era.applied, &graph->deps);
        }
        break;
    case TI_TASK_CREATE:
        open_buffer(graph, task->as.create.buffer->slot);
        if (task->as.create.init.memory) {
            const ti_buffer_info *buffer = task->as.create.buffer;
            ti_tracked *b = tracked_of(graph, buffer);
            ti_tracker_write(&b->tracker, &buffer->extent, task->id, &graph->deps);
            note_written(b, buffer, &buffer->extent);
        }
        break;
    case TI_TASK_DESTROY:
        ti_tracker_uses(&tracked_of(graph, task->as.destroy)->tracker, &task->as.destroy->extent, &graph->deps);
        close_buffer(graph, task->as.destroy->slot);
        break;
    case TI_TASK_EPOCH:
    case TI_TASK_HORIZON:
        break;
    case TI_TASK_BRIEF:
        TI_UNREACHABLE(); /* ti_task_graph_add_brief */
    }
}

static void collect_front(void *user, uint64_t id)
{
    ti_deps_add(user, id);
}

static void follow_front(ti_task_graph *graph, ti_task *task)
{
    if (graph->system->record) {
        ti_horizon_each_front(&graph->horizon, collect_front, &graph->deps);
    }
    ti_task_graph_pass_point(graph, task->id, task->kind == TI_TASK_EPOCH);
    graph->horizons++;
}

static void finish(ti_task_graph *graph, ti_task *task)
{
    TI_ASSERT(task->id == 0);
    const ti_shape *was = task->shape;
    task->id = graph->next_id++;
    ti_deps_start(&graph->deps, task->id);
    bool is_point = task->kind == TI_TASK_HORIZON || task->kind == TI_TASK_EPOCH;
    if (is_point) {
        TI_ASSERT(graph->horizon.newest < task->id && graph->era.applied < task->id);
        follow_front(graph, task);
    } else {
        derive_dependencies(graph, task);
        ti_horizon_note(&graph->horizon, task->id, graph->deps.ids.data, graph->deps.ids.count);
    }
    if (graph->forwards) {
        ti_forwards_add(graph->forwards, task, ti_arena_ring_top(&graph->arenas));
    }
    task->deps = (uint32_t)graph->deps.ids.count;
    task->dep = ti_arena_copy(ti_arena_ring_top(&graph->arenas), graph->deps.ids.data, task->deps * sizeof(uint64_t));
    if (is_point) {
        ti_arena_ring_advance(&graph->arenas, task->id);
    }
    ti_task_cycle_note(graph, task, was);
}

/* A horizon, because one is due, or because the cycle that is repeated has one here. */
static const ti_task *make_horizon(ti_task_graph *graph, bool repeats)
{
    uint64_t start = graph->horizon_ns ? ti_clock_ns() : 0;
    ti_task *horizon = ti_task_graph_new(graph, TI_TASK_HORIZON, &ti_horizon_shape);
    if (repeats) {
        ti_task_cycle_take_horizon(graph, horizon);
    } else {
        finish(graph, horizon);
    }
    if (graph->horizon_ns) {
        *graph->horizon_ns += ti_clock_ns() - start;
    }
    return horizon;
}

static bool is_due(ti_task_graph *graph, const ti_task *task)
{
    const ti_horizon *h = &graph->horizon;
    const int nodes = graph->system->num_nodes;
    if (TI_UNLIKELY(graph->anchor.id && ti_anchor_is_met(&graph->anchor, task, ti_horizon_least(h), nodes))) {
        return true;
    }
    if (TI_UNLIKELY(ti_horizon_is_wide(h))) {
        ti_anchor_note_width(&graph->anchor, task, nodes);
    }
    return ti_horizon_is_due(h);
}

/* `out` has a task: add a horizon if one is due. Returns how many there are then. */
static inline size_t with_horizon(ti_task_graph *graph, const ti_task *out[TI_TASK_GRAPH_BATCH])
{
    if (TI_LIKELY(!is_due(graph, out[0]))) {
        return 1;
    }
    out[1] = make_horizon(graph, false);
    return 2;
}

size_t ti_task_graph_add(ti_task_graph *graph, ti_task *task, const ti_task *out[TI_TASK_GRAPH_BATCH])
{
    out[0] = task;
    if (graph->cycle.loop.phase == TI_LOOP_REPEATS && ti_task_cycle_take(graph, task)) {
        out[1] = ti_task_cycle_has_horizon(&graph->cycle) ? make_horizon(graph, true) : NULL;
        return out[1] ? 2 : 1;
    }
    finish(graph, task);
    return with_horizon(graph, out);
}

/* ---- briefs */

/* The buffer of an access. `b` is that of the first one, which nearly always is the only buffer. */
static inline ti_tracked *tracked_by(const ti_task_graph *graph, const ti_shape *form, uint32_t access, ti_tracked *b)
{
    return TI_LIKELY(form->turns == 1) ? b : graph->buffer.data[form->access[access].buffer->slot];
}

static inline bool are_complete(const ti_task_graph *graph, const ti_shape *form)
{
    bool complete = true;
    for (uint32_t turns = form->turns; turns; turns &= turns - 1) {
        complete = complete && is_complete(graph->buffer.data[form->access[__builtin_ctz(turns)].buffer->slot]);
    }
    return complete;
}

static TI_NOINLINE void track_box(ti_task_graph *graph, const ti_brief_desc *what, uint32_t access, ti_tracked *b,
                                  bool writes)
{
    const ti_box box = ti_brief_box(what->corner, what->form->tile_dims, access);
    (writes ? ti_tracker_write_any : ti_tracker_read_any)(&b->tracker, what->tile[access], &box, graph->next_id,
                                                          &graph->deps);
}

/* Reads first, as in track_accesses. */
static inline void track_brief(ti_task_graph *graph, const ti_brief_desc *what)
{
    const ti_shape *form = what->form;
    const uint64_t id = graph->next_id;
    ti_tracked *first = graph->buffer.data[form->access[0].buffer->slot];
    for (uint32_t reads = form->reads & ~form->writes; reads; reads &= reads - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(reads);
        ti_tracked *b = tracked_by(graph, form, i, first);
        if (TI_UNLIKELY(!ti_tracker_read_number(&b->tracker, what->tile[i], id, &graph->deps))) {
            track_box(graph, what, i, b, false);
        }
    }
    for (uint32_t writes = form->writes; writes; writes &= writes - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(writes);
        ti_tracked *b = tracked_by(graph, form, i, first);
        if (TI_UNLIKELY(!ti_tracker_write_number(&b->tracker, what->tile[i], id, &graph->deps))) {
            track_box(graph, what, i, b, true);
        }
    }
}

size_t ti_task_graph_add_brief(ti_task_graph *graph, const ti_brief_desc *what, const ti_task *out[TI_TASK_GRAPH_BATCH])
{
    TI_ASSERT(what->form->may_be_brief && 0 <= what->place && what->place != graph->system->node);
    ti_task_cycle_skip(graph);
    const uint64_t id = graph->next_id;
    const ti_deps *deps = &graph->deps;
    if (!are_complete(graph, what->form) ||
        (graph->forwards && !ti_forwards_pass(graph->forwards, what->form, what->tile, id, what->place))) {
        return 0;
    }
    ti_deps_start(&graph->deps, id);
    track_brief(graph, what);
    graph->next_id++;
    ti_horizon_note(&graph->horizon, id, deps->ids.data, deps->ids.count);
    out[0] = ti_brief_new(what, id, deps->ids.data, deps->ids.count, ti_arena_ring_top(&graph->arenas));
    return with_horizon(graph, out);
}

uint64_t ti_task_graph_round(const ti_task_graph *graph)
{
    const ti_task_cycle *c = &graph->cycle;
    return c->loop.phase == TI_LOOP_REPEATS && c->at == 0 ? c->number : 0;
}

bool ti_task_graph_is_in_loop(const ti_task_graph *graph)
{
    return graph->cycle.loop.phase != TI_LOOP_LOOKS && !graph->cycle.has_waits;
}

void ti_task_graph_pass(ti_task_graph *graph, uint64_t tasks, uint64_t horizons)
{
    ti_task_cycle_pass(&graph->cycle, tasks);
    graph->next_id += tasks;
    graph->horizons += horizons;
}

void ti_task_graph_release(ti_task_graph *graph, uint64_t id)
{
    ti_arena_ring_release(&graph->arenas, id);
}

uint64_t ti_task_graph_horizons(const ti_task_graph *graph)
{
    return graph->horizons;
}

uint64_t ti_task_graph_tasks(const ti_task_graph *graph)
{
    return graph->next_id - 1;
}

uint64_t ti_task_graph_repeated(const ti_task_graph *graph)
{
    return graph->cycle.repeated;
}

size_t ti_task_graph_entries(const ti_task_graph *graph)
{
    size_t sum = 0;
    for (size_t i = 0; i < graph->buffer.count; i++) {
        sum += graph->buffer.data[i] ? graph->buffer.data[i]->tracker.map.count : 0;
    }
    return sum;
}

size_t ti_task_graph_all_entries(const ti_task_graph *graph)
{
    return ti_task_graph_entries(graph) + ti_forwards_entries(graph->forwards);
}

size_t ti_task_graph_arena_bytes(const ti_task_graph *graph)
{
    return ti_arena_ring_bytes(&graph->arenas);
}

void ti_task_graph_time_horizons(ti_task_graph *graph, uint64_t *ns)
{
    graph->horizon_ns = ns;
}
