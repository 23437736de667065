/* Reduction operators of the program's own. Application thread. */
#include "api/context.h"

static void *copy_bytes(const void *from, size_t size)
{
    return size ? __builtin_memcpy(ti_alloc(size), from, size) : NULL;
}

tacit_status tacit_op_create_sized(tacit_context *ctx, const tacit_op_desc *given, size_t size, tacit_op *out)
{
    if (!ctx) {
        return TACIT_ERROR_ARGUMENT;
    }
    TI_TRY(ti_context_enter(ctx));
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
    ti_user_op *op = TI_NEW(ti_user_op);
    op->desc = desc;
    op->desc.identity = copy_bytes(desc.identity, desc.elem_size);
    op->desc.user = copy_bytes(desc.user, desc.user_size);
    *out = (tacit_op){ .kind = TACIT_OP_USER, .type = (int32_t)ctx->ops.count };
    ti_vec_push(&ctx->ops, op);
    return TACIT_OK;
}
