/* The instruction graph, horizons and epochs: see impl.h. They wait for everything before them without naming it.
 * Scheduler thread. */
#include "plan/instruction/staging.h"
#include "plan/stream/impl.h"

void ti_instruction_compile_point(ti_instruction_graph *graph, const ti_command *command)
{
    ti_instruction_age_staging(graph, command->task);
    ti_instruction *instruction = ti_emit_start(&graph->emit, TI_INSTRUCTION_EPOCH, command->task);
    bool is_horizon = command->task->kind == TI_TASK_HORIZON;
    instruction->as.epoch.is_horizon = is_horizon;
    instruction->as.epoch.barrier = !is_horizon && command->task->as.barrier;
    ti_emit(&graph->emit, instruction);
    /* Horizons of a window in tiles follow each other directly. If one let the one before count, all that comes would
     * wait for the window. (In stages that is right: what the next window sends comes before more of its work.) */
    const bool again = is_horizon && graph->system->latency_tiles && graph->newest_point + 1 == instruction->id;
    if (!again) {
        ti_era_apply(&graph->emit.era, is_horizon ? graph->newest_point : instruction->id);
    }
    TI_ASSERT(graph->newest_point < instruction->id);
    TI_ASSERT(graph->emit.era.applied <= instruction->id);
    graph->newest_point = instruction->id;
    ti_follow_note(&graph->follow, command->task, instruction->id);
    ti_follow_horizon(&graph->follow, graph->emit.era.applied);
    ti_arena_ring_advance(&graph->emit.arenas, command->task->id);
}
