/* What became of the edges of a task, for the report: see trace/explain.h. Only if somebody wants to know.
 *
 * The task graph has listed the edges (ti_task::edge). Here they meet the verdicts of their forwards, and the messages that their bytes need on
 * this node. Scheduler thread. */
#ifndef TI_EDGE_H
#define TI_EDGE_H

#include "ir/command.h"
#include "plan/transfer.h"
#include "trace/explain.h"

typedef struct ti_edge_fate {
    ti_verdict verdict;
    const ti_collective *what;    /* or NULL */
    const ti_collective *hoisted; /* for this task and later ones, or NULL */
    ti_pattern combined;          /* of the reduction that brought it when the producer ran, or none */
} ti_edge_fate;

/* The fates of a task's forwards, by index; those of other buffers than the one at hand are not looked at. */
typedef TI_VEC(ti_edge_fate) ti_edge_fates;

/* Note the edges of `task` on `buffer`, when its transfers have been planned. */
void ti_edges_note(ti_explain *explain, int node, const ti_task *task, const ti_buffer_info *buffer,
                   const ti_edge_fates *fates, const ti_transfer_planner *transfer);

#endif
