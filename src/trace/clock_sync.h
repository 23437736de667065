/* How far the clocks of nodes are apart: node 0 asks each of them several times what its clock shows, by notes
 * (comm/comm.h), and takes the answer that came fastest (Cristian: Probabilistic Clock Synchronization, 1989).
 * Application thread, at the start and at the end of a traced run. */
#ifndef TI_CLOCK_SYNC_H
#define TI_CLOCK_SYNC_H

#include "comm/comm.h"
#include "trace/record.h"

/* All nodes, while nobody else sends or polls notes. Waits, at most `patience` nanoseconds for each node; 0: as long as
 * the network works. On node 0 clock[q] is that of node q, with an error of UINT64_MAX if it did not answer. */
void ti_clock_sync(ti_comm *comm, uint64_t patience, ti_trace_clock *clock);

#endif
