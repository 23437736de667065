/* The command graph, what all planning ends in: commands, messages, collectives, in the batch that goes to the next
 * stage.
 *
 * Dependencies between commands are derived only if somebody looks (ti_system::record): what executes is ordered by the
 * instruction graph. */
#include "plan/command/impl.h"

#include "base/check.h"

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

/* One message: `boxes` pieces from `first` on. */
static void emit_message(ti_command_graph *graph, const ti_command *like, const ti_message_piece *first, uint32_t boxes)
{
    bool send = like->kind == TI_COMMAND_SEND;
    ti_command *command = TI_ARENA_ARRAY(ti_command_arena(graph), ti_command, 1);
    ti_box *box = TI_ARENA_ARRAY(ti_command_arena(graph), ti_box, boxes);
    TI_ASSERT(boxes > 0 && first->peer != graph->system->node);
    *command = *like;
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
    ti_vec_push(&graph->batch, command);
}

void ti_command_emit_messages(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                              const ti_messages *pieces, bool send)
{
    const ti_command like = { .kind = send ? TI_COMMAND_SEND : TI_COMMAND_RECEIVE,
                              .task = task,
                              .as.transfer.buffer = buffer };
    for (size_t i = 0, end; i < pieces->count; i = end) {
        for (end = i + 1; end < pieces->count && pieces->data[end].peer == pieces->data[i].peer;) {
            end++;
        }
        emit_message(graph, &like, &pieces->data[i], (uint32_t)(end - i));
    }
}

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
