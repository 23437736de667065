/* The command graph, forwards: see impl.h. Which of a task's reads travel as collectives; the rest is left to messages.
 * Discovery (plan/version/discovery.h) decides; here it is asked, its collectives are emitted, and the versions learn
 * of them. Scheduler thread. */
#include "plan/transfer/impl.h"

enum { MAX_COLLECTIVES = 4 }; /* of one part; what they leave goes by messages */

/* Verdicts that another mapper, split or setting would change. */
static const bool is_curable[TI_VERDICTS] = {
    [TI_VERDICT_MIXED] = true,         [TI_VERDICT_OVERLAP] = true,      [TI_VERDICT_PARTITION] = true,
    [TI_VERDICT_SEVERAL_READS] = true, [TI_VERDICT_GROUP_CHUNKS] = true, [TI_VERDICT_GROUP_GRID] = true,
    [TI_VERDICT_GROUP_BORDERS] = true
};

/* Ask again for what the collective leaves, which may be nothing. */
static void leave(ti_command_graph *graph, const ti_collective *what, ti_discovery_question *question)
{
    ti_vec_clear(&graph->asked);
    for (uint32_t i = 0; i < question->boxes; i++) {
        ti_vec_push(&graph->asked, question->box[i]);
    }
    for (uint32_t i = 0; i < what->regions; i++) {
        ti_boxes_subtract(&graph->asked, &what->region[i]);
    }
    TI_ASSERT(ti_boxes_volume(graph->asked.data, graph->asked.count) <
              ti_boxes_volume(question->box, question->boxes)); /* it has brought some of it */
    question->boxes = (uint32_t)graph->asked.count;
    question->box = ti_arena_copy(ti_command_arena(graph), graph->asked.data, graph->asked.count * sizeof(ti_box));
}

/* Where all nodes want what others have read before, one collective before those would have been better. */
static void learn(ti_command_graph *graph, const ti_command_use *use, const ti_discovery_question *question,
                  ti_verdict verdict)
{
    bool moved = verdict == TI_VERDICT_MOVED || (verdict == TI_VERDICT_COLLECTIVE && graph->collectives.again);
    if (moved && ti_discovery_wanted_by_all(&graph->collectives, question)->count) {
        use->state->fruitless = 0;
        graph->became.moved = true;
    }
}

/* The first row about a part: what becomes of the rest of it, and whether a reduction has brought it. */
static void tell(ti_edge_fate *fate, const ti_forward *f, ti_command_buffer *state, ti_verdict rest)
{
    fate->rest = rest;
    if (f->producer == state->reduced.task && !fate->what && !fate->hoisted) {
        fate->combined = state->reduced.untold;
        state->reduced.untold = TI_PATTERN_NONE;
    }
}

/* One part becomes collectives as far as it fits patterns. */
static void forward_part(ti_command_graph *graph, const ti_task *task, const ti_command_use *use,
                         const ti_command_part *part, uint32_t index)
{
    ti_command_buffer *state = use->state;
    const ti_forward *f = &part->forward;
    const ti_collective *hoisted = part->stays ? NULL : ti_command_window_hoist(graph, task, f);
    const ti_discovery_question whole = ti_command_question(task, use, f);
    ti_discovery_question question = whole;
    ti_edge_fate fate = { .forward = index, .box = f->box, .boxes = f->boxes, .hoisted = hoisted };
    size_t told = graph->fates.count;
    ti_collective *what;
    ti_verdict verdict = TI_VERDICT_FREE;
    for (int made = 0; made < MAX_COLLECTIVES && question.boxes; made++) {
        verdict = ti_discovery_decide(&graph->collectives, &state->collectives, &question, &what);
        TI_ASSERT((verdict == TI_VERDICT_COLLECTIVE) == (what != NULL));
        verdict = part->stays && verdict == TI_VERDICT_NEITHER ? TI_VERDICT_FREE : verdict;
        learn(graph, use, &question, verdict);
        if (made == 0 && state->replay.recording && verdict != TI_VERDICT_FREE && verdict != TI_VERDICT_CAME) {
            graph->became.passes &= ti_command_all_want_all(graph, &whole, f);
        }
        if (graph->system->explain && (made == 0 || what)) {
            fate.verdict = verdict;
            fate.what = what;
            fate.more = made > 0;
            ti_vec_push(&graph->fates, fate);
        }
        if (!what) {
            graph->became.missed = made == 0 && is_curable[verdict] ? verdict : graph->became.missed;
            break;
        }
        ti_command_emit_collective(graph, task, state->info, what);
        ti_vec_push(&graph->became.collective, what);
        leave(graph, what, &question);
        verdict = question.boxes ? TI_VERDICT_SEVERAL_READS : TI_VERDICT_FREE;
    }
    if (graph->system->explain) {
        TI_ASSERT(told < graph->fates.count);
        tell(&graph->fates.data[told], f, state, verdict);
    }
}

/* Without collectives nobody looks for them. All nodes read the same: that would be one. */
static bool is_missed(const ti_command_graph *graph, const ti_command_use *use)
{
    bool constant = false;
    for (size_t i = 0; i < use->reads.count && graph->system->collectives == TI_COLLECTIVES_OFF; i++) {
        const ti_holder *reads = use->reads.data[i];
        constant |= reads->constant && reads->split->node_b - reads->split->node_a == graph->system->num_nodes;
    }
    return constant;
}

void ti_command_count_missed(ti_command_graph *graph, ti_verdict verdict, const ti_messages *out, const ti_messages *in)
{
    enum { MIN_NODES = 3 }; /* with two, a collective is a message each */
    if (verdict != TI_VERDICT_FREE && graph->system->num_nodes >= MIN_NODES && out->count + in->count) {
        graph->missed.first = graph->missed.times++ ? graph->missed.first : verdict;
    }
}

void ti_command_forward_data(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    ti_vec_clear(&graph->transfer.covered);
    ti_vec_clear(&graph->became.collective);
    ti_vec_clear(&graph->fates);
    graph->became.moved = false;
    graph->became.passes = true;
    graph->became.missed = is_missed(graph, use) ? TI_VERDICT_OFF : TI_VERDICT_FREE;
    for (uint32_t i = 0; i < task->forwards; i++) {
        if (task->forward[i].buffer == use->state->info) {
            ti_command_divide(graph, use, &task->forward[i]);
            for (size_t k = 0; k < graph->parts.count; k++) {
                forward_part(graph, task, use, &graph->parts.data[k], i);
            }
        }
    }
}
