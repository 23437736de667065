/* The command graph, replay: tasks that find a buffer as it was found before do to it what was done then (plan/version/replay.h).
 *
 * Not replayed: tasks that no other equals, reductions and what reads them, since where results go follows from who read them before; tasks with
 * forwards while others are held, which may hoist; and everything while somebody wants explanations. */
#include "plan/command/impl.h"

/* Whether no earlier access of the task is to the same buffer. */
static bool is_first_access(const ti_task *task, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (task->shape->access[i].buffer == task->shape->access[index].buffer) {
            return false;
        }
    }
    return true;
}

static bool reduces(const ti_task *task, const ti_buffer_info *buffer)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (task->shape->access[i].buffer == buffer && task->shape->access[i].mode == TACIT_REDUCE) {
            return true;
        }
    }
    return false;
}

void ti_command_replay_begin(ti_command_graph *graph, const ti_task *task)
{
    bool can = task->shape->serial && !graph->system->explain && (graph->window.held.count == 0 || task->forwards == 0);
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (is_first_access(task, i)) {
            ti_command_buffer *state = ti_command_buffer_of(graph, task->shape->access[i].buffer);
            bool known = ti_replay_begin(&state->replay, &state->versions, &state->collectives, task, state->info,
                                         can && !state->reduced.task && !reduces(task, state->info));
            graph->replayed += known;
        }
    }
}

void ti_command_replay_transfers(ti_command_graph *graph, const ti_task *task, ti_command_buffer *state)
{
    const ti_replay_step *step = state->replay.now;
    ti_vec_clear(&graph->transfer.covered);
    for (size_t i = 0; i < step->collectives; i++) {
        step->collective[i]->last_use = task->id;
        ti_command_emit_collective(graph, task, state->info, step->collective[i]);
    }
    ti_command_emit_messages(graph, task, state->info, &step->outgoing, true);
    ti_command_emit_messages(graph, task, state->info, &step->incoming, false);
    state->vain = step->moved ? 0 : state->vain;
}

void ti_command_replay_learn(ti_command_graph *graph, const ti_task *task, ti_command_buffer *state)
{
    if (!state->replay.lesson) {
        return;
    }
    const ti_replay_lesson lesson = { .task = task,
                                      .buffer = state->info,
                                      .holder = ti_command_shape_of(graph, task)->holder.data,
                                      .collective = graph->became.collective.data,
                                      .collectives = graph->became.collective.count,
                                      .outgoing = &graph->transfer.outgoing,
                                      .incoming = &graph->transfer.incoming,
                                      .moved = graph->became.moved,
                                      .passes = graph->became.passes };
    ti_replay_learn(&state->replay, &lesson);
}

/* A buffer that is not read has no transfers, and has not been learnt yet. */
static void learn_writes(ti_command_graph *graph, const ti_task *task, ti_command_buffer *state)
{
    static const ti_messages none;
    const ti_replay_lesson lesson = { .task = task,
                                      .buffer = state->info,
                                      .holder = ti_command_shape_of(graph, task)->holder.data,
                                      .outgoing = &none,
                                      .incoming = &none,
                                      .passes = true };
    if (state->replay.lesson && !state->replay.lesson->row) {
        ti_replay_learn(&state->replay, &lesson);
    }
}

void ti_command_replay_end(ti_command_graph *graph, const ti_task *task)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (is_first_access(task, i)) {
            ti_command_buffer *state = ti_command_buffer_of(graph, task->shape->access[i].buffer);
            learn_writes(graph, task, state);
            ti_replay_end(&state->replay, &state->versions);
        }
    }
}

bool ti_command_replay_passes(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_command_buffer *state = ti_command_buffer_of(graph, buffer);
    const ti_replay_step *step = task->shape->serial && state->replay.at ? ti_replay_find(&state->replay, task, buffer)
                                                                         : NULL;
    return step && step->passes && state->replay.forgotten == state->collectives.forgotten;
}
