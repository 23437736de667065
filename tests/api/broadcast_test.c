/* Contents that placed tasks on several nodes read: what comes, how often it travels, and what is counted.
 * `broadcast_test PROGRAM` runs one program only. */
#include "effort.h"
#include "programs.h"

#include <time.h>

enum { ROUNDS = 30, LONG = EFFORT(3000, 800) };

typedef struct round_args {
    int round;
} round_args;

static int round_of(const tacit_launch *k)
{
    return ((const round_args *)k->args)->round;
}

static int element(int round, size_t i)
{
    return round * 1000 + (int)(i % 97);
}

/* Views: ints. */
static void write_ints(const tacit_launch *k)
{
    for (size_t i = k->view[0].box.min[0]; i < k->view[0].box.max[0]; i++) {
        TACIT_AT1(int, k->view[0], i) = element(round_of(k), i);
    }
}

static void check_ints(const tacit_launch *k)
{
    for (size_t i = k->view[0].box.min[0]; i < k->view[0].box.max[0]; i++) {
        REQUIRE(TACIT_GET1(int, k->view[0], i) == element(round_of(k), i));
    }
}

/* Views: doubles, chars. */
static void write_both(const tacit_launch *k)
{
    for (size_t i = 0; i < LONG; i++) {
        TACIT_AT1(double, k->view[0], i) = element(round_of(k), i) + 0.5;
        TACIT_AT1(signed char, k->view[1], i) = (signed char)(element(round_of(k), i) % 100);
    }
}

static void check_both(const tacit_launch *k)
{
    for (size_t i = 0; i < LONG; i++) {
        REQUIRE(TACIT_GET1(double, k->view[0], i) == element(round_of(k), i) + 0.5);
        REQUIRE(TACIT_GET1(signed char, k->view[1], i) == (signed char)(element(round_of(k), i) % 100));
    }
}

static void take_time(const tacit_launch *k)
{
    TACIT_AT1(int, k->view[0], k->view[0].box.min[0]) = round_of(k);
    nanosleep(&(struct timespec){ .tv_nsec = 5 * 1000 * 1000 }, NULL);
}

static tacit_counters counters_of(tacit_context *ctx)
{
    tacit_counters c;
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    return c;
}

/* What the node has sent since: so many messages, of so many versions that several nodes got. */
static void expect_sent(tacit_context *ctx, const tacit_counters *before, uint64_t messages, uint64_t versions)
{
    const uint64_t nodes = (uint64_t)tacit_num_nodes(ctx), others = tacit_node(ctx) == 0 ? nodes - 1 : 0;
    tacit_counters now = counters_of(ctx);
    REQUIRE(now.messages_sent - before->messages_sent == messages * others);
    REQUIRE(now.shared_versions - before->shared_versions == (others > 1 ? versions : 0));
    REQUIRE(now.shared_versions_late - before->shared_versions_late <= (others > 1 ? versions : 0));
}

/* One task writes two buffers of different types, both are read everywhere, and both are written again while that is
 * under way. */
static void two_types(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *a = make(ctx, "doubles", TACIT_RANGE(LONG), sizeof(double), NULL),
                 *b = make(ctx, "chars", TACIT_RANGE(LONG), 1, NULL);
    tacit_counters before = counters_of(ctx);
    for (int r = 0; r < ROUNDS; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "write", KERNEL(write_both), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_all()), tacit_write(b, tacit_all()) });
        for (int n = 0; n < tacit_num_nodes(ctx); n++) {
            SUBMIT(ctx, .name = "check", KERNEL(check_both), TACIT_ARGS(args), .place = tacit_place_node(n),
                   .access = { tacit_read(a, tacit_all()), tacit_read(b, tacit_all()) },
                   .hint.priority = (n * r) % 5 - 2);
        }
    }
    expect_sent(ctx, &before, 2 * ROUNDS, 2 * ROUNDS);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b));
}

/* Several tasks of a node read the same: it comes once. */
static void several_tasks_of_a_node(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *a = ints(ctx, "a", LONG, NULL);
    tacit_counters before = counters_of(ctx);
    for (int r = 0; r < ROUNDS; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_all()) });
        for (int n = 0; n < 3 * tacit_num_nodes(ctx); n++) {
            SUBMIT(ctx, .name = "check", KERNEL(check_ints), TACIT_ARGS(args),
                   .place = tacit_place_node(n % tacit_num_nodes(ctx)), .access = { tacit_read(a, tacit_all()) });
        }
    }
    expect_sent(ctx, &before, ROUNDS, ROUNDS);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
}

/* Every second node wants half of it, so that whoever forwarded for others might lack bytes that they want. */
static void halves(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *a = ints(ctx, "a", LONG, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_all()) });
        for (int n = 0; n < tacit_num_nodes(ctx); n++) {
            const size_t begin = n % 3 == 1 ? LONG / 2 : 0, end = n % 3 == 2 ? LONG / 2 : LONG;
            SUBMIT(ctx, .name = "check", KERNEL(check_ints), TACIT_ARGS(args), .place = tacit_place_node(n),
                   .access = { tacit_read(a, tacit_fixed(tacit_box1(begin, end))) });
        }
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
}

/* One node is in a kernel for long whenever the data comes, and it is not read there before that kernel has ended. */
static void late_receiver(tacit_context *ctx, void *user)
{
    (void)user;
    const int nodes = tacit_num_nodes(ctx), slow = nodes / 2;
    tacit_buffer *a = ints(ctx, "a", LONG, NULL), *turn = ints(ctx, "turn", 1, NULL);
    for (int r = 0; r < ROUNDS / 3; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "take time", KERNEL(take_time), TACIT_ARGS(args), .place = tacit_place_node(slow),
               .access = { tacit_write(turn, tacit_all()) });
        SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_all()) });
        for (int n = 0; n < nodes; n++) {
            tacit_task check_it = { .name = "check",
                                    .kernel = { .host = check_ints },
                                    TACIT_ARGS(args),
                                    .place = tacit_place_node(n),
                                    .access = { tacit_read(a, tacit_all()) } };
            if (n == slow) {
                check_it.access[1] = tacit_read(turn, tacit_all());
            }
            REQUIRE_OK(ctx, tacit_submit(ctx, &check_it));
        }
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, turn));
}

/* Contents that nobody changes any more are read by node after node, with horizons in between: all messages are of one
 * version, and what is written in the end waits for all of them. */
static void read_for_long(tacit_context *ctx, void *user)
{
    (void)user;
    static const int zeros[64];
    tacit_buffer *a = ints(ctx, "a", LONG, NULL), *own = ints(ctx, "own", 64, zeros);
    tacit_counters before = counters_of(ctx);
    const int nodes = tacit_num_nodes(ctx), rounds = 3;
    for (int r = 0; r < rounds; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_all()) });
        for (int n = 0; n < nodes; n++) {
            SUBMIT(ctx, .name = "check", KERNEL(check_ints), TACIT_ARGS(args), .place = tacit_place_node(n),
                   .access = { tacit_read(a, tacit_all()) });
            for (int i = 0; i < 20; i++) { /* a long path: horizons */
                SUBMIT(ctx, .name = "go on", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(n),
                       .access = { tacit_update(own, tacit_fixed(tacit_box1((size_t)n, (size_t)n + 1))) });
            }
        }
    }
    expect_sent(ctx, &before, (uint64_t)rounds, (uint64_t)rounds);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, own));
}

/* ---- what is counted of runs that are set up for it */

/* Inline, too, all that reads a version is planned before it leaves, as far as the program may be ahead: a triangle of
 * tiles, each of which is read by its row and its column, as in a factorisation. */
static void triangle(tacit_context *ctx, void *user)
{
    enum { TILES = 9 };
    const int nodes = tacit_num_nodes(ctx);
    uint64_t *shared = user;
    tacit_buffer *a = ints(ctx, "a", TILES * TILES, NULL);
    tacit_counters before = counters_of(ctx);
    for (int k = 0; k < TILES; k++) {
        const round_args args = { k };
        for (int m = k; m < TILES; m++) {
            const size_t at = (size_t)(m * TILES + k);
            SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args),
                   .place = tacit_place_node((m + k) % nodes),
                   .access = { tacit_write(a, tacit_fixed(tacit_box1(at, at + 1))) });
        }
        for (int n = k; n < TILES; n++) {
            for (int m = k; m < TILES; m++) {
                const size_t at = (size_t)(m * TILES + k);
                SUBMIT(ctx, .name = "check", KERNEL(check_ints), TACIT_ARGS(args),
                       .place = tacit_place_node((m + n) % nodes),
                       .access = { tacit_read(a, tacit_fixed(tacit_box1(at, at + 1))) });
            }
        }
    }
    tacit_counters now = counters_of(ctx);
    REQUIRE(now.shared_versions_late == before.shared_versions_late);
    shared[tacit_node(ctx)] = now.shared_versions - before.shared_versions;
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
}

static void inline_nodes_find_whole_broadcasts(void **state)
{
    (void)state;
    for (int nodes = 3; nodes <= 6; nodes++) {
        const tacit_config config = { .threads = TACIT_THREADS_INLINE, .run_ahead = 100000 };
        uint64_t shared[6] = { 0 }, sum = 0;
        cluster_run(&(cluster){ .nodes = nodes, .config = &config, .program = triangle, .user = shared });
        for (int i = 0; i < nodes; i++) {
            sum += shared[i];
        }

        assert_true(sum > 20);
    }
}

/* Between machines, short payloads travel by planned trees, and long ones by what their sender finds. */
static void by_size(tacit_context *ctx, void *user)
{
    const size_t n = *(const size_t *)user;
    const uint64_t rounds = 4;
    tacit_buffer *a = ints(ctx, "a", n, NULL);
    for (int r = 0; r < (int)rounds; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_all()) });
        for (int q = 0; q < tacit_num_nodes(ctx); q++) {
            SUBMIT(ctx, .name = "check", KERNEL(check_ints), TACIT_ARGS(args), .place = tacit_place_node(q),
                   .access = { tacit_read(a, tacit_all()) });
        }
    }
    tacit_counters c = counters_of(ctx);
    const bool root = tacit_node(ctx) == 0, is_short = n <= LONG;
    REQUIRE(c.multicasts == (root && is_short ? rounds : 0) && c.multicast_recipients == 5 * c.multicasts);
    REQUIRE(!is_short || (c.broadcasts == 0 && c.relayed_bytes == 0)); /* trees are not merged into broadcasts */
    REQUIRE(c.shared_versions == (root ? rounds : 0) + (is_short ? c.multicast_forwards / 2 : 0));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
}

static void sizes_decide_between_machines(void **state)
{
    (void)state;
    const tacit_config config = { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 };
    size_t elements[] = { LONG, 40 * 65536 / sizeof(int) };
    for (size_t i = 0; i < TI_COUNT(elements); i++) {
        cluster_run(
            &(cluster){ .nodes = 6, .config = &config, .machines = true, .program = by_size, .user = &elements[i] });
    }
}

/* Tasks that are split send to all others by messages, also in programs that have placed tasks. */
static void split(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *a = ints(ctx, "a", LONG, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        const round_args args = { r };
        SUBMIT(ctx, .name = "note", KERNEL(write_ints), TACIT_ARGS(args), .place = tacit_place_node(0),
               .access = { tacit_write(a, tacit_fixed(tacit_box1(0, 1))) });
        SUBMIT(ctx, .name = "write", KERNEL(write_ints), TACIT_ARGS(args), .range = TACIT_RANGE(LONG),
               .access = { tacit_write(a, tacit_one_to_one()) });
        SUBMIT(ctx, .name = "check", KERNEL(check_ints), TACIT_ARGS(args), .range = TACIT_RANGE(LONG),
               .access = { tacit_read(a, tacit_all()) });
    }
    tacit_counters c = counters_of(ctx);
    REQUIRE(c.messages_sent == (uint64_t)(ROUNDS * (tacit_num_nodes(ctx) - 1)) && c.collectives == 0);
    REQUIRE(c.broadcasts == 0 && c.shared_versions == 0);
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
}

static void split_tasks_send_messages(void **state)
{
    (void)state;
    const tacit_config config = { .threads = TACIT_THREADS_ON,
                                  .workers = 1,
                                  .collectives = TACIT_COLLECTIVES_OFF,
                                  .broadcast = TACIT_BROADCAST_BINOMIAL };
    cluster_run(&(cluster){ .nodes = 5, .config = &config, .machines = true, .program = split });
}

const program programs[] = {
    { "two_types", two_types, false },
    { "several_tasks_of_a_node", several_tasks_of_a_node, false },
    { "halves", halves, false },
    { "late_receiver", late_receiver, false },
    { "read_for_long", read_for_long, false },
};
const size_t program_count = TI_COUNT(programs);

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = { PROGRAM_TESTS, cmocka_unit_test(inline_nodes_find_whole_broadcasts),
                                        cmocka_unit_test(sizes_decide_between_machines),
                                        cmocka_unit_test(split_tasks_send_messages) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
