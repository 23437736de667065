/* Collectives as messages: which rank sends how much to whom in which step, by the usual algorithms.
 *
 * A rank starts a step when it has sent and received all of the one before. The algorithms are those of Thakur,
 * Rabenseifner and Gropp (doi 10.1177/1094342005051521) and Bruck et al. (doi 10.1109/71.642949). One thread. */
#ifndef TI_SCHEDULE_H
#define TI_SCHEDULE_H

#include "base/vec.h"
#include "ir/collective.h"

typedef enum ti_algorithm {
    TI_ALGORITHM_AUTO, /* as Open MPI's tuned component decides, by bytes and ranks */
    TI_ALGORITHM_LINEAR,
    TI_ALGORITHM_BINOMIAL,
    TI_ALGORITHM_SCATTER_ALLGATHER,
    TI_ALGORITHM_RING,
    TI_ALGORITHM_BRUCK,
    TI_ALGORITHM_DOUBLING,
    TI_ALGORITHM_PAIRWISE,
    TI_ALGORITHM_NONBLOCKING, /* as its libnbc component does what MPI_Iallgather and the like start */
    TI_ALGORITHMS
} ti_algorithm;

/* "recursive-doubling", and back; TI_ALGORITHMS: no such name. */
const char *ti_algorithm_name(ti_algorithm algorithm);
ti_algorithm ti_algorithm_of(const char *name);
bool ti_algorithm_fits(ti_algorithm algorithm, ti_pattern pattern, int ranks);

typedef struct ti_schedule {
    ti_pattern pattern; /* TI_PATTERN_NONE: a barrier */
    ti_algorithm algorithm;
    int ranks, root;
    double total;   /* bytes of all parts */
    double *before; /* bytes of the parts of all ranks before, counted from the root; ranks + 1 of them */
    /* All-to-all: bytes from one rank to another. */
    double (*between)(const void *user, int from, int to);
    const void *user;
} ti_schedule;

/* `part` has the bytes that each rank gives (gather, all-gather) or gets (scatter); of a broadcast or reduction the sum
 * is what counts. `algorithm` fits; s->algorithm is then the one that was chosen. */
void ti_schedule_init(ti_schedule *s, ti_pattern pattern, ti_algorithm algorithm, int ranks, int root,
                      const double *part);
void ti_schedule_fini(ti_schedule *s);

typedef struct ti_schedule_op {
    int peer;
    bool send;
    bool combines; /* what comes is combined with what is there */
    double bytes;
} ti_schedule_op;
typedef TI_VEC(ti_schedule_op) ti_schedule_ops;

int ti_schedule_steps(const ti_schedule *s);
/* What `rank` sends and receives in one step. Replaces `out`. */
void ti_schedule_step(const ti_schedule *s, int rank, int step, ti_schedule_ops *out);

#endif
