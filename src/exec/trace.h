/* Instructions as records of a traced run (trace/record.h): when each started and ended, and what made it ready.
 * Executor role. */
#ifndef TI_EXEC_TRACE_H
#define TI_EXEC_TRACE_H

#include "comm/comm.h"
#include "exec/engine.h"
#include "trace/record.h"

struct ti_device;

/* What a record of this instruction says but for times: kind, value, number, name and where. */
void ti_trace_describe(const ti_instruction *instruction, ti_trace_record *out);
/* Instruction `id` of this node ends now. What becomes ready by it does so at the same time. */
void ti_trace_instruction(ti_trace_ring *ring, ti_engine *engine, int node, uint64_t id, uint64_t now);
/* Before the first instruction: what follows needs times, and to look on as this node passes messages on for others. */
void ti_trace_open(ti_trace_ring *ring, ti_engine *engine, ti_comm *comm);
/* And as lanes of the `count` devices work, which count from 0. */
void ti_trace_watch(ti_trace_ring *ring, struct ti_device *const *device, int count);
/* It has passed one on. */
void ti_trace_relayed(ti_trace_ring *ring, const ti_relayed *what);
/* All that have started and not ended. */
void ti_trace_unfinished(ti_trace_ring *ring, const ti_engine *engine);

#endif
