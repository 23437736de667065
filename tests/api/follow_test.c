/* Kernels that are started by who ends the one before (exec/executor.c): loops of short tasks on one node get what they
 * would get one by one, and most of their kernels are started so.
 *
 * Usage: follow_test [SEED]. What follows what depends on how threads run; results do not. */
#include "../unit/random.h"
#include "api/context.h"
#include "effort.h"

#include <string.h>

enum { ITEMS = 40, STEPS = EFFORT(1500, 300), BUFFERS = 3 };

static uint64_t seed;

/* Steady loops are not left to the program's thread, which carries out all kernels in order. */
#define SHARED .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .rounds = TACIT_ROUNDS_OFF

static const tacit_config modes[] = {
    { SHARED, .workers = 2 },
    { SHARED, .workers = 4, .horizon_step = 1 },
    { SHARED, .workers = 2, .host_devices = "2" },
    { SHARED, .workers = 7, .horizon_step = 2 },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 3 },
};

typedef struct program {
    tacit_context *ctx;
    tacit_buffer *buffer[BUFFERS];
    uint64_t expected[BUFFERS][ITEMS];
} program;

static void must(program *p, tacit_status status)
{
    if (status != TACIT_OK) {
        fail_msg("%s", tacit_last_error(p->ctx));
    }
}

/* x = 3 x + y of the items around, which differs if two of these change places. */
static uint64_t mix(uint64_t x, uint64_t left, uint64_t right)
{
    return 3 * x + (left ^ (right << 1)) + 1;
}

/* Views: y, and x. */
static void do_mix(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        uint64_t *x = &TACIT_AT1(uint64_t, k->view[1], i);
        *x = mix(*x, TACIT_GET1(uint64_t, k->view[0], i ? i - 1 : i),
                 TACIT_GET1(uint64_t, k->view[0], i + 1 < ITEMS ? i + 1 : i));
    }
}

/* The same, and so long that it is worth cutting: workers have their parts before the kernel may begin. */
static void do_mix_long(const tacit_launch *k)
{
    enum { ROUNDS = 100 }; /* per item: some 100 ns and more */
    volatile uint64_t sum = 0;
    for (size_t i = 0; i < ROUNDS * (k->chunk.max[0] - k->chunk.min[0]); i++) {
        sum = 3 * sum + i;
    }
    do_mix(k);
}

static void mix_expected(program *p, int y, int x)
{
    for (int i = 0; i < ITEMS; i++) {
        p->expected[x][i] = mix(p->expected[x][i], p->expected[y][i ? i - 1 : i],
                                p->expected[y][i + 1 < ITEMS ? i + 1 : i]);
    }
}

/* Adds to x[i] what y has. */
static void submit(program *p, tacit_host_kernel *kernel, int y, int x, int priority)
{
    const tacit_task task = { .name = "mix",
                              .range = TACIT_RANGE(ITEMS),
                              .kernel.host = kernel,
                              .hint.priority = priority,
                              .access = { tacit_read(p->buffer[y], tacit_neighborhood(1, 0, 0)),
                                          tacit_update(p->buffer[x], tacit_one_to_one()) } };
    must(p, tacit_submit(p->ctx, &task));
    mix_expected(p, y, x);
}

static void open_program(program *p, const tacit_config *config)
{
    memset(p, 0, sizeof(*p));
    assert_int_equal(tacit_init(config, &p->ctx), TACIT_OK);
    for (int b = 0; b < BUFFERS; b++) {
        for (int i = 0; i < ITEMS; i++) {
            p->expected[b][i] = (uint64_t)(100 * b + i);
        }
        const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS),
                                         .elem_size = sizeof(uint64_t),
                                         .init = p->expected[b] };
        must(p, tacit_buffer_create(p->ctx, &desc, &p->buffer[b]));
    }
}

static void close_program(program *p)
{
    for (int b = 0; b < BUFFERS; b++) {
        uint64_t got[ITEMS];
        must(p, tacit_fence_read(p->ctx, p->buffer[b], TACIT_BOX_ALL, got));
        assert_memory_equal(got, p->expected[b], sizeof(got));
    }
    assert_int_equal(tacit_finalize(p->ctx), TACIT_OK);
}

/* Two buffers in turn, as in a loop of steps: each task waits for the one before alone. */
static void chains_are_followed(void **state)
{
    (void)state;
    for (size_t m = 0; m < 2 * sizeof(modes) / sizeof(modes[0]); m++) {
        program p;
        const bool is_long = m % 2;
        open_program(&p, &modes[m / 2]);
        for (int s = 0; s < STEPS; s++) {
            submit(&p, is_long ? do_mix_long : do_mix, s % 2, 1 - s % 2, 0);
        }
        must(&p, tacit_wait(p.ctx));
        const uint64_t followed = ti_runtime_followed(p.ctx->runtime);
        print_message("%zu, %s: %llu of %d were started by who ended the one before\n", m / 2,
                      is_long ? "long" : "short", (unsigned long long)followed, STEPS);
        assert_true(followed < STEPS && (m / 2 > 0 || followed > 0));
        close_program(&p);
    }
}

/* Any buffers, with others waiting for what has been followed already, priorities, and waits in between. */
static void random_loops(void **state)
{
    enum { LOOPS = 40, BODY = 4 };
    rng random = rng_from(seed);
    (void)state;
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        program p;
        open_program(&p, &modes[m]);
        for (int loop = 0; loop < LOOPS; loop++) {
            int x[BODY], y[BODY], priority[BODY], length = (int)rng_between(&random, 1, BODY);
            tacit_host_kernel *kernel[BODY];
            for (int i = 0; i < length; i++) {
                x[i] = (int)rng_between(&random, 0, BUFFERS - 1);
                y[i] = (x[i] + (int)rng_between(&random, 1, BUFFERS - 1)) % BUFFERS;
                kernel[i] = rng_between(&random, 0, 2) ? do_mix_long : do_mix;
                priority[i] = rng_between(&random, 0, 4) ? 0 : (int)rng_between(&random, -3, 3);
            }
            for (int64_t s = rng_between(&random, 1, 30); s > 0; s--) {
                for (int i = 0; i < length; i++) {
                    submit(&p, kernel[i], y[i], x[i], priority[i]);
                }
            }
            if (rng_between(&random, 0, 9) == 0) {
                must(&p, tacit_wait(p.ctx));
            }
        }
        close_program(&p);
    }
}

/* ---- with reductions: a task sums, the next one reads the sums */

enum { LONG_SUMS = 200 }; /* more than who ends a kernel combines */

/* Views: x, and the sums, of which the nth is n + 1 times that of all x. */
static void do_sum(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t n = 0; n < k->view[1].extent[0]; n++) {
            TACIT_AT1(int64_t, k->view[1], n) += (int64_t)(n + 1) * TACIT_GET1(int64_t, k->view[0], i);
        }
    }
}

/* Views: the sums, and x. */
static void do_spread(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        int64_t *x = &TACIT_AT1(int64_t, k->view[1], i);
        *x = (*x + (int64_t)i + TACIT_GET1(int64_t, k->view[0], i % k->view[0].extent[0])) % 1009;
    }
}

static void sum_and_spread(int64_t x[ITEMS], size_t sums)
{
    int64_t all = 0;
    for (int i = 0; i < ITEMS; i++) {
        all += x[i];
    }
    for (size_t i = 0; i < ITEMS; i++) {
        x[i] = (x[i] + (int64_t)i + (int64_t)(i % sums + 1) * all) % 1009;
    }
}

/* Returns how many instructions were started by who ended the one before. */
static uint64_t run_sums(const tacit_config *config, size_t sums, int steps, uint64_t waits)
{
    program p = { 0 };
    int64_t expected[ITEMS] = { 1, 2, 3 }, got[ITEMS];
    tacit_buffer *x, *sum;
    assert_int_equal(tacit_init(config, &p.ctx), TACIT_OK);
    tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int64_t), .init = expected };
    must(&p, tacit_buffer_create(p.ctx, &desc, &x));
    desc = (tacit_buffer_desc){ .range = TACIT_RANGE(sums), .elem_size = sizeof(int64_t) };
    must(&p, tacit_buffer_create(p.ctx, &desc, &sum));
    const tacit_task summing = { .name = "sum",
                                 .range = TACIT_RANGE(ITEMS),
                                 .kernel.host = do_sum,
                                 .access = { tacit_read(x, tacit_one_to_one()),
                                             tacit_reduce(sum, tacit_sum(TACIT_INT64)) } };
    const tacit_task spreading = { .name = "spread",
                                   .range = TACIT_RANGE(ITEMS),
                                   .kernel.host = do_spread,
                                   .access = { tacit_read(sum, tacit_all()), tacit_update(x, tacit_one_to_one()) } };
    for (int s = 0; s < steps; s++) {
        must(&p, tacit_submit(p.ctx, &summing));
        must(&p, tacit_submit(p.ctx, &spreading));
        sum_and_spread(expected, sums);
        if (waits && s % (int)waits == 0) {
            must(&p, tacit_wait(p.ctx));
        }
    }
    must(&p, tacit_fence_read(p.ctx, x, TACIT_BOX_ALL, got));
    assert_memory_equal(got, expected, sizeof(got));
    const uint64_t followed = ti_runtime_followed(p.ctx->runtime);
    assert_int_equal(tacit_finalize(p.ctx), TACIT_OK);
    return followed;
}

static void sums_are_followed(void **state)
{
    rng random = rng_from(seed);
    (void)state;
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        const uint64_t brief = run_sums(&modes[m], 1, STEPS, 0), others = run_sums(&modes[m], LONG_SUMS, STEPS, 0);
        print_message("%zu: %llu and %llu of %d\n", m, (unsigned long long)brief, (unsigned long long)others,
                      3 * STEPS);
        assert_true(others <= STEPS && (m > 0 || brief > STEPS));
        for (int i = 0; i < 10; i++) {
            run_sums(&modes[m], (size_t)rng_between(&random, 1, 150), (int)rng_between(&random, 1, 200),
                     (uint64_t)rng_between(&random, 0, 30));
        }
    }
}

static _Atomic int failed;
static _Atomic int called_after;

static void fail_in_step(const tacit_launch *k)
{
    int step = *(const int *)k->args;
    if (step == STEPS / 2) {
        tacit_kernel_fail(k, "as it should");
        failed = 1;
    } else if (step > STEPS / 2) {
        called_after += failed;
    }
    do_mix(k);
}

/* What follows may read what a kernel that failed has not written. */
static void nothing_follows_what_failed(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        program p;
        tacit_status status = TACIT_OK;
        failed = called_after = 0;
        open_program(&p, &modes[m]);
        for (int s = 0; s < STEPS && status == TACIT_OK; s++) {
            const tacit_task task = { .name = "mix",
                                      .range = TACIT_RANGE(ITEMS),
                                      .kernel.host = fail_in_step,
                                      .args = &s,
                                      .args_size = sizeof(s),
                                      .access = { tacit_read(p.buffer[s % 2], tacit_neighborhood(1, 0, 0)),
                                                  tacit_update(p.buffer[1 - s % 2], tacit_one_to_one()) } };
            status = tacit_submit(p.ctx, &task);
        }
        status = status == TACIT_OK ? tacit_wait(p.ctx) : status;
        assert_int_equal(status, TACIT_ERROR_KERNEL);
        assert_int_equal(called_after, 0);
        assert_int_equal(tacit_finalize(p.ctx), TACIT_ERROR_KERNEL);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(chains_are_followed), cmocka_unit_test(random_loops),
                                        cmocka_unit_test(sums_are_followed),
                                        cmocka_unit_test(nothing_follows_what_failed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
