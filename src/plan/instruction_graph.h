/* Stage 3, the instruction graph: where in memory and on which lane. This node only.
 *
 * Compiles a batch of commands into instructions: allocations that hold what kernels need contiguously, copies, kernels, messages,
 * reductions, and their dependencies. Takes a batch (all commands of a window of tasks, so that growth of allocations is foreseen inside it)
 * and returns a batch; instructions live in an arena that is recycled when the horizon after them has been executed. A batch is valid until
 * the next add. Scheduler thread. */
#ifndef TI_INSTRUCTION_GRAPH_H
#define TI_INSTRUCTION_GRAPH_H

#include "ir/instruction.h"
#include "ir/system.h"

typedef struct ti_instruction_graph ti_instruction_graph;

ti_instruction_graph *ti_instruction_graph_create(const ti_system *system);
void ti_instruction_graph_destroy(ti_instruction_graph *graph);

ti_instruction_batch ti_instruction_graph_add(ti_instruction_graph *graph, ti_command_batch commands);
void ti_instruction_graph_release(ti_instruction_graph *graph, uint64_t executed);

typedef struct ti_instruction_counts {
    uint64_t instructions, reallocations, entries, arena_bytes;
} ti_instruction_counts;
ti_instruction_counts ti_instruction_graph_counts(const ti_instruction_graph *graph);

#endif
