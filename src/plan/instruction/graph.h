/* Stage 3, the instruction graph: where in memory and on which lane. This node only.
 *
 * Compiles commands into instructions: allocations that hold what kernels need contiguously, copies, kernels,
 * messages, reductions, and their dependencies. Instructions live in an arena that is recycled when the horizon after
 * them has been executed. A batch is valid until the next add or close.
 *
 * Lookahead: a task whose footprints lie in allocations passes straight through. One that needs more opens a window:
 * it and what follows are kept back, in order, until it is known what the next tasks need, so that each allocation is
 * made once, at the size for all of them. The window closes at whatever the application may wait for (a fence, an
 * epoch), at the second horizon after the last new need, when it is too long, or when the owner says so (close).
 * Creation of buffers never waits. With ti_system::lookahead 0 each batch is a window.
 *
 * If what is needed exceeds ti_system::memory, nothing more is compiled: ti_instruction_graph_refusal says why.
 * Scheduler thread. */
#ifndef TI_INSTRUCTION_GRAPH_H
#define TI_INSTRUCTION_GRAPH_H

#include "base/strbuf.h"
#include "ir/instruction.h"
#include "ir/system.h"

typedef struct ti_instruction_graph ti_instruction_graph;

ti_instruction_graph *ti_instruction_graph_create(const ti_system *system);
void ti_instruction_graph_destroy(ti_instruction_graph *graph);

ti_instruction_batch ti_instruction_graph_add(ti_instruction_graph *graph, ti_command_batch commands);
/* Whether a window is open, and its end: what was kept back. */
bool ti_instruction_graph_is_waiting(const ti_instruction_graph *graph);
ti_instruction_batch ti_instruction_graph_close(ti_instruction_graph *graph);
/* Bytes that fences keep for the application now: they count against the limit. */
void ti_instruction_graph_set_results(ti_instruction_graph *graph, uint64_t bytes);

/* Why planning has ended: a sentence, and a table of what every buffer needs. NULL if it has not. */
typedef struct ti_refusal {
    ti_strbuf sentence, table;
} ti_refusal;
const ti_refusal *ti_instruction_graph_refusal(const ti_instruction_graph *graph);

/* Rounds that others carry out (run/round.h): which step of which cycle comes next, as a number that is never 0; 0:
 * there is no cycle, or not everything has been compiled. So many instructions have come, in whole cycles. */
uint64_t ti_instruction_graph_round(const ti_instruction_graph *graph);
void ti_instruction_graph_pass(ti_instruction_graph *graph, uint64_t instructions);
void ti_instruction_graph_release(ti_instruction_graph *graph, uint64_t executed);

typedef struct ti_instruction_counts {
    uint64_t instructions, reallocations, reallocated_bytes, entries, arena_bytes;
    uint32_t growths;                 /* of the memory that one buffer has in one place, at most */
    uint64_t tiles, tilings_replayed; /* of windows; windows, or parts of such, whose tiles were known */
    uint64_t repeated;                /* instructions of steady loops that were not derived again */
} ti_instruction_counts;
ti_instruction_counts ti_instruction_graph_counts(const ti_instruction_graph *graph);

#endif
