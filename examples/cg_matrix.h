/* examples/cg_matrix.h: sparse symmetric matrices, for cg and powers: read from a file, or made; and their options.
 *
 * Compressed rows: the entries of row i are those numbered start[i] to start[i + 1] - 1, in ascending order of columns.
 * Both halves of a symmetric matrix are stored. Plain data; any thread. */
#ifndef TACIT_EXAMPLES_CG_MATRIX_H
#define TACIT_EXAMPLES_CG_MATRIX_H

#include "common.h"

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

/* Where a program's matrix comes from: a file, or if that is NULL the Laplacian of a grid. */
struct matrix_source {
    const char *path;
    size_t rows, columns;
};

/* "--matrix", "--rows" and "--cols": a child of the program's own options, which gets a matrix_source. */
extern const struct argp matrix_argp;

/* Make the matrix, or read it; all nodes go on only if all have read the same. All nodes. */
bool matrix_of_source(tacit_context *ctx, const struct matrix_source *from, struct matrix *out);

/* The lines of a report that say which matrix it was. */
void matrix_report(struct example_report *r, const struct matrix_source *from, const struct matrix *a);

/* Element i of a vector of numbers between -1 and 1 without any order. */
double matrix_vector(size_t i);

#endif
