/* The command graph, reductions: how partial results of the nodes become one. */
#include "plan/command_impl.h"

#include "base/check.h"

/* ---- a binomial tree over the nodes that have chunks; the first of them is the root */

static void place_in_tree(ti_command_graph *graph, const ti_split_ref *split, ti_tree_place *tree)
{
    int self = graph->system->node - split->node_a, nodes = split->node_b - split->node_a;
    tree->parent = -1;
    for (int64_t step = 1; step < nodes; step *= 2) {
        if (self & step) {
            tree->parent = split->node_a + self - (int)step;
            tree->parent_counter = ti_command_count_message(graph, tree->parent, true);
            return;
        }
        if (self + step < nodes) {
            int child = split->node_a + self + (int)step;
            TI_ASSERT(tree->children < TI_TREE_CHILDREN);
            tree->child[tree->children] = child;
            tree->child_counter[tree->children++] = ti_command_count_message(graph, child, false);
        }
    }
}

/* ---- in blocks: the tree over blocks, cut where the split cuts it; see ir/block_tree.h */

static int block_owner(const ti_split *split, uint32_t block)
{
    return ti_split_node(split, ti_split_part(split, 0, split->lo[0] + (int64_t)block * split->gran[0]));
}

/* Owners come in a row, so a span for the same peer as the last one goes into its message. Returns the number of messages. */
static int add_to_message(ti_block_message *message, int messages, int peer, ti_block_span span)
{
    if (messages == 0 || message[messages - 1].peer != peer) {
        TI_ASSERT(messages < TI_BLOCK_BITS);
        message[messages++].peer = peer;
    }
    ti_block_message *last = &message[messages - 1];
    TI_ASSERT(last->spans < TI_BLOCK_BITS);
    last->span[last->spans++] = span;
    return messages;
}

static ti_block_span own_blocks(const ti_split_ref *ref)
{
    const ti_split *s = &ref->split;
    ti_box first = ti_split_chunk(s, ref->own_first, 0),
           last = ti_split_chunk(s, ref->own_first + ref->own_count - 1, 0);
    int64_t items = last.max[0] - s->lo[0];
    return (ti_block_span){ (uint32_t)((first.min[0] - s->lo[0]) / s->gran[0]),
                            (uint32_t)(items / s->gran[0] + (items % s->gran[0] != 0)) };
}

static void place_in_blocks(ti_command_graph *graph, const ti_split_ref *ref, ti_block_place *place)
{
    const ti_split *s = &ref->split;
    int64_t length = s->hi[0] - s->lo[0];
    place->own = own_blocks(ref);
    place->blocks = (uint32_t)(length / s->gran[0] + (length % s->gran[0] != 0));
    uint32_t at = place->own.first;
    while (at > 0 && at < place->own.end) {
        ti_block_span span = ti_block_subtree(at, place->blocks);
        place->sends = add_to_message(place->send, place->sends, block_owner(s, ti_block_sibling(at)), span);
        at = span.end;
    }
    at = place->own.end;
    while (at < place->blocks && ti_block_sibling(at) >= place->own.first) {
        ti_block_span span = ti_block_subtree(at, place->blocks);
        place->receives = add_to_message(place->receive, place->receives, block_owner(s, at), span);
        at = span.end;
    }
    for (int i = 0; i < place->sends; i++) {
        place->send[i].counter = ti_command_count_message(graph, place->send[i].peer, true);
    }
    for (int i = 0; i < place->receives; i++) {
        place->receive[i].counter = ti_command_count_message(graph, place->receive[i].peer, false);
    }
}

static void place_in_reduction(ti_command_graph *graph, const ti_split_ref *split, ti_command *command)
{
    if (command->task->in_blocks) {
        ti_block_place *place = TI_ARENA_NEW(ti_command_arena(graph), ti_block_place);
        place_in_blocks(graph, split, place);
        command->as.reduce.blocks = place;
    } else {
        ti_tree_place *tree = TI_ARENA_NEW(ti_command_arena(graph), ti_tree_place);
        place_in_tree(graph, split, tree);
        command->as.reduce.tree = tree;
    }
}

void ti_command_reduce(ti_command_graph *graph, const ti_task *task, uint32_t index, const ti_split_ref *split)
{
    if (split->own_count == 0) {
        return;
    }
    ti_command *command = ti_command_new(graph, TI_COMMAND_REDUCE, task);
    command->as.reduce.access = index;
    place_in_reduction(graph, split, command);
    if (ti_command_is_root(command)) {
        ti_command_track(graph, task->access[index].buffer, &task->access[index].buffer->extent, 1, true);
    }
    ti_deps_add(&graph->deps, graph->system->record ? command->id - 1 : 0);
    ti_command_emit(graph, command);
}
