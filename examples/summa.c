/* examples/summa.c: the product of two matrices in tiles, C = A B, each tile placed on its owner.
 *
 * In step k every tile C(i, j) gets A(i, k) B(k, j) added, by a task on the node that owns C(i, j). So the tiles of
 * column k of A go to the nodes of their rows, and those of row k of B to the nodes of their columns: broadcasts to
 * some of the nodes, that are nowhere in the program. Steps do not wait for each other: tiles travel while earlier
 * products are computed. The algorithm is that of van de Geijn, Watts: SUMMA: Scalable Universal Matrix Multiplication
 * Algorithm, 1997. matmul.c computes the same by tasks that are split over the nodes, in a few lines. */
#include <cblas.h>
#include <float.h>
#include <stdlib.h>

#include "common.h"
#include "tiles.h"

struct summa {
    const struct tiles_options *o;
    struct tiled A, B, C;
};

/* ---------------------------------------------------------------- kernels */

static const uint64_t seed_of_a = 1, seed_of_b = 2;

/* An element of A or B. */
static double element(const void *seed, size_t i, size_t j)
{
    return tiles_random(*(const uint64_t *)seed, i, j);
}

/* Views: tiles of C, A and B. In the first step C has no values yet. */
static void gemm(const tacit_launch *k)
{
    const struct tile_step *step = k->args;
    const struct tile c = tile_of(k, 0), a = tile_of(k, 1), b = tile_of(k, 2);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, c.rows, c.columns, a.columns, 1.0, a.at, a.ld, b.at, b.ld,
                step->k ? 1.0 : 0.0, c.at, c.ld);
}

/* ---------------------------------------------------------------- the program, as tasks */

static void prepare(tacit_context *ctx, void *user)
{
    const struct summa *s = user;
    tiles_fill(ctx, &s->A, TILES_ALL, element, &seed_of_a);
    tiles_fill(ctx, &s->B, TILES_ALL, element, &seed_of_b);
}

static void submit_gemm(tacit_context *ctx, const struct summa *s, size_t k, size_t i, size_t j)
{
    const struct tile_step step = tiles_step(&s->C, k, i, j);
    const tacit_task gemm_it = {
        .name = "gemm",
        .kernel = tiles_kernel(gemm, "add"),
        TACIT_ARGS(step),
        .place = tacit_place_owner(0),
        .access = { k ? tiles_update(&s->C, i, j) : tiles_write(&s->C, i, j), tiles_read(&s->A, i, k),
                    tiles_read(&s->B, k, j) },
    };
    CHECK(tacit_submit(ctx, &gemm_it));
}

static void multiply(tacit_context *ctx, void *user)
{
    const struct summa *s = user;
    for (size_t k = 0; k < s->C.count; k++) {
        for (size_t i = 0; i < s->C.count; i++)
            for (size_t j = 0; j < s->C.count; j++)
                submit_gemm(ctx, s, k, i, j);
        tiles_progress(ctx, s->o, &s->C, k, k, k);
    }
}

/* ---------------------------------------------------------------- whether the product is right */

/* |C - A B| / (|A| |B|), with whole matrices on one node. */
static double error_of(size_t n, const double *c)
{
    double *a = dense_matrix(n, TILES_ALL, element, &seed_of_a), *b = dense_matrix(n, TILES_ALL, element, &seed_of_b);
    double *product = example_alloc(n * n, sizeof *product);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)n, (int)n, 1.0, a, (int)n, b, (int)n, 0.0,
                product, (int)n);
    const double error = dense_norm(n, c, product) / (dense_norm(n, a, NULL) * dense_norm(n, b, NULL));
    free(a);
    free(b);
    free(product);
    return error;
}

/* Each of two sums of n products is off by n epsilon / 2 of their magnitudes at most. */
static bool is_right(double error, size_t n)
{
    return error <= (double)n * DBL_EPSILON;
}

/* ---------------------------------------------------------------- results and main */

static void report(tacit_context *ctx, const struct summa *s, const struct tiles_outcome *out, double error)
{
    const double n = (double)s->C.size;
    const uint64_t t = s->C.count;
    struct example_report r;
    example_report_begin(&r, ctx, &s->o->common, "summa: C = A B in tiles");
    tiles_report(&r, s->o, out, t * t * t, 2 * n * n * n);
    if (s->o->common.verify)
        example_report_real(&r, "error", "|C - A B| / (|A| |B|)", error, "");
    tiles_report_verified(&r, s->o, is_right(error, s->C.size));
    example_report_end(&r);
}

static bool run(tacit_context *ctx, const struct tiles_options *o)
{
    struct summa s = { o, tiles_create(ctx, o, "A"), tiles_create(ctx, o, "B"), tiles_create(ctx, o, "C") };
    double error = 0;
    tiles_one_blas_thread();
    const struct tiles_work work = { prepare, multiply, &s };
    const struct tiles_outcome out = tiles_measure(ctx, o, &work);
    double *c = tiles_gather(ctx, o, &s.C, TILES_ALL);
    error = c ? error_of(o->size, c) : error;
    free(c);
    report(ctx, &s, &out, error);
    return is_right(error, o->size);
}

int main(int argc, char **argv)
{
    return tiles_main(argc, argv, "The product of two matrices in tiles.", run);
}
