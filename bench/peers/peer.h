/* What the three programs tacit-peer-tacit, -openmp and -mpi have in common: their command line, their clock, and what
 * they print.
 *
 *     tacit-peer-WAY KERNEL SIZE [STEPS [ROUNDS]]
 *
 * runs a kernel in rounds of some steps, after one that is not timed, and prints one JSON object: the seconds of one
 * step in the fastest round, since others may use the machine meanwhile; and of the result a hash of the bits and the
 * sum. peers.py runs the programs in turns and compares them. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>

struct peer {
    size_t n;
    int steps, rounds, round;
    size_t group; /* rows of the wavefront in one task or message */
    double begin, fastest;
    double processor; /* seconds of all threads in the round that took least of them; 0: not measured */
};

enum { SWEEPS = 10, ITERATIONS = 20 }; /* of Jacobi between two looks at the residual; of conjugate gradients */

struct peer_kernel {
    const char *name;
    void (*run)(struct peer *p);
    int power; /* a step costs weight * n^power nanoseconds, about: how many steps a round has */
    double weight;
    size_t group;
};

/* The kernel that the command line names; ends the process with a sentence if there is none. */
const struct peer_kernel *peer_start(struct peer *p, const struct peer_kernel *kernels, int argc, char **argv);

/* Ends a round and begins the next, as long as there are rounds:
 *
 *     while (peer_again(&p)) { ... p.steps steps ... } */
bool peer_again(struct peer *p);

/* Prints the time, and the result: `count` numbers. */
void peer_result(const struct peer *p, const double *values, size_t count);

/* Memory that is not touched yet; never NULL. */
double *peer_alloc(size_t count);

#define PEER_KERNELS                                                                                                   \
    {                                                                                                                  \
        { "stencil", run_stencil, 2, 0.5, 0 }, { "wave", run_wave, 2, 0.5, 0 }, { "jacobi", run_jacobi, 2, 6, 0 },     \
            { "cg", run_cg, 2, 80, 0 }, { "nbody", run_nbody, 2, 4, 0 }, { "transpose", run_transpose, 2, 1, 0 },      \
            { "stencil2", run_stencil2, 2, 1, 0 }, { "points", run_points, 1, 20, 0 },                                 \
            { "sparse", run_sparse, 1, 4, 0 }, { "reduce", run_reduce, 1, 2, 0 },                                      \
            { "wavefront", run_wavefront, 2, 2, 1 }, { "wavefront-32", run_wavefront, 2, 2, 32 },                      \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

#endif
