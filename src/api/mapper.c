/* Custom mappers (tacit/mapper.h): creation and destruction. Mappers and operators that the program has destroyed are
 * kept here until their last task has been executed. Application thread; tacit_region_add: any thread. */
#include "api/context.h"
#include "api/shapes.h"
#include "ir/custom.h"

/* ---- what has been destroyed */

static void free_mapper(ti_custom_mapper *mapper)
{
    ti_free(mapper->user, mapper->user_size);
    ti_custom_answers_destroy(mapper->answers);
    mapper->user = NULL;
    mapper->user_size = 0;
    mapper->answers = NULL;
}

static void free_op(ti_user_op *op)
{
    ti_free((void *)(uintptr_t)op->desc.identity, op->desc.identity ? op->desc.elem_size : 0);
    ti_free((void *)(uintptr_t)op->desc.user, op->desc.user_size);
    op->desc.identity = op->desc.user = NULL;
    op->desc.user_size = 0;
}

void ti_free_retired_functions(tacit_context *ctx)
{
    uint64_t executed = ti_runtime_executed(ctx->runtime);
    size_t left = 0;
    for (size_t i = 0; i < ctx->retired_functions.count; i++) {
        const ti_retired *r = &ctx->retired_functions.data[i];
        if (r->task >= executed) {
            ctx->retired_functions.data[left++] = *r;
        } else if (r->mapper) {
            free_mapper(r->mapper);
        } else {
            free_op(r->op);
        }
    }
    ctx->retired_functions.count = left;
}

void ti_free_all_functions(tacit_context *ctx)
{
    for (size_t i = 0; i < ctx->mappers.count; i++) {
        free_mapper(ctx->mappers.data[i]);
        TI_DELETE(ctx->mappers.data[i]);
    }
    for (size_t i = 0; i < ctx->ops.count; i++) {
        free_op(ctx->ops.data[i]);
        TI_DELETE(ctx->ops.data[i]);
    }
    ti_vec_fini(&ctx->mappers);
    ti_vec_fini(&ctx->ops);
    ti_vec_fini(&ctx->retired_functions);
}

void ti_retire_function(tacit_context *ctx, ti_custom_mapper *mapper, ti_user_op *op)
{
    ti_retired r = { mapper, op, ti_task_graph_tasks(ti_runtime_task_graph(ctx->runtime)) };
    *(mapper ? &mapper->destroyed : &op->destroyed) = true;
    ti_shapes_forget_function(ctx->shapes, mapper, op);
    ti_vec_push(&ctx->retired_functions, r);
    ti_free_retired_functions(ctx);
}

/* ---- */

int ti_context_add_mapper(tacit_context *ctx, tacit_mapper_fn *fn, void *user, size_t user_size, unsigned properties)
{
    ti_custom_mapper *mapper = TI_NEW(ti_custom_mapper);
    mapper->fn = fn;
    mapper->user = user;
    mapper->user_size = user_size;
    mapper->properties = properties;
    mapper->handle = (int)ctx->mappers.count;
    mapper->answers = ti_custom_answers_create();
    ti_vec_push(&ctx->mappers, mapper);
    return mapper->handle;
}

tacit_status tacit_mapper_create(tacit_context *ctx, tacit_mapper_fn *fn, const void *user, size_t user_size,
                                 unsigned properties, int *out)
{
    TI_TRY(ti_context_begin(ctx, "tacit_mapper_create"));
    ti_free_retired_functions(ctx);
    if (!fn || !out || (user_size && !user)) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_mapper_create: %s is NULL",
                                !fn    ? "the function"
                                : !out ? "out"
                                       : "user");
    }
    if (properties & ~(unsigned)TACIT_MAPPER_CONSTANT) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "tacit_mapper_create: there are no properties %#x; use 0 or TACIT_MAPPER_CONSTANT",
                                properties);
    }
    void *copy = NULL;
    if (user_size && !(copy = ti_try_alloc(user_size))) {
        return ti_context_no_memory(ctx, "tacit_mapper_create: no memory for the %zu bytes at user; check user_size",
                                    user_size);
    }
    *out = ti_context_add_mapper(ctx, fn, copy ? __builtin_memcpy(copy, user, user_size) : NULL, user_size, properties);
    ti_runtime_note(ctx->runtime, TI_SUBMITTED_MAPPER, (uint64_t)*out, user_size, properties);
    return TACIT_OK;
}

tacit_status tacit_mapper_destroy(tacit_context *ctx, int handle)
{
    TI_TRY(ti_check_context(ctx, "tacit_mapper_destroy"));
    TI_TRY(ti_context_check_thread(ctx));
    if (handle < 0 || (size_t)handle >= ctx->mappers.count) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "tacit_mapper_destroy: there is no custom mapper %d; use the handle from "
                                "tacit_mapper_create",
                                handle);
    }
    if (ctx->mappers.data[handle]->destroyed) {
        return ti_context_error(ctx, TACIT_ERROR_STATE, "tacit_mapper_destroy: custom mapper %d is destroyed already",
                                handle);
    }
    ti_retire_function(ctx, ctx->mappers.data[handle], NULL);
    return TACIT_OK;
}

void tacit_region_add(tacit_region *region, tacit_box box)
{
    ti_box b = ti_box_from(&box);
    b = ti_box_intersect(&b, &region->extent);
    ti_region_add(&region->region, &b);
}
