/* Buffers: creation, filling, destruction, another extent (tacit/buffer.h). Application thread. */
#include "api/owners.h"
#include "api/shapes.h"
#include "base/map.h"

#include <stdio.h>
#include <string.h>

static uint32_t take_slot(tacit_context *ctx)
{
    return ctx->free_slots.count ? ctx->free_slots.data[--ctx->free_slots.count] : ctx->slots++;
}

static void link_buffer(tacit_buffer **list, tacit_buffer *buffer)
{
    buffer->next = *list;
    buffer->link = list;
    if (*list) {
        (*list)->link = &buffer->next;
    }
    *list = buffer;
}

static void unlink_buffer(tacit_buffer *buffer)
{
    *buffer->link = buffer->next;
    if (buffer->next) {
        buffer->next->link = buffer->link;
    }
}

/* With a slot and a number of its own. */
static ti_buffer_info *new_info(tacit_context *ctx, const char *name, int dims, const ti_box *extent, size_t elem_size)
{
    ti_buffer_info *info = TI_NEW(ti_buffer_info);
    char number[24];
    snprintf(number, sizeof(number), "B%llu", (unsigned long long)++ctx->buffers);
    *info = (ti_buffer_info){
        .slot = take_slot(ctx),
        .dims = dims,
        .serial = ctx->buffers,
        .name = ti_strdup(name ? name : number),
        .extent = *extent,
        .elem_size = elem_size,
    };
    return info;
}

static tacit_buffer *new_buffer(tacit_context *ctx, const tacit_buffer_desc *desc, const ti_box *extent)
{
    tacit_buffer *buffer = TI_HANDLE_NEW(tacit_buffer, TI_HANDLE_BUFFER);
    buffer->context = ctx;
    buffer->info = new_info(ctx, desc->name, desc->range.dims, extent, desc->elem_size);
    static const tacit_distribution none;
    if (memcmp(&desc->distribution, &none, sizeof(none)) != 0) {
        buffer->given = TI_NEW(tacit_distribution);
        *buffer->given = desc->distribution;
    }
    link_buffer(&ctx->live, buffer);
    return buffer;
}

static tacit_status check_buffer(tacit_context *ctx, const tacit_buffer_desc *desc, ti_box *extent)
{
    ti_strbuf who = { 0 };
    ti_strbuf_add(&who, "buffer '%s'", desc->name ? desc->name : "(no name)");
    const char *name = ti_strbuf_text(&who);
    tacit_status status = TACIT_OK;
    if (desc->elem_size == 0) {
        status = ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                  "%s has elem_size 0; set .elem_size to sizeof of its element type", name);
    } else if (desc->init && desc->init_local) {
        status = ti_context_error(
            ctx, TACIT_ERROR_ARGUMENT,
            "%s has .init and .init_local; give the whole contents on all nodes, or each node's own part", name);
    } else {
        status = ti_check_extent(ctx, name, desc->range, desc->elem_size, extent);
    }
    if (status == TACIT_OK) {
        status = ti_check_distribution(ctx, name, &desc->distribution, desc->range.dims, extent);
    }
    ti_strbuf_fini(&who);
    return status;
}

/* Nodes must agree on owners too. */
static void note_owners(tacit_context *ctx, const tacit_distribution *d)
{
    uint64_t words[1 + 2 * TACIT_MAX_DIMS] = { (uint64_t)d->kind }, any = words[0];
    for (int i = 0; i < TACIT_MAX_DIMS; i++) {
        words[1 + i] = (uint64_t)d->grid[i];
        words[1 + TACIT_MAX_DIMS + i] = d->block[i];
        any |= words[1 + i] | words[1 + TACIT_MAX_DIMS + i];
    }
    if (any) {
        ti_runtime_note(ctx->runtime, TI_SUBMITTED_OWNERS, ctx->buffers + 1, ti_hash_words(words, sizeof(words), 0), 0);
    }
}

static ti_user_copy whole_copy(ti_arena *arena, const ti_box *extent, const void *memory)
{
    ti_local_piece *piece = TI_ARENA_NEW(arena, ti_local_piece);
    *piece = (ti_local_piece){ *extent, *extent };
    return (ti_user_copy){ .memory = (void *)(uintptr_t)memory, .piece = piece, .pieces = memory ? 1 : 0 };
}

/* A shape with the buffer's name. */
static ti_shape *named_after(ti_task_graph *graph, const tacit_buffer *buffer)
{
    ti_arena *arena = ti_task_graph_arena(graph);
    return ti_task_graph_shape(graph, ti_arena_copy(arena, buffer->info->name, strlen(buffer->info->name) + 1));
}

static ti_task *make_create(tacit_context *ctx, const tacit_buffer_desc *desc, tacit_buffer *buffer)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_shape *shape = named_after(graph, buffer);
    ti_task *task = ti_task_graph_new(graph, TI_TASK_CREATE, shape);
    task->as.create.buffer = buffer->info;
    if (desc->init_local) {
        ti_distribution_shape(ctx, shape, arena, buffer, TACIT_WRITE);
        task->as.create.init = ti_distribution_copy(ctx, arena, buffer, desc->init_local);
    } else {
        task->as.create.init = whole_copy(arena, &buffer->info->extent, desc->init);
    }
    return task;
}

tacit_status tacit_buffer_create_sized(tacit_context *ctx, const tacit_buffer_desc *given, size_t size,
                                       tacit_buffer **out)
{
    TI_TRY(ti_context_begin(ctx, "tacit_buffer_create"));
    if (!given || !out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_buffer_create: %s is NULL",
                                given ? "out" : "the description");
    }
    tacit_buffer_desc desc = { 0 };
    __builtin_memcpy(&desc, given, size < sizeof(desc) ? size : sizeof(desc));
    ti_box extent;
    TI_TRY(check_buffer(ctx, &desc, &extent));
    ti_free_retired_buffers(ctx);
    note_owners(ctx, &desc.distribution);
    tacit_buffer *buffer = new_buffer(ctx, &desc, &extent);
    ti_task *task = make_create(ctx, &desc, buffer);
    ti_signal copied = { 0 };
    bool must_wait = task->as.create.init.memory && !desc.init_borrow;
    task->as.create.init.signal = must_wait ? &copied : NULL;
    ti_runtime_submit(ctx->runtime, task);
    if (must_wait) {
        ti_runtime_wait_signal(ctx->runtime, &copied);
    }
    *out = buffer;
    return ti_context_enter(ctx);
}

/* ---- filling */

/* The arguments of its task. The distribution lives until the tasks of its buffer are done. */
typedef struct filling {
    ti_distribution distribution;
    _Alignas(16) unsigned char value[];
} filling;

static void fill_box(const tacit_view *v, const ti_box *box, const unsigned char *value)
{
    size_t last = v->dims > 0 ? (size_t)v->dims - 1 : 0, size = v->elem_size;
    ti_box rows = *box;
    rows.max[last] = rows.min[last] + 1;
    size_t bytes = (size_t)(box->max[last] - box->min[last]) * size;
    for (int64_t i = rows.min[0]; i < rows.max[0]; i++) {
        for (int64_t j = rows.min[1]; j < rows.max[1]; j++) {
            for (int64_t k = rows.min[2]; k < rows.max[2]; k++) {
                const size_t at[3] = { (size_t)i, (size_t)j, (size_t)k };
                char *row = v->data;
                for (int d = 0; d < v->dims; d++) {
                    row += (at[d] - v->box.min[d]) * v->stride[d];
                }
                memcpy(row, value, size);
                for (size_t done = size; done < bytes; done *= 2) {
                    memcpy(row + done, row, TI_MIN(done, bytes - done));
                }
            }
        }
    }
}

/* Items are elements, or places for blocks of a cyclic distribution. */
static void fill_items(const tacit_launch *k)
{
    const filling *f = k->args;
    const tacit_view v = k->view[0];
    if (!f->distribution.cyclic) {
        ti_box box = ti_box_from(&k->chunk);
        fill_box(&v, &box, f->value);
        return;
    }
    int64_t places = ti_distribution_places(&f->distribution);
    for (int64_t c = (int64_t)k->chunk.min[0]; c < (int64_t)k->chunk.max[0]; c++) {
        ti_box block = ti_distribution_block(&f->distribution, (int)(c / places), c % places);
        if (!ti_box_is_empty(&block)) {
            fill_box(&v, &block, f->value);
        }
    }
}

tacit_status tacit_fill(tacit_context *ctx, tacit_buffer *buffer, const void *value)
{
    TI_TRY(ti_context_begin(ctx, "tacit_fill"));
    TI_TRY(ti_check_buffer(ctx, "tacit_fill", buffer));
    if (!value) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "tacit_fill: the value is NULL; pass the address of one element");
    }
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_shape *shape = ti_task_graph_shape(graph, "fill");
    ti_distribution_shape(ctx, shape, arena, buffer, TACIT_WRITE);
    shape->oversubscribe = 1;
    shape->host = fill_items;
    shape->args_size = sizeof(filling) + buffer->info->elem_size;
    filling *args = ti_arena_alloc(arena, shape->args_size);
    args->distribution = ti_buffer_distribution(buffer);
    memcpy(args->value, value, buffer->info->elem_size);
    ti_task *task = ti_task_graph_new(graph, TI_TASK_EXECUTE, shape);
    task->args = args;
    ti_runtime_submit(ctx->runtime, task);
    return ti_context_enter(ctx);
}

/* ---- the end of contents */

/* Submit that they go. Returns the id of the task. */
static uint64_t submit_destruction(tacit_context *ctx, const tacit_buffer *buffer)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_task *task = ti_task_graph_new(graph, TI_TASK_DESTROY, named_after(graph, buffer));
    task->as.destroy = buffer->info;
    ti_runtime_submit(ctx->runtime, task);
    ti_shapes_forget(ctx->shapes, buffer->info);
    return ti_task_graph_tasks(graph);
}

tacit_status tacit_buffer_destroy(tacit_context *ctx, tacit_buffer *buffer)
{
    TI_TRY(ti_check_context(ctx, "tacit_buffer_destroy"));
    if (!buffer) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    TI_TRY(ti_check_buffer(ctx, "tacit_buffer_destroy", buffer));
    buffer->destroyed_by = submit_destruction(ctx, buffer);
    unlink_buffer(buffer);
    link_buffer(&ctx->retired, buffer);
    return TACIT_OK;
}

/* ---- another extent: what tasks know of a buffer never changes, so it becomes a new one, with what stays of the
 * contents. The handle is that of the new one, and a handle that nobody has is that of the old one, until it goes. */

/* Items are elements. */
static void copy_items(const tacit_launch *k)
{
    const tacit_view *from = &k->view[0], *to = &k->view[1];
    size_t last = (size_t)to->dims - 1, bytes = (k->chunk.max[last] - k->chunk.min[last]) * to->elem_size;
    tacit_box rows = k->chunk;
    rows.max[last] = rows.min[last] + 1;
    for (size_t i = rows.min[0]; i < rows.max[0]; i++) {
        for (size_t j = rows.min[1]; j < rows.max[1]; j++) {
            for (size_t l = rows.min[2]; l < rows.max[2]; l++) {
                const size_t at[3] = { i, j, l };
                size_t there = 0, here = 0;
                for (int d = 0; d < to->dims; d++) {
                    there += (at[d] - to->box.min[d]) * to->stride[d];
                    here += (at[d] - from->box.min[d]) * from->stride[d];
                }
                memcpy((char *)to->data + there, (const char *)from->data + here, bytes);
            }
        }
    }
}

/* A task that copies one box, split along dimension 0 as others of this range are (TACIT_BALANCE included). */
static void submit_copy(tacit_context *ctx, const ti_buffer_info *from, const ti_buffer_info *to, const ti_box *box)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_shape *shape = ti_task_graph_shape(graph, "resize");
    const tacit_mapper same = tacit_one_to_one();
    ti_mapper part[TI_MAPPER_PARTS];
    ti_mapper_expand(&same, to->dims, part);
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, 2);
    access[0] = (ti_access){ .buffer = from, .mode = TACIT_READ, .mappers = 1 };
    access[1] = (ti_access){ .buffer = to, .mode = TACIT_WRITE, .mappers = 1 };
    access[0].mapper = access[1].mapper = ti_arena_copy(arena, part, sizeof(part[0]));
    shape->access = access;
    shape->accesses = 2;
    shape->dims = to->dims;
    shape->range = *box;
    shape->host = copy_items;
    shape->weights = ti_shares_of_nodes(ctx, arena);
    ti_shape_fill_footprints(shape, arena);
    ti_runtime_submit(ctx->runtime, ti_task_graph_new(graph, TI_TASK_EXECUTE, shape));
}

static void submit_copies(tacit_context *ctx, const ti_buffer_info *from, const ti_buffer_info *to)
{
    ti_boxes stays = { 0 };
    const ti_box common = ti_box_intersect(&from->extent, &to->extent);
    ti_task_graph_written(ti_runtime_task_graph(ctx->runtime), from, &common, &stays);
    for (size_t i = 0; i < stays.count; i++) {
        submit_copy(ctx, from, to, &stays.data[i]);
    }
    ti_vec_fini(&stays);
}

static tacit_status check_resize(tacit_context *ctx, const tacit_buffer *buffer, tacit_range range, ti_box *extent)
{
    const ti_buffer_info *info = buffer->info;
    if (range.dims != info->dims) {
        return ti_context_error(
            ctx, TACIT_ERROR_DIMENSION,
            "tacit_buffer_resize: buffer '%s' has %d dimensions, and the new range has %d; a buffer "
            "keeps its dimensions, so give a size for each",
            info->name, info->dims, range.dims);
    }
    ti_strbuf who = { 0 };
    ti_strbuf_add(&who, "tacit_buffer_resize: buffer '%s'", info->name);
    tacit_status status = ti_check_extent(ctx, ti_strbuf_text(&who), range, info->elem_size, extent);
    if (status == TACIT_OK) {
        status = ti_check_distribution(ctx, ti_strbuf_text(&who), buffer->given, info->dims, extent);
    }
    ti_strbuf_fini(&who);
    return status;
}

tacit_status tacit_buffer_resize(tacit_context *ctx, tacit_buffer *buffer, tacit_range range)
{
    ti_box extent;
    TI_TRY(ti_context_begin(ctx, "tacit_buffer_resize"));
    TI_TRY(ti_check_buffer(ctx, "tacit_buffer_resize", buffer));
    TI_TRY(check_resize(ctx, buffer, range, &extent));
    if (ti_box_equal(&extent, &buffer->info->extent)) {
        return TACIT_OK;
    }
    ti_free_retired_buffers(ctx);
    tacit_buffer *old = TI_HANDLE_NEW(tacit_buffer, TI_HANDLE_BUFFER);
    old->context = ctx;
    old->info = buffer->info;
    old->owners = buffer->owners;
    buffer->owners = NULL;
    buffer->info = new_info(ctx, old->info->name, old->info->dims, &extent, old->info->elem_size);
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_task *task = ti_task_graph_new(graph, TI_TASK_CREATE, named_after(graph, buffer));
    task->as.create.buffer = buffer->info;
    task->as.create.resizes = true;
    ti_runtime_submit(ctx->runtime, task);
    submit_copies(ctx, old->info, buffer->info);
    old->destroyed_by = submit_destruction(ctx, old);
    link_buffer(&ctx->retired, old);
    return ti_context_enter(ctx);
}

static void free_buffer(tacit_buffer *buffer)
{
    unlink_buffer(buffer);
    ti_strfree((char *)(uintptr_t)buffer->info->name);
    TI_DELETE(buffer->info);
    ti_free(buffer->given, buffer->given ? sizeof(*buffer->given) : 0);
    ti_handle_free(TI_HANDLE_BUFFER, buffer);
}

void ti_free_retired_buffers(tacit_context *ctx)
{
    uint64_t executed = ti_runtime_executed(ctx->runtime);
    for (tacit_buffer *buffer = ctx->retired, *next; buffer; buffer = next) {
        next = buffer->next;
        if (buffer->destroyed_by < executed) {
            ti_vec_push(&ctx->free_slots, buffer->info->slot);
            ti_release_owners(ctx, buffer);
            free_buffer(buffer);
        }
    }
}

void ti_free_all_buffers(tacit_context *ctx)
{
    while (ctx->live) {
        free_buffer(ctx->live);
    }
    while (ctx->retired) {
        free_buffer(ctx->retired);
    }
}
