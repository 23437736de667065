/* examples/tiles.h: what cholesky, lu and summa share: square matrices in tiles, dealt out block-cyclically to a grid
 * of nodes; options, progress, time and traffic.
 *
 * A matrix is one buffer of n x n elements, distributed in blocks of the size of a tile. A tile is a box of it. Every
 * task names whole tiles and runs on the owner of the first (tacit_place_owner(0)), the one that it changes. What is
 * never touched, such as the tiles above the diagonal in cholesky, takes no memory, and every tile lies in memory by
 * itself, so that its rows follow each other and a message needs no packing.
 *
 * A buffer for each tile would send the same messages and take the same memory. Planning it takes a fifth fewer
 * instructions on one node, 4 % fewer on 16, 1 % fewer on 64. But the last row and column of tiles, which may be
 * smaller, the owners, and taking out the result would be the program's own affair.
 *
 * All functions are called by the program's own thread, unless it says otherwise. */
#ifndef TACIT_EXAMPLES_TILES_H
#define TACIT_EXAMPLES_TILES_H

#include "common.h"

/* ---------------------------------------------------------------- options */

struct tiles_options {
    struct example_options common;
    size_t size, tile, repeat;
    int grid[2]; /* rows and columns of nodes; 0: as square as can be */
    bool cublas; /* on CUDA devices, where it is found */
};

/* "--size", "--tile", "--grid", "--repeat" and "--cublas": a child of the program's own options, which gets a
 * tiles_options. */
extern const struct argp tiles_argp;

/* The tiles that the nodes share: all of a matrix, or those on and below its diagonal. */
enum tiles_part { TILES_ALL, TILES_LOWER };

/* Whether the size, the tile and the grid fit each other and the run; the grid is chosen if the user has not. If not,
 * node 0 says so in a sentence. */
bool tiles_check(tacit_context *ctx, struct tiles_options *o, enum tiles_part part);

/* ---------------------------------------------------------------- matrices */

struct tiled {
    tacit_buffer *buffer;
    size_t size, tile; /* rows and columns of the matrix, and of a tile */
    size_t count;      /* of tiles in a row or column; those at the end may be smaller */
    tacit_host_object *terminal;
};

struct tiled tiles_create(tacit_context *ctx, const struct tiles_options *o, const char *name);

/* Tile (i, j), to be read, written, or changed. */
tacit_access tiles_read(const struct tiled *a, size_t i, size_t j);
tacit_access tiles_write(const struct tiled *a, size_t i, size_t j);
tacit_access tiles_update(const struct tiled *a, size_t i, size_t j);

/* A tile as BLAS wants it: by rows, `ld` elements from one to the next. For kernels. */
struct tile {
    double *at;
    int rows, columns, ld;
};
struct tile tile_of(const tacit_launch *k, int access);

/* The arguments of a kernel: work of step k on tile (i, j). */
struct tile_step {
    uint64_t size, tile, k, i, j;
};
struct tile_step tiles_step(const struct tiled *a, size_t k, size_t i, size_t j);

/* A kernel for the host, and the same for OpenCL and CUDA devices, by its name in tiles_kernels.c; for CUDA that of
 * cuBLAS if it was loaded. */
tacit_kernel tiles_kernel(tacit_host_kernel *host, const char *entry);

/* Whether this node has cuBLAS, for kernels that are made from now on; NULL where it has not been loaded. */
bool tiles_load_cublas(void);
tacit_cuda_launch *tiles_cublas_kernel(const char *entry);
/* The same of cuSOLVER. Its kernel factorises the tile of its first view, and leaves what dpotrf leaves in `info` in
 * the element of its second one, an int32_t. */
bool tiles_load_cusolver(void);
tacit_cuda_launch *tiles_cusolver_potrf(void);
/* A function of a library by its name, into a pointer to it. */
bool tiles_find(void *library, const char *name, void *function, size_t size);

/* Fill tile (i, j) by element(user, row, column): each node its own, of the part of the matrix that is asked for. What
 * lies above the diagonal is 0 if that is the lower one. `user` means something in this process, and is used until the
 * tasks are done. */
typedef double tiles_element(const void *user, size_t row, size_t column);
void tiles_fill(tacit_context *ctx, const struct tiled *a, enum tiles_part part, tiles_element *element,
                const void *user);

/* With --verify, bring the tiles to node 0, into a dense matrix by rows, which the caller frees; waits. NULL on other
 * nodes, and without --verify. */
double *tiles_gather(tacit_context *ctx, const struct tiles_options *o, const struct tiled *a, enum tiles_part part);

/* ---------------------------------------------------------------- running */

/* Priorities of kernels, which follow from how far a task is from the end: work (k, i, j) of step k on tile (i, j). */
int tiles_priority(const struct tiled *a, size_t k, size_t i, size_t j);

/* Submit a host task that shows that step k is done, when tile (i, j) has its values. It runs where the tile is. */
void tiles_progress(tacit_context *ctx, const struct tiles_options *o, const struct tiled *a, size_t k, size_t i,
                    size_t j);

struct tiles_outcome {
    double seconds; /* from the first submission until all nodes are done; of the fastest repetition */
    struct example_traffic traffic;
};

/* What a program does: `prepare` fills matrices, which is not timed, and `submit` does the work. */
struct tiles_work {
    void (*prepare)(tacit_context *ctx, void *user);
    void (*submit)(tacit_context *ctx, void *user);
    void *user;
};
struct tiles_outcome tiles_measure(tacit_context *ctx, const struct tiles_options *o, const struct tiles_work *work);

/* The lines of a report that all three have. `operations`: floating-point operations. */
void tiles_report(struct example_report *r, const struct tiles_options *o, const struct tiles_outcome *out,
                  uint64_t tasks, double operations);

/* The line "verified", if --verify was given. */
void tiles_report_verified(struct example_report *r, const struct tiles_options *o, bool good);

/* The whole of a program without options of its own, which works on all tiles: `run` says whether results are right. */
int tiles_main(int argc, char **argv, const char *what, bool (*run)(tacit_context *ctx, const struct tiles_options *o));

/* Let a BLAS use one thread in each call: the workers of tacit are the threads. Before the first kernel. */
void tiles_one_blas_thread(void);

/* ---------------------------------------------------------------- dense matrices of one process, by rows */

/* The Frobenius norm of a - b; with b NULL that of a. */
double dense_norm(size_t n, const double *a, const double *b);

/* Element i of the vector that linear systems are made for: from 1 to 2, with signs in turns. */
double known_solution(size_t i);

/* The matrix by its elements; the lower half gives the upper one, too, if that is the part. */
double *dense_matrix(size_t n, enum tiles_part part, tiles_element *element, const void *user);

/* How well x solves the system whose solution is known_solution: |b - A x| / (|A| |x|). */
double dense_residual(size_t n, const double *a, const double *x);

/* b = A known_solution */
void dense_right_hand_side(size_t n, const double *a, double *b);

/* A number between -1 and 1 for a place: its bits, mixed by the finaliser of splitmix64. */
double tiles_random(uint64_t seed, size_t i, size_t j);

#endif
