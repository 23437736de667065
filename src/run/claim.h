/* Which thread is in a call with a context: checked builds find two threads that use one at the same time.
 *
 * The second thread fails the run with a sentence, which ends the waiting of the first, and goes on when that has
 * left: so the run ends cleanly. Nothing in builds without checks. Any thread. */
#ifndef TI_CLAIM_H
#define TI_CLAIM_H

#include "base/failure.h"

typedef struct ti_claim {
    _Atomic uintptr_t owner; /* the thread; 0: nobody */
    int depth;               /* calls of this thread within each other: a waiting thread runs kernels */
} ti_claim;

#if TI_CHECKS >= 1
void ti_claim_take(ti_claim *claim, ti_failure *failure);
void ti_claim_drop(ti_claim *claim);
#else
static inline void ti_claim_take(ti_claim *claim, ti_failure *failure)
{
    (void)claim, (void)failure;
}
static inline void ti_claim_drop(ti_claim *claim)
{
    (void)claim;
}
#endif

#endif
