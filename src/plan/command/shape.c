/* The command graph, shapes: what of a task follows from its shape alone is derived once.
 *
 * That is its split, the holders of its accesses, and this node's chunks with their footprints. The place of a shape in
 * the table is its number, which another shape gets only when all tasks of the first have been executed. Holders belong
 * to the version maps of buffers: when a buffer goes, whoever uses it is forgotten, but for the chunks, which commands
 * may still point to. Tasks whose shape comes once use one place by turns: what it knows is good until the next
 * task. */
#include "plan/command/impl.h"

static ti_split_ref *split_of(ti_command_graph *graph, const ti_shape *shape)
{
    ti_split_request request = {
        .range = shape->range,
        .gran = { shape->gran[0], shape->gran[1], shape->gran[2] },
        .nodes = graph->system->num_nodes,
        .place = shape->place,
        .oversubscribe = shape->oversubscribe,
        .two_dimensional = shape->two_dimensional,
        .grid = { shape->grid[0], shape->grid[1], shape->grid[2] },
        .weights = shape->weights,
    };
    return ti_split_cache_get(&graph->splits, &request);
}

/* The split of who reads the old contents of a reduced buffer: the root of the tree, alone. */
static ti_split_ref *root_split(ti_command_graph *graph, const ti_split_ref *split)
{
    ti_split_request request = { .range = { { 0, 0, 0 }, { 1, 1, 1 } },
                                 .gran = { 1, 1, 1 },
                                 .nodes = graph->system->num_nodes,
                                 .place = split->node_a,
                                 .oversubscribe = 1 };
    return ti_split_cache_get(&graph->splits, &request);
}

static ti_command_use *find_use(const ti_command_shape *known, const ti_buffer_info *buffer)
{
    for (size_t i = 0; i < known->use.count; i++) {
        if (known->use.data[i].state->info == buffer) {
            return &known->use.data[i];
        }
    }
    return NULL;
}

/* The holders of accesses to a buffer that need old contents, or of those that write; there is room for them. */
static ti_holders add_holders(ti_command_graph *graph, const ti_shape *shape, ti_command_shape *known,
                              ti_command_buffer *state, bool writes)
{
    size_t first = known->holder.count;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *access = &shape->access[i];
        if (access->buffer == state->info && (writes ? ti_access_writes(access) : ti_access_needs_old(access))) {
            ti_split_ref *split = access->mode == TACIT_REDUCE ? root_split(graph, known->split) : known->split;
            for (uint32_t m = 0; m < access->mappers; m++) {
                ti_holder *holder = ti_holder_get(&state->versions.holders, access, m, split);
                ti_vec_push(&known->holder, ti_holder_ref(holder));
            }
        }
    }
    return (ti_holders){ known->holder.data + first, known->holder.count - first };
}

static void find_uses(ti_command_graph *graph, const ti_shape *shape, ti_command_shape *known)
{
    size_t mappers = 0;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        mappers += shape->access[i].mappers;
    }
    ti_vec_reserve(&known->holder, 2 * mappers); /* uses point there */
    for (int reads = 1; reads >= 0; reads--) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            const ti_access *access = &shape->access[i];
            if (find_use(known, access->buffer) || (reads && !ti_access_needs_old(access))) {
                continue;
            }
            ti_command_use use = { .state = ti_command_buffer_of(graph, access->buffer) };
            use.reads = add_holders(graph, shape, known, use.state, false);
            use.writes = add_holders(graph, shape, known, use.state, true);
            use.reduces = access->mode == TACIT_REDUCE;
            ti_vec_push(&known->use, use);
        }
    }
    TI_ASSERT(known->holder.count <= 2 * mappers && known->use.count <= shape->accesses);
}

/* On one node, or on a task's own, the chunk is the range, whose footprints the task graph has. */
static void fill_piece(const ti_shape *shape, const ti_box *chunk, ti_piece *piece, ti_arena *arena)
{
    piece->chunk = *chunk;
    if (ti_box_equal(chunk, &shape->range)) {
        piece->footprint = shape->footprint;
        return;
    }
    ti_footprint *footprint = TI_ARENA_ARRAY(arena, ti_footprint, shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        ti_footprint_fill(&footprint[i], &shape->access[i], chunk, arena);
    }
    piece->footprint = footprint;
}

static void find_pieces(const ti_shape *shape, ti_command_shape *known, ti_arena *arena)
{
    const ti_split_ref *split = known->split;
    ti_piece *piece = TI_ARENA_ARRAY(arena, ti_piece, (size_t)split->own_count);
    for (int64_t c = 0; c < split->own_count; c++) {
        ti_box chunk = ti_split_chunk(&split->split, split->own_first + c);
        fill_piece(shape, &chunk, &piece[c], arena);
    }
    known->piece = piece;
}

/* All but the memory of the pieces. */
static void forget(ti_command_shape *known)
{
    for (size_t i = 0; i < known->holder.count; i++) {
        ti_holder_unref(known->holder.data[i]);
    }
    ti_vec_clear(&known->holder);
    ti_vec_clear(&known->use);
    if (known->split) {
        known->split->interned.refs--;
    }
    known->split = NULL;
    known->serial = 0;
}

static void derive(ti_command_graph *graph, const ti_shape *shape, ti_command_shape *known, ti_arena *arena)
{
    forget(known);
    TI_ASSERT(known->holder.count == 0 && known->use.count == 0);
    known->serial = shape->serial;
    known->split = split_of(graph, shape);
    known->split->interned.refs++;
    if (graph->system->num_nodes > 1) {
        find_uses(graph, shape, known);
    }
    find_pieces(shape, known, arena);
}

const ti_command_shape *ti_command_shape_of(ti_command_graph *graph, const ti_task *task)
{
    const ti_shape *shape = task->shape;
    if (!shape->serial) {
        if (graph->single_task != task->id) {
            graph->single_task = task->id;
            derive(graph, shape, &graph->single, ti_command_arena(graph));
        }
        return &graph->single;
    }
    while (graph->shape.count <= shape->number) {
        ti_vec_push(&graph->shape, TI_NEW(ti_command_shape));
    }
    ti_command_shape *known = graph->shape.data[shape->number];
    if (known->serial != shape->serial) {
        ti_arena_fini(&known->pieces);
        ti_arena_reserve(&known->pieces,
                         (sizeof(ti_piece) + shape->accesses * (sizeof(ti_footprint) + sizeof(ti_box))));
        derive(graph, shape, known, &known->pieces);
    }
    return known;
}

void ti_command_shapes_forget(ti_command_graph *graph, uint32_t slot)
{
    graph->single_task = 0;
    forget(&graph->single);
    for (size_t i = 0; i < graph->shape.count; i++) {
        if (find_use(graph->shape.data[i], graph->buffer.data[slot]->info)) {
            forget(graph->shape.data[i]);
        }
    }
}

static void free_shape(ti_command_shape *known)
{
    forget(known);
    ti_vec_fini(&known->holder);
    ti_vec_fini(&known->use);
    ti_arena_fini(&known->pieces);
}

void ti_command_shapes_fini(ti_command_graph *graph)
{
    for (size_t i = 0; i < graph->shape.count; i++) {
        free_shape(graph->shape.data[i]);
        TI_DELETE(graph->shape.data[i]);
    }
    free_shape(&graph->single);
    ti_vec_fini(&graph->shape);
}

const ti_command_use *ti_command_use_of(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_command_use *use = find_use(ti_command_shape_of(graph, task), buffer);
    TI_ASSERT(use && use->state == ti_command_buffer_of(graph, buffer));
    return use;
}
