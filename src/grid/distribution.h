/* Distributions: which node owns which part of a buffer, as a value: block, or block-cyclic over a grid of nodes.
 *
 * Nodes form a grid, row-major: node (i,j,k) has number (i * grid[1] + j) * grid[2] + k. *Block* gives each node one
 * box, a chunk of a split whose borders are multiples of `block`. *Cyclic* deals blocks out in turn in every dimension,
 * as ScaLAPACK does. A node's part is a dense local array, row-major: its blocks in order, without the gaps between
 * them. Invariants: every index of the extent has one owner, and the parts of a node fill its local array. The
 * description was checked by the caller. Any thread. */
#ifndef TI_DISTRIBUTION_H
#define TI_DISTRIBUTION_H

#include "base/vec.h"
#include "grid/split.h"
#include "tacit/tacit.h"

/* A plain value: equal distributions compare equal with memcmp. */
typedef struct ti_distribution {
    ti_box extent;
    int64_t grid[3];
    int64_t block[3];
    int64_t most[3]; /* cyclic: blocks of the node that has most, per dimension */
    int64_t cyclic;
    ti_split split; /* block: its chunks, in the order of the nodes */
} ti_distribution;

/* A part of a node's local array: `box` of the buffer, and where the whole array would lie if the part were at its own
 * indices. */
typedef struct ti_local_piece {
    ti_box box, whole;
} ti_local_piece;
typedef TI_VEC(ti_local_piece) ti_local_pieces;

/* For a buffer of `extent` on `nodes` nodes; a grid of zeros has all of them along dimension 0. */
ti_distribution ti_distribution_make(const tacit_distribution *from, const ti_box *extent, int nodes);

/* The node that owns an index of the extent. */
int ti_distribution_owner(const ti_distribution *d, const int64_t index[3]);

/* The extent of a node's local array; zeros if it owns nothing. */
void ti_distribution_local(const ti_distribution *d, int node, int64_t size[3]);

/* The request that makes the split of a block distribution. */
ti_split_request ti_distribution_split(const ti_distribution *d, int nodes);

/* Cyclic: how many places for blocks each node has, and the box of block `b` of them, empty if the node has fewer. */
int64_t ti_distribution_places(const ti_distribution *d);
ti_box ti_distribution_block(const ti_distribution *d, int node, int64_t b);

/* Append the parts of a node's local array. */
void ti_distribution_pieces(const ti_distribution *d, int node, ti_local_pieces *out);

#endif
