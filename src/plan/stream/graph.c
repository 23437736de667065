/* Stage 3, the instruction graph, from outside and by the kind of commands: see plan/instruction/graph.h and impl.h. */
#include "plan/instruction/staging.h"
#include "plan/stream/impl.h"

/* A kernel often reads its part, what it sends of that, and what it gets from neighbours, and by the next step they
 * have all been written: notes would cost more than readers. */
enum { MAX_UNNOTED = 9 };

ti_instruction_graph *ti_instruction_graph_create(const ti_system *system)
{
    TI_ASSERT(0 < system->memories && system->memories <= TI_MAX_MEMORIES && system->accelerators <= system->devices);
    ti_instruction_graph *graph = TI_NEW(ti_instruction_graph);
    graph->system = system;
    graph->emit.next_id = 1;
    graph->emit.budget.limit = system->memory;
    graph->emit.own = TI_NEW_ARRAY(ti_budget, (size_t)system->memories);
    graph->emit.era.few = MAX_UNNOTED;
    graph->coherent = system->memories > 1;
    ti_arena_ring_init(&graph->emit.arenas);
    ti_follow_init(&graph->follow, system);
    ti_cycle_init(&graph->cycle, system);
    return graph;
}

static void close_buffer(ti_instruction_graph *graph, uint32_t slot)
{
    ti_buffer_state *state = graph->buffer.data[slot];
    if (state) {
        for (size_t i = 0; i < state->place.count; i++) {
            ti_buffer_memory_fini(state->place.data[i]);
            TI_DELETE(state->place.data[i]);
        }
        ti_vec_fini(&state->place);
        ti_sent_drop(&graph->sent, slot);
        graph->emit.changes++;
        if (state->coherence) {
            ti_coherence_fini(state->coherence);
            TI_DELETE(state->coherence);
        }
        TI_DELETE(state);
        graph->buffer.data[slot] = NULL;
    }
}

void ti_instruction_graph_destroy(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        close_buffer(graph, (uint32_t)i);
    }
    ti_vec_fini(&graph->buffer);
    ti_vec_fini(&graph->sent);
    ti_vec_fini(&graph->staged);
    ti_vec_fini(&graph->awaited);
    ti_instruction_bundles_fini(graph);
    ti_instruction_tilings_fini(graph);
    ti_vec_fini(&graph->keeper.kept);
    ti_vec_fini(&graph->keeper.kinds);
    ti_vec_fini(&graph->partial);
    ti_vec_fini(&graph->in_blocks);
    ti_vec_fini(&graph->pairs);
    ti_vec_fini(&graph->copies);
    ti_vec_fini(&graph->window.command);
    ti_vec_fini(&graph->window.piece);
    ti_vec_fini(&graph->window.first_piece);
    ti_strbuf_fini(&graph->refusal.sentence);
    ti_strbuf_fini(&graph->refusal.table);
    ti_vec_fini(&graph->lacking);
    ti_vec_fini(&graph->boxes);
    ti_orders_fini(&graph->orders);
    ti_follow_fini(&graph->follow);
    ti_templates_fini(&graph->templates);
    ti_cycle_fini(&graph->cycle);
    ti_vec_fini(&graph->emit.batch);
    ti_vec_fini(&graph->emit.scratch);
    ti_vec_fini(&graph->emit.overlapping);
    ti_vec_fini(&graph->emit.wants);
    ti_vec_fini(&graph->emit.marks);
    ti_vec_fini(&graph->emit.spills);
    ti_vec_fini(&graph->emit.order);
    for (int m = 0; m < graph->system->memories; m++) {
        ti_budget_fini(&graph->emit.own[m]);
    }
    ti_free(graph->emit.own, (size_t)graph->system->memories * sizeof(*graph->emit.own));
    ti_budget_fini(&graph->emit.budget);
    ti_deps_fini(&graph->emit.deps);
    ti_era_fini(&graph->emit.era);
    ti_arena_ring_fini(&graph->emit.arenas);
    TI_DELETE(graph);
}

/* ---- needs */

void ti_instruction_note_command(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end)
{
    const ti_task *task = command->task;
    switch (command->kind) {
    case TI_COMMAND_EXECUTE:
        ti_instruction_foresee_pieces(graph, command, first, end);
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        ti_instruction_want_transfer(graph, command);
        break;
    case TI_COMMAND_REDUCE:
        if (ti_command_is_root(command)) {
            const ti_buffer_info *buffer = task->shape->access[command->as.reduce.access].buffer;
            ti_need need = { task, (int)command->as.reduce.access };
            ti_instruction_want(graph, need, buffer, &buffer->extent, TI_HOST_MEMORY);
        }
        break;
    case TI_COMMAND_FENCE:
        for (size_t i = 0; i < task->as.fence.pieces; i++) {
            ti_instruction_want(graph, (ti_need){ task, -1 }, task->shape->access[0].buffer,
                                &task->as.fence.piece[i].box, TI_HOST_MEMORY);
        }
        break;
    case TI_COMMAND_COLLECTIVE:
        ti_instruction_want_collective(graph, command);
        break;
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        break;
    }
    ti_instruction_make_room(graph, task, graph->window.staging + graph->window.bundled);
}

/* ---- execution */

/* The reductions of a task follow its execution directly; those of a task that is not executed here may follow that of
 * another one. */
static void compile_execute(ti_instruction_graph *graph, const ti_command *const *command, size_t left, size_t first,
                            size_t end)
{
    ti_vec_clear(&graph->partial);
    ti_vec_clear(&graph->staged);
    for (size_t i = 1; i < left && command[i]->kind == TI_COMMAND_REDUCE && command[i]->task == command[0]->task; i++) {
        ti_instruction_stage(graph, command[i], first, end);
    }
    ti_instruction_compile_pieces(graph, command[0], first, end);
}

/* ---- fences, buffers, epochs */

/* One piece between a buffer's host memory and the program's. */
static uint64_t copy_piece(ti_instruction_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                           const ti_user_copy *user, const ti_local_piece *piece, bool out)
{
    int place = ti_instruction_place_in(graph, buffer, &piece->box, TI_HOST_MEMORY);
    if (out) {
        ti_instruction_make_fresh(graph, task, buffer, &piece->box, place);
    }
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, task);
    ti_place inside = ti_instruction_place(graph, buffer, &piece->box, place);
    ti_place outside = { .user = user->memory, .whole = piece->whole };
    copy->as.copy.from = out ? inside : outside;
    copy->as.copy.to = out ? outside : inside;
    copy->as.copy.box = piece->box;
    copy->as.copy.elem_size = buffer->elem_size;
    ti_instruction_touch(graph, buffer, &piece->box, place, !out);
    ti_emit(&graph->emit, copy);
    return copy->id;
}

static void copy_pieces(ti_instruction_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                        const ti_user_copy *user, bool out)
{
    ti_vec_clear(&graph->copies);
    for (size_t i = 0; i < user->pieces; i++) {
        ti_vec_push(&graph->copies, copy_piece(graph, task, buffer, user, &user->piece[i], out));
    }
    if (!user->signal) {
        return;
    }
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_FENCE, task);
    instruction->as.fence.signal = user->signal;
    ti_deps_add_all(&graph->emit.deps, graph->copies.data, graph->copies.count);
    ti_emit(&graph->emit, instruction);
}

void ti_instruction_open_buffer(ti_instruction_graph *graph, const ti_task *task)
{
    const ti_buffer_info *info = task->as.create.buffer;
    while (graph->buffer.count <= info->slot) {
        ti_vec_push(&graph->buffer, NULL);
    }
    TI_ASSERT(!graph->buffer.data[info->slot]);
    ti_buffer_state *state = TI_NEW(ti_buffer_state);
    graph->buffer.data[info->slot] = state;
    state->info = info;
    for (size_t i = 0; i < task->as.create.init.pieces; i++) {
        ti_instruction_make_room(graph, task, ti_bytes_of(info, &task->as.create.init.piece[i].box));
    }
    state->place.capacity = (size_t)graph->system->memories; /* nearly always all there will be */
    state->place.data = TI_NEW_ARRAY(ti_buffer_memory *, state->place.capacity);
    for (int m = 0; m < graph->system->memories; m++) {
        ti_instruction_add_place(graph, state, m);
    }
}

void ti_instruction_fill_buffer(ti_instruction_graph *graph, const ti_task *task)
{
    const ti_buffer_info *info = task->as.create.buffer;
    const ti_user_copy *init = &task->as.create.init;
    for (size_t i = 0; i < init->pieces; i++) {
        ti_buffer_memory_ensure(ti_instruction_memory(graph, info, TI_HOST_MEMORY), &graph->emit, task, info,
                                &init->piece[i].box);
    }
    copy_pieces(graph, task, info, init, false);
}

static void compile_destroy(ti_instruction_graph *graph, const ti_command *command)
{
    const ti_buffer_info *info = command->task->as.destroy;
    ti_buffer_state *state = ti_instruction_buffer(graph, info);
    for (size_t i = 0; i < state->place.count; i++) {
        ti_buffer_memory_release(state->place.data[i], &graph->emit, command->task, info);
    }
    close_buffer(graph, info->slot);
}

size_t ti_instruction_compile(ti_instruction_graph *graph, size_t index)
{
    const ti_window *w = &graph->window;
    const ti_command *const *command = &w->command.data[index];
    size_t first = w->first_piece.data[index];
    size_t end = index + 1 < w->command.count ? w->first_piece.data[index + 1] : w->piece.count;
    TI_ASSERT(index < w->command.count && first <= end && end <= w->piece.count);
    if (command[0]->kind == TI_COMMAND_EXECUTE && command[0]->as.execute.window) {
        const size_t tiled = ti_instruction_compile_tiles(graph, index);
        if (tiled) {
            return tiled;
        }
    }
    switch (command[0]->kind) {
    case TI_COMMAND_EXECUTE:
        compile_execute(graph, command, w->command.count - index, first, end);
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        if (command[0]->as.transfer.bundle) {
            ti_instruction_compile_part(graph, command[0]);
            break;
        }
        return ti_instruction_compile_transfers(graph, index);
    case TI_COMMAND_REDUCE:
        ti_instruction_compile_reduce(graph, command[0]);
        break;
    case TI_COMMAND_FENCE:
        copy_pieces(graph, command[0]->task, command[0]->task->shape->access[0].buffer, &command[0]->task->as.fence,
                    true);
        break;
    case TI_COMMAND_EPOCH:
        ti_instruction_compile_point(graph, command[0]);
        break;
    case TI_COMMAND_DESTROY:
        compile_destroy(graph, command[0]);
        break;
    case TI_COMMAND_COLLECTIVE:
        ti_instruction_compile_collective(graph, command[0]);
        break;
    case TI_COMMAND_CREATE:
        TI_UNREACHABLE(); /* never waits in the window */
    }
    return 1;
}

void ti_instruction_graph_release(ti_instruction_graph *graph, uint64_t executed)
{
    ti_arena_ring_release(&graph->emit.arenas, executed);
    ti_budget_release(&graph->emit.budget, executed);
    ti_templates_release(&graph->templates, executed);
    ti_cycle_release(&graph->cycle, executed);
    for (int m = 1; m < graph->system->memories; m++) {
        ti_budget_release(&graph->emit.own[m], executed);
    }
}

void ti_instruction_graph_set_results(ti_instruction_graph *graph, uint64_t bytes)
{
    graph->emit.budget.results = bytes;
}

ti_instruction_counts ti_instruction_graph_counts(const ti_instruction_graph *graph)
{
    ti_instruction_counts counts = { graph->emit.next_id - 1,
                                     graph->emit.reallocations,
                                     graph->emit.reallocated_bytes,
                                     0,
                                     ti_arena_ring_bytes(&graph->emit.arenas),
                                     graph->emit.growths,
                                     graph->tiles.tiles,
                                     graph->tiles.replayed,
                                     graph->cycle.repeated };
    for (size_t i = 0; i < graph->buffer.count; i++) {
        for (size_t p = 0; graph->buffer.data[i] && p < graph->buffer.data[i]->place.count; p++) {
            counts.entries += graph->buffer.data[i]->place.data[p]->tracker.map.count;
        }
    }
    return counts;
}
