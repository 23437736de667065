/* One call of a kernel, for the bounds check: what its accesses declare for its very items, and the guarded copies of
 * that.
 *
 * Accesses to one buffer that overlap, one of them writing, share a copy, since the kernel may see through one what it
 * writes through the other; such a copy knows only what all of them together declare. One worker. */
#ifndef TI_BOUNDS_SUBJECT_H
#define TI_BOUNDS_SUBJECT_H

#include "base/failure.h"
#include "device/bounds/guarded.h"
#include "ir/task.h"

typedef struct ti_bounds_subject {
    /* Filled in by the caller. */
    const ti_task *task;
    int node;
    ti_failure *failure;
    /* Made by ti_bounds_subject_init. */
    ti_box items;
    ti_region image[TACIT_MAX_ACCESSES]; /* what each access declares: right-aligned, not folded */
    uint32_t copy_of[TACIT_MAX_ACCESSES];
    ti_guarded copy[TACIT_MAX_ACCESSES];
    uint32_t copies;
    TI_VEC(tacit_view) parts;                /* of views in parts, one access after the other */
    tacit_view view[TACIT_MAX_ACCESSES + 1]; /* for the kernel: of the copies; behind them an empty one */
} ti_bounds_subject;

/* `launch` has the views of the real memory. False if a mapper is wrong, which is then reported. */
bool ti_bounds_subject_init(ti_bounds_subject *is, const tacit_launch *launch);
void ti_bounds_subject_fini(ti_bounds_subject *is); /* copies are not mapped any more */
/* Direct the views at the copies as they are mapped now. */
void ti_bounds_subject_point_views(ti_bounds_subject *is);

#endif
