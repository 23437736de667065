/* Which tasks overlap with their own messages: the chunk of a node is executed in parts, what needs nothing of other
 * nodes at once, and the rest when that has come (TACIT_OVERLAP). It is b = 1 of Eijkhout: Task Graph Transformations
 * for Latency Tolerance, 2022. Nothing is computed twice, so kernels need not be pure.
 *
 * What is decided here follows from the task and from what all nodes have alike; which part of a chunk waits follows
 * from the node's own messages (plan/command/overlap.c). No time is measured for it: a dry run decides what a live one
 * does. A pure function. Any thread. */
#ifndef TI_OVERLAP_H
#define TI_OVERLAP_H

#include "ir/shape.h"
#include "ir/system.h"

/* Why a chunk is not executed in parts. */
typedef enum ti_overlap {
    TI_OVERLAP_FITS, /* it is */
    TI_OVERLAP_OFF,
    TI_OVERLAP_CHUNKS,   /* the task is not split into one chunk for each node */
    TI_OVERLAP_WHOLE,    /* its kernel gets each chunk in one call, or in the order of host objects */
    TI_OVERLAP_REDUCES,  /* partial results would be others */
    TI_OVERLAP_WRITES,   /* parts would not touch all that the chunk does, as far as is known */
    TI_OVERLAP_MEMORIES, /* devices of the node have memories of their own */
    TI_OVERLAP_LITTLE,   /* it takes no longer than two more launches are worth */
    TI_OVERLAP_BORDERS,  /* too much of it waits, or it would be too many parts */
    TI_OVERLAP_VERDICTS
} ti_overlap;

/* Of chunks that wait for messages. TI_OVERLAP_BORDERS is not found here. */
ti_overlap ti_overlap_admits(const ti_system *system, const ti_shape *shape);

/* Whether so many of the items of a chunk are worth a part of their own. */
bool ti_overlap_is_enough(const ti_system *system, int64_t at_once, int64_t items);

#endif
