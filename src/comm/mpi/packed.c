/* Transpositions of small equal pieces: see packed.h. */
#include "comm/mpi/packed.h"

#include "base/check.h"
#include "comm/payload.h"

bool ti_mpi_is_small(int nodes, size_t piece)
{
    return nodes > 2 && piece <= TI_MPI_PIECE_BYTES && piece * (size_t)nodes <= TI_MPI_PACKED_BYTES;
}

int ti_mpi_packed_start(ti_mpi_packings *all, const ti_direct_plan *pieces, const ti_exchange *x, MPI_Comm mpi,
                        ti_mpi_packing **packing, MPI_Request *request)
{
    size_t piece = pieces->message.data[0].bytes, half = piece * (size_t)x->what->nodes;
    TI_ASSERT(2 * pieces->sends == pieces->message.count && pieces->sends + 1 == (size_t)x->what->nodes);
    ti_mpi_packing *p = all->spare.count ? all->spare.data[--all->spare.count] : TI_NEW(ti_mpi_packing);
    if (p->bytes < 2 * half) {
        ti_free(p->memory, p->bytes);
        p->memory = ti_alloc_zero(2 * half); /* what this node has for itself is not packed, but MPI copies it */
        p->bytes = 2 * half;
    }
    p->pieces = pieces;
    p->base = x->base;
    for (size_t i = 0; i < pieces->sends; i++) {
        ti_payload payload = ti_direct_plan_payload(pieces, i, p->base, &all->block);
        TI_ASSERT(payload.bytes == piece);
        ti_payload_pack(p->memory + (size_t)pieces->message.data[i].peer * piece, &payload);
    }
    *packing = p;
    return MPI_Ialltoall(p->memory, (int)piece, MPI_BYTE, p->memory + half, (int)piece, MPI_BYTE, mpi, request);
}

void ti_mpi_packed_done(ti_mpi_packings *all, ti_mpi_packing *packing)
{
    const ti_direct_plan *pieces = packing->pieces;
    size_t piece = pieces->message.data[0].bytes, nodes = pieces->sends + 1;
    TI_ASSERT(packing->bytes >= 2 * piece * nodes);
    for (size_t i = pieces->sends; i < pieces->message.count; i++) {
        ti_payload payload = ti_direct_plan_payload(pieces, i, packing->base, &all->block);
        ti_payload_unpack(&payload, packing->memory + (nodes + (size_t)pieces->message.data[i].peer) * piece);
    }
    ti_vec_push(&all->spare, packing);
}

void ti_mpi_packings_fini(ti_mpi_packings *all)
{
    for (size_t i = 0; i < all->spare.count; i++) {
        ti_free(all->spare.data[i]->memory, all->spare.data[i]->bytes);
        TI_DELETE(all->spare.data[i]);
    }
    ti_vec_fini(&all->spare);
    ti_vec_fini(&all->block);
}
