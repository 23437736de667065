/* examples/cg_matrix.c: sparse symmetric matrices: see cg_matrix.h.
 *
 * The entries of a file come in any order. They are sorted by transposing twice: the transpose of a matrix, made by
 * going through the entries row by row, has its rows in ascending order. Transposing shows symmetry, too. */
#include "cg_matrix.h"

#include <stdlib.h>

#include "common.h"
#include "market.h"
#include "same_input.h"

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

/* ---------------------------------------------------------------- what programs on them have in common */

enum { KEY_MATRIX = 0x900, KEY_ROWS, KEY_COLUMNS };

static const struct argp_option option_list[] = {
    { "matrix", KEY_MATRIX, "FILE", 0, "A matrix in the Matrix Market format; all nodes must be able to read it", 1 },
    { "rows", KEY_ROWS, "NUMBER", 0, "Without --matrix: rows of the grid whose Laplacian is taken (100)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Without --matrix: columns of the grid (100)", 1 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct matrix_source *from = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        *from = (struct matrix_source){ .rows = 100, .columns = 100 };
        return 0;
    case KEY_MATRIX:
        from->path = arg;
        return 0;
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 1, 60000, &from->rows);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 1, 60000, &from->columns);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp matrix_argp = { option_list, parse, NULL, NULL, NULL, NULL, NULL };

bool matrix_of_source(tacit_context *ctx, const struct matrix_source *from, struct matrix *out)
{
    struct input_found found = { .read = true };
    if (!from->path) {
        *out = matrix_laplacian(from->rows, from->columns);
        return true;
    }
    found.read = matrix_read(from->path, tacit_node(ctx) == 0, out);
    found.hash = matrix_hash(out);
    return same_input(ctx, from->path, found);
}

void matrix_report(struct example_report *r, const struct matrix_source *from, const struct matrix *a)
{
    example_report_text(r, "matrix", "matrix", from->path ? "from a file" : "five-point Laplacian");
    example_report_count(r, "rows", "rows", a->rows);
    example_report_count(r, "entries", "entries", a->entries);
}

/* splitmix64 */
double matrix_vector(size_t i)
{
    uint64_t x = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-52 - 1.0;
}
