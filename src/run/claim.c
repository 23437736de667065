/* Who is in a call: see claim.h. */
#include "run/claim.h"

#include "base/check.h"

#include <pthread.h>

#if TI_CHECKS >= 1
void ti_claim_take(ti_claim *claim, ti_failure *failure)
{
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
}

void ti_claim_drop(ti_claim *claim)
{
    TI_ASSERT(claim->depth > 0);
    if (--claim->depth == 0) {
        atomic_store_explicit(&claim->owner, 0, memory_order_release);
    }
}
#endif
