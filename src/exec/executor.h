/* The executor: starts ready instructions, notices completed ones. While instructions are under way it is the only code
 * that starts operations of the communicator and of devices. (Besides, nodes form sums where all of them wait, and send
 * notes: run/agreement.h. The runtime opens and ends both, and lends threads to host devices.)
 *
 * One step polls devices and network, retires what is complete, starts messages, copies and allocations that are ready,
 * and hands kernels to the device as long as it has room, so that the rest can still be reordered by priority. Nothing
 * here ever blocks. Collective host tasks may wait for other nodes, which may wait for older work of this one: they run
 * on a thread of their own, or (inline) when all before them is done (doc/internals.md, "Collective host tasks").
 *
 * Executor role: one thread at a time. What it tells others goes through the atomics of ti_executor_progress. */
#ifndef TI_EXECUTOR_H
#define TI_EXECUTOR_H

#include "base/cores.h"
#include "base/failure.h"
#include "base/strbuf.h"
#include "comm/comm.h"
#include "device/bounds/check.h"
#include "device/device.h"
#include "exec/busy.h"
#include "exec/dry.h"
#include "exec/engine.h"
#include "exec/outbox.h"
#include "exec/purity.h"
#include "ir/system.h"
#include "trace/record.h"

typedef struct ti_executor ti_executor;

/* Read by any thread. */
typedef struct ti_executor_progress {
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t points; /* horizons and epochs executed */
    _Atomic uint64_t task;                           /* id of the last one's task */
    _Atomic uint64_t buffer_bytes;                   /* allocated for buffers and staging now */
    _Atomic uint64_t kernels, kernels_left;          /* inline: submitted; and not done. At the end of the last step */
    _Atomic uint64_t messages;                       /* operations under way that must be polled for, or may come */
    _Atomic uint64_t round_messages;                 /* of a round that is carried out in order: under way */
    _Atomic bool awaits_all;                         /* somebody waits until nothing is incomplete */
    _Atomic bool unseen;                             /* there are threads whose ends only a step sees */
    _Atomic bool placed;  /* there are tasks on single nodes: from now on, be a relay for others (comm/relay.h) */
    _Atomic bool holding; /* sends wait for others of the same contents, which the program is about to submit */
    ti_failure failure;
    ti_lot lot; /* woken when any of these or a signal changes */
} ti_executor_progress;

/* Who looks on as instructions are started and completed: tests. Called in the executor role. */
typedef struct ti_executor_tap {
    void *user;
    void (*started)(void *user, const ti_instruction *instruction);
    void (*completed)(void *user, const ti_instruction *instruction);
} ti_executor_tap;

typedef struct ti_executor_desc {
    const ti_system *system;
    tacit_context *context; /* for tacit_launch */
    ti_comm *comm;
    ti_device *const *device; /* system->devices of them; host tasks and host memory are device 0's */
    ti_executor_progress *progress;
    ti_trace_ring *trace;  /* or NULL: the run is not traced */
    bool is_inline;        /* the thread that takes this role also runs the kernels */
    const ti_cores *cores; /* what a thread for kernels that wait for each other is bound to; or NULL */
    ti_dry *dry;           /* count instead of executing; NULL: a live run */
    ti_dry_memory *memory; /* a live run: who wants to know what allocations are used for, or NULL */
    ti_bounds *bounds;     /* kernels are checked; or NULL */
    ti_busy *busy;         /* who measures kernels of accelerators, that take part in TACIT_BALANCE; or NULL */
    ti_purity *purity;     /* keeps samples of what nodes compute redundantly; or NULL */
    /* Whether somebody still looks for the cause of a message of a wrong length; the failure waits for as long. Or
     * NULL. */
    bool (*explains)(void *user);
    void *user;
    /* Called before sends leave that others might leave with: plan more of what has been submitted, and submit it here.
     * Returns whether something came. Or NULL. */
    bool (*plan)(void *planner);
    void *planner;
} ti_executor_desc;

ti_executor *ti_executor_create(const ti_executor_desc *desc);
void ti_executor_destroy(ti_executor *executor); /* frees what is still allocated for buffers */

/* Before the first instruction. `tap` stays where it is; NULL: nobody looks on. */
void ti_executor_set_tap(ti_executor *executor, const ti_executor_tap *tap);

void ti_executor_submit(ti_executor *executor, const ti_instruction *instruction);
/* Returns whether something happened. */
bool ti_executor_step(ti_executor *executor);
/* Starts what can start by what host devices have completed. Network and accelerators are not asked. */
bool ti_executor_start(ti_executor *executor);
/* Instructions started and completed so far, together: it stands still when nothing goes on. */
uint64_t ti_executor_activity(const ti_executor *executor);
/* Kernels and copies that are running. */
uint64_t ti_executor_running(const ti_executor *executor);
/* Kernels so far that were started by who ended the one before. */
uint64_t ti_executor_followed(const ti_executor *executor);
/* Sends so far. */
ti_outbox_counts ti_executor_outbox_counts(const ti_executor *executor);
/* The name of a task whose kernel has run for `limit` nanoseconds, and for how many; NULL: none (device/host.h). */
const char *ti_executor_long_kernel(ti_executor *executor, uint64_t now, uint64_t limit, uint64_t *ns);
/* Append what is waited for, oldest first: messages under way with their task, buffer, box and peer; at most `max`
 * lines. */
void ti_executor_describe_waits(const ti_executor *executor, int max, ti_strbuf *out);
/* Note what is under way, since it will not end: the run has failed. */
void ti_executor_trace_unfinished(ti_executor *executor);
/* Instructions that were submitted and are not complete. */
uint64_t ti_executor_incomplete(const ti_executor *executor);

#endif
