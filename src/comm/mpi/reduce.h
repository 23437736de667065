/* Reduction operators as MPI knows them.
 *
 * Sums, products and bits of the built-in types are MPI's own. Everything else, and minima and maxima of floating
 * numbers too (of NaN and of two zeros MPI may take either, and not the same on all nodes) and sums of 8 and 16 bits
 * (which Open MPI 4.1 saturates where there is AVX), is an operator of ours on a datatype of ours: MPI tells an
 * operator's function only the datatype, so an attribute of that leads to the reducer. Such operators count as not
 * commutative, so that all nodes combine in the same order and get the same bits. Functions return codes of MPI, and
 * the name of what failed in *call. Owned by the communicator, touched by its thread only. */
#ifndef TI_MPI_REDUCE_H
#define TI_MPI_REDUCE_H

#include "comm/mpi/type.h"
#include "ir/reduction.h"

typedef struct ti_mpi_reducer {
    ti_reducer reducer;
    MPI_Datatype type; /* of one element */
    MPI_Op op;
    bool own;                  /* both are ours */
    size_t elem_size, at_once; /* elements that fit into scratch */
    char *scratch;
} ti_mpi_reducer;

/* On failure too, *out is to be closed. */
int ti_mpi_reducer_open(const ti_reducer *reducer, ti_mpi_reducer **out, const char **call);
/* Not up: MPI was finalized before. */
int ti_mpi_reducer_close(ti_mpi_reducer *r, bool mpi_is_up, const char **call);

#endif
