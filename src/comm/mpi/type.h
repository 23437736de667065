/* Payloads as MPI datatypes, and as packed bytes.
 *
 * A datatype describes where the bytes of a payload lie relative to the base of its first block, so payloads of one
 * shape at different addresses share it. The cache keeps the datatypes of up to TI_MPI_TYPES shapes and drops the one
 * that was used longest ago; MPI itself keeps a dropped datatype alive for the operations that still use it. Owned by
 * the communicator, touched by its thread only. */
#ifndef TI_MPI_TYPE_H
#define TI_MPI_TYPE_H

#include "base/map.h"
#include "base/vec.h"
#include "comm/comm.h"

#include <mpi.h>

/* A call of MPI, whose name stays in *call for messages. */
#define TI_MPI_CALL(call, function, ...) (*(call) = #function, function(__VA_ARGS__))
/* Leave the caller with the code of what failed. */
#define TI_MPI_TRY(code)                                                                                               \
    do {                                                                                                               \
        int ti_code_ = (code);                                                                                         \
        if (ti_code_ != MPI_SUCCESS) {                                                                                 \
            return ti_code_;                                                                                           \
        }                                                                                                              \
    } while (0)

enum { TI_MPI_TYPES = 256, TI_MPI_TYPE_BLOCKS = 64 /* payloads of more blocks are not cached */ };

typedef struct ti_mpi_type {
    uint64_t *key; /* the shape: 6 words per block */
    size_t words;
    uint64_t hash;
    MPI_Datatype type;
    uint64_t last_use;
} ti_mpi_type;

typedef struct ti_mpi_types {
    ti_map by_hash; /* hash -> entry; a shape whose hash is taken replaces the other */
    ti_mpi_type *entry;
    int count;
    uint64_t clock;
    TI_VEC(uint64_t) key; /* of the payload in question */
    uint64_t built;       /* datatypes built so far */
} ti_mpi_types;

void ti_mpi_types_init(ti_mpi_types *types);
int ti_mpi_types_fini(ti_mpi_types *types, bool mpi_is_up); /* not up: MPI was finalized before */

/* The datatype of which one element at the base of the first block is `payload`; it has at least one block. Valid
 * until the next call. Returns MPI_SUCCESS, or the code of what failed and its name in *call. */
int ti_mpi_types_get(ti_mpi_types *types, const ti_payload *payload, MPI_Datatype *out, const char **call);

/* The same without a cache; the caller frees it. */
int ti_mpi_type_create(const ti_payload *payload, MPI_Datatype *out, const char **call);

#endif
