/* Checks of a task's description: every error of the caller becomes a status and a sentence. Application thread. */
#ifndef TI_CHECK_TASK_H
#define TI_CHECK_TASK_H

#include "api/context.h"

/* What a check has found out. */
typedef struct ti_checked {
    uint32_t accesses;
    bool mixes; /* it reads elements that other items of it write */
} ti_checked;
tacit_status ti_check_task(tacit_context *ctx, const tacit_task *task, ti_checked *out);

/* A box of a buffer as the caller gave it, TACIT_BOX_ALL resolved. `who` names the call. */
tacit_status ti_check_box(tacit_context *ctx, const char *who, const tacit_buffer *buffer, tacit_box box, ti_box *out);

#endif
