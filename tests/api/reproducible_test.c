/* Reductions with tacit_config.reproducible: the same bits on any number of nodes, devices and workers, and in all
 * modes; and other bits somewhere without it, for otherwise the first test could not fail. Without it, floating-point
 * sums keep to the bound of the standard analysis. */
#include "reproducible.h"

#include "api/context.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const int node_counts[] = { 1, 2, 3, 4, 7 };

static tacit_config config_of(int mode, int workers, const char *devices)
{
    static const int progress[] = { TACIT_PROGRESS_DEFAULT, TACIT_PROGRESS_SHARED, TACIT_PROGRESS_THREAD };
    return (tacit_config){ .threads = mode == 0 ? TACIT_THREADS_INLINE : TACIT_THREADS_ON,
                           .progress = progress[mode],
                           .workers = workers,
                           .host_devices = devices };
}

/* ---- with it */

static void expect_reference(int nodes, const tacit_config *config, const results *expected)
{
    static results all[MOST_NODES];
    tacit_config reproducible = *config;
    reproducible.reproducible = 1;
    cluster_run(&(cluster){ .nodes = nodes, .config = &reproducible, .program = reductions, .user = all });
    for (int r = 0; r < nodes; r++) {
        int at = difference(expected, &all[r]);
        if (at >= 0) {
            fail_msg("%d nodes of %d workers, devices %s: node %d differs in byte %d", nodes, config->workers,
                     config->host_devices ? config->host_devices : "1", r, at);
        }
    }
}

static void same_bits_everywhere(void **state)
{
    (void)state;
    static const char *const devices[] = { NULL, "2", "3", "2:discrete", "3:discrete" };
    results expected;
    reference(&expected);
    for (size_t n = 0; n < TI_COUNT(node_counts); n++) {
        for (size_t d = 0; d < TI_COUNT(devices); d++) {
            tacit_config inlined = config_of(0, 1, devices[d]);
            expect_reference(node_counts[n], &inlined, &expected);
            for (int workers = 1; workers <= 4; workers++) {
                /* Workers are divided among the devices. */
                tacit_config config = config_of(1 + (workers + (int)n) % 2, d ? 2 * workers : workers, devices[d]);
                expect_reference(node_counts[n], &config, &expected);
            }
        }
    }
}

/* The tree that doc/model.md describes, by plain recursion over blocks of 40 items. */
static double sum_of_blocks(size_t first, size_t length)
{
    enum { BLOCK = 40 };
    if (length > 1) {
        double left = sum_of_blocks(first, length / 2);
        return (first + length / 2) * BLOCK < DATA ? left + sum_of_blocks(first + length / 2, length / 2) : left;
    }
    double sum = 0;
    for (size_t i = first * BLOCK; i < (first + 1) * BLOCK && i < DATA; i++) {
        sum += datum(64 * i % DATA);
    }
    return sum;
}

static void the_tree(void **state)
{
    (void)state;
    results found;
    double sum;
    reference(&found);
    memcpy(&sum, found.bytes, sizeof(sum)); /* of the first shape */
    assert_true(sum == sum_of_blocks(0, 256));
}

/* ---- what it costs */

enum { COUNTS = 100000, COUNTED = 1000 };

/* In inline mode kernels run inside a call of tacit, in the same thread, so that this one may look at the counters. */
static void note_memory(const tacit_launch *k)
{
    tacit_counters c;
    uint64_t *most = *(uint64_t *const *)k->args;
    ti_runtime_counters(k->context->runtime, &c);
    *most = TI_MAX(*most, c.buffer_bytes);
    most[1]++;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(double, k->view[0], i) += 1;
    }
}

/* 250 blocks are combined in 14 slots. */
static void few_slots(void **state)
{
    (void)state;
    tacit_config config = { .threads = TACIT_THREADS_INLINE, .reproducible = 1 };
    tacit_context *ctx;
    tacit_buffer *b;
    uint64_t seen[2] = { 0, 0 }, *seen_at = seen;
    static double found[COUNTS];
    assert_int_equal(tacit_init(&config, &ctx), TACIT_OK);
    tacit_buffer_desc desc = { .name = "counts", .range = TACIT_RANGE(COUNTS), .elem_size = sizeof(double) };
    assert_int_equal(tacit_buffer_create(ctx, &desc, &b), TACIT_OK);
    tacit_task task = { .name = "count",
                        .range = TACIT_RANGE(COUNTED),
                        .kernel = { .host = note_memory },
                        TACIT_ARGS(seen_at),
                        .access = { tacit_reduce(b, tacit_sum(TACIT_DOUBLE)) } };
    assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    assert_int_equal(tacit_fence_read(ctx, b, TACIT_BOX_ALL, found), TACIT_OK);
    for (size_t i = 0; i < COUNTS; i++) {
        assert_true(found[i] == (i < COUNTED ? 1.0 : 0.0));
    }
    assert_int_equal(seen[1], 250);                   /* calls: blocks of 4 items */
    assert_true(seen[0] <= sizeof(found) * (1 + 14)); /* the buffer itself, and slots */
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* ---- without it */

static void other_bits_without_it(void **state)
{
    (void)state;
    static results all[TI_COUNT(node_counts)][MOST_NODES];
    bool differs = false;
    for (size_t n = 0; n < TI_COUNT(node_counts); n++) {
        tacit_config config = config_of(0, 1, NULL);
        cluster_run(&(cluster){ .nodes = node_counts[n], .config = &config, .program = reductions, .user = all[n] });
        for (int r = 1; r < node_counts[n]; r++) {
            assert_int_equal(difference(&all[n][0], &all[n][r]), -1); /* all nodes of a run agree */
        }
        differs = differs || difference(&all[0][0], &all[n][0]) >= 0;
    }
    assert_true(differs);
}

/* Items are whole numbers, so that their exact sum is known; they are too large for the sums to be exact. */
enum { ITEMS = 1009, LANE_COUNT = 3 };

static int64_t whole(size_t i, size_t lane, bool is_float)
{
    int64_t x = (int64_t)(((i + 1) * 0x9e3779b97f4a7c15u) >> 11) - ((int64_t)1 << 52); /* 53 bits with the sign */
    x = x ^ (int64_t)lane;
    return is_float ? x >> 30 : x;
}

static void add_whole(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t lane = 0; lane < LANE_COUNT; lane++) {
            TACIT_AT1(double, k->view[0], lane) += (double)whole(i, lane, false);
            TACIT_AT1(float, k->view[1], lane) += (float)whole(i, lane, true);
        }
    }
}

/* |found - exact| <= (n - 1) u / (1 - (n - 1) u) sum |x_i| for any order of the n - 1 additions. */
static bool is_within_bound(double found, size_t lane, bool is_float, double *error)
{
    const double unit_roundoff = is_float ? ldexp(1, -24) : ldexp(1, -53), nu = (ITEMS - 1) * unit_roundoff;
    int64_t exact = 0, sizes = 0; /* 1009 times 2^52 is less than 2^63 */
    for (size_t i = 0; i < ITEMS; i++) {
        int64_t x = whole(i, lane, is_float);
        exact += x;
        sizes += x < 0 ? -x : x;
    }
    int64_t difference = (int64_t)found - exact; /* sums of whole numbers stay whole */
    *error = (double)(difference < 0 ? -difference : difference);
    return *error <= nu / (1 - nu) * (double)sizes;
}

static void sum_whole(tacit_context *ctx, void *user)
{
    tacit_buffer *d, *f;
    double sums[LANE_COUNT], error;
    float float_sums[LANE_COUNT];
    bool *inexact = user;
    tacit_buffer_desc desc = { .name = "sums", .range = TACIT_RANGE(LANE_COUNT), .elem_size = sizeof(double) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &d));
    desc.elem_size = sizeof(float);
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &f));
    REQUIRE_OK(ctx, tacit_submit(ctx, (&(tacit_task){ .name = "sum",
                                                      .range = TACIT_RANGE(ITEMS),
                                                      .kernel = { .host = add_whole },
                                                      .access = { tacit_reduce(d, tacit_sum(TACIT_DOUBLE)),
                                                                  tacit_reduce(f, tacit_sum(TACIT_FLOAT)) } })));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, d, TACIT_BOX_ALL, sums));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, f, TACIT_BOX_ALL, float_sums));
    for (size_t lane = 0; lane < LANE_COUNT; lane++) {
        REQUIRE(is_within_bound(sums[lane], lane, false, &error));
        if (tacit_node(ctx) == 0 && error > 0) {
            *inexact = true;
        }
        REQUIRE(is_within_bound((double)float_sums[lane], lane, true, &error));
        /* The bound is so small that it notices one item too few. */
        REQUIRE(!is_within_bound(sums[lane] - (double)whole(ITEMS / 2, lane, false), lane, false, &error));
    }
}

static void bounded_error(void **state)
{
    (void)state;
    bool inexact = false;
    for (int reproducible = 0; reproducible < 2; reproducible++) {
        for (int nodes = 1; nodes <= 7; nodes++) {
            tacit_config config = config_of(nodes % 3, 1 + nodes % 4, nodes % 2 ? "2:discrete" : NULL);
            config.reproducible = reproducible;
            cluster_run(&(cluster){ .nodes = nodes, .config = &config, .program = sum_whole, .user = &inexact });
        }
    }
    assert_true(inexact); /* there was something to be bounded */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits_everywhere), cmocka_unit_test(the_tree),
                                        cmocka_unit_test(few_slots), cmocka_unit_test(other_bits_without_it),
                                        cmocka_unit_test(bounded_error) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
