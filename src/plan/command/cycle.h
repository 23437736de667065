/* Cycles of the command graph: the commands of a steady loop are those of the last round. The state of
 * plan/lookahead/cycle.c, which says when there is a cycle. Included by impl.h only. Scheduler thread. */
#ifndef TI_COMMAND_CYCLE_H
#define TI_COMMAND_CYCLE_H

#include "ir/command.h"
#include "plan/command/reduced.h"
#include "plan/track/loop.h"

struct ti_command_buffer;

/* What has become of a task of the round, and of those that it made plan. */
typedef struct ti_command_step {
    size_t plan, command, left; /* the first of each of these, */
    uint32_t plans, commands, lefts;
    bool rests; /* nothing is held then */
    uint32_t replayed, overlapped, missed;
} ti_command_step;

/* A command, but for its id, its task, and the numbers of messages and collectives. */
typedef struct ti_command_made {
    ti_command command;
    uint32_t task;       /* in the round */
    size_t box;          /* the first of a transfer */
    ti_collective *what; /* of a collective or a reduction by one; else NULL */
} ti_command_made;

/* What is known of a buffer then. */
typedef struct ti_command_left {
    struct ti_command_buffer *buffer;
    ti_reduced reduced;
    uint64_t manner; /* this and the next two: of replay */
    int at, fruitless;
} ti_command_left;

typedef TI_VEC(uint64_t) ti_command_words;

typedef struct ti_command_cycle {
    bool off; /* there are none on this system */
    ti_loop loop;
    uint64_t number; /* ti_task::again of the first task of the round */
    TI_VEC(ti_command_step) step;
    TI_VEC(const ti_task *) task; /* of the round at hand */
    TI_VEC(uint32_t) plan;        /* tasks of the round */
    TI_VEC(ti_command_made) command;
    TI_VEC(ti_box) box;
    TI_VEC(ti_tree_place) tree;
    TI_VEC(ti_command_left) left;
    ti_command_words before, after; /* what is known then */
    uint64_t numbered;              /* commands so far: ti_command::again */
    size_t noted;                   /* of the tasks: what they have left is in `left` */
    uint64_t rounds, repeated;      /* complete ones; tasks and horizons so far */
} ti_command_cycle;

#endif
