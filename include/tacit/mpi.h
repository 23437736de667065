/* tacit/mpi.h: tacit inside programs that use MPI themselves. doc/mpi.md explains it at length.
 *
 * The program initialises MPI, hands a communicator to tacit_init_mpi, uses tacit for a part of its
 * work, calls tacit_finalize, and goes on with MPI:
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
 *     if (tacit_init_mpi(MPI_COMM_WORLD, NULL, &ctx) != TACIT_OK)
 *         fprintf(stderr, "%s\n", tacit_last_error(NULL));
 *     ... buffers, tasks, fences ...
 *     tacit_finalize(ctx);
 *     ... the program's own MPI ...
 *     MPI_Finalize();
 *
 * Several contexts may follow each other or live at the same time, on the same or on other
 * communicators. tacit works on duplicates of the communicator, so its messages and the program's
 * never meet.
 *
 * Thread levels (MPI_Query_thread):
 *
 *   MPI_THREAD_MULTIPLE    tacit uses threads as its configuration says.
 *   MPI_THREAD_SERIALIZED  Everything runs inside the program's calls of tacit, from whatever thread
 *                          calls: tacit and the program must not call MPI at the same time, and this
 *                          way they do not. Settings that ask for threads are refused.
 *   MPI_THREAD_FUNNELED,   The same, and only the thread that initialised MPI may call tacit. Others
 *   MPI_THREAD_SINGLE      are refused.
 *
 * One rule against deadlock: a node that waits for others in an MPI call of the program may not be
 * driving tacit, which others may wait for. Call tacit_wait (or tacit_finalize) before.
 *
 * To compile, use mpicc, `pkg-config --cflags --libs tacit-mpi`, or tacit::mpi in CMake, with the MPI
 * that tacit was built with (`tacit info` says which). */
#ifndef TACIT_MPI_H
#define TACIT_MPI_H

#include <mpi.h>

#include <tacit/tacit.h>

TACIT_C_BEGIN_

/* Which MPI the program is compiled with. */
#if defined(OPEN_MPI)
#define TACIT_MPI_LIBRARY_ TACIT_MPI_OPEN_MPI
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
#define TACIT_MPI_LIBRARY_ TACIT_MPI_MPICH
#else
#define TACIT_MPI_LIBRARY_ TACIT_MPI_OTHER
#endif

/* A communicator, as the functions of tacit/context.h take it. */
static inline tacit_mpi_comm tacit_mpi_comm_of_(MPI_Comm *comm)
{
    const tacit_mpi_comm c = { comm, sizeof(*comm), TACIT_MPI_LIBRARY_ };
    return c;
}

/* Start tacit on the processes of a communicator, whose ranks are the nodes.
 *
 *   comm    an intra-communicator. It is only duplicated, and its error handler is left alone; it may
 *           be freed when the context is finalized.
 *   config  as for tacit_init
 *   out     gets the context, or NULL on an error. MPI stays initialised when it is finalized.
 *
 *   errors  TACIT_ERROR_ARGUMENT     out is NULL; MPI_COMM_NULL, or an inter-communicator
 *           TACIT_ERROR_STATE        MPI is not initialised, or finalised; not the thread that
 *                                    initialised it, where only that one may call MPI
 *           TACIT_ERROR_CONFIG       as for tacit_init; also settings that the thread level forbids
 *           TACIT_ERROR_UNSUPPORTED  tacit was built without MPI or with another one; the system
 *                                    grants no threads
 *           TACIT_ERROR_NETWORK      MPI fails
 *           (tacit_last_error(NULL) has the sentence)
 *   thread  any that may call MPI
 *   nodes   all processes of `comm` */
static inline tacit_status tacit_init_mpi(MPI_Comm comm, const tacit_config *config, tacit_context **out)
{
    tacit_mpi_comm c = tacit_mpi_comm_of_(&comm);
    return tacit_init_mpi_sized(&c, config, sizeof(tacit_config), out);
}

/* In the kernel of a collective host task (TACIT_ON_EVERY_NODE): a communicator of all nodes, for the
 * kernel's own use, for instance in collective operations.
 *
 *     static void agree(const tacit_launch *k)
 *     {
 *         double mine = local_error(k), all;
 *         MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, tacit_launch_communicator(k));
 *         TACIT_AT0(double, k->view[1]) = all;
 *     }
 *
 * The ranks are the nodes. It is the same in all such tasks of a group (.group), or of a context's
 * tasks without one, is used by nothing else, and has the error handler of the communicator that the
 * run began with. It belongs to tacit and must not be freed. Also with plain tacit_init.
 *
 *   returns  MPI_COMM_NULL if the run has no MPI: one node that no launcher started. In other tasks,
 *            if the program is compiled with another MPI, or if MPI grants neither
 *            MPI_THREAD_MULTIPLE nor that everything runs in one thread, too; then the run fails with
 *            TACIT_ERROR_KERNEL.
 *   thread   the kernel's
 *   nodes    any: it does not communicate */
static inline MPI_Comm tacit_launch_communicator(const tacit_launch *launch)
{
    MPI_Comm comm = MPI_COMM_NULL;
    tacit_mpi_comm c = tacit_mpi_comm_of_(&comm);
    (void)tacit_launch_communicator_sized(launch, &c);
    return comm;
}

TACIT_C_END_
#endif
