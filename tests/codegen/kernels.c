/* Kernels, each twice: with views, and with plain pointers as one writes them without tacit. codegen_test.py compares
 * what a compiler makes of the two; nothing here is run. NAME_views and NAME_hand compute the same. */
#include "tacit/tacit.h"

/* Jacobi's iteration as in examples/jacobi.c: five points and a right-hand side. */
struct grid {
    double x2, y2, scale;
};

static inline double relaxed(const struct grid *g, double f, double up, double down, double left, double right)
{
    return (f + g->x2 * (left + right) + g->y2 * (up + down)) * g->scale;
}

void jacobi_views(const tacit_launch *k);
void jacobi_views(const tacit_launch *k)
{
    const struct grid g = *(const struct grid *)k->args;
    const tacit_view old = k->view[0], f = k->view[1], new = k->view[2];
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            TACIT_AT2(double, new, i, j) = relaxed(&g, TACIT_GET2(double, f, i, j), TACIT_GET2(double, old, i - 1, j),
                                                   TACIT_GET2(double, old, i + 1, j), TACIT_GET2(double, old, i, j - 1),
                                                   TACIT_GET2(double, old, i, j + 1));
        }
    }
}

void jacobi_hand(const struct grid *given, const double *old, const double *f, double *new, const size_t size[3]);
void jacobi_hand(const struct grid *given, const double *old, const double *f, double *new, const size_t size[3])
{
    const struct grid g = *given;
    const size_t rows = size[0], columns = size[1], ld = size[2];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            new[i * ld + j] = relaxed(&g, f[i * ld + j], old[(i - 1) * ld + j], old[(i + 1) * ld + j],
                                      old[i * ld + j - 1], old[i * ld + j + 1]);
}

/* Seven points in three dimensions. */
void heat_views(const tacit_launch *k);
void heat_views(const tacit_launch *k)
{
    const tacit_view u = k->view[0], w = k->view[1];
    TACIT_FOR (h, k->chunk, 0) {
        TACIT_FOR (i, k->chunk, 1) {
            TACIT_FOR (j, k->chunk, 2) {
                double sum = TACIT_GET3(double, u, h, i, j - 1) + TACIT_GET3(double, u, h, i, j + 1) +
                             TACIT_GET3(double, u, h, i - 1, j) + TACIT_GET3(double, u, h, i + 1, j) +
                             TACIT_GET3(double, u, h - 1, i, j) + TACIT_GET3(double, u, h + 1, i, j);
                TACIT_AT3(double, w, h, i, j) = sum - 6.0 * TACIT_GET3(double, u, h, i, j);
            }
        }
    }
}

void heat_hand(const double *u, double *w, const size_t size[3]);
void heat_hand(const double *u, double *w, const size_t size[3])
{
    const size_t planes = size[0], rows = size[1], columns = size[2];
    for (size_t h = 0; h < planes; h++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) {
                size_t at = (h * rows + i) * columns + j;
                w[at] = u[at - 1] + u[at + 1] + u[at - columns] + u[at + columns] + u[at - rows * columns] +
                        u[at + rows * columns] - 6.0 * u[at];
            }
}

/* One dimension. */
void axpy_views(const tacit_launch *k);
void axpy_views(const tacit_launch *k)
{
    const double a = *(const double *)k->args;
    const tacit_view x = k->view[0], y = k->view[1];
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(double, y, i) += a * TACIT_GET1(double, x, i);
}

void axpy_hand(double a, const double *x, double *y, size_t n);
void axpy_hand(double a, const double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* Elements of a type that could be the chunk's own numbers, for all that a compiler knows. */
void index_views(const tacit_launch *k);
void index_views(const tacit_launch *k)
{
    const tacit_view x = k->view[0], y = k->view[1];
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(size_t, y, i) = TACIT_GET1(size_t, x, i) + 1;
}

void index_hand(const size_t *x, size_t *y, size_t n);
void index_hand(const size_t *x, size_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] + 1;
}
