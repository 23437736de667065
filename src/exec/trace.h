/* Instructions as records of a traced run. Executor role. */
#ifndef TI_EXEC_TRACE_H
#define TI_EXEC_TRACE_H

#include "exec/engine.h"
#include "trace/record.h"

/* Instruction `id` ends now. What becomes ready by it does so at the same time. */
void ti_trace_instruction(ti_trace_ring *ring, ti_engine *engine, uint64_t id, uint64_t now);
/* All that have started and not ended. */
void ti_trace_unfinished(ti_trace_ring *ring, const ti_engine *engine);

#endif
