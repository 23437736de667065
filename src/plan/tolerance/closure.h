/* Closures of a window: which items of each task every node has to execute, so that all that its own items of later
 * tasks depend on is computed by the node itself. The sets L5 of doc/internals.md.
 *
 * For windows that read by custom mappers what the window writes: what a chunk needs of its neighbours is then no
 * margin, and differs from node to node (the paper's own case: powers of a sparse matrix). Found backwards, for every
 * node: what its items of a task read, less what tasks in between have overwritten, was made by items of earlier tasks,
 * which it needs, too. A custom mapper is asked for each box of the items that a node executes, so what is found is
 * what will be read. It takes time in proportion to the number of nodes, as tables of custom mappers do, and is
 * remembered with the window. As with margins, what is not there comes by a message. A pure function. Any thread. */
#ifndef TI_CLOSURE_H
#define TI_CLOSURE_H

#include "grid/spread.h"
#include "plan/tolerance/margins.h"

/* The items of `count` tasks that may be in windows; spread[t] is for the caller to release, NULL where every node
 * executes its chunk alone. Not to be used, and all NULL, unless they fit. */
ti_window_verdict ti_window_closure(const ti_windowed *task, size_t count, ti_spread **spread);

#endif
