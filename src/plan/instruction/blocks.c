/* The instruction graph, reductions in blocks (ir/block_tree.h): what a task does whose result must not depend on how it is cut.
 *
 * A piece on a device is cut into runs of blocks, one for each part of its kernel, as the device cuts kernels. A run goes from left to right and
 * combines siblings as soon as both are there, so it needs few slots; what it leaves are subtrees in its first slots. Here these are put
 * together, run by run, by the same stack, and the pairs of slots that it folds become a REDUCE instruction. Results of other nodes all belong
 * to the last subtree that begins here, so a second REDUCE waits for them, and messages with earlier subtrees do not. */
#include "plan/instruction/impl.h"

#include "base/check.h"
#include "grid/split.h"

static uint32_t blocks_before(const ti_task *task, int64_t item)
{
    int64_t items = item - task->shape->range.min[0];
    return (uint32_t)(items / task->shape->gran[0] + (items % task->shape->gran[0] != 0));
}

static uint32_t blocks_of(const ti_task *task)
{
    return blocks_before(task, task->shape->range.max[0]);
}

/* ---- runs */

/* Where one call has to make the whole piece, its blocks are computed one after the other. */
static uint32_t runs_of(const ti_instruction_graph *graph, const ti_task *task, uint32_t blocks)
{
    return task->shape->whole_chunk ? 1 : TI_MIN((uint32_t)graph->system->workers, blocks);
}

static void cut_piece(ti_instruction_graph *graph, const ti_task *task, const ti_box *chunk, ti_block_piece *out)
{
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    uint32_t first = blocks_before(task, chunk->min[0]), count = blocks_before(task, chunk->max[0]) - first;
    out->runs = runs_of(graph, task, count);
    ti_block_span *run = TI_ARENA_ARRAY(arena, ti_block_span, out->runs);
    uint32_t *slot = TI_ARENA_ARRAY(arena, uint32_t, out->runs);
    out->slots.count = 0;
    for (uint32_t r = 0; r < out->runs; r++) {
        run[r].first = first + (uint32_t)ti_split_share(count, out->runs, r);
        run[r].end = first + (uint32_t)ti_split_share(count, out->runs, (int64_t)r + 1);
        slot[r] = out->slots.count;
        out->slots.count += ti_block_depth(run[r].end - run[r].first);
    }
    out->run = run;
    out->run_slot = slot;
}

uint64_t ti_instruction_block_slots(const ti_instruction_graph *graph, const ti_task *task, const ti_box *chunk)
{
    uint32_t count = blocks_before(task, chunk->max[0]) - blocks_before(task, chunk->min[0]);
    uint32_t runs = runs_of(graph, task, count);
    uint64_t slots = 0;
    for (uint32_t r = 0; r < runs; r++) {
        slots +=
            ti_block_depth((uint32_t)(ti_split_share(count, runs, (int64_t)r + 1) - ti_split_share(count, runs, r)));
    }
    return slots;
}

uint32_t ti_instruction_cut_blocks(ti_instruction_graph *graph, const ti_task *task, size_t first, size_t end)
{
    uint32_t slots = 0;
    ti_vec_clear(&graph->in_blocks);
    for (size_t p = first; p < end; p++) {
        ti_block_piece piece = { .slots = { slots, 0 } };
        cut_piece(graph, task, &graph->window.piece.data[p].piece->chunk, &piece);
        slots += piece.slots.count;
        ti_vec_push(&graph->in_blocks, piece);
    }
    return slots;
}

ti_slot_range ti_instruction_run_slots(const ti_instruction_graph *graph, const ti_task *task, uint32_t piece,
                                       uint32_t run)
{
    const ti_block_piece *p = &graph->in_blocks.data[piece];
    ti_block_span left[TI_BLOCK_STACK];
    return (ti_slot_range){ p->slots.first + p->run_slot[run], ti_block_subtrees(p->run[run], blocks_of(task), left) };
}

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

static uint64_t emit_message(ti_instruction_graph *graph, const ti_staging *s, const ti_block_message *message,
                             bool send, const uint32_t *slot, uint64_t after)
{
    ti_instruction *instruction;
    ti_instruction_box *box = ti_instruction_start_slots(graph, s, send, message->spans, &instruction);
    for (uint32_t i = 0; i < message->spans; i++) {
        box[i].box = ti_instruction_slot_box(s, slot[i], 1);
    }
    instruction->as.transfer.peer = message->peer;
    instruction->as.transfer.counter = message->counter;
    ti_deps_add(&graph->emit.deps, after);
    ti_emit(&graph->emit, instruction);
    return instruction->id;
}

static void emit_receives(ti_instruction_graph *graph, const ti_staging *s, const ti_block_place *place, ids *out)
{
    uint32_t at = s->own_slots, slot[TI_BLOCK_BITS];
    for (int i = 0; i < place->receives; i++) {
        for (uint32_t k = 0; k < place->receive[i].spans; k++) {
            slot[k] = at++;
        }
        out->received[i] = emit_message(graph, s, &place->receive[i], false, slot, s->alloc_id);
    }
}

/* Messages [first, end); the stack's subtrees are those of the messages, one after the other. */
static void emit_sends(ti_instruction_graph *graph, const ti_staging *s, const ti_block_place *place,
                       const ti_block_stack *stack, int end, ids *out)
{
    uint32_t at = 0;
    for (int i = 0; i < end; at += place->send[i++].spans) {
        TI_ASSERT(at + place->send[i].spans <= stack->count && stack->span[at].first == place->send[i].span[0].first);
        if (i >= out->sends) {
            out->sent[i] = emit_message(graph, s, &place->send[i], true, &stack->slot[at],
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
    for (int i = 0; last && i < place->receives; i++) {
        ti_deps_add(&graph->emit.deps, so_far->received[i]);
    }
    for (size_t i = 0; !so_far->own && i < graph->partial.count; i++) {
        ti_deps_add(&graph->emit.deps, graph->partial.data[i]);
    }
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
    id.sent[id.sends] = id.all;
    ti_instruction_free_staging(graph, s, id.sent, id.sends + 1);
}
