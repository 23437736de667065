/* Tests of TACIT_LATENCY=auto (run/tune.h): what is chosen for which costs, and which texts mean something. */
#include "run/tune.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int best(ti_tune_costs costs)
{
    ti_tune_choice fastest, b = ti_tune_best(&costs, &fastest);
    const ti_tune_choice none = { 0, false };
    assert_true(b.tasks == 0 || (b.tasks == fastest.tasks && b.staged == fastest.staged));
    assert_true(b.tasks == 0 || ti_tune_time(&costs, b) < 0.9 * ti_tune_time(&costs, none));
    assert_true(fastest.tasks == 0 || b.tasks || ti_tune_time(&costs, fastest) >= 0.9 * ti_tune_time(&costs, none));
    return b.tasks;
}

/* One dimension, rows of one item, and nothing to hide latency behind: the optimum of the formula is sqrt(a / g). */
static void follows_the_formula(void **state)
{
    (void)state;
    for (int b = 2; b <= TI_TUNE_MOST_TASKS; b *= 2) {
        const double item = 1, latency = (double)b * b; /* so the formula says b */
        ti_tune_costs c = { .latency = latency, .item = item, .items = 1, .row = 1, .messages = 1, .rows = 1000 };
        assert_int_equal(best(c), b);
    }
}

/* Nothing is chosen that saves less than a tenth, or for which there is no reason. */
static void stays_off(void **state)
{
    (void)state;
    const ti_tune_costs pays = { .latency = 1e6, .item = 1, .items = 1e5, .row = 100, .messages = 2, .rows = 1000 };
    assert_int_equal(best(pays), 16);
    ti_tune_costs c = pays;
    c.messages = 0;
    assert_int_equal(best(c), 0);
    c = pays;
    c.item = 0; /* no kernel was measured */
    assert_int_equal(best(c), 0);
    c = pays;
    c.latency = 9000; /* of 109000 */
    assert_int_equal(best(c), 0);
    c = pays;
    c.row = 1e6;
    assert_int_equal(best(c), 0);
}

/* What overlaps without windows needs none until latency exceeds the work of a task. */
static void latency_that_is_hidden(void **state)
{
    (void)state;
    ti_tune_costs c = { .latency = 5e4, .item = 1, .items = 1e5, .row = 1, .messages = 1, .cut = 1, .rows = 100000 };
    assert_int_equal(best(c), 0);
    c.cut = 0;
    assert_true(best(c) > 1);
    c.launches = 1e5; /* which windows need */
    assert_int_equal(best(c), 0);
    c.cut = 1; /* and others, too */
    c.latency = 2e5;
    assert_true(best(c) > 1);
}

/* Stages compute less; copies are what they cost. */
static void strategies(void **state)
{
    (void)state;
    ti_tune_choice choice;
    ti_tune_costs c = { .latency = 1e6, .item = 10, .items = 1e4, .row = 100, .messages = 1, .rows = 100 };
    c.launches = TI_TUNE_LAUNCHES;
    c.copies = TI_TUNE_COPIES;
    assert_true(ti_tune_best(&c, &choice).staged);
    c.row = 1;
    assert_false(ti_tune_best(&c, &choice).staged);
    c.row = 100;
    c.rows = 15; /* too few for stages of four tasks */
    assert_false(ti_tune_best(&c, &choice).staged);
}

/* Margins must fit into chunks, twice. */
static void chunks_bound_windows(void **state)
{
    (void)state;
    ti_tune_costs c = { .latency = 1e6, .item = 1, .items = 10, .row = 1, .messages = 1 };
    static const int64_t rows[] = { 0, 3, 4, 7, 8, 16, 31, 32 };
    static const int expected[] = { 0, 0, 2, 2, 4, 8, 8, 16 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        c.rows = rows[i];
        assert_int_equal(best(c), expected[i]);
    }
}

static void texts(void **state)
{
    (void)state;
    static const char *const good[] = { "auto",          "auto:off",
                                        "auto:8",        "auto:off,2,16,off",
                                        "auto:staged:4", "auto:off,staged:16,8" };
    static const char *const bad[] = {
        "",        "off",     "halo",        "halo:4",       "aut",           "automatic",
        "auto:",   "auto:1",  "auto:17",     "auto:8,",      "auto:,",        "auto:8 ,4",
        "auto:on", "auto:-2", "auto:staged", "auto:staged:", "auto:staged:1", "auto:staged:off"
    };
    const char *list;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(ti_tune_parse(good[i], &list));
        assert_true((list != NULL) == (strlen(good[i]) > 4));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(ti_tune_parse(bad[i], &list));
    }
    assert_false(ti_tune_parse(NULL, &list));
}

/* ---- the latency that is measured, by a clock that goes on where a barrier takes its time */

static uint64_t fake_ns;
static const uint64_t *lasts; /* how long barriers take, in turns of two */
static int barriers;

int clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    *out = (struct timespec){ .tv_sec = (time_t)(fake_ns / 1000000000u), .tv_nsec = (long)(fake_ns % 1000000000u) };
    return 0;
}

static void fake_barrier(ti_comm *comm, uint64_t token)
{
    (void)comm;
    (void)token;
    fake_ns += lasts[barriers++ % 2];
}

static int fake_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    (void)comm;
    assert_true(max > 0);
    tokens[0] = 0;
    return 1;
}

static int64_t fake_sum(ti_comm *comm, int64_t value)
{
    return comm->num_nodes * value;
}

/* A node that comes to a barrier after all others finds their messages there, and waits twice as long in the next. */
static void nodes_that_are_late_measure_the_same(void **state)
{
    static const uint64_t ways[][2] = { { 500000, 500000 }, { 9000, 991000 }, { 991000, 9000 }, { 300000, 700000 } };
    static const ti_comm_ops ops = { .barrier = fake_barrier, .poll = fake_poll, .sum = fake_sum };
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        for (int nodes = 2; nodes <= 5; nodes += 3) { /* of five, three messages come after each other */
            ti_comm comm = { .ops = &ops, .num_nodes = nodes };
            ti_system system = { .num_nodes = nodes };
            ti_lock lock[2] = { { 0 }, { 0 } }, *const locks[2] = { &lock[0], &lock[1] };
            ti_tune tune = { .on = false };
            lasts = ways[i];
            barriers = 0;
            ti_tune_init(&tune, "auto", &comm, &system, locks);
            assert_true(tune.on && tune.latency > 500000 / (nodes > 2 ? 3 : 1) - 2);
            assert_true(tune.latency < 500000 / (nodes > 2 ? 3 : 1) + 2);
            ti_tune_fini(&tune);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_formula),
        cmocka_unit_test(stays_off),
        cmocka_unit_test(latency_that_is_hidden),
        cmocka_unit_test(strategies),
        cmocka_unit_test(chunks_bound_windows),
        cmocka_unit_test(texts),
        cmocka_unit_test(nodes_that_are_late_measure_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
