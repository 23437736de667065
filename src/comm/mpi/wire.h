/* A payload as MPI is told of it: one run of bytes travels in place, small scattered payloads are packed, large ones go
 * through derived datatypes. Functions return codes of MPI, and the name of what failed in *call. Owned by the
 * communicator, touched by its thread only. */
#ifndef TI_MPI_WIRE_H
#define TI_MPI_WIRE_H

#include "comm/mpi/type.h"
#include "comm/parcel.h"

typedef struct ti_mpi_wire {
    void *address;
    int count;
    MPI_Datatype type;
    bool temporary;    /* the datatype is freed once the operation has started */
    ti_parcel *packed; /* or NULL; to be unpacked, if it is received, and destroyed when the operation has completed */
} ti_mpi_wire;

/* Without parcels nothing is packed. */
int ti_mpi_wire_of(ti_mpi_types *types, ti_parcel_pool *parcels, const ti_payload *payload, bool is_received,
                   ti_mpi_wire *out, const char **call);

#endif
