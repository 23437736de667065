/* Buffers: creation, destruction. Application thread. */
#include "api/context.h"

enum { MOST_BYTES_BITS = 62 };

/* The extent of a range as a box; an error if it is empty or too large to count its bytes. */
static tacit_status check_extent(tacit_context *ctx, const tacit_buffer_desc *desc, const char *name, ti_box *out)
{
    *out = (ti_box){ { 0, 0, 0 }, { 1, 1, 1 } };
    if (desc->range.dims < 0 || desc->range.dims > TACIT_MAX_DIMS) {
        return ti_context_error(ctx, TACIT_ERROR_DIMENSION, "buffer '%s' has %d dimensions; use 0 to 3", name,
                                desc->range.dims);
    }
    size_t bytes = desc->elem_size;
    bool overflow = false;
    for (int d = 0; d < desc->range.dims; d++) {
        size_t n = desc->range.size[d];
        if (n == 0) {
            return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                    "buffer '%s' has size 0 in dimension %d; every dimension needs at least 1", name,
                                    d);
        }
        overflow |= __builtin_mul_overflow(bytes, n, &bytes);
        out->max[d] = (int64_t)n;
    }
    if (overflow || bytes > (size_t)1 << MOST_BYTES_BITS) {
        return ti_context_error(ctx, TACIT_ERROR_RANGE,
                                "buffer '%s' is larger than 2^%d bytes; check the sizes of its range", name,
                                MOST_BYTES_BITS);
    }
    return TACIT_OK;
}

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

static tacit_buffer *new_buffer(tacit_context *ctx, const tacit_buffer_desc *desc, const ti_box *extent)
{
    tacit_buffer *buffer = TI_NEW(tacit_buffer);
    ti_strbuf name = { 0 };
    ctx->buffers++;
    if (desc->name) {
        ti_strbuf_add(&name, "%s", desc->name);
    } else {
        ti_strbuf_add(&name, "B%llu", (unsigned long long)ctx->buffers);
    }
    buffer->context = ctx;
    buffer->info = (ti_buffer_info){
        .slot = take_slot(ctx),
        .dims = desc->range.dims,
        .serial = ctx->buffers,
        .name = ti_strdup(ti_strbuf_text(&name)),
        .extent = *extent,
        .elem_size = desc->elem_size,
    };
    ti_strbuf_fini(&name);
    link_buffer(&ctx->live, buffer);
    return buffer;
}

tacit_status tacit_buffer_create_sized(tacit_context *ctx, const tacit_buffer_desc *given, size_t size,
                                       tacit_buffer **out)
{
    if (!ctx) {
        return TACIT_ERROR_ARGUMENT;
    }
    TI_TRY(ti_context_enter(ctx));
    if (!given || !out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_buffer_create: %s is NULL",
                                given ? "out" : "the description");
    }
    tacit_buffer_desc desc = { 0 };
    __builtin_memcpy(&desc, given, size < sizeof(desc) ? size : sizeof(desc));
    const char *name = desc.name ? desc.name : "(no name)";
    ti_box extent;
    if (desc.elem_size == 0) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "buffer '%s' has elem_size 0; set .elem_size to sizeof of its element type", name);
    }
    TI_TRY(check_extent(ctx, &desc, name, &extent));
    ti_context_bury(ctx);
    tacit_buffer *buffer = new_buffer(ctx, &desc, &extent);
    ti_signal copied = { 0 };
    ti_arena *arena;
    ti_task *task = ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), &arena);
    task->kind = TI_TASK_CREATE;
    task->name = ti_arena_copy(arena, buffer->info.name, strlen(buffer->info.name) + 1);
    task->as.create.buffer = &buffer->info;
    task->as.create.init = desc.init;
    task->as.create.signal = desc.init && !desc.init_borrow ? &copied : NULL;
    bool must_wait = task->as.create.signal != NULL;
    ti_runtime_submit(ctx->runtime, task);
    if (must_wait) {
        ti_runtime_wait_signal(ctx->runtime, &copied);
    }
    *out = buffer;
    return ti_context_enter(ctx);
}

tacit_status tacit_buffer_destroy(tacit_context *ctx, tacit_buffer *buffer)
{
    if (!ctx) {
        return TACIT_ERROR_ARGUMENT;
    }
    if (!buffer) {
        return TACIT_OK;
    }
    TI_TRY(ti_context_check_thread(ctx));
    if (buffer->context != ctx || buffer->destroyed_by) {
        return ti_context_error(ctx, TACIT_ERROR_STATE,
                                "tacit_buffer_destroy: the buffer belongs to another context or is destroyed already");
    }
    ti_arena *arena;
    ti_task *task = ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), &arena);
    task->kind = TI_TASK_DESTROY;
    task->name = ti_arena_copy(arena, buffer->info.name, strlen(buffer->info.name) + 1);
    task->as.destroy = &buffer->info;
    ti_runtime_submit(ctx->runtime, task);
    buffer->destroyed_by = ti_task_graph_tasks(ti_runtime_task_graph(ctx->runtime));
    unlink_buffer(buffer);
    link_buffer(&ctx->dying, buffer);
    return TACIT_OK;
}

void ti_context_bury(tacit_context *ctx)
{
    uint64_t executed = ctx->finalized ? UINT64_MAX : ti_runtime_executed(ctx->runtime);
    for (tacit_buffer *buffer = ctx->dying, *next; buffer; buffer = next) {
        next = buffer->next;
        if (buffer->destroyed_by < executed) {
            unlink_buffer(buffer);
            ti_vec_push(&ctx->free_slots, buffer->info.slot);
            ti_strfree((char *)(uintptr_t)buffer->info.name);
            TI_DELETE(buffer);
        }
    }
}
