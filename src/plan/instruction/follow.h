/* Executions that follow their tasks, and what the trackers of memories have not been told of them: the state of
 * follow.c, which explains both.
 *
 * Part of the instruction graph. kernel.c and template.c call it, plan/stream/graph.c at horizons, and
 * plan/stream/window.c before anything else is compiled. Scheduler thread. */
#ifndef TI_FOLLOW_H
#define TI_FOLLOW_H

#include "plan/instruction/template.h"

typedef struct ti_followed {
    uint64_t task, instruction; /* all of the task is done when the instruction is */
} ti_followed;
typedef struct ti_lagging {
    ti_buffer_memory *memory;
    ti_box box;
    uint64_t instruction;
    const ti_template *all; /* it touches what this one says instead, or NULL */
    bool write;
} ti_lagging;
typedef struct ti_follow {
    ti_followed *done;      /* by task; NULL: not on this system */
    TI_VEC(ti_lagging) lag; /* what the trackers of memories have not been told, from `first` on */
    size_t first;
    bool met_horizon; /* a horizon has been applied while there was a lag */
} ti_follow;

void ti_follow_init(ti_follow *f, const ti_system *system);
void ti_follow_fini(ti_follow *f);
/* All of the task is done when this instruction is. */
void ti_follow_note(ti_follow *f, const ti_task *task, uint64_t instruction);
/* Whether the task's execution, which wants no memory, waits for what the task waits for, and maybe for the applied
 * horizon too; the memory of its buffers was `changed` last by this instruction. Then add these dependencies; what it
 * touches goes to the lag. */
bool ti_instruction_can_follow(ti_instruction_graph *graph, const ti_task *task, uint64_t changed, bool *horizon);
void ti_instruction_follow(ti_instruction_graph *graph, const ti_task *task, bool horizon);
void ti_follow_lag(ti_instruction_graph *graph, const ti_buffer_info *buffer, const ti_box *box, bool write);
void ti_follow_lag_all(ti_instruction_graph *graph, const ti_template *all);
/* Tell the trackers all, before anything that asks them; before an execution that follows, only if the lag is long. */
void ti_follow_catch_up(ti_instruction_graph *graph);
void ti_follow_limit_lag(ti_instruction_graph *graph);
void ti_follow_horizon(ti_follow *f, uint64_t applied); /* a horizon has been applied */

#endif
