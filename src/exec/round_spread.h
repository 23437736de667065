/* Which worker runs which kernel of a round, of those that are run in one piece: kernels that do not depend on each
 * other run beside each other.
 *
 * Kernels that work on the same data one after the other form a chain: each comes after the one that has written most
 * of its input. A round may begin in the middle of a pass of the program's loop: it is looked at from where fewest
 * chains are cut. Each chain goes to the worker that has least to do meanwhile; who submits has that to do as well,
 * which is counted less or more: the best of a few such ways is taken. How long a round takes is estimated by going
 * through two of them, with what it takes to hand a kernel over; whether it pays is then measured (round_choice.h).
 * Pure functions; any thread. */
#ifndef TI_ROUND_SPREAD_H
#define TI_ROUND_SPREAD_H

#include "base/vec.h"
#include "ir/instruction.h"

/* A kernel of the round that another one waits for, and how many bytes of its input that writes. */
typedef struct ti_spread_need {
    uint32_t of;
    uint64_t bytes;
} ti_spread_need;

/* An instruction of the round. */
typedef struct ti_spread_step {
    uint64_t ns;          /* how long a kernel takes, if it is known */
    int pieces;           /* 0: it is no kernel, and nothing else runs meanwhile; else as many, each by one worker */
    bool may_move;        /* in one piece, and may run beside others */
    bool names_point;     /* it waits for all before a point */
    uint32_t need, needs; /* of `need` below */
    int worker;           /* found: who runs it; -1: nobody alone */
    /* While it is worked out: */
    uint64_t bytes; /* of its input */
    uint32_t before, after, chain;
    uint64_t before_bytes, after_bytes;
    uint64_t end;
} ti_spread_step;

/* Kernels of one worker, from the first to the last. */
typedef struct ti_spread_chain {
    uint32_t first, last;
    uint64_t ns;
    int worker;
} ti_spread_chain;

typedef struct ti_spread {
    TI_VEC(ti_spread_step) step;
    TI_VEC(ti_spread_need) need;
    TI_VEC(ti_spread_chain) chain;
    size_t first;           /* the step that is looked at first; chains count from it */
    TI_VEC(int32_t) worker; /* what was found for rounds of this hash whose kernels take about as long in all */
    uint64_t hash, ns;
    TI_VEC(uint64_t) words; /* while it is worked out */
    int idle;               /* workers but who submits that get nothing */
    /* Of a round, in nanoseconds: as it would be without, as it is, and if handing over took no time. */
    uint64_t alone, spread, ideal;
} ti_spread; /* a zeroed one is fresh */

void ti_spread_clear(ti_spread *spread);
void ti_spread_fini(ti_spread *spread);
/* The next instruction of so many; its dependencies are how many before it they are. */
void ti_spread_add(ti_spread *spread, const ti_instruction *round, size_t count, uint64_t ns, int pieces,
                   bool may_move);
/* Finds who runs what, unless it is the same round as the last time: `self` submits, as a worker, or -1. False: it is
 * one worker for all that may move. */
bool ti_spread_find(ti_spread *spread, int workers, int self);

#endif
