/* examples/lu.c: the LU factorisation A = L U without pivoting, of a diagonally dominant matrix, in tiles.
 *
 * As in cholesky.c every task changes one tile, on the node that owns it. In step k
 *
 *   getrf   factorises the tile (k, k) on the diagonal;
 *   right   solves for the tiles (k, n) of U on its right, and below for the tiles (m, k) of L;
 *   gemm    changes each tile (m, n) by the product of the two.
 *
 * So what getrf leaves is wanted in one row and one column of the nodes, a tile of L in one row, a tile of U in one
 * column. L, whose diagonal is 1, and U take the place of A. Without exchanging rows the factors of most matrices are
 * useless; of those whose diagonal outweighs the rest of each row they are not. A pivot that is 0 fails the run: getrf
 * stays on the host, the others have kernels for OpenCL and CUDA devices, too. */
#include <cblas.h>
#include <float.h>
#include <stdlib.h>

#include "common.h"
#include "tiles.h"

struct lu {
    const struct tiles_options *o;
    struct tiled A;
};

/* ---------------------------------------------------------------- kernels */

/* An element of a matrix whose diagonal outweighs the rest of each row. `size` is the number of rows. */
static double element(const void *size, size_t i, size_t j)
{
    return tiles_random(3, i, j) + (i == j ? (double)*(const size_t *)size : 0);
}

/* Factorise column by column. Returns 0, or the number from 1 of a column without a pivot. */
static int factorise_columns(struct tile a)
{
    for (int k = 0; k < a.columns; k++) {
        const double pivot = a.at[k * a.ld + k];
        if (pivot == 0)
            return k + 1;
        for (int i = k + 1; i < a.rows; i++) {
            const double factor = a.at[i * a.ld + k] /= pivot;
            for (int j = k + 1; j < a.columns; j++)
                a.at[i * a.ld + j] -= factor * a.at[k * a.ld + j];
        }
    }
    return 0;
}

enum { BLOCK_COLUMNS = 16 };

static struct tile part_of(struct tile a, int i, int rows, int j, int columns)
{
    return (struct tile){ a.at + i * a.ld + j, rows, columns, a.ld };
}

/* A square tile, some columns at a time. LAPACK has no such thing without exchanging rows. */
static int factorise_tile(struct tile a)
{
    for (int k = 0; k < a.rows; k += BLOCK_COLUMNS) {
        const int columns = a.rows - k < BLOCK_COLUMNS ? a.rows - k : BLOCK_COLUMNS, rest = a.rows - k - columns;
        const struct tile panel = part_of(a, k, a.rows - k, k, columns);
        const int failed = factorise_columns(panel);
        if (failed)
            return k + failed;
        if (rest == 0)
            break;
        const struct tile right = part_of(a, k, columns, k + columns, rest);
        const struct tile below = part_of(a, k + columns, rest, k, columns);
        const struct tile corner = part_of(a, k + columns, rest, k + columns, rest);
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, columns, rest, 1.0, panel.at, a.ld,
                    right.at, a.ld);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rest, rest, columns, -1.0, below.at, a.ld, right.at,
                    a.ld, 1.0, corner.at, a.ld);
    }
    return 0;
}

/* View: the tile (k, k). */
static void getrf(const tacit_launch *k)
{
    const struct tile_step *args = k->args;
    const int failed = factorise_tile(tile_of(k, 0));
    if (failed)
        tacit_kernel_fail(k, "the pivot in row %zu of the matrix is 0, in tile (%zu, %zu)",
                          (size_t)args->k * args->tile + (size_t)failed, (size_t)args->k, (size_t)args->k);
}

/* Views: a tile on the right of the diagonal, and the one on it: A := L^-1 A. */
static void solve_right(const tacit_launch *k)
{
    const struct tile a = tile_of(k, 0), l = tile_of(k, 1);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, a.rows, a.columns, 1.0, l.at, l.ld, a.at,
                a.ld);
}

/* Views: a tile below the diagonal, and the one on it: A := A U^-1. */
static void solve_below(const tacit_launch *k)
{
    const struct tile a = tile_of(k, 0), u = tile_of(k, 1);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, a.rows, a.columns, 1.0, u.at, u.ld,
                a.at, a.ld);
}

/* Views: a tile, that of its row in L, and that of its column in U: A := A - L U. */
static void gemm(const tacit_launch *k)
{
    const struct tile a = tile_of(k, 0), l = tile_of(k, 1), u = tile_of(k, 2);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, a.rows, a.columns, l.columns, -1.0, l.at, l.ld, u.at, u.ld,
                1.0, a.at, a.ld);
}

/* ---------------------------------------------------------------- the program, as tasks */

static void prepare(tacit_context *ctx, void *user)
{
    const struct lu *s = user;
    tiles_fill(ctx, &s->A, TILES_ALL, element, &s->o->size);
}

static void submit_getrf(tacit_context *ctx, const struct tiled *A, size_t k)
{
    const struct tile_step args = tiles_step(A, k, k, k);
    const tacit_task getrf_it = {
        .name = "getrf",
        .kernel = { .host = getrf },
        TACIT_ARGS(args),
        .place = tacit_place_owner(0),
        .access = { tiles_update(A, k, k) },
        .hint.priority = tiles_priority(A, k, k, k),
    };
    CHECK(tacit_submit(ctx, &getrf_it));
}

/* Tile (i, j) in the row or in the column of tile (k, k). */
static void submit_solve(tacit_context *ctx, const struct tiled *A, size_t k, size_t i, size_t j)
{
    const struct tile_step step = tiles_step(A, k, i, j);
    const tacit_task solve_it = {
        .name = i == k ? "right" : "below",
        .kernel = i == k ? tiles_kernel(solve_right, "solve_right") : tiles_kernel(solve_below, "solve_below"),
        TACIT_ARGS(step),
        .place = tacit_place_owner(0),
        .access = { tiles_update(A, i, j), tiles_read(A, k, k) },
        .hint.priority = tiles_priority(A, k, i, j),
    };
    CHECK(tacit_submit(ctx, &solve_it));
}

static void submit_gemm(tacit_context *ctx, const struct tiled *A, size_t k, size_t m, size_t n)
{
    const struct tile_step step = tiles_step(A, k, m, n);
    const tacit_task gemm_it = {
        .name = "gemm",
        .kernel = tiles_kernel(gemm, "take"),
        TACIT_ARGS(step),
        .place = tacit_place_owner(0),
        .access = { tiles_update(A, m, n), tiles_read(A, m, k), tiles_read(A, k, n) },
        .hint.priority = tiles_priority(A, k, m, n),
    };
    CHECK(tacit_submit(ctx, &gemm_it));
}

static void factorise(tacit_context *ctx, void *user)
{
    const struct lu *s = user;
    const struct tiled *A = &s->A;
    for (size_t k = 0; k < A->count; k++) {
        submit_getrf(ctx, A, k);
        for (size_t n = k + 1; n < A->count; n++) {
            submit_solve(ctx, A, k, k, n);
            submit_solve(ctx, A, k, n, k);
        }
        for (size_t m = k + 1; m < A->count; m++)
            for (size_t n = k + 1; n < A->count; n++)
                submit_gemm(ctx, A, k, m, n);
        tiles_progress(ctx, s->o, A, k, k, k);
    }
}

/* ---------------------------------------------------------------- whether the factors are right */

struct errors {
    double factors, residual; /* |A - L U| / |A|, and |b - A x| / (|A| |x|) */
};

/* All of it on one node, by whole matrices. */
static struct errors check(size_t n, const double *factors)
{
    double *a = dense_matrix(n, TILES_ALL, element, &n), *product = example_alloc(n * n, sizeof *product);
    double *x = example_alloc(n, sizeof *x);
    struct errors e;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            product[i * n + j] = factors[i * n + j];
    cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, (int)n, (int)n, 1.0, factors, (int)n,
                product, (int)n);
    e.factors = dense_norm(n, a, product) / dense_norm(n, a, NULL);
    dense_right_hand_side(n, a, x);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasUnit, (int)n, factors, (int)n, x, 1);
    cblas_dtrsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n, factors, (int)n, x, 1);
    e.residual = dense_residual(n, a, x);
    free(a);
    free(product);
    free(x);
    return e;
}

/* Rounding alone makes an error of this size at most, of which large matrices have a small part. */
static bool is_right(const struct errors *e, size_t n)
{
    return e->factors <= (double)(n + 10) * DBL_EPSILON && e->residual <= (double)(n + 10) * DBL_EPSILON;
}

/* ---------------------------------------------------------------- results and main */

static void report(tacit_context *ctx, const struct lu *s, const struct tiles_outcome *out, const struct errors *errors)
{
    const double n = (double)s->A.size;
    const uint64_t t = s->A.count;
    struct example_report r;
    example_report_begin(&r, ctx, &s->o->common, "lu: A = L U in tiles, without pivoting");
    tiles_report(&r, s->o, out, t * (t + 1) * (2 * t + 1) / 6, 2 * n * n * n / 3 - n * n / 2 - n / 6);
    if (s->o->common.verify) {
        example_report_real(&r, "factors_error", "|A - L U| / |A|", errors->factors, "");
        example_report_real(&r, "residual", "|b - A x| / (|A| |x|)", errors->residual, "");
    }
    tiles_report_verified(&r, s->o, is_right(errors, s->A.size));
    example_report_end(&r);
}

static bool run(tacit_context *ctx, const struct tiles_options *o)
{
    struct lu s = { o, tiles_create(ctx, o, "A") };
    struct errors errors = { 0, 0 };
    tiles_one_blas_thread();
    const struct tiles_work work = { prepare, factorise, &s };
    const struct tiles_outcome out = tiles_measure(ctx, o, &work);
    double *factors = tiles_gather(ctx, o, &s.A, TILES_ALL);
    errors = factors ? check(o->size, factors) : errors;
    free(factors);
    report(ctx, &s, &out, &errors);
    return is_right(&errors, o->size);
}

int main(int argc, char **argv)
{
    return tiles_main(argc, argv, "The LU factorisation in tiles, without pivoting.", run);
}
