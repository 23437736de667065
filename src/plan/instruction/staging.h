/* The instruction graph, reductions: who calls whom besides impl.h. */
#ifndef TI_STAGING_H
#define TI_STAGING_H

#include "plan/instruction/impl.h"

/* Bytes of a slot that is worth the work of all workers, or of none where a kernel can fill the buffer itself. Smaller
 * ones are copied, so that the next kernel need not wait for who reads the result. */
enum { TI_LARGE_SLOT = 64 * 1024 };

/* ---- reduce_blocks.c: called by reduce.c for tasks in blocks */

void ti_instruction_compile_blocks(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s);

/* ---- keep.c: called by staging.c (take, give), and by graph.c */

/* Staging memory: its users wait for `after`, which lies in the arena. */
uint64_t ti_instruction_take_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                     const uint64_t **after, size_t *afters);
/* Nobody uses it after `count` instructions. */
void ti_instruction_give_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                 uint64_t allocation, const uint64_t *after, size_t count);
/* A horizon: free what has not been used for long. */
void ti_instruction_age_staging(ti_instruction_graph *graph, const ti_task *task);
/* If `more` bytes, and what is wanted, would not fit beside what is kept: free all that. */
void ti_instruction_make_room(ti_instruction_graph *graph, const ti_task *task, uint64_t more);

/* ---- blocks.c: called by staging.c for tasks in blocks */

uint32_t ti_instruction_cut_blocks(ti_instruction_graph *graph, const ti_task *task, size_t first, size_t end);
/* How many slots a piece would get. */
uint32_t ti_instruction_block_slots(ti_instruction_graph *graph, const ti_task *task, const ti_box *chunk);
/* What run `run` of a piece leaves in the host's slots. */
ti_slot_range ti_instruction_run_slots(const ti_instruction_graph *graph, const ti_task *task, uint32_t piece,
                                       uint32_t run);

#endif
