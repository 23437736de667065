/* Cycles of the instruction graph: the instructions of a steady loop are those of the last time, but for their ids. The
 * state of plan/stream/cycle.c, which says when there is a cycle, and of cycle_step.c there, which says what a step is.
 * Included by impl.h only. Scheduler thread. */
#ifndef TI_CYCLE_H
#define TI_CYCLE_H

#include "plan/instruction/template.h"
#include "plan/track/loop.h"

/* Copies write what lies elsewhere, too. */
typedef enum ti_touch_kind { TI_TOUCH_READS, TI_TOUCH_WRITES, TI_TOUCH_COPIES } ti_touch_kind;

/* What an instruction told the tracker of one place of a buffer. */
typedef struct ti_cycle_touch {
    uint64_t id; /* the instruction's */
    uint32_t slot;
    int place;
    ti_touch_kind how;
    ti_box box;
} ti_cycle_touch;

/* An instruction. A command has a step for each that it became: for those that copy what it needs between places, and
 * for what it is itself, its main ones, of which an execution of several pieces has several. The first main one says
 * what is known of the command. */
typedef struct ti_cycle_step {
    ti_instruction instruction; /* all but its task and its dependencies; of an execution with a template only the id */
    uint64_t serial;            /* of the task's shape */
    uint64_t again;             /* ti_command::again of a command that was this one, or 0 */
    uint64_t what;              /* the serial of a collective, or of that of a reduction; else 0 */
    uint64_t applied;           /* of a horizon or a wait: the point that is applied after it */
    ti_template *made;          /* of an execution that has one; else NULL */
    size_t staging;             /* bytes of a reduction's partial results; else 0 */
    uint64_t ancestors;         /* that it waits for, directly or not: bit d - 1 is the one that came d before it */
    size_t dep, box, touch, view, chunk, combination; /* the first of each of these, */
    uint32_t deps, boxes, touches;
    uint32_t copies;      /* of the first of a command: so many steps between places, before the first main one */
    uint32_t steps;       /* of the command */
    uint32_t reductions;  /* of an execution: the steps that follow it, of commands of their own */
    uint32_t pieces;      /* of an execution without template: its chunks; of a fence: pairs of boxes; else 0 */
    uint32_t ahead;       /* of these */
    uint32_t part, parts; /* of a message of several: of all of its instructions; parts 0: it is none */
    int peer;
    uint32_t access; /* of a reduction */
    bool takes_old;  /* the same */
    bool signals;    /* of a fence */
} ti_cycle_step;

/* Of kernels without template: instructions point to them, which may be executed when another cycle is recorded. */
typedef struct ti_cycle_views {
    uint64_t last_task; /* that uses them */
    size_t count;
    ti_instruction_view view[];
} ti_cycle_views;

typedef struct ti_cycle {
    bool off; /* there are none on this system */
    ti_loop loop;
    /* The one that is recorded, or repeated: */
    size_t wanted; /* segments that are still to be recorded */
    TI_VEC(ti_cycle_step) step;
    TI_VEC(uint64_t) dep;               /* that the tracker has found, or of what the task itself does */
    TI_VEC(ti_instruction_box) box;     /* of messages and collectives */
    TI_VEC(ti_cycle_touch) touch;       /* of all instructions, while it is recorded; but of those with a template */
    size_t told;                        /* of these: belong to steps */
    TI_VEC(ti_instruction_view) view;   /* of executions without template, while it is recorded, */
    ti_cycle_views *views;              /* and then */
    TI_VEC(ti_cycle_views *) retired;   /* of those before */
    TI_VEC(ti_box) chunk;               /* of executions without template */
    TI_VEC(ti_combination) combination; /* of reductions by a collective */
    uint64_t first, length;             /* its first id, how many instructions it has */
    uint64_t applied;                   /* the applied horizon when it had been recorded */
    uint64_t changes;                   /* of allocations, before it */
    ti_tracker_state before, after;     /* it was recorded */
    size_t at;                          /* the step that comes next */
    uint64_t rounds, shift;             /* complete ones since; what is added to the ids of the recorded one */
    uint64_t repeated;                  /* instructions, so far */
} ti_cycle;

#endif
