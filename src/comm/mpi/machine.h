/* The nodes of one machine: which cores each may use, and the memory through which they send each other short messages
 * (comm/near.h). All nodes; the thread that creates or destroys the communicator. */
#ifndef TI_MPI_MACHINE_H
#define TI_MPI_MACHINE_H

#include "comm/mpi/state.h"

/* Fills in which nodes are here, and opens their mailboxes, if wanted. Where memory cannot be shared there are none, on
 * any of them. False: an error of MPI, which is stored. */
bool ti_mpi_machine_open(ti_mpi_state *self, const ti_comm_settings *settings);
void ti_mpi_machine_close(ti_mpi_state *self);

#endif
