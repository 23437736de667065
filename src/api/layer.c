/* What libraries on top of tacit need (tacit/layer.h). Application thread. */
#include "tacit/layer.h"
#include "api/context.h"

#include <stdarg.h>

tacit_status tacit_buffer_get_facts(tacit_context *ctx, tacit_buffer *buffer, tacit_buffer_facts *out)
{
    TI_TRY(ti_check_context(ctx, "tacit_buffer_get_facts"));
    TI_TRY(ti_check_buffer(ctx, "tacit_buffer_get_facts", buffer));
    if (!out) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_buffer_get_facts: out is NULL");
    }
    const ti_buffer_info *info = buffer->info;
    *out = (tacit_buffer_facts){ .elem_size = info->elem_size, .name = info->name, .range.dims = info->dims };
    for (int d = 0; d < TACIT_MAX_DIMS; d++) {
        out->range.size[d] = (size_t)info->extent.max[d];
    }
    return TACIT_OK;
}

tacit_status tacit_refuse(tacit_context *ctx, tacit_status status, const char *format, ...)
{
    TI_TRY(ti_check_context(ctx, "tacit_refuse"));
    va_list args;
    va_start(args, format);
    ti_strbuf_clear(&ctx->error);
    ti_strbuf_vadd(&ctx->error, format, args);
    va_end(args);
    return status;
}

tacit_status tacit_attach(tacit_context *ctx, const void *key, void *value, void (*end)(void *value))
{
    TI_TRY(ti_check_context(ctx, "tacit_attach"));
    if (!key || !value) {
        return ti_context_error(ctx, TACIT_ERROR_ARGUMENT, "tacit_attach: the %s is NULL", key ? "value" : "key");
    }
    if (tacit_attached(ctx, key)) {
        return ti_context_error(ctx, TACIT_ERROR_STATE,
                                "tacit_attach: something is attached by this key already; ask tacit_attached before");
    }
    const ti_attachment new = { key, value, end };
    ti_vec_push(&ctx->attachments, new);
    return TACIT_OK;
}

void *tacit_attached(tacit_context *ctx, const void *key)
{
    if (ti_check_context(ctx, "tacit_attached") == TACIT_OK) {
        for (size_t i = 0; i < ctx->attachments.count; i++) {
            if (ctx->attachments.data[i].key == key) {
                return ctx->attachments.data[i].value;
            }
        }
    }
    return NULL;
}

void ti_free_attachments(tacit_context *ctx)
{
    while (ctx->attachments.count) {
        const ti_attachment last = ctx->attachments.data[--ctx->attachments.count];
        if (last.end) {
            last.end(last.value);
        }
    }
    ti_vec_fini(&ctx->attachments);
}
