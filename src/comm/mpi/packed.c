/* Transpositions of small equal pieces: see packed.h. */
#include "comm/mpi/packed.h"

#include "base/check.h"

bool ti_mpi_is_small(int nodes, size_t piece)
{
    return nodes > 2 && piece <= TI_MPI_PIECE_BYTES && piece * (size_t)nodes <= TI_MPI_PACKED_BYTES;
}

/* ---- pieces */

static void add_piece(ti_mpi_pieces *pieces, const ti_exchange *x, int r, int q, ti_boxes boxes[2])
{
    ti_vec_clear(&boxes[0]);
    ti_collective_message(x->what, r, q, &boxes[0], &boxes[1]);
    ti_payload payload = x->locate(x->user, &boxes[0]);
    TI_ASSERT(payload.bytes == pieces->piece);
    for (uint32_t i = 0; i < payload.count; i++) {
        ti_block block = payload.block[i];
        block.base = (char *)((intptr_t)block.base - (intptr_t)x->base);
        ti_vec_push(&pieces->block, block);
    }
}

void ti_mpi_pieces_init(ti_mpi_pieces *pieces, const ti_exchange *x, int node, size_t piece, ti_boxes boxes[2])
{
    TI_ASSERT(ti_mpi_is_small(x->what->nodes, piece));
    *pieces = (ti_mpi_pieces){ .node = node, .nodes = x->what->nodes, .piece = piece };
    for (int run = 0; run < 4; run++) {
        bool after = run % 2 != 0, got = run >= 2;
        for (int q = after ? node + 1 : 0; q < (after ? pieces->nodes : node); q++) {
            add_piece(pieces, x, got ? q : node, got ? node : q, boxes);
        }
        pieces->until[run] = pieces->block.count;
    }
}

void ti_mpi_pieces_fini(ti_mpi_pieces *pieces)
{
    ti_vec_fini(&pieces->block);
}

/* ---- operations */

static ti_mpi_packing *take(ti_mpi_packings *all, size_t bytes)
{
    ti_mpi_packing *p = all->spare.count ? all->spare.data[--all->spare.count] : TI_NEW(ti_mpi_packing);
    if (p->bytes < bytes) {
        ti_free(p->memory, p->bytes);
        p->memory = ti_alloc_zero(bytes); /* what this node has for itself is not packed, but MPI copies it */
        p->bytes = bytes;
    }
    return p;
}

/* One of the four runs of blocks, where it lies now. */
static ti_payload run_of(ti_mpi_packings *all, const ti_mpi_packing *p, int run)
{
    ti_vec_clear(&all->block);
    for (size_t i = run ? p->pieces->until[run - 1] : 0; i < p->pieces->until[run]; i++) {
        ti_block block = p->pieces->block.data[i];
        block.base = (char *)((intptr_t)block.base + (intptr_t)p->base);
        ti_vec_push(&all->block, block);
    }
    return (ti_payload){ .block = all->block.data, .count = (uint32_t)all->block.count };
}

/* Where the pieces after this node's begin. */
static size_t second_run(const ti_mpi_pieces *pieces)
{
    return (size_t)(pieces->node + 1) * pieces->piece;
}

int ti_mpi_packed_start(ti_mpi_packings *all, const ti_mpi_pieces *pieces, const ti_exchange *x, MPI_Comm mpi,
                        ti_mpi_packing **packing, MPI_Request *request)
{
    size_t half = pieces->piece * (size_t)pieces->nodes;
    int n = (int)pieces->piece;
    TI_ASSERT(x->what->nodes == pieces->nodes);
    ti_mpi_packing *p = take(all, 2 * half);
    p->pieces = pieces;
    p->base = x->base;
    ti_payload first = run_of(all, p, 0);
    ti_mpi_pack(p->memory, &first);
    ti_payload second = run_of(all, p, 1);
    ti_mpi_pack(p->memory + second_run(pieces), &second);
    *packing = p;
    return MPI_Ialltoall(p->memory, n, MPI_BYTE, p->memory + half, n, MPI_BYTE, mpi, request);
}

void ti_mpi_packed_done(ti_mpi_packings *all, ti_mpi_packing *packing)
{
    TI_ASSERT(packing->bytes >= 2 * packing->pieces->piece * (size_t)packing->pieces->nodes);
    const char *got = packing->memory + packing->pieces->piece * (size_t)packing->pieces->nodes;
    ti_payload first = run_of(all, packing, 2);
    ti_mpi_unpack(&first, got);
    ti_payload second = run_of(all, packing, 3);
    ti_mpi_unpack(&second, got + second_run(packing->pieces));
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
