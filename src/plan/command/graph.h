/* Stage 2, the command graph: who does it and who sends. This node's part of every task.
 *
 * A pure function of the tasks, the number of nodes and this node's number; no node waits for another one's plan. Takes
 * a window of tasks and returns one batch of commands, in an order that respects all dependencies: per task its sends,
 * its receives, its execution, its reductions. Commands live in an arena that is recycled when the horizon after them
 * has been executed; a batch is valid until the next add. Scheduler thread. */
#ifndef TI_COMMAND_GRAPH_H
#define TI_COMMAND_GRAPH_H

#include "ir/command.h"
#include "ir/system.h"

typedef struct ti_command_graph ti_command_graph;

ti_command_graph *ti_command_graph_create(const ti_system *system);
void ti_command_graph_destroy(ti_command_graph *graph);

ti_command_batch ti_command_graph_add(ti_command_graph *graph, const ti_task *const *task, size_t count);
void ti_command_graph_release(ti_command_graph *graph, uint64_t executed);

/* Planned multicasts. */
typedef struct ti_multicast_counts {
    uint64_t multicasts, recipients; /* of what this node owns */
    uint64_t left, left_recipients;  /* likewise: not planned, but left to this node's broadcasts */
    uint64_t forwards;               /* messages that this node sends on for others */
    uint32_t depth;                  /* of the highest tree of its own */
} ti_multicast_counts;

typedef struct ti_command_counts {
    uint64_t commands, chunks_evaluated, entries, arena_bytes;
    uint64_t replayed; /* buffers of tasks that were replayed: plan/version/replay.h */
    ti_multicast_counts multicast;
} ti_command_counts;
ti_command_counts ti_command_graph_counts(const ti_command_graph *graph);

/* Equal on all nodes that were given the same tasks (checks and tests). */
uint64_t ti_command_graph_digest(ti_command_graph *graph);
bool ti_command_graph_is_valid(ti_command_graph *graph);

#endif
