/* The last checks of a new task, which need what the tasks before it have left: see context.h. Application thread. */
#include "api/check_overlap.h"

/* Take a task that is not submitted out of its arena again, unless the arena has opened another block for it. Programs
 * may try often; only a submitted task makes the horizon that recycles the arena. */
static void forget_task(tacit_context *ctx, ti_task *task)
{
    ti_arena *arena;
    char *newest = (char *)ti_task_graph_new(ti_runtime_task_graph(ctx->runtime), &arena);
    if ((char *)arena->block < (char *)task && (char *)task < newest) {
        arena->next = (char *)task;
    }
}

tacit_status ti_context_check(tacit_context *ctx, ti_task *task)
{
    ti_strbuf_clear(&ctx->error);
    tacit_status status = ti_task_graph_check(ti_runtime_task_graph(ctx->runtime), task, &ctx->error);
    status = status ? status : ti_check_overlap(ctx, task);
    if (status != TACIT_OK) {
        forget_task(ctx, task);
    }
    return status;
}
