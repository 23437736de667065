/* TACIT_BALANCE: how much of a task each node gets, and each device of it, from what was measured, or as another run
 * chose (doc/balance.md).
 *
 * A task that is split along dimension 0 over the nodes, and has no weights of nodes of its own, takes part: it gets
 * those that hold when it is submitted; those of devices (shares.h) hold for all tasks that devices share. They change
 * in ti_balance_choose only, where all nodes wait for each other and nothing is under way: each node says how many
 * items of tasks that take part it has completed in which time, all hear the same, and compute the same from it, in
 * integers. Choices are logged in the form in which the setting repeats them.
 *
 * The application thread, but for ti_balance_note_part. */
#ifndef TI_BALANCE_H
#define TI_BALANCE_H

#include "base/strbuf.h"
#include "comm/comm.h"
#include "device/host.h"
#include "ir/system.h"
#include "ir/task.h"
#include "run/shares.h"

typedef struct ti_balance {
    bool on;       /* there are weights, or may be */
    bool measures; /* kernels */
    ti_comm *comm;
    const ti_system *system;
    uint32_t *weight;      /* by node */
    bool has_weights;      /* not all alike from the start */
    const char *list;      /* of a setting: choices that are to come; NULL: none */
    uint64_t tasks, due;   /* that took part so far; when a wait chooses */
    ti_shares shares;      /* of devices, and what these have computed */
    _Atomic uint64_t ns;   /* of kernels that not all devices share, as if all of the host's workers ran one */
    _Atomic uint64_t done; /* items of these, since the last choice */
    ti_strbuf said;        /* choices so far, as in the setting */
} ti_balance;

/* False and a sentence in `why` if the setting means nothing, or is for another number of nodes. The setting must
 * live as long; with `is_dry` nothing is measured. */
bool ti_balance_init(ti_balance *balance, const char *setting, ti_comm *comm, const ti_system *system, bool is_dry,
                     ti_strbuf *why);
void ti_balance_fini(ti_balance *balance); /* the network may be gone */
/* A task is submitted. */
static inline void ti_balance_note(ti_balance *balance, const ti_task *task)
{
    balance->tasks += task->shape->balanced;
}
/* A part of a kernel has run. Any thread. */
void ti_balance_note_part(ti_balance *balance, const ti_host_part *part);
/* Whether the program's next wait should choose; the same on all nodes. */
static inline bool ti_balance_is_due(const ti_balance *balance)
{
    return balance->on && balance->tasks >= balance->due;
}
/* All nodes wait for each other here, nothing is under way, and no other thread uses the network. Whether other weights
 * hold from now on. */
bool ti_balance_choose(ti_balance *balance);
/* One for each node, or NULL: all alike. */
static inline const uint32_t *ti_balance_weights(const ti_balance *balance)
{
    return balance->has_weights ? balance->weight : NULL;
}

#endif
