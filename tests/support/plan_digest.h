/* What one node plans, as one number per command and per instruction: to compare the plans of two runs.
 *
 * A number says everything that other nodes, the network or the devices get to see of a vertex: what it is, what it
 * depends on, which boxes, peers, counters and allocations it names. Addresses and slots of tables are left out: they
 * may differ. One thread at a time. */
#ifndef TEST_PLAN_DIGEST_H
#define TEST_PLAN_DIGEST_H

#include "base/vec.h"
#include "run/scheduler.h"

typedef struct plan_digest {
    ti_plan_tap tap; /* for ti_runtime_tap */
    TI_VEC(uint64_t) commands, instructions;
    uint64_t messages;
} plan_digest;

void plan_digest_init(plan_digest *d); /* stays where it is */
void plan_digest_fini(plan_digest *d);
/* NULL if both are the same plan, else what differs first. Valid until the next call. */
const char *plan_digest_difference(const plan_digest *a, const plan_digest *b);

#endif
