/* The command graph, forwards: what of a task's reads travels as collectives. */
#include "plan/command/impl.h"

/* One part becomes a collective if it fits a pattern. */
static void forward_part(ti_command_graph *graph, const ti_task *task, const ti_command_use *use,
                         const ti_command_part *part, uint32_t index)
{
    ti_command_buffer *state = use->state;
    const ti_forward *f = &part->forward;
    const ti_collective *hoisted = part->stays ? NULL : ti_command_window_hoist(graph, task, f);
    ti_discovery_question question = ti_command_question(task, use, f);
    ti_collective *what;
    ti_verdict verdict = ti_discovery_decide(&graph->collectives, &state->collectives, &question, &what);
    verdict = part->stays && verdict == TI_VERDICT_NEITHER ? TI_VERDICT_FREE : verdict;
    bool moved = verdict == TI_VERDICT_MOVED || (verdict == TI_VERDICT_COLLECTIVE && graph->collectives.again);
    if (moved && ti_discovery_wanted_by_all(&graph->collectives, &question)->count) {
        state->fruitless = 0; /* had this been known before, it would have come by one collective */
        graph->became.moved = true;
    }
    if (verdict == TI_VERDICT_COLLECTIVE) {
        ti_command_emit_collective(graph, task, state->info, what);
        ti_vec_push(&graph->became.collective, what);
    }
    if (state->replay.recording && verdict != TI_VERDICT_FREE && verdict != TI_VERDICT_CAME) {
        graph->became.passes &= ti_command_all_want_all(graph, &question, f);
    }
    if (graph->system->explain) {
        ti_edge_fate fate = { index, f->box, f->boxes, verdict, what, hoisted, TI_PATTERN_NONE };
        if (f->producer == state->reduced.task && !what && !hoisted) {
            fate.combined = state->reduced.untold;
            state->reduced.untold = TI_PATTERN_NONE;
        }
        ti_vec_push(&graph->fates, fate);
    }
}

void ti_command_forward_data(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    ti_vec_clear(&graph->transfer.covered);
    ti_vec_clear(&graph->became.collective);
    ti_vec_clear(&graph->fates);
    graph->became.moved = false;
    graph->became.passes = true;
    for (uint32_t i = 0; i < task->forwards; i++) {
        if (task->forward[i].buffer == use->state->info) {
            ti_command_divide(graph, use, &task->forward[i]);
            for (size_t k = 0; k < graph->parts.count; k++) {
                forward_part(graph, task, use, &graph->parts.data[k], i);
            }
        }
    }
}
