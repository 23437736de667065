/* examples/powers.c: powers of a large sparse matrix times a vector: x, A x, A^2 x, ..., A^k x.
 *
 * Eigenvalues are found with such vectors, and s steps of conjugate gradients at once. Each product needs elements of
 * the vector that other nodes have computed in the one before, so each product waits for messages. Which elements
 * depends on the matrix: a *custom range mapper* says it, exactly, row by row.
 *
 * The kernel is marked *pure*. So tacit may let a node compute some rows of its neighbours as well, and then several
 * products follow each other without a message:
 *
 *     TACIT_LATENCY=halo:4 tacit run -n 4 powers --verify
 *
 * Which rows that are follows from the mapper alone: the columns of the rows of the last product are the rows of the
 * one before it, and so on. The result has the same bits whatever is computed where. So that numbers stay small,
 * products are divided by the largest sum of absolute values of a row, which no eigenvalue exceeds. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cg_matrix.h"
#include "common.h"

struct powers_options {
    struct example_options common;
    struct matrix_source matrix;
    size_t power;
};

/* ---------------------------------------------------------------- mappers */

/* The copied bytes are a pointer to the matrix, which lives as long as the context. */
static void entries_of_rows(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const struct matrix *a = *(const struct matrix *const *)user;
    (void)range;
    tacit_region_add(out, tacit_box1(a->start[chunk->min[0]], a->start[chunk->max[0]]));
}

/* A bit for each column between the first and the last that the rows touch; each run of bits is one box. So the answer
 * is exact, and has few boxes where rows that follow each other touch columns that do. */
static void columns_of_rows(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const struct matrix *a = *(const struct matrix *const *)user;
    size_t first = a->rows, end = 0;
    (void)range;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        if (a->start[i] < a->start[i + 1]) { /* columns ascend */
            size_t low = a->column[a->start[i]], high = a->column[a->start[i + 1] - 1] + (size_t)1;
            first = low < first ? low : first;
            end = high > end ? high : end;
        }
    }
    if (first >= end)
        return;
    bool *touched = example_alloc(end - first, sizeof *touched);
    for (uint64_t e = a->start[chunk->min[0]]; e < a->start[chunk->max[0]]; e++)
        touched[a->column[e] - first] = true;
    for (size_t c = first, begin = first; c <= end; c++) {
        bool runs = c < end && touched[c - first];
        if (!runs && begin < c)
            tacit_region_add(out, tacit_box1(begin, c));
        begin = runs ? begin : c + 1;
    }
    free(touched);
}

/* ---------------------------------------------------------------- the numerics, used by the kernel and by --verify */

/* The largest sum of absolute values of a row. */
static double norm_of(const struct matrix *a)
{
    double norm = 0;
    for (size_t i = 0; i < a->rows; i++) {
        double sum = 0;
        for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
            sum += fabs(a->value[e]);
        norm = sum > norm ? sum : norm;
    }
    return norm > 0 ? norm : 1;
}

/* ---------------------------------------------------------------- kernels */

/* The kernel for OpenCL and CUDA devices: a work-item computes a row. */
static const char product_text[] =
    "TACIT_KERNEL multiply(TACIT_VIEW(start), TACIT_VIEW(column), TACIT_VIEW(value), TACIT_VIEW(x), TACIT_VIEW(to),\n"
    "                      TACIT_CHUNK(c), TACIT_VALUE(double, norm))\n"
    "{\n"
    "    TACIT_FOR (i, c, 0) {\n"
    "        double sum = 0;\n"
    "        for (ulong e = TACIT_GET1(uint64_t, start, i); e < TACIT_GET1(uint64_t, start, i + 1); e++)\n"
    "            sum += TACIT_GET1(double, value, e) * TACIT_GET1(double, x, TACIT_GET1(uint32_t, column, e));\n"
    "        TACIT_AT1(double, to, i) = sum / norm;\n"
    "    }\n"
    "}\n";

/* View: the first vector, to be written. */
static void fill(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(double, k->view[0], i) = matrix_vector(i);
}

/* Views: first entries of the rows and of the row after them; columns and values of the entries; the vector's elements
 * in those columns; the product, to be written. */
static void multiply(const tacit_launch *k)
{
    const double *norm = k->args;
    const tacit_view start = k->view[0], column = k->view[1], value = k->view[2], x = k->view[3];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double sum = 0;
        for (uint64_t e = TACIT_GET1(uint64_t, start, i); e < TACIT_GET1(uint64_t, start, i + 1); e++)
            sum += TACIT_GET1(double, value, e) * TACIT_GET1(double, x, TACIT_GET1(uint32_t, column, e));
        TACIT_AT1(double, k->view[4], i) = sum / *norm;
    }
}

/* ---------------------------------------------------------------- the program, as tasks */

/* The matrix, of which all nodes have the contents, and two vectors that take turns. */
struct system {
    tacit_buffer *start, *column, *value, *x[2];
    int entries_of_rows, columns_of_rows;
    tacit_range rows;
};

struct outcome {
    double *x, seconds;
    struct example_traffic traffic;
};

static tacit_buffer *create(tacit_context *ctx, const char *name, tacit_range range, size_t elem_size, const void *init)
{
    const tacit_buffer_desc desc = {
        .name = name, .range = range, .elem_size = elem_size, .init = init, .init_borrow = true
    };
    tacit_buffer *buffer;
    CHECK(tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

static struct system create_system(tacit_context *ctx, const struct matrix *a)
{
    struct system s = {
        .rows = TACIT_RANGE(a->rows),
        .start = create(ctx, "start", TACIT_RANGE(a->rows + 1), sizeof *a->start, a->start),
        .column = create(ctx, "column", TACIT_RANGE(a->entries), sizeof *a->column, a->column),
        .value = create(ctx, "value", TACIT_RANGE(a->entries), sizeof *a->value, a->value),
        .x = { create(ctx, "x", TACIT_RANGE(a->rows), sizeof(double), NULL),
               create(ctx, "A x", TACIT_RANGE(a->rows), sizeof(double), NULL) },
    };
    CHECK(tacit_mapper_create(ctx, entries_of_rows, &a, sizeof(a), 0, &s.entries_of_rows));
    CHECK(tacit_mapper_create(ctx, columns_of_rows, &a, sizeof(a), 0, &s.columns_of_rows));
    return s;
}

/* Row i needs its first entry and that of row i + 1, hence the halo of one above. */
static void submit_product(tacit_context *ctx, const struct system *s, double norm, tacit_buffer *from,
                           tacit_buffer *to)
{
    const tacit_mapper row_and_next = tacit_components(tacit_dim_scaled(0, 1, 1, 0, 1), tacit_full(), tacit_full());
    CHECK(tacit_submit(
        ctx,
        &(tacit_task){
            .name = "multiply",
            .range = s->rows,
            .kernel = example_kernel(multiply, product_text, "multiply", 0),
            TACIT_ARGS(norm),
            .access = { tacit_read(s->start, row_and_next), tacit_read(s->column, tacit_custom(s->entries_of_rows)),
                        tacit_read(s->value, tacit_custom(s->entries_of_rows)),
                        tacit_read(from, tacit_custom(s->columns_of_rows)), tacit_write(to, tacit_one_to_one()) },
            .hint.pure = true,
        }));
}

static void compute(tacit_context *ctx, const struct powers_options *o, const struct matrix *a, struct outcome *out)
{
    struct system s = create_system(ctx, a);
    const double norm = norm_of(a);
    CHECK(tacit_submit(ctx, &(tacit_task){
                                .name = "fill",
                                .range = s.rows,
                                .kernel = { .host = fill },
                                .access = { tacit_write(s.x[0], tacit_one_to_one()) },
                            }));
    struct example_traffic at_start = example_traffic_here(ctx);
    double begin = example_seconds();
    for (size_t t = 0; t < o->power; t++)
        submit_product(ctx, &s, norm, s.x[t % 2], s.x[(t + 1) % 2]);
    CHECK(tacit_wait(ctx));
    out->seconds = example_seconds() - begin;
    out->traffic = example_traffic_since(ctx, at_start);
    CHECK(tacit_fence_read(ctx, s.x[o->power % 2], TACIT_BOX_ALL, out->x));
}

/* ---------------------------------------------------------------- the same, sequentially */

static bool is_right(const struct powers_options *o, const struct matrix *a, const struct outcome *out)
{
    const double norm = norm_of(a);
    double *x = example_alloc(a->rows, sizeof *x), *y = example_alloc(a->rows, sizeof *y);
    for (size_t i = 0; i < a->rows; i++)
        x[i] = matrix_vector(i);
    for (size_t t = 0; t < o->power; t++) {
        for (size_t i = 0; i < a->rows; i++) {
            double sum = 0;
            for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
                sum += a->value[e] * x[a->column[e]];
            y[i] = sum / norm;
        }
        double *swap = x;
        x = y;
        y = swap;
    }
    bool same = memcmp(x, out->x, a->rows * sizeof *x) == 0;
    free(x);
    free(y);
    return same;
}

/* ---------------------------------------------------------------- results, options and main */

static bool report(tacit_context *ctx, const struct powers_options *o, const struct matrix *a,
                   const struct outcome *out)
{
    struct example_report r;
    double products = (double)(o->power ? o->power : 1);
    char bits[20];
    snprintf(bits, sizeof bits, "%016llx", (unsigned long long)example_hash(out->x, a->rows * sizeof out->x[0]));
    bool good = !o->common.verify || is_right(o, a, out);

    example_report_begin(&r, ctx, &o->common, "powers: a sparse matrix times a vector, again and again");
    matrix_report(&r, &o->matrix, a);
    example_report_count(&r, "power", "products", o->power);
    example_report_text(&r, "bits", "bits of the result, as a hash", bits);
    example_report_real(&r, "seconds_per_product", "time per product", out->seconds / products, "s");
    example_report_traffic(&r, &out->traffic, products, "product");
    example_report_verified(&r, &o->common, good);
    example_report_end(&r);
    return good;
}

enum { KEY_POWER = 1 };

static const struct argp_option option_list[] = {
    { "power", KEY_POWER, "NUMBER", 0, "How often the matrix is multiplied with the vector (16)", 2 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct powers_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->matrix;
        return 0;
    case KEY_POWER:
        return example_parse_size(state, "--power", arg, 0, 1000000000, &o->power);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(tacit_context *ctx, const struct powers_options *o, const struct matrix *a)
{
    struct outcome out = { .x = example_alloc(a->rows, sizeof(double)) };
    compute(ctx, o, a, &out);
    bool good = tacit_node(ctx) != 0 || report(ctx, o, a, &out);
    free(out.x);
    return good;
}

int main(int argc, char **argv)
{
    const struct argp_child shared[] = { { &matrix_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 } };
    const struct argp argp = {
        option_list, parse, NULL, "Powers of a sparse matrix times a vector.", shared, NULL, NULL
    };
    struct powers_options o = { .power = 16 };
    struct matrix a = { 0 };
    tacit_context *ctx = NULL;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &o.common, argc, argv, &o);
    if (!error && !o.common.help)
        good = matrix_of_source(ctx, &o.matrix, &a) && run(ctx, &o, &a);
    int status = example_end(ctx, error, good);
    matrix_destroy(&a);
    return status;
}
