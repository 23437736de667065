/* The command graph, replay: see impl.h. Tasks that find a buffer as it was found before do to it what was done then
 * (plan/version/replay.h).
 *
 * Not replayed: tasks whose shape comes once; a task with forwards while others are held, since a collective for it may
 * bring what these want, too; and everything while somebody wants explanations. Of reductions, what becomes of the
 * versions is replayed, and what the task reads; how the result comes about is planned each time (reduce.c). Scheduler
 * thread. */
#include "plan/transfer/impl.h"

void ti_command_replay_begin(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known)
{
    bool can = !graph->system->explain && (graph->window.held.count == 0 || task->forwards == 0);
    for (size_t i = 0; i < known->use.count; i++) {
        const ti_command_use *use = &known->use.data[i];
        ti_command_buffer *state = use->state;
        graph->replayed += ti_replay_begin(&state->replay, &state->versions, &state->collectives, task, state->info,
                                           can ? known->serial : 0);
        TI_ASSERT(!state->replay.now || !state->replay.recording);
        TI_ASSERT(state->replay.now || (state->replay.lagging.count == 0 && !state->replay.far));
    }
}

void ti_command_replay_transfers(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    ti_command_buffer *state = use->state;
    const ti_replay_effect *effect = &state->replay.now->effect;
    ti_vec_clear(&graph->transfer.covered);
    for (size_t i = 0; i < effect->collectives; i++) {
        effect->collective[i]->last_use = task->id;
        ti_command_emit_collective(graph, task, state->info, effect->collective[i]);
    }
    ti_command_emit_messages(graph, task, state->info, &effect->outgoing, true);
    ti_command_emit_messages(graph, task, state->info, &effect->incoming, false);
    ti_command_count_missed(graph, effect->missed, &effect->outgoing, &effect->incoming);
    state->fruitless = effect->moved ? 0 : state->fruitless;
    ti_command_note_readers(graph, use);
}

void ti_command_replay_record(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    if (use->state->replay.recording) {
        const ti_replay_effect effect = { .reads = use->reduces ? (ti_holders){ NULL, 0 } : use->reads,
                                          .writes = use->writes,
                                          .copies = use->copies,
                                          .collective = graph->became.collective.data,
                                          .collectives = graph->became.collective.count,
                                          .outgoing = graph->transfer.outgoing,
                                          .incoming = graph->transfer.incoming,
                                          .moved = graph->became.moved,
                                          .passes = graph->became.passes,
                                          .missed = (uint8_t)graph->became.missed };
        ti_replay_record(&use->state->replay, task, use->state->info, &effect);
    }
}

void ti_command_replay_end(const ti_task *task, const ti_command_shape *known)
{
    for (size_t i = 0; i < known->use.count; i++) {
        const ti_command_use *use = &known->use.data[i];
        ti_replay *replay = &use->state->replay;
        if (replay->recording && !use->reads.count) { /* without transfers, and not recorded yet */
            const ti_replay_effect effect = { .writes = use->writes, .copies = use->copies, .passes = true };
            ti_replay_record(replay, task, use->state->info, &effect);
        }
        if (replay->recording && use->reduces) {
            TI_ASSERT(use->state->reduced.task == task->id);
            replay->recording->effect.given = (ti_node_range){ use->state->reduced.a, use->state->reduced.b };
        }
        ti_replay_end(replay, &use->state->versions);
    }
}

bool ti_command_replay_passes(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_command_buffer *state = ti_command_buffer_of(graph, buffer);
    if (!task->shape->serial || !state->replay.at) {
        return false;
    }
    const ti_replay_step *step = ti_replay_find(&state->replay, task, buffer, ti_command_shape_of(graph, task)->serial);
    return step && step->effect.passes && state->replay.forgotten == state->collectives.forgotten;
}
