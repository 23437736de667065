/* TACIT_BALANCE in whole runs: shares move from a slow node to the others at waits and in tacit_retune and nowhere
 * else, results are the same bit by bit, what was chosen can be repeated, and tasks with weights of their own keep
 * them. */
#include "api/balance.h"
#include "api/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 3, SLOW = 1, SHARE = BALANCE_ROWS / NODES };

typedef struct run {
    balance_notes notes[NODES];
    char said[400]; /* the choices of node 0 */
} run;

static void program(tacit_context *ctx, void *user)
{
    run *all = user;
    balance_notes *notes = &all->notes[tacit_node(ctx)];
    REQUIRE_OK(ctx, balance_program(ctx, notes));
    REQUIRE(balance_is_right(notes));
    if (tacit_node(ctx) == 0) {
        snprintf(all->said, sizeof(all->said), "%s", ti_strbuf_text(&ti_runtime_balance(ctx->runtime)->said));
    }
}

static void carry_out(run *all, const char *setting, int slow, bool waits, bool retunes)
{
    const tacit_config config = { .balance = setting, .workers = 1 };
    const cluster c = { .nodes = NODES, .config = &config, .program = program, .user = all };
    memset(all, 0, sizeof(*all));
    for (int i = 0; i < NODES; i++) {
        all->notes[i].slow = slow;
        all->notes[i].waits = waits;
        all->notes[i].retunes = retunes;
    }
    cluster_run(&c);
    for (int step = 0; step < BALANCE_STEPS; step++) {
        unsigned sum = 0;
        for (int i = 0; i < NODES; i++) {
            sum += all->notes[i].items[step];
        }
        assert_int_equal(sum, BALANCE_ROWS);
    }
}

static void expect_shares(const run *all, int from, int to, const unsigned char *share)
{
    for (int step = from; step < to; step++) {
        for (int i = 0; i < NODES; i++) {
            assert_int_equal(all->notes[i].items[step], share[i]);
        }
    }
}

static const unsigned char equal[] = { SHARE, SHARE, SHARE };

static void off_is_equal(void **state)
{
    (void)state;
    run all;
    carry_out(&all, NULL, -1, true, true);
    expect_shares(&all, 0, BALANCE_STEPS, equal);
    assert_string_equal(all.said, "");
}

/* The slow node has less than half of its share afterwards (a twentieth, were its rate measured without others on the
 * machine); the first choice comes with the wait after 16 tasks that take part, of which one is not a step. */
static void shares_move_at_a_wait(void **state)
{
    (void)state;
    run all, again;
    carry_out(&all, "auto", SLOW, true, false);
    expect_shares(&all, 0, 15, equal);
    for (int step = 15; step < BALANCE_STEPS; step++) {
        assert_true(all.notes[SLOW].items[step] < SHARE / 2);
        assert_true(all.notes[0].items[step] + all.notes[2].items[step] > 2 * SHARE);
    }
    assert_memory_equal(all.said, "16:", 3);
    carry_out(&again, all.said, -1, true, false);
    assert_string_equal(again.said, all.said);
    for (int i = 0; i < NODES; i++) {
        assert_memory_equal(again.notes[i].items, all.notes[i].items, sizeof(all.notes[i].items));
    }
}

/* Without a wait nothing is taken over, however many tasks there are. */
static void shares_stay_between_waits(void **state)
{
    (void)state;
    run all;
    carry_out(&all, "auto", SLOW, false, false);
    expect_shares(&all, 0, BALANCE_STEPS, equal);
    carry_out(&all, "auto", SLOW, false, true);
    expect_shares(&all, 0, BALANCE_STEPS / 2, equal);
    assert_true(all.notes[SLOW].items[BALANCE_STEPS / 2] < SHARE / 2);
    assert_memory_equal(all.said, "13:", 3);
}

/* Given ones count from the first task, others when they are due, and only for tasks that have none of their own. */
static void given_shares(void **state)
{
    (void)state;
    static const unsigned char first[] = { 28, 7, 7 }, later[] = { 6, 12, 24 };
    run all;
    carry_out(&all, "4,1,1/10:1,2,4", -1, true, false);
    expect_shares(&all, 0, 9, first);
    expect_shares(&all, 9, BALANCE_STEPS, later);
    for (int i = 0; i < NODES; i++) {
        const balance_notes *n = &all.notes[i];
        assert_int_equal(n->own_items[0], SHARE);
        assert_int_equal(n->own_items[1], i ? 1 : BALANCE_ROWS - 2);
        assert_int_equal(n->host_items, later[i]);
        assert_int_equal(n->plain, 2 * SHARE);
    }
    assert_string_equal(all.said, "0:4,1,1/10:1,2,4");
}

/* ---- weights of items and of nodes together */

static void count_items(const tacit_launch *k)
{
    int *const *count = k->args;
    **count += (int)(k->chunk.max[0] - k->chunk.min[0]);
}

static void weighed(tacit_context *ctx, void *user)
{
    int *count = (int *)user + tacit_node(ctx);
    uint64_t weight[60];
    tacit_weights *weights;
    for (uint64_t i = 0; i < 60; i++) {
        weight[i] = i < 20 ? 4 : 1; /* 120 in all */
    }
    REQUIRE_OK(ctx, tacit_weights_create(ctx, 60, weight, &weights));
    const tacit_task task = { .name = "weighed",
                              .range = TACIT_RANGE(60),
                              .kernel.host = count_items,
                              TACIT_ARGS(count),
                              .hint = { .item_weights = weights, .whole_chunk = true } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &task));
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

static void with_weights_of_items(void **state)
{
    (void)state;
    const tacit_config config = { .balance = "1,1,2", .workers = 1 };
    int count[NODES] = { 0 };
    cluster_run(&(cluster){ .nodes = NODES, .config = &config, .program = weighed, .user = count });
    assert_true(count[0] == 30 / 4 + 1 || count[0] == 30 / 4); /* sums of 30, 30 and 60 */
    assert_true(count[1] == 7 || count[1] == 8);
    assert_int_equal(count[0] + count[1] + count[2], 60);
}

/* ---- buffers that get another extent: what tasks wrote by these shares is copied where it is */

static void one(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(int, k->view[0], i) = 1;
}

static void grows(tacit_context *ctx, void *user)
{
    tacit_buffer *a;
    tacit_counters c;
    (void)user;
    const tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(BALANCE_ROWS), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &a));
    const tacit_task task = { .name = "one",
                              .range = TACIT_RANGE(BALANCE_ROWS),
                              .kernel.host = one,
                              .access = { tacit_write(a, tacit_one_to_one()) } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &task));
    REQUIRE_OK(ctx, tacit_buffer_resize(ctx, a, TACIT_RANGE(2 * BALANCE_ROWS)));
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    REQUIRE(c.messages_sent == 0 && c.messages_received == 0 && c.collectives == 0);
}

static void resizes_move_nothing(void **state)
{
    (void)state;
    const tacit_config config = { .balance = "4,1,1", .workers = 1 };
    cluster_run(&(cluster){ .nodes = NODES, .config = &config, .program = grows });
}

/* ---- devices of a node: one of two is slow */

enum { ITEMS = 40, DEVICES = 2 };

typedef struct device_notes {
    int slow;                                 /* a device of node 0, or -1 */
    int items[NODES][BALANCE_STEPS][DEVICES]; /* that each has computed */
    char said[400];
} device_notes;

typedef struct device_args {
    device_notes *notes;
    int step;
} device_args;

static void add_on_device(const tacit_launch *k)
{
    const device_args *args = k->args;
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) += (int)i;
        if (k->node == 0 && k->worker == args->notes->slow) {
            balance_take_time(true);
        }
    }
    __atomic_fetch_add(&args->notes->items[k->node][args->step][k->worker], (int)(k->chunk.max[0] - k->chunk.min[0]),
                       __ATOMIC_RELAXED);
}

static void on_devices(tacit_context *ctx, void *user)
{
    device_notes *notes = user;
    int zero[ITEMS] = { 0 }, got[ITEMS];
    tacit_buffer *a;
    const tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zero };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &a));
    for (int step = 0; step < BALANCE_STEPS; step++) {
        const device_args args = { notes, step };
        REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "add",
                                                         .range = TACIT_RANGE(ITEMS),
                                                         .kernel.host = add_on_device,
                                                         TACIT_ARGS(args),
                                                         .access = { tacit_update(a, tacit_one_to_one()) } }));
        REQUIRE_OK(ctx, tacit_wait(ctx));
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, a, TACIT_BOX_ALL, got));
    for (int i = 0; i < ITEMS; i++) {
        REQUIRE(got[i] == BALANCE_STEPS * i);
    }
    if (tacit_node(ctx) == 0) {
        snprintf(notes->said, sizeof(notes->said), "%s", ti_strbuf_text(&ti_runtime_balance(ctx->runtime)->said));
    }
}

static void measure_devices(device_notes *notes, int nodes, const char *setting, int slow)
{
    const tacit_config config = { .balance = setting, .workers = DEVICES, .host_devices = "2:discrete" };
    *notes = (device_notes){ .slow = slow };
    cluster_run(&(cluster){ .nodes = nodes, .config = &config, .program = on_devices, .user = notes });
}

/* The slow device has less than half of its share after the first choice, and would have a twentieth. */
static void shares_move_between_devices(void **state)
{
    (void)state;
    static device_notes notes, again;
    measure_devices(&notes, 1, "auto", 1);
    for (int step = 0; step < BALANCE_STEPS; step++) {
        const int *items = notes.items[0][step];
        assert_int_equal(items[0] + items[1], ITEMS);
        assert_true(step < 16 ? items[1] == ITEMS / 2 : items[1] < ITEMS / 4);
    }
    assert_memory_equal(notes.said, "16:1000=1000+", 13);
    measure_devices(&again, 1, notes.said, -1);
    assert_string_equal(again.said, notes.said);
    assert_memory_equal(again.items, notes.items, sizeof(notes.items));
    measure_devices(&again, 1, "off", 1);
    assert_int_equal(again.items[0][BALANCE_STEPS - 1][1], ITEMS / 2);
}

/* On two nodes, of which the first has a slow device: both levels at once, and the same again. Which shares come of
 * which times is for balance_test, by numbers: how busy the machine is moves them here. */
static void devices_and_nodes(void **state)
{
    (void)state;
    static device_notes notes, again;
    measure_devices(&notes, 2, "auto", 0);
    const int *first = notes.items[0][BALANCE_STEPS - 1], *second = notes.items[1][BALANCE_STEPS - 1];
    assert_int_equal(first[0] + first[1] + second[0] + second[1], ITEMS);
    measure_devices(&again, 2, notes.said, -1);
    assert_string_equal(again.said, notes.said);
    assert_memory_equal(again.items, notes.items, sizeof(notes.items));
}

/* Given ones, in place of those of TACIT_DEVICES; and nodes that say nothing keep these. */
static void given_to_devices(void **state)
{
    (void)state;
    static device_notes notes;
    measure_devices(&notes, 2, "1=3+1,1/10:1,1=1+4", -1);
    assert_int_equal(notes.items[0][9][0], 15);
    assert_int_equal(notes.items[1][9][0], 10);
    assert_int_equal(notes.items[0][10][0], 10);
    assert_int_equal(notes.items[1][10][0], 4);
}

/* ---- settings that cannot be, and dry runs */

static void refused(void **state)
{
    (void)state;
    static const char *const settings[][2] = { { "2,1", "has 2 weights where there are 3 nodes" },
                                               { "2,1,x", "must be off, auto, or one weight" },
                                               { "2,1=1+2,1", "for the devices of node 1, but 1 share its work" },
                                               { "auto:2", "must be off, auto, or one weight" } };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        tacit_context *ctx;
        const tacit_config config = { .dry_run = "3", .balance = settings[i][0] };
        assert_int_equal(tacit_init(&config, &ctx), TACIT_ERROR_CONFIG);
        assert_null(ctx);
        assert_non_null(strstr(tacit_last_error(NULL), settings[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_is_equal),
        cmocka_unit_test(shares_move_at_a_wait),
        cmocka_unit_test(shares_stay_between_waits),
        cmocka_unit_test(given_shares),
        cmocka_unit_test(with_weights_of_items),
        cmocka_unit_test(resizes_move_nothing),
        cmocka_unit_test(shares_move_between_devices),
        cmocka_unit_test(devices_and_nodes),
        cmocka_unit_test(given_to_devices),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
