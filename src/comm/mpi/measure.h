/* Which collectives MPI carries out faster than messages between pairs: measured on contiguous memory when a context
 * starts, the same answer on all nodes. Takes up to 99 collectives of up to 256 KiB per node. The thread that creates
 * the communicator, before any other message. */
#ifndef TI_MPI_MEASURE_H
#define TI_MPI_MEASURE_H

#include "comm/comm.h"

enum { TI_MPI_SIZES = 3 };

/* Of collectives by pattern and size class. */
typedef struct ti_mpi_choice {
    bool by_mpi[TI_PATTERN_KINDS][TI_MPI_SIZES];
    bool packed[TI_MPI_SIZES]; /* all-to-alls, if their pieces are small and equal: packed.h */
} ti_mpi_choice;

/* The class of collectives of so many bytes per node. */
int ti_mpi_size_class(size_t bytes);

/* All nodes. Waits. `choice` is what the communicator follows: it is tried with each way, and left with the fastest.
 * False if the network has failed. */
bool ti_mpi_measure(ti_comm *comm, ti_mpi_choice *choice);

#endif
