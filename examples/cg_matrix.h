/* examples/cg_matrix.h: sparse symmetric matrices, for cg: read from a file, or made.
 *
 * Compressed rows: the entries of row i are those numbered start[i] to start[i + 1] - 1, in ascending order of columns.
 * Both halves of a symmetric matrix are stored. Plain data; any thread. */
#ifndef TACIT_EXAMPLES_CG_MATRIX_H
#define TACIT_EXAMPLES_CG_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matrix {
    size_t rows, entries;
    uint64_t *start; /* rows + 1 of them */
    uint32_t *column;
    double *value;
};

/* Read a file in the Matrix Market format: a matrix in coordinates, of real or whole numbers, symmetric or general. A
 * general one must be symmetric all the same, and every element of the diagonal must be positive, as in all matrices
 * that are symmetric and positive definite. Returns false, with a message that names the line if this node `speaks`. */
bool matrix_read(const char *path, bool speaks, struct matrix *out);

/* The five-point Laplacian of a grid of rows x columns points: 4 on the diagonal, -1 for each neighbour. */
struct matrix matrix_laplacian(size_t rows, size_t columns);

void matrix_destroy(struct matrix *a);

/* A hash of all of it, to compare what several nodes have read. */
uint64_t matrix_hash(const struct matrix *a);

#endif
