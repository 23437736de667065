/* The command graph, shapes: see impl.h. What of a task follows from its shape alone is derived once.
 *
 * That is its split, the holders of its accesses, and this node's chunks with their footprints. The place of a shape in
 * the table is its number, which another shape gets only when all tasks of the first have been executed. Holders belong
 * to the version maps of buffers: when a buffer goes, what is known of the shapes that use it is forgotten, but for the
 * chunks, which commands may still point to. Tasks whose shape comes once share one place: what is there is good until
 * the next task. Scheduler thread. */
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
        .border = shape->border,
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

/* Of accesses that need old contents, or of those that write: of what chunks write, or of what nodes compute of it. */
typedef enum holders { READERS, OWNERS, COPIES } holders;

static ti_holder *holder_of(ti_command_graph *graph, const ti_command_shape *known, ti_command_buffer *state,
                            const ti_access *access, uint32_t mapper, holders which)
{
    ti_split_ref *split = access->mode == TACIT_REDUCE ? root_split(graph, known->split) : known->split;
    bool wide = which != OWNERS && !ti_widening_is_none(&known->wide);
    if (wide && known->wide.spread) {
        ti_holder *plain = ti_holder_get(&state->versions.holders, access, mapper, split);
        return plain->constant
                   ? plain /* whatever items chunks have */
                   : ti_holder_get_spread(&state->versions.holders, access, mapper, split, known->wide.spread);
    }
    return wide ? ti_holder_get_wide(&state->versions.holders, access, mapper, split, &known->wide.margin,
                                     which == COPIES)
                : ti_holder_get(&state->versions.holders, access, mapper, split);
}

/* The holders of accesses to a buffer; there is room for them. */
static ti_holders add_holders(ti_command_graph *graph, const ti_shape *shape, ti_command_shape *known,
                              ti_command_buffer *state, holders which)
{
    size_t first = known->holder.count;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *access = &shape->access[i];
        if (access->buffer == state->info &&
            (which == READERS ? ti_access_needs_old(access) : ti_access_writes(access))) {
            for (uint32_t m = 0; m < access->mappers; m++) {
                ti_vec_push(&known->holder, ti_holder_ref(holder_of(graph, known, state, access, m, which)));
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
    ti_vec_reserve(&known->holder, 3 * mappers); /* uses point there */
    for (int reads = 1; reads >= 0; reads--) {
        for (uint32_t i = 0; i < shape->accesses; i++) {
            const ti_access *access = &shape->access[i];
            if (find_use(known, access->buffer) || (reads && !ti_access_needs_old(access))) {
                continue;
            }
            ti_command_use use = { .state = ti_command_buffer_of(graph, access->buffer) };
            use.reads = add_holders(graph, shape, known, use.state, READERS);
            use.writes = add_holders(graph, shape, known, use.state, OWNERS);
            if (!ti_widening_is_none(&known->wide)) {
                use.copies = add_holders(graph, shape, known, use.state, COPIES);
            }
            use.reduces = access->mode == TACIT_REDUCE;
            TI_ASSERT((use.reads.count > 0) == (reads == 1)); /* those that are read come first */
            ti_vec_push(&known->use, use);
        }
    }
    TI_ASSERT(known->holder.count <= 3 * mappers && known->use.count <= shape->accesses);
}

/* On one node, or on a task's own, the chunk is the range, whose footprints the task graph has. */
void ti_command_fill_piece(const ti_shape *shape, const ti_box *chunk, ti_piece *piece, ti_arena *arena)
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

static void find_spread_pieces(const ti_shape *shape, ti_command_shape *known, ti_arena *arena)
{
    const ti_split_ref *split = known->split;
    ti_boxes items = { 0 };
    for (int64_t c = split->own_first; c < split->own_first + split->own_count; c++) {
        ti_spread_items(known->wide.spread, &split->split, c, &items);
    }
    ti_piece *piece = TI_ARENA_ARRAY(arena, ti_piece, items.count);
    for (size_t i = 0; i < items.count; i++) {
        ti_command_fill_piece(shape, &items.data[i], &piece[i], arena);
    }
    TI_ASSERT((int64_t)items.count >= split->own_count); /* each chunk has its own items at least */
    known->piece = piece;
    known->own_pieces = (uint32_t)items.count;
    ti_vec_fini(&items);
}

static void find_pieces(const ti_shape *shape, ti_command_shape *known, ti_arena *arena)
{
    const ti_split_ref *split = known->split;
    if (known->wide.spread) {
        find_spread_pieces(shape, known, arena);
        return;
    }
    ti_piece *piece = TI_ARENA_ARRAY(arena, ti_piece, (size_t)split->own_count);
    for (int64_t c = 0; c < split->own_count; c++) {
        ti_box chunk = ti_split_chunk(&split->split, split->own_first + c);
        chunk = ti_margin_enlarge(&known->wide.margin, &chunk, &shape->range);
        TI_ASSERT(!ti_box_is_empty(&chunk) && ti_box_covers(&shape->range, &chunk));
        ti_command_fill_piece(shape, &chunk, &piece[c], arena);
    }
    known->piece = piece;
    known->own_pieces = (uint32_t)split->own_count;
}

static void find_overlap(const ti_command_graph *graph, const ti_shape *shape, ti_command_shape *known, ti_arena *arena)
{
    const bool one = known->split->own_count == 1;
    known->overlap = (ti_command_overlap){ .verdict = TI_OVERLAP_OFF };
    if (graph->system->num_nodes > 1) {
        known->overlap.verdict = one ? ti_overlap_admits(graph->system, shape) : TI_OVERLAP_CHUNKS;
    }
    if (known->overlap.verdict == TI_OVERLAP_FITS) {
        known->overlap.parts = TI_ARENA_NEW(arena, ti_command_parts);
        known->overlap.parts->arena = arena;
    }
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
    ti_spread_unref(known->wide.spread);
    known->wide.spread = NULL;
    known->split = NULL;
    known->serial = 0;
}

/* Afterwards its serial is that of the shape; `wide` NULL: chunks are as split. */
static void derive(ti_command_graph *graph, const ti_shape *shape, const ti_widening *wide, ti_command_shape *known,
                   ti_arena *arena)
{
    forget(known);
    TI_ASSERT(known->holder.count == 0 && known->use.count == 0);
    known->serial = shape->serial;
    known->wide = wide ? *wide : (ti_widening){ .spread = NULL };
    ti_spread_ref(known->wide.spread);
    known->split = split_of(graph, shape);
    TI_ASSERT(known->split->own_first + known->split->own_count <= known->split->split.chunks);
    known->split->interned.refs++;
    if (graph->system->num_nodes > 1) {
        find_uses(graph, shape, known);
    }
    find_pieces(shape, known, arena);
    find_overlap(graph, shape, known, arena);
}

static size_t size_of_piece(const ti_shape *shape)
{
    return sizeof(ti_piece) + shape->accesses * (sizeof(ti_footprint) + sizeof(ti_box));
}

/* In the one place of what comes once. */
static ti_command_shape *derive_single(ti_command_graph *graph, const ti_task *task, const ti_widening *wide)
{
    if (graph->single_task != task->id) {
        graph->single_task = task->id;
        ti_arena *arena = ti_command_arena(graph);
        derive(graph, ti_shape_complete(task->shape, arena), wide, &graph->single, arena);
        graph->single.serial = 0;
    }
    return &graph->single;
}

static const uint64_t first_wide = (uint64_t)1 << 40; /* shapes have lower serials */

static ti_command_shape *wide_shape(ti_command_graph *graph, const ti_task *task, const ti_widening *wide)
{
    ti_command_shape *known = ti_command_wide_of(graph, task, wide);
    if (!known) {
        return derive_single(graph, task, wide);
    }
    known->last = task->id;
    if (!known->serial) {
        ti_arena_fini(&known->pieces);
        ti_arena_reserve(&known->pieces, size_of_piece(task->shape));
        derive(graph, task->shape, wide, known, &known->pieces);
        TI_ASSERT(task->shape->serial < first_wide);
        known->of = task->shape->serial;
        known->serial = ++graph->pure.serials | first_wide;
    }
    return known;
}

ti_command_shape *ti_command_shape_of(ti_command_graph *graph, const ti_task *task)
{
    const ti_shape *shape = task->shape;
    const ti_widening *wide = ti_command_widening_of(graph, task);
    if (wide) {
        return wide_shape(graph, task, wide);
    }
    if (!shape->serial) {
        return derive_single(graph, task, NULL);
    }
    while (graph->shape.count <= shape->number) {
        ti_vec_push(&graph->shape, TI_NEW(ti_command_shape));
    }
    ti_command_shape *known = graph->shape.data[shape->number];
    if (known->serial != shape->serial) {
        ti_arena_fini(&known->pieces);
        ti_arena_reserve(&known->pieces, size_of_piece(shape));
        derive(graph, shape, NULL, known, &known->pieces);
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
    for (size_t i = 0; i < graph->pure.wide.count; i++) {
        if (find_use(graph->pure.wide.data[i], graph->buffer.data[slot]->info)) {
            forget(graph->pure.wide.data[i]);
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
    for (size_t i = 0; i < graph->pure.wide.count; i++) {
        free_shape(graph->pure.wide.data[i]);
        TI_DELETE(graph->pure.wide.data[i]);
    }
    ti_vec_fini(&graph->pure.wide);
    free_shape(&graph->single);
    ti_vec_fini(&graph->shape);
}

const ti_command_use *ti_command_use_of(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_command_use *use = find_use(ti_command_shape_of(graph, task), buffer);
    TI_ASSERT(use && use->state == ti_command_buffer_of(graph, buffer));
    return use;
}
