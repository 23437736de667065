/* The command graph, reductions: see impl.h. How the partial results of the nodes become one.
 *
 * Three ways. First, a collective of the network, whose result goes to all nodes or to one. Who will read the result is
 * not known yet, so it goes to those nodes that read the results of the buffer's earlier reductions; a wrong guess
 * costs a transfer. Second, messages along a binomial tree, where collectives are off or few nodes take part. Third,
 * messages along a tree over blocks of the range, which has the same bits on any number of nodes. Scheduler thread. */
#include "plan/transfer/impl.h"

/* ---- a binomial tree over the nodes that have chunks; the first of them is the root */

static void place_in_tree(ti_command_graph *graph, const ti_split_ref *split, ti_tree_place *tree)
{
    int self = graph->system->node - split->node_a, nodes = split->node_b - split->node_a;
    TI_ASSERT(0 <= self && self < nodes); /* nobody else takes part */
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

/* Owners are adjacent, so a span for the same peer as the last one goes into its message. Returns the number of
 * messages. */
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
    ti_box first = ti_split_chunk(s, ref->own_first), last = ti_split_chunk(s, ref->own_first + ref->own_count - 1);
    return (ti_block_span){ (uint32_t)((first.min[0] - s->lo[0]) / s->gran[0]),
                            (uint32_t)ti_ceil_div(last.max[0] - s->lo[0], s->gran[0]) };
}

static void place_in_blocks(ti_command_graph *graph, const ti_split_ref *ref, ti_block_place *place)
{
    const ti_split *s = &ref->split;
    place->own = own_blocks(ref);
    place->blocks = (uint32_t)ti_ceil_div(s->hi[0] - s->lo[0], s->gran[0]);
    TI_ASSERT(place->own.first < place->own.end && place->own.end <= place->blocks);
    TI_ASSERT(place->blocks <= TI_MAX_BLOCKS);
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

/* ---- by a collective */

static void join_readers(ti_readers *all, ti_readers more)
{
    if (all->kind == TI_READERS_NONE || more.kind == TI_READERS_ALL) {
        *all = more;
    } else if (all->kind != TI_READERS_ALL && (all->kind != more.kind || all->node != more.node)) {
        *all = (ti_readers){ TI_READERS_OTHER, 0 };
    }
}

/* To whom the next result goes, if by a collective (choose_root), is what replay has to know besides the versions. */
static void set_manner(ti_command_buffer *state)
{
    ti_readers next = state->reduced.seen.kind == TI_READERS_NONE ? state->reduced.usual : state->reduced.seen;
    state->replay.manner = (uint64_t)next.kind << 32 | (uint32_t)next.node;
}

/* What a reduction reads it goes on to combine, where that lies. */
void ti_command_note_readers(ti_command_graph *graph, const ti_command_use *use)
{
    for (size_t i = 0; i < use->reads.count && use->state->reduced.task && !use->reduces; i++) {
        const ti_holder *read = use->reads.data[i];
        int nodes = read->split->node_b - read->split->node_a;
        ti_readers more = { TI_READERS_OTHER, 0 };
        if (nodes == 1) {
            more = (ti_readers){ TI_READERS_NODE, read->split->node_a };
        } else if (nodes == graph->system->num_nodes && read->observed_constant) {
            more.kind = TI_READERS_ALL;
        }
        join_readers(&use->state->reduced.seen, more);
        set_manner(use->state);
    }
}

/* All nodes take part then, those without a chunk with the identity. */
static bool is_collective(const ti_command_graph *graph, const ti_task *task, const ti_split_ref *split)
{
    return graph->system->collectives != TI_COLLECTIVES_OFF && split->node_b - split->node_a > 1 &&
           !task->shape->in_blocks && !task->shape->no_collectives;
}

/* A result of which nodes read parts goes to all of them, rather than to one that deals it out, if it has at most so
 * many bytes. */
enum { SHORT_RESULT = 4096 };

/* Where the result goes: to whom it went the last time, and to all nodes if it was never read. What the buffer held is
 * combined where it was brought. */
static int choose_root(ti_command_buffer *state, const ti_access *access, const ti_split_ref *split)
{
    if (state->reduced.seen.kind != TI_READERS_NONE) {
        state->reduced.usual = state->reduced.seen;
    }
    switch (state->reduced.usual.kind) {
    case TI_READERS_NONE:
    case TI_READERS_ALL:
        return -1;
    case TI_READERS_NODE:
        return access->include_old ? split->node_a : state->reduced.usual.node;
    case TI_READERS_OTHER:
        return ti_box_volume(&state->info->extent) * state->info->elem_size <= SHORT_RESULT ? -1 : split->node_a;
    }
    return split->node_a;
}

static void reduce_together(ti_command_graph *graph, ti_command *command, ti_command_buffer *state,
                            const ti_split_ref *split)
{
    const ti_access *access = &command->task->shape->access[command->as.reduce.access];
    int self = graph->system->node, root = choose_root(state, access, split);
    const ti_collective *what = ti_discovery_reduction(&graph->collectives, &state->collectives, state->info, root,
                                                       &access->reducer, command->task->id);
    TI_ASSERT(-1 <= root && root < graph->system->num_nodes);
    state->reduced.untold = what->pattern;
    state->reduced.a = root < 0 ? 0 : root;
    state->reduced.b = root < 0 ? graph->system->num_nodes : root + 1;
    command->as.reduce.what = what;
    command->as.reduce.sequence = graph->collectives.sequence++;
    command->as.reduce.gets = root < 0 || root == self;
    command->as.reduce.alone = split->own_count == 0;
}

/* ---- */

static void reduce_by_messages(ti_command_graph *graph, ti_command *command, const ti_split_ref *split)
{
    if (command->task->shape->in_blocks) {
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
    const ti_buffer_info *buffer = task->shape->access[index].buffer;
    ti_command_buffer *state = ti_command_buffer_of(graph, buffer);
    bool together = is_collective(graph, task, split);
    state->reduced.task = task->id;
    state->reduced.a = split->node_a;
    state->reduced.b = split->node_a + 1;
    state->reduced.untold = TI_PATTERN_NONE;
    if (split->own_count > 0 || together) {
        ti_command *command = ti_command_new(graph, TI_COMMAND_REDUCE, task);
        command->as.reduce.access = index;
        command->as.reduce.takes_old = task->shape->access[index].include_old && graph->system->node == split->node_a;
        if (together) {
            reduce_together(graph, command, state, split);
        } else {
            reduce_by_messages(graph, command, split);
        }
        TI_ASSERT(!command->as.reduce.tree + !command->as.reduce.blocks + !command->as.reduce.what == 2);
        if (ti_command_is_root(command)) {
            ti_command_track(graph, buffer, &buffer->extent, 1, true);
        }
        ti_deps_add(&graph->deps, graph->system->record && !command->as.reduce.alone ? command->id - 1 : 0);
        ti_command_emit(graph, command);
    }
    TI_ASSERT(0 <= state->reduced.a && state->reduced.a < state->reduced.b &&
              state->reduced.b <= graph->system->num_nodes);
    state->reduced.seen = (ti_readers){ TI_READERS_NONE, 0 };
    if (ti_command_is_distributed(graph)) {
        set_manner(state);
    }
}
