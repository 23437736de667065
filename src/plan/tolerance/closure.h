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

/* Items that nodes need not execute for themselves, since others compute them alone, and send what they write. */
typedef struct ti_closure_less {
    const ti_boxes *early; /* of chunk c of task t: early[t * chunks + c], in boxes of granules */
    int64_t chunks;        /* of every task */
    int64_t own;           /* a chunk; */
    ti_boxes *wanted;      /* of each task gets what others leave to that one: appended */
} ti_closure_less;

/* The same without these. Chunks execute all of their own items. `less` NULL: with all. */
ti_window_verdict ti_window_closure_less(const ti_windowed *task, size_t count, const ti_closure_less *less,
                                         ti_spread **spread);

#endif
