/* The instruction graph, tasks in blocks (ir/block_tree.h), whose result must not depend on how they are cut: into
 * which runs, and where their results lie. See staging.h.
 *
 * A piece on a device is cut into runs of blocks, one for each part of its kernel, as the device cuts kernels. A run
 * goes from left to right and combines siblings as soon as both are there, so it needs few slots; what it leaves are
 * subtrees in its first slots. Scheduler thread. */
#include "plan/instruction/staging.h"

#include "grid/split.h"

static uint32_t blocks_before(const ti_task *task, int64_t item)
{
    return (uint32_t)ti_ceil_div(item - task->shape->range.min[0], task->shape->gran[0]);
}

/* ---- runs */

static void cut_piece(ti_instruction_graph *graph, const ti_task *task, const ti_box *chunk, ti_block_piece *out)
{
    ti_arena *arena = ti_arena_ring_top(&graph->emit.arenas);
    uint32_t first = blocks_before(task, chunk->min[0]), count = blocks_before(task, chunk->max[0]) - first;
    TI_ASSERT(count > 0 && first + count <= TI_MAX_BLOCKS);
    /* Where one call has to make the whole piece, its blocks are computed one after the other. */
    out->runs = task->shape->whole_chunk ? 1 : TI_MIN((uint32_t)graph->system->workers, count);
    ti_block_span *run = TI_ARENA_ARRAY(arena, ti_block_span, out->runs);
    uint32_t *slot = TI_ARENA_ARRAY(arena, uint32_t, out->runs);
    out->slots.count = 0;
    for (uint32_t r = 0; r < out->runs; r++) {
        run[r].first = first + (uint32_t)ti_split_share(count, out->runs, r);
        run[r].end = first + (uint32_t)ti_split_share(count, out->runs, (int64_t)r + 1);
        slot[r] = out->slots.count;
        out->slots.count += ti_block_depth(run[r].end - run[r].first);
    }
    TI_ASSERT(run[out->runs - 1].end == first + count);
    out->run = run;
    out->run_slot = slot;
}

uint32_t ti_instruction_block_slots(ti_instruction_graph *graph, const ti_task *task, const ti_box *chunk)
{
    ti_block_piece piece;
    cut_piece(graph, task, chunk, &piece);
    return piece.slots.count;
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
    TI_ASSERT(piece < graph->in_blocks.count && run < graph->in_blocks.data[piece].runs);
    const ti_block_piece *p = &graph->in_blocks.data[piece];
    ti_block_span left[TI_BLOCK_STACK];
    uint32_t blocks = blocks_before(task, task->shape->range.max[0]);
    return (ti_slot_range){ p->slots.first + p->run_slot[run], ti_block_subtrees(p->run[run], blocks, left) };
}
