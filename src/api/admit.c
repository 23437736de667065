/* The last checks of a new task: that all it reads has been written, and that custom write mappers do not overlap. They
 * need the task graph and the mappers, and so come after those of the description (check_task.h). See context.h.
 * Application thread. */
#include "api/check_overlap.h"

tacit_status ti_context_check(tacit_context *ctx, const ti_shape *shape)
{
    ti_strbuf_clear(&ctx->error);
    tacit_status status = ti_task_graph_check(ti_runtime_task_graph(ctx->runtime), shape, &ctx->error);
    return status ? status : ti_check_overlap(ctx, shape);
}
