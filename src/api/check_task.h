/* Checks of a task's description: every error of the caller becomes a status and a sentence. Application thread. */
#ifndef TI_CHECK_TASK_H
#define TI_CHECK_TASK_H

#include "api/context.h"

/* Number of accesses in *accesses. */
tacit_status ti_check_task(tacit_context *ctx, const tacit_task *task, uint32_t *accesses);

/* Whether two mappers of a buffer with `dims` dimensions are the same function. */
bool ti_check_same_mapper(const tacit_mapper *a, const tacit_mapper *b, int dims);

/* Whether two accesses of a task to one buffer touch different elements, whatever the chunk. */
bool ti_check_are_apart(const tacit_task *task, const tacit_access *a, const tacit_access *b);

/* A box of a buffer as the caller gave it, TACIT_BOX_ALL resolved. `who` names the call. */
tacit_status ti_check_box(tacit_context *ctx, const char *who, const tacit_buffer *buffer, tacit_box box, ti_box *out);

#endif
