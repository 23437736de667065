/* The command graph, replay: tasks that find a buffer as it was found before do to it what was done then
 * (plan/version/replay.h).
 *
 * Not replayed: tasks that no other equals, reductions and what reads them, since where results go follows from who
 * read them before; tasks with forwards while others are held, which may hoist; and everything while somebody wants
 * explanations. */
#include "plan/command/impl.h"

void ti_command_replay_begin(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known)
{
    bool can = task->shape->serial && !graph->system->explain && (graph->window.held.count == 0 || task->forwards == 0);
    for (size_t i = 0; i < known->use.count; i++) {
        const ti_command_use *use = &known->use.data[i];
        ti_command_buffer *state = use->state;
        graph->replayed += ti_replay_begin(&state->replay, &state->versions, &state->collectives, task, state->info,
                                           can && !state->reduced.task && !use->reduces);
    }
}

void ti_command_replay_transfers(ti_command_graph *graph, const ti_task *task, ti_command_buffer *state)
{
    const ti_replay_effect *effect = &state->replay.now->effect;
    ti_vec_clear(&graph->transfer.covered);
    for (size_t i = 0; i < effect->collectives; i++) {
        effect->collective[i]->last_use = task->id;
        ti_command_emit_collective(graph, task, state->info, effect->collective[i]);
    }
    ti_command_emit_messages(graph, task, state->info, &effect->outgoing, true);
    ti_command_emit_messages(graph, task, state->info, &effect->incoming, false);
    state->fruitless = effect->moved ? 0 : state->fruitless;
}

void ti_command_replay_record(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    if (use->state->replay.recording) {
        const ti_replay_effect effect = { .reads = use->reads,
                                          .writes = use->writes,
                                          .collective = graph->became.collective.data,
                                          .collectives = graph->became.collective.count,
                                          .outgoing = graph->transfer.outgoing,
                                          .incoming = graph->transfer.incoming,
                                          .moved = graph->became.moved,
                                          .passes = graph->became.passes };
        ti_replay_record(&use->state->replay, task, use->state->info, &effect);
    }
}

void ti_command_replay_end(const ti_task *task, const ti_command_shape *known)
{
    for (size_t i = 0; i < known->use.count; i++) {
        const ti_command_use *use = &known->use.data[i];
        if (use->state->replay.recording && !use->reads.count) { /* without transfers, and not recorded yet */
            const ti_replay_effect effect = { .writes = use->writes, .passes = true };
            ti_replay_record(&use->state->replay, task, use->state->info, &effect);
        }
        ti_replay_end(&use->state->replay, &use->state->versions);
    }
}

bool ti_command_replay_passes(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_command_buffer *state = ti_command_buffer_of(graph, buffer);
    const ti_replay_step *step = task->shape->serial && state->replay.at ? ti_replay_find(&state->replay, task, buffer)
                                                                         : NULL;
    return step && step->effect.passes && state->replay.forgotten == state->collectives.forgotten;
}
