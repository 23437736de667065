/* Tasks that overlap with their own messages: which chunks are cut, and how, stated literally. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>

#include "plan_expect.h"

enum { A, B, C };

static void start(plan *p, int overlap, tacit_range range)
{
    const plan_setup setup = {
        .nodes = 4, .only = -1, .collectives = TI_COLLECTIVES_OFF, .horizon_step = 1000, .overlap = overlap
    };
    const gen_buffer large = plan_buffer(range, true), buffer[] = { large, large, plan_buffer(tacit_range1(4), true) };
    plan_start(p, &setup, buffer, 3);
}

/* Every node has its part, and no more. */
static void fill(plan *p, int split)
{
    p->shape = 0;
    for (int b = A; b <= B; b++) {
        plan_task(p, (gen_task){ .range = p->program->buffer.data[b].range,
                                 .split = split,
                                 .access = { plan_write(b, tacit_one_to_one()) } });
    }
}

static gen_task step(const plan *p, int from, tacit_mapper neighbours)
{
    return (gen_task){ .range = p->program->buffer.data[from].range,
                       .access = { plan_read(from, neighbours), plan_write(1 - from, tacit_one_to_one()) } };
}

static uint64_t overlapped(const plan *p, int node)
{
    return ti_command_graph_counts(p->node[node].graph).overlapped;
}

/* Whatever waits comes first in the list: it is executed first if it can be. */
static void borders_and_interior(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_CUTS_ON, tacit_range1(400));
    fill(&p, TACIT_SPLIT_1D);
    plan_task(&p, step(&p, A, tacit_neighborhood(1, 0, 0)));
    expect(&p, 0, "send 1 A [99,100); receive 1 A [100,101); execute [99,100)+[0,99)");
    expect(&p, 1,
           "send 0 A [100,101); send 2 A [199,200); receive 0 A [99,100); receive 2 A [200,201); "
           "execute [100,101)+[199,200)+[101,199)");
    assert_int_equal(overlapped(&p, 1), 1);
    plan_task(&p, step(&p, A, tacit_neighborhood(1, 0, 0))); /* all that it reads is there */
    expect(&p, 1, "execute [100,200)");
    assert_int_equal(overlapped(&p, 1), 1);
    plan_fini(&p);
}

/* What has been found is kept with the shape, and found again when the transfers are replayed, or differ. */
static void loops_are_cut_alike(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_CUTS_ON, tacit_range1(400));
    fill(&p, TACIT_SPLIT_1D);
    for (int i = 0; i < 30; i++) {
        if (i % 10 == 9) { /* others have more of A and B for once */
            p.shape = 0;
            for (int b = A; b <= B; b++) {
                plan_task(&p, step(&p, b, tacit_neighborhood(5, 0, 0)));
            }
        }
        uint64_t before = p.node[1].replayed;
        p.shape = (uint64_t)(i % 2) + 1;
        plan_task(&p, step(&p, i % 2, tacit_neighborhood(1, 0, 0)));
        bool all_there = i % 10 == 9;
        assert_non_null(
            strstr(plan_text(&p, 1), all_there ? "execute [100,200)" : "execute [100,101)+[199,200)+[101,199)"));
        assert_true(i % 10 < 6 || all_there || p.node[1].replayed == before + 2);
    }
    assert_int_equal(overlapped(&p, 1), 27 + 6);
    plan_fini(&p);
}

/* Where nobody says what items take, 50 000 of them on each worker; where they take 10 ns, a tenth. */
static void large_chunks_only(void **state)
{
    (void)state;
    static const struct {
        size_t items;
        double cost;
        bool cut;
    } cases[] = {
        { 199999, 0, false }, { 200000, 0, true }, { 19999, 10, false }, { 20001, 10, true }, { 400000, 0.1, false }
    };
    for (size_t i = 0; i < TI_COUNT(cases); i++) {
        plan p;
        start(&p, TI_CUTS_AUTO, tacit_range1(cases[i].items));
        fill(&p, TACIT_SPLIT_1D);
        gen_task t = step(&p, A, tacit_neighborhood(1, 0, 0));
        t.cost = cases[i].cost;
        plan_task(&p, t);
        for (int n = 0; n < 4; n++) { /* all alike, though some may have one more item */
            assert_int_equal(overlapped(&p, n), cases[i].cut);
        }
        plan_fini(&p);
    }
}

/* By default three quarters of the items must not wait. */
static void wide_borders(void **state)
{
    (void)state;
    for (int overlap = TI_CUTS_AUTO; overlap <= TI_CUTS_ON; overlap++) {
        plan p;
        start(&p, overlap, tacit_range1(1 << 20));
        fill(&p, TACIT_SPLIT_1D);
        plan_task(&p, step(&p, A, tacit_neighborhood(1 << 15, 0, 0)));
        assert_int_equal(overlapped(&p, 1), 1);
        fill(&p, TACIT_SPLIT_1D);
        plan_task(&p, step(&p, A, tacit_neighborhood((1 << 15) + 1, 0, 0)));
        assert_int_equal(overlapped(&p, 1), 1 + (overlap == TI_CUTS_ON));
        fill(&p, TACIT_SPLIT_1D);
        plan_task(&p, step(&p, A, tacit_all()));
        assert_int_equal(overlapped(&p, 1), 1 + (overlap == TI_CUTS_ON));
        plan_fini(&p);
    }
}

/* In two dimensions: whole rows, unless the task is split along both. */
static void rows_and_corners(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_CUTS_ON, tacit_range2(40, 20));
    fill(&p, TACIT_SPLIT_1D);
    plan_task(&p, step(&p, A, tacit_star(1, 1, 0)));
    assert_non_null(strstr(plan_text(&p, 1), "execute [10,11)x[0,20)+[19,20)x[0,20)+[11,19)x[0,20)"));
    fill(&p, TACIT_SPLIT_2D);
    gen_task t = step(&p, A, tacit_star(1, 1, 0));
    t.split = TACIT_SPLIT_2D;
    plan_task(&p, t);
    assert_non_null(strstr(plan_text(&p, 0), "execute [0,19)x[9,10)+[19,20)x[0,10)+[0,19)x[0,9)"));
    plan_fini(&p);
}

/* Borders lie where chunks may begin. */
static void granules(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_CUTS_ON, tacit_range1(400));
    fill(&p, TACIT_SPLIT_1D);
    gen_task t = step(&p, A, tacit_neighborhood(1, 0, 0));
    t.granularity[0] = 25;
    plan_task(&p, t);
    assert_non_null(strstr(plan_text(&p, 1), "execute [100,125)+[175,200)+[125,175)"));
    plan_fini(&p);
}

/* The element before the first is the last: all nodes have two borders. */
static void around_the_end(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_CUTS_ON, tacit_range1(400));
    fill(&p, TACIT_SPLIT_1D);
    plan_task(&p, step(&p, A, tacit_periodic(1, 0, 0)));
    assert_non_null(strstr(plan_text(&p, 0), "execute [0,1)+[99,100)+[1,99)"));
    plan_fini(&p);
}

static void two_before(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range;
    (void)user;
    tacit_box box = *chunk;
    box.min[0] -= box.min[0] < 2 ? box.min[0] : 2;
    tacit_region_add(out, box);
}

/* A custom mapper is asked for the longest run of rows around the middle, of shapes that come again. */
static void custom_reads(void **state)
{
    (void)state;
    plan p;
    const ti_custom_mapper custom = { .fn = two_before };
    const plan_setup setup = { .nodes = 4,
                               .only = -1,
                               .collectives = TI_COLLECTIVES_OFF,
                               .horizon_step = 1000,
                               .overlap = TI_CUTS_ON,
                               .custom = &custom,
                               .customs = 1 };
    const gen_buffer buffer[] = { plan_buffer(tacit_range1(400), true), plan_buffer(tacit_range1(400), true) };
    plan_start(&p, &setup, buffer, 2);
    fill(&p, TACIT_SPLIT_1D);
    gen_task t = step(&p, A, tacit_one_to_one());
    t.access[0].mapper = (tacit_mapper){ .kind = TACIT_MAPPER_CUSTOM, .arg = 0 };
    plan_task(&p, t);
    assert_non_null(strstr(plan_text(&p, 1), "execute [100,200)"));
    fill(&p, TACIT_SPLIT_1D);
    p.shape = 7;
    plan_task(&p, t);
    assert_non_null(strstr(plan_text(&p, 0), "execute [0,100)"));
    assert_non_null(strstr(plan_text(&p, 1), "receive 0 A [98,100); execute [100,102)+[102,200)"));
    plan_fini(&p);
}

/* What may not be cut: kernels that get each chunk in one call, several chunks for a node, reductions; and without the
 * setting nothing. */
static void not_cut(void **state)
{
    (void)state;
    for (int kind = 0; kind < 7; kind++) {
        plan p;
        start(&p, kind == 0 ? TI_CUTS_OFF : TI_CUTS_ON, tacit_range1(400));
        fill(&p, TACIT_SPLIT_1D);
        gen_task t = step(&p, A, tacit_neighborhood(1, 0, 0));
        t.whole_chunk = kind == 1;
        t.oversubscribe = kind == 2 ? 2 : 0;
        t.on = kind == 3 ? TACIT_ON_HOST : TACIT_ON_DEVICES;
        t.objects = kind == 4;
        if (kind == 5) {
            t.access[2] =
                (gen_access){ .buffer = C, .mode = TACIT_REDUCE, .mapper = tacit_all(), .op = tacit_sum(TACIT_UINT64) };
        } else if (kind == 6) {
            t.access[1] = plan_write(C, tacit_replicated());
        }
        plan_task(&p, t);
        assert_int_equal(overlapped(&p, 1), 0);
        assert_non_null(strstr(plan_text(&p, 1), kind == 2 ? "execute [100,150)+[150,200)" : "execute [100,200)"));
        plan_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders_and_interior),
        cmocka_unit_test(loops_are_cut_alike),
        cmocka_unit_test(large_chunks_only),
        cmocka_unit_test(wide_borders),
        cmocka_unit_test(rows_and_corners),
        cmocka_unit_test(granules),
        cmocka_unit_test(around_the_end),
        cmocka_unit_test(custom_reads),
        cmocka_unit_test(not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
