/* What a traced run (TACIT_TRACE) needs besides its recorder: which ring is whose, what the file says about the run,
 * and the clocks of the nodes, at the start and at the end.
 *
 * Rings are NULL in a run that is not traced. Open, begin, end and close: the application thread. */
#ifndef TI_TRACING_H
#define TI_TRACING_H

#include "base/clock.h"
#include "comm/comm.h"
#include "device/host.h"
#include "ir/system.h"
#include "ir/task.h"
#include "run/choose.h"
#include "trace/recorder.h"

typedef struct ti_tracing {
    ti_recorder *recorder; /* NULL: the run is not traced */
    ti_trace_ring *program, *planner, *executor;
    struct ti_tune *tune; /* learns of kernels, too; or NULL */
    unsigned context;     /* which of the process, from 1 on; its files are named by it */
    bool aligned;         /* there are notes, to compare clocks with */
    bool keeps_values;    /* of fences: node 0, whose program a replay runs */
    size_t value_bytes;   /* of fences, so far */
} ti_tracing;

/* Nothing if TACIT_TRACE is not set, nor for the contexts of a process behind the sixteenth. False and a sentence in `why` if the file cannot be made. */
bool ti_tracing_open(ti_tracing *tracing, const tacit_config *config, const ti_system *system, ti_strbuf *why);
/* What a file says of the run: versions, the settings, the command; how it runs, and over which network. */
void ti_tracing_add_facts(ti_recorder *recorder, const tacit_config *config, const char *progress, const char *network);
/* All nodes, at the start; `has_notes`: the network's notes are open. */
void ti_tracing_begin(ti_tracing *tracing, ti_comm *comm, const tacit_config *config, ti_run_mode mode, bool has_notes);
/* Where something of this context goes for which the program's settings say `path`. */
void ti_tracing_path(const ti_tracing *tracing, const char *path, ti_strbuf *out);
/* At the end: all nodes, if the run has not failed. */
void ti_tracing_end(ti_tracing *tracing, ti_comm *comm);
/* What was recorded is in the file: whoever ends the job may end this process at once. */
void ti_tracing_flush(ti_tracing *tracing);
/* When nobody writes any more. Says so if the file is not complete. */
void ti_tracing_close(ti_tracing *tracing);

/* What the task stage made, from `start` on. */
void ti_tracing_note_tasks(ti_tracing *tracing, const ti_task *const *task, size_t count, uint64_t start);
/* The program's thread has waited since `start`; 0: it has not. */
void ti_tracing_note_wait(ti_tracing *tracing, ti_trace_cause cause, uint64_t start);
/* What the program has got from a fence, so that a replay may give it the same: unless that is long. */
void ti_tracing_note_values(ti_tracing *tracing, uint64_t fence, const void *data, size_t bytes);
/* A worker has run a part of the instruction that is its token; `user` is the ti_tracing. */
void ti_tracing_note_part(void *user, const ti_host_part *part);

#endif
