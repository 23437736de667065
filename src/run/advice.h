/* What a run is watched for, so that advice can be given at its end (TACIT_ADVICE; the sentences: trace/advice.h).
 *
 * Node 0 speaks, so it decides whether anybody watches, and all nodes know it from the start: the answer rides on a sum
 * that they form anyway. Workers then note how long each part of a kernel took, and the executor of node 0 what of its
 * memory is touched; at the end the nodes form some sums of these times, when all of them have executed everything and
 * none has failed. Nothing of it enters planning.
 *
 * The application thread, but for ti_advisor_note_part. */
#ifndef TI_RUN_ADVICE_H
#define TI_RUN_ADVICE_H

#include "comm/comm.h"
#include "device/host.h"
#include "exec/dry_memory.h"
#include "ir/system.h"
#include "trace/advice.h"

typedef struct ti_advisor {
    bool on;   /* all nodes alike */
    int desks; /* workers of this node, each of which has one */
    struct ti_advisor_desk *desk;
    ti_dry_memory *memory; /* of node 0, which speaks; NULL: of another, or nobody listens */
} ti_advisor;

/* All nodes: `value` of all together. Whether there will be advice is settled here. */
int64_t ti_advisor_begin(ti_advisor *advisor, const tacit_config *config, ti_comm *comm, int64_t value);
/* When the number of workers is known; nothing if there is no advice. */
void ti_advisor_init(ti_advisor *advisor, const ti_system *system);
void ti_advisor_fini(ti_advisor *advisor);
/* A worker has run a part of a kernel, or of a copy. Any worker's thread. */
void ti_advisor_note_part(ti_advisor *advisor, const ti_host_part *part);
/* All nodes, if there is advice; nothing else is under way. What workers did, and what memory was used for, into
 * `facts`, whose names live as long as the advisor. */
void ti_advisor_gather(const ti_advisor *advisor, ti_comm *comm, const ti_system *system, ti_advice_facts *facts);

#endif
