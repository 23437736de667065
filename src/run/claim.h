/* Who is in a call of the program's: checked builds find two threads that use one context at the same time.
 *
 * The second thread fails the run with a sentence, which ends the waiting of the first, and goes on when that has left:
 * so the run ends cleanly. Nothing in builds without checks. Any thread. */
#ifndef TI_CLAIM_H
#define TI_CLAIM_H

#include "base/check.h"
#include "base/failure.h"

#include <pthread.h>

typedef struct ti_claim {
    _Atomic uintptr_t owner; /* the thread; 0: nobody */
    int depth;               /* calls of this thread within each other: a waiting thread runs kernels */
} ti_claim;

static inline void ti_claim_take(ti_claim *claim, ti_failure *failure)
{
#if TI_CHECKS >= 1
    uintptr_t me = (uintptr_t)pthread_self(), nobody = 0;
    while (atomic_load_explicit(&claim->owner, memory_order_relaxed) != me &&
           !atomic_compare_exchange_strong_explicit(&claim->owner, &nobody, me, memory_order_acquire,
                                                    memory_order_relaxed)) {
        if (nobody && ti_failure_get(failure) == TACIT_OK) {
            ti_failure_set(failure, TACIT_ERROR_STATE,
                           "two threads use one context at the same time; let one call tacit when the other has "
                           "returned, or give each a context of its own");
        }
        nobody = 0;
        sched_yield();
    }
    claim->depth++;
#else
    (void)claim, (void)failure;
#endif
}

static inline void ti_claim_drop(ti_claim *claim)
{
#if TI_CHECKS >= 1
    TI_ASSERT(claim->depth > 0);
    if (--claim->depth == 0) {
        atomic_store_explicit(&claim->owner, 0, memory_order_release);
    }
#else
    (void)claim;
#endif
}

#endif
