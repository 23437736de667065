/* The guard of a job: see guard.h. */
#include "comm/mpi/guard.h"

#include "comm/launched.h"
#include "comm/mpi/type.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct {
    _Atomic int live; /* communicators */
    _Atomic int node;
    _Atomic int process; /* 0: the handler is not registered */
    _Atomic bool ending; /* a thread is about to end the job */
} guard;

_Thread_local bool ti_mpi_guard_inside;

static void pause_ms(int ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
    nanosleep(&pause, NULL); /* which may be a macro, for which a literal here would be two arguments */
}

/* Launchers that end a job may drop what a process wrote just before and they have not read yet. Other streams are left
 * alone: a thread that reads one holds its lock. */
static void let_output_go(void)
{
    fflush(stdout);
    fflush(stderr);
    pause_ms(100);
}

static bool is_up(void)
{
    int up = 0;
    return MPI_Initialized(&up) == MPI_SUCCESS && up;
}

static bool is_over(void)
{
    int over = 1;
    return MPI_Finalized(&over) != MPI_SUCCESS || over;
}

/* A process that never started MPI has nobody to tell: some launchers do not notice that it ends, but all notice a
 * signal. */
static void end_by_signal(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    raise(SIGTERM);
}

static void end_of_process(void)
{
    int node = atomic_load(&guard.node);
    if (atomic_load(&guard.process) != (int)getpid() || ti_mpi_guard_inside) {
        return;
    }
    if (atomic_load(&guard.ending)) {
        pause_ms(2000); /* the process must not be gone before that thread has called MPI */
        return;
    }
    if (atomic_load(&guard.live) <= 0) {
        return;
    }
    bool up = is_up();
    if (up ? is_over() : (node >= 0 || !ti_comm_mpi_is_launched())) {
        return;
    }
    atomic_store(&guard.live, 0); /* MPI_Abort may call exit */
    if (node < 0) {
        fprintf(stderr, "tacit: a process ended after a tacit_init that failed: the job is stopped\n");
    } else {
        fprintf(stderr, "tacit: node %d ended without tacit_finalize: the job is stopped\n", node);
    }
    let_output_go();
    if (up) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    } else {
        end_by_signal();
    }
}

void ti_mpi_guard_arm(int node)
{
    int me = (int)getpid();
    atomic_fetch_add(&guard.live, 1);
    atomic_store(&guard.node, node);
    if (atomic_exchange(&guard.process, me) != me) {
        atexit(end_of_process);
        ti_launched_end_with_launcher(); /* mpiexec of Hydra 4.0 may kill that, and not the ranks, when one aborts */
    }
}

void ti_mpi_guard_disarm(void)
{
    atomic_fetch_sub(&guard.live, 1);
}

/* Always of all processes, which launchers end in any case: on a smaller communicator MPICH would first wait until each
 * of its processes has called MPI. */
void ti_mpi_guard_end(void)
{
    atomic_store(&guard.ending, true);
    ti_mpi_guard_inside = true;
    let_output_go();
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    _Exit(EXIT_FAILURE);
}

void ti_mpi_guard_set_node(int node)
{
    atomic_store(&guard.node, node);
}
