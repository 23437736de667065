/* The sets of a window: which items of each task a node executes, when, and for whom. What the planners do in windows
 * is compared with them.
 *
 * Of Eijkhout: Task Graph Transformations for Latency Tolerance, 2022, section 3, on regions instead of single tasks of
 * the paper, each of which is an item here. A node has *own* items of each task, its chunk. Of these
 *
 *   l0  is what the node holds before the window, by buffer;
 *   l4  are own items that need nothing from other nodes;
 *   l5  are all items, own or not, that own ones come of, and own ones;
 *   l1  are items of l4 that other nodes need: they are executed first, and sent;
 *   l2  is the rest of l4, executed while messages travel;
 *   l3  are items of l5 that are neither in l4 nor come from others: executed when messages have arrived, some of them
 *       by several nodes.
 *
 * In the paper's formula of l1 a union stands for an intersection; what is sent is that and what is held (`lacks`), as
 * far as others need it. Where items of a granule make one element together they are in a set together. Buffers are
 * used again in real programs, so of what a task reads the last one before it that wrote it counts. Along dimensions
 * that a task is not split in, items of a row are in a set together, too.
 *
 * The sets are exact if images of custom mappers are unions of those of items. They take time in proportion to the
 * number of nodes. A pure function of the tasks. Any thread. */
#ifndef TEST_SETS_H
#define TEST_SETS_H

#include "grid/region.h"
#include "plan/tolerance/margins.h"

typedef struct level_sets {
    ti_boxes own, l4, l5, l1, l2, l3; /* items of one task, in normal form */
} level_sets;

/* Elements of one buffer, as it is before the window. */
typedef struct before_sets {
    const ti_buffer_info *buffer;
    ti_boxes l0;    /* what the node holds */
    ti_boxes l5;    /* what it needs */
    ti_boxes lacks; /* what it needs and does not hold: other nodes send it */
} before_sets;

typedef struct node_sets {
    level_sets *level;   /* of each task */
    before_sets *before; /* of each buffer */
} node_sets;

typedef struct window_sets {
    const ti_windowed *task;
    size_t tasks, buffers;
    int nodes;
    node_sets *node;
} window_sets;

/* Append what a node holds of a buffer before the window. */
typedef void held_fn(void *user, int node, const ti_buffer_info *buffer, ti_boxes *out);

/* Of tasks that may be in windows; they are not copied. */
window_sets *window_sets_create(const ti_windowed *task, size_t tasks, int nodes, held_fn *held, void *user);
void window_sets_destroy(window_sets *sets);

/* Append what node `from` sends node `to` of what it executes of task number `level`: items of its l1. */
void window_sets_sent(const window_sets *sets, size_t level, int from, int to, ti_boxes *out);

#endif
