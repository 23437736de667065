/* What became of the edges of a task, for the report: see trace/explain.h. Only if somebody wants to know.
 *
 * The task graph has listed the edges (ti_task::edge). Here they meet the verdicts of their forwards, and the messages
 * that their bytes need on this node. Scheduler thread. */
#ifndef TI_EDGE_H
#define TI_EDGE_H

#include "ir/command.h"
#include "plan/version/transfer.h"
#include "trace/explain.h"

/* What became of a forward, or of the part of one that one source has. */
typedef struct ti_edge_fate {
    uint32_t forward; /* index */
    const ti_box *box;
    uint32_t boxes;
    ti_verdict verdict;
    const ti_collective *what;    /* or NULL */
    const ti_collective *hoisted; /* for this task and later ones, or NULL */
    ti_pattern combined;          /* of the reduction that brought it when the producer ran, or none */
    ti_verdict rest;              /* on what the collective leaves to messages */
    bool more;                    /* another collective of the same part, with which messages are counted */
} ti_edge_fate;

typedef TI_VEC(ti_edge_fate) ti_edge_fates;

/* Note the edges of `task` on the buffer of `map`, when its transfers, of which these are the reads, have been
 * planned. */
typedef struct ti_edge_scene {
    int node;
    const ti_task *task;
    const ti_buffer_info *buffer;
    const ti_edge_fates *fates; /* of its forwards on the buffer */
    const ti_transfer_planner *transfer;
    ti_version_map *map;
    ti_holders reads;
} ti_edge_scene;
void ti_edges_note(ti_explain *explain, const ti_edge_scene *scene);

#endif
