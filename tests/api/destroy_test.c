/* Custom mappers, operators and cyclic distributions that are destroyed: tasks submitted before stay right, later ones
 * are refused, and what was kept for them goes. On one and several nodes. */
#include "base/alloc.h"
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 40, MANY = 2000, SIZES = 900, LARGE = 100000 };

/* Items shifted by `*user`, around the end. */
static void shift(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    size_t by = *(const size_t *)user;
    for (size_t i = chunk->min[0]; i < chunk->max[0]; i++) {
        size_t at = (i + by) % range->size[0];
        tacit_region_add(out, tacit_box1(at, at + 1));
    }
}

static void write_shifted(const tacit_launch *k)
{
    size_t by = *(const size_t *)k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(uint64_t, k->view[0], (i + by) % N) = 100 * i + by;
    }
}

static void copy_shifted(const tacit_launch *k)
{
    size_t by = *(const size_t *)k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(uint64_t, k->view[1], i) = TACIT_GET1(uint64_t, k->view[0], (i + by) % N);
    }
}

static tacit_buffer *buffer_of(tacit_context *ctx, const char *name)
{
    tacit_buffer *b;
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx, &(tacit_buffer_desc){ .name = name, .range = TACIT_RANGE(N), .elem_size = 8 }, &b));
    return b;
}

static tacit_task task_of(const char *name, void (*kernel)(const tacit_launch *), const size_t *by, tacit_access a,
                          tacit_access b)
{
    return (tacit_task){ .name = name,
                         .range = TACIT_RANGE(N),
                         .kernel = { .host = kernel },
                         .args = by,
                         .args_size = sizeof(*by),
                         .access = { a, b } };
}

static int mapper_of(tacit_context *ctx, size_t by)
{
    int handle;
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, shift, &by, sizeof(by), 0, &handle));
    return handle;
}

/* Each mapper goes right after the task that names it, and the next one may get its memory. */
static void mappers(tacit_context *ctx, void *user)
{
    tacit_buffer *a = buffer_of(ctx, "a"), *b = buffer_of(ctx, "b");
    uint64_t found[N];
    int last = -1;
    (void)user;
    for (size_t round = 1; round < 20; round++) {
        size_t back = N - round;
        int there = mapper_of(ctx, round), here = mapper_of(ctx, back);
        REQUIRE(there > last && here > there); /* never given again */
        last = here;
        tacit_task write = task_of("write", write_shifted, &round, tacit_write(a, tacit_custom(there)),
                                   (tacit_access){ 0 });
        REQUIRE_OK(ctx, tacit_submit(ctx, &write));
        REQUIRE_OK(ctx, tacit_mapper_destroy(ctx, there));
        tacit_task copy = task_of("copy", copy_shifted, &back, tacit_read(a, tacit_custom(here)),
                                  tacit_write(b, tacit_one_to_one()));
        for (int i = 0; i < 4; i++) { /* its shape is kept */
            REQUIRE_OK(ctx, tacit_submit(ctx, &copy));
        }
        REQUIRE_OK(ctx, tacit_mapper_destroy(ctx, here));
        REQUIRE(tacit_submit(ctx, &copy) == TACIT_ERROR_STATE);
        char words[64];
        snprintf(words, sizeof(words), "custom mapper %d is destroyed", here);
        REQUIRE(strstr(tacit_last_error(ctx), words));
        if (round % 5 == 0) {
            REQUIRE_OK(ctx, tacit_wait(ctx));
        }
        if (round % 3 == 0) {
            REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, found));
            for (size_t i = 0; i < N; i++) {
                REQUIRE(found[i] == 100 * ((i + 2 * back) % N) + round);
            }
        }
    }
    REQUIRE(tacit_mapper_destroy(ctx, last) == TACIT_ERROR_STATE);
    REQUIRE(strstr(tacit_last_error(ctx), "is destroyed already"));
    REQUIRE(tacit_mapper_destroy(ctx, last + 1) == TACIT_ERROR_ARGUMENT);
}

/* ---- operators */

static void add(void *into, const void *from, size_t n, const void *user)
{
    uint64_t *a = into;
    const uint64_t *b = from;
    for (size_t i = 0; i < n; i++) {
        a[i] += b[i] + *(const uint64_t *)user;
    }
}

static void add_one(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(uint64_t, k->view[0], 0) += i;
    }
}

static void operators(tacit_context *ctx, void *user)
{
    uint64_t zero = 0, found;
    tacit_buffer *sum;
    (void)user;
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx, &(tacit_buffer_desc){ .name = "sum", .range = TACIT_RANGE(1), .elem_size = 8 }, &sum));
    for (int round = 0; round < 10; round++) {
        tacit_op op;
        tacit_op_desc desc = { .combine = add, .identity = &zero, .elem_size = 8, .commutative = true };
        desc.user = &zero;
        desc.user_size = sizeof(zero);
        REQUIRE_OK(ctx, tacit_op_create(ctx, &desc, &op));
        tacit_task task = task_of("sum", add_one, &(size_t){ 0 }, tacit_reduce(sum, op), (tacit_access){ 0 });
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        REQUIRE_OK(ctx, tacit_op_destroy(ctx, op));
        REQUIRE(tacit_submit(ctx, &task) == TACIT_ERROR_STATE);
        char words[64];
        snprintf(words, sizeof(words), "operator %d is destroyed", op.type);
        REQUIRE(strstr(tacit_last_error(ctx), words));
        REQUIRE(tacit_op_destroy(ctx, op) == TACIT_ERROR_STATE);
        REQUIRE_OK(ctx, tacit_fence_read(ctx, sum, TACIT_BOX_ALL, &found));
        REQUIRE(found == N * (N - 1) / 2);
    }
    REQUIRE(tacit_op_destroy(ctx, tacit_sum(TACIT_DOUBLE)) == TACIT_ERROR_ARGUMENT);
}

/* ---- memory */

static void many(tacit_context *ctx, void *user)
{
    static char bytes[LARGE]; /* its beginning is the shift: 0 */
    tacit_buffer *a = buffer_of(ctx, "a"), *b = buffer_of(ctx, "b");
    uint64_t before = 0;
    (void)user;
    REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "write",
                                                     .range = TACIT_RANGE(N),
                                                     .kernel = { .host = write_shifted },
                                                     .args = bytes,
                                                     .args_size = sizeof(size_t),
                                                     .access = { tacit_write(a, tacit_one_to_one()) } }));
    for (int i = 0; i < MANY; i++) {
        int handle;
        REQUIRE_OK(ctx, tacit_mapper_create(ctx, shift, bytes, sizeof(bytes), 0, &handle));
        tacit_task copy = task_of("copy", copy_shifted, &(size_t){ 0 }, tacit_read(a, tacit_custom(handle)),
                                  tacit_write(b, tacit_one_to_one()));
        REQUIRE_OK(ctx, tacit_submit(ctx, &copy));
        REQUIRE_OK(ctx, tacit_mapper_destroy(ctx, handle));
        if (i % 100 == 99) {
            REQUIRE_OK(ctx, tacit_wait(ctx));
            before = i < 1000 ? ti_alloc_live() : before;
        }
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE(ti_alloc_live() < before + 10000000); /* a tenth of what those after `before` took */
}

/* Buffers whose cyclic distributions are all different come, get another extent, and go. `user`: whether nothing runs
 * beside the program. Queues between threads keep the room that they once needed, which is another in every run. */
static void distributions(tacit_context *ctx, void *user)
{
    const uint64_t zero = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < SIZES; i++) {
        tacit_buffer *b;
        const tacit_buffer_desc desc = { .name = "b",
                                         .range = TACIT_RANGE(200 + i / 8, 3),
                                         .elem_size = 8,
                                         .distribution = { .kind = TACIT_DISTRIBUTE_CYCLIC,
                                                           .grid = { tacit_num_nodes(ctx), 1 },
                                                           .block = { 4 + i % 8, 1 } } };
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
        REQUIRE_OK(ctx, tacit_fill(ctx, b, &zero));
        REQUIRE_OK(ctx, tacit_buffer_resize(ctx, b, TACIT_RANGE(150, 3)));
        REQUIRE_OK(ctx, tacit_fill(ctx, b, &zero));
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b));
        if (i % 100 == 99) {
            REQUIRE_OK(ctx, tacit_wait(ctx));
            before = i < 300 ? ti_alloc_live() : before;
        }
    }
    REQUIRE(!*(const bool *)user || ti_alloc_live() < before + 400000);
    REQUIRE(tacit_mapper_destroy(ctx, 0) == TACIT_ERROR_ARGUMENT); /* none of them is the program's */
}

/* ---- */

static void run(cluster_program *program, int most_nodes)
{
    static const char *const devices[] = { NULL, "2:discrete" };
    for (int nodes = 1; nodes <= most_nodes; nodes++) {
        for (int i = 0; i < 4; i++) {
            bool in_line = i / 2;
            const tacit_config config = { .workers = 2,
                                          .host_devices = devices[i % 2],
                                          .threads = in_line ? TACIT_THREADS_INLINE : TACIT_THREADS_ON };
            cluster_run(
                &(cluster){ .nodes = nodes, .config = &config, .eager = 64, .program = program, .user = &in_line });
        }
    }
}

static void mappers_go(void **state)
{
    (void)state;
    run(mappers, 5);
}

static void operators_go(void **state)
{
    (void)state;
    run(operators, 5);
}

static void memory_comes_back(void **state)
{
    (void)state;
    run(many, 1);
}

static void distributions_go(void **state)
{
    (void)state;
    run(distributions, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(mappers_go), cmocka_unit_test(operators_go),
                                        cmocka_unit_test(memory_comes_back), cmocka_unit_test(distributions_go) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
