/* examples/market.h: files in the Matrix Market format, for cg, powers and cholesky.
 *
 * The first line says what is in the file: entries with their coordinates, or all elements of an array; real or whole
 * numbers; a general matrix, or the lower half of a symmetric one. Then come the sizes, then the numbers. What is wrong
 * with a file is said as "path:line: sentence". Plain data; any thread. */
#ifndef TACIT_EXAMPLES_MARKET_H
#define TACIT_EXAMPLES_MARKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows and columns count from 0. */
struct market_entry {
    uint32_t row, column;
    double value;
};

/* A square matrix as a file has it: entries in the order of the file; of a symmetric matrix those of the lower half. */
struct market {
    size_t rows, count;
    bool symmetric;
    bool array; /* the file has all elements, and no coordinates */
    struct market_entry *entry;
};

/* What a program can use besides entries with coordinates of a symmetric matrix. */
enum { MARKET_ARRAY = 1, MARKET_GENERAL = 2 };

/* Read a file. Returns false, with a message if this node `speaks`. */
bool market_read(const char *path, bool speaks, int accepted, struct market *out);

void market_destroy(struct market *m);

/* Say in the manner of printf what is wrong with the matrix in a file, if this node `speaks`. Returns false. */
bool market_complain(const char *path, bool speaks, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
