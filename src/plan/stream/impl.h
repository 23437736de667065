/* The stream of commands, which becomes one of instructions: what is kept back until it is known what the next tasks
 * need, what repeats itself, and what several commands become together.
 *
 * window.c takes commands in, asks cycle.c whether they are known, and notes their needs; when the window closes,
 * graph.c compiles them one after the other. It calls bundle.c (messages of several parts), tile.c (windows of pure
 * tasks, by kernel.c), and plan/instruction for all else. Included by this folder only. Scheduler thread. */
#ifndef TI_STREAM_IMPL_H
#define TI_STREAM_IMPL_H

#include "plan/instruction/impl.h"

/* ---- graph.c: called by window.c */

/* Note what a command needs, whose pieces are [first, end) of the window. */
void ti_instruction_note_command(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end);
/* Compile the command at `index` of the window, and maybe some that follow it: how many. */
size_t ti_instruction_compile(ti_instruction_graph *graph, size_t index);
void ti_instruction_open_buffer(ti_instruction_graph *graph, const ti_task *task);
void ti_instruction_fill_buffer(ti_instruction_graph *graph, const ti_task *task); /* with its initial contents */

/* ---- point.c: called by graph.c and cycle_step.c */

void ti_instruction_compile_point(ti_instruction_graph *graph, const ti_command *command);

/* ---- refuse.c: called by window.c where what is wanted does not fit */

void ti_instruction_refuse(ti_instruction_graph *graph, int memory); /* TI_HOST_MEMORY: of all together */

/* ---- spill.c: called by window.c where a device lacks memory */

/* Whether what the window wants does not fit into some device's own memory, beside all that is there. */
bool ti_instruction_is_device_short(ti_instruction_graph *graph);
/* Choose what is freed there; what only devices have of it is wanted on the host from now on. The memory in which there
 * is no room all the same, else TI_HOST_MEMORY. */
int ti_instruction_choose_spills(ti_instruction_graph *graph);
/* Choose all that would grow there, or all: what the window wants is to be noted again when it has been freed. */
typedef enum ti_spill { TI_SPILL_UNNEEDED, TI_SPILL_GROWING, TI_SPILL_ALL } ti_spill;
void ti_instruction_choose_more(ti_instruction_graph *graph, ti_spill what);
/* Copy to the host what only devices have, and free what was chosen, if anything was. */
void ti_instruction_spill(ti_instruction_graph *graph);

/* ---- bundle.c: called by graph.c, window.c and cycle_step.c */

void ti_instruction_compile_part(ti_instruction_graph *graph, const ti_command *transfer);
/* A window has ended: the memory of its messages may be used again. */
void ti_instruction_give_unbundled(ti_instruction_graph *graph);
void ti_instruction_bundles_fini(ti_instruction_graph *graph);
/* How many instructions a part becomes: as many steps, of which this is the first one. */
size_t ti_instruction_part_instructions(const ti_command *transfer);
bool ti_instruction_part_is_same(const ti_instruction_graph *graph, const ti_command *transfer,
                                 const ti_cycle_step *step);
bool ti_instruction_part_has_memory(const ti_instruction_graph *graph, const ti_command *transfer);
void ti_instruction_repeat_part(ti_instruction_graph *graph, const ti_command *transfer, const ti_cycle_step *step);

/* ---- tile.c: called by graph.c */

/* Compile what begins with the execution at `index` of the window tile by tile: how many commands; 0: none. */
size_t ti_instruction_compile_tiles(ti_instruction_graph *graph, size_t index);
void ti_instruction_tilings_fini(ti_instruction_graph *graph);

/* ---- cycle.c: called by window.c and graph.c */

void ti_cycle_init(ti_cycle *cycle, const ti_system *system);
void ti_cycle_fini(ti_cycle *cycle);
/* Tasks up to this one have been executed. */
void ti_cycle_release(ti_cycle *cycle, uint64_t executed);
/* How many commands there are up to the first that ends a segment: a cycle may begin behind it. */
size_t ti_cycle_segment(const ti_command *const *command, size_t count);
/* Compile those of the commands that repeat what was recorded: how many, from the first on. */
size_t ti_cycle_repeat(ti_instruction_graph *graph, const ti_command *const *command, size_t count);
/* These commands have become what the batch has from `first` on, or wait in the window. */
void ti_cycle_note(ti_instruction_graph *graph, const ti_command *const *command, size_t count, size_t first);

/* ---- implied.c: called by cycle.c when a cycle has been recorded, and by cycle_step.c */

void ti_cycle_drop_implied(ti_cycle *cycle);
/* What the step waits for besides what was recorded. */
void ti_cycle_add_waits(ti_deps *deps, const ti_cycle_step *step, const uint64_t *id, size_t count);

/* ---- cycle_step.c: called by cycle.c */

/* A horizon, or where the program waits for its node alone. */
static inline bool ti_command_ends_segment(const ti_command *command)
{
    return command->kind == TI_COMMAND_EPOCH && (command->task->kind == TI_TASK_HORIZON || !command->task->as.barrier);
}
/* The first main step of a command whose first step this is. */
static inline ti_cycle_step *ti_cycle_main(ti_cycle_step *first)
{
    return first + first->copies;
}
/* How many of the instructions the command became, if it can be repeated. */
size_t ti_cycle_instructions(const ti_command *command, const ti_instruction *const *instruction, size_t left);
/* Record that the command became those instructions, if that can be repeated. */
bool ti_cycle_record(ti_instruction_graph *graph, const ti_command *command, const ti_instruction *const *instruction,
                     size_t count);
/* Whether the first of `left` commands is the one of step `at`, and can be repeated now. */
bool ti_cycle_is_step(ti_instruction_graph *graph, size_t at, const ti_command *const *command, size_t left);
/* Compile that command, and the reductions after it together with it. */
void ti_cycle_take_step(ti_instruction_graph *graph, size_t at, const ti_command *const *command);
/* Tell the trackers what the step has touched in the round at hand. */
void ti_cycle_tell_step(ti_instruction_graph *graph, size_t at);

#endif
