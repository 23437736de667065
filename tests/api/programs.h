/* Programs of the public interface, and running them: on one node in every thread mode, and on several nodes in one
 * process.
 *
 * Each program computes something whose result is known, reads it back with fences on every node, and must not care
 * how many nodes and workers there are. Sizes are small and odd, so that no node and no worker gets a round share.
 * Checks inside programs and kernels use REQUIRE, which works on any thread. A test file defines `programs` and lists
 * the tests of PROGRAM_TESTS. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#define SUBMIT(ctx, ...) REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ __VA_ARGS__ }))
#define KERNEL(f) .kernel = { .host = (f) }

enum { N = 53, ROWS = 11, COLS = 7, PLANES = 5, MOST = ROWS * COLS * PLANES };

static inline tacit_buffer *make(tacit_context *ctx, const char *name, tacit_range range, size_t elem_size,
                                 const void *init)
{
    tacit_buffer *b;
    REQUIRE_OK(
        ctx, tacit_buffer_create(
                 ctx, &(tacit_buffer_desc){ .name = name, .range = range, .elem_size = elem_size, .init = init }, &b));
    return b;
}

static inline tacit_buffer *ints(tacit_context *ctx, const char *name, size_t n, const int *init)
{
    return make(ctx, name, TACIT_RANGE(n), sizeof(int), init);
}

static inline void count_up(int *out, int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = 3 * i + 1;
    }
}

/* Loops over the items of a chunk; k is the launch. */
#define FOR_I(k) for (size_t i = (k)->chunk.min[0]; i < (k)->chunk.max[0]; i++)
#define FOR_J(k) for (size_t j = (k)->chunk.min[1]; j < (k)->chunk.max[1]; j++)
#define FOR_L(k) for (size_t l = (k)->chunk.min[2]; l < (k)->chunk.max[2]; l++)

/* ---------------------------------------------------------------- kernels of several programs */

static inline void fill0(const tacit_launch *k)
{
    TACIT_AT0(int, k->view[0]) = 77;
}

static inline void copy_checked(const tacit_launch *k)
{
    const tacit_view in = k->view[0], out = k->view[1];
    REQUIRE(in.dims == 1 && in.ld == 1 && in.stride[0] == sizeof(int));
    FOR_I(k) TACIT_AT1(int, out, i) = TACIT_GET1(int, in, i);
}

static inline void sum_all(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    int sum = 0;
    for (size_t e = in.box.min[0]; e < in.box.max[0]; e++) {
        sum += TACIT_GET1(int, in, e);
    }
    FOR_I(k) TACIT_AT1(int, k->view[1], i) = sum + (int)i;
}

static inline void three_point(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    FOR_I(k)
    {
        unsigned left = i > 0 ? TACIT_GET1(unsigned, in, i - 1) : 0,
                 right = i + 1 < N ? TACIT_GET1(unsigned, in, i + 1) : 0;
        TACIT_AT1(int, k->view[1], i) = (int)(left + 2 * TACIT_GET1(unsigned, in, i) + 3 * right);
    }
}

static inline void look_up(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[1], i) = TACIT_GET1(int, k->view[0], N - 1 - i);
}

/* ---------------------------------------------------------------- running them */

typedef struct program {
    const char *name;
    cluster_program *run;
    bool fresh; /* wants a context of its own */
} program;

extern const program programs[];
extern const size_t program_count;

static const tacit_config modes[] = {
    { .threads = TACIT_THREADS_INLINE },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2 },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 4, .run_ahead = 1, .horizon_step = 1 },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 1, .horizon_front = 3 },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 3 },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1, .host_devices = "2" },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2, .host_devices = "3:discrete" },
    { .threads = TACIT_THREADS_INLINE, .host_devices = "2:discrete" },
    { 0 },
};

static const char *only; /* the program named on the command line; set once, by main */

static inline bool is_chosen(size_t p)
{
    return !only || strcmp(only, programs[p].name) == 0;
}

/* All programs one after the other in one context, and each in a context of its own. */
static inline void on_one_node(void **state)
{
    (void)state;
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        tacit_context *ctx;
        REQUIRE(tacit_init(&modes[m], &ctx) == TACIT_OK);
        REQUIRE(tacit_node(ctx) == 0 && tacit_num_nodes(ctx) == 1);
        for (size_t p = 0; p < program_count; p++) {
            if (is_chosen(p) && !programs[p].fresh) {
                programs[p].run(ctx, NULL);
            }
        }
        REQUIRE(tacit_finalize(ctx) == TACIT_OK);
        for (size_t p = 0; p < program_count; p++) {
            if (is_chosen(p)) {
                REQUIRE(tacit_init(&modes[m], &ctx) == TACIT_OK);
                programs[p].run(ctx, NULL);
                REQUIRE(tacit_finalize(ctx) == TACIT_OK);
            }
        }
    }
}

static inline void run_cluster(int nodes, const tacit_config *config, size_t eager, uint64_t shake)
{
    for (size_t p = 0; p < program_count; p++) {
        if (is_chosen(p)) {
            cluster_run(&(cluster){
                .nodes = nodes, .config = config, .eager = eager, .shake = shake, .program = programs[p].run });
        }
    }
}

static inline void on_two_nodes(void **state)
{
    (void)state;
    run_cluster(2, &modes[0], 0, 0);
    run_cluster(2, &modes[2], 64, 7);
    run_cluster(2, &modes[5], 0, 8);
    run_cluster(2, &modes[7], 0, 2);
}

static inline void on_three_nodes(void **state)
{
    (void)state;
    run_cluster(3, &modes[0], 16, 9);
    run_cluster(3, &modes[1], 0, 0);
    run_cluster(3, &modes[6], 0, 10);
    run_cluster(3, &modes[8], 64, 12);
}

static inline void on_four_nodes(void **state)
{
    (void)state;
    run_cluster(4, &modes[2], 16, 3);
    run_cluster(4, &modes[3], 0, 0);
    run_cluster(4, &modes[4], 0, 4);
}

static inline void on_seven_nodes(void **state)
{
    (void)state;
    run_cluster(7, &modes[0], 0, 5);
    run_cluster(7, &modes[1], 64, 6);
}

/* More nodes than rows and planes: most have nothing to do in many tasks. */
static inline void on_thirteen_nodes(void **state)
{
    (void)state;
    run_cluster(13, &modes[0], 0, 11);
}

#define PROGRAM_TESTS                                                                                                  \
    cmocka_unit_test(on_one_node), cmocka_unit_test(on_two_nodes), cmocka_unit_test(on_three_nodes),                   \
        cmocka_unit_test(on_four_nodes), cmocka_unit_test(on_seven_nodes), cmocka_unit_test(on_thirteen_nodes)

#endif
