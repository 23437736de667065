/* Which tasks are planned together, and when: windows of pure tasks, windows for collectives; and how one task is
 * planned.
 *
 * Each of these files calls those before it only: tell, plan, window, stage, pure, cycle, graph (which is what
 * plan/command/graph.h declares); and those of plan/transfer and plan/command. Included by this folder only. Scheduler
 * thread. */
#ifndef TI_LOOKAHEAD_IMPL_H
#define TI_LOOKAHEAD_IMPL_H

#include "plan/transfer/impl.h"

/* plan.c */
/* Plan a task, whatever it is. */
void ti_command_plan(ti_command_graph *graph, const ti_task *task);
/* What was before a horizon or epoch, whose command this is, can be forgotten some time. */
void ti_command_pass_point(ti_command_graph *graph, const ti_command *point);
/* The slot may be empty. */
void ti_command_close_buffer(ti_command_graph *graph, uint32_t slot);

/* window.c */
void ti_command_window_fini(ti_command_window *window);
/* Plan the task now or hold it; plan those that are held if it closes the window. */
void ti_command_window_add(ti_command_graph *graph, const ti_task *task);
/* Plan all that is held. */
void ti_command_window_flush(ti_command_graph *graph);

/* stage.c: windows in stages. */
/* States have lost their numbers. */
void ti_command_forget_alone(ti_command_pure *pure);
/* Find the stages of the window at hand, if it has such; then margins are theirs. With strategy `halo`, where nothing
 * is sent of what the window computes, the messages of several buffers can be one then. */
bool ti_command_has_common_messages(const ti_command_graph *graph);
ti_stage_verdict ti_command_find_stages(ti_command_graph *graph);

/* tell.c. Why a window closes, because of what the task is or does; `by_task`: the words say something about the task,
 * which is one of the program. Constant. */
const char *ti_command_window_reason(ti_window_verdict verdict, const ti_task *closer, bool *by_task);
/* Only if somebody wants to know. Look at the window at hand, which closes because of what the task is or does;
 * `verdict`: on a task of the program. Then a task is about to be planned, which may be one of such a window. */
void ti_command_look_at_window(ti_command_graph *graph, ti_window_verdict verdict, const ti_task *closer,
                               ti_stage_verdict stages);
void ti_command_look_at_planned(ti_command_graph *graph, const ti_task *task);
/* A window in stages has none. */
void ti_command_tell_no_tiles(ti_command_graph *graph);

/* pure.c: where tasks come in. */
void ti_command_pure_add(ti_command_graph *graph, const ti_task *task);
/* Plan all that is held, here or by other windows. */
void ti_command_pure_flush(ti_command_graph *graph);
void ti_command_pure_fini(ti_command_pure *pure);

/* cycle.c */
void ti_command_cycle_init(ti_command_graph *graph); /* with all else */
void ti_command_cycle_fini(ti_command_cycle *cycle);
/* Whether the task is the next one of a round; then it has been planned. If not, all has caught up. */
bool ti_command_cycle_take(ti_command_graph *graph, const ti_task *task);
/* Somebody wants to see what is known: catch up. */
void ti_command_cycle_skip(ti_command_graph *graph);
/* The task has been planned, or held: only while a round is recorded. */
typedef struct ti_command_mark {
    size_t batch, planned;
    uint64_t replayed, overlapped, missed;
} ti_command_mark;
ti_command_mark ti_command_here(const ti_command_graph *graph);
void ti_command_cycle_note(ti_command_graph *graph, const ti_command_mark *before);

#endif
