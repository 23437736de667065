/* examples/spd_matrix.c: symmetric positive definite matrices: see spd_matrix.h. */
#include "spd_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "tiles.h"

/* ---------------------------------------------------------------- at random */

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Eigenvalues in an order that has nothing to do with their size. */
static void make_eigenvalues(struct spd_matrix *a, double condition)
{
    a->eigenvalue = example_alloc(a->rows, sizeof(double));
    for (size_t i = 0; i < a->rows; i++)
        a->eigenvalue[i] = a->rows > 1 ? pow(condition, -(double)i / (double)(a->rows - 1)) : 1;
    for (size_t i = a->rows - 1; i > 0; i--) {
        const size_t other = (size_t)((tiles_random(1, i, 0) + 1) / 2 * (double)(i + 1));
        const double value = a->eigenvalue[i];
        a->eigenvalue[i] = a->eigenvalue[other];
        a->eigenvalue[other] = value;
    }
}

/* The matrix after the first `done` reflections, times v. */
static void multiply(const struct spd_matrix *a, int done, const double *v, double *out)
{
    for (size_t i = 0; i < a->rows; i++)
        out[i] = a->eigenvalue[i] * v[i];
    for (int r = 0; r < done; r++) {
        const double along_v = dot(a->v[r], v, a->rows), along_p = dot(a->p[r], v, a->rows);
        for (size_t i = 0; i < a->rows; i++)
            out[i] -= a->v[r][i] * along_p + a->p[r][i] * along_v;
    }
}

static void reflect(struct spd_matrix *a, int r)
{
    double *v = a->v[r] = example_alloc(a->rows, sizeof *v), *p = a->p[r] = example_alloc(a->rows, sizeof *p);
    for (size_t i = 0; i < a->rows; i++)
        v[i] = tiles_random(2, i, (size_t)r);
    const double length = sqrt(dot(v, v, a->rows));
    for (size_t i = 0; i < a->rows; i++)
        v[i] /= length;
    multiply(a, r, v, p);
    const double along = dot(v, p, a->rows);
    for (size_t i = 0; i < a->rows; i++)
        p[i] = 2 * p[i] - 2 * along * v[i];
}

struct spd_matrix spd_random(size_t rows, double condition)
{
    struct spd_matrix a = { .rows = rows };
    make_eigenvalues(&a, condition);
    for (int r = 0; r < SPD_REFLECTIONS; r++)
        reflect(&a, r);
    return a;
}

/* ---------------------------------------------------------------- from a file */

static int compare(const void *one, const void *other)
{
    const struct market_entry *a = one, *b = other;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

bool spd_read(const char *path, bool speaks, struct spd_matrix *out)
{
    struct spd_matrix a = { 0 };
    *out = a;
    if (!market_read(path, speaks, MARKET_ARRAY, &a.file))
        return false;
    struct market *m = &a.file;
    qsort(m->entry, m->count, sizeof *m->entry, compare);
    for (size_t e = 1; e < m->count; e++) {
        if (compare(m->entry + e - 1, m->entry + e) == 0) {
            market_complain(path, speaks, "row %u, column %u is given twice", m->entry[e].row + 1,
                            m->entry[e].column + 1);
            market_destroy(m);
            return false;
        }
    }
    a.rows = m->rows;
    a.start = example_alloc(a.rows + 1, sizeof *a.start);
    for (size_t e = 0; e < m->count; e++)
        a.start[m->entry[e].row + 1]++;
    for (size_t i = 0; i < a.rows; i++)
        a.start[i + 1] += a.start[i];
    *out = a;
    return true;
}

static double stored_element(const struct spd_matrix *a, size_t i, size_t j)
{
    uint64_t first = a->start[i], end = a->start[i + 1];
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        if (a->file.entry[middle].column == j)
            return a->file.entry[middle].value;
        if (a->file.entry[middle].column < j)
            first = middle + 1;
        else
            end = middle;
    }
    return 0;
}

/* ---------------------------------------------------------------- both */

double spd_element(const void *matrix, size_t i, size_t j)
{
    const struct spd_matrix *a = matrix;
    if (a->start)
        return stored_element(a, i, j);
    double sum = i == j ? a->eigenvalue[i] : 0;
    for (int r = 0; r < SPD_REFLECTIONS; r++)
        sum -= a->v[r][i] * a->p[r][j] + a->p[r][i] * a->v[r][j];
    return sum;
}

/* Entries have no bytes between their fields. */
uint64_t spd_hash(const struct spd_matrix *a)
{
    return a->rows * 31 + example_hash(a->file.entry, a->file.count * sizeof *a->file.entry);
}

void spd_destroy(struct spd_matrix *a)
{
    for (int r = 0; r < SPD_REFLECTIONS; r++) {
        free(a->v[r]);
        free(a->p[r]);
    }
    free(a->eigenvalue);
    free(a->start);
    market_destroy(&a->file);
    *a = (struct spd_matrix){ 0 };
}
