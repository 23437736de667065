/* The trace of a simulated run: one recorder for each of its nodes, and what their files say about the run.
 *
 * Files are those of a traced run (trace/record.h), and the same every time: they name no machine and no clock.
 * Application thread. */
#ifndef TI_SIMULATION_TRACE_H
#define TI_SIMULATION_TRACE_H

#include "ir/system.h"
#include "tacit/tacit.h"
#include "trace/recorder.h"

/* Of each node. NULL and a sentence if a file cannot be made. */
ti_recorder **ti_simulation_recorders_open(const ti_system *system, const tacit_config *config, ti_strbuf *why);
/* False and a sentence if a file is not complete. `recorder` may be NULL, `why` as well. */
bool ti_simulation_recorders_close(ti_recorder **recorder, int nodes, ti_strbuf *why);

#endif
