/* Custom mappers. Application thread; tacit_region_add on any. */
#include "api/context.h"
#include "ir/custom.h"

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
    TI_TRY(ti_check_context(ctx, "tacit_mapper_create"));
    TI_TRY(ti_context_enter(ctx));
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

void tacit_region_add(tacit_region *region, tacit_box box)
{
    ti_box b = ti_box_from(&box);
    b = ti_box_intersect(&b, &region->extent);
    ti_region_add(&region->region, &b);
}
