/* The arithmetic that the programs of this folder have in common. It is compiled once, so that tacit, OpenMP and MPI
 * run the same machine code and get the same bits; they differ in who computes what, and in what moves data. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* A part of a matrix in memory: `data` is element (row, column), and rows lie `ld` elements apart. A vector is a matrix
 * of one column; n bodies are one of three columns. */
struct part {
    double *data;
    size_t row, column, ld;
};

static inline double *at(struct part p, size_t i, size_t j)
{
    return p.data + (i - p.row) * p.ld + (j - p.column);
}

/* A sparse matrix of `width` entries in every row; what a row has less are zeros in the diagonal. */
struct sparse {
    size_t n, width, band; /* all columns of row i lie in [i - band, i + band] */
    size_t side;           /* of Laplace's operator on a grid; 0: columns without any order */
    double *value;         /* of the first row in memory */
    uint32_t *column;
};

/* What nodes, threads and ranks compute of n: number k of `of` begins here; it ends where the next one begins. */
size_t share(size_t n, size_t k, size_t of);

/* Rows [begin, end) of n x columns, some numbers that are the same in all programs. */
void start(size_t begin, size_t end, size_t columns, struct part to);

/* One step for rows [begin, end) of an n x n grid, whose outermost elements never change. */
void stencil(size_t n, size_t begin, size_t end, struct part old, struct part new);
void stencil2(size_t n, size_t begin, size_t end, struct part old, struct part new); /* two rows around each */
void wave(size_t n, size_t begin, size_t end, struct part now, struct part last);
void jacobi(size_t n, size_t begin, size_t end, struct part old, struct part f, struct part new);
double residual(size_t n, size_t begin, size_t end, struct part u, struct part f); /* the largest */

/* Bodies: rows [begin, end) of velocities and positions change. */
void kick(size_t n, size_t begin, size_t end, struct part position, struct part velocity);
void drift(size_t begin, size_t end, struct part velocity, struct part position);

/* to[i][j] = from[j][i] + 1 for rows [begin, end) and columns [left, right). */
void transpose(const size_t rows[2], const size_t columns[2], struct part from, struct part to);

/* Each element becomes that above plus that to the left minus that between them. Elements of the row above are in
 * `above`, those of the column to the left in `left`; the three may be the same memory. */
void wavefront(const size_t rows[2], const size_t columns[2], struct part above, struct part left, struct part own);

/* Its first row and its first column are 0, 1, 2, ... */
void wavefront_start(const size_t rows[2], const size_t columns[2], struct part own);

/* Matrices without memory for their rows, and the entries of rows [begin, end), the first in memory. */
struct sparse band_matrix(size_t n);
struct sparse laplace_matrix(size_t side);
void sparse_fill(const struct sparse *a, size_t begin, size_t end);

/* y = A x for rows [begin, end), the first in memory. */
void multiply(const struct sparse *a, size_t begin, size_t end, struct part x, struct part y);

/* Conjugate gradients, rows [begin, end) of vectors of one column. */
double dot(size_t begin, size_t end, struct part x, struct part y);
double cg_begin(size_t begin, size_t end, struct part x, struct part r, struct part p); /* gives r.r */
double cg_advance(const size_t rows[2], double step, const struct part of[4]);          /* p, q, x, r: new r.r */
void cg_turn(size_t begin, size_t end, double share_of_old, struct part r, struct part p);

/* One step of POINTS numbers, each of the three around it, with `work` multiplications one after the other. */
enum { POINTS = 12 };
void points(size_t work, size_t begin, size_t end, struct part old, struct part new);

/* Adds what item number `item` has to n elements. */
void accumulate(size_t n, size_t item, double *to);

#endif
