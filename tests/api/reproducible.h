/* A program of many floating-point reductions whose results are collected byte by byte: for tests that compare the
 * bits of runs on different numbers of nodes, devices and workers. Included by one file per test program. */
#ifndef REPRODUCIBLE_H
#define REPRODUCIBLE_H

#include "cluster.h"

#include <math.h>
#include <string.h>

enum { DATA = 10007, LANES = 5, MOST_RESULTS = 4096, MOST_NODES = 7 };

/* What one run has computed. */
typedef struct results {
    unsigned char bytes[MOST_RESULTS];
    size_t count;
} results;

/* Of very different sizes and of both signs, so that every order of additions rounds differently. */
static double datum(size_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    return ldexp((double)(int64_t)x, -60 - (int)(x % 23));
}

/* Close to 1: products stay in range. */
static double factor(size_t i)
{
    return 1 + datum(i) / 1024;
}

/* ---- an operator of the program's that is not commutative: 2 x 2 matrices */

typedef struct matrix {
    double a[2][2];
} matrix;

static const matrix unit = { { { 1, 0 }, { 0, 1 } } };

static void multiply(void *into, const void *from, size_t n, const void *user)
{
    (void)user;
    matrix *a = into;
    const matrix *b = from;
    for (size_t k = 0; k < n; k++) {
        const matrix x = a[k];
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 2; j++) {
                double left = x.a[i][0] * b[k].a[0][j], right = x.a[i][1] * b[k].a[1][j];
                a[k].a[i][j] = left + right;
            }
        }
    }
}

/* ---- kernels; an item's number is that of its row-major place in [0, 64) columns */

#define EACH_ITEM(k, number)                                                                                           \
    for (size_t i_ = (k)->chunk.min[0]; i_ < (k)->chunk.max[0]; i_++)                                                  \
        for (size_t j_ = (k)->chunk.min[1], number = 64 * i_ + j_; j_ < (k)->chunk.max[1]; j_++, number++)

static void add(const tacit_launch *k)
{
    double *sum = &TACIT_AT0(double, k->view[0]);
    EACH_ITEM(k, n)
    {
        *sum += datum(n % DATA);
    }
}

static void add_float(const tacit_launch *k)
{
    float *sum = &TACIT_AT0(float, k->view[0]);
    EACH_ITEM(k, n)
    {
        *sum += (float)datum(n % DATA);
    }
}

static void times(const tacit_launch *k)
{
    double *product = &TACIT_AT0(double, k->view[0]);
    EACH_ITEM(k, n)
    {
        *product *= factor(n % DATA);
    }
}

static void add_lanes(const tacit_launch *k)
{
    EACH_ITEM(k, n)
    {
        for (size_t lane = 0; lane < 2 * LANES; lane++) {
            TACIT_AT2(double, k->view[0], lane / LANES, lane % LANES) += datum((n + lane) % DATA);
        }
    }
}

static void chain(const tacit_launch *k)
{
    matrix *m = &TACIT_AT0(matrix, k->view[0]);
    EACH_ITEM(k, n)
    {
        double angle = datum(n % DATA);
        const matrix turn = { { { cos(angle), sin(angle) }, { -sin(angle), cos(angle) } } };
        multiply(m, &turn, 1, NULL);
    }
}

/* Views: X one to one, read; Y one to one, written; their scalar product; the sum of X. */
static void dot(const tacit_launch *k)
{
    double *xy = &TACIT_AT0(double, k->view[2]), *x_sum = &TACIT_AT0(double, k->view[3]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        const double x = TACIT_GET1(double, k->view[0], i), y = factor(i), product = x * y;
        TACIT_AT1(double, k->view[1], i) = y;
        *xy += product;
        *x_sum += x;
    }
}

/* ---- the program */

static void collect(tacit_context *ctx, tacit_buffer *b, size_t bytes, results *out)
{
    REQUIRE(out->count + bytes <= MOST_RESULTS);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, out->bytes + out->count));
    out->count += bytes;
}

static tacit_buffer *scalar(tacit_context *ctx, size_t bytes, const void *init)
{
    tacit_buffer *b;
    tacit_buffer_desc desc = { .name = "result", .elem_size = bytes, .init = init };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    return b;
}

/* The sum of doubles over tasks of all kinds. */
static void shapes(tacit_context *ctx, results *out)
{
    static const uint32_t weights[MOST_NODES] = { 3, 1, 0, 5, 2, 2, 9 };
    const double old = 0.1;
    tacit_buffer *b = scalar(ctx, sizeof(double), &old);
    const tacit_task tasks[] = {
        { .range = TACIT_RANGE(DATA) },
        { .range = TACIT_RANGE(1) },
        { .range = { .dims = 0 } },
        { .range = TACIT_RANGE(37) },
        { .range = TACIT_RANGE(256) },
        { .range = TACIT_RANGE(257), .offset = { 5 } },
        { .range = TACIT_RANGE(DATA), .hint = { .oversubscribe = 3 } },
        { .range = TACIT_RANGE(DATA), .hint = { .weights = weights } },
        { .range = TACIT_RANGE(DATA), .hint = { .granularity = { 211 } } },
        { .range = TACIT_RANGE(DATA), .hint = { .whole_chunk = true } },
        { .range = TACIT_RANGE(DATA), .on = TACIT_ON_HOST },
        { .range = TACIT_RANGE(DATA), .on = TACIT_ON_ONE_NODE },
        { .range = TACIT_RANGE(DATA), .place = tacit_place_node(tacit_num_nodes(ctx) - 1) },
        { .range = TACIT_RANGE(150, 64), .hint = { .split = TACIT_SPLIT_2D } },
        { .range = TACIT_RANGE(3, 64), .offset = { 7 } },
    };
    for (size_t i = 0; i < TI_COUNT(tasks); i++) {
        tacit_task task = tasks[i];
        task.name = "add";
        task.kernel.host = add;
        task.access[0] = i % 3 == 2 ? tacit_reduce_into(b, tacit_sum(TACIT_DOUBLE))
                                    : tacit_reduce(b, tacit_sum(TACIT_DOUBLE));
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        collect(ctx, b, sizeof(double), out);
    }
}

static void operators(tacit_context *ctx, results *out)
{
    const matrix old = { { { 0.1, 0.7 }, { 0.3, -0.2 } } };
    tacit_op product;
    REQUIRE_OK(ctx, tacit_op_create(
                        ctx, (&(tacit_op_desc){ .combine = multiply, .identity = &unit, .elem_size = sizeof(matrix) }),
                        &product));
    tacit_buffer *f = scalar(ctx, sizeof(float), NULL), *d = scalar(ctx, sizeof(double), NULL);
    tacit_buffer *m = scalar(ctx, sizeof(matrix), &old), *lanes;
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx, (&(tacit_buffer_desc){ .name = "lanes", .range = TACIT_RANGE(2, LANES), .elem_size = 8 }),
                        &lanes));
    const tacit_task tasks[] = {
        { .kernel = { .host = add_float }, .access = { tacit_reduce(f, tacit_sum(TACIT_FLOAT)) } },
        { .kernel = { .host = times }, .access = { tacit_reduce(d, tacit_product(TACIT_DOUBLE)) } },
        { .kernel = { .host = add_lanes }, .access = { tacit_reduce(lanes, tacit_sum(TACIT_DOUBLE)) } },
        { .kernel = { .host = chain }, .access = { tacit_reduce_into(m, product) } },
    };
    const size_t bytes[] = { sizeof(float), sizeof(double), 2 * LANES * sizeof(double), sizeof(matrix) };
    for (size_t i = 0; i < TI_COUNT(tasks); i++) {
        tacit_task task = tasks[i];
        task.name = "operators";
        task.range = TACIT_RANGE(1009);
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        collect(ctx, task.access[0].buffer, bytes[i], out);
    }
}

/* Reductions beside other accesses, twice over, so that data stay where they are. */
static void products(tacit_context *ctx, results *out)
{
    double x[DATA];
    tacit_buffer *bx, *by;
    for (size_t i = 0; i < DATA; i++) {
        x[i] = datum(i);
    }
    tacit_buffer *xy = scalar(ctx, sizeof(double), NULL), *x_sum = scalar(ctx, sizeof(double), x);
    tacit_buffer_desc desc = { .name = "X", .range = TACIT_RANGE(DATA), .elem_size = sizeof(double), .init = x };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &bx));
    desc.init = NULL;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &by));
    for (int round = 0; round < 2; round++) {
        REQUIRE_OK(
            ctx, tacit_submit(ctx, (&(tacit_task){ .name = "dot",
                                                   .range = TACIT_RANGE(DATA),
                                                   .kernel = { .host = dot },
                                                   .access = { tacit_read(bx, tacit_one_to_one()),
                                                               tacit_write(by, tacit_one_to_one()),
                                                               tacit_reduce(xy, tacit_sum(TACIT_DOUBLE)),
                                                               tacit_reduce_into(x_sum, tacit_sum(TACIT_DOUBLE)) } })));
        collect(ctx, xy, sizeof(double), out);
        collect(ctx, x_sum, sizeof(double), out);
        tacit_buffer *swapped = bx;
        bx = by;
        by = swapped;
    }
}

/* Every node collects results of its own; `user` are MOST_NODES of them. */
static void reductions(tacit_context *ctx, void *user)
{
    results *out = &((results *)user)[tacit_node(ctx)];
    out->count = 0;
    shapes(ctx, out);
    operators(ctx, out);
    products(ctx, out);
}

/* The first result in which two runs differ; -1: all bits are equal. */
static int difference(const results *a, const results *b)
{
    REQUIRE(a->count == b->count && a->count > 0);
    for (size_t i = 0; i < a->count; i++) {
        if (a->bytes[i] != b->bytes[i]) {
            return (int)i;
        }
    }
    return -1;
}

/* What one node computes on one worker. */
static void reference(results *out)
{
    static results all[MOST_NODES];
    tacit_config config = { .threads = TACIT_THREADS_INLINE, .reproducible = 1 };
    cluster_run(&(cluster){ .nodes = 1, .config = &config, .program = reductions, .user = all });
    *out = all[0];
}

#endif
