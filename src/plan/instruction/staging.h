/* The instruction graph, reductions: what staging.c, keep.c, blocks.c and reduce_blocks.c do for each other and for
 * reduce.c, beside what impl.h has. Included by these, and by plan/stream. Scheduler thread. */
#ifndef TI_STAGING_H
#define TI_STAGING_H

#include "plan/instruction/impl.h"

/* Bytes of a slot that is worth the work of all workers, or of none where a kernel can fill the buffer itself. Smaller
 * ones are copied, so that the next kernel need not wait for who reads the result. */
enum { TI_LARGE_SLOT = 64 * 1024 };

/* ---- staging.c: called by reduce.c and reduce_blocks.c */

/* Where the result goes in the buffer if `to_buffer`, else -1. What it holds there is fresh if `takes_old`. */
int ti_instruction_result_place(ti_instruction_graph *graph, const ti_staging *s, bool to_buffer, bool takes_old);
/* All but which slots are combined: into the buffer at that place, with what that holds if `takes_old`. */
void ti_instruction_combine(ti_instruction_graph *graph, const ti_staging *s, int place, bool takes_old,
                            ti_combination *out);
/* Start a REDUCE, which writes the buffer if `to_buffer`, and combines what that holds if `takes_old`. */
ti_instruction *ti_instruction_start_reduce(ti_instruction_graph *graph, const ti_staging *s, bool to_buffer,
                                            bool takes_old);
/* Send slots to a peer after instruction `after`, or receive them (0: when the memory is free): one for each span of
 * the message. Returns its id. */
uint64_t ti_instruction_exchange_slots(ti_instruction_graph *graph, const ti_staging *s,
                                       const ti_block_message *message, bool send, const uint32_t *slot,
                                       uint64_t after);
/* Free the staging memory after `count` instructions. */
void ti_instruction_free_staging(ti_instruction_graph *graph, const ti_staging *s, const uint64_t *after, int count);

/* ---- reduce_blocks.c: called by reduce.c for tasks in blocks */

void ti_instruction_compile_blocks(ti_instruction_graph *graph, const ti_command *command, const ti_staging *s);

/* ---- keep.c: called by staging.c and bundle.c (take, give), by graph.c and cycle.c */

/* Instead of a device: the host, for parts of messages. */
enum { TI_FOR_BUNDLES = -1 };
/* Staging memory: its users wait for `after`, which lies in the arena. */
uint64_t ti_instruction_take_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                     const uint64_t **after, size_t *afters);
/* Nobody uses it after `count` instructions. */
void ti_instruction_give_staging(ti_instruction_graph *graph, const ti_task *task, int device, size_t bytes,
                                 uint64_t allocation, const uint64_t *after, size_t count);
/* A horizon: free what has not been used for long. */
void ti_instruction_age_staging(ti_instruction_graph *graph, const ti_task *task);
/* Whether there is one to be used again, after so many others of its kind; and whether a horizon would free any. */
bool ti_instruction_has_staging(const ti_instruction_graph *graph, int device, size_t bytes, uint32_t others);
bool ti_instruction_frees_staging(const ti_instruction_graph *graph);
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
