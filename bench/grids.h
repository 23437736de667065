/* The programs of `tacit bench latency`: steps of explicit schemes on grids of one, two and three dimensions, for tacit
 * and by hand alike. Two fields take turns: a step computes new elements of one of them from the other. */
#ifndef BENCH_GRIDS_H
#define BENCH_GRIDS_H

#include <stdbool.h>
#include <stddef.h>

enum { GRID_KINDS = 3 };

typedef struct grid {
    int kind; /* 0: heat in one dimension, 1: waves in two, 2: a star in three */
    size_t n[3];
} grid;

extern const char *const grid_names[GRID_KINDS];
int grid_dims(const grid *g);
size_t grid_elements(const grid *g);
size_t grid_row(const grid *g); /* elements that have the same first index */
/* Whether the old value of an element counts, too: that field is changed in place. */
bool grid_updates(const grid *g);

/* Elements in memory: that of index (0, 0, 0) would lie at `origin`; strides in elements. */
typedef struct cells {
    double *origin;
    size_t stride[2];
} cells;

/* Rows [begin, end) and all that is in them. */
void grid_start(const grid *g, size_t begin, size_t end, cells to);
void grid_step(const grid *g, size_t begin, size_t end, cells now, cells last);

#endif
