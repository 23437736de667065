/* Margins of a window: by how much every node enlarges its chunk of each task of a window of pure tasks, so that later
 * tasks of the window find on the node itself what earlier ones wrote.
 *
 * Strategy `halo` of Eijkhout: Task Graph Transformations for Latency Tolerance, 2022, section 2. Margins are found
 * backwards. The last task has none. The margin of any other is so large that what the task writes covers what later
 * tasks, with their margins, read of it. All nodes have the same margins, which are the largest that any of them needs:
 * so they are part of what all nodes know of who holds what. They decide how many messages there are, never what is
 * right: what is not there comes by a message. A pure function of the tasks and their splits. Any thread. */
#ifndef TI_MARGINS_H
#define TI_MARGINS_H

#include "grid/margin.h"
#include "ir/shape.h"

/* A task of a window, in the order of submission. */
typedef struct ti_windowed {
    const ti_shape *shape;
    const ti_split *split;
} ti_windowed;

/* Why tasks do not make a window. */
typedef enum ti_window_verdict {
    TI_WINDOW_FITS,
    TI_WINDOW_NOT_PURE,  /* the task is not marked pure */
    TI_WINDOW_NOT_SPLIT, /* it is placed, has several chunks for a node, host objects or no items */
    TI_WINDOW_REDUCES,
    TI_WINDOW_NO_INVERSE,  /* it writes by a mapper that has no inverse */
    TI_WINDOW_SPLITS,      /* tasks are split in different ways, and one reads what the other writes */
    TI_WINDOW_READS_ALL,   /* a task reads along all of a dimension what another one writes in parts */
    TI_WINDOW_GOES_AROUND, /* a task reads around the end of a dimension, of the window or with a margin */
    TI_WINDOW_CUSTOM,      /* it reads by a custom mapper what would be computed redundantly: no margins (closure.h) */
    TI_WINDOW_TOO_WIDE,    /* a margin would be longer than a chunk */
    TI_WINDOW_SCATTERED,   /* what a node would compute redundantly lies in too many places */
    TI_WINDOW_VERDICTS
} ti_window_verdict;

/* Whether a task may be in a window at all. */
ti_window_verdict ti_window_admits(const ti_shape *shape);

/* The margins of `count` tasks that may be in windows. Not to be used unless they fit. */
ti_window_verdict ti_window_margins(const ti_windowed *task, size_t count, ti_margin *margin);

#endif
