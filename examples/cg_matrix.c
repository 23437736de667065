/* examples/cg_matrix.c: sparse symmetric matrices: see cg_matrix.h.
 *
 * The entries of a file come in any order. They are sorted by transposing twice: the transpose of a matrix, made by
 * going through the entries row by row, has its rows in ascending order. Transposing shows symmetry, too. */
#include "cg_matrix.h"

#include <stdlib.h>

#include "common.h"
#include "market.h"

static struct matrix matrix_create(size_t rows, size_t entries)
{
    return (struct matrix){
        .rows = rows,
        .entries = entries,
        .start = example_alloc(rows + 1, sizeof(uint64_t)),
        .column = example_alloc(entries, sizeof(uint32_t)),
        .value = example_alloc(entries, sizeof(double)),
    };
}

void matrix_destroy(struct matrix *a)
{
    free(a->start);
    free(a->column);
    free(a->value);
    *a = (struct matrix){ 0 };
}

uint64_t matrix_hash(const struct matrix *a)
{
    if (a->rows == 0)
        return 0;
    return (example_hash(a->start, (a->rows + 1) * sizeof *a->start) * 31 +
            example_hash(a->column, a->entries * sizeof *a->column)) *
               31 +
           example_hash(a->value, a->entries * sizeof *a->value);
}

/* ---------------------------------------------------------------- a matrix that is made */

static void add_entry(struct matrix *a, size_t column, double value)
{
    a->column[a->entries] = (uint32_t)column;
    a->value[a->entries++] = value;
}

struct matrix matrix_laplacian(size_t rows, size_t columns)
{
    struct matrix a = matrix_create(rows * columns, 5 * rows * columns);
    a.entries = 0;
    for (size_t i = 0; i < a.rows; i++) {
        if (i >= columns)
            add_entry(&a, i - columns, -1.0);
        if (i % columns > 0)
            add_entry(&a, i - 1, -1.0);
        add_entry(&a, i, 4.0);
        if (i % columns + 1 < columns)
            add_entry(&a, i + 1, -1.0);
        if (i + columns < a.rows)
            add_entry(&a, i + columns, -1.0);
        a.start[i + 1] = a.entries;
    }
    return a;
}

/* ---------------------------------------------------------------- sorting */

/* Compressed rows of `count` entries; those of one row stay in the order in which they come. */
static struct matrix compress(const struct market_entry *entry, size_t count, size_t rows)
{
    struct matrix a = matrix_create(rows, count);
    uint64_t *next = example_alloc(rows, sizeof *next);
    for (size_t e = 0; e < count; e++)
        a.start[entry[e].row + 1]++;
    for (size_t i = 0; i < rows; i++) {
        a.start[i + 1] += a.start[i];
        next[i] = a.start[i];
    }
    for (size_t e = 0; e < count; e++) {
        uint64_t at = next[entry[e].row]++;
        a.column[at] = entry[e].column;
        a.value[at] = entry[e].value;
    }
    free(next);
    return a;
}

static struct matrix transpose(const struct matrix *a)
{
    struct market_entry *entry = example_alloc(a->entries, sizeof *entry);
    for (size_t i = 0; i < a->rows; i++)
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
            entry[e] = (struct market_entry){ a->column[e], (uint32_t)i, a->value[e] };
    struct matrix transposed = compress(entry, a->entries, a->rows);
    free(entry);
    return transposed;
}

/* ---------------------------------------------------------------- the file */

/* Whether a message can be printed, and about which file. */
struct speaker {
    const char *path;
    bool speaks;
};

/* Whether the matrix can be symmetric and positive definite. Rows are sorted, and `transposed` is its transpose. */
static bool check(const struct speaker *s, const struct matrix *a, const struct matrix *transposed)
{
    for (size_t i = 0; i < a->rows; i++) {
        double diagonal = 0;
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            size_t j = a->column[e];
            if (e > a->start[i] && a->column[e - 1] == j)
                return market_complain(s->path, s->speaks, "row %zu, column %zu is given twice", i + 1, j + 1);
            if (e >= transposed->start[i + 1] || transposed->column[e] != j || transposed->value[e] != a->value[e])
                return market_complain(s->path, s->speaks, "row %zu, column %zu: the matrix is not symmetric", i + 1,
                                       j + 1);
            diagonal = j == i ? a->value[e] : diagonal;
        }
        if (a->start[i + 1] != transposed->start[i + 1])
            return market_complain(s->path, s->speaks, "row %zu: the matrix is not symmetric", i + 1);
        if (!(diagonal > 0))
            return market_complain(s->path, s->speaks,
                                   "row %zu: the diagonal is %g, so the matrix is not positive definite", i + 1,
                                   diagonal);
    }
    return true;
}

/* Both halves of a symmetric matrix, of whose file the lower one came. */
static struct matrix both_halves(const struct market *m)
{
    struct market_entry *all = example_alloc(2 * m->count, sizeof *all);
    size_t count = 0;
    for (size_t e = 0; e < m->count; e++) {
        const struct market_entry here = m->entry[e];
        all[count++] = here;
        if (m->symmetric && here.row != here.column)
            all[count++] = (struct market_entry){ here.column, here.row, here.value };
    }
    struct matrix a = compress(all, count, m->rows);
    free(all);
    return a;
}

/* Sort what was read, and check it. */
static bool build(const struct speaker *s, const struct market *m, struct matrix *out)
{
    struct matrix unsorted = both_halves(m), transposed = transpose(&unsorted), sorted = transpose(&transposed);
    bool good = check(s, &sorted, &transposed);
    matrix_destroy(&unsorted);
    matrix_destroy(&transposed);
    if (good)
        *out = sorted;
    else
        matrix_destroy(&sorted);
    return good;
}

bool matrix_read(const char *path, bool speaks, struct matrix *out)
{
    const struct speaker s = { path, speaks };
    struct market m;
    *out = (struct matrix){ 0 };
    bool good = market_read(path, speaks, MARKET_GENERAL, &m) && build(&s, &m, out);
    market_destroy(&m);
    return good;
}
