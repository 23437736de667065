/* Weights of nodes and their devices (run/balance.h, run/shares.h): which ones are chosen for which rates, which
 * settings mean something, and that nodes that measure different things take the same. */
#include "run/balance.h"

#include "local_comm.h"
#include "random.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 12 };

static void in_proportion(void **state)
{
    (void)state;
    const uint64_t rate[] = { 4000, 1000, 0, 2000, 1 };
    const uint32_t now[] = { 7, 7, 7, 7, 7 };
    uint32_t weight[5];
    assert_true(ti_weigh(rate, now, 5, weight));
    const uint32_t expected[] = { 1000, 250, 438, 500, 1 }; /* the third is not known: the mean of the others, 1750 */
    assert_memory_equal(weight, expected, sizeof(expected));
}

static void changes_what_pays(void **state)
{
    (void)state;
    uint32_t weight[2];
    const struct {
        uint64_t rate[2];
        uint32_t now[2];
        bool pays;
    } cases[] = {
        { { 0, 0 }, { 1, 9 }, false },                           /* nothing was measured */
        { { 1, 1 }, { 1000, 1000 }, false },                     /* well as it is */
        { { 1, 1 }, { 3, 1 }, true },                            /* a wrong setting is found out */
        { { 100, 90 }, { 1000, 1000 }, false },                  /* would save 5 % */
        { { 100, 80 }, { 1000, 1000 }, true },                   /* 10 % */
        { { 100, 50 }, { 1000, 500 }, false },                   /* has been taken over */
        { { UINT64_MAX / 2, UINT64_MAX / 2 }, { 1, 1 }, false }, /* nothing overflows */
        { { UINT64_MAX / 2, 1 }, { 1000000, 1000000 }, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ti_weigh(cases[i].rate, cases[i].now, 2, weight), cases[i].pays);
        assert_true(weight[0] <= TI_SHARES_FULL && weight[1] <= TI_SHARES_FULL && weight[0] && weight[1]);
        assert_true(i == 0 || weight[0] == TI_SHARES_FULL || weight[1] == TI_SHARES_FULL);
    }
}

/* With weights in proportion to rates there is nothing to gain, whatever they are; and they are in proportion. */
static void random_rates(void **state)
{
    (void)state;
    rng r = rng_from(7);
    for (int round = 0; round < 2000; round++) {
        uint64_t rate[MOST];
        uint32_t now[MOST], first[MOST], second[MOST];
        int nodes = (int)rng_between(&r, 1, MOST), fastest = 0;
        for (int i = 0; i < nodes; i++) {
            rate[i] = (uint64_t)rng_between(&r, 1000, 30000) << rng_between(&r, 0, 2);
            now[i] = (uint32_t)rng_between(&r, 1, 1000);
            fastest = rate[i] > rate[fastest] ? i : fastest;
        }
        ti_weigh(rate, now, nodes, first);
        assert_false(ti_weigh(rate, first, nodes, second));
        assert_memory_equal(first, second, sizeof(first[0]) * (size_t)nodes);
        assert_int_equal(first[fastest], TI_SHARES_FULL);
        for (int i = 0; i < nodes; i++) {
            double exact = 1000.0 * (double)rate[i] / (double)rate[fastest];
            assert_true(first[i] + 0.5001 >= exact && first[i] - 0.5001 <= exact);
        }
    }
}

/* ---- settings */

static bool is_good(const char *setting, int nodes, const char *word)
{
    ti_strbuf why = { 0 };
    ti_balance b = { .on = false };
    const ti_system system = { .num_nodes = nodes, .devices = 3, .accelerators = 2, .idle_host = true };
    ti_comm *comm = ti_comm_dry_create(0, nodes);
    bool good = ti_balance_init(&b, setting, comm, &system, true, &why);
    assert_true(good == (why.length == 0));
    assert_true(good || strstr(ti_strbuf_text(&why), word));
    ti_balance_fini(&b);
    comm->ops->destroy(comm);
    ti_strbuf_fini(&why);
    return good;
}

static void settings(void **state)
{
    (void)state;
    static const char *const good[] = { "off",
                                        "auto",
                                        "2,1",
                                        "1000000,1",
                                        "0:1,2",
                                        "16:1,2",
                                        "1,2/16:1,2/17:3,4",
                                        "123456789012345:1,2",
                                        "2=8+1,1",
                                        "2,1=1000000+1",
                                        "1=1+2,1=3+4",
                                        "5:1=1+2,1/9:1,2=2+1" };
    static const char *const bad[] = { "",
                                       "on",
                                       "auto:1,2",
                                       "2,",
                                       ",2",
                                       "2,1,",
                                       "2 ,1",
                                       "0,1",
                                       "-1,1",
                                       "1000001,1",
                                       "1,2/",
                                       "/1,2",
                                       "1,2//3:1,2",
                                       "1,2/3,4",
                                       "9:1,2/9:1,2",
                                       "9:1,2/8:1,2",
                                       "x:1,2",
                                       ":1,2",
                                       "1:",
                                       "1:/2:1,2",
                                       "1.5,2",
                                       "1234567890123456:1,2",
                                       "1,2;3:1,2",
                                       "1=,2",
                                       "1=1+,2",
                                       "1+1,2",
                                       "1=0+1,2",
                                       "1=1+1=1,2",
                                       "1=1+1000001,2",
                                       "=1+1,2",
                                       "1,2=1+1-1" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(is_good(good[i], 2, ""));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (is_good(bad[i], 2, "must be off, auto, or one weight")) {
            fail_msg("'%s' means nothing", bad[i]);
        }
    }
    assert_true(is_good("3,1,2", 3, ""));
    assert_false(is_good("3,1,2", 2, "has 3 weights where there are 2 nodes"));
    assert_false(is_good("3,1/5:1", 2, "has 1 weights where there are 2 nodes"));
    assert_false(is_good("1,2=1+2+3", 2, "3 weights for the devices of node 1, but 2 share its work"));
    assert_false(is_good("1=1,2", 2, "1 weights for the devices of node 0, but 2 share its work"));
    assert_false(is_good("1,2/4:1=1,2", 2, "1 weights for the devices of node 0"));
    assert_true(is_good(NULL, 2, ""));
}

/* Weights of devices hold for the node that they are given for, until a choice without. */
static void devices_follow_lists(void **state)
{
    (void)state;
    ti_strbuf why = { 0 };
    ti_balance b = { .on = false };
    ti_system system = { .num_nodes = 2, .node = 1, .devices = 3, .weight = { 5, 6, 7 } };
    ti_comm *comm = ti_comm_dry_create(1, 2);
    ti_shape shape = { .balanced = true };
    const ti_task task = { .shape = &shape };
    assert_true(ti_balance_init(&b, "1=9+8+7,2/1:1=9+8+7,2=1+2+3/2:1,1", comm, &system, true, &why));
    system.shares = b.shares.weight;
    assert_null(ti_system_weights(&system, 0));
    system.node = 0;
    assert_int_equal(ti_system_weights(&system, 0)[1], 8);
    assert_int_equal(ti_system_weights(&system, 1)[1], 7);
    system.node = 1;
    ti_balance_note(&b, &task);
    assert_true(ti_balance_choose(&b));
    assert_int_equal(ti_system_weights(&system, 0)[2], 3);
    assert_string_equal(ti_strbuf_text(&b.said), "0:1=9+8+7,2/1:1=9+8+7,2=1+2+3");
    system.weighted = true;
    system.idle_host = true; /* devices 1 and 2 share */
    system.accelerators = 2;
    assert_int_equal(ti_system_weights(&system, 1)[0], 1);
    ti_balance_note(&b, &task);
    assert_true(ti_balance_choose(&b));
    assert_int_equal(ti_system_weights(&system, 1)[0], 6);
    ti_balance_fini(&b);
    comm->ops->destroy(comm);
}

/* Tasks are counted, and nothing else says when a choice counts. */
static void lists_are_followed(void **state)
{
    (void)state;
    ti_strbuf why = { 0 };
    ti_balance b = { .on = false };
    const ti_system system = { .num_nodes = 2 };
    ti_comm *comm = ti_comm_dry_create(1, 2);
    ti_shape shape = { .balanced = true };
    const ti_task task = { .shape = &shape };
    assert_true(ti_balance_init(&b, "1,2/3:5,6/4:7,8", comm, &system, false, &why));
    assert_int_equal(ti_balance_weights(&b)[1], 2);
    for (int i = 0; i < 3; i++) {
        assert_false(ti_balance_is_due(&b));
        assert_false(ti_balance_choose(&b)); /* tacit_retune asks at any time */
        ti_balance_note(&b, &task);
    }
    assert_true(ti_balance_is_due(&b) && ti_balance_choose(&b));
    assert_true(ti_balance_weights(&b)[0] == 5 && ti_balance_weights(&b)[1] == 6 && !ti_balance_is_due(&b));
    shape.balanced = false;
    ti_balance_note(&b, &task);
    assert_false(ti_balance_is_due(&b));
    shape.balanced = true;
    ti_balance_note(&b, &task);
    assert_true(ti_balance_is_due(&b) && ti_balance_choose(&b) && ti_balance_weights(&b)[0] == 7);
    assert_false(ti_balance_choose(&b) || ti_balance_is_due(&b));
    ti_balance_fini(&b);
    comm->ops->destroy(comm);
}

/* ---- what nodes hear of each other */

typedef struct member {
    pthread_t thread;
    ti_comm *comm;
    uint64_t items, ns;
    uint32_t weight[MOST];
    bool changed;
} member;

static void *choose_as(void *user)
{
    member *m = user;
    ti_strbuf why = { 0 };
    const ti_system system = { .workers = 1, .devices = 1, .num_nodes = m->comm->num_nodes, .node = m->comm->node };
    ti_balance b = { .on = false };
    m->changed = ti_balance_init(&b, "auto", m->comm, &system, false, &why);
    b.ns = m->ns;
    b.done = m->items;
    m->changed = m->changed && b.on && !ti_balance_weights(&b) && ti_balance_choose(&b);
    memcpy(m->weight, b.weight, sizeof(m->weight[0]) * (size_t)m->comm->num_nodes);
    ti_balance_fini(&b);
    return NULL;
}

static void measure(member *m, int nodes)
{
    local_hub *hub = local_hub_create(nodes, 4096, 1 << 20, 0);
    local_hub_set_threaded(hub);
    for (int i = 0; i < nodes; i++) {
        m[i].comm = local_comm_create(hub, i);
        assert_int_equal(pthread_create(&m[i].thread, NULL, choose_as, &m[i]), 0);
    }
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(pthread_join(m[i].thread, NULL), 0);
    }
    for (int i = 0; i < nodes; i++) {
        m[i].comm->ops->destroy(m[i].comm);
    }
    local_hub_destroy(hub);
}

static void nodes_agree(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= MOST; nodes++) {
        member m[MOST];
        memset(m, 0, sizeof(m));
        for (int i = 0; i < nodes; i++) {
            m[i].items = 1000;
            m[i].ns = (uint64_t)(i + 1) << 22;
        }
        m[nodes - 1].items = 0; /* it had none */
        measure(m, nodes);
        for (int i = 0; i < nodes; i++) {
            assert_true(m[i].changed == (nodes > 2));
            assert_memory_equal(m[i].weight, m[0].weight, sizeof(m[0].weight));
        }
        for (int i = 0; i < nodes - 1; i++) {
            assert_in_range(m[0].weight[i], 1000 / (unsigned)(i + 1) - 1, 1000 / (unsigned)(i + 1) + 1);
        }
    }
}

/* ---- devices */

typedef struct board {
    pthread_t thread;
    ti_comm *comm;
    int devices;
    uint64_t items[3], ns[3];
    char said[200];
    bool changed;
} board;

static void *choose_for_devices(void *user)
{
    board *m = user;
    ti_strbuf why = { 0 };
    ti_system system = { .workers = 1, .devices = m->devices, .num_nodes = m->comm->num_nodes, .node = m->comm->node };
    ti_balance b = { .on = false };
    m->changed = ti_balance_init(&b, "auto", m->comm, &system, false, &why);
    system.shares = b.shares.weight;
    for (int d = 0; d < m->devices; d++) {
        ti_shares_note(&b.shares, d, m->items[d], m->ns[d]);
    }
    m->changed = m->changed && b.on && ti_balance_choose(&b);
    snprintf(m->said, sizeof(m->said), "%s", ti_strbuf_text(&b.said));
    ti_balance_fini(&b);
    return NULL;
}

static void measure_devices(board *m, int nodes)
{
    local_hub *hub = local_hub_create(nodes, 4096, 1 << 20, 0);
    local_hub_set_threaded(hub);
    for (int i = 0; i < nodes; i++) {
        m[i].comm = local_comm_create(hub, i);
        assert_int_equal(pthread_create(&m[i].thread, NULL, choose_for_devices, &m[i]), 0);
    }
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(pthread_join(m[i].thread, NULL), 0);
        m[i].comm->ops->destroy(m[i].comm);
    }
    local_hub_destroy(hub);
}

/* Each node weighs its own, all know of it; a node is as fast as its devices together. */
static void devices_are_weighed(void **state)
{
    (void)state;
    board m[3] = { { .devices = 2, .items = { 4000, 1000 }, .ns = { 1 << 24, 1 << 24 } },
                   { .devices = 1, .items = { 1250 }, .ns = { 1 << 24 } },
                   { .devices = 3, .items = { 500, 0, 500 }, .ns = { 1 << 24, 0, 1 << 24 } } };
    measure_devices(m, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(m[i].changed);
        assert_string_equal(m[i].said, "0:1000=1000+250,250,300");
    }
    board alone = { .devices = 2, .items = { 10, 30 }, .ns = { 1 << 24, 1 << 24 } };
    measure_devices(&alone, 1);
    assert_string_equal(alone.said, "0:1000=333+1000");
    board alike = { .devices = 2, .items = { 30, 29 }, .ns = { 1 << 24, 1 << 24 } };
    measure_devices(&alike, 1);
    assert_false(alike.changed);
    board one = { .devices = 1, .items = { 30 }, .ns = { 1 << 24 } };
    measure_devices(&one, 1);
    assert_false(one.changed);
}

/* Less than a millisecond of kernels says nothing. */
static void short_runs_say_nothing(void **state)
{
    (void)state;
    member m[2];
    memset(m, 0, sizeof(m));
    m[0].items = m[1].items = 10;
    m[0].ns = 1000000;
    m[1].ns = 999999;
    measure(m, 2);
    assert_false(m[0].changed || m[1].changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_proportion),          cmocka_unit_test(changes_what_pays),
        cmocka_unit_test(random_rates),           cmocka_unit_test(settings),
        cmocka_unit_test(lists_are_followed),     cmocka_unit_test(nodes_agree),
        cmocka_unit_test(short_runs_say_nothing), cmocka_unit_test(devices_follow_lists),
        cmocka_unit_test(devices_are_weighed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
