/* Reading what a recorder has written: the blocks of one node's file, and the clocks of all nodes as one.
 *
 * A file whose writer died ends anywhere: what is whole counts. One thread. */
#ifndef TI_TRACE_READ_H
#define TI_TRACE_READ_H

#include "base/strbuf.h"
#include "trace/record.h"

/* One block and what it has; of records that are cut off the whole ones. */
typedef void ti_trace_found(void *user, const ti_trace_block *block, const char *data);
/* The file of one node. False and a sentence in `why` if it is not there, or none of ours. `found` NULL: the header
 * only. */
bool ti_trace_read(const char *prefix, int node, ti_trace_header *header, ti_trace_found *found, void *user,
                   ti_strbuf *why);

/* "kernel" */
const char *ti_trace_kind_name(uint8_t kind);

/* How a node's clock goes: two looks at it, or one twice. */
typedef struct ti_trace_drift {
    ti_trace_clock first, last;
    bool known;
} ti_trace_drift;
/* What a block of clocks says, for `nodes` nodes. */
void ti_trace_add_clocks(ti_trace_drift *drift, uint32_t nodes, const ti_trace_block *block, const char *data);
/* A node's time on the clock of node 0. */
int64_t ti_trace_common_time(const ti_trace_drift *drift, int64_t time);

#endif
