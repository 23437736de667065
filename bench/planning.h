/* The planners of one node of many, driven directly over a pattern and timed by stage; for benchmarks and tests.
 *
 * Tasks go through tacit_submit, with all its checks, in the context of a dry run, and are then diverted to a command
 * graph and an instruction graph that belong to this file: nothing is executed, and no thread but the caller's is
 * involved. The stages take turns in blocks of tasks, and a clock is read between them: that of the thread for large
 * blocks, so that what else the machine does counts little, else that of the wall. What a horizon covers counts as
 * executed when the next block is planned, so that memory is recycled as in a run. One thread. */
#ifndef BENCH_PLANNING_H
#define BENCH_PLANNING_H

#include "api/context.h"
#include "base/vec.h"
#include "patterns.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"

enum { PLANNING_STAGES = 3 }; /* task, command, instruction */

typedef struct planning_options {
    const pattern *pattern;
    int nodes, node;
    const char *host_devices; /* as TACIT_HOST_DEVICES */
    int collectives;          /* TACIT_COLLECTIVES_...; 0: the default */
    const char *latency;      /* as TACIT_LATENCY; NULL: the default */
    int overlap;              /* TACIT_OVERLAP_...; 0: off, since how many items a pattern has means nothing */
    int horizon_step;         /* 0: the default */
    int horizon_front;        /* 0: the default */
    size_t tasks;             /* that are going to be planned, more or less */
    size_t tiles;             /* 0: the pattern chooses */
    bool whole;               /* what could be a brief is a task (ir/brief.h): the same plans, which take longer */
} planning_options;

/* Since planning_open. */
typedef struct planning_counts {
    uint64_t tasks, horizons; /* tasks of the pattern; horizons are not among them */
    uint64_t commands, instructions, messages, collectives, executions;
    uint64_t chunks_evaluated;
    uint64_t sent_bytes, received_bytes; /* by messages and collectives */
    uint64_t briefs;                     /* of the tasks */
} planning_counts;

typedef struct planning {
    tacit_context *ctx;
    pattern_run run;
    ti_task_graph *tasks; /* the context's */
    ti_command_graph *commands;
    ti_instruction_graph *instructions;
    TI_VEC(const ti_task *) made; /* of the block */
    TI_VEC(const ti_command *) command;
    TI_VEC(size_t) border; /* in `command`, behind each task's */
    bool large;            /* blocks are: use the clock of the thread, which is slow to read */
    uint64_t clock_ns[2];  /* what one reading takes, by `large`; 0: not known yet */
    uint64_t planned_point, horizon_ns;
    planning_counts counts;
    uint64_t entries_peak, arena_peak;  /* after blocks */
    uint64_t foreign_ns, foreign_tasks; /* of blocks in which this node executes, sends and receives nothing */
    void (*look)(void *user, const ti_command *command); /* at every command, outside the times; or NULL */
    void (*see)(void *user, const ti_task *task);        /* and at every task */
    void *user;
} planning;

/* Create context and buffers. Adds the nanoseconds of planning to `ns`. Errors end the process. `p` stays where it
 * is. */
void planning_open(planning *p, const planning_options *options, uint64_t ns[PLANNING_STAGES]);
void planning_close(planning *p);

/* Plan the next tasks of the pattern as one block. Adds up nanoseconds. */
void planning_block(planning *p, size_t tasks, uint64_t ns[PLANNING_STAGES]);
/* The same with one task; returns the nanoseconds of the horizon that followed it in all stages, or 0 if none did. */
uint64_t planning_horizon(planning *p);
/* What waits for later tasks is planned, as where a program waits. */
void planning_wait(planning *p);

/* What reading the clock that is in use adds to an interval. */
uint64_t planning_clock_ns(planning *p);

#endif
