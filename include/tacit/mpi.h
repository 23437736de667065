/* tacit/mpi.h: tacit inside programs that use MPI themselves. doc/mpi.md explains it at length.
 *
 * The program initialises MPI, hands a communicator to tacit_init_mpi, uses tacit for a part of its work, calls
 * tacit_finalize, and goes on with MPI; several contexts may follow each other or live at the same time, on the same or on
 * other communicators. tacit works on duplicates of the communicator, so its messages and the program's never meet.
 *
 * Thread levels (MPI_Query_thread):
 *   MULTIPLE          tacit uses threads as its configuration says.
 *   SERIALIZED        everything runs inside the program's calls of tacit, from whatever thread calls: tacit and the
 *                     program must not call MPI at the same time, and this way they do not.
 *   FUNNELED, SINGLE  the same, and only the thread that initialised MPI may call tacit. Other threads are refused.
 *
 * One rule against deadlock: a node that waits for others in an MPI call of the program may not be driving tacit, which
 * others may wait for. Call tacit_wait (or tacit_finalize) before. */
#ifndef TACIT_MPI_H
#define TACIT_MPI_H

#include <mpi.h>

#include <tacit/tacit.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(OPEN_MPI)
#define TACIT_MPI_LIBRARY_ TACIT_MPI_OPEN_MPI
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
#define TACIT_MPI_LIBRARY_ TACIT_MPI_MPICH
#else
#define TACIT_MPI_LIBRARY_ TACIT_MPI_OTHER
#endif

static inline tacit_mpi_comm tacit_mpi_comm_of_(MPI_Comm *comm)
{
    tacit_mpi_comm c;
    c.address = comm;
    c.size = sizeof(*comm);
    c.library = TACIT_MPI_LIBRARY_;
    return c;
}

/* Start tacit on the processes of `comm`, whose ranks are the nodes. MPI must be initialised, and stays so when the context is finalized.
 * `comm` itself is only duplicated. `config` may be NULL.
 * Errors: TACIT_ERROR_ARGUMENT (no or an inter-communicator), _STATE (MPI is not initialised or finalised; not the thread that
 * initialised it where only that one may call MPI), _CONFIG (also settings that the thread level forbids), _UNSUPPORTED (tacit was built
 * without MPI or with another one), _NETWORK. All processes of `comm`. */
static inline tacit_status tacit_init_mpi(MPI_Comm comm, const tacit_config *config, tacit_context **out)
{
    tacit_mpi_comm c = tacit_mpi_comm_of_(&comm);
    return tacit_init_mpi_sized(&c, config, sizeof(tacit_config), out);
}

/* In the kernel of a task on every node (TACIT_ON_EVERY_NODE): a communicator of all nodes for the kernel's own use, for instance in collective
 * operations. The ranks are the nodes. It is the same in all such tasks of a context, is used by nothing else, has the error handler of the
 * communicator that the run began with, and must not be freed. MPI_COMM_NULL if the run has no MPI: one node that no launcher
 * started. In other tasks, or if MPI grants neither MPI_THREAD_MULTIPLE nor that everything runs in one thread, the kernel
 * fails (TACIT_ERROR_KERNEL). */
static inline MPI_Comm tacit_launch_communicator(const tacit_launch *launch)
{
    MPI_Comm comm = MPI_COMM_NULL;
    tacit_mpi_comm c = tacit_mpi_comm_of_(&comm);
    (void)tacit_launch_communicator_sized(launch, &c);
    return comm;
}

#ifdef __cplusplus
}
#endif
#endif
