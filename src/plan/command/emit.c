/* The command graph, emission: see impl.h. Commands, messages and collectives are put into the batch that goes to the
 * next stage, whatever file has planned them.
 *
 * Dependencies between commands are derived only if somebody looks (ti_system::record): what executes is ordered by the
 * instruction graph. Scheduler thread. */
#include "plan/command/impl.h"

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
        ti_tracker *tracker = &ti_command_buffer_of(graph, buffer)->tracker;
        (write ? ti_tracker_write : ti_tracker_read)(tracker, &box[i], graph->deps.self, &graph->deps);
    }
}

static void give_dependencies(ti_command_graph *graph, ti_command *command)
{
    command->deps = (uint32_t)graph->deps.ids.count;
    command->dep = ti_arena_copy(ti_command_arena(graph), graph->deps.ids.data, command->deps * sizeof(uint64_t));
}

void ti_command_emit(ti_command_graph *graph, ti_command *command)
{
    TI_ASSERT(command->id == graph->deps.self && command->id < graph->next_id);
    give_dependencies(graph, command);
    command->joined = graph->pure.staging > 1;
    ti_vec_push(&graph->batch, command);
}

/* ---- transfers */

void ti_command_emit_messages(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                              const ti_messages *pieces, bool send)
{
    if (pieces->count == 0) {
        return;
    }
    ti_arena *arena = ti_command_arena(graph);
    ti_box *box = TI_ARENA_ARRAY(arena, ti_box, pieces->count);
    for (size_t i = 0, end; i < pieces->count; i = end) {
        int peer = pieces->data[i].peer;
        TI_ASSERT(0 <= peer && peer < graph->system->num_nodes && peer != graph->system->node);
        TI_ASSERT(i == 0 || pieces->data[i - 1].peer < peer || graph->multicast.emitting);
        for (end = i; end < pieces->count && pieces->data[end].peer == peer; end++) {
            box[end] = pieces->data[end].box;
        }
        ti_command *command = TI_ARENA_ARRAY(arena, ti_command, 1);
        *command = (ti_command){ .kind = send ? TI_COMMAND_SEND : TI_COMMAND_RECEIVE,
                                 .id = graph->next_id++,
                                 .task = task,
                                 .joined = graph->pure.staging > 1,
                                 .as.transfer = { .buffer = buffer,
                                                  .peer = peer,
                                                  .boxes = (uint32_t)(end - i),
                                                  .box = &box[i],
                                                  .planned = graph->multicast.emitting } };
        if (graph->pure.staging) {
            ti_command_bundle_add(graph, command);
        } else {
            command->as.transfer.counter = ti_command_count_message(graph, peer, send);
        }
        if (TI_UNLIKELY(graph->system->record)) {
            ti_deps_start(&graph->deps, command->id);
            ti_command_track(graph, buffer, &box[i], command->as.transfer.boxes, !send);
            give_dependencies(graph, command);
        }
        ti_vec_push(&graph->batch, command);
        if (TI_UNLIKELY(graph->pure.seen.count > 0) && !send && command->as.transfer.part == 0) {
            ti_command_look_at_message(graph, task);
        }
    }
    if (!send) {
        ti_command_note_late(graph, buffer, box, (uint32_t)pieces->count);
    }
}

void ti_command_emit_collective(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                                const ti_collective *what)
{
    TI_ASSERT(!graph->pure.staging); /* others may wait for it with all they have */
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
    ti_command_note_late(graph, buffer, what->get, what->gets);
    ti_command_emit(graph, command);
    for (uint32_t i = 0; i < what->regions; i++) {
        ti_vec_push(&graph->transfer.covered, what->region[i]);
    }
}
