/* tacit_submit (tacit/task.h): look for the shape of the description; if it is new, check it and make one; hand the
 * task on. Application thread. */
#include "api/check_task.h"
#include "api/description.h"
#include "api/owners.h"
#include "api/shapes.h"
#include "ir/block_tree.h"

#include <string.h>

/* Writes that scale down need chunk borders that map to whole elements. */
static void raise_granularity(ti_shape *shape, const tacit_access *a)
{
    for (int d = 0; d < a->buffer->info->dims && ti_mode_writes(a->mode); d++) {
        const tacit_component *c = &a->mapper.c[d];
        if (c->div > 1 && ti_component_follows(c) && !ti_mapper_has_rule(&a->mapper, TI_ARG_IS_HANDLE)) {
            shape->gran[c->dim] = ti_lcm(shape->gran[c->dim], c->div / ti_gcd(c->mul, c->div));
        }
    }
}

/* Items that write the same elements have to be in one call. Along the dimensions that a write leaves out nothing is
 * cut, for nodes, devices or workers; if dimension 0 is one of them, the chunk stays whole. By a custom mapper, items
 * of a split task write elements of their own; a placed one promises nothing. */
static void keep_together(ti_shape *shape, const tacit_task *from, const tacit_access *a)
{
    const bool custom = ti_mapper_has_rule(&a->mapper, TI_ARG_IS_HANDLE);
    if (!ti_mode_writes(a->mode) || (custom && !ti_task_is_placed(from))) {
        return;
    }
    const unsigned shared = custom ? 1 : ti_unmapped_dims(from, a);
    shape->whole_chunk |= shared & 1;
    for (int d = 1; d < from->range.dims; d++) {
        if (shared >> d & 1) {
            shape->gran[d] = TI_MAX(shape->gran[d], (int64_t)from->range.size[d]);
        }
    }
}

/* A reduction that includes the old contents also reads all of the buffer, on one node. */
static void fill_reduction(const tacit_context *ctx, ti_access *access, ti_arena *arena, const tacit_access *a)
{
    access->reducer = (ti_reducer){ a->op, a->op.kind == TACIT_OP_USER ? ctx->ops.data[a->op.type] : NULL };
    access->include_old = a->include_old;
    if (a->include_old) {
        const tacit_mapper all = tacit_all();
        ti_mapper part[TI_MAPPER_PARTS];
        access->mappers = (uint32_t)ti_mapper_expand(&all, a->buffer->info->dims, part);
        access->mapper = ti_arena_copy(arena, part, access->mappers * sizeof(part[0]));
    }
}

static void copy_accesses(const tacit_context *ctx, ti_shape *shape, ti_arena *arena, const tacit_task *from,
                          const ti_checked *checked)
{
    uint32_t count = checked->accesses;
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, count);
    for (uint32_t i = 0; i < count; i++) {
        const tacit_access *a = &from->access[i];
        access[i] = (ti_access){ .buffer = a->buffer->info, .mode = a->mode, .in_parts = a->in_parts };
        if (a->mode == TACIT_REDUCE) {
            fill_reduction(ctx, &access[i], arena, a);
        } else {
            access[i].kind = (uint8_t)a->mapper.kind;
            ti_mapper *part = TI_ARENA_ARRAY(arena, ti_mapper, ti_mapper_most(&a->mapper));
            access[i].mappers = (uint32_t)ti_mapper_expand(&a->mapper, a->buffer->info->dims, part);
            access[i].mapper = part;
            access[i].custom = ti_mapper_has_rule(&a->mapper, TI_ARG_IS_HANDLE) ? ctx->mappers.data[a->mapper.arg]
                                                                                : NULL;
            raise_granularity(shape, a);
            keep_together(shape, from, a);
        }
    }
    shape->access = access;
    shape->accesses = count;
    /* A (placed) task may read what other items of it write. Results depend on the order of calls then, so one call has
     * to do it all. */
    shape->whole_chunk |= checked->mixes;
}

/* With tacit_config.reproducible, a reduction is made of blocks of the range, and borders of chunks lie on those of
 * blocks. A placed task that needs one call for all of it is one block. */
static void cut_in_blocks(ti_shape *shape)
{
    int64_t length = shape->range.max[0] - shape->range.min[0];
    shape->in_blocks = true;
    shape->two_dimensional = false;
    shape->gran[0] = shape->place >= 0 && shape->whole_chunk ? length : ti_block_items(length, shape->gran[0]);
}

static bool reduces(const ti_shape *shape)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (shape->access[i].mode == TACIT_REDUCE) {
            return true;
        }
    }
    return false;
}

/* Which kinds of accelerators can run it. With reductions these are kernels in text, whose groups are as many as there
 * are partial results; none are in blocks. */
static int accelerators_of(const tacit_context *ctx, const ti_shape *shape)
{
    const tacit_kernel *k = shape->devices;
    if (!k || shape->on_host) {
        return 0;
    }
    if (reduces(shape)) {
        return ctx->reproducible ? 0
                                 : (k->opencl.source && !k->opencl.launch ? TI_OPENCL : 0) |
                                       (k->cuda.source && !k->cuda.launch ? TI_CUDA : 0);
    }
    return (k->opencl.launch || k->opencl.source ? TI_OPENCL : 0) | (k->cuda.launch || k->cuda.source ? TI_CUDA : 0);
}

/* How a task with reductions is cut into groups on an accelerator: of this node, or one that is simulated. */
static void choose_groups(const tacit_context *ctx, ti_shape *shape)
{
    enum { MAX_GROUPS = 512, GROUP_ITEMS = 256, MAX_BYTES = 16 * 1024 * 1024 };
    if (!shape->accelerated || !reduces(shape)) {
        return;
    }
    const bool is_opencl = ti_runtime_system(ctx->runtime)->accelerator == TI_OPENCL || shape->accelerated == TI_OPENCL;
    const size_t *group = is_opencl ? shape->devices->opencl.group : shape->devices->cuda.group;
    const size_t items = group[0] ? group[0] * TI_MAX(group[1], (size_t)1) * TI_MAX(group[2], (size_t)1) : GROUP_ITEMS;
    uint64_t most = MAX_GROUPS;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_buffer_info *buffer = shape->access[i].buffer;
        const uint64_t elements = MAX_BYTES / buffer->elem_size / TI_MAX((uint64_t)ti_box_volume(&buffer->extent), 1);
        most = shape->access[i].mode == TACIT_REDUCE ? TI_MIN(most, elements) : most;
    }
    shape->group_items = (uint32_t)TI_MIN(items, (size_t)UINT16_MAX);
    shape->most_groups = (uint32_t)TI_MAX(most, (uint64_t)1);
}

static void copy_where(const tacit_context *ctx, ti_shape *shape, ti_arena *arena, const tacit_task *from)
{
    bool one_node = from->on == TACIT_ON_ONE_NODE, everywhere = from->on == TACIT_ON_EVERY_NODE;
    shape->place = from->place.kind == TACIT_PLACE_NODE ? from->place.arg
                   : one_node                           ? 0
                   : everywhere                         ? TI_PLACE_EVERYWHERE
                                                        : TI_PLACE_SPLIT;
    shape->on = from->on;
    shape->on_host = from->on != TACIT_ON_DEVICES;
    shape->whole_chunk = from->hint.whole_chunk || shape->on_host;
    shape->two_dimensional = from->hint.split == TACIT_SPLIT_2D;
    shape->oversubscribe = one_node || everywhere ? 1 : TI_MAX(from->hint.oversubscribe, 1);
    shape->priority = from->hint.priority;
    shape->no_collectives = from->hint.no_collectives;
    shape->pure = from->hint.pure && from->hint.window != 1;
    shape->window = from->hint.window;
    shape->cost = from->cost;
    if (from->hint.weights) {
        shape->weights = ti_arena_copy(arena, from->hint.weights, (size_t)tacit_num_nodes(ctx) * sizeof(uint32_t));
    }
}

/* What TACIT_BALANCE says: once it is known that the task is split along dimension 0. */
static void weigh_nodes(const tacit_context *ctx, ti_shape *shape, ti_arena *arena)
{
    if (TI_LIKELY(!ti_runtime_balance(ctx->runtime)->on) || shape->place != TI_PLACE_SPLIT || shape->two_dimensional ||
        shape->weights || shape->dims == 0) {
        return;
    }
    shape->balanced = true;
    shape->weights = ti_shares_of_nodes(ctx, arena);
}

/* The borders that weights of items make: once granularity and place are known. */
static void cut_by_items(const tacit_context *ctx, ti_shape *shape, ti_arena *arena, const tacit_weights *weights)
{
    if (!weights || shape->place != TI_PLACE_SPLIT || shape->dims == 0) {
        return;
    }
    const ti_split_request request = { .range = shape->range,
                                       .gran = { shape->gran[0], shape->gran[1], shape->gran[2] },
                                       .nodes = tacit_num_nodes(ctx),
                                       .place = TI_PLACE_SPLIT,
                                       .oversubscribe = shape->oversubscribe,
                                       .weights = shape->weights };
    int64_t *border = TI_ARENA_ARRAY(arena, int64_t, (size_t)request.nodes * (size_t)request.oversubscribe + 1);
    shape->borders = ti_split_cut(&request, &weights->values, border);
    shape->border = border;
    shape->items = &weights->values;
}

static void copy_orders(ti_shape *shape, ti_arena *arena, const tacit_task *from)
{
    uint32_t order[TACIT_MAX_HOST_OBJECTS + 1];
    if (shape->place == TI_PLACE_EVERYWHERE) {
        shape->group = from->group ? from->group->number : 0;
        order[shape->orders++] = TI_ORDER_OF_COLLECTIVE_HOST + (uint32_t)shape->group;
    }
    for (int i = 0; i < TACIT_MAX_HOST_OBJECTS; i++) {
        if (from->host_object[i]) {
            order[shape->orders++] = from->host_object[i]->order;
        }
    }
    shape->order = ti_arena_copy(arena, order, shape->orders * sizeof(order[0]));
}

static const char *copy_name(ti_arena *arena, const char *name)
{
    return name ? ti_arena_copy(arena, name, strlen(name) + 1) : "task";
}

/* What a task touches of a buffer, if it is one box, gets the box's number; all of a buffer only if that is wanted. */
static void number_tile(const tacit_context *ctx, const ti_access *access, ti_footprint *touched, bool also_all)
{
    bool is_plain = access->buffer->dims > 0 && access->mode != TACIT_REDUCE && !access->custom && access->mappers == 1;
    if (is_plain && touched->boxes == 1 && (also_all || !ti_box_equal(touched->box, &access->buffer->extent))) {
        ti_tiles **tiles = ti_task_graph_tiles(ti_runtime_task_graph(ctx->runtime), access->buffer, NULL);
        touched->tile = ti_tiles_number(tiles, access->buffer->dims, touched->box);
    }
}

static void number_tiles(const tacit_context *ctx, const ti_shape *shape, bool also_all)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        number_tile(ctx, &shape->access[i], (ti_footprint *)(uintptr_t)&shape->footprint[i], also_all);
    }
}

static ti_shape *copy_shape(const tacit_context *ctx, ti_arena *arena, const tacit_task *from,
                            const ti_checked *checked)
{
    ti_shape *shape = ti_shape_new(arena, copy_name(arena, from->name));
    shape->dims = from->range.dims;
    shape->range = ti_task_range(from);
    for (int d = 0; d < from->range.dims; d++) {
        shape->gran[d] = (int64_t)TI_MAX(from->hint.granularity[d], (size_t)1);
    }
    shape->host = from->kernel.host;
    if (ti_description_has_others(from)) {
        shape->devices = ti_arena_copy(arena, &from->kernel, sizeof(from->kernel));
    }
    shape->args_size = from->args_size;
    shape->hash_args = from->hash_args;
    copy_where(ctx, shape, arena, from);
    copy_accesses(ctx, shape, arena, from, checked);
    if (from->place.kind == TACIT_PLACE_OWNER) {
        int i = from->place.arg;
        shape->place = ti_distribution_place(from->access[i].buffer, &shape->access[i], &shape->range);
    }
    shape->accelerated = accelerators_of(ctx, shape);
    choose_groups(ctx, shape);
    if (ctx->reproducible && reduces(shape)) {
        cut_in_blocks(shape);
    }
    weigh_nodes(ctx, shape, arena);
    cut_by_items(ctx, shape, arena, from->hint.item_weights);
    if (shape->on_host) {
        copy_orders(shape, arena, from);
    }
    ti_shape_fill_footprints(shape, arena);
    if (shape->place >= 0) {
        number_tiles(ctx, shape, false);
    }
    return shape;
}

/* What is destroyed must not be used; all else of the description is good. */
static tacit_status check_functions(tacit_context *ctx, const tacit_task *given)
{
    for (int i = 0; i < TACIT_MAX_ACCESSES && given->access[i].mode != 0; i++) {
        const tacit_access *a = &given->access[i];
        if (a->mode == TACIT_REDUCE) {
            if (a->op.kind == TACIT_OP_USER && ctx->ops.data[a->op.type]->destroyed) {
                return ti_context_error(ctx, TACIT_ERROR_STATE,
                                        "task '%s', access %d to buffer '%s': operator %d is destroyed",
                                        given->name ? given->name : "task", i, a->buffer->info->name, a->op.type);
            }
        } else if (ti_mapper_has_rule(&a->mapper, TI_ARG_IS_HANDLE) && ctx->mappers.data[a->mapper.arg]->destroyed) {
            return ti_context_error(ctx, TACIT_ERROR_STATE,
                                    "task '%s', access %d to buffer '%s': custom mapper %d is destroyed",
                                    given->name ? given->name : "task", i, a->buffer->info->name, a->mapper.arg);
        }
    }
    return TACIT_OK;
}

/* Check a description and make a shape of it, or none of an empty range. What is not good leaves nothing behind:
 * programs may try often. */
static tacit_status make_shape(tacit_context *ctx, const tacit_task *given, ti_arena *own, uint64_t task,
                               const ti_shape **out)
{
    ti_checked checked;
    TI_TRY(ti_check_task(ctx, given, &checked));
    TI_TRY(check_functions(ctx, given));
    if (checked.is_empty) {
        return TACIT_OK;
    }
    ti_arena *arena = own ? own : ti_task_graph_arena(ti_runtime_task_graph(ctx->runtime));
    ti_arena_mark before = ti_arena_here(arena);
    ti_shape *shape = copy_shape(ctx, arena, given, &checked);
    tacit_status status = ti_context_check(ctx, shape);
    if (status != TACIT_OK) {
        ti_arena_go_back(arena, before);
        return status;
    }
    if (!checked.mixes) {
        ti_shapes_keep_form(ctx->shapes, given, shape, task);
    }
    if (own && tacit_num_nodes(ctx) == 1) { /* only the task graph looks at numbers there: boxes are found at once */
        number_tiles(ctx, shape, true);
    }
    if (own) {
        ti_shapes_keep(ctx->shapes, given, shape, task);
    }
    *out = shape;
    return TACIT_OK;
}

/* A task of a form that runs elsewhere and touches tiles which are known: whether a brief has been made of it. */
static inline bool submit_brief(tacit_context *ctx, const ti_shape *form, const tacit_task *given,
                                const ti_touched *touched)
{
    const ti_system *system = ti_runtime_system(ctx->runtime);
    const int place = given->place.arg;
    if (!touched->of_form || place == system->node || (uint32_t)place >= (uint32_t)system->num_nodes) {
        return false;
    }
    const ti_brief_desc what = { form, touched->number, touched->corner, touched->full, place, given->args };
    return ti_runtime_submit_brief(ctx->runtime, &what);
}

static tacit_status make_of_form(tacit_context *ctx, const ti_shape *form, const tacit_task *given, ti_touched *touched,
                                 const ti_shape **out)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_arena_mark before = ti_arena_here(arena);
    tacit_status status = TACIT_OK;
    ti_tile_spread(form, touched);
    *out = ti_tile_shape(ctx, form, given, touched, arena);
    if (*out && !touched->apart) {
        status = ti_task_graph_check(graph, *out, &ctx->error);
    }
    if (status != TACIT_OK) {
        ti_arena_go_back(arena, before);
    }
    return status;
}

/* A shape of a description that is not known: of its form if that is, and if the shape is not to be kept. None, and no
 * error: nothing is left to submit. */
static tacit_status find_or_make_shape(tacit_context *ctx, const tacit_task *given, uint64_t task, bool returns,
                                       const ti_shape **out)
{
    const uint64_t executed = ti_runtime_executed(ctx->runtime);
    ti_arena *own = ti_shapes_passes(ctx->shapes) ? NULL : ti_shapes_begin(ctx->shapes, executed, returns);
    ti_touched *touched;
    const ti_shape *form = own ? NULL : ti_shapes_form(ctx->shapes, &touched);
    if (form) {
        if (submit_brief(ctx, form, given, touched)) {
            return TACIT_OK;
        }
        tacit_status status = make_of_form(ctx, form, given, touched, out);
        if (*out) {
            return status;
        }
    }
    tacit_status status = make_shape(ctx, given, own, task, out);
    if (!*out) {
        ti_shapes_abandon(ctx->shapes);
    }
    return status;
}

tacit_status ti_submit_check(tacit_context *ctx, const tacit_task *given)
{
    ti_checked checked;
    TI_TRY(ti_check_task(ctx, given, &checked));
    return check_functions(ctx, given);
}

static void submit(tacit_context *ctx, const ti_shape *shape, const void *args)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_task *task = ti_task_graph_new(graph, TI_TASK_EXECUTE, shape);
    task->args = ti_arena_copy(ti_task_graph_arena(graph), args, shape->args_size);
    ti_runtime_submit(ctx->runtime, task);
}

void ti_submit_again(tacit_context *ctx, const ti_shape *shape, const void *args)
{
    if (!ti_runtime_repeat(ctx->runtime, shape, args, NULL)) {
        submit(ctx, shape, args);
    }
}

tacit_status ti_submit(tacit_context *ctx, const tacit_task *given, bool returns, const ti_shape **out)
{
    const uint64_t task = ti_runtime_tasks(ctx->runtime) + 1;
    *out = ti_shapes_find(ctx->shapes, given, task);
    if (*out) {
        ti_submit_again(ctx, *out, given->args);
        return TACIT_OK;
    }
    TI_TRY(find_or_make_shape(ctx, given, task, returns, out));
    if (*out) {
        submit(ctx, *out, given->args);
    }
    return TACIT_OK;
}

tacit_status tacit_submit_sized(tacit_context *ctx, const tacit_task *given, size_t size)
{
    TI_TRY(ti_context_begin(ctx, "tacit_submit"));
    if (!given) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_submit: the task is NULL");
    }
    const ti_shape *shape;
    tacit_task padded;
    if (TI_UNLIKELY(size != sizeof(padded))) {
        memset(&padded, 0, sizeof(padded));
        memcpy(&padded, given, TI_MIN(size, sizeof(padded)));
        given = &padded;
    }
    ti_passes_submitted(&ctx->passes, given);
    return ti_submit(ctx, given, false, &shape);
}
