/* Collectives on their way to the communicator, or to devices that carry them out among themselves: started in the
 * order of their sequence numbers, which is the same on every node.
 *
 * One that is ready before its turn waits here. Those before it wait for nothing that comes after it, so every one
 * gets its turn. Executor role. */
#ifndef TI_COLLECTIVE_ISSUE_H
#define TI_COLLECTIVE_ISSUE_H

#include "base/map.h"
#include "comm/exchange.h"
#include "exec/allocation_table.h"
#include "exec/collective_device.h"

typedef struct ti_collective_issue {
    ti_comm *comm;
    ti_allocation_table *table;
    ti_device *const *device;
    uint64_t next;  /* sequence number */
    ti_map waiting; /* instructions that are ready before their turn, by sequence number */
    TI_VEC(ti_block) blocks;
    const ti_instruction *current;
    ti_collective_device shares;
} ti_collective_issue;

/* A reduction that comes again, of what lies where it lies now. */
typedef struct ti_kept_reduction {
    ti_exchange exchange;
    ti_block block;
} ti_kept_reduction;

/* What has become of it. */
typedef enum ti_kept_end {
    TI_KEPT_NOTHING, /* it has to be made ready */
    TI_KEPT_STARTED, /* its token will be reported */
    TI_KEPT_DONE     /* it is complete */
} ti_kept_end;

/* The instruction is ready. Starts it, and what has waited for it, when it is its turn. */
void ti_collective_issue_ready(ti_collective_issue *issue, const ti_instruction *instruction);
/* Of all nodes, in one block of memory of the host. False: another one. */
bool ti_collective_keep(ti_collective_issue *issue, const ti_instruction *instruction, ti_kept_reduction *out);
/* Start it, if it is its turn and nothing waits. */
ti_kept_end ti_collective_issue_kept(ti_collective_issue *issue, ti_kept_reduction *kept, uint64_t sequence,
                                     uint64_t token);
void ti_collective_issue_fini(ti_collective_issue *issue);

#endif
