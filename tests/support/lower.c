/* From random programs to tasks: see lower.h. */
#include "lower.h"

#include "ir/block_tree.h"
#include "ir/system.h"

#include <stdlib.h>
#include <string.h>

ti_box lower_box(const gen_box *box)
{
    ti_box b;
    memcpy(b.min, box->min, sizeof(b.min));
    memcpy(b.max, box->max, sizeof(b.max));
    return b;
}

void lower_init(lowering *l, const gen_program *program)
{
    *l = (lowering){ .program = program };
    l->info = TI_NEW_ARRAY(ti_buffer_info, program->buffer.count);
    l->custom = TI_NEW_ARRAY(ti_custom_mapper, program->custom.count);
    for (size_t i = 0; i < program->buffer.count; i++) {
        const gen_buffer *b = &program->buffer.data[i];
        gen_box extent = gen_extent(b);
        l->info[i] = (ti_buffer_info){ .dims = b->range.dims,
                                       .serial = i,
                                       .name = "buffer",
                                       .extent = lower_box(&extent),
                                       .elem_size = b->elem_size };
    }
    for (size_t i = 0; i < program->custom.count; i++) {
        gen_custom *c = &program->custom.data[i];
        l->custom[i] = (ti_custom_mapper){ .fn = gen_custom_mapper,
                                           .user = c,
                                           .user_size = sizeof(*c),
                                           .properties = c->kind == GEN_CUSTOM_FIXED ? TACIT_MAPPER_CONSTANT : 0,
                                           .handle = (int)i };
    }
}

void lower_fini(lowering *l)
{
    ti_free(l->info, l->program->buffer.count * sizeof(*l->info));
    ti_free(l->custom, l->program->custom.count * sizeof(*l->custom));
    for (size_t i = 0; i < l->weights.count; i++) {
        ti_weights_fini(l->weights.data[i]);
        TI_DELETE(l->weights.data[i]);
    }
    ti_vec_fini(&l->weights);
    ti_vec_fini(&l->free_slots);
    ti_vec_fini(&l->retired_slots);
    ti_vec_fini(&l->fences);
    ti_vec_fini(&l->known);
    ti_arena_fini(&l->memory);
}

void lower_begin(lowering *l, const gen_step *step)
{
    if (step->kind == GEN_CREATE) {
        bool reuse = l->free_slots.count > 0;
        l->info[step->index].slot = reuse ? l->free_slots.data[--l->free_slots.count] : l->slots++;
    }
}

void lower_end(lowering *l, const gen_step *step)
{
    if (step->kind == GEN_DESTROY) {
        ti_vec_push(&l->retired_slots, l->info[step->index].slot);
    }
    while (step->kind == GEN_WAIT && l->retired_slots.count) { /* as in contexts, which know then that all is done */
        ti_vec_push(&l->free_slots, l->retired_slots.data[--l->retired_slots.count]);
    }
}

static void lower_access(const lowering *l, const gen_access *from, ti_arena *arena, ti_access *to)
{
    ti_mapper mapper[TI_MAPPER_PARTS];
    memset(to, 0, sizeof(*to));
    to->buffer = &l->info[from->buffer];
    to->mode = from->mode;
    to->reducer.op = from->op;
    to->include_old = from->include_old;
    to->in_parts = from->in_parts;
    if (from->mode == TACIT_REDUCE && !from->include_old) {
        return;
    }
    to->kind = (uint8_t)from->mapper.kind;
    to->mappers = (uint32_t)ti_mapper_expand(&from->mapper, to->buffer->dims, mapper);
    to->mapper = ti_arena_copy(arena, mapper, to->mappers * sizeof(*mapper));
    to->custom = from->mapper.kind == TACIT_MAPPER_CUSTOM ? &l->custom[from->mapper.arg] : NULL;
}

static void lower_blocks(ti_shape *shape)
{
    int64_t length = shape->range.max[0] - shape->range.min[0];
    shape->two_dimensional = false;
    if (shape->place >= 0 && shape->whole_chunk) {
        shape->gran[0] = length > 0 ? length : 1;
    } else {
        shape->gran[0] = ti_block_items(length, shape->gran[0]);
        shape->gran[0] = shape->gran[0] > 0 ? shape->gran[0] : 1;
    }
}

static uint32_t lower_orders(const gen_task *from, ti_arena *arena, const uint32_t **out)
{
    uint32_t order[GEN_OBJECTS + 1], count = 0;
    if (gen_is_everywhere(from)) {
        order[count++] = TI_ORDER_OF_COLLECTIVE_HOST + (uint32_t)from->group;
    }
    for (uint32_t i = 0; i < GEN_OBJECTS; i++) {
        if (from->objects >> i & 1) {
            order[count++] = TI_ORDER_OF_OBJECTS + i;
        }
    }
    *out = count ? ti_arena_copy(arena, order, count * sizeof(order[0])) : NULL;
    return count;
}

/* Weights of items live as long as the lowering. */
static void lower_items(lowering *l, const gen_task *from, ti_arena *arena, ti_shape *to)
{
    if (!from->items || to->place != TI_PLACE_SPLIT || ti_box_is_empty(&to->range)) {
        return;
    }
    const ti_split_request request = { .range = to->range,
                                       .gran = { to->gran[0], to->gran[1], to->gran[2] },
                                       .nodes = l->program->nodes,
                                       .place = TI_PLACE_SPLIT,
                                       .oversubscribe = to->oversubscribe,
                                       .weights = to->weights };
    ti_weights *items = TI_NEW(ti_weights);
    if (ti_weights_init(items, from->items, from->item_count) != TI_WEIGHTS_OK) {
        abort();
    }
    ti_vec_push(&l->weights, items);
    int64_t *border = TI_ARENA_ARRAY(arena, int64_t, (size_t)request.nodes * (size_t)request.oversubscribe + 1);
    to->borders = ti_split_cut(&request, items, border);
    to->border = border;
    to->items = items;
}

/* Which kinds of accelerators have a kernel for it. */
static int lower_accelerated(const lowering *l, const gen_task *from)
{
    bool can = l->accelerators && from->on == TACIT_ON_DEVICES;
    for (int i = 0; i < from->accesses; i++) {
        can = can && from->access[i].mode != TACIT_REDUCE;
    }
    return can && (from - l->program->task.data) % 2 ? TI_CUDA : 0;
}

static void lower_task(lowering *l, const gen_task *from, ti_arena *arena, ti_shape *to)
{
    gen_box items = gen_items(from);
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, (size_t)from->accesses);
    int node;
    for (int i = 0; i < from->accesses; i++) {
        lower_access(l, &from->access[i], arena, &access[i]);
    }
    to->whole_chunk = from->whole_chunk;
    to->no_collectives = from->no_collectives;
    to->pure = from->pure && from->window != 1;
    to->window = from->window;
    to->cost = from->cost;
    to->on_host = from->on != TACIT_ON_DEVICES;
    to->two_dimensional = from->split == TACIT_SPLIT_2D;
    to->priority = from->priority;
    to->place = gen_is_placed(from, &node) ? node : gen_is_everywhere(from) ? TI_PLACE_EVERYWHERE : TI_PLACE_SPLIT;
    to->orders = lower_orders(from, arena, &to->order);
    to->oversubscribe = from->oversubscribe ? from->oversubscribe : 1;
    to->dims = from->range.dims;
    to->name = from->name ? from->name : "task";
    to->range = lower_box(&items);
    gen_granularity(from, to->gran);
    to->weights = from->weights ? ti_arena_copy(arena, from->weights, (size_t)l->program->nodes * sizeof(uint32_t))
                                : NULL;
    to->access = access;
    to->accelerated = lower_accelerated(l, from);
    to->accesses = (uint32_t)from->accesses;
    for (int i = 0; i < from->accesses && l->reproducible; i++) {
        to->in_blocks = to->in_blocks || from->access[i].mode == TACIT_REDUCE;
    }
    if (to->in_blocks) {
        lower_blocks(to);
    }
    lower_items(l, from, arena, to);
    ti_shape_fill_footprints(to, arena);
}

/* A fence is a read of its box by one item per node. */
static void lower_fence(const lowering *l, const gen_step *step, ti_arena *arena, ti_shape *to)
{
    gen_access read = { .buffer = step->index, .mode = TACIT_READ };
    tacit_box box;
    for (int d = 0; d < 3; d++) {
        box.min[d] = (size_t)step->box.min[d];
        box.max[d] = (size_t)step->box.max[d];
    }
    read.mapper = tacit_fixed(box);
    ti_access *access = TI_ARENA_NEW(arena, ti_access);
    lower_access(l, &read, arena, access);
    to->range = (ti_box){ { 0, 0, 0 }, { l->program->nodes, 1, 1 } };
    to->access = access;
    to->accesses = 1;
    to->is_fence = true;
    ti_shape_fill_footprints(to, arena);
}

/* The same again for one that is known. */
static const ti_shape *fence_shape(lowering *l, const gen_step *step, ti_task_graph *graph)
{
    const bool keeps = l->shapes && !l->serial;
    const ti_box box = lower_box(&step->box);
    for (size_t i = 0; keeps && i < l->fences.count; i++) {
        const ti_shape *f = l->fences.data[i];
        if (f->access->buffer == &l->info[step->index] && ti_box_equal(&f->footprint->bounding, &box)) {
            return f;
        }
    }
    ti_shape *shape = keeps ? ti_shape_new(&l->memory, "fence") : ti_task_graph_shape(graph, "fence");
    lower_fence(l, step, keeps ? &l->memory : ti_task_graph_arena(graph), shape);
    if (keeps) {
        shape->serial = l->program->task.count + 1 + l->fences.count;
        shape->number = (uint32_t)shape->serial;
        ti_vec_push(&l->fences, shape);
    }
    return shape;
}

static ti_user_copy lower_copy(const gen_step *step, ti_arena *arena)
{
    ti_local_piece *piece = TI_ARENA_NEW(arena, ti_local_piece);
    piece->box = piece->whole = lower_box(&step->box);
    return (ti_user_copy){ .memory = piece, .piece = piece, .pieces = 1 };
}

static ti_task *new_task(ti_task_graph *graph, ti_task_kind kind, const char *name)
{
    return ti_task_graph_new(graph, kind, ti_task_graph_shape(graph, name));
}

static ti_task *lower_create(lowering *l, int index, ti_task_graph *graph)
{
    ti_task *task = new_task(graph, TI_TASK_CREATE, "create");
    task->as.create.buffer = &l->info[index];
    task->as.create.init.memory = l->program->buffer.data[index].initialised ? &l->info[index] : NULL;
    return task;
}

/* The shape of a task of the pool: the same again for one that is known. */
static const ti_shape *shape_of(lowering *l, int index, ti_task_graph *graph)
{
    uint64_t serial = l->serial ? l->serial : l->shapes ? (uint64_t)index + 1 : 0;
    while (l->known.count <= serial) {
        ti_vec_push(&l->known, NULL);
    }
    if (serial && l->known.data[serial]) {
        return l->known.data[serial];
    }
    ti_arena *arena = serial ? &l->memory : ti_task_graph_arena(graph);
    ti_shape *shape = ti_shape_new(arena, "task");
    lower_task(l, &l->program->task.data[index], arena, shape);
    shape->serial = serial;
    shape->number = (uint32_t)serial;
    l->known.data[serial] = serial ? shape : NULL;
    return shape;
}

ti_task *lower_step(lowering *l, const gen_step *step, ti_task_graph *graph)
{
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_task *task = NULL;
    switch (step->kind) {
    case GEN_CREATE:
        return lower_create(l, step->index, graph);
    case GEN_DESTROY:
        task = new_task(graph, TI_TASK_DESTROY, "destroy");
        task->as.destroy = &l->info[step->index];
        return task;
    case GEN_TASK:
        return ti_task_graph_new(graph, TI_TASK_EXECUTE, shape_of(l, step->index, graph));
    case GEN_FENCE:
        task = ti_task_graph_new(graph, TI_TASK_FENCE, fence_shape(l, step, graph));
        task->as.fence = lower_copy(step, arena);
        return task;
    case GEN_WAIT:
        task = new_task(graph, TI_TASK_EPOCH, "wait");
        task->as.barrier = step->index != GEN_ALONE;
        return task;
    case GEN_FLUSH:
        return new_task(graph, TI_TASK_HORIZON, "flush");
    case GEN_FILL: /* of public programs */
    case GEN_RESIZE:
        break;
    }
    return task;
}
