/* Which reductions become collectives, and where their results go. Commands are stated literally. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

enum { NODES = 4 };

static gen_access sum_of(bool include_old)
{
    return (gen_access){
        .mode = TACIT_REDUCE, .mapper = tacit_all(), .op = tacit_sum(TACIT_UINT64), .include_old = include_old
    };
}

static gen_task summing(int64_t items, bool include_old)
{
    return (gen_task){ .name = "S", .range = tacit_range1(items), .access = { sum_of(include_old) } };
}

static gen_task reader(tacit_range range, tacit_mapper mapper)
{
    return (gen_task){ .name = "R", .range = range, .access = { plan_read(0, mapper) } };
}

static void start_with(plan *p, plan_setup setup, size_t elements)
{
    gen_buffer b = plan_buffer(tacit_range1(elements), true);
    setup.nodes = NODES;
    setup.only = -1;
    setup.horizon_step = 1000;
    plan_start(p, &setup, &b, 1);
}

static void start(plan *p, plan_setup setup)
{
    start_with(p, setup, 4);
}

static void start_usual(plan *p)
{
    start(p, (plan_setup){ .collectives = TI_COLLECTIVES_DISCOVER });
}

static void expect_all(const plan *p, const char *const text[NODES])
{
    for (int i = 0; i < NODES; i++) {
        assert_string_equal(plan_text(p, i), text[i]);
    }
}

static const char *const to_all[] = { "execute [0,4); all-reduce", "execute [4,8); all-reduce",
                                      "execute [8,12); all-reduce", "execute [12,16); all-reduce" };
static const char *const reading[] = { "execute [0,4)", "execute [4,8)", "execute [8,12)", "execute [12,16)" };
static const char *const broadcast[] = { "broadcast from 0 A [0,4) give [0,4); execute [0,4)",
                                         "broadcast from 0 A [0,4) get [0,4); execute [4,8)",
                                         "broadcast from 0 A [0,4) get [0,4); execute [8,12)",
                                         "broadcast from 0 A [0,4) get [0,4); execute [12,16)" };
static const char *const along_a_tree[] = { "execute [0,4); reduce to -1 from 1 from 2", "execute [4,8); reduce to 0",
                                            "execute [8,12); reduce to 0 from 3", "execute [12,16); reduce to 2" };

/* ---- where the result goes */

/* What was never read goes to all nodes. */
static void to_all_nodes(void **state)
{
    (void)state;
    plan p;
    start_usual(&p);
    for (int i = 0; i < 3; i++) {
        plan_task(&p, summing(16, false));
        expect_all(&p, to_all);
    }
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect_all(&p, reading);
    const ti_explain_edge *edge = plan_edge(&p, "R", "A");
    assert_int_equal(edge->verdict, TI_VERDICT_COLLECTIVE);
    assert_int_equal(edge->pattern, TI_PATTERN_ALL_REDUCE);
    assert_int_equal(edge->messages, 0);
    plan_fini(&p);
}

static void to_one_node(void **state)
{
    (void)state;
    plan p;
    static const char *const to_2[] = { "execute [0,4); reduce to 2", "execute [4,8); reduce to 2",
                                        "execute [8,12); reduce to 2", "execute [12,16); reduce to 2" };
    static const char *const on_2[] = { "", "", "execute [0,4)", "" };
    start_usual(&p);
    plan_task(&p, summing(16, false));
    expect_all(&p, to_all);
    plan_placed(&p, 2, reader(tacit_range1(4), tacit_all()));
    expect_all(&p, on_2); /* there already */
    for (int i = 0; i < 2; i++) {
        plan_task(&p, summing(16, false)); /* the second was not read, so what was before still holds */
        expect_all(&p, to_2);
    }
    plan_placed(&p, 2, reader(tacit_range1(4), tacit_all()));
    expect_all(&p, on_2);
    plan_fini(&p);
}

/* A guess that was wrong costs a transfer, and is not made again. */
static void readers_change(void **state)
{
    (void)state;
    plan p;
    start_usual(&p);
    plan_task(&p, summing(16, false));
    plan_placed(&p, 0, reader(tacit_range1(4), tacit_all()));
    plan_task(&p, summing(16, false));
    assert_string_equal(plan_text(&p, 1), "execute [4,8); reduce to 0");
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect_all(&p, broadcast);
    plan_task(&p, summing(16, false));
    expect_all(&p, to_all);
    plan_fini(&p);
}

/* One of several readers wants it everywhere. */
static void several_readers(void **state)
{
    (void)state;
    plan p;
    start_usual(&p);
    plan_task(&p, summing(16, false));
    plan_placed(&p, 1, reader(tacit_range1(4), tacit_all()));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    plan_placed(&p, 3, reader(tacit_range1(4), tacit_all()));
    plan_task(&p, summing(16, false));
    expect_all(&p, to_all);
    plan_fence(&p, 0, (gen_box){ { 0, 0, 0 }, { 4, 1, 1 } });
    plan_task(&p, summing(16, false));
    expect_all(&p, to_all);
    plan_fini(&p);
}

/* A long result goes to the first node, where the parts are scattered from. */
static void long_by_parts(void **state)
{
    (void)state;
    plan p;
    start_with(&p, (plan_setup){ .collectives = TI_COLLECTIVES_DISCOVER }, 516);
    plan_task(&p, summing(16, false));
    plan_task(&p, reader(tacit_range1(516), tacit_one_to_one()));
    plan_task(&p, summing(16, false));
    assert_string_equal(plan_text(&p, 3), "execute [12,16); reduce to 0");
    plan_task(&p, reader(tacit_range1(516), tacit_one_to_one()));
    assert_string_equal(plan_text(&p, 3), "scatter from 0 A [0,516) get [387,516); execute [387,516)");
    plan_fini(&p);
}

/* A short one is everywhere as soon as it is known. */
static void short_by_parts(void **state)
{
    (void)state;
    plan p;
    start_with(&p, (plan_setup){ .collectives = TI_COLLECTIVES_DISCOVER }, 512);
    for (int i = 0; i < 3; i++) {
        plan_task(&p, summing(16, false));
        expect_all(&p, to_all);
        plan_task(&p, reader(tacit_range1(512), tacit_one_to_one()));
        assert_string_equal(plan_text(&p, 3), "execute [384,512)");
    }
    plan_fini(&p);
}

/* ---- who takes part */

static void few_chunks(void **state)
{
    (void)state;
    plan p;
    static const char *const two[] = { "execute [0,1); all-reduce", "execute [1,2); all-reduce",
                                       "all-reduce with nothing", "all-reduce with nothing" };
    static const char *const one[] = { "execute [0,1); reduce to -1", "", "", "" };
    start_usual(&p);
    plan_task(&p, summing(2, false));
    expect_all(&p, two);
    plan_task(&p, summing(1, false));
    expect_all(&p, one);
    plan_fini(&p);
}

/* The first node with a chunk brings it, since operators need not commute. */
static void old_value(void **state)
{
    (void)state;
    plan p;
    start_usual(&p);
    plan_task(&p, summing(16, true));
    assert_string_equal(plan_text(&p, 0), "execute [0,4); all-reduce and the old value");
    assert_string_equal(plan_text(&p, 1), "execute [4,8); all-reduce");
    plan_placed(&p, 2, reader(tacit_range1(4), tacit_all()));
    plan_task(&p, summing(16, true));
    assert_string_equal(plan_text(&p, 0), "execute [0,4); reduce to 0 and the old value");
    plan_placed(&p, 2, reader(tacit_range1(4), tacit_all()));
    assert_string_equal(plan_text(&p, 0), "send 2 A [0,4)");
    plan_fini(&p);
}

/* More elements than MPI counts in an int. */
static void many_elements(void **state)
{
    (void)state;
    plan p;
    gen_buffer b = plan_buffer(tacit_range1(((size_t)1 << 32) + 5), false);
    plan_start(&p, &(plan_setup){ .nodes = NODES, .only = -1, .collectives = TI_COLLECTIVES_DISCOVER }, &b, 1);
    plan_task(&p, summing(16, false));
    expect_all(&p, to_all);
    plan_fini(&p);
}

/* ---- where there are none */

static void messages(void **state)
{
    static const plan_setup setups[] = { { .collectives = TI_COLLECTIVES_OFF },
                                         { .collectives = TI_COLLECTIVES_DISCOVER } };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(setups); i++) {
        plan p;
        gen_task task = summing(16, false);
        task.no_collectives = i == 1;
        start(&p, setups[i]);
        plan_task(&p, task);
        expect_all(&p, along_a_tree);
        plan_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_all_nodes),    cmocka_unit_test(to_one_node),   cmocka_unit_test(readers_change),
        cmocka_unit_test(several_readers), cmocka_unit_test(long_by_parts), cmocka_unit_test(short_by_parts),
        cmocka_unit_test(few_chunks),      cmocka_unit_test(old_value),     cmocka_unit_test(many_elements),
        cmocka_unit_test(messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
