/* Stage 2, the command graph: see graph.h.
 *
 * With one node there is nothing to send, so no versions are kept. Dependencies between commands are derived only if somebody looks
 * (ti_system::record): what executes is ordered by the instruction graph. */
#include "plan/command/impl.h"

#include "base/check.h"

ti_command_graph *ti_command_graph_create(const ti_system *system)
{
    ti_command_graph *graph = TI_NEW(ti_command_graph);
    graph->system = system;
    graph->next_id = 1;
    ti_arena_ring_init(&graph->arenas);
    ti_split_cache_init(&graph->splits, system->node);
    ti_transfer_init(&graph->transfer, system->node);
    ti_discovery_init(&graph->collectives, system->node, system->num_nodes);
    return graph;
}

static bool is_distributed(const ti_command_graph *graph)
{
    return graph->system->num_nodes > 1;
}

static void close_buffer(ti_command_graph *graph, uint32_t slot)
{
    ti_command_buffer *state = graph->buffer.data[slot];
    if (!state) {
        return;
    }
    if (is_distributed(graph)) {
        ti_replay_fini(&state->replay);
        ti_discovery_cache_fini(&state->collectives, &graph->collectives);
        ti_version_map_fini(&state->versions);
    }
    if (graph->system->record) {
        ti_tracker_fini(&state->tracker);
    }
    TI_DELETE(state);
    graph->buffer.data[slot] = NULL;
}

void ti_command_graph_destroy(ti_command_graph *graph)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        close_buffer(graph, (uint32_t)i);
    }
    ti_vec_fini(&graph->buffer);
    ti_vec_fini(&graph->batch);
    ti_vec_fini(&graph->planned);
    ti_vec_fini(&graph->holders);
    ti_vec_fini(&graph->reads);
    ti_command_window_fini(&graph->window);
    ti_vec_fini(&graph->parts);
    ti_vec_fini(&graph->pieces);
    ti_vec_fini(&graph->asked);
    ti_vec_fini(&graph->fates);
    ti_vec_fini(&graph->became.collective);
    ti_peer_counters_fini(&graph->sent);
    ti_peer_counters_fini(&graph->received);
    ti_deps_fini(&graph->deps);
    ti_transfer_fini(&graph->transfer);
    ti_discovery_fini(&graph->collectives);
    ti_split_cache_fini(&graph->splits);
    ti_orders_fini(&graph->orders);
    ti_arena_ring_fini(&graph->arenas);
    TI_DELETE(graph);
}

ti_command_buffer *ti_command_buffer_of(ti_command_graph *graph, const ti_buffer_info *buffer)
{
    TI_ASSERT(buffer->slot < graph->buffer.count && graph->buffer.data[buffer->slot]);
    return graph->buffer.data[buffer->slot];
}

/* ---- commands and their dependencies */

ti_command *ti_command_new(ti_command_graph *graph, ti_command_kind kind, const ti_task *task)
{
    ti_command *command = TI_ARENA_NEW(ti_command_arena(graph), ti_command);
    command->kind = kind;
    command->task = task;
    command->id = graph->next_id++;
    ti_deps_start(&graph->deps, command->id);
    return command;
}

void ti_command_track(ti_command_graph *graph, const ti_buffer_info *buffer, const ti_box *box, uint32_t count,
                      bool write)
{
    for (uint32_t i = 0; graph->system->record && i < count; i++) {
        if (write) {
            ti_tracker_write(&ti_command_buffer_of(graph, buffer)->tracker, &box[i], graph->deps.self, &graph->deps);
        } else {
            ti_tracker_read(&ti_command_buffer_of(graph, buffer)->tracker, &box[i], graph->deps.self, &graph->deps);
        }
    }
}

void ti_command_emit(ti_command_graph *graph, ti_command *command)
{
    command->deps = (uint32_t)graph->deps.ids.count;
    command->dep = ti_arena_copy(ti_command_arena(graph), graph->deps.ids.data, command->deps * sizeof(uint64_t));
    ti_vec_push(&graph->batch, command);
}

/* ---- transfers */

uint64_t ti_command_count_message(ti_command_graph *graph, int peer, bool send)
{
    return ti_peer_count(send ? &graph->sent : &graph->received, peer, graph->system->num_nodes);
}

static size_t end_of_message(const ti_messages *pieces, size_t first)
{
    int peer = pieces->data[first].peer;
    size_t end = first + 1;
    while (end < pieces->count && pieces->data[end].peer == peer) {
        end++;
    }
    return end;
}

/* One message: the pieces from `first` on, of which `box` has room for the boxes. */
static void emit_message(ti_command_graph *graph, ti_command *command, const ti_message_piece *first, ti_box *box,
                         uint32_t boxes)
{
    bool send = command->kind == TI_COMMAND_SEND;
    command->id = graph->next_id++;
    for (uint32_t i = 0; i < boxes; i++) {
        box[i] = first[i].box;
    }
    command->as.transfer.peer = first->peer;
    command->as.transfer.counter = ti_command_count_message(graph, first->peer, send);
    command->as.transfer.box = box;
    command->as.transfer.boxes = boxes;
    if (TI_UNLIKELY(graph->system->record)) {
        ti_deps_start(&graph->deps, command->id);
        ti_command_track(graph, command->as.transfer.buffer, box, boxes, !send);
        command->deps = (uint32_t)graph->deps.ids.count;
        command->dep = ti_arena_copy(ti_command_arena(graph), graph->deps.ids.data, command->deps * sizeof(uint64_t));
    }
    graph->batch.data[graph->batch.count++] = command;
}

/* Room for commands is taken for a few at a time: there may be as many as there are nodes. */
void ti_command_emit_messages(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                              const ti_messages *pieces, bool send)
{
    enum { AT_ONCE = 32 };
    const ti_command like = { .kind = send ? TI_COMMAND_SEND : TI_COMMAND_RECEIVE,
                              .task = task,
                              .as.transfer.buffer = buffer };
    ti_command *command = NULL;
    ti_box *box = NULL;
    size_t commands = 0, boxes = 0;
    ti_vec_reserve(&graph->batch, graph->batch.count + pieces->count);
    for (size_t i = 0, end; i < pieces->count; i = end, commands--) {
        end = end_of_message(pieces, i);
        if (commands == 0) {
            commands = TI_MIN(pieces->count - i, (size_t)AT_ONCE);
            command = TI_ARENA_ARRAY(ti_command_arena(graph), ti_command, commands);
        }
        if (boxes < end - i) {
            boxes = TI_MAX(commands, end - i);
            box = TI_ARENA_ARRAY(ti_command_arena(graph), ti_box, boxes);
        }
        *command = like;
        emit_message(graph, command++, &pieces->data[i], box, (uint32_t)(end - i));
        box += end - i;
        boxes -= end - i;
    }
}

/* The split of who reads the old contents of a reduced buffer: the root of the tree, alone. */
static ti_split_ref *root_split(ti_command_graph *graph, const ti_split_ref *split)
{
    ti_split_request request = { .range = { { 0, 0, 0 }, { 1, 1, 1 } },
                                 .gran = { 1, 1, 1 },
                                 .nodes = graph->system->num_nodes,
                                 .place = split->node_a,
                                 .oversubscribe = 1 };
    return ti_split_cache_get(&graph->splits, &request);
}

void ti_command_resolve_holders(ti_command_graph *graph, const ti_task *task, ti_split_ref *split)
{
    ti_vec_clear(&graph->holders);
    for (uint32_t i = 0; i < task->accesses; i++) {
        const ti_access *access = &task->access[i];
        ti_split_ref *readers = access->mode == TACIT_REDUCE && access->include_old ? root_split(graph, split) : split;
        for (uint32_t m = 0; m < access->mappers; m++) {
            ti_holder *holder = ti_holder_get(&ti_command_buffer_of(graph, access->buffer)->versions.holders, access, m,
                                              readers);
            ti_vec_push(&graph->holders, ti_holder_ref(holder));
        }
    }
}

void ti_command_drop_holders(ti_command_graph *graph)
{
    for (size_t i = 0; i < graph->holders.count; i++) {
        ti_holder_unref(graph->holders.data[i]);
    }
    ti_vec_clear(&graph->holders);
}

/* The holders of all reads of `buffer` by the task. */
void ti_command_collect_reads(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    size_t first = 0; /* of the access's holders */
    ti_vec_clear(&graph->reads);
    for (uint32_t i = 0; i < task->accesses; first += task->access[i++].mappers) {
        const ti_access *access = &task->access[i];
        for (uint32_t m = 0; access->buffer == buffer && ti_access_needs_old(access) && m < access->mappers; m++) {
            ti_vec_push(&graph->reads, graph->holders.data[first + m]);
        }
    }
}

/* ---- collectives */

void ti_command_emit_collective(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                                const ti_collective *what)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_COLLECTIVE, task);
    command->as.collective.buffer = buffer;
    command->as.collective.what = what;
    command->as.collective.sequence = graph->collectives.sequence++;
    command->as.collective.get = what->get;
    command->as.collective.gets = what->gets;
    command->as.collective.give = what->give;
    command->as.collective.gives = what->gives;
    ti_command_track(graph, buffer, what->give, what->gives, false);
    ti_command_track(graph, buffer, what->get, what->gets, true);
    ti_command_emit(graph, command);
    for (uint32_t i = 0; i < what->regions; i++) {
        ti_vec_push(&graph->transfer.covered, what->region[i]);
    }
}

static void note_edges(ti_command_graph *graph, const ti_task *task, ti_command_buffer *state)
{
    const ti_edge_scene scene = { .node = graph->system->node,
                                  .task = task,
                                  .buffer = state->info,
                                  .fates = &graph->fates,
                                  .transfer = &graph->transfer,
                                  .map = &state->versions,
                                  .read = graph->reads.data,
                                  .reads = graph->reads.count };
    ti_edges_note(graph->system->explain, &scene);
}

static void transfer_data(ti_command_graph *graph, const ti_task *task)
{
    for (uint32_t i = 0; i < task->accesses; i++) {
        if (ti_task_is_first_read(task, i)) {
            const ti_buffer_info *buffer = task->access[i].buffer;
            ti_command_buffer *state = ti_command_buffer_of(graph, buffer);
            if (state->replay.now) {
                ti_command_replay_transfers(graph, task, state);
                continue;
            }
            ti_command_collect_reads(graph, task, buffer);
            ti_command_forward_data(graph, task, state);
            ti_transfer_plan(&graph->transfer, &state->versions, graph->reads.data, graph->reads.count);
            if (state->reduced.task) {
                ti_command_note_readers(graph, task, state);
            }
            if (graph->system->explain) {
                note_edges(graph, task, state);
            }
            ti_command_emit_messages(graph, task, buffer, &graph->transfer.outgoing, true);
            ti_command_emit_messages(graph, task, buffer, &graph->transfer.incoming, false);
            ti_command_replay_learn(graph, task, state);
        }
    }
}

/* ---- execution */

/* On one node, or on a task's own, the chunk is the range, whose footprints the task graph has. */
static void fill_piece(ti_command_graph *graph, const ti_task *task, const ti_box *chunk, ti_piece *piece)
{
    piece->chunk = *chunk;
    if (ti_box_equal(chunk, &task->range)) {
        piece->footprint = task->footprint;
        return;
    }
    ti_footprint *footprint = TI_ARENA_ARRAY(ti_command_arena(graph), ti_footprint, task->accesses);
    for (uint32_t i = 0; i < task->accesses; i++) {
        ti_footprint_fill(&footprint[i], &task->access[i], chunk, ti_command_arena(graph));
    }
    piece->footprint = footprint;
}

static void track_pieces(ti_command_graph *graph, const ti_task *task, const ti_command *command)
{
    for (int writes = 0; writes < 2 && graph->system->record; writes++) {
        for (uint32_t p = 0; p < command->as.execute.pieces; p++) {
            for (uint32_t i = 0; i < task->accesses; i++) {
                const ti_footprint *f = &command->as.execute.piece[p].footprint[i];
                if (writes ? ti_access_writes(&task->access[i]) : ti_access_reads(&task->access[i])) {
                    ti_command_track(graph, task->access[i].buffer, f->box, f->boxes, writes);
                }
            }
        }
    }
}

static void emit_execution(ti_command_graph *graph, const ti_task *task, const ti_piece *piece, int64_t pieces)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_EXECUTE, task);
    command->as.execute.piece = piece;
    command->as.execute.pieces = (uint32_t)pieces;
    track_pieces(graph, task, command);
    if (graph->system->record) {
        ti_orders_follow(&graph->orders, task, command->id, graph->era.applied, &graph->deps);
    }
    ti_command_emit(graph, command);
}

static void execute(ti_command_graph *graph, const ti_task *task, const ti_split_ref *split)
{
    if (split->own_count == 0) {
        return;
    }
    ti_piece *piece = TI_ARENA_ARRAY(ti_command_arena(graph), ti_piece, (size_t)split->own_count);
    for (int64_t c = 0; c < split->own_count; c++) {
        ti_box chunk = ti_split_chunk(&split->split, split->own_first + c);
        fill_piece(graph, task, &chunk, &piece[c]);
    }
    emit_execution(graph, task, piece, split->own_count);
}

/* Whether a task is one piece, whatever its split: on one node, but for what else needs the split. */
static bool is_one_piece(const ti_command_graph *graph, const ti_task *task)
{
    bool reduces = false;
    for (uint32_t i = 0; i < task->accesses; i++) {
        reduces |= task->access[i].mode == TACIT_REDUCE;
    }
    return !is_distributed(graph) && task->kind == TI_TASK_EXECUTE && task->oversubscribe == 1 && !reduces;
}

static void execute_whole(ti_command_graph *graph, const ti_task *task)
{
    ti_piece *piece = TI_ARENA_ARRAY(ti_command_arena(graph), ti_piece, 1);
    *piece = (ti_piece){ task->range, task->footprint };
    emit_execution(graph, task, piece, 1);
}

/* ---- versions after the task */

static void update_versions(ti_command_graph *graph, const ti_task *task)
{
    for (int writes = 0; writes < 2; writes++) {
        size_t first = 0; /* of the access's holders */
        for (uint32_t i = 0; i < task->accesses; first += task->access[i++].mappers) {
            const ti_access *access = &task->access[i];
            ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
            ti_version_map *versions = &state->versions;
            if (state->replay.now) {
                continue;
            }
            if (writes && access->mode == TACIT_REDUCE) {
                ti_version_map_set(versions, &access->buffer->extent, state->reduced.a, state->reduced.b);
            }
            for (uint32_t m = 0; (writes ? ti_access_writes(access) : ti_access_reads(access)) && m < access->mappers;
                 m++) {
                if (writes) {
                    ti_version_map_write(versions, graph->holders.data[first + m]);
                } else {
                    ti_version_map_read(versions, graph->holders.data[first + m]);
                }
            }
        }
    }
}

/* ---- tasks */

ti_split_ref *ti_command_split(ti_command_graph *graph, const ti_task *task)
{
    ti_split_request request = {
        .range = task->range,
        .gran = { task->gran[0], task->gran[1], task->gran[2] },
        .nodes = graph->system->num_nodes,
        .place = task->place,
        .oversubscribe = task->oversubscribe,
        .two_dimensional = task->two_dimensional,
        .grid = { task->grid[0], task->grid[1], task->grid[2] },
        .weights = task->weights,
    };
    return ti_split_cache_get(&graph->splits, &request);
}

static void fence(ti_command_graph *graph, const ti_task *task)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_FENCE, task);
    for (size_t i = 0; i < task->as.fence.pieces; i++) {
        ti_command_track(graph, task->access[0].buffer, &task->as.fence.piece[i].box, 1, false);
    }
    ti_command_emit(graph, command);
}

static void add_kernel_task(ti_command_graph *graph, const ti_task *task)
{
    if (ti_box_is_empty(&task->range)) {
        return;
    }
    if (is_one_piece(graph, task)) {
        execute_whole(graph, task);
        return;
    }
    ti_split_ref *split = ti_command_split(graph, task);
    split->refs++;
    if (is_distributed(graph)) {
        if (!ti_command_replay_begin(graph, task)) {
            ti_command_resolve_holders(graph, task, split);
        }
        transfer_data(graph, task);
    }
    if (task->kind == TI_TASK_FENCE) {
        fence(graph, task);
    } else {
        execute(graph, task, split);
    }
    for (uint32_t i = 0; i < task->accesses; i++) {
        if (task->access[i].mode == TACIT_REDUCE) {
            ti_command_reduce(graph, task, i, split);
        }
    }
    if (is_distributed(graph)) {
        update_versions(graph, task);
        ti_command_replay_end(graph, task);
        ti_command_drop_holders(graph);
    }
    split->refs--;
}

/* Every node has its own part of the initial contents, as the task's access says. */
static void set_owners(ti_command_graph *graph, const ti_task *task, ti_version_map *versions)
{
    ti_split_ref *split = ti_command_split(graph, task);
    ti_version_map_write(versions, ti_holder_get(&versions->holders, &task->access[0], 0, split));
}

static void create_buffer(ti_command_graph *graph, const ti_task *task)
{
    const ti_buffer_info *info = task->as.create.buffer;
    while (graph->buffer.count <= info->slot) {
        ti_vec_push(&graph->buffer, NULL);
    }
    TI_ASSERT(!graph->buffer.data[info->slot]);
    ti_command_buffer *state = graph->buffer.data[info->slot] = TI_NEW(ti_command_buffer);
    state->info = info;
    if (is_distributed(graph)) {
        ti_version_map_init(&state->versions, &info->extent, graph->system->num_nodes,
                            task->as.create.init.memory && !task->accesses, &graph->evaluated);
        if (task->accesses) {
            set_owners(graph, task, &state->versions);
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
    close_buffer(graph, task->as.destroy->slot);
    ti_command_emit(graph, command);
}

static void add_point(ti_command_graph *graph, const ti_task *task)
{
    ti_command *command = ti_command_new(graph, TI_COMMAND_EPOCH, task);
    ti_command_emit(graph, command);
    ti_era_apply(&graph->era, task->kind == TI_TASK_EPOCH ? command->id : graph->newest_point);
    graph->newest_point = command->id;
    ti_arena_ring_advance(&graph->arenas, task->id);
}

void ti_command_plan(ti_command_graph *graph, const ti_task *task)
{
    ti_vec_push(&graph->planned, task);
    switch (task->kind) {
    case TI_TASK_EXECUTE:
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
    }
}

ti_command_batch ti_command_graph_add(ti_command_graph *graph, const ti_task *const *task, size_t count)
{
    ti_vec_clear(&graph->batch);
    ti_vec_clear(&graph->planned);
    for (size_t i = 0; i < count; i++) {
        ti_command_window_add(graph, task[i]);
    }
    return (ti_command_batch){ graph->batch.data, graph->batch.count, graph->planned.data, graph->planned.count };
}

void ti_command_graph_release(ti_command_graph *graph, uint64_t executed)
{
    ti_arena_ring_release(&graph->arenas, executed);
    ti_discovery_release(&graph->collectives, executed);
}

ti_command_counts ti_command_graph_counts(const ti_command_graph *graph)
{
    ti_command_counts counts = { graph->next_id - 1, graph->evaluated, 0, ti_arena_ring_bytes(&graph->arenas),
                                 graph->replayed };
    for (size_t i = 0; i < graph->buffer.count; i++) {
        if (graph->buffer.data[i] && is_distributed(graph)) {
            counts.entries += graph->buffer.data[i]->versions.index.count;
        }
    }
    return counts;
}

/* The versions of a buffer, up to date; NULL if the slot is empty or there are none. */
static ti_version_map *settled_versions(ti_command_graph *graph, size_t slot)
{
    ti_command_buffer *state = graph->buffer.data[slot];
    if (!state || !is_distributed(graph)) {
        return NULL;
    }
    ti_replay_settle(&state->replay, &state->versions);
    return &state->versions;
}

uint64_t ti_command_graph_digest(ti_command_graph *graph)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_version_map *map = settled_versions(graph, i);
        digest = map ? ti_hash64(digest ^ ti_version_map_digest(map)) : digest;
    }
    return digest;
}

bool ti_command_graph_is_valid(ti_command_graph *graph)
{
    bool valid = true;
    for (size_t i = 0; i < graph->buffer.count; i++) {
        ti_version_map *map = settled_versions(graph, i);
        valid = valid && (!map || ti_version_map_is_valid(map));
    }
    return valid;
}
