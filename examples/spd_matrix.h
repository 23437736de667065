/* examples/spd_matrix.h: symmetric positive definite matrices for cholesky: made at random, or read from a file.
 *
 * Elements are asked for one by one, so that each node makes the tiles that it owns, and none needs room for the whole
 * matrix. Plain data, that kernels read on any thread. */
#ifndef TACIT_EXAMPLES_SPD_MATRIX_H
#define TACIT_EXAMPLES_SPD_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "market.h"

/* A random matrix is D, a diagonal of eigenvalues, reflected several times at random planes. One reflection of a
 * symmetric A at the plane across a unit vector v is A - v p' - p v' with p = 2 A v - 2 (v' A v) v. So the matrix is D
 * and a few pairs of vectors, and an element costs a few multiplications. */
enum { SPD_REFLECTIONS = 4 };

struct spd_matrix {
    size_t rows;
    double *eigenvalue, *v[SPD_REFLECTIONS], *p[SPD_REFLECTIONS]; /* of a random matrix */
    struct market file; /* of one from a file: the lower half, sorted by rows, then columns */
    uint64_t *start;    /* entries of row i: those from start[i] to start[i + 1] - 1 */
};

/* A random matrix whose eigenvalues lie between 1 / condition and 1, at equal ratios. */
struct spd_matrix spd_random(size_t rows, double condition);

/* Read a file in the Matrix Market format, a symmetric matrix by coordinates or as an array. Returns false, with a
 * message if this node `speaks`. Whether the matrix is positive definite is not looked at. */
bool spd_read(const char *path, bool speaks, struct spd_matrix *out);

/* Element (i, j) of a struct spd_matrix, j <= i. */
double spd_element(const void *matrix, size_t i, size_t j);

/* A hash of what was read, to compare what several nodes have. */
uint64_t spd_hash(const struct spd_matrix *a);

void spd_destroy(struct spd_matrix *a);

#endif
