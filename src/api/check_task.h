/* Checks of a task's description: every error of the caller becomes a status and a sentence. Application thread. */
#ifndef TI_CHECK_TASK_H
#define TI_CHECK_TASK_H

#include "api/context.h"

/* One node runs all of the task. */
static inline bool ti_task_is_placed(const tacit_task *t)
{
    return t->place.kind != TACIT_PLACE_SPLIT || t->on == TACIT_ON_ONE_NODE;
}

/* Its range as a box; dimensions that it does not have are [0, 1). */
static inline ti_box ti_task_range(const tacit_task *t)
{
    ti_box range = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < t->range.dims; d++) {
        range.min[d] = (int64_t)t->offset[d];
        range.max[d] = range.min[d] + (int64_t)t->range.size[d];
    }
    return range;
}

static inline bool ti_mode_writes(int mode)
{
    return mode == TACIT_WRITE || mode == TACIT_UPDATE;
}

/* Bits: the dimensions of the task that have several items and that no component of the access follows. Items that
 * differ in these alone touch the same. */
unsigned ti_unmapped_dims(const tacit_task *task, const tacit_access *access);

/* What a check has found out. */
typedef struct ti_checked {
    uint32_t accesses;
    bool mixes;    /* it reads elements that other items of it write */
    bool is_empty; /* it has no items */
} ti_checked;
tacit_status ti_check_task(tacit_context *ctx, const tacit_task *task, ti_checked *out);

/* A box of a buffer as the caller gave it, TACIT_BOX_ALL resolved. `who` names the call. */
tacit_status ti_check_box(tacit_context *ctx, const char *who, const tacit_buffer *buffer, tacit_box box, ti_box *out);

#endif
