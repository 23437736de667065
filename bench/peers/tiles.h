/* What the programs that factorise a matrix in tiles have in common: A = L L' by tacit and by StarPU.
 *
 *     tacit-peer-cholesky-WAY SIZE TILE [ROUNDS]
 *
 * factorises a matrix of SIZE x SIZE elements so often, after a first time that is not timed, and prints one JSON
 * object: the seconds of the fastest round, and a hash of the factor. All call the same BLAS for the same tasks in the
 * same order of updates, so the bits are the same. */
#ifndef PEER_TILES_H
#define PEER_TILES_H

#include <stdbool.h>
#include <stddef.h>

#include "peer.h"

struct tiles {
    size_t n, tile, count; /* of a row of tiles */
    int grid[2];           /* tiles are dealt out to so many nodes */
    struct peer time;
    double processor_begin;
};

/* Reads the command line, and lets the BLAS use one thread; ends the process with a sentence if that is nonsense. */
void tiles_start(struct tiles *t, int nodes, int argc, char **argv);

int tiles_owner(const struct tiles *t, size_t i, size_t j);

/* What work on tile (i, j) in step k is worth: 0 to 1000. */
int tiles_priority(const struct tiles *t, size_t k, size_t i, size_t j);

/* Whether there is another round; what is between begin and end is timed. */
bool tiles_again(struct tiles *t);
void tiles_begin(struct tiles *t);
void tiles_end(struct tiles *t);

/* Prints the time, and a hash of the lower half of the matrix, by rows. */
void tiles_result(const struct tiles *t, const double *matrix);

/* ---- the kernels, on tiles of b x b elements by rows, whose rows are ld elements apart */

struct tile {
    double *at;
    int b, ld;
};

void tile_fill(struct tile a, const struct tiles *t, size_t i, size_t j);
void tile_potrf(struct tile a);
void tile_trsm(struct tile a, struct tile l);
void tile_syrk(struct tile a, struct tile b);
void tile_gemm(struct tile a, struct tile b, struct tile c);

#endif
