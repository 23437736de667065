/* The last checks of a new shape, which need what the tasks before it have left: see context.h. Application thread. */
#include "api/check_overlap.h"

tacit_status ti_context_check(tacit_context *ctx, const ti_shape *shape)
{
    ti_strbuf_clear(&ctx->error);
    tacit_status status = ti_task_graph_check(ti_runtime_task_graph(ctx->runtime), shape, &ctx->error);
    return status ? status : ti_check_overlap(ctx, shape);
}
