/* A matrix in tiles, its kernels, and the output of the programs that factorise it: see tiles.h. */
#include "tiles.h"

#include <cblas.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* LAPACK has no C header of its own. The last argument is the length of the first, as Fortran compilers pass it. */
extern void dpotrf_(const char *half, const int *n, double *a, const int *lda, int *info, size_t length);

/* Other BLAS look at OMP_NUM_THREADS, which peers.py sets. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of all threads of this process: what others do at the same time hardly changes it. */
static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tiles_start(struct tiles *t, int nodes, int argc, char **argv)
{
    *t = (struct tiles){ .time = { .steps = 1, .fastest = INFINITY } };
    if (argc > 2) {
        t->n = (size_t)strtoull(argv[1], NULL, 10);
        t->tile = (size_t)strtoull(argv[2], NULL, 10);
        t->time.rounds = argc > 3 ? atoi(argv[3]) : 10;
    }
    if (t->n == 0 || t->tile == 0 || t->n % t->tile || t->tile > 16384 || t->time.rounds < 1) {
        fprintf(stderr, "usage: %s SIZE TILE [ROUNDS]; TILE divides SIZE\n", argv[0]);
        exit(2);
    }
    t->count = t->n / t->tile;
    for (int rows = 1; rows <= nodes / rows; rows++) {
        if (nodes % rows == 0) {
            t->grid[0] = rows;
            t->grid[1] = nodes / rows;
        }
    }
    if (openblas_set_num_threads) {
        openblas_set_num_threads(1);
    }
}

int tiles_owner(const struct tiles *t, size_t i, size_t j)
{
    return (int)(i % (size_t)t->grid[0]) * t->grid[1] + (int)(j % (size_t)t->grid[1]);
}

int tiles_priority(const struct tiles *t, size_t k, size_t i, size_t j)
{
    return 1000 - (int)((k + i + j) * 1000 / (3 * t->count));
}

bool tiles_again(struct tiles *t)
{
    return t->time.round++ <= t->time.rounds;
}

void tiles_begin(struct tiles *t)
{
    t->processor_begin = processor_time();
    t->time.begin = now();
}

void tiles_end(struct tiles *t)
{
    const double seconds = now() - t->time.begin, processor = processor_time() - t->processor_begin;
    if (t->time.round > 1) {
        t->time.fastest = fmin(seconds, t->time.fastest);
        t->time.processor = t->time.processor > 0 ? fmin(processor, t->time.processor) : processor;
    }
}

void tiles_result(const struct tiles *t, const double *matrix)
{
    double *half = peer_alloc(t->n * (t->n + 1) / 2);
    size_t count = 0;
    for (size_t i = 0; i < t->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            half[count++] = matrix[i * t->n + j];
        }
    }
    peer_result(&t->time, half, count);
    free(half);
}

/* A diagonal that outweighs the rest makes a symmetric matrix positive definite. */
static double element(const struct tiles *t, size_t i, size_t j)
{
    uint64_t x = (i > j ? i * t->n + j : j * t->n + i) * 6364136223846793005u + 1442695040888963407u;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    return (double)((x ^ (x >> 33)) >> 11) * 0x1p-53 - 0.5 + (i == j ? (double)t->n : 0);
}

void tile_fill(struct tile a, const struct tiles *t, size_t i, size_t j)
{
    for (int x = 0; x < a.b; x++) {
        for (int y = 0; y < a.b; y++) {
            a.at[x * a.ld + y] = element(t, i * t->tile + (size_t)x, j * t->tile + (size_t)y);
        }
    }
}

/* The upper half by columns, as LAPACK counts, is the lower half by rows. */
void tile_potrf(struct tile a)
{
    int info;
    dpotrf_("U", &a.b, a.at, &a.ld, &info, 1);
    if (info) {
        fprintf(stderr, "the matrix is not positive definite\n");
        exit(1);
    }
}

void tile_trsm(struct tile a, struct tile l)
{
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, a.b, a.b, 1.0, l.at, l.ld, a.at, a.ld);
}

void tile_syrk(struct tile a, struct tile b)
{
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, a.b, b.b, -1.0, b.at, b.ld, 1.0, a.at, a.ld);
}

void tile_gemm(struct tile a, struct tile b, struct tile c)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, a.b, a.b, b.b, -1.0, b.at, b.ld, c.at, c.ld, 1.0, a.at, a.ld);
}
