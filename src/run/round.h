/* Rounds of a steady loop that the program's thread carries out itself, task by task as it submits them: what has been
 * planned once is not planned again, and nothing is handed over but the workers' parts of kernels.
 *
 * The planners say when a loop is steady (plan/track/loop.h): then the same tasks become the same instructions, round
 * after round. One such round is kept here (ti_round_note); it may be several passes of the tasks' loop. If all of it
 * is short and can be carried out in order (exec/round.h), then the next one begins when all before it is done. From
 * then on each task that is the next one of the round becomes kernels at once, and neither graphs nor engine are told.
 * A wait ends when all kernels have ended. When another task comes, or a call looks at a graph, they catch up
 * (ti_round_catch_up): they pass over the complete rounds, and are told of the last one and of what has come since,
 * task by task, for what they remember of it.
 *
 * So a program that submits is as far as its kernels are. If it has much else to do, that is found, and rounds are left
 * to the workers again.
 *
 * A wait need not be a point. On several nodes it is none on all of them or on none, since they count tasks alike: that
 * follows from how many horizons and passes of a loop have come since the last one, where all nodes keep rounds. Then
 * all plan what they hold back for tasks to come, which is nothing in a round. Where waits are points they may be steps
 * of a round.
 *
 * On several nodes rounds are carried out inline only, where nodes are near each other and messages short: in a round
 * the thread waits for each message before it goes on. That ends: what a task waits for, others send before they wait
 * for anything of the same task.
 *
 * With one host device, where nobody looks on. Application thread, but what is in round_note.c. */
#ifndef TI_ROUND_H
#define TI_ROUND_H

#include "exec/round.h"
#include "ir/command.h"
#include "ir/signal.h"

/* A task or a horizon of the round: what is looked at each time. */
typedef struct ti_round_step {
    uint64_t serial;       /* of its shape */
    uint32_t first, count; /* its instructions */
    ti_task_kind kind;
    bool talks;        /* some of them are messages or collectives */
    bool hashes;       /* nodes compare its arguments */
    uint32_t next;     /* step, after the horizons that follow; 0: the first one of another round */
    uint32_t horizons; /* so many */
    uint32_t points;   /* before it in the round */
} ti_round_step;

/* What else is known of it. */
typedef struct ti_round_part {
    ti_task task;         /* what is the same each time; of a horizon of the graph's own no more than its kind */
    ti_local_piece piece; /* of a fence */
} ti_round_part;

/* How a thread's time in rounds is spent: every so many of them one is measured, and spans of them as a whole. */
typedef struct ti_round_watch {
    bool on;
    uint64_t begun, inside; /* on the clock, or 0; nanoseconds in calls */
    int away;               /* measured ones in a row that were mostly spent elsewhere */
    uint64_t since;         /* when the rounds began of which the length is measured */
    int slow;               /* such spans in a row that took far too long */
} ti_round_watch;

/* Messages to or from a node, or collectives: how many there are in a round; those before the one at hand. */
typedef struct ti_round_count {
    uint64_t what, all, before;
} ti_round_count;

typedef struct ti_round {
    bool off, always;
    bool rests;            /* waits need be no points */
    uint64_t waited;       /* points at the latest one */
    _Atomic uint64_t kept; /* the number of the round that is kept, or 0; the rest of it: who has the scheduler role */
    bool records;
    uint64_t number; /* ti_task::again of its first task */
    uint64_t first;  /* that one's id when the round was recorded */
    uint64_t cycle;  /* of the instruction graph: its first step */
    uint32_t passes; /* of the tasks' round, in one of the instructions' */
    uint32_t begun;  /* passes since the first one came last */
    uint64_t commands, points;
    TI_VEC(ti_round_step) step;
    TI_VEC(ti_round_part) part; /* of each step */
    TI_VEC(ti_instruction) instruction;
    TI_VEC(uint64_t) dep;               /* of instructions, in order: how many before them; */
    TI_VEC(uint64_t) results;           /* staging memory of kernels; */
    TI_VEC(ti_instruction_box) box;     /* of messages and collectives; */
    TI_VEC(ti_combination) combination; /* of collectives that reduce */
    /* Application thread: */
    bool is_active;
    uint64_t since; /* shapes have gone away: rounds of earlier tasks are not used */
    ti_round_ops ops;
    TI_VEC(ti_round_count) counts;
    size_t at;               /* the next step, while it is carried out */
    uint64_t rounds;         /* complete ones */
    uint32_t skips, skipped; /* rounds that are not tried; so many the last time */
    uint32_t misses;         /* that were tried where another pass began */
    uint64_t tasks;          /* carried out so, in all */
    _Atomic bool awaits;     /* messages, and does nothing else: nobody else need look after them */
    ti_round_watch watch;
    ti_signal nobody; /* waits for fences that were carried out */
} ti_round;

struct ti_runtime;

static inline void ti_round_keep(ti_round *round, uint64_t number)
{
    atomic_store_explicit(&round->kept, number, memory_order_release);
}
static inline uint64_t ti_round_kept(const ti_round *round)
{
    return atomic_load_explicit(&round->kept, memory_order_acquire);
}

/* ---- round_note.c */

void ti_round_fini(ti_round *round);

typedef struct ti_round_planned {
    size_t commands;
    ti_instruction_batch batch;
    bool holds; /* the command graph, from then on: tasks that are not planned yet */
} ti_round_planned;
/* What the task has become. `cycle`: with it began a round of the command graph, and this step of a cycle of the
 * instruction graph; 0: not both. */
void ti_round_note(ti_round *round, const ti_task *task, uint64_t cycle, const ti_round_planned *planned);
/* Something has been planned that came of no task. */
void ti_round_interrupt(ti_round *round);

/* ---- round.c */

void ti_round_init(struct ti_runtime *rt);

/* Whether the task, or a fence, has been carried out: it is the next one of a round. */
bool ti_round_take(struct ti_runtime *rt, const ti_shape *shape, const void *args, const ti_user_copy *fence);
/* Wait until all is done that was submitted; `is_long`: in many passes of a loop since the last wait. False: there has
 * to be a point, and nothing has been waited for, or not enough. */
bool ti_round_rest(struct ti_runtime *rt, bool is_long);
/* Tasks and horizons so far. */
uint64_t ti_round_tasks(const struct ti_runtime *rt);
/* All graphs know all that has come. */
void ti_round_catch_up(struct ti_runtime *rt);
/* Shapes go away: what is kept is not used any more. */
void ti_round_forget(struct ti_runtime *rt);

#endif
