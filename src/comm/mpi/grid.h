/* Communicators of the rows and columns of a grid of nodes, for collectives in groups.
 *
 * Making a communicator waits for other nodes, which the executor must never do: a node that waits does not send what
 * the others wait for. So those of the grids that a split in two dimensions takes by default, one way round and the
 * other, are made when all nodes come together anyway. Groups of other grids have none, and exchange messages between
 * pairs. Functions return codes of MPI. Owned by the communicator, touched by its thread only. */
#ifndef TI_MPI_GRID_H
#define TI_MPI_GRID_H

#include "comm/mpi/type.h"

enum { TI_MPI_GRID_GROUPS = 4 };

typedef struct ti_mpi_grid {
    struct ti_mpi_grid_group {
        int members, stride; /* nodes whose numbers divided by the stride, modulo the members, are 0, 1, ... in turn */
        MPI_Comm mpi;
    } group[TI_MPI_GRID_GROUPS];
    int groups;
} ti_mpi_grid;

/* All nodes. The last function of MPI that was called is in *call. */
int ti_mpi_grid_init(ti_mpi_grid *grid, MPI_Comm mpi, int node, int nodes, const char **call);
int ti_mpi_grid_fini(ti_mpi_grid *grid, const char **call);

/* Of the group of this node, in which nodes have ascending ranks, or MPI_COMM_NULL: the same on all nodes. */
MPI_Comm ti_mpi_grid_find(const ti_mpi_grid *grid, int members, int stride);

#endif
