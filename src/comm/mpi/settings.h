/* Whether all nodes have the same settings. Those that differ would wait for each other for ever: one measures what the
 * others do not, or plans without them. So nodes compare them first. The thread that creates the communicator. */
#ifndef TI_MPI_SETTINGS_H
#define TI_MPI_SETTINGS_H

#include <mpi.h>

/* All nodes of `comm`, each with its settings in lines. Returns the code of `call`, the last call of MPI. If a node's
 * settings are not those of node 0, the first such node says which, and the job ends. */
int ti_mpi_compare_settings(MPI_Comm comm, int node, const char *text, const char **call);

#endif
