/* Transpositions of small equal pieces: packed into one run of bytes, exchanged by MPI_Ialltoall, and unpacked.
 *
 * MPI_Ialltoallw takes a datatype for every pair and sends a message each; MPI_Ialltoall may send fewer for small
 * pieces, by way of other nodes. Whether a collective is one of these follows from it alone, so that all nodes agree.
 * What lies where is kept with the share, relative to the exchange's base. Memory to pack into is used again when the
 * operation that had it has ended (`spare`). Executor role. */
#ifndef TI_MPI_PACKED_H
#define TI_MPI_PACKED_H

#include "comm/exchange.h"
#include "comm/mpi/type.h"

/* A piece is what one node sends to another; an operation holds as many as there are nodes, twice. */
enum { TI_MPI_PIECE_BYTES = 16 << 10, TI_MPI_PACKED_BYTES = 1 << 20 };

bool ti_mpi_is_small(int nodes, size_t piece);

typedef struct ti_mpi_packing {
    char *memory; /* what is sent, then what is got; of each half the pieces of all nodes in turn */
    size_t bytes;
    const ti_direct_plan *pieces; /* one with each other node */
    char *base;                   /* of the exchange */
} ti_mpi_packing;

typedef struct ti_mpi_packings {
    TI_VEC(ti_mpi_packing *) spare;
    ti_blocks block; /* of the piece at hand */
} ti_mpi_packings;

/* What is sent has been packed: *packing is for ti_mpi_packed_done when the request has completed. Returns a code of
 * MPI. */
int ti_mpi_packed_start(ti_mpi_packings *all, const ti_direct_plan *pieces, const ti_exchange *x, MPI_Comm mpi,
                        ti_mpi_packing **packing, MPI_Request *request);
void ti_mpi_packed_done(ti_mpi_packings *all, ti_mpi_packing *packing);
/* Memory that MPI may still use is left to the process. */
void ti_mpi_packings_fini(ti_mpi_packings *all);

#endif
