/* The command graph, planning: see impl.h. What this node does for one task, whatever its kind: transfers, then its
 * execution, then reductions, and what the versions say afterwards. With one node there is nothing to send, so no
 * versions are kept. Scheduler thread. */
#include "plan/lookahead/impl.h"

/* ---- transfers */

static void transfer_data(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    ti_command_buffer *state = use->state;
    ti_command_forward_data(graph, task, use);
    if (TI_UNLIKELY(graph->pure.seen_piece.count > 0)) {
        ti_command_look_at_rest(graph, task, state->info);
    }
    ti_transfer_plan(&graph->transfer, &state->versions, use->reads);
    ti_command_note_readers(graph, use);
    if (graph->system->explain) {
        ti_command_note_edges(graph, task, use);
    }
    ti_command_emit_messages(graph, task, state->info, &graph->transfer.outgoing, true);
    ti_command_emit_messages(graph, task, state->info, &graph->transfer.incoming, false);
    ti_command_count_missed(graph, graph->became.missed, &graph->transfer.outgoing, &graph->transfer.incoming);
    ti_command_replay_record(graph, task, use);
}

static void transfer_all(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known)
{
    ti_command_replay_begin(graph, task, known);
    for (size_t i = 0; i < known->use.count && known->use.data[i].reads.count; i++) {
        if (known->use.data[i].state->replay.now) {
            ti_command_replay_transfers(graph, task, &known->use.data[i]);
        } else {
            transfer_data(graph, task, &known->use.data[i]);
        }
    }
}

/* ---- execution */

static void track_pieces(ti_command_graph *graph, const ti_task *task, const ti_command *command)
{
    for (int writes = 0; writes < 2 && graph->system->record; writes++) {
        for (uint32_t p = 0; p < command->as.execute.pieces; p++) {
            for (uint32_t i = 0; i < task->shape->accesses; i++) {
                const ti_footprint *f = &command->as.execute.piece[p].footprint[i];
                if (writes ? ti_access_writes(&task->shape->access[i]) : ti_access_reads(&task->shape->access[i])) {
                    ti_command_track(graph, task->shape->access[i].buffer, f->box, f->boxes, writes);
                }
            }
        }
    }
}

static void emit_execution(ti_command_graph *graph, const ti_task *task, const ti_piece *piece, uint32_t pieces,
                           uint32_t ahead, const ti_piece *whole, const ti_samples *samples)
{
    TI_ASSERT(pieces > 0 && ahead <= pieces);
    ti_command *command = ti_command_new(graph, TI_COMMAND_EXECUTE, task);
    command->as.execute.samples = samples;
    command->as.execute.whole = whole;
    command->as.execute.piece = piece;
    command->as.execute.pieces = pieces;
    command->as.execute.ahead = ahead;
    command->as.execute.window = graph->pure.tiling;
    track_pieces(graph, task, command);
    if (graph->system->record) {
        ti_orders_follow(&graph->orders, task, command->id, graph->era.applied, &graph->deps);
    }
    ti_command_emit(graph, command);
}

/* Whether a task is one piece, whatever its split: on one node, but for what else needs the split. */
static bool is_one_piece(const ti_command_graph *graph, const ti_task *task)
{
    bool reduces = false;
    if (ti_command_is_distributed(graph) || task->kind != TI_TASK_EXECUTE || task->shape->oversubscribe > 1) {
        return false;
    }
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        reduces |= task->shape->access[i].mode == TACIT_REDUCE;
    }
    return !reduces;
}

/* ---- versions after the task */

static void update_versions(const ti_command_use *use)
{
    ti_command_buffer *state = use->state;
    TI_ASSERT(!use->reduces || !use->writes.count);
    TI_ASSERT(use->copies.count == 0 || use->copies.count == use->writes.count);
    if (state->replay.now) {
        TI_ASSERT(!use->reduces || (state->replay.now->effect.given.a == state->reduced.a &&
                                    state->replay.now->effect.given.b == state->reduced.b));
        return;
    }
    if (use->reduces) {
        ti_version_map_set(&state->versions, &state->info->extent, state->reduced.a, state->reduced.b);
        return;
    }
    for (size_t i = 0; i < use->reads.count; i++) {
        ti_version_map_read(&state->versions, use->reads.data[i]);
    }
    for (size_t i = 0; i < use->writes.count; i++) {
        ti_version_map_write_copied(&state->versions, use->writes.data[i],
                                    use->copies.count ? use->copies.data[i] : NULL);
    }
}

/* ---- tasks */

static void fence(ti_command_graph *graph, const ti_task *task)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_FENCE, task);
    for (size_t i = 0; i < task->as.fence.pieces; i++) {
        ti_command_track(graph, task->shape->access[0].buffer, &task->as.fence.piece[i].box, 1, false);
    }
    ti_command_emit(graph, command);
}

static void add_kernel_task(ti_command_graph *graph, const ti_task *task)
{
    if (ti_box_is_empty(&task->shape->range)) {
        return;
    }
    if (is_one_piece(graph, task)) {
        ti_piece *piece = TI_ARENA_ARRAY(ti_command_arena(graph), ti_piece, 1);
        *piece = (ti_piece){ task->shape->range, task->shape->footprint };
        emit_execution(graph, task, piece, 1, 0, NULL, NULL);
        return;
    }
    if (task->kind == TI_TASK_FENCE && !ti_command_is_distributed(graph)) {
        fence(graph, task);
        return;
    }
    if (graph->multicast.starting.count) {
        ti_command_multicast(graph, task);
    }
    if (ti_command_is_distributed(graph) && graph->looked_at != task->id && ti_command_passes_by(graph, task)) {
        return;
    }
    ti_command_shape *known = ti_command_shape_of(graph, task);
    bool overlaps = ti_command_is_distributed(graph) && ti_command_overlap_begin(graph, task, known);
    if (ti_command_is_distributed(graph)) {
        transfer_all(graph, task, known);
    }
    const ti_samples *samples = graph->system->check_pure ? ti_command_samples_of(graph, task, known) : NULL;
    if (task->kind == TI_TASK_FENCE) {
        fence(graph, task);
    } else if (known->own_pieces > 0) {
        uint32_t pieces, ahead = 0;
        const ti_piece *piece = graph->pure.staging ? ti_command_cut_stages(graph, task, known, &pieces, &ahead)
                                : overlaps          ? ti_command_overlap_end(graph, task, known, &pieces, &ahead)
                                                    : ti_command_cut(graph, task, known, &pieces, &ahead);
        const ti_piece *whole = overlaps && piece != known->piece ? known->piece : NULL;
        emit_execution(graph, task, piece, pieces, ahead, whole, samples);
    }
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (task->shape->access[i].mode == TACIT_REDUCE) {
            ti_command_reduce(graph, task, i, known->split);
        }
    }
    if (ti_command_is_distributed(graph)) {
        for (size_t i = 0; i < known->use.count; i++) {
            update_versions(&known->use.data[i]);
        }
        ti_command_replay_end(task, known);
    }
}

/* What is not there on this system is not allocated. */
static size_t state_size(const ti_command_graph *graph)
{
    return graph->system->record              ? sizeof(ti_command_buffer)
           : ti_command_is_distributed(graph) ? offsetof(ti_command_buffer, tracker)
                                              : offsetof(ti_command_buffer, versions);
}

void ti_command_close_buffer(ti_command_graph *graph, uint32_t slot)
{
    TI_ASSERT(slot < graph->buffer.count);
    ti_command_buffer *state = graph->buffer.data[slot];
    if (!state) {
        return;
    }
    if (ti_command_is_distributed(graph)) {
        ti_command_shapes_forget(graph, slot);
        ti_replay_fini(&state->replay);
        ti_discovery_cache_fini(&state->collectives, &graph->collectives);
        ti_version_map_fini(&state->versions);
    }
    if (graph->system->record) {
        ti_tracker_fini(&state->tracker);
    }
    ti_free(state, state_size(graph));
    graph->buffer.data[slot] = NULL;
}

static void create_buffer(ti_command_graph *graph, const ti_task *task)
{
    const ti_buffer_info *info = task->as.create.buffer;
    while (graph->buffer.count <= info->slot) {
        ti_vec_push(&graph->buffer, NULL);
    }
    TI_ASSERT(!graph->buffer.data[info->slot]);
    ti_command_buffer *state = graph->buffer.data[info->slot] = ti_alloc_zero(state_size(graph));
    state->info = info;
    if (ti_command_is_distributed(graph)) {
        ti_version_map_init(&state->versions, &info->extent, graph->system->num_nodes,
                            task->as.create.init.memory && !task->shape->accesses, &graph->evaluated);
        if (task->shape->accesses) { /* every node has its own part of the initial contents, as the access says */
            ti_version_map_write(&state->versions, ti_command_shape_of(graph, task)->holder.data[0]);
        }
    }
    ti_command *command = ti_command_new(graph, TI_COMMAND_CREATE, task);
    if (graph->system->record) {
        ti_tracker_init(&state->tracker, &graph->era);
        ti_command_track(graph, info, &info->extent, task->as.create.init.memory ? 1 : 0, true);
    }
    ti_command_emit(graph, command);
}

static void destroy_buffer(ti_command_graph *graph, const ti_task *task)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_DESTROY, task);
    if (graph->system->record) {
        ti_tracker_uses(&ti_command_buffer_of(graph, task->as.destroy)->tracker, &task->as.destroy->extent,
                        &graph->deps);
    }
    ti_command_close_buffer(graph, task->as.destroy->slot);
    ti_command_emit(graph, command);
}

void ti_command_pass_point(ti_command_graph *graph, const ti_command *point)
{
    TI_ASSERT(graph->newest_point < point->id && point->id < graph->next_id);
    ti_era_apply(&graph->era, point->task->kind == TI_TASK_EPOCH ? point->id : graph->newest_point);
    graph->newest_point = point->id;
    ti_arena_ring_advance(&graph->arenas, point->task->id);
}

static void add_point(ti_command_graph *graph, const ti_task *task)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_EPOCH, task);
    ti_command_emit(graph, command);
    ti_command_pass_point(graph, command);
}

void ti_command_plan(ti_command_graph *graph, const ti_task *task)
{
    ti_vec_push(&graph->planned, task);
    switch (task->kind) {
    case TI_TASK_EXECUTE:
        if (TI_UNLIKELY(graph->pure.seen.count > 0)) {
            ti_command_look_at_planned(graph, task);
        }
        add_kernel_task(graph, task);
        break;
    case TI_TASK_FENCE:
        add_kernel_task(graph, task);
        break;
    case TI_TASK_EPOCH:
    case TI_TASK_HORIZON:
        add_point(graph, task);
        break;
    case TI_TASK_CREATE:
        create_buffer(graph, task);
        break;
    case TI_TASK_DESTROY:
        destroy_buffer(graph, task);
        break;
    case TI_TASK_BRIEF:
        TI_UNREACHABLE(); /* it has become a task */
    }
}
