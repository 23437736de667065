/* examples/cg_matrix.c: sparse symmetric matrices: see cg_matrix.h.
 *
 * The entries of a file come in any order. They are sorted by transposing twice: the transpose of a matrix, made by
 * going through the entries row by row, has its rows in ascending order. Transposing shows symmetry, too. */
#include "cg_matrix.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common.h"

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

/* Entries in the order of a file; rows and columns count from 0. */
struct entry {
    uint32_t row, column;
    double value;
};

/* Compressed rows of `count` entries; those of one row stay in the order in which they come. */
static struct matrix compress(const struct entry *entry, size_t count, size_t rows)
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
    struct entry *entry = example_alloc(a->entries, sizeof *entry);
    for (size_t i = 0; i < a->rows; i++)
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
            entry[e] = (struct entry){ a->column[e], (uint32_t)i, a->value[e] };
    struct matrix transposed = compress(entry, a->entries, a->rows);
    free(entry);
    return transposed;
}

/* ---------------------------------------------------------------- the file */

struct reader {
    const char *path;
    FILE *file;
    size_t number; /* of the line */
    bool speaks, symmetric;
    char *line;
    size_t capacity;
    size_t rows, count, capacity_entries;
    struct entry *entry;
};

/* Say what is wrong with the line that was read last, or with the matrix as a whole. Returns false. */
static bool complain(const struct reader *r, bool about_line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool complain(const struct reader *r, bool about_line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->speaks) {
        fprintf(stderr, "%s:", r->path);
        if (about_line)
            fprintf(stderr, "%zu:", r->number);
        fputc(' ', stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    }
    va_end(args);
    return false;
}

/* The next line that says anything, or false at the end of the file. */
static bool next_line(struct reader *r)
{
    while (getline(&r->line, &r->capacity, r->file) >= 0) {
        r->number++;
        const char *text = r->line + strspn(r->line, " \t\r\n");
        if (*text && *text != '%')
            return true;
    }
    return false;
}

/* The first line: "%%MatrixMarket matrix coordinate real symmetric", in capitals or not. */
static bool read_banner(struct reader *r)
{
    char word[5][32] = { { 0 } };
    r->number = 1;
    if (getline(&r->line, &r->capacity, r->file) < 0 ||
        sscanf(r->line, "%31s %31s %31s %31s %31s", word[0], word[1], word[2], word[3], word[4]) != 5 ||
        strcasecmp(word[0], "%%MatrixMarket") != 0 || strcasecmp(word[1], "matrix") != 0)
        return complain(r, true, "not a Matrix Market file: it must begin with '%%%%MatrixMarket matrix ...'");
    if (strcasecmp(word[2], "coordinate") != 0)
        return complain(r, true, "the format is '%s', but only 'coordinate' (sparse) can be read", word[2]);
    if (strcasecmp(word[3], "real") != 0 && strcasecmp(word[3], "integer") != 0)
        return complain(r, true, "the numbers are '%s', but must be 'real' or 'integer'", word[3]);
    r->symmetric = strcasecmp(word[4], "symmetric") == 0;
    if (!r->symmetric && strcasecmp(word[4], "general") != 0)
        return complain(r, true, "the matrix is '%s', but must be 'symmetric' or 'general'", word[4]);
    return true;
}

/* A whole number from `min` to `max` at the start of `*text`, which moves behind it. */
static bool parse_whole(char **text, size_t min, size_t max, size_t *out)
{
    char *end;
    *text += strspn(*text, " \t");
    errno = 0;
    unsigned long long value = strtoull(*text, &end, 10);
    if (!isdigit((unsigned char)**text) || errno || value < min || value > max)
        return false;
    *text = end;
    *out = (size_t)value;
    return true;
}

static bool is_at_end(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* The line "rows columns entries". */
static bool read_size(struct reader *r)
{
    size_t columns;
    char *text;
    if (!next_line(r))
        return complain(r, true, "the file ends before the line with the number of rows, columns and entries");
    text = r->line;
    if (!parse_whole(&text, 1, UINT32_MAX - 1, &r->rows) || !parse_whole(&text, 1, UINT32_MAX - 1, &columns) ||
        !parse_whole(&text, 1, SIZE_MAX / 64, &r->count) || !is_at_end(text))
        return complain(r, true, "this must be the number of rows, columns and entries, each 1 to %u", UINT32_MAX - 1);
    if (columns != r->rows)
        return complain(r, true, "the matrix has %zu rows and %zu columns, but must be square", r->rows, columns);
    if (r->count < r->rows)
        return complain(r, true, "%zu entries are fewer than the %zu of the diagonal, which must all be positive",
                        r->count, r->rows);
    if ((r->count - 1) / r->rows >= r->rows)
        return complain(r, true, "%zu entries are more than %zu rows and columns have", r->count, r->rows);
    return true;
}

/* A line "row column value", counted from 1, becomes one entry, or two of a symmetric matrix. */
static bool parse_entry(struct reader *r, size_t *count)
{
    size_t row, column;
    char *text = r->line, *end;
    if (!parse_whole(&text, 1, r->rows, &row) || !parse_whole(&text, 1, r->rows, &column))
        return complain(r, true, "this must begin with a row and a column, each 1 to %zu", r->rows);
    double value = strtod(text, &end);
    if (end == text || !is_at_end(end))
        return complain(r, true, "after row and column must come one number, and nothing else");
    if (!isfinite(value))
        return complain(r, true, "the value is not finite");
    if (r->symmetric && column > row)
        return complain(r, true, "a symmetric matrix is stored by its lower half, but this lies above the diagonal");
    r->entry[(*count)++] = (struct entry){ (uint32_t)(row - 1), (uint32_t)(column - 1), value };
    if (r->symmetric && row != column)
        r->entry[(*count)++] = (struct entry){ (uint32_t)(column - 1), (uint32_t)(row - 1), value };
    return true;
}

/* The entries. Memory grows with what is there, so that a wrong number in the line of sizes does no harm. */
static bool read_entries(struct reader *r)
{
    size_t count = 0;
    for (size_t line = 0; line < r->count; line++) {
        if (!next_line(r))
            return complain(r, true, "the file ends after %zu of %zu entries", line, r->count);
        if (count + 2 > r->capacity_entries) {
            r->capacity_entries = 2 * r->capacity_entries + 1024;
            r->entry = realloc(r->entry, r->capacity_entries * sizeof *r->entry);
            if (!r->entry)
                return complain(r, true, "not enough memory for %zu entries", r->capacity_entries);
        }
        if (!parse_entry(r, &count))
            return false;
    }
    if (next_line(r))
        return complain(r, true, "there is more than the %zu entries that were announced", r->count);
    r->count = count;
    return true;
}

/* Whether the matrix can be symmetric and positive definite. Rows are sorted, and `transposed` is its transpose. */
static bool check(const struct reader *r, const struct matrix *a, const struct matrix *transposed)
{
    for (size_t i = 0; i < a->rows; i++) {
        double diagonal = 0;
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
            size_t j = a->column[e];
            if (e > a->start[i] && a->column[e - 1] == j)
                return complain(r, false, "row %zu, column %zu is given twice", i + 1, j + 1);
            if (e >= transposed->start[i + 1] || transposed->column[e] != j || transposed->value[e] != a->value[e])
                return complain(r, false, "row %zu, column %zu: the matrix is not symmetric", i + 1, j + 1);
            diagonal = j == i ? a->value[e] : diagonal;
        }
        if (a->start[i + 1] != transposed->start[i + 1])
            return complain(r, false, "row %zu: the matrix is not symmetric", i + 1);
        if (!(diagonal > 0))
            return complain(r, false, "row %zu: the diagonal is %g, so the matrix is not positive definite", i + 1,
                            diagonal);
    }
    return true;
}

/* Sort what was read, and check it. */
static bool build(const struct reader *r, struct matrix *out)
{
    struct matrix unsorted = compress(r->entry, r->count, r->rows), transposed = transpose(&unsorted);
    struct matrix sorted = transpose(&transposed);
    bool good = check(r, &sorted, &transposed);
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
    struct reader r = { .path = path, .speaks = speaks, .file = fopen(path, "r") };
    *out = (struct matrix){ 0 };
    if (!r.file)
        return complain(&r, false, "cannot be opened: %s", strerror(errno));
    bool good = read_banner(&r) && read_size(&r) && read_entries(&r) && build(&r, out);
    fclose(r.file);
    free(r.line);
    free(r.entry);
    return good;
}
