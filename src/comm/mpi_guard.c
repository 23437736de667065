/* The guard of a job: see mpi_guard.h. */
#include "comm/mpi_guard.h"

#include "comm/mpi_type.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    _Atomic int live; /* communicators */
    _Atomic int node;
    _Atomic int process; /* 0: the handler is not registered */
} guard;

_Thread_local bool ti_mpi_guard_inside;

static void end_of_process(void)
{
    int up = 0, finalized = 1, node = atomic_load(&guard.node);
    if (atomic_load(&guard.live) <= 0 || atomic_load(&guard.process) != (int)getpid() || ti_mpi_guard_inside ||
        MPI_Initialized(&up) != MPI_SUCCESS || !up || MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) {
        return;
    }
    atomic_store(&guard.live, 0); /* MPI_Abort may call exit */
    if (node < 0) {
        fprintf(stderr, "tacit: a process ended after a tacit_init that failed: the job is stopped\n");
    } else {
        fprintf(stderr, "tacit: node %d ended without tacit_finalize: the job is stopped\n", node);
    }
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

void ti_mpi_guard_arm(int node)
{
    int me = (int)getpid();
    atomic_fetch_add(&guard.live, 1);
    atomic_store(&guard.node, node);
    if (atomic_exchange(&guard.process, me) != me) {
        atexit(end_of_process);
    }
}

void ti_mpi_guard_disarm(void)
{
    atomic_fetch_sub(&guard.live, 1);
}

void ti_mpi_guard_disarm_all(void)
{
    atomic_store(&guard.live, 0);
}

void ti_mpi_guard_set_node(int node)
{
    atomic_store(&guard.node, node);
}
