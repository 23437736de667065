/* Whether chunks write elements of their own, for tasks that write through custom mappers: decided when the task is
 * submitted.
 *
 * Component mappers are decided from their components (check_task.c). A custom mapper can only be tried: on the
 * chunks that the nodes of this run get, and on a finer cut of the range that is the same for all numbers of nodes
 * and workers, with borders at odd places, so that what would go wrong with more of them is nearly always refused
 * with one. Loops pay once: shapes that were good are kept, and so is what a mapper said. The same on all nodes.
 * Application thread. */
#ifndef TI_CHECK_OVERLAP_H
#define TI_CHECK_OVERLAP_H

#include "api/context.h"

/* An error with a sentence if two chunks of the task would write one element. */
tacit_status ti_check_overlap(tacit_context *ctx, const ti_shape *shape);

/* Whether two accesses to one buffer touch some of the same elements for the items of `range`: *where is some of them.
 */
bool ti_accesses_meet(const ti_access *a, const ti_access *b, const ti_box *range, ti_box *where);

#endif
