/* tacit/context.h: begin and end, waiting, errors, counters.
 *
 * A context is tacit running on this node: its view of the network, its threads, its buffers. A
 * program needs one. Several may follow each other, or live at the same time (then they share the
 * cores: set tacit_config.workers); they share no buffers.
 *
 *     tacit_context *ctx;
 *     if (tacit_init(NULL, &ctx) != TACIT_OK) {
 *         fprintf(stderr, "%s\n", tacit_last_error(NULL));
 *         return EXIT_FAILURE;
 *     }
 *     ... buffers, tasks, fences ...
 *     return tacit_finalize(ctx) == TACIT_OK ? EXIT_SUCCESS : EXIT_FAILURE; */
#ifndef TACIT_CONTEXT_H
#define TACIT_CONTEXT_H

#include <tacit/config.h>
#include <tacit/view.h>

TACIT_C_BEGIN_

/* ============================================================================= begin and end */

/* Start tacit on this node.
 *
 * If a launcher started the process (`tacit run`, mpirun, srun), the nodes are the processes of
 * MPI_COMM_WORLD: MPI is initialised unless the program has done that, and finalised by
 * tacit_finalize if it was initialised here. Since MPI starts once in a process, a program with
 * several contexts in a row initialises MPI itself. Without a launcher the run has one node, and MPI
 * is not touched. A program that wants other processes uses tacit_init_mpi (tacit/mpi.h).
 *
 *   config   NULL: the defaults and the environment. It is copied, and so are its strings.
 *   out      gets the context, or NULL on an error
 *
 *   errors  TACIT_ERROR_ARGUMENT     out is NULL
 *           TACIT_ERROR_CONFIG       an unknown or malformed setting, or one that the thread level of
 *                                    MPI forbids
 *           TACIT_ERROR_NETWORK      MPI cannot be started or fails, or this build has none
 *           TACIT_ERROR_UNSUPPORTED  the system grants no threads
 *           (tacit_last_error(NULL) has the sentence)
 *   thread  any; it is the context's thread if MPI was initialised with less than
 *           MPI_THREAD_SERIALIZED
 *   nodes   all. A process that ends after a tacit_init that failed ends the job, since others may
 *           wait for it.
 *
 * Programs call tacit_init. (The exported function also takes the size of the struct, so that the
 * struct can grow.) */
TACIT_API tacit_status tacit_init_sized(const tacit_config *config, size_t size, tacit_context **out);
static inline tacit_status tacit_init(const tacit_config *config, tacit_context **out)
{
    return tacit_init_sized(config, sizeof(tacit_config), out);
}

/* Wait for everything on all nodes, write reports and graphs that were asked for, say what has cost
 * time (tacit_config.advice), stop the threads, and free the context with all that belongs to it;
 * finalise MPI if tacit initialised it. Handles of the context are invalid then, but for tickets,
 * which are to be released.
 *
 * A process that ends without this call while a context of several nodes is alive ends the job.
 *
 *   ctx     NULL is allowed, and does nothing
 *
 *   errors  the first error of the run
 *           TACIT_ERROR_CONFIG  a report or graph could not be written; all else went well
 *           TACIT_ERROR_STATE   the context is finalized already or none, or this is not the thread
 *                               that may use it. In the last case it lives on, else it is freed
 *                               whatever the status.
 *   thread  the context's
 *   nodes   all */
TACIT_API tacit_status tacit_finalize(tacit_context *ctx);

/* =================================================================================== waiting
 *
 * Nothing else waits for tasks but fences, tacit_finalize, and tacit_buffer_create with contents. */

/* Wait until all that this node has to do for the tasks submitted so far is done, and all that it
 * has to send. Not needed before a fence. Call it before the program itself waits for other nodes,
 * such as in MPI (doc/mpi.md, "Deadlock").
 *
 *   errors  TACIT_ERROR_ARGUMENT  the context is NULL
 *           TACIT_ERROR_STATE     it is finalized or none
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_wait(tacit_context *ctx);

/* Wait until all nodes have executed everything submitted so far, and have sent what others need of
 * it. What kernels and host tasks have done outside tacit on other nodes is done when this returns: a
 * file is written, a shared segment is filled. tacit_wait knows of this node alone.
 *
 * A program does not need it for data in buffers, which come when they are read. It is tacit_wait and
 * a barrier of the context's network: some messages per node. A program that waits here in one of
 * several contexts that run inline does nothing for the others meanwhile (doc/mpi.md, "Several
 * contexts").
 *
 *   errors  those of tacit_wait; the error of the run also if another node has it, which ends the job
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_barrier(tacit_context *ctx);

/* tacit_wait for all nodes together, and measure: with TACIT_LATENCY=auto, choose anew how many pure tasks
 * a window has, from the latency of the network now and from what kernels have cost since the last choice
 * (doc/latency.md). auto does so by itself in the first tacit_wait after 16 pure tasks, and whenever there have been
 * twice as many as at the last choice, so this is for programs whose steps become something else. With
 * TACIT_BALANCE=auto, choose anew how large the shares of the nodes and of their devices are, from how fast they
 * have computed since the last choice (doc/balance.md); at waits this happens likewise, after 16 tasks that take
 * part. Measured values enter planning nowhere else; all nodes choose the same, and log it (TACIT_LOG=info) in the
 * form in which TACIT_LATENCY and TACIT_BALANCE repeat it. With other settings it only waits.
 *
 *   errors  those of tacit_wait
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_retune(tacit_context *ctx);

/* Let everything submitted so far begin, and return at once. Without it a task may wait until the
 * next few are known, whose needs decide how data travels and what is allocated (`collectives`,
 * `multicast` and `lookahead` of tacit_config). Fences and waits do the same. Worth a call before the program does
 * something else for long.
 *
 *   errors  those of tacit_wait
 *   thread  the context's
 *   nodes   all, in the same order as other calls */
TACIT_API tacit_status tacit_flush(tacit_context *ctx);

/* ================================================================================= questions */

/* The number of this node, from 0. For placing tasks (tacit_place_node), choosing this node's file, or
 * printing once. What is submitted must not depend on it.
 *
 *   returns  -1 if the context is none
 *   thread   any
 *   nodes    any */
TACIT_API int tacit_node(const tacit_context *ctx);

/* How many nodes the run has, at least 1; -1 if the context is none. Any thread, any node. */
TACIT_API int tacit_num_nodes(const tacit_context *ctx);

/* How many workers this node has, of all its devices: tacit_launch.num_workers of kernels on devices and
 * of host tasks but those on every node. For scratch memory that is there before the first kernel runs.
 * Nodes may have different numbers. At least 1; -1 if the context is none. Any thread, any node. */
TACIT_API int tacit_workers(const tacit_context *ctx);

/* Whether this is a dry run (tacit_config.dry_run, TACIT_DRY_RUN). A dry run plans as one node of
 * many, alone and without MPI: tasks are checked and planned as in a live run, but no kernel is
 * called, nothing is sent, and buffers have no memory. So plans for a million nodes, and for data
 * that fit nowhere, can be looked at. Fences give zeros and results mean nothing: a loop that ends
 * when a value says so must end otherwise, which is what this question is for. tacit_finalize prints
 * a report on stderr, and counters tell what a live run would have sent.
 *
 *   returns  false if the context is none; and where `tacit simulate` replays a recorded run, in which
 *            the program must submit what it submitted then
 *   thread   any
 *   nodes    any
 *   source   the dry runs of Thoman, Salzmann: Balancing Tracking Granularity and Parallelism in
 *            Many-Task Systems: The Horizons Approach, 2024 */
TACIT_API bool tacit_is_dry_run(const tacit_context *ctx);

/* A sentence about the error of the last call with this context: which task, buffer or box, and what
 * to do. Ask right after the call that failed: later calls replace or clear it. Never NULL.
 *
 *   ctx     NULL, or a context that is finalized: the sentence of the last failed tacit_init, of the
 *           last call with no valid context, or of tacit_fence_get with no valid ticket, on this
 *           thread. Inside a kernel of the context: of the last call that was refused there
 *
 *   owner   tacit; valid until the next call with the context
 *   thread  the context's
 *   nodes   any */
TACIT_API const char *tacit_last_error(const tacit_context *ctx);

/* What this node has done so far. The numbers are this node's alone, and rise with the run, except
 * where it says "now". */
typedef struct tacit_counters {
    uint64_t tasks;                     /* in the task graph, those that tacit adds included */
    uint64_t horizons;                  /* in the task graph */
    uint64_t commands;                  /* what this node does, sends and receives */
    uint64_t instructions;              /* what that consists of */
    uint64_t messages_sent;             /* between pairs of nodes; not by collectives */
    uint64_t bytes_sent;                /* in these messages */
    uint64_t messages_received;         /* likewise */
    uint64_t bytes_received;            /* likewise */
    uint64_t chunks_evaluated;          /* range mappers applied to chunks by the planner */
    uint64_t allocated_bytes;           /* by tacit for itself in this process, now */
    uint64_t allocated_peak;            /* and at most so far */
    uint64_t buffer_bytes;              /* memory of buffers on this node, now */
    uint64_t reallocations;             /* allocations of buffers that had to grow */
    uint64_t early_bytes_peak;          /* most bytes on the way to one node that no receive was known for */
    uint64_t tracking_entries;          /* entries of all region maps, now */
    uint64_t reallocated_bytes;         /* copied because buffers had to grow */
    uint64_t collectives;               /* started */
    uint64_t collective_bytes_sent;     /* what this node gave by them */
    uint64_t collective_bytes_received; /* what it got by them */
    uint64_t broadcasts;                /* of messages to several nodes, started here, that travel by way of others */
    uint64_t broadcast_recipients;      /* of these, together */
    uint64_t broadcast_refused;         /* of these: were not ready, and got an ordinary message */
    uint64_t relayed_bytes;             /* forwarded for others */
    uint64_t shared_versions;           /* contents that placed tasks on several other nodes read, sent by this one */
    uint64_t shared_versions_late;      /* of these, a message left after the first: not one broadcast */
    uint64_t multicasts;                /* planned, of what this node has written for several others to read */
    uint64_t multicast_recipients;      /* of these, together */
    uint64_t multicast_depth;           /* messages that the last recipient of one waits for, at most */
    uint64_t multicast_forwards;        /* messages in which this node sends on what another one wrote */
    uint64_t messages_local;            /* received without MPI from nodes of this machine, those of collectives too */
} tacit_counters;

/* Copy the counters to `out`. Waits for nothing, so what is under way counts in part; call tacit_wait
 * before for a state that is settled. Works after an error of the run, too.
 *
 *   errors  TACIT_ERROR_ARGUMENT  ctx or out is NULL
 *           TACIT_ERROR_STATE     the context is none, or a kernel asks
 *   thread  the context's
 *   nodes   any */
TACIT_API tacit_status tacit_get_counters(tacit_context *ctx, tacit_counters *out);

/* ======================================================================================= MPI
 *
 * What tacit/mpi.h is made of. Programs that use MPI themselves include that header, and call
 * tacit_init_mpi and tacit_launch_communicator; they do not use these. A communicator passes as the
 * address of an MPI_Comm, so that other programs need no mpi.h. */

/* Which MPI a program is compiled with: tacit_mpi_comm.library. */
enum {
    TACIT_MPI_OTHER = 0, /* one that tacit does not know */
    TACIT_MPI_OPEN_MPI,  /* Open MPI */
    TACIT_MPI_MPICH      /* MPICH, and what has its ABI: Intel MPI, MVAPICH */
};

/* A communicator of the program's MPI. */
typedef struct tacit_mpi_comm {
    void *address; /* of an MPI_Comm */
    size_t size;   /* sizeof(MPI_Comm) */
    int library;   /* TACIT_MPI_... */
} tacit_mpi_comm;

/* Behind tacit_init_mpi. */
TACIT_API tacit_status tacit_init_mpi_sized(const tacit_mpi_comm *comm, const tacit_config *config, size_t size,
                                            tacit_context **out);
/* Behind tacit_launch_communicator: writes the communicator to out->address; false if there is none. */
TACIT_API bool tacit_launch_communicator_sized(const tacit_launch *launch, const tacit_mpi_comm *out);

TACIT_C_END_
#endif
