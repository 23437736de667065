/* The instruction graph, reductions: see impl.h. Partial results are combined by a collective, or with those of other
 * nodes along a tree of messages. Tasks in blocks have other messages: reduce_blocks.c. Scheduler thread. */
#include "plan/instruction/staging.h"

/* ---- by a collective: this node's slots are combined first */

/* Whoever starts the collective combines small slots. */
static void compile_at_once(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s)
{
    bool takes_old = command->as.reduce.takes_old;
    int place = ti_instruction_result_place(graph, s, ti_command_is_root(command), takes_old);
    ti_combination *first = TI_ARENA_NEW(ti_arena_ring_top(&graph->emit.arenas), ti_combination);
    ti_instruction_combine(graph, s, place, takes_old, first);
    TI_ASSERT(command->as.reduce.alone == (s->own_slots == 0));
    first->slots = s->own_slots;
    first->is_identity = command->as.reduce.alone;
    uint64_t last = command->as.reduce.alone
                        ? ti_instruction_compile_combining(graph, command, s->allocation, first, s->after, s->afters)
                        : ti_instruction_compile_combining(graph, command, s->allocation, first, graph->partial.data,
                                                           graph->partial.count);
    ti_instruction_free_staging(graph, s, &last, 1);
}

static void compile_together(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s)
{
    if (s->in_place) {
        TI_ASSERT(graph->partial.count == 1 && ti_command_is_root(command));
        ti_instruction_compile_combining(graph, command, 0, NULL, graph->partial.data, 1);
        return;
    }
    if (s->slot_bytes < TI_LARGE_SLOT) {
        compile_at_once(graph, command, s);
        return;
    }
    ti_instruction *own = ti_instruction_start_reduce(graph, s, ti_command_is_root(command),
                                                      command->as.reduce.takes_old);
    own->as.reduce.slots = s->own_slots;
    own->as.reduce.is_identity = command->as.reduce.alone;
    ti_deps_add_all(&graph->emit.deps, s->after, s->afters);
    ti_deps_add_all(&graph->emit.deps, graph->partial.data, graph->partial.count);
    ti_emit(&graph->emit, own);
    uint64_t last = ti_instruction_compile_combining(graph, command, s->allocation, NULL, &own->id, 1);
    ti_instruction_free_staging(graph, s, command->as.reduce.gets ? &own->id : &last, 1);
}

/* ---- along the tree of nodes */

static void compile_tree(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s)
{
    const ti_tree_place *tree = command->as.reduce.tree;
    TI_ASSERT(s->own_slots + (uint32_t)tree->children == s->slots && graph->partial.count > 0);
    uint64_t received[TI_TREE_CHILDREN];
    for (int i = 0; i < tree->children; i++) {
        const ti_block_message from = { .peer = tree->child[i], .counter = tree->child_counter[i], .spans = 1 };
        uint32_t slot = s->own_slots + (uint32_t)i;
        received[i] = ti_instruction_exchange_slots(graph, s, &from, false, &slot, 0);
    }
    ti_instruction *instruction = ti_instruction_start_reduce(graph, s, ti_command_is_root(command),
                                                              command->as.reduce.takes_old);
    instruction->as.reduce.slots = s->slots;
    ti_deps_add_all(&graph->emit.deps, received, (size_t)tree->children);
    ti_deps_add_all(&graph->emit.deps, graph->partial.data, graph->partial.count);
    ti_emit(&graph->emit, instruction);
    uint64_t last = instruction->id;
    if (tree->parent >= 0) {
        const ti_block_message to = { .peer = tree->parent, .counter = tree->parent_counter, .spans = 1 };
        last = ti_instruction_exchange_slots(graph, s, &to, true, &(uint32_t){ 0 }, last);
    }
    ti_instruction_free_staging(graph, s, &last, 1);
}

void ti_instruction_compile_reduce(ti_instruction_graph *graph, const ti_command *command)
{
    if (command->as.reduce.alone) { /* nothing was executed here, and so nothing staged */
        ti_vec_clear(&graph->partial);
        ti_vec_clear(&graph->staged);
        ti_instruction_stage(graph, command, 0, 0);
    }
    const ti_staging s = *ti_instruction_staging_of(graph, command->task, command->as.reduce.access);
    if (command->as.reduce.what) {
        compile_together(graph, command, &s);
    } else if (command->task->shape->in_blocks) {
        ti_instruction_compile_blocks(graph, command, &s);
    } else if (!s.in_place) {
        compile_tree(graph, command, &s);
    }
}
