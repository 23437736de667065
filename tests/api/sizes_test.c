/* Sizes that depend on data: splits by weights of items, and buffers that get another extent. `sizes_test PROGRAM` runs
 * one program only. */
#include "programs.h"

#include <math.h>

/* ---------------------------------------------------------------- weights */

static tacit_weights *weights_of(tacit_context *ctx, const uint64_t *weight, size_t count)
{
    tacit_weights *w;
    REQUIRE_OK(ctx, tacit_weights_create(ctx, count, weight, &w));
    return w;
}

static void write_node(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[0], i) = k->node;
}

/* Which node has which item, if the items have these weights. */
static void who_has(tacit_context *ctx, const uint64_t *weight, size_t granularity, int node[N])
{
    tacit_buffer *A = ints(ctx, "A", N, NULL);
    tacit_weights *w = weights_of(ctx, weight, N);
    SUBMIT(ctx, .name = "node", .range = TACIT_RANGE(N), KERNEL(write_node),
           .hint = { .item_weights = w, .granularity = { granularity } },
           .access = { tacit_write(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_weights_destroy(ctx, w)); /* the task still uses them */
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, node));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

static void nodes_get_equal_sums(tacit_context *ctx, void *user)
{
    (void)user;
    const int nodes = tacit_num_nodes(ctx);
    for (int round = 0; round < 4; round++) {
        uint64_t weight[N], total = 0, most = 0, sum[64] = { 0 };
        int node[N];
        for (int i = 0; i < N; i++) {
            weight[i] = round == 0 ? (uint64_t)i : round == 1 ? (uint64_t)(i * i % 17) : i % 9 == round ? 50 : 1;
            total += weight[i];
            most = TI_MAX(most, weight[i]);
        }
        who_has(ctx, weight, 1, node);
        for (int i = 0; i < N; i++) {
            REQUIRE(i == 0 ? node[i] == 0 : node[i] == node[i - 1] || node[i] == node[i - 1] + 1);
            sum[node[i]] += weight[i];
        }
        REQUIRE(node[N - 1] == nodes - 1);
        for (int q = 0; q < nodes; q++) {
            REQUIRE((double)sum[q] <= (double)total / nodes + (double)most * (1 + log(nodes)) + 1e-6);
        }
    }
}

/* One heavy item has a node of its own, and the others share the rest; granules stay together. */
static void heavy_items(tacit_context *ctx, void *user)
{
    (void)user;
    const int nodes = tacit_num_nodes(ctx);
    uint64_t weight[N];
    int node[N];
    for (int i = 0; i < N; i++) {
        weight[i] = i == 0 ? 1000000 : 1;
    }
    who_has(ctx, weight, 1, node);
    REQUIRE(nodes == 1 || node[1] == 1);
    int second = 0;
    for (int i = 0; i < N; i++) {
        second += node[i] == 1;
    }
    REQUIRE(nodes == 1 || abs(second - (N - 1) / (nodes - 1)) <= 1);
    who_has(ctx, weight, 4, node);
    for (int i = 0; i < N; i++) {
        REQUIRE(node[i] == node[i / 4 * 4]);
    }
}

static void add_item(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[0], i) += (int)i;
}

static uint64_t messages_of(tacit_context *ctx)
{
    tacit_counters c;
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    return c.messages_sent + c.collectives;
}

/* Equal weights are one object, and tasks with them find their data where it is. */
static void equal_weights_move_nothing(tacit_context *ctx, void *user)
{
    (void)user;
    uint64_t weight[N];
    int zero[N] = { 0 }, got[N];
    for (int i = 0; i < N; i++) {
        weight[i] = (uint64_t)(i % 5);
    }
    tacit_buffer *A = ints(ctx, "A", N, zero);
    tacit_weights *first = weights_of(ctx, weight, N);
    uint64_t before = 0;
    for (int step = 0; step < 12; step++) {
        tacit_weights *w = weights_of(ctx, weight, N);
        REQUIRE(w == first);
        SUBMIT(ctx, .name = "add", .range = TACIT_RANGE(N), KERNEL(add_item), .hint = { .item_weights = w },
               .access = { tacit_update(A, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_weights_destroy(ctx, w));
        before = step == 0 ? messages_of(ctx) : before;
    }
    REQUIRE(messages_of(ctx) == before);
    REQUIRE_OK(ctx, tacit_weights_destroy(ctx, first));
    REQUIRE(tacit_weights_destroy(ctx, first) == TACIT_ERROR_STATE);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == 12 * i);
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

/* Halos, gathers and reductions between tasks with different weights, with those of nodes too. */
static void with_other_mappers(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], got[N], all = 0;
    uint64_t weight[2][N];
    uint32_t share[64];
    count_up(a, N);
    for (int i = 0; i < N; i++) {
        weight[0][i] = (uint64_t)(N - i);
        weight[1][i] = (uint64_t)(i % 7 == 0 ? 40 : 0);
        all += a[i];
    }
    for (int q = 0; q < 64; q++) {
        share[q] = (uint32_t)(q % 3);
    }
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL), *C = ints(ctx, "C", N, NULL);
    tacit_weights *w[] = { weights_of(ctx, weight[0], N), weights_of(ctx, weight[1], N) };
    for (int step = 0; step < 6; step++) {
        const tacit_hints one = { .item_weights = w[step % 2], .oversubscribe = step % 3 };
        const tacit_hints other = { .item_weights = w[1 - step % 2], .weights = step % 2 ? share : NULL };
        SUBMIT(ctx, .name = "copy", .range = TACIT_RANGE(N), KERNEL(copy_checked), .hint = one,
               .access = { tacit_read(A, tacit_one_to_one()), tacit_write(B, tacit_one_to_one()) });
        SUBMIT(ctx, .name = "three", .range = TACIT_RANGE(N), KERNEL(three_point), .hint = other,
               .access = { tacit_read(B, tacit_neighborhood(1, 0, 0)), tacit_write(C, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, C, TACIT_BOX_ALL, got));
        for (int i = 0; i < N; i++) {
            REQUIRE(got[i] == (i ? a[i - 1] : 0) + 2 * a[i] + (i + 1 < N ? 3 * a[i + 1] : 0));
        }
        SUBMIT(ctx, .name = "sum", .range = TACIT_RANGE(N), KERNEL(sum_all), .hint = other,
               .access = { tacit_read(B, tacit_all()), tacit_write(C, tacit_one_to_one()) });
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, C, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == all + i);
    }
    tacit_buffer *const buffers[] = { A, B, C };
    for (size_t i = 0; i < TI_COUNT(buffers); i++) {
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, buffers[i]));
    }
}

/* ---------------------------------------------------------------- extents */

static int value_at(size_t i, size_t j, size_t l)
{
    return (int)(10000 * i + 100 * j + l + 1);
}

static void write_values(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) FOR_L(k) TACIT_AT3(int, k->view[0], i, j, l) = value_at(i, j, l);
}

static void write_values_1d(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[0], i) = value_at(i, 0, 0);
}

static void negate(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[0], i) *= -1;
}

/* Everything is there that was, and fences see the extent of their time. */
static void grows_and_shrinks(tacit_context *ctx, void *user)
{
    (void)user;
    int got[2 * N];
    const void *then;
    tacit_fence_ticket *ticket;
    tacit_buffer *A = ints(ctx, "A", N, NULL);
    SUBMIT(ctx, .name = "write", .range = TACIT_RANGE(N), KERNEL(write_values_1d),
           .access = { tacit_write(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence(ctx, A, TACIT_BOX_ALL, &ticket));
    REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(2 * N)));
    REQUIRE(tacit_fence_read(ctx, A, TACIT_BOX_ALL, got) == TACIT_ERROR_UNINITIALIZED);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, tacit_box1(0, N), got));
    for (size_t i = 0; i < N; i++) {
        REQUIRE(got[i] == value_at(i, 0, 0));
    }
    SUBMIT(ctx, .name = "more", .range = TACIT_RANGE(N), .offset = { N }, KERNEL(write_values_1d),
           .access = { tacit_write(A, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "negate", .range = TACIT_RANGE(2 * N), KERNEL(negate),
           .access = { tacit_update(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(N + 5)));
    REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(N + 5))); /* changes nothing */
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    for (size_t i = 0; i < N + 5; i++) {
        REQUIRE(got[i] == -value_at(i, 0, 0));
    }
    REQUIRE_OK(ctx, tacit_fence_get(ticket, &then));
    for (size_t i = 0; i < N; i++) {
        REQUIRE(((const int *)then)[i] == value_at(i, 0, 0));
    }
    tacit_fence_release(ticket);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

static void many_dimensions(tacit_context *ctx, void *user)
{
    (void)user;
    static const size_t size[][3] = { { ROWS, COLS, PLANES }, { 3, COLS + 2, PLANES }, { ROWS, 2, 9 }, { 1, 1, 1 } };
    int got[ROWS * (COLS + 2) * 9];
    size_t known[3];
    tacit_buffer *A = make(ctx, "A", TACIT_RANGE(ROWS, COLS, PLANES), sizeof(int), NULL);
    SUBMIT(ctx, .name = "write", .range = TACIT_RANGE(ROWS, COLS, PLANES), KERNEL(write_values),
           .access = { tacit_write(A, tacit_one_to_one()) });
    memcpy(known, size[0], sizeof(known));
    for (size_t s = 1; s < TI_COUNT(size); s++) {
        REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(size[s][0], size[s][1], size[s][2])));
        for (int d = 0; d < 3; d++) {
            known[d] = TI_MIN(known[d], size[s][d]);
        }
        REQUIRE_OK(ctx, tacit_fence_read(ctx, A, tacit_box3(0, known[0], 0, known[1], 0, known[2]), got));
        for (size_t e = 0; e < known[0] * known[1] * known[2]; e++) {
            REQUIRE(got[e] == value_at(e / known[2] / known[1], e / known[2] % known[1], e % known[2]));
        }
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

/* What nobody has written stays unwritten; what was written here and there stays. */
static void holes_stay(tacit_context *ctx, void *user)
{
    (void)user;
    int got[N];
    tacit_buffer *A = ints(ctx, "A", N, NULL);
    REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(N - 3)));
    REQUIRE(tacit_fence_read(ctx, A, tacit_box1(0, 1), got) == TACIT_ERROR_UNINITIALIZED);
    static const size_t part[][2] = { { 2, 9 }, { 20, 21 }, { 30, N - 3 } };
    for (size_t p = 0; p < TI_COUNT(part); p++) {
        SUBMIT(ctx, .name = "part", .range = TACIT_RANGE(part[p][1] - part[p][0]), .offset = { part[p][0] },
               KERNEL(write_values_1d), .access = { tacit_write(A, tacit_one_to_one()) });
    }
    for (int step = 0; step < 20; step++) { /* and the slot is used again and again */
        REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE((size_t)(step % 2 ? N - 3 : N))));
    }
    for (size_t p = 0; p < TI_COUNT(part); p++) {
        REQUIRE_OK(ctx, tacit_fence_read(ctx, A, tacit_box1(part[p][0], part[p][1]), got));
        for (size_t i = part[p][0]; i < part[p][1]; i++) {
            REQUIRE(got[i - part[p][0]] == value_at(i, 0, 0));
        }
        REQUIRE(tacit_fence_read(ctx, A, tacit_box1(part[p][0] - 1, part[p][1]), got) == TACIT_ERROR_UNINITIALIZED);
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

/* A description that comes again and again, while the extent of its buffer changes in between. */
static void descriptions_come_again(tacit_context *ctx, void *user)
{
    (void)user;
    int got[2 * N], zero[N] = { 0 };
    tacit_buffer *A = ints(ctx, "A", N, zero);
    const tacit_task add = {
        .name = "add", .range = TACIT_RANGE(N / 2), KERNEL(add_item), .access = { tacit_update(A, tacit_one_to_one()) }
    };
    for (int step = 0; step < 24; step++) {
        REQUIRE_OK(ctx, tacit_submit(ctx, &add));
        if (step % 6 == 5) {
            REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE((size_t)(step % 12 == 5 ? 2 * N : N / 2))));
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, tacit_box1(0, N / 2), got));
    for (int i = 0; i < N / 2; i++) {
        REQUIRE(got[i] == 24 * i);
    }
    tacit_task wide = add;
    wide.range = TACIT_RANGE(N);
    REQUIRE(tacit_submit(ctx, &wide) == TACIT_ERROR_RANGE);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

/* The node's own part follows the extent. */
static void owners_follow(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *A;
    tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(N), .elem_size = sizeof(int) };
    desc.distribution = (tacit_distribution){ .kind = TACIT_DISTRIBUTE_CYCLIC, .block = { 2 } };
    desc.distribution.grid[0] = tacit_num_nodes(ctx);
    tacit_range local;
    int got[2 * N];
    const int one = 1;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &A));
    REQUIRE_OK(ctx, tacit_fill(ctx, A, &one));
    REQUIRE_OK(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(2 * N)));
    REQUIRE_OK(ctx, tacit_fill(ctx, A, &one));
    SUBMIT(ctx, .name = "add", .range = TACIT_RANGE(2 * N), KERNEL(add_item),
           .access = { tacit_update(A, tacit_one_to_one()) });
    const tacit_range all = TACIT_RANGE(2 * N);
    REQUIRE_OK(ctx, tacit_distribution_local(ctx, &desc.distribution, all, tacit_node(ctx), NULL, &local));
    REQUIRE_OK(ctx, tacit_fence_local(ctx, A, local.size[0] ? got : NULL));
    size_t block = 2 * (size_t)tacit_num_nodes(ctx), first = 2 * (size_t)tacit_node(ctx);
    for (size_t i = 0; i < local.size[0]; i++) {
        REQUIRE(got[i] == (int)(i / 2 * block + first + i % 2) + 1);
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

/* ---------------------------------------------------------------- what is refused */

static void says(tacit_context *ctx, tacit_status status, tacit_status wanted, const char *words)
{
    if (status != wanted || !strstr(tacit_last_error(ctx), words)) {
        fprintf(stderr, "%s instead of %s: '%s' is not in: %s\n", tacit_status_name(status), tacit_status_name(wanted),
                words, tacit_last_error(ctx));
        abort();
    }
}

static void refused_weights(tacit_context *ctx, void *user)
{
    (void)user;
    uint64_t weight[N] = { 0 };
    const uint64_t much[] = { (uint64_t)1 << 62, 1 };
    tacit_weights *w = NULL;
    tacit_buffer *A = make(ctx, "A", TACIT_RANGE(N, 3), sizeof(int), NULL);
    says(ctx, tacit_weights_create(ctx, N, NULL, &w), TACIT_ERROR_ARGUMENT, "weight is NULL");
    says(ctx, tacit_weights_create(ctx, N, weight, NULL), TACIT_ERROR_ARGUMENT, "out is NULL");
    says(ctx, tacit_weights_create(ctx, 0, weight, &w), TACIT_ERROR_RANGE, "count is 0");
    says(ctx, tacit_weights_create(ctx, SIZE_MAX, weight, &w), TACIT_ERROR_RANGE, "2^46 items");
    says(ctx, tacit_weights_create(ctx, 2, much, &w), TACIT_ERROR_RANGE, "larger than 2^62");
    REQUIRE(w == NULL && tacit_weights_create(NULL, N, weight, &w) == TACIT_ERROR_ARGUMENT);
    w = weights_of(ctx, weight, N);
    tacit_task t = { .name = "t",
                     .range = TACIT_RANGE(N, 3),
                     KERNEL(write_node),
                     .hint = { .item_weights = w, .split = TACIT_SPLIT_2D },
                     .access = { tacit_write(A, tacit_one_to_one()) } };
    says(ctx, tacit_submit(ctx, &t), TACIT_ERROR_ARGUMENT, "a 2D split cuts two dimensions");
    t.hint.split = TACIT_SPLIT_1D;
    t.range = TACIT_RANGE(N - 1, 3);
    t.offset[0] = 2;
    says(ctx, tacit_submit(ctx, &t), TACIT_ERROR_RANGE, "53 weights, but the items along dimension 0 are [2,54)");
    t.offset[0] = 0;
    t.hint.item_weights = (tacit_weights *)(uintptr_t)8;
    says(ctx, tacit_submit(ctx, &t), TACIT_ERROR_STATE, "'t', hint .item_weights: the weights are destroyed");
    t.hint.item_weights = w;
    REQUIRE_OK(ctx, tacit_weights_destroy(ctx, w));
    REQUIRE_OK(ctx, tacit_weights_destroy(ctx, NULL));
    says(ctx, tacit_submit(ctx, &t), TACIT_ERROR_STATE, "the weights are destroyed");
    says(ctx, tacit_weights_destroy(ctx, w), TACIT_ERROR_STATE, "tacit_weights_destroy: the weights are destroyed");
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
}

static void refused_extents(tacit_context *ctx, void *user)
{
    (void)user;
    int zero[N] = { 0 }, got[N];
    tacit_buffer *A = ints(ctx, "A", N, zero), *B;
    tacit_buffer_desc desc = { .name = "B", .range = TACIT_RANGE(4, 8), .elem_size = 8 };
    says(ctx, tacit_buffer_resize(ctx, NULL, TACIT_RANGE(3)), TACIT_ERROR_ARGUMENT,
         "tacit_buffer_resize: the buffer is NULL");
    REQUIRE(tacit_buffer_resize(NULL, A, TACIT_RANGE(3)) == TACIT_ERROR_ARGUMENT);
    says(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(3, 3)), TACIT_ERROR_DIMENSION, "buffer 'A' has 1 dimensions");
    says(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(0)), TACIT_ERROR_RANGE, "tacit_buffer_resize: buffer 'A'");
    says(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE((size_t)1 << 50)), TACIT_ERROR_RANGE, "buffer 'A'");
    desc.distribution.grid[0] = 1;
    desc.distribution.grid[1] = tacit_num_nodes(ctx) < 8 ? tacit_num_nodes(ctx) : 8;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &B));
    if (tacit_num_nodes(ctx) > 1) {
        says(ctx, tacit_buffer_resize(ctx, B, TACIT_RANGE(4, 1)), TACIT_ERROR_RANGE, "only 1 blocks");
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got)); /* it is as it was */
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, B));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
    says(ctx, tacit_buffer_resize(ctx, A, TACIT_RANGE(3)), TACIT_ERROR_STATE, "destroyed");
}

const program programs[] = {
    { .name = "nodes_get_equal_sums", .run = nodes_get_equal_sums },
    { .name = "heavy_items", .run = heavy_items },
    { .name = "equal_weights_move_nothing", .run = equal_weights_move_nothing },
    { .name = "with_other_mappers", .run = with_other_mappers },
    { .name = "grows_and_shrinks", .run = grows_and_shrinks },
    { .name = "many_dimensions", .run = many_dimensions },
    { .name = "holes_stay", .run = holes_stay },
    { .name = "descriptions_come_again", .run = descriptions_come_again },
    { .name = "owners_follow", .run = owners_follow },
    { .name = "refused_weights", .run = refused_weights },
    { .name = "refused_extents", .run = refused_extents },
};
const size_t program_count = TI_COUNT(programs);

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = { PROGRAM_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
