/* Fences, which bring contents of a buffer to the program (tacit/buffer.h). Application thread. */
#include "api/check_task.h"
#include "api/owners.h"
#include "api/shapes.h"
#include "base/log.h"

/* Every node reads the box: one item per node, and a mapper that is constant. */
static void fill_fence(const tacit_context *ctx, ti_shape *shape, ti_arena *arena, const tacit_buffer *buffer,
                       const ti_box *box)
{
    ti_mapper *mapper = TI_ARENA_NEW(arena, ti_mapper);
    ti_access *access = TI_ARENA_NEW(arena, ti_access);
    mapper->dims = buffer->info->dims;
    mapper->custom = -1;
    for (int d = 0; d < buffer->info->dims; d++) {
        mapper->c[d].kind = TACIT_COMPONENT_SPAN;
        mapper->c[d].lo = box->min[d];
        mapper->c[d].hi = box->max[d];
    }
    *access = (ti_access){ .buffer = buffer->info, .mapper = mapper, .mappers = 1, .mode = TACIT_READ };
    shape->range = (ti_box){ { 0, 0, 0 }, { tacit_num_nodes(ctx), 1, 1 } };
    shape->access = access;
    shape->accesses = 1;
    ti_shape_fill_footprints(shape, arena);
}

static void submit(tacit_context *ctx, const ti_shape *shape, ti_user_copy copy)
{
    ti_task *task = ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), TI_TASK_FENCE, shape);
    task->as.fence = copy;
    ti_runtime_submit(ctx->runtime, task);
}

/* Submit a fence whose shape has been filled, unless it reads what nobody has written. */
static tacit_status submit_shape(tacit_context *ctx, const ti_shape *shape, ti_arena_mark before, ti_user_copy copy)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    tacit_status status = ti_context_check(ctx, shape);
    if (status != TACIT_OK) {
        ti_arena_go_back(ti_task_graph_arena(graph), before);
        return status;
    }
    submit(ctx, shape, copy);
    return TACIT_OK;
}

/* Check a fence of a box and make its shape, in `own` if that is to be kept. What is not good leaves nothing behind. */
static tacit_status make_shape(tacit_context *ctx, const tacit_task *as, ti_arena *own, uint64_t number,
                               const ti_box *box, const ti_shape **out)
{
    ti_arena *arena = own ? own : ti_task_graph_arena(ti_runtime_task_graph(ctx->runtime));
    ti_arena_mark before = ti_arena_here(arena);
    ti_shape *shape = ti_shape_new(arena, as->name);
    shape->is_fence = true;
    fill_fence(ctx, shape, arena, as->access[0].buffer, box);
    tacit_status status = ti_context_check(ctx, shape);
    if (status != TACIT_OK) {
        ti_arena_go_back(arena, before);
        ti_shapes_abandon(ctx->shapes);
        return status;
    }
    if (own) {
        ti_shapes_keep(ctx->shapes, as, shape, number);
    }
    *out = shape;
    return TACIT_OK;
}

/* A fence that comes again has a shape like a task, so that loops with fences are known. It is the only description
 * without a kernel. */
static tacit_status find_shape(tacit_context *ctx, tacit_buffer *buffer, const ti_box *box, const ti_shape **out)
{
    tacit_task *as = ctx->fence;
    const uint64_t number = ti_runtime_tasks(ctx->runtime) + 1;
    as->name = "fence";
    as->range = tacit_range1((size_t)tacit_num_nodes(ctx));
    as->access[0] = tacit_read(buffer, tacit_fixed(ti_box_to_public(box)));
    *out = ti_shapes_find(ctx->shapes, as, number);
    if (*out) {
        return TACIT_OK;
    }
    ti_arena *own = ti_shapes_begin(ctx->shapes, ti_runtime_executed(ctx->runtime), false);
    return make_shape(ctx, as, own, number, box, out);
}

static tacit_status submit_fence(tacit_context *ctx, tacit_buffer *buffer, const ti_box *box, void *memory,
                                 ti_signal *signal)
{
    const ti_shape *shape;
    TI_TRY(find_shape(ctx, buffer, box, &shape));
    ti_user_copy copy = { .memory = memory, .signal = signal };
    if (ti_runtime_repeat(ctx->runtime, shape, NULL, &copy)) {
        return TACIT_OK;
    }
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_local_piece *piece = TI_ARENA_NEW(ti_task_graph_arena(graph), ti_local_piece);
    *piece = (ti_local_piece){ *box, *box };
    submit(ctx, shape, (ti_user_copy){ memory, piece, 1, signal });
    return TACIT_OK;
}

static tacit_status enter(tacit_context *ctx, const char *who, const tacit_buffer *buffer)
{
    TI_TRY(ti_context_begin(ctx, who));
    return ti_check_buffer(ctx, who, buffer);
}

static tacit_status check_fence(tacit_context *ctx, const char *who, const tacit_buffer *buffer, tacit_box box,
                                const void *out, ti_box *resolved)
{
    TI_TRY(enter(ctx, who, buffer));
    if (!out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "%s: the destination is NULL", who);
    }
    return ti_check_box(ctx, who, buffer, box, resolved);
}

/* A recorded run keeps what a program gets, since that may be what it decides by. */
static tacit_status wait_for_values(tacit_context *ctx, uint64_t number, const ti_signal *signal, void *data,
                                    size_t bytes)
{
    ti_runtime_wait_signal(ctx->runtime, signal);
    TI_TRY(ti_context_enter(ctx));
    if (number && bytes) {
        ti_runtime_give_values(ctx->runtime, number, data, bytes);
    }
    return TACIT_OK;
}

tacit_status tacit_fence_read(tacit_context *ctx, tacit_buffer *buffer, tacit_box box, void *dst)
{
    ti_box resolved;
    ti_signal signal = { 0 };
    TI_TRY(check_fence(ctx, "tacit_fence_read", buffer, box, dst, &resolved));
    TI_TRY(submit_fence(ctx, buffer, &resolved, dst, &signal));
    return wait_for_values(ctx, ti_runtime_fences(ctx->runtime), &signal, dst,
                           (size_t)ti_box_volume(&resolved) * buffer->info->elem_size);
}

tacit_status tacit_fence(tacit_context *ctx, tacit_buffer *buffer, tacit_box box, tacit_fence_ticket **out)
{
    ti_box resolved;
    TI_TRY(check_fence(ctx, "tacit_fence", buffer, box, out, &resolved));
    size_t bytes = (size_t)ti_box_volume(&resolved) * buffer->info->elem_size;
    bool fits = ti_runtime_keep_results(ctx->runtime, bytes);
    void *memory = fits ? ti_user_alloc(bytes) : NULL;
    if (!memory) {
        ti_runtime_drop_results(ctx->runtime, fits ? bytes : 0);
        return ti_context_no_memory(ctx, "tacit_fence: no memory for %zu bytes of buffer '%s'; read it in parts", bytes,
                                    buffer->info->name);
    }
    tacit_fence_ticket *ticket = TI_HANDLE_NEW(tacit_fence_ticket, TI_HANDLE_TICKET);
    ticket->context = ctx;
    ticket->serial = ti_handle_serial(TI_HANDLE_CONTEXT, ctx);
    ticket->memory = memory;
    ticket->bytes = bytes;
    tacit_status status = submit_fence(ctx, buffer, &resolved, memory, &ticket->signal);
    if (status != TACIT_OK) {
        ti_runtime_drop_results(ctx->runtime, bytes);
        ti_user_free(memory);
        ti_handle_free(TI_HANDLE_TICKET, ticket);
        return status;
    }
    ticket->number = ti_runtime_fences(ctx->runtime);
    *out = ticket;
    return TACIT_OK;
}

/* Tickets outlive their contexts if the program does not release them. */
static bool has_context(const tacit_fence_ticket *ticket)
{
    return ti_handle_serial(TI_HANDLE_CONTEXT, ticket->context) == ticket->serial;
}

tacit_status tacit_fence_get(tacit_fence_ticket *ticket, const void **data)
{
    if (!ticket || !data) {
        return ti_no_context(TACIT_ERROR_ARGUMENT, "tacit_fence_get: %s is NULL", ticket ? "data" : "the ticket");
    }
    if (!ti_handle_is_live(TI_HANDLE_TICKET, ticket)) {
        return ti_no_context(TACIT_ERROR_STATE,
                             "tacit_fence_get: the ticket is released, or is not one that tacit_fence gave");
    }
    if (!has_context(ticket)) {
        return ti_no_context(TACIT_ERROR_STATE,
                             "tacit_fence_get: the ticket's context is finalized; get the values before");
    }
    TI_TRY(ti_check_context(ticket->context, "tacit_fence_get"));
    TI_TRY(ti_context_check_thread(ticket->context));
    TI_TRY(wait_for_values(ticket->context, ticket->number, &ticket->signal, ticket->memory, ticket->bytes));
    ticket->number = 0;
    *data = ticket->memory;
    return TACIT_OK;
}

void tacit_fence_release(tacit_fence_ticket *ticket)
{
    if (!ticket) {
        return;
    }
    if (!ti_handle_is_live(TI_HANDLE_TICKET, ticket)) {
        ti_log(TI_LOG_ERROR,
               "tacit_fence_release: the ticket is released already, or is not one that tacit_fence gave");
        return;
    }
    if (has_context(ticket)) {
        if (ti_check_context(ticket->context, "tacit_fence_release") != TACIT_OK) {
            return;
        }
        ti_runtime_wait_signal(ticket->context->runtime, &ticket->signal);
        ti_runtime_drop_results(ticket->context->runtime, ticket->bytes);
    }
    ti_user_free(ticket->memory);
    ti_handle_free(TI_HANDLE_TICKET, ticket);
}

tacit_status tacit_fence_local(tacit_context *ctx, tacit_buffer *buffer, void *dst)
{
    int64_t size[3];
    TI_TRY(enter(ctx, "tacit_fence_local", buffer));
    const ti_distribution distribution = ti_buffer_distribution(buffer);
    ti_distribution_local(&distribution, tacit_node(ctx), size);
    if (size[0] && !dst) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "tacit_fence_local: the destination is NULL, but this node owns part of buffer '%s'",
                                buffer->info->name);
    }
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    ti_arena *arena = ti_task_graph_arena(graph);
    ti_arena_mark before = ti_arena_here(arena);
    ti_signal signal = { 0 };
    ti_shape *shape = ti_task_graph_shape(graph, "fence");
    ti_distribution_shape(ctx, shape, arena, buffer, TACIT_READ);
    ti_user_copy copy = ti_distribution_copy(ctx, arena, buffer, dst);
    copy.signal = &signal;
    TI_TRY(submit_shape(ctx, shape, before, copy));
    size_t bytes = (size_t)(size[0] * size[1] * size[2]) * buffer->info->elem_size;
    return wait_for_values(ctx, ti_runtime_fences(ctx->runtime), &signal, dst, bytes);
}
