/* Windows of pure tasks end to end: programs of several kinds have the same bits under both strategies as by
 * themselves, on several nodes whose messages come late and out of order; and they send fewer messages. The same bits,
 * too, where tasks by themselves overlap with their messages. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { POINTS = 240, STEPS = 24, CHECKS = 5 };

typedef struct field {
    tacit_buffer *a, *b;
} field;

typedef void run_fn(tacit_context *ctx, field f);

/* ---- kernels: each point from its neighbours, so that every rounding shows */

static double left(const tacit_view v, size_t i)
{
    return i > 0 ? TACIT_GET1(double, v, i - 1) : 0.0;
}

static double right(const tacit_view v, size_t i)
{
    return i + 1 < POINTS ? TACIT_GET1(double, v, i + 1) : 0.0;
}

static void slope(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        double here = TACIT_GET1(double, k->view[0], i);
        TACIT_AT1(double, k->view[1], i) = 0.31 * (left(k->view[0], i) - 2.0 * here + right(k->view[0], i));
    }
}

static void add(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(double, k->view[0], i) += TACIT_GET1(double, k->view[1], i);
    }
}

static void wave(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        double *to = &TACIT_AT1(double, k->view[1], i), here = TACIT_GET1(double, k->view[0], i);
        *to = 2.0 * here - *to + 0.2 * (left(k->view[0], i) - 2.0 * here + right(k->view[0], i));
    }
}

static void mean(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(double, k->view[1], i) = 0.49 * (left(k->view[0], i) + right(k->view[0], i)) + 1e-3;
    }
}

static void half(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(double, k->view[1], i) = 0.5 * (TACIT_GET1(double, k->view[0], i) + right(k->view[0], i));
    }
}

static void sum_of_differences(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        double d = TACIT_GET1(double, k->view[0], i) - TACIT_GET1(double, k->view[1], i);
        TACIT_AT1(double, k->view[2], 0) += d * d;
    }
}

/* ---- programs */

static void submit(tacit_context *ctx, tacit_host_kernel *kernel, tacit_access first, tacit_access second)
{
    const tacit_task t = {
        .range = TACIT_RANGE(POINTS), .kernel = { .host = kernel }, .hint.pure = true, .access = { first, second }
    };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
}

/* Forward Euler in place, with one temporary. */
static void euler(tacit_context *ctx, field f)
{
    for (int t = 0; t < STEPS; t++) {
        submit(ctx, slope, tacit_read(f.a, tacit_neighborhood(1, 0, 0)), tacit_write(f.b, tacit_one_to_one()));
        submit(ctx, add, tacit_update(f.a, tacit_one_to_one()), tacit_read(f.b, tacit_one_to_one()));
    }
}

/* Two buffers by turns, each changed by the other. */
static void waves(tacit_context *ctx, field f)
{
    for (int t = 0; t < STEPS; t++) {
        submit(ctx, wave, tacit_read(t % 2 ? f.b : f.a, tacit_neighborhood(1, 0, 0)),
               tacit_update(t % 2 ? f.a : f.b, tacit_one_to_one()));
    }
}

/* Jacobi's method; every few steps a residual, which no window has. */
static void jacobi(tacit_context *ctx, field f)
{
    tacit_buffer *residual;
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(1), .elem_size = sizeof(double) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &residual));
    for (int t = 0; t < STEPS; t++) {
        submit(ctx, mean, tacit_read(t % 2 ? f.b : f.a, tacit_neighborhood(1, 0, 0)),
               tacit_write(t % 2 ? f.a : f.b, tacit_one_to_one()));
        if (t % CHECKS == CHECKS - 1) {
            const tacit_task check = { .range = TACIT_RANGE(POINTS),
                                       .kernel = { .host = sum_of_differences },
                                       .access = { tacit_read(f.a, tacit_one_to_one()),
                                                   tacit_read(f.b, tacit_one_to_one()),
                                                   tacit_reduce(residual, tacit_sum(TACIT_DOUBLE)) } };
            REQUIRE_OK(ctx, tacit_submit(ctx, &check));
        }
    }
    double last;
    REQUIRE_OK(ctx, tacit_fence_read(ctx, residual, TACIT_BOX_ALL, &last));
    REQUIRE(last > 0);
}

/* Red and black points in arrays of their own: black i has red i and i + 1 beside it, red i black i - 1 and i. */
static void red_black(tacit_context *ctx, field f)
{
    for (int t = 0; t < STEPS; t++) {
        submit(ctx, half,
               tacit_read(f.a, tacit_components(tacit_dim_scaled(0, 1, 1, 0, 1), tacit_full(), tacit_full())),
               tacit_write(f.b, tacit_one_to_one()));
        submit(ctx, mean, tacit_read(f.b, tacit_neighborhood(1, 0, 0)), tacit_write(f.a, tacit_one_to_one()));
    }
}

/* Powers of a sparse matrix: point i is coupled to others that a custom mapper names. */
static size_t coupled(size_t i, int k)
{
    const size_t far[] = { i + 7 * i % 3, i + 1, i >= 5 * i % 4 ? i - 5 * i % 4 : i };
    return far[k] < POINTS ? far[k] : i;
}

static void columns(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range;
    (void)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        tacit_region_add(out, tacit_box1(i, i + 1));
        for (int k = 0; k < 3; k++) {
            tacit_region_add(out, tacit_box1(coupled(i, k), coupled(i, k) + 1));
        }
    }
}

static void multiply(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        double sum = 0.3 * TACIT_GET1(double, k->view[0], i);
        for (int c = 0; c < 3; c++) {
            sum += 0.2 * TACIT_GET1(double, k->view[0], coupled(i, c));
        }
        TACIT_AT1(double, k->view[1], i) = sum;
    }
}

static void sparse(tacit_context *ctx, field f)
{
    int handle;
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, columns, NULL, 0, 0, &handle));
    for (int t = 0; t < STEPS; t++) {
        submit(ctx, multiply, tacit_read(t % 2 ? f.b : f.a, tacit_custom(handle)),
               tacit_write(t % 2 ? f.a : f.b, tacit_one_to_one()));
    }
}

/* A plane that is split along both dimensions, compared with one that no node has a part of. */
enum { SIDE = 48 };

static double at(const double *p, size_t y, size_t x)
{
    return y < SIDE && x < SIDE ? p[y * SIDE + x] : 0.0; /* -1 is large, too */
}

static void smooth(const tacit_launch *k)
{
    for (size_t y = k->chunk.min[0]; y < k->chunk.max[0]; y++) {
        for (size_t x = k->chunk.min[1]; x < k->chunk.max[1]; x++) {
            double sum = 0;
            for (size_t n = 0; n < 9; n++) {
                size_t v = y + n / 3 - 1, u = x + n % 3 - 1;
                sum += v < SIDE && u < SIDE ? TACIT_GET2(double, k->view[0], v, u) : 0.0;
            }
            TACIT_AT2(double, k->view[1], y, x) = sum / 8.5;
        }
    }
}

static void smooth_alone(const double *from, double *to)
{
    for (size_t y = 0; y < SIDE; y++) {
        for (size_t x = 0; x < SIDE; x++) {
            double sum = 0;
            for (size_t n = 0; n < 9; n++) {
                sum += at(from, y + n / 3 - 1, x + n % 3 - 1);
            }
            to[y * SIDE + x] = sum / 8.5;
        }
    }
}

static void plane(tacit_context *ctx, field f)
{
    double here[2][SIDE * SIDE], there[SIDE * SIDE];
    tacit_buffer *p[2];
    (void)f;
    for (size_t i = 0; i < TI_COUNT(there); i++) {
        here[0][i] = here[1][i] = 1.0 / (3 + i * 7 % 11);
    }
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(SIDE, SIDE), .elem_size = sizeof(double), .init = here[0] };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &p[0]));
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &p[1]));
    for (int t = 0; t < STEPS; t++) {
        const tacit_task step = { .range = TACIT_RANGE(SIDE, SIDE),
                                  .kernel = { .host = smooth },
                                  .hint = { .pure = true, .split = TACIT_SPLIT_2D },
                                  .access = { tacit_read(p[t % 2], tacit_neighborhood(1, 1, 0)),
                                              tacit_write(p[1 - t % 2], tacit_one_to_one()) } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &step));
        smooth_alone(here[t % 2], here[1 - t % 2]);
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, p[STEPS % 2], TACIT_BOX_ALL, there));
    REQUIRE(memcmp(there, here[STEPS % 2], sizeof(there)) == 0);
}

/* ---- runs */

typedef struct result {
    run_fn *run;
    double a[POINTS], b[POINTS];
    uint64_t messages, instructions; /* of node 0 */
} result;

static void program(tacit_context *ctx, void *user)
{
    result *r = user, here = { .run = r->run };
    double start[POINTS];
    tacit_counters counters;
    field f;
    for (int i = 0; i < POINTS; i++) {
        start[i] = 1.0 / (3 + i * 7 % 11);
    }
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(POINTS), .elem_size = sizeof(double), .init = start };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &f.a));
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &f.b));
    r->run(ctx, f);
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &counters));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, f.a, TACIT_BOX_ALL, here.a));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, f.b, TACIT_BOX_ALL, here.b));
    if (tacit_node(ctx) == 0) {
        here.messages = counters.messages_sent;
        here.instructions = counters.instructions;
        *r = here;
    }
}

static result run(run_fn *fn, int nodes, const char *latency, int overlap, uint64_t shake)
{
    result r = { .run = fn };
    const tacit_config config = {
        .threads = TACIT_THREADS_INLINE, .latency = latency, .overlap = overlap, .host_devices = shake % 2 ? "2" : NULL
    };
    const cluster c = {
        .nodes = nodes, .config = &config, .eager = shake ? 1 : 0, .shake = shake, .program = program, .user = &r
    };
    cluster_run(&c);
    return r;
}

static void same_bits(run_fn *fn, int least_gain)
{
    static const char *const settings[] = { "halo:2", "halo:8", "staged:2", "staged:8", "staged:16" };
    const result alone = run(fn, 1, NULL, TACIT_OVERLAP_OFF, 0);
    for (int nodes = 2; nodes <= 4; nodes++) {
        const result off = run(fn, nodes, NULL, TACIT_OVERLAP_OFF, 0);
        const result cut = run(fn, nodes, NULL, TACIT_OVERLAP_ON, 31 * (uint64_t)nodes); /* as many messages */
        assert_memory_equal(cut.a, alone.a, sizeof(cut.a));
        assert_memory_equal(cut.b, alone.b, sizeof(cut.b));
        assert_true(cut.messages == off.messages && cut.instructions > off.instructions);
        for (size_t i = 0; i < TI_COUNT(settings); i++) {
            const result r = run(fn, nodes, settings[i], TACIT_OVERLAP_DEFAULT, 17 * (uint64_t)nodes + i);
            assert_memory_equal(r.a, alone.a, sizeof(r.a));
            assert_memory_equal(r.b, alone.b, sizeof(r.b));
            bool of_two = strchr(settings[i], '2'); /* two tasks may need no more than one message anyway */
            assert_true(r.messages * (of_two ? 1 : (uint64_t)least_gain) <= off.messages);
        }
    }
}

/* ---- tiles */

typedef struct tiling {
    const char *latency, *tile, *devices;
} tiling;

static result run_tiled(run_fn *fn, int nodes, const tiling *t, uint64_t shake)
{
    result r = { .run = fn };
    const tacit_config config = {
        .threads = TACIT_THREADS_INLINE, .latency = t->latency, .latency_tile = t->tile, .devices = t->devices
    };
    const cluster c = { .nodes = nodes, .config = &config, .shake = shake, .program = program, .user = &r };
    cluster_run(&c);
    return r;
}

/* On one node and on several, on one device, on two, and on two with memories of their own: the same bits, of more
 * kernels. Where the tasks before did so, windows of four are cut in tiles of 1500 bytes. */
static void tiled(run_fn *fn)
{
    static const char *const devices[] = { "host", "host:2", "host:2:discrete" };
    const result alone = run(fn, 1, NULL, TACIT_OVERLAP_OFF, 0);
    for (int nodes = 1; nodes <= 4; nodes++) {
        for (size_t d = 0; d < TI_COUNT(devices); d++) {
            const char *tile = nodes > 2 ? "500" : "1500";
            const result off = run_tiled(fn, nodes, &(tiling){ "halo:4", "1G", devices[d] }, 0);
            const result on = run_tiled(fn, nodes, &(tiling){ "halo:4", tile, devices[d] }, 5 * (uint64_t)nodes + d);
            assert_memory_equal(on.a, alone.a, sizeof(on.a));
            assert_memory_equal(on.b, alone.b, sizeof(on.b));
            assert_true(on.instructions > off.instructions + 8);
        }
    }
}

static void in_tiles(void **state)
{
    (void)state;
    tiled(euler);
    tiled(waves);
    tiled(jacobi);
    tiled(red_black);
}

static void euler_in_place(void **state)
{
    (void)state;
    same_bits(euler, 3);
}

static void two_fields(void **state)
{
    (void)state;
    same_bits(waves, 4);
}

static void jacobi_with_residuals(void **state)
{
    (void)state;
    same_bits(jacobi, 2);
}

static void red_and_black(void **state)
{
    (void)state;
    same_bits(red_black, 4);
}

static void sparse_matrix(void **state)
{
    (void)state;
    same_bits(sparse, 3);
}

static void two_dimensions(void **state)
{
    (void)state;
    same_bits(plane, 2);
}

static void malformed_settings(void **state)
{
    static const char *const wrong[] = {
        "staged:", "staged:1", "staged:65", "staged:8x", "stage:8", "staged8", "halo:"
    };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(wrong); i++) {
        tacit_context *ctx;
        assert_int_equal(tacit_init(&(tacit_config){ .latency = wrong[i] }, &ctx), TACIT_ERROR_CONFIG);
        assert_non_null(strstr(tacit_last_error(NULL), "halo, staged, or one of these two with a colon"));
    }
}

static void malformed_tiles(void **state)
{
    static const char *const wrong[] = { "on", "0", "-1", "50%", "8q", "auto:1", "1.5M" };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(wrong); i++) {
        tacit_context *ctx;
        assert_int_equal(tacit_init(&(tacit_config){ .latency_tile = wrong[i] }, &ctx), TACIT_ERROR_CONFIG);
        assert_non_null(strstr(tacit_last_error(NULL), "must be off, auto, or a number of bytes"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_settings),    cmocka_unit_test(euler_in_place), cmocka_unit_test(two_fields),
        cmocka_unit_test(jacobi_with_residuals), cmocka_unit_test(red_and_black),  cmocka_unit_test(in_tiles),
        cmocka_unit_test(malformed_tiles),       cmocka_unit_test(sparse_matrix),  cmocka_unit_test(two_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
