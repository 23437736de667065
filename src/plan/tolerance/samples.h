/* Samples of what several nodes compute of a window: which elements they compare, to find kernels that are marked pure
 * and are not (TACIT_CHECK_PURE).
 *
 * Of every chunk some items are drawn that lie in the margins of other chunks, so that other nodes execute them, too,
 * and of each some elements that it writes. Who draws what follows from the split, the margin and the number of the
 * task alone: every node that executes an item knows so, and how many others do. A pure function. Any thread. */
#ifndef TI_SAMPLES_H
#define TI_SAMPLES_H

#include "base/vec.h"
#include "grid/spread.h"
#include "ir/command.h"
#include "plan/tolerance/margins.h"

typedef TI_VEC(ti_sample) ti_sample_list;

/* Append what the node with this chunk has to compare of the task, which has a margin, as the number-th such task. */
void ti_window_sample(const ti_windowed *task, const ti_margin *margin, int64_t chunk, uint64_t number,
                      ti_sample_list *out);

/* The same of a task whose chunks stand for the items of a spread. It looks at all chunks, if that is listed. */
void ti_window_sample_spread(const ti_windowed *task, const ti_spread *spread, int64_t chunk, uint64_t number,
                             ti_sample_list *out);

#endif
