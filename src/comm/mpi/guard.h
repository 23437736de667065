/* The guard of a job: ends it when a process goes while its communicator lives.
 *
 * Other nodes wait for ever for one that returns from main while its communicator lives, and not every launcher
 * notices. So an exit handler ends the job: through MPI, or by a signal to this process where MPI did not start. Exit
 * handlers take no argument, hence variables of the process. A child made by fork inherits them and must not act on
 * them. Any thread. */
#ifndef TI_MPI_GUARD_H
#define TI_MPI_GUARD_H

#include <stdbool.h>

/* One communicator more. `node` is what the handler says; -1: one whose tacit_init failed. */
void ti_mpi_guard_arm(int node);
void ti_mpi_guard_disarm(void); /* one less */
void ti_mpi_guard_set_node(int node);
/* End the job by MPI_Abort. Pauses first, so that what was printed is seen; another thread that ends the process
 * meanwhile is held up. */
__attribute__((noreturn)) void ti_mpi_guard_end(void);

/* Around calls of MPI: it may call exit itself, when another node has ended the job. The handler then has nothing to
 * add. */
extern _Thread_local bool ti_mpi_guard_inside;

#endif
