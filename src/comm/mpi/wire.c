/* Payloads as MPI is told of them: see wire.h. */
#include "comm/mpi/wire.h"

#include "comm/payload.h"

#include <limits.h>

/* Scattered payloads of up to PACK_LIMIT bytes are packed, and up to PACK_SHORT_LIMIT if their runs are short.
 * Measured in interleaved pairs on shared memory: datatypes of Open MPI 4.1 are even with packing at 1 KiB and 1.2 to 2
 * times as fast or more from 4 KiB; MPICH 4.0 needs 0.2 to 0.95 of the time for packed payloads up to 8 KiB, and 0.3 to
 * 0.95 at 64 KiB in runs of up to 256 bytes. */
enum { SHORT_RUN = 256 };
#if defined(OPEN_MPI)
enum { PACK_LIMIT = 512, PACK_SHORT_LIMIT = 512 };
#else
enum { PACK_LIMIT = 8 * 1024, PACK_SHORT_LIMIT = 64 * 1024 };
#endif

static bool is_packed(const ti_payload *payload)
{
    size_t runs = 0;
    for (uint32_t i = 0; i < payload->count; i++) {
        runs += payload->block[i].count[0] * payload->block[i].count[1];
    }
    bool has_short_runs = payload->bytes <= runs * SHORT_RUN;
    return payload->bytes <= (has_short_runs ? (size_t)PACK_SHORT_LIMIT : (size_t)PACK_LIMIT);
}

int ti_mpi_wire_of(ti_mpi_types *types, ti_parcel_pool *parcels, const ti_payload *payload, bool is_received,
                   ti_mpi_wire *out, const char **call)
{
    const ti_block *b = payload->block;
    *out = (ti_mpi_wire){ .type = MPI_BYTE };
    if (!payload->bytes) {
        return MPI_SUCCESS;
    }
    if (payload->count == 1 && b->count[0] == 1 && b->count[1] == 1 && b->run <= INT_MAX) {
        out->address = b->base;
        out->count = (int)b->run;
        return MPI_SUCCESS;
    }
    if (parcels && is_packed(payload)) {
        out->packed = ti_parcel_create(parcels, payload, is_received, true);
        if (!is_received) {
            ti_payload_pack(out->packed->packed, payload);
        }
        out->address = out->packed->packed;
        out->count = (int)payload->bytes;
        return MPI_SUCCESS;
    }
    out->address = b->base;
    out->count = 1;
    out->temporary = payload->count > TI_MPI_TYPE_BLOCKS;
    return out->temporary ? ti_mpi_type_create(payload, &out->type, call)
                          : ti_mpi_types_get(types, payload, &out->type, call);
}
