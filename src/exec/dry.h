/* The issue table of dry runs: instructions are counted instead of executed.
 *
 * Kernels, copies, messages, allocations and reductions complete at once and touch no memory but that of fences, which
 * is zeroed. What is left for the executor are signals, horizons and epochs, so that programs run to their end.
 * Executor role. */
#ifndef TI_DRY_H
#define TI_DRY_H

#include "base/map.h"
#include "base/vec.h"
#include "comm/comm.h"
#include "exec/dry_memory.h"
#include "ir/instruction.h"

enum { TI_INSTRUCTION_KINDS = TI_INSTRUCTION_EPOCH + 1 };

/* What tasks of one name would do on this node. */
typedef struct ti_dry_name {
    char *name;
    uint64_t kernels, items;
    uint64_t messages_sent, bytes_sent, messages_received, bytes_received; /* bytes: those of collectives too */
    uint64_t collectives;
} ti_dry_name;

/* What a device has allocated, and had at most. */
typedef struct ti_dry_place {
    uint64_t bytes, peak;
} ti_dry_place;

typedef struct ti_dry {
    ti_comm_stats *network; /* messages are counted here, as in a run that sends them */
    uint64_t instructions[TI_INSTRUCTION_KINDS];
    uint64_t items;                       /* of all kernels */
    uint64_t fence_messages, fence_bytes; /* those that fences need, sent and received; contained in the network's */
    uint64_t fence_collectives, fence_collective_bytes; /* the same of collectives */
    uint64_t buffer_bytes, buffer_bytes_peak;
    TI_VEC(ti_dry_place) place; /* by device */
    ti_dry_memory memory;
    ti_map peers;              /* of tasks other than fences */
    TI_VEC(ti_dry_name) names; /* the last one takes all others once there are too many */
    ti_map name_index;         /* hash of the text to index, plus one */
} ti_dry;

void ti_dry_fini(ti_dry *dry); /* a zeroed one with a network is fresh */

/* Account for an instruction that is ready. True if nothing is left to do but to complete it. */
bool ti_dry_issue(ti_dry *dry, const ti_instruction *i);

#endif
