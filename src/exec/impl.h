/* The state of the executor, for the sources that make it up:
 *
 *   executor.c  what starting an instruction means, and the step
 *   round.c     rounds of steady loops that are carried out in order
 *   chain.c     kernels that are started by who ends what they wait for
 *
 * Executor role. */
#ifndef TI_EXEC_IMPL_H
#define TI_EXEC_IMPL_H

#include "exec/allocation_table.h"
#include "exec/collective_issue.h"
#include "exec/executor.h"
#include "exec/host_threads.h"
#include "exec/kernel_job.h"
#include "exec/round_choice.h"

struct ti_executor {
    ti_executor_desc is;
    ti_engine engine;
    ti_allocation_table table;
    ti_jobs jobs;
    ti_kernel_setting kernels;
    TI_VEC(ti_block) blocks;
    uint64_t buffer_bytes;
    ti_collective_issue collectives;
    ti_outbox outbox;
    ti_host_threads host_threads; /* of collective host tasks, which must not keep a worker from its work */
    int steps_without_network, steps_without_accelerators;
    uint64_t activity, running;
    uint64_t submitted_kernels, retired_kernels;
    uint64_t followed;          /* kernels that were started by who ended the one before */
    uint64_t tail;              /* what was the last to follow another one */
    ti_round_choices choices;   /* of rounds that are carried out in order */
    bool may_follow;            /* nobody looks on between two kernels */
    bool has_order;             /* accelerators start operations behind others */
    const ti_executor_tap *tap; /* or NULL */
};

static inline ti_device *ti_executor_device(const ti_executor *ex, const ti_instruction *i)
{
    return ex->is.device[i->device];
}

/* ---- executor.c: for round.c */

/* Tokens of messages of rounds have this bit. */
#define TI_ROUND_TOKEN ((uint64_t)1 << 59)
/* Ask the network what has ended. Whether anything has. */
bool ti_executor_poll_network(ti_executor *ex);
/* Tell others how much is awaited that must be asked for. */
void ti_executor_note_waits(ti_executor *ex);

/* ---- chain.c */

/* The engine has taken the instruction, and `last` is the last one that it waits for. */
void ti_chain_submit(ti_executor *ex, const ti_instruction *instruction, ti_engine_slot *last);
/* What may follow a kernel that was started, and what may follow that, as much as there may be. */
void ti_chain_extend(ti_executor *ex, ti_engine_slot *slot);
/* Some of a chain may have ended, and more may follow. */
void ti_chain_go_on(ti_executor *ex);

#endif
