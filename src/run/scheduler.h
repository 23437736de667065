/* The scheduler role: takes tasks, plans them, passes instructions on. One thread at a time. */
#ifndef TI_SCHEDULER_H
#define TI_SCHEDULER_H

#include "base/ring.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "run/dry_run.h"
#include "run/round.h"
#include "trace/dot.h"
#include "trace/record.h"

/* Who looks at every plan: tests. */
typedef struct ti_plan_tap {
    void *user;
    void (*commands)(void *user, ti_command_batch batch);
    void (*instructions)(void *user, ti_instruction_batch batch);
} ti_plan_tap;

typedef struct ti_scheduler {
    ti_ring tasks;        /* from the application thread */
    ti_ring instructions; /* to the executor role */
    ti_command_graph *commands;
    ti_instruction_graph *graph;
    ti_instruction_batch batch;            /* what did not fit into the channel yet */
    size_t passed;                         /* of the batch */
    _Atomic bool backlog;                  /* some of the batch is left; a hint for threads without the role */
    _Atomic bool waiting;                  /* a window may have to be closed because nothing comes; a hint, too */
    _Atomic uint64_t results;              /* bytes that fences keep for the application; set by its thread */
    uint64_t patience, idle_since;         /* nanoseconds that a window waits for more tasks; 0: for ever */
    uint64_t released;                     /* last point whose arenas were recycled */
    ti_dot *command_dot, *instruction_dot; /* or NULL */
    ti_dry_run *dry;                       /* or NULL */
    const ti_plan_tap *tap;                /* or NULL */
    ti_trace_ring *trace;                  /* or NULL */
    ti_round *round;                       /* of steady loops, or NULL */
    uint64_t window_since;                 /* traced: a window is open; 0: none is */
} ti_scheduler;

void ti_scheduler_init(ti_scheduler *s, const ti_system *system, uint64_t patience);
void ti_scheduler_fini(ti_scheduler *s);

/* Plan up to `budget` tasks. `executed` is the id of the last executed point. Returns whether something happened. */
bool ti_scheduler_step(ti_scheduler *s, int budget, uint64_t executed);

/* All tasks have been planned. Close the window of instructions, if one is open. */
void ti_scheduler_close(ti_scheduler *s);
/* And before that plan those that the command graph holds for others to come; whether any were. */
bool ti_scheduler_flush(ti_scheduler *s);

/* All up to the point with this id has been executed: recycle what nobody refers to any more. */
void ti_scheduler_release(ti_scheduler *s, uint64_t executed);

/* Fences keep so many bytes more for the application, beside those of buffers; false: that is more than the limit, if
 * there is one. The application's thread. */
bool ti_scheduler_keep_results(ti_scheduler *s, uint64_t bytes, uint64_t buffers, uint64_t limit);

#endif
