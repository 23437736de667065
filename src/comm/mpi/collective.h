/* Collectives as MPI knows them: one non-blocking call of MPI per collective, in place, without packing but for small
 * transpositions.
 *
 * Parts that are slabs of a region (the whole region but for one dimension, in which they differ) are counts and
 * displacements of a *unit*, which is one index of that dimension: a datatype of its own on each node, since nodes may
 * keep the region in allocations of different shape. Both sides of a message so count the same units in the same order.
 * What every pair of nodes exchanges in a transposition is a datatype each, or small and packed (packed.h).
 *
 * Which collectives MPI carries out has to be the same on all nodes, in groups on all members of one. So it follows
 * from the collective alone, never from where this node keeps it. What does not fit (parts that are not slabs, several
 * regions, groups that have no communicator) is left to the direct schedule of exchange.h.
 *
 * Reductions of MPI are in place too: the value of this node lies where the result will, or alone where no result
 * comes. Those that are faster as messages between pairs are left to combining.h.
 *
 * Counts, displacements and datatypes are made once per (collective, layout), and those used longest ago are dropped
 * when there are too many. They stay while MPI may read them. Functions return codes of MPI. Owned by the communicator,
 * touched by its thread only. */
#ifndef TI_MPI_COLLECTIVE_H
#define TI_MPI_COLLECTIVE_H

#include "comm/exchange.h"
#include "comm/mpi/grid.h"
#include "comm/mpi/measure.h"
#include "comm/mpi/packed.h"
#include "comm/mpi/reduce.h"
#include "comm/mpi/type.h"

enum { TI_MPI_SHARES = 64 };

/* How MPI is called. The same on all nodes. */
typedef enum ti_mpi_way {
    TI_MPI_WAY_DIRECT, /* not at all */
    TI_MPI_WAY_EVEN,   /* all counts agree, and displacements are multiples of it */
    TI_MPI_WAY_UNEVEN, /* the v variants */
    TI_MPI_WAY_PAIRS,  /* a datatype for each peer */
    TI_MPI_WAY_PACKED, /* small pieces of equal size */
    TI_MPI_WAY_COMBINE /* a reduction */
} ti_mpi_way;

/* One node's share of a collective. */
typedef struct ti_mpi_share {
    uint64_t serial, layout; /* serial 0: is not found again */
    uint64_t last_use;
    uint32_t under_way; /* operations that read it */
    ti_mpi_way way;
    MPI_Comm mpi;      /* of the nodes that take part: all, or this node's group */
    int nodes;         /* of it; per node: by rank there */
    ti_box region;     /* of a single one, what these nodes exchange */
    MPI_Datatype unit; /* of all parts; or of this node's part alone, where it has no other */
    MPI_Aint first;    /* where it lies, from the exchange's base */
    int own;           /* units (of that part) that this node gives or gets; elements of a reduction */
    ti_mpi_reducer *reducer;
    int *count, *at;       /* per node; of pairs: what is sent and got */
    MPI_Datatype *type;    /* of pairs: what is sent to each, then what is got */
    ti_direct_plan pieces; /* packed */
} ti_mpi_share;

/* An operation that is under way. */
typedef struct ti_mpi_operation {
    ti_mpi_share *share; /* NULL: nothing was started */
    ti_mpi_packing *packing;
} ti_mpi_operation;

typedef struct ti_mpi_collectives {
    MPI_Comm mpi;
    ti_mpi_grid grid;
    int node, nodes, schedule;
    bool near;        /* all nodes are on one machine, and have mailboxes (comm/near.h) */
    bool never_packs; /* ti_comm.never_packs */
    ti_mpi_choice choice;
    const char *call; /* the last function of MPI that was called */
    TI_VEC(ti_mpi_share *) share;
    uint64_t clock;
    int *zeroes; /* displacements of pairs */
    ti_mpi_packings packings;
    ti_boxes boxes[2], bound; /* scratch */
    ti_blocks blocks;
} ti_mpi_collectives;

/* All nodes, with the same schedule (TACIT_COLLECTIVE_SCHEDULE_*). */
int ti_mpi_collectives_init(ti_mpi_collectives *all, MPI_Comm mpi, int node, int nodes, int schedule, bool near);
int ti_mpi_collectives_fini(ti_mpi_collectives *all, bool mpi_is_up);

/* Start it; *out is what ti_mpi_collectives_done is told when the request has completed. Without a share nothing was
 * started, and the direct schedule has to carry it out, here and on all other nodes. */
int ti_mpi_collectives_start(ti_mpi_collectives *all, const ti_exchange *x, ti_mpi_operation *out,
                             MPI_Request *request);
void ti_mpi_collectives_done(ti_mpi_collectives *all, const ti_mpi_operation *operation);

#endif
