/* examples/cholesky.c: the Cholesky factorisation A = L L' of a symmetric positive definite matrix, in tiles.
 *
 * A program of many small tasks that are placed, rather than of a few that are split: each changes one tile, and runs
 * on the node that owns it. In step k
 *
 *   potrf   factorises the tile (k, k) on the diagonal;
 *   trsm    solves for the tiles (m, k) below it;
 *   syrk    and gemm change the tiles (m, n) to the right, by the product of what trsm left in rows m and n.
 *
 * The program says these four in the order of the sequential algorithm, and nothing else: which task waits for which,
 * and which tile travels to which nodes, follows from what they read and change. Tasks of several steps run at the same
 * time; their priorities prefer those that most others wait for. The algorithm is algorithm 1 of Denis, Jeannot,
 * Swartvagher, Thibault: Using Dynamic Broadcasts to improve Task-Based Runtime Performances, Euro-Par 2020.
 *
 * Only tiles on and below the diagonal exist. The kernels are those of BLAS and LAPACK, of which each call is one
 * thread: the workers of a node are the threads. On OpenCL and CUDA devices there are kernels for all but potrf, which
 * stays on the host, as it may fail; with --cublas there is one by cuSOLVER. A matrix that is not positive definite is
 * found by potrf, or by a task that looks at what potrf has found on a device: it fails the run with a sentence that
 * names the tile. */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "same_input.h"
#include "spd_matrix.h"
#include "tiles.h"

struct cholesky_options {
    struct tiles_options tiles;
    const char *path; /* of a matrix, or NULL */
    double condition;
};

/* LAPACK has no C header of its own. The last argument is the length of the first, as Fortran compilers pass it. */
extern void dpotrf_(const char *half, const int *n, double *a, const int *lda, int *info, size_t length);

/* ---------------------------------------------------------------- kernels */

/* What a factorisation has found in tile (k, k): 0, or the row of the tile from which on it has no factor. */
static void judge(const tacit_launch *k, int found)
{
    const struct tile_step *args = k->args;
    if (found)
        tacit_kernel_fail(
            k, "the matrix is not positive definite: tile (%zu, %zu) has no factor, from row %zu of the matrix on",
            (size_t)args->k, (size_t)args->k, (size_t)args->k * args->tile + (size_t)found);
}

/* View: the tile (k, k); with --cublas also what it has found. What is the upper half by columns, as LAPACK counts, is
 * the lower half by rows. */
static void potrf(const tacit_launch *k)
{
    const struct tile_step *args = k->args;
    const struct tile a = tile_of(k, 0);
    int info;
    dpotrf_("U", &a.rows, a.at, &a.ld, &info, 1);
    if (k->num_views > 1)
        TACIT_AT2(int32_t, k->view[1], args->k, args->k) = info;
    judge(k, info);
}

/* View: what a device has found. */
static void look(const tacit_launch *k)
{
    const struct tile_step *args = k->args;
    judge(k, TACIT_AT2(int32_t, k->view[0], args->k, args->k));
}

/* Views: a tile below the diagonal, and the factor on the diagonal: A := A L^-T. */
static void trsm(const tacit_launch *k)
{
    const struct tile a = tile_of(k, 0), l = tile_of(k, 1);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, a.rows, a.columns, 1.0, l.at, l.ld,
                a.at, a.ld);
}

/* Views: a tile on the diagonal, and one of its row: A := A - B B'. */
static void syrk(const tacit_launch *k)
{
    const struct tile a = tile_of(k, 0), b = tile_of(k, 1);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, a.rows, b.columns, -1.0, b.at, b.ld, 1.0, a.at, a.ld);
}

/* Views: a tile, and those of its row and of its column's row: A := A - B C'. */
static void gemm(const tacit_launch *k)
{
    const struct tile a = tile_of(k, 0), b = tile_of(k, 1), c = tile_of(k, 2);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, a.rows, a.columns, b.columns, -1.0, b.at, b.ld, c.at, c.ld,
                1.0, a.at, a.ld);
}

/* ---------------------------------------------------------------- the program, as tasks */

struct cholesky {
    const struct cholesky_options *o;
    const struct spd_matrix *matrix;
    struct tiled A;
    tacit_buffer *found; /* with --cublas: what was found in tile (k, k) is element (k, k). NULL: kernels say it */
};

/* A device cannot fail when it finds that there is no factor; whoever reads what it has found can. */
static void submit_potrf(tacit_context *ctx, const struct cholesky *c, size_t k)
{
    const struct tile_step args = tiles_step(&c->A, k, k, k);
    tacit_task potrf_it = {
        .name = "potrf",
        .kernel = { .host = potrf },
        TACIT_ARGS(args),
        .place = tacit_place_owner(0),
        .access = { tiles_update(&c->A, k, k) },
        .hint.priority = tiles_priority(&c->A, k, k, k),
    };
    if (c->found) {
        potrf_it.kernel.cuda.launch = tiles_cusolver_potrf();
        potrf_it.access[1] = tacit_write(c->found, tacit_fixed(tacit_box2(k, k + 1, k, k + 1)));
    }
    CHECK(tacit_submit(ctx, &potrf_it));
    if (c->found) {
        const tacit_task look_at_it = {
            .name = "look",
            .kernel = { .host = look },
            TACIT_ARGS(args),
            .place = tacit_place_owner(0),
            .access = { tacit_read(c->found, tacit_fixed(tacit_box2(k, k + 1, k, k + 1))) },
        };
        CHECK(tacit_submit(ctx, &look_at_it));
    }
}

/* Tile (k, k), and those below it. */
static void submit_panel(tacit_context *ctx, const struct cholesky *c, size_t k)
{
    const struct tiled *A = &c->A;
    submit_potrf(ctx, c, k);
    for (size_t m = k + 1; m < A->count; m++) {
        const struct tile_step below = tiles_step(A, k, m, k);
        const tacit_task trsm_it = {
            .name = "trsm",
            .kernel = tiles_kernel(trsm, "solve_transposed"),
            TACIT_ARGS(below),
            .place = tacit_place_owner(0),
            .access = { tiles_update(A, m, k), tiles_read(A, k, k) },
            .hint.priority = tiles_priority(A, k, m, k),
        };
        CHECK(tacit_submit(ctx, &trsm_it));
    }
}

/* What step k changes in column n: the tile on the diagonal, and those below it. */
static void submit_column(tacit_context *ctx, const struct tiled *A, size_t k, size_t n)
{
    const struct tile_step diagonal = tiles_step(A, k, n, n);
    const tacit_task syrk_it = {
        .name = "syrk",
        .kernel = tiles_kernel(syrk, "take_square"),
        TACIT_ARGS(diagonal),
        .place = tacit_place_owner(0),
        .access = { tiles_update(A, n, n), tiles_read(A, n, k) },
        .hint.priority = tiles_priority(A, k, n, n),
    };
    CHECK(tacit_submit(ctx, &syrk_it));
    for (size_t m = n + 1; m < A->count; m++) {
        const struct tile_step below = tiles_step(A, k, m, n);
        const tacit_task gemm_it = {
            .name = "gemm",
            .kernel = tiles_kernel(gemm, "take_transposed"),
            TACIT_ARGS(below),
            .place = tacit_place_owner(0),
            .access = { tiles_update(A, m, n), tiles_read(A, m, k), tiles_read(A, n, k) },
            .hint.priority = tiles_priority(A, k, m, n),
        };
        CHECK(tacit_submit(ctx, &gemm_it));
    }
}

static void prepare(tacit_context *ctx, void *user)
{
    const struct cholesky *c = user;
    tiles_fill(ctx, &c->A, TILES_LOWER, spd_element, c->matrix);
}

static void factorise(tacit_context *ctx, void *user)
{
    const struct cholesky *c = user;
    for (size_t k = 0; k < c->A.count; k++) {
        submit_panel(ctx, c, k);
        for (size_t n = k + 1; n < c->A.count; n++)
            submit_column(ctx, &c->A, k, n);
        tiles_progress(ctx, &c->o->tiles, &c->A, k, k, k);
    }
}

/* ---------------------------------------------------------------- whether the factor is right */

struct errors {
    double factor, residual; /* |A - L L'| / |A|, and |b - A x| / (|A| |x|) */
};

/* All of it on one node, by whole matrices. */
static struct errors check(const struct spd_matrix *matrix, const double *l)
{
    const size_t n = matrix->rows;
    double *a = dense_matrix(n, TILES_LOWER, spd_element, matrix), *product = example_alloc(n * n, sizeof *product);
    double *x = example_alloc(n, sizeof *x);
    struct errors e;
    memcpy(product, l, n * n * sizeof *l);
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, (int)n, 1.0, l, (int)n,
                product, (int)n);
    e.factor = dense_norm(n, a, product) / dense_norm(n, a, NULL);
    dense_right_hand_side(n, a, x);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, l, (int)n, x, 1);
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, l, (int)n, x, 1);
    e.residual = dense_residual(n, a, x);
    free(a);
    free(product);
    free(x);
    return e;
}

/* Rounding alone makes an error of this size at most, of which large matrices have a small part. */
static bool is_right(const struct errors *e, size_t n)
{
    return e->factor <= (double)(n + 10) * DBL_EPSILON && e->residual <= (double)(n + 10) * DBL_EPSILON;
}

/* ---------------------------------------------------------------- results, options and main */

static void report(tacit_context *ctx, const struct cholesky *c, const struct tiles_outcome *out,
                   const struct errors *errors)
{
    const struct tiles_options *o = &c->o->tiles;
    const double n = (double)c->A.size;
    const uint64_t t = c->A.count;
    struct example_report r;
    example_report_begin(&r, ctx, &o->common, "cholesky: A = L L' in tiles");
    example_report_text(&r, "matrix", "matrix", c->o->path ? "from a file" : "random");
    if (!c->o->path)
        example_report_real(&r, "condition", "condition", c->o->condition, "");
    tiles_report(&r, o, out, t * (t + 1) * (t + 2) / 6 + (c->found ? t : 0), n * n * n / 3 + n * n / 2 + n / 6);
    if (o->common.verify) {
        example_report_real(&r, "factor_error", "|A - L L'| / |A|", errors->factor, "");
        example_report_real(&r, "residual", "|b - A x| / (|A| |x|)", errors->residual, "");
    }
    tiles_report_verified(&r, o, is_right(errors, c->A.size));
    example_report_end(&r);
}

/* Elements are where the tiles are. */
static tacit_buffer *create_found(tacit_context *ctx, const struct cholesky *c)
{
    const int *grid = c->o->tiles.grid;
    const tacit_buffer_desc desc = {
        .name = "found",
        .range = TACIT_RANGE(c->A.count, c->A.count),
        .elem_size = sizeof(int32_t),
        .distribution = { .kind = TACIT_DISTRIBUTE_CYCLIC, .grid = { grid[0], grid[1] }, .block = { 1, 1 } },
    };
    tacit_buffer *found;
    CHECK(tacit_buffer_create(ctx, &desc, &found));
    return found;
}

static bool run(tacit_context *ctx, const struct cholesky_options *o, const struct spd_matrix *matrix)
{
    struct cholesky c = { .o = o, .matrix = matrix, .A = tiles_create(ctx, &o->tiles, "A") };
    c.found = o->tiles.cublas ? create_found(ctx, &c) : NULL;
    if (o->tiles.cublas && !tiles_load_cusolver())
        fprintf(stderr, "node %d finds no libcusolver.so, and factorises tiles on the host\n", tacit_node(ctx));
    struct errors errors = { 0, 0 };
    tiles_one_blas_thread();
    const struct tiles_work work = { prepare, factorise, &c };
    const struct tiles_outcome out = tiles_measure(ctx, &o->tiles, &work);
    double *l = tiles_gather(ctx, &o->tiles, &c.A, TILES_LOWER);
    errors = l ? check(matrix, l) : errors;
    free(l);
    report(ctx, &c, &out, &errors);
    return is_right(&errors, c.A.size);
}

/* A sparse matrix becomes a dense one, which may be much larger than its file. */
static void warn_if_sparse(const struct cholesky_options *o, const struct spd_matrix *matrix)
{
    const double n = (double)matrix->rows, all = n * (n + 1) / 2, share = (double)matrix->file.count / all;
    if (!matrix->file.array && share < 0.5)
        fprintf(
            stderr,
            "%s: only %.3g %% of the lower half is given, but the factorisation is a dense one: it needs %.3g MB for "
            "elements, and %.3g GFLOP\n",
            o->path, 100 * share, all * 8e-6, n * n * n / 3 * 1e-9);
}

/* Make the matrix, or read it; all nodes go on only if all have read the same. */
static bool make_matrix(tacit_context *ctx, struct cholesky_options *o, struct spd_matrix *matrix)
{
    struct input_found found = { .read = true };
    if (!o->path) {
        if (!tiles_check(ctx, &o->tiles, TILES_LOWER))
            return false;
        *matrix = spd_random(o->tiles.size, o->condition);
        return true;
    }
    found.read = spd_read(o->path, tacit_node(ctx) == 0, matrix);
    found.hash = spd_hash(matrix);
    if (!same_input(ctx, o->path, found))
        return false;
    o->tiles.size = matrix->rows;
    if (!tiles_check(ctx, &o->tiles, TILES_LOWER))
        return false;
    if (tacit_node(ctx) == 0)
        warn_if_sparse(o, matrix);
    return true;
}

enum { KEY_MATRIX = 1, KEY_CONDITION };

static const struct argp_option option_list[] = {
    { "matrix", KEY_MATRIX, "FILE", 0,
      "A symmetric matrix in the Matrix Market format, instead of a random one; all nodes must be able to read it", 1 },
    { "condition", KEY_CONDITION, "NUMBER", 0, "The condition number of a random matrix (100)", 1 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cholesky_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->tiles;
        return 0;
    case KEY_MATRIX:
        o->path = arg;
        return 0;
    case KEY_CONDITION:
        return example_parse_real(state, "--condition", arg, 1, 1e12, &o->condition);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp_child shared[] = { { &tiles_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 } };
    const struct argp argp = { option_list, parse, NULL, "The Cholesky factorisation in tiles.", shared, NULL, NULL };
    struct cholesky_options o = { .tiles = { .size = 512, .tile = 64, .repeat = 1 }, .condition = 100 };
    struct spd_matrix matrix = { 0 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.tiles.common, argc, argv, &o);
    if (!error && !o.tiles.common.help)
        good = make_matrix(ctx, &o, &matrix) && run(ctx, &o, &matrix);
    int status = example_end(ctx, error, good);
    spd_destroy(&matrix);
    return status;
}
