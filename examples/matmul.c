/* examples/matmul.c: the product of two matrices, C = A B.
 *
 * The task has two dimensions, those of C. Item (i, j) reads row i of A and column j of B, which is what the mapper
 * `tacit_slice` says: like one to one, but all of one dimension. From that tacit knows that a node which computes
 * some rows of C needs the same rows of A and all of B; and, split in two dimensions, that a node which computes a
 * block of C needs some rows of A and some columns of B. On P nodes the first sends P - 1 times the size of B; the
 * second about sqrt(P) - 1 times the sizes of A and of B, with fewer and smaller parts for each node. The nodes form
 * a grid then: what one row of it needs of A is spread over the same row, and all rows exchange it at once, each by
 * an all-gather of its own.
 *
 * With --panels the product is the sum of as many, each of some columns of A and the same rows of B, so that one
 * panel is multiplied while others are on their way. A panel of A that lies on one column of the grid is a broadcast
 * in each row.
 *
 * Every element of C is a sum in the same order whichever node computes it, and however the loops are blocked. So the
 * bits are the same on any number of nodes, and the same as those of three plain loops. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#ifdef EXAMPLE_BLAS
#include <cblas.h>
#endif
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct matmul_options {
    struct example_options common;
    size_t rows, inner, columns, panels, repeat;
    int split;
    bool blas;
};

/* ---------------------------------------------------------------- the numerics, used by kernels and by --verify */

enum { MATRIX_A = 1, MATRIX_B = 2 };

/* An element of A or B, between -1 and 1: the bits of its place, mixed by the finaliser of
 * splitmix64. */
static double element(uint64_t matrix, size_t i, size_t j)
{
    uint64_t x = (matrix << 60) + ((uint64_t)i << 30) + (uint64_t)j + 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-52 - 1.0;
}

/* ---------------------------------------------------------------- kernels */

struct fill_args {
    uint64_t matrix;
};

/* View: the chunk's elements of A or B, to be written. */
static void fill(const tacit_launch *k)
{
    const struct fill_args *args = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++)
            TACIT_AT2(double, k->view[0], i, j) = element(args->matrix, i, j);
}

/* Several rows of one matrix, `ld` elements apart. */
struct rows {
    const double *first;
    size_t ld;
};

/* c[j] += a[0] b[0][j] + a[1] b[1][j] + ..., in this order, for `depth` rows of B. Four products are added for each
 * load and store of c; the loops over j are what compilers turn into vector instructions. */
static void add_to_row(double *restrict c, const double *restrict a, struct rows b, size_t depth, size_t width)
{
    size_t l = 0;
    for (; l + 4 <= depth; l += 4) {
        const double *b0 = b.first + l * b.ld, *b1 = b0 + b.ld, *b2 = b1 + b.ld, *b3 = b2 + b.ld;
        for (size_t j = 0; j < width; j++)
            c[j] = (((c[j] + a[l] * b0[j]) + a[l + 1] * b1[j]) + a[l + 2] * b2[j]) + a[l + 3] * b3[j];
    }
    for (; l < depth; l++)
        for (size_t j = 0; j < width; j++)
            c[j] += a[l] * b.first[l * b.ld + j];
}

/* The same for two rows of A and C at once, so that what is loaded of B serves both. */
static void add_to_rows(double *restrict c, double *restrict d, struct rows a, struct rows b, size_t depth,
                        size_t width)
{
    const double *restrict x = a.first, *restrict y = a.first + a.ld;
    size_t l = 0;
    for (; l + 4 <= depth; l += 4) {
        const double *b0 = b.first + l * b.ld, *b1 = b0 + b.ld, *b2 = b1 + b.ld, *b3 = b2 + b.ld;
        for (size_t j = 0; j < width; j++) {
            c[j] = (((c[j] + x[l] * b0[j]) + x[l + 1] * b1[j]) + x[l + 2] * b2[j]) + x[l + 3] * b3[j];
            d[j] = (((d[j] + y[l] * b0[j]) + y[l + 1] * b1[j]) + y[l + 2] * b2[j]) + y[l + 3] * b3[j];
        }
    }
    add_to_row(c, x + l, (struct rows){ b.first + l * b.ld, b.ld }, depth - l, width);
    add_to_row(d, y + l, (struct rows){ b.first + l * b.ld, b.ld }, depth - l, width);
}

/* A block of B that stays in the second-level cache while all rows of the chunk use it. */
enum { BLOCK_INNER = 64, BLOCK_COLUMNS = 512 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The kernel for OpenCL and CUDA devices: a sum in the same order, one work-item for each element of C. */
#define MULTIPLY                                                                                                       \
    "TACIT_KERNEL multiply(TACIT_VIEW(A), TACIT_VIEW(B), TACIT_VIEW(C), TACIT_CHUNK(chunk),\n"                         \
    "                      TACIT_VALUE(struct multiply_args, p))\n"                                                    \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, chunk, 0)\n"                                                                                    \
    "        TACIT_FOR (j, chunk, 1) {\n"                                                                              \
    "            double c = p.begin == 0 ? 0.0 : TACIT_GET2(double, C, i, j);\n"                                       \
    "            for (ulong l = p.begin; l < p.end; l++)\n"                                                            \
    "                c += TACIT_GET2(double, A, i, l) * TACIT_GET2(double, B, l, j);\n"                                \
    "            TACIT_AT2(double, C, i, j) = c;\n"                                                                    \
    "        }\n"                                                                                                      \
    "}\n"

TACIT_BOTH(
    matmul_source, MULTIPLY,
    /* Columns of A and rows of B: a panel. The product begins with that from 0 on. */
    struct multiply_args { uint64_t begin, end; };);

/* Views: rows of A, columns of B, of which `depth` from `l` on; and the chunk of C. */
static void multiply_block(const tacit_launch *k, size_t l, size_t depth, size_t j, size_t width)
{
    const tacit_view A = k->view[0], B = k->view[1], C = k->view[2];
    const struct rows b = { &TACIT_GET2(double, B, l, j), B.ld };
    size_t i = k->chunk.min[0];
    for (; i + 2 <= k->chunk.max[0]; i += 2)
        add_to_rows(&TACIT_AT2(double, C, i, j), &TACIT_AT2(double, C, i + 1, j),
                    (struct rows){ &TACIT_GET2(double, A, i, l), A.ld }, b, depth, width);
    if (i < k->chunk.max[0])
        add_to_row(&TACIT_AT2(double, C, i, j), &TACIT_GET2(double, A, i, l), b, depth, width);
}

static void multiply(const tacit_launch *k)
{
    const struct multiply_args *args = k->args;
    const tacit_view A = k->view[0], C = k->view[2];
    const size_t inner = A.box.max[1], columns = k->chunk.max[1];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0] && args->begin == 0; i++)
        memset(&TACIT_AT2(double, C, i, k->chunk.min[1]), 0, (columns - k->chunk.min[1]) * sizeof(double));
    for (size_t j = k->chunk.min[1]; j < columns; j += BLOCK_COLUMNS)
        for (size_t l = A.box.min[1]; l < inner; l += BLOCK_INNER)
            multiply_block(k, l, smaller(BLOCK_INNER, inner - l), j, smaller(BLOCK_COLUMNS, columns - j));
}

#ifdef EXAMPLE_BLAS
/* The same by a BLAS. A view may be a part of a larger allocation: `ld` is the distance of its rows. */
static void multiply_blas(const tacit_launch *k)
{
    const struct multiply_args *args = k->args;
    const tacit_view A = k->view[0], B = k->view[1], C = k->view[2];
    const size_t i = k->chunk.min[0], j = k->chunk.min[1], l = A.box.min[1];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(k->chunk.max[0] - i), (int)(k->chunk.max[1] - j),
                (int)(A.box.max[1] - l), 1.0, &TACIT_GET2(double, A, i, l), (int)A.ld, &TACIT_GET2(double, B, l, j),
                (int)B.ld, args->begin == 0 ? 0.0 : 1.0, &TACIT_AT2(double, C, i, j), (int)C.ld);
}
static tacit_host_kernel *const blas_kernel = multiply_blas;
#else
static tacit_host_kernel *const blas_kernel = NULL;
#endif

/* ---------------------------------------------------------------- the program, as tasks */

struct outcome {
    double *product;
    double seconds;
    struct example_traffic traffic;
};

static tacit_buffer *create_matrix(tacit_context *ctx, const char *name, size_t rows, size_t columns)
{
    const tacit_buffer_desc desc = {
        .name = name,
        .range = TACIT_RANGE(rows, columns),
        .elem_size = sizeof(double),
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

/* Fill A or B by a task, so that each node has a part of it at first, as a program has that computed it. */
static void submit_fill(tacit_context *ctx, const struct matmul_options *o, tacit_buffer *buffer, uint64_t matrix)
{
    const struct fill_args args = { matrix };
    const tacit_task fill_it = {
        .name = "fill",
        .range = matrix == MATRIX_A ? TACIT_RANGE(o->rows, o->inner) : TACIT_RANGE(o->inner, o->columns),
        .kernel = { .host = fill },
        TACIT_ARGS(args),
        .access = { tacit_write(buffer, tacit_one_to_one()) },
        .hint.split = o->split,
    };
    CHECK(tacit_submit(ctx, &fill_it));
}

/* The product, or what columns [a,b) of A and rows [a,b) of B add to it. A BLAS has threads of its own and gets a
 * node's chunk in one call; otherwise tacit cuts it for the node's threads. */
static void submit_multiply(tacit_context *ctx, const struct matmul_options *o, tacit_buffer *const matrix[3], size_t a,
                            size_t b)
{
    const struct multiply_args args = { a, b };
    bool all = b - a == o->inner;
    tacit_component panel = tacit_span(a, b);
    tacit_mapper rows = all ? tacit_slice(1) : tacit_components(tacit_dim(0), panel, tacit_full());
    tacit_mapper columns = all ? tacit_slice(0) : tacit_components(panel, tacit_dim(1), tacit_full());
    tacit_mapper own = tacit_one_to_one();
    const tacit_task multiply_them = {
        .name = "multiply",
        .range = TACIT_RANGE(o->rows, o->columns),
        .kernel = { .host = o->blas ? blas_kernel : multiply,
                    .opencl = { .source = o->blas ? NULL : matmul_source, .entry = "multiply", .group = { 4, 16 } },
                    .cuda = { .source = o->blas ? NULL : matmul_source, .entry = "multiply", .group = { 8, 32 } } },
        TACIT_ARGS(args),
        .access = { tacit_read(matrix[0], rows), tacit_read(matrix[1], columns),
                    a == 0 ? tacit_write(matrix[2], own) : tacit_update(matrix[2], own) },
        .hint = { .split = o->split, .whole_chunk = o->blas },
    };
    CHECK(tacit_submit(ctx, &multiply_them));
}

/* A and B, the product as often as wanted, and what came out. */
static void compute(tacit_context *ctx, const struct matmul_options *o, struct outcome *out)
{
    tacit_buffer *A = create_matrix(ctx, "A", o->rows, o->inner), *B = create_matrix(ctx, "B", o->inner, o->columns);
    tacit_buffer *C = create_matrix(ctx, "C", o->rows, o->columns), *const matrix[] = { A, B, C };
    size_t panels = smaller(o->panels, o->inner);
    submit_fill(ctx, o, A, MATRIX_A);
    submit_fill(ctx, o, B, MATRIX_B);

    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    for (size_t t = 1; t <= o->repeat; t++) {
        for (size_t p = 0; p < panels; p++)
            submit_multiply(ctx, o, matrix, o->inner * p / panels, o->inner * (p + 1) / panels);
        example_progress(ctx, &o->common, C, t, o->repeat);
    }
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, C, TACIT_BOX_ALL, out->product));
}

/* ---------------------------------------------------------------- the same, sequentially */

static double *sequential_matrix(uint64_t matrix, size_t rows, size_t columns)
{
    double *values = example_alloc(rows * columns, sizeof *values);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            values[i * columns + j] = element(matrix, i, j);
    return values;
}

/* Three plain loops. The one over columns is the innermost, which changes the order of no sum. */
static double *sequential_product(const struct matmul_options *o)
{
    double *a = sequential_matrix(MATRIX_A, o->rows, o->inner), *b = sequential_matrix(MATRIX_B, o->inner, o->columns);
    double *c = example_alloc(o->rows * o->columns, sizeof *c);
    for (size_t i = 0; i < o->rows; i++)
        for (size_t l = 0; l < o->inner; l++)
            for (size_t j = 0; j < o->columns; j++)
                c[i * o->columns + j] += a[i * o->inner + l] * b[l * o->columns + j];
    free(a);
    free(b);
    return c;
}

/* Whether the bits are the same. A BLAS sums in another order: each of two such sums of `inner` products of numbers up
 * to 1 is at most about inner^2 epsilon / 2 away from the exact one. */
static bool is_right(const struct matmul_options *o, const struct outcome *out)
{
    const size_t elements = o->rows * o->columns;
    double *right = sequential_product(o), most = 0;
    bool good = memcmp(right, out->product, elements * sizeof *right) == 0;
    for (size_t i = 0; i < elements && o->blas; i++)
        most = out->product[i] == out->product[i] ? fmax(most, fabs(out->product[i] - right[i])) : INFINITY;
    if (o->blas)
        good = most <= (double)o->inner * (double)o->inner * DBL_EPSILON;
    free(right);
    return good;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct matmul_options *o, const struct outcome *out)
{
    struct example_report r;
    char hash[17];
    double operations = 2.0 * (double)o->rows * (double)o->columns * (double)o->inner * (double)o->repeat;
    bool good = !o->common.verify || is_right(o, out);

    example_report_begin(&r, ctx, &o->common, "matmul: the product of two matrices");
    example_report_count(&r, "rows", "rows of A and C", o->rows);
    example_report_count(&r, "inner", "columns of A, rows of B", o->inner);
    example_report_count(&r, "columns", "columns of B and C", o->columns);
    example_report_text(&r, "split", "split", o->split == TACIT_SPLIT_2D ? "2d" : "1d");
    example_report_count(&r, "panels", "panels", o->panels);
    example_report_text(&r, "kernel", "kernel", o->blas ? "blas" : "loops");
    example_report_count(&r, "products", "products computed", o->repeat);
    example_report_real(&r, "seconds_per_product", "time per product", out->seconds / (double)o->repeat, "s");
    example_report_real(&r, "gflops", "speed", operations / out->seconds * 1e-9, "GFLOP/s");
    example_report_traffic(&r, &out->traffic, 0, NULL);
    snprintf(hash, sizeof hash, "%016" PRIx64, example_hash(out->product, o->rows * o->columns * sizeof(double)));
    example_report_text(&r, "product_hash", "hash of the product", hash);
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_ROWS = 1, KEY_INNER, KEY_COLUMNS, KEY_SPLIT, KEY_PANELS, KEY_REPEAT, KEY_BLAS };

static const struct argp_option option_list[] = {
    { "rows", KEY_ROWS, "NUMBER", 0, "Rows of A and C (512)", 1 },
    { "inner", KEY_INNER, "NUMBER", 0, "Columns of A, which are the rows of B (512)", 1 },
    { "cols", KEY_COLUMNS, "NUMBER", 0, "Columns of B and C (512)", 1 },
    { "split", KEY_SPLIT, "1d|2d", 0, "Split C over the nodes by rows (default), or by rows and columns", 1 },
    { "panels", KEY_PANELS, "NUMBER", 0, "Add up products of so many panels of A and B (1)", 1 },
    { "repeat", KEY_REPEAT, "NUMBER", 0, "Compute the product so often; only the first time sends anything (1)", 1 },
    { "blas", KEY_BLAS, NULL, 0, "Let a BLAS multiply the blocks, if there was one when tacit was built", 1 },
    { 0 },
};

/* A BLAS is not there in every build. */
static error_t parse_blas(struct argp_state *state, struct matmul_options *o)
{
    if (!blas_kernel) {
        argp_error(state, "--blas: no BLAS with cblas.h was found when this program was built");
        return EINVAL;
    }
    o->blas = true;
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct matmul_options *o = state->input;
    switch (key) {
    case KEY_ROWS:
        return example_parse_size(state, "--rows", arg, 1, 1000000, &o->rows);
    case KEY_INNER:
        return example_parse_size(state, "--inner", arg, 1, 1000000, &o->inner);
    case KEY_COLUMNS:
        return example_parse_size(state, "--cols", arg, 1, 1000000, &o->columns);
    case KEY_SPLIT:
        return example_parse_split(state, "--split", arg, &o->split);
    case KEY_PANELS:
        return example_parse_size(state, "--panels", arg, 1, 1000000, &o->panels);
    case KEY_REPEAT:
        return example_parse_size(state, "--repeat", arg, 1, 1000000, &o->repeat);
    case KEY_BLAS:
        return parse_blas(state, o);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, const struct matmul_options *o)
{
    struct outcome out = { .product = example_alloc(o->rows * o->columns, sizeof(double)) };
    compute(ctx, o, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, &out);
    free(out.product);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { option_list, parse, NULL, "The product of two matrices, C = A B.", NULL, NULL, NULL };
    struct matmul_options o = { .rows = 512, .inner = 512, .columns = 512, .panels = 1, .repeat = 1 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = run(ctx, &o);
    return example_end(ctx, error, good);
}
