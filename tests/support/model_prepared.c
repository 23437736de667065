/* Tasks that are prepared: see model_prepared.h. */
#include "model_prepared.h"

#include <string.h>

static tacit_status prepare(tacit_context *ctx, model_prepared *kept, const tacit_task *task)
{
    tacit_status status = tacit_prepared_destroy(ctx, kept->prepared);
    kept->prepared = NULL;
    return status == TACIT_OK ? tacit_prepare(ctx, task, &kept->prepared) : status;
}

tacit_status model_submit(tacit_context *ctx, model_prepared *kept, const tacit_task *task, bool prepares)
{
    tacit_status status = TACIT_OK;
    tacit_task like;
    if (!prepares) {
        return tacit_submit(ctx, task);
    }
    memcpy(&like, task, sizeof(like));
    like.args = NULL;
    like.name = NULL;
    if (!kept->prepared || memcmp(&like, &kept->like, sizeof(like)) != 0) {
        status = prepare(ctx, kept, task);
        memcpy(&kept->like, &like, sizeof(like));
    }
    return status == TACIT_OK ? tacit_start(ctx, kept->prepared, task->args) : status;
}
