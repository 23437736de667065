/* examples/market.c: reading the Matrix Market format: see market.h. */
#include "market.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    const char *path;
    FILE *file;
    size_t number; /* of the line */
    bool speaks;
    char *line;
    size_t line_capacity, capacity; /* of the line, of `entry` */
    struct market m;
    size_t expected; /* entries */
};

static void print_complaint(const char *path, size_t line, const char *format, va_list args)
{
    fprintf(stderr, "%s:", path);
    if (line)
        fprintf(stderr, "%zu:", line);
    fputc(' ', stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

bool market_complain(const char *path, bool speaks, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (speaks)
        print_complaint(path, 0, format, args);
    va_end(args);
    return false;
}

/* Say what is wrong with the line that was read last. Returns false. */
static bool complain(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool complain(const struct reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->speaks)
        print_complaint(r->path, r->number, format, args);
    va_end(args);
    return false;
}

/* The next line that says anything, or false at the end of the file. */
static bool next_line(struct reader *r)
{
    while (getline(&r->line, &r->line_capacity, r->file) >= 0) {
        r->number++;
        const char *text = r->line + strspn(r->line, " \t\r\n");
        if (*text && *text != '%')
            return true;
    }
    return false;
}

/* The first line: "%%MatrixMarket matrix coordinate real symmetric", in capitals or not. */
static bool read_banner(struct reader *r, int accepted)
{
    char word[5][32] = { { 0 } };
    const bool may_be_array = accepted & MARKET_ARRAY, may_be_general = accepted & MARKET_GENERAL;
    r->number = 1;
    if (getline(&r->line, &r->line_capacity, r->file) < 0 ||
        sscanf(r->line, "%31s %31s %31s %31s %31s", word[0], word[1], word[2], word[3], word[4]) != 5 ||
        strcasecmp(word[0], "%%MatrixMarket") != 0 || strcasecmp(word[1], "matrix") != 0)
        return complain(r, "not a Matrix Market file: it must begin with '%%%%MatrixMarket matrix ...'");
    r->m.array = may_be_array && strcasecmp(word[2], "array") == 0;
    if (!r->m.array && strcasecmp(word[2], "coordinate") != 0)
        return complain(r, "the format is '%s', but %s can be read", word[2],
                        may_be_array ? "only 'coordinate' and 'array'" : "only 'coordinate' (sparse)");
    if (strcasecmp(word[3], "real") != 0 && strcasecmp(word[3], "integer") != 0)
        return complain(r, "the numbers are '%s', but must be 'real' or 'integer'", word[3]);
    r->m.symmetric = strcasecmp(word[4], "symmetric") == 0;
    if (!r->m.symmetric && !(may_be_general && strcasecmp(word[4], "general") == 0))
        return complain(r, "the matrix is '%s', but must be 'symmetric'%s", word[4],
                        may_be_general ? " or 'general'" : "");
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

/* How many elements a matrix of n rows has, or its lower half. */
static size_t elements(const struct reader *r, size_t n)
{
    return r->m.symmetric ? n % 2 ? n * ((n + 1) / 2) : n / 2 * (n + 1) : n * n;
}

/* The line "rows columns entries", or "rows columns" of an array. */
static bool read_size(struct reader *r)
{
    const char *what = r->m.array ? "rows and columns" : "rows, columns and entries";
    size_t columns;
    char *text;
    if (!next_line(r))
        return complain(r, "the file ends before the line with the number of %s", what);
    text = r->line;
    if (!parse_whole(&text, 1, UINT32_MAX - 1, &r->m.rows) || !parse_whole(&text, 1, UINT32_MAX - 1, &columns) ||
        (!r->m.array && !parse_whole(&text, 1, SIZE_MAX / 64, &r->expected)) || !is_at_end(text))
        return complain(r, "this must be the number of %s, each 1 to %u", what, UINT32_MAX - 1);
    if (columns != r->m.rows)
        return complain(r, "the matrix has %zu rows and %zu columns, but must be square", r->m.rows, columns);
    if (r->m.array)
        r->expected = elements(r, r->m.rows);
    if (r->expected < r->m.rows)
        return complain(r, "%zu entries are fewer than the %zu of the diagonal, which must all be positive",
                        r->expected, r->m.rows);
    if (r->expected > elements(r, r->m.rows))
        return complain(r, "%zu entries are more than the %s of %zu rows and columns has", r->expected,
                        r->m.symmetric ? "lower half of a matrix" : "matrix", r->m.rows);
    return true;
}

/* A number, and nothing behind it. */
static bool parse_value(const struct reader *r, const char *text, const char *before, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || !is_at_end(end))
        return complain(r, "%s one number, and nothing else", before);
    return isfinite(*out) ? true : complain(r, "the value is not finite");
}

/* A line "row column value", counted from 1. */
static bool parse_entry(const struct reader *r, struct market_entry *out)
{
    size_t row, column;
    char *text = r->line;
    if (!parse_whole(&text, 1, r->m.rows, &row) || !parse_whole(&text, 1, r->m.rows, &column))
        return complain(r, "this must begin with a row and a column, each 1 to %zu", r->m.rows);
    if (!parse_value(r, text, "after row and column must come", &out->value))
        return false;
    if (r->m.symmetric && column > row)
        return complain(r, "a symmetric matrix is stored by its lower half, but this lies above the diagonal");
    out->row = (uint32_t)(row - 1);
    out->column = (uint32_t)(column - 1);
    return true;
}

/* A line of an array, whose elements come column by column, from the diagonal on if it is symmetric. */
static bool parse_element(const struct reader *r, const struct market_entry *before, struct market_entry *out)
{
    *out = (struct market_entry){ 0, 0, 0 };
    if (before && before->row + 1 < r->m.rows)
        *out = (struct market_entry){ before->row + 1, before->column, 0 };
    else if (before)
        *out = (struct market_entry){ r->m.symmetric ? before->column + 1 : 0, before->column + 1, 0 };
    return parse_value(r, r->line, "a line of an array must be", &out->value);
}

/* The entries. Memory grows with what is there, so that a wrong number in the line of sizes does no harm. */
static bool read_entries(struct reader *r)
{
    for (; r->m.count < r->expected; r->m.count++) {
        if (!next_line(r))
            return complain(r, "the file ends after %zu of %zu entries", r->m.count, r->expected);
        if (r->m.count == r->capacity) {
            r->capacity = 2 * r->capacity + 1024;
            struct market_entry *larger = realloc(r->m.entry, r->capacity * sizeof *larger);
            if (!larger)
                return complain(r, "not enough memory for %zu entries", r->capacity);
            r->m.entry = larger;
        }
        struct market_entry *next = r->m.entry + r->m.count;
        if (r->m.array ? !parse_element(r, r->m.count ? next - 1 : NULL, next) : !parse_entry(r, next))
            return false;
    }
    return !next_line(r) || complain(r, "there is more than the %zu entries that were announced", r->expected);
}

bool market_read(const char *path, bool speaks, int accepted, struct market *out)
{
    struct reader r = { .path = path, .speaks = speaks, .file = fopen(path, "r") };
    *out = (struct market){ 0 };
    if (!r.file)
        return market_complain(path, speaks, "cannot be opened: %s", strerror(errno));
    bool good = read_banner(&r, accepted) && read_size(&r) && read_entries(&r);
    fclose(r.file);
    free(r.line);
    if (good)
        *out = r.m;
    else
        market_destroy(&r.m);
    return good;
}

void market_destroy(struct market *m)
{
    free(m->entry);
    *m = (struct market){ 0 };
}
