/* The instruction graph, reductions in blocks: see staging.h. The runs of blocks.c each leave some subtrees in slots. A
 * stack puts these together, run by run; the pairs of slots that it folds become a REDUCE instruction.
 *
 * Results of other nodes all belong to the last subtree that begins on this node. So a second REDUCE waits for them,
 * and messages with earlier subtrees leave without waiting. Scheduler thread. */
#include "plan/instruction/staging.h"

/* ---- pairs */

static void push(ti_instruction_graph *graph, ti_block_stack *stack, ti_block_span span, uint32_t slot)
{
    ti_slot_pair pair;
    ti_block_stack_push(stack, span, slot);
    while (ti_block_stack_fold(stack, &pair.into, &pair.from)) {
        ti_vec_push(&graph->pairs, pair);
    }
}

static void push_runs(ti_instruction_graph *graph, ti_block_stack *stack)
{
    ti_block_span left[TI_BLOCK_STACK];
    for (size_t p = 0; p < graph->in_blocks.count; p++) {
        const ti_block_piece *piece = &graph->in_blocks.data[p];
        for (uint32_t r = 0; r < piece->runs; r++) {
            uint32_t count = ti_block_subtrees(piece->run[r], stack->blocks, left);
            for (uint32_t i = 0; i < count; i++) {
                push(graph, stack, left[i], piece->slots.first + piece->run_slot[r] + i);
            }
        }
    }
}

static void push_received(ti_instruction_graph *graph, ti_block_stack *stack, const ti_block_place *place,
                          uint32_t slot)
{
    for (int i = 0; i < place->receives; i++) {
        for (uint32_t k = 0; k < place->receive[i].spans; k++) {
            push(graph, stack, place->receive[i].span[k], slot++);
        }
    }
}

/* ---- instructions */

/* The messages of a reduction and its two REDUCEs; 0: there is none. */
typedef struct ids {
    uint64_t received[TI_BLOCK_BITS];
    uint64_t own, all;
    uint64_t sent[TI_BLOCK_BITS + 1]; /* and the last REDUCE */
    int sends;
} ids;

static void emit_receives(ti_instruction_graph *graph, const ti_staging *s, const ti_block_place *place, ids *out)
{
    uint32_t at = s->own_slots, slot[TI_BLOCK_BITS];
    for (int i = 0; i < place->receives; i++) {
        for (uint32_t k = 0; k < place->receive[i].spans; k++) {
            slot[k] = at++;
        }
        out->received[i] = ti_instruction_exchange_slots(graph, s, &place->receive[i], false, slot, 0);
    }
    TI_ASSERT(at == s->slots);
}

/* Messages [first, end); the stack's subtrees are those of the messages, one after the other. */
static void emit_sends(ti_instruction_graph *graph, const ti_staging *s, const ti_block_place *place,
                       const ti_block_stack *stack, int end, ids *out)
{
    uint32_t at = 0;
    for (int i = 0; i < end; at += place->send[i++].spans) {
        TI_ASSERT(at + place->send[i].spans <= stack->count && stack->span[at].first == place->send[i].span[0].first);
        if (i >= out->sends) {
            out->sent[i] = ti_instruction_exchange_slots(graph, s, &place->send[i], true, &stack->slot[at],
                                                         out->all ? out->all : out->own);
            out->sends++;
        }
    }
}

/* What the pairs noted since the last call say. */
static uint64_t emit_pairs(ti_instruction_graph *graph, const ti_staging *s, const ti_block_place *place, bool last,
                           const ids *so_far)
{
    ti_instruction *reduce = ti_instruction_start_reduce(graph, s, last && place->own.first == 0,
                                                         s->task->shape->access[s->access].include_old);
    reduce->as.reduce.pairs = (uint32_t)graph->pairs.count;
    reduce->as.reduce.pair = ti_arena_copy(ti_arena_ring_top(&graph->emit.arenas), graph->pairs.data,
                                           graph->pairs.count * sizeof(ti_slot_pair));
    ti_vec_clear(&graph->pairs);
    ti_deps_add_all(&graph->emit.deps, so_far->received, last ? (size_t)place->receives : 0);
    ti_deps_add_all(&graph->emit.deps, graph->partial.data, so_far->own ? 0 : graph->partial.count);
    ti_deps_add(&graph->emit.deps, so_far->own);
    ti_emit(&graph->emit, reduce);
    return reduce->id;
}

void ti_instruction_compile_blocks(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s)
{
    const ti_block_place *place = command->as.reduce.blocks;
    ti_block_stack stack = { .blocks = place->blocks };
    ids id = { .own = 0 };
    ti_vec_clear(&graph->pairs);
    emit_receives(graph, s, place, &id);
    push_runs(graph, &stack);
    if (place->receives) {
        id.own = emit_pairs(graph, s, place, false, &id);
        emit_sends(graph, s, place, &stack, place->sends - 1, &id);
        push_received(graph, &stack, place, s->own_slots);
    }
    id.all = emit_pairs(graph, s, place, true, &id);
    emit_sends(graph, s, place, &stack, place->sends, &id);
    TI_ASSERT(place->sends > 0 || stack.count == 1);
    TI_ASSERT(id.sends == place->sends && id.own < id.all);
    id.sent[id.sends] = id.all;
    ti_instruction_free_staging(graph, s, id.sent, id.sends + 1);
}
