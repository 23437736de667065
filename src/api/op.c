/* Reduction operators of the program's own (tacit/access.h). Application thread. */
#include "api/context.h"

/* False without memory. */
static bool copy_bytes(const void *from, size_t size, const void **out)
{
    void *copy = size ? ti_try_alloc(size) : NULL;
    *out = copy ? __builtin_memcpy(copy, from, size) : NULL;
    return copy || !size;
}

tacit_status tacit_op_create_sized(tacit_context *ctx, const tacit_op_desc *given, size_t size, tacit_op *out)
{
    TI_TRY(ti_context_begin(ctx, "tacit_op_create"));
    ti_free_retired_functions(ctx);
    if (!given || !out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_op_create: %s is NULL",
                                given ? "out" : "the description");
    }
    tacit_op_desc desc = { 0 };
    __builtin_memcpy(&desc, given, TI_MIN(size, sizeof(desc)));
    if (!desc.combine || !desc.identity || desc.elem_size == 0 || (desc.user_size && !desc.user)) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_op_create: %s is missing",
                                !desc.combine         ? ".combine"
                                : !desc.identity      ? ".identity"
                                : desc.elem_size == 0 ? ".elem_size"
                                                      : ".user");
    }
    const void *identity = NULL, *user = NULL;
    if (!copy_bytes(desc.identity, desc.elem_size, &identity) || !copy_bytes(desc.user, desc.user_size, &user)) {
        ti_free((void *)(uintptr_t)identity, desc.elem_size);
        return ti_context_no_memory(
            ctx,
            "tacit_op_create: no memory for .identity and .user (%zu and %zu bytes); check .elem_size and .user_size",
            desc.elem_size, desc.user_size);
    }
    ti_user_op *op = TI_NEW(ti_user_op);
    op->desc = desc;
    op->desc.identity = identity;
    op->desc.user = user;
    *out = (tacit_op){ .kind = TACIT_OP_USER, .type = (int32_t)ctx->ops.count };
    ti_vec_push(&ctx->ops, op);
    ti_runtime_note(ctx->runtime, TI_SUBMITTED_OPERATOR, (uint64_t)out->type, desc.elem_size, desc.commutative);
    return TACIT_OK;
}

tacit_status tacit_op_destroy(tacit_context *ctx, tacit_op op)
{
    TI_TRY(ti_check_context(ctx, "tacit_op_destroy"));
    TI_TRY(ti_context_check_thread(ctx));
    if (op.kind != TACIT_OP_USER || op.type < 0 || (size_t)op.type >= ctx->ops.count) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT,
                                "tacit_op_destroy: there is no operator %d of kind %d; use what tacit_op_create gave",
                                op.type, op.kind);
    }
    if (ctx->ops.data[op.type]->destroyed) {
        return ti_context_error(ctx, TACIT_ERROR_STATE, "tacit_op_destroy: operator %d is destroyed already", op.type);
    }
    ti_retire_function(ctx, NULL, ctx->ops.data[op.type]);
    return TACIT_OK;
}
