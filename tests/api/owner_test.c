/* Owners of a buffer's parts: local contents in and out, tasks placed with them, and that nobody holds more than its
 * part. `owner_test PROGRAM` runs one program only. */
#include "programs.h"

enum { SIDE = 12, TILE = 2, TILES = SIDE / TILE };

/* What an element of the SIDE x SIDE buffers begins with. */
static int start_value(size_t i, size_t j)
{
    return (int)(100 * i + j);
}

/* The node's own elements in row-major order: its local array. NULL if it owns nothing. */
static int *local_values(tacit_context *ctx, const tacit_distribution *d, size_t *count)
{
    tacit_range local, whole = TACIT_RANGE(SIDE, SIDE);
    REQUIRE_OK(ctx, tacit_distribution_local(ctx, d, whole, tacit_node(ctx), NULL, &local));
    *count = 0;
    int *values = malloc(SIDE * SIDE * sizeof(int));
    for (size_t i = 0; i < SIDE; i++) {
        for (size_t j = 0; j < SIDE; j++) {
            int owner;
            REQUIRE_OK(ctx, tacit_distribution_owner(ctx, d, whole, i, j, 0, &owner));
            if (owner == tacit_node(ctx)) {
                values[(*count)++] = start_value(i, j);
            }
        }
    }
    REQUIRE(*count == local.size[0] * local.size[1]);
    return values;
}

static tacit_buffer *distributed(tacit_context *ctx, const char *name, const tacit_distribution *d, const int *values)
{
    tacit_buffer *b;
    tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(SIDE, SIDE), .elem_size = sizeof(int) };
    desc.distribution = *d;
    desc.init_local = values;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    return b;
}

static void add_one(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) TACIT_AT2(int, k->view[0], i, j)++;
}

static void copy_all(const tacit_launch *k)
{
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        TACIT_AT2(int, k->view[1], i / SIDE, i % SIDE) = TACIT_GET2(int, k->view[0], i / SIDE, i % SIDE);
    }
}

static tacit_counters counters_of(tacit_context *ctx)
{
    tacit_counters c;
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    return c;
}

/* In, a step where it lies, out: nothing is sent, and no node has more than its own part. */
static void stays_at_home(tacit_context *ctx, const tacit_distribution *d, int split)
{
    size_t count;
    int *values = local_values(ctx, d, &count), *got = malloc(SIDE * SIDE * sizeof(int));
    tacit_counters before = counters_of(ctx);
    tacit_buffer *A = distributed(ctx, "A", d, values);
    SUBMIT(ctx, .name = "add", .range = TACIT_RANGE(SIDE, SIDE), KERNEL(add_one), .hint = { .split = split },
           .access = { tacit_update(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_local(ctx, A, count ? got : NULL));
    for (size_t i = 0; i < count; i++) {
        REQUIRE(got[i] == values[i] + 1);
    }
    tacit_counters after = counters_of(ctx);
    REQUIRE(after.messages_sent == before.messages_sent && after.messages_received == before.messages_received);
    REQUIRE(after.reallocations == before.reallocations);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
    free(values);
    free(got);
}

static void blocks_match_splits(tacit_context *ctx, void *user)
{
    (void)user;
    stays_at_home(ctx, &(tacit_distribution){ 0 }, TACIT_SPLIT_1D);
    if (tacit_num_nodes(ctx) == 4) {
        stays_at_home(ctx, &(tacit_distribution){ .grid = { 2, 2 } }, TACIT_SPLIT_2D);
    }
}

/* One task per tile, placed with its owner, as in dense linear algebra. */
static void tiles_run_with_their_owners(tacit_context *ctx, void *user)
{
    (void)user;
    size_t count;
    int nodes = tacit_num_nodes(ctx);
    tacit_distribution d = { .kind = TACIT_DISTRIBUTE_CYCLIC, .block = { TILE, TILE } };
    d.grid[0] = nodes >= 4 ? 2 : 1;
    d.grid[1] = nodes >= 4 ? nodes / 2 : nodes;
    int *values = local_values(ctx, &d, &count), *got = malloc(SIDE * SIDE * sizeof(int));
    tacit_counters before = counters_of(ctx);
    tacit_buffer *A = distributed(ctx, "A", &d, values);
    for (size_t t = 0; t < TILES * TILES; t++) {
        size_t i = t / TILES * TILE, j = t % TILES * TILE;
        SUBMIT(ctx, .name = "tile", .range = TACIT_RANGE(TILE, TILE), .offset = { i, j }, KERNEL(add_one),
               .place = tacit_place_owner(0), .access = { tacit_update(A, tacit_one_to_one()) });
    }
    REQUIRE_OK(ctx, tacit_fence_local(ctx, A, count ? got : NULL));
    tacit_counters after = counters_of(ctx);
    REQUIRE(after.messages_sent == before.messages_sent);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(got[i] == values[i] + 1);
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        REQUIRE(got[i] == start_value(i / SIDE, i % SIDE) + 1);
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
    free(values);
    free(got);
}

/* What a fresh context holds after local contents went in and out: this node's part, no more. */
static void nobody_holds_the_whole(tacit_context *ctx, void *user)
{
    (void)user;
    const tacit_distribution cyclic = { .kind = TACIT_DISTRIBUTE_CYCLIC,
                                        .block = { TILE, TILE },
                                        .grid = { 1, tacit_num_nodes(ctx) } };
    const tacit_distribution *each[] = { &(tacit_distribution){ 0 }, &cyclic };
    for (size_t k = 0; k < TI_COUNT(each); k++) {
        size_t count;
        int *values = local_values(ctx, each[k], &count), *got = malloc(SIDE * SIDE * sizeof(int));
        uint64_t before = counters_of(ctx).buffer_bytes;
        tacit_buffer *A = distributed(ctx, "A", each[k], values);
        REQUIRE_OK(ctx, tacit_fence_local(ctx, A, count ? got : NULL));
        REQUIRE(memcmp(got, values, count * sizeof(int)) == 0);
        REQUIRE(counters_of(ctx).buffer_bytes == before + count * sizeof(int));
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
        free(values);
        free(got);
    }
}

/* Contents that moved come home in a local fence, also to another distribution's owners. */
static void moved_data_comes_home(tacit_context *ctx, void *user)
{
    (void)user;
    size_t count, columns;
    const tacit_distribution rows = { 0 }, by_column = { .grid = { 1, TI_MIN(tacit_num_nodes(ctx), SIDE) } };
    int *values = local_values(ctx, &rows, &count), *expected = local_values(ctx, &by_column, &columns);
    int *got = malloc(SIDE * SIDE * sizeof(int));
    tacit_buffer *A = distributed(ctx, "A", &rows, values), *B;
    tacit_buffer_desc desc = { .name = "B", .range = TACIT_RANGE(SIDE, SIDE), .elem_size = sizeof(int) };
    desc.distribution = by_column;
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &B));
    SUBMIT(ctx, .name = "elsewhere", .range = TACIT_RANGE(SIDE, SIDE), KERNEL(add_one),
           .place = tacit_place_node(tacit_num_nodes(ctx) - 1), .access = { tacit_update(A, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "copy", .range = TACIT_RANGE(SIDE * SIDE), KERNEL(copy_all), .place = tacit_place_owner(1),
           .access = { tacit_read(A, tacit_all()), tacit_write(B, tacit_all()) });
    REQUIRE_OK(ctx, tacit_fence_local(ctx, A, count ? got : NULL));
    for (size_t i = 0; i < count; i++) {
        REQUIRE(got[i] == values[i] + 1);
    }
    REQUIRE_OK(ctx, tacit_fence_local(ctx, B, columns ? got : NULL));
    for (size_t i = 0; i < columns; i++) {
        REQUIRE(got[i] == expected[i] + 1);
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, A));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, B));
    free(values);
    free(expected);
    free(got);
}

const program programs[] = {
    { "blocks_match_splits", blocks_match_splits, false },
    { "tiles_run_with_their_owners", tiles_run_with_their_owners, false },
    { "nobody_holds_the_whole", nobody_holds_the_whole, true },
    { "moved_data_comes_home", moved_data_comes_home, false },
};
const size_t program_count = TI_COUNT(programs);

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = { PROGRAM_TESTS };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
