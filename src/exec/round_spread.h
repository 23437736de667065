/* Which worker runs which kernel of a round, of those that are run in one piece: kernels that do not depend on each
 * other run beside each other.
 *
 * Kernels that work on the same data one after the other form a chain: each is with the one that it shares most with.
 * Chains go to the workers in the order of the program, so that neighbours are near each other, by how long they take;
 * who submits has that to do as well. Whether this pays is estimated by going through two rounds, with what it takes to
 * hand a kernel over; exec/round_choice.h then measures it. Pure functions; any thread. */
#ifndef TI_ROUND_SPREAD_H
#define TI_ROUND_SPREAD_H

#include "base/vec.h"
#include "ir/instruction.h"

/* A kernel of the round that another one waits for, and how many bytes of it that one works with. */
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
    uint32_t before, after, chain;
    uint64_t before_bytes, after_bytes;
    uint64_t end;
} ti_spread_step;

typedef struct ti_spread {
    TI_VEC(ti_spread_step) step;
    TI_VEC(ti_spread_need) need;
    TI_VEC(uint64_t) load; /* of chains */
    int idle;              /* workers that get nothing */
    /* Of a round, in nanoseconds: as it would be without, as it is, and if handing over took no time. */
    uint64_t alone, spread, ideal;
} ti_spread; /* a zeroed one is fresh */

void ti_spread_clear(ti_spread *spread);
void ti_spread_fini(ti_spread *spread);
/* The next instruction of so many; its dependencies are how many before it they are. */
void ti_spread_add(ti_spread *spread, const ti_instruction *round, size_t count, uint64_t ns, int pieces,
                   bool may_move);
/* Finds who runs what: `self` submits, as a worker, or -1. False: it is one worker for all that may move. */
bool ti_spread_find(ti_spread *spread, int workers, int self);

#endif
