/* The programs whose planning is measured: buffers, and a loop that submits one task after the other. Nothing of them
 * is ever executed.
 *
 * The patterns of papers 10.1007/s10766-024-00767-y (Table 3) and 10.1007/s42979-024-02749-w (section 4), and some
 * more. Ranges grow with the number of nodes, so that every node has a chunk: 64 rows (or 16 items) per node.
 * Contents are taken to be there at the start. Descriptions are made once where a loop repeats them. The public
 * header is all that they need; one thread. */
#ifndef BENCH_PATTERNS_H
#define BENCH_PATTERNS_H

#include "tacit/tacit.h"

enum { PATTERN_BUFFERS = 4, PATTERN_TASKS = 6 };

typedef struct pattern_run pattern_run;

typedef struct pattern {
    const char *name, *help;
    int cycle;      /* tasks after which descriptions repeat, or that show all kinds of them */
    bool grows;     /* iterations read all earlier ones: a run has room for so many */
    bool all_peers; /* a node talks to a number of nodes that grows with all */
    bool iterates;  /* cost by iteration is of interest */
    void (*create)(pattern_run *run);
    void (*submit)(pattern_run *run); /* NULL: the descriptions in turn */
} pattern;

struct pattern_run {
    const pattern *pattern;
    tacit_context *ctx;
    size_t nodes;
    size_t room;   /* iterations, different tasks or tiles that there are buffers for */
    size_t tiles;  /* at least, or 0 */
    uint64_t step; /* tasks submitted */
    tacit_buffer *buffer[PATTERN_BUFFERS];
    tacit_task task[PATTERN_TASKS];
    size_t width;          /* of one iteration, task or tile */
    size_t k, i, j;        /* cholesky: where the loops are */
    size_t grid_p, grid_q; /* cholesky: the grid of nodes */
};

/* NULL behind the last one. */
const pattern *pattern_at(size_t index);
const pattern *pattern_find(const char *name); /* or NULL */

/* Create the buffers. `tasks`: how many are going to be submitted, more or less; `tiles`, if there are such: 0:
 * they decide. Errors end the process. */
void pattern_start(pattern_run *run, const pattern *p, tacit_context *ctx, size_t tasks, size_t tiles);
/* The next task. */
void pattern_next(pattern_run *run);

#endif
