/* What nodes compute alone: stages of windows for which there are no depths (stages.h), since tasks read by custom
 * mappers, around the ends of dimensions, or with scales. As closures stand for margins (closure.h), lists of boxes
 * stand for depths here, found for every chunk:
 *
 *   forwards   which of its items come of what its node has, and overwrite nothing that waits (the set L4);
 *   backwards  which items it executes besides: as in closures, less what other nodes compute alone (the set L3);
 *   ahead      which of the first others need (the set L1), and what these come of.
 *
 * It takes time in proportion to the number of nodes, and is the same for all of them but for what is ahead, which is
 * of one chunk. What is found must be right for every node, or two would wait for each other: so nothing that is early
 * may touch what is late, or came of it. A pure function of the tasks, and of where data lies before. Any thread. */
#ifndef TI_ALONE_H
#define TI_ALONE_H

#include "plan/tolerance/stages.h"

/* What is found of one task. */
typedef struct ti_alone {
    ti_spread *spread;     /* what nodes execute, NULL: their chunks; referenced */
    ti_boxes early, ahead; /* of one chunk: what needs no message; which of that comes first */
} ti_alone;

/* Where a part of a buffer lies before the window that a task of it reads by an access; such parts are disjoint. */
typedef struct ti_before {
    size_t task;
    uint32_t access;
    ti_box box;
    const ti_mapper *mapper; /* of who wrote it, over the split; NULL: all nodes that read it hold it */
    const ti_split *split;
} ti_before;
typedef TI_VEC(ti_before) ti_befores;

/* The window whose closure is `halo` (ti_window_closure). Tasks have as many chunks as there are nodes. `before` has
 * all that they read of before, in any order. `own`: the chunk of which `early` and `ahead` are. */
ti_stage_verdict ti_window_alone(const ti_windowed *task, size_t count, ti_spread *const *halo,
                                 const ti_befores *before, int64_t own, ti_alone *out);
void ti_window_alone_drop(ti_alone *of, size_t count);

#endif
