/* Reductions with operators of the program's own, in the order of the range, with and without the old contents, on 1
 * to 7 nodes with and without devices that have memories of their own. The operator is the product of 2 x 2 matrices
 * modulo a prime: exact, associative, and not commutative, so that a wrong order shows. */
#include "cluster.h"
#include "effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 101, LANES = 3 };

typedef struct matrix {
    uint64_t a[2][2];
} matrix;

static const matrix identity = { { { 1, 0 }, { 0, 1 } } };
static const matrix old_value = { { { 2, 3 }, { 5, 7 } } };

static matrix item(size_t i, size_t lane)
{
    return (matrix){ { { i + 1, lane + 2 }, { 3 * i + lane, 1 } } };
}

static matrix product(const matrix *x, const matrix *y, uint64_t prime)
{
    matrix r;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            r.a[i][j] = (x->a[i][0] * y->a[0][j] + x->a[i][1] * y->a[1][j]) % prime;
        }
    }
    return r;
}

static void multiply(void *into, const void *from, size_t n, const void *user)
{
    matrix *a = into;
    const matrix *b = from;
    for (size_t i = 0; i < n; i++) {
        a[i] = product(&a[i], &b[i], *(const uint64_t *)user);
    }
}

static void kernel(const tacit_launch *k)
{
    const uint64_t prime = *(const uint64_t *)k->args;
    for (size_t lane = 0; lane < LANES; lane++) {
        matrix *m = &TACIT_AT1(matrix, k->view[0], lane);
        for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
            const matrix next = item(i, lane);
            *m = product(m, &next, prime);
        }
    }
}

static void program(tacit_context *ctx, void *user)
{
    (void)user;
    uint64_t prime = 1000003;
    tacit_op op;
    tacit_buffer *b;
    matrix init[LANES], out[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        init[lane] = old_value;
    }
    const tacit_op_desc desc = { .combine = multiply,
                                 .identity = &identity,
                                 .elem_size = sizeof(matrix),
                                 .user = &prime,
                                 .user_size = sizeof(prime) };
    REQUIRE_OK(ctx, tacit_op_create(ctx, &desc, &op));
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx,
                        &(tacit_buffer_desc){
                            .name = "M", .range = TACIT_RANGE(LANES), .elem_size = sizeof(matrix), .init = init },
                        &b));
    matrix expected[LANES];
    memcpy(expected, init, sizeof(init));
    for (int step = 0; step < 4; step++) {
        bool include = step % 2 == 1 || step == 2;
        tacit_access access = include ? tacit_reduce_into(b, op) : tacit_reduce(b, op);
        REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "product",
                                                         .range = TACIT_RANGE(ITEMS),
                                                         .kernel = { .host = kernel },
                                                         TACIT_ARGS(prime),
                                                         .access = { access },
                                                         .hint = { .oversubscribe = step == 3 ? 2 : 0 } }));
        REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, out));
        for (size_t lane = 0; lane < LANES; lane++) {
            matrix m = include ? expected[lane] : identity;
            for (size_t i = 0; i < ITEMS; i++) {
                const matrix next = item(i, lane);
                m = product(&m, &next, prime);
            }
            expected[lane] = m;
            REQUIRE(memcmp(&m, &out[lane], sizeof(m)) == 0);
        }
    }
}

static void in_order(void **state)
{
    (void)state;
    static const char *const devices[] = { NULL, "2", "1:discrete", "3:discrete" };
    for (int nodes = 1; nodes <= 7; nodes++) {
        for (size_t d = 0; d < TI_COUNT(devices); d++) {
            tacit_config config = { .workers = 3,
                                    .host_devices = devices[d],
                                    .threads = nodes % 2 ? TACIT_THREADS_INLINE : TACIT_THREADS_ON };
            cluster_run(&(cluster){ .nodes = nodes, .config = &config, .eager = 64, .program = program });
        }
    }
}

static void refused(void **state)
{
    (void)state;
    tacit_context *ctx;
    tacit_op op = { 0 };
    tacit_buffer *b;
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_OK);
    assert_int_equal(tacit_op_create(ctx, &(tacit_op_desc){ .identity = &identity, .elem_size = sizeof(matrix) }, &op),
                     TACIT_ERROR_ARGUMENT);
    assert_non_null(strstr(tacit_last_error(ctx), ".combine"));
    assert_int_equal(
        tacit_op_create(
            ctx, &(tacit_op_desc){ .combine = multiply, .identity = &identity, .elem_size = sizeof(matrix) }, &op),
        TACIT_OK);
    assert_int_equal(tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "S", .elem_size = 8 }, &b), TACIT_OK);
    tacit_task task = {
        .name = "wrong", .range = TACIT_RANGE(4), .kernel = { .host = kernel }, .access = { tacit_reduce(b, op) }
    };
    assert_int_equal(tacit_submit(ctx, &task), TACIT_ERROR_ARGUMENT);
    assert_non_null(strstr(tacit_last_error(ctx), "an element has 8"));
    task.access[0] = tacit_reduce_into(b, tacit_sum(TACIT_DOUBLE));
    assert_int_equal(tacit_submit(ctx, &task), TACIT_ERROR_UNINITIALIZED);
    task.access[0] = tacit_reduce(b, tacit_op_make(TACIT_OP_USER, (tacit_type)7));
    assert_int_equal(tacit_submit(ctx, &task), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* ---- long arrays: kernels fill the buffer, workers share the combining, memory is used again */

enum { LONG = 20000, ROUNDS = 5 };

static _Atomic uint64_t combined, longest;

static void add_longs(void *into, const void *from, size_t n, const void *user)
{
    uint64_t *a = into, most = longest;
    const uint64_t *b = from;
    (void)user;
    for (size_t i = 0; i < n; i++) {
        a[i] += b[i];
    }
    combined += n;
    while (n > most && !atomic_compare_exchange_weak(&longest, &most, n)) {
    }
}

static void add_items(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = 0; j < LONG; j++) {
            TACIT_AT1(uint64_t, k->view[0], j) += i * j + 1;
        }
    }
}

static void look(const tacit_launch *k)
{
    volatile uint64_t value = TACIT_GET1(uint64_t, k->view[0], LONG - 1);
    (void)value;
}

static void long_program(tacit_context *ctx, void *user)
{
    static const size_t items[ROUNDS] = { 7, 1, 64, 2, 64 };
    const bool *into = user;
    uint64_t zero = 0, *init = calloc(LONG, sizeof(*init)), *found = malloc(LONG * sizeof(*found)), sum = 0, ones = 0;
    tacit_op op;
    tacit_buffer *b;
    REQUIRE_OK(ctx,
               tacit_op_create(ctx, &(tacit_op_desc){ .combine = add_longs, .identity = &zero, .elem_size = 8 }, &op));
    REQUIRE_OK(
        ctx,
        tacit_buffer_create(
            ctx, &(tacit_buffer_desc){ .name = "L", .range = TACIT_RANGE(LONG), .elem_size = 8, .init = init }, &b));
    for (int r = 0; r < ROUNDS; r++) {
        const tacit_task task = { .name = "add",
                                  .range = TACIT_RANGE(items[r]),
                                  .kernel = { .host = add_items },
                                  .access = { *into ? tacit_reduce_into(b, op) : tacit_reduce(b, op) } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "look",
                                                         .range = TACIT_RANGE(8),
                                                         .kernel = { .host = look },
                                                         .access = { tacit_read(b, tacit_all()) } }));
        sum = (*into ? sum : 0) + items[r] * (items[r] - 1) / 2;
        ones = (*into ? ones : 0) + items[r];
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, found));
    for (size_t j = 0; j < LONG; j++) {
        REQUIRE(found[j] == sum * j + ones);
    }
    free(init);
    free(found);
}

static void long_arrays(void **state)
{
    static const char *const devices[] = { NULL, "2", "2:discrete" };
    (void)state;
    for (int nodes = 1; nodes <= 4; nodes++) {
        for (int i = nodes % EFFORT(1, 4); i < 24; i += EFFORT(1, 5)) {
            bool into = i % 2;
            tacit_config config = { .workers = 1 + i / 2 % 2 * 2, .host_devices = devices[i / 4 % 3] };
            config.reproducible = i / 12;
            config.threads = TACIT_THREADS_ON;
            combined = longest = 0;
            cluster_run(
                &(cluster){ .nodes = nodes, .config = &config, .eager = 64, .program = long_program, .user = &into });
            if (nodes == 1 && !config.reproducible) {
                assert_true(longest < LONG); /* or nobody could have shared it */
                assert_true(combined > 0 || config.workers == 1);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_order), cmocka_unit_test(refused),
                                        cmocka_unit_test(long_arrays) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
