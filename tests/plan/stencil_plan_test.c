/* Stencils on clusters of 2 to 16 nodes: what every node sends, receives and executes, stated literally. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>

#include "plan_expect.h"

static gen_task stencil(tacit_range range, int from, int to, tacit_mapper neighbours, int split)
{
    gen_task t = { .range = range, .split = split };
    t.access[0] = plan_read(from, neighbours);
    t.access[1] = plan_write(to, tacit_one_to_one());
    return t;
}

/* Steps between A and B; the first one reads initial values, which all nodes have. */
static void start(plan *p, int nodes, tacit_range range, tacit_mapper neighbours, int split)
{
    gen_buffer buffers[] = { plan_buffer(range, true), plan_buffer(range, false) };
    plan_init(p, nodes, -1, buffers, 2);
    plan_task(p, stencil(range, 0, 1, neighbours, split));
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(p->node[i].messages, 0);
    }
    plan_task(p, stencil(range, 1, 0, neighbours, split));
}

static void two_nodes(void **state)
{
    (void)state;
    plan p;
    start(&p, 2, tacit_range1(16), tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D);
    expect(&p, 0, "send 1 B [7,8); receive 1 B [8,9); execute [0,8)");
    expect(&p, 1, "send 0 B [8,9); receive 0 B [7,8); execute [8,16)");
    plan_task(&p, stencil(tacit_range1(16), 0, 1, tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D));
    expect(&p, 0, "send 1 A [7,8); receive 1 A [8,9); execute [0,8)");
    expect(&p, 1, "send 0 A [8,9); receive 0 A [7,8); execute [8,16)");
    plan_fini(&p);
}

static void four_nodes(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D);
    expect(&p, 0, "send 1 B [3,4); receive 1 B [4,5); execute [0,4)");
    expect(&p, 1, "send 0 B [4,5); send 2 B [7,8); receive 0 B [3,4); receive 2 B [8,9); execute [4,8)");
    expect(&p, 2, "send 1 B [8,9); send 3 B [11,12); receive 1 B [7,8); receive 3 B [12,13); execute [8,12)");
    expect(&p, 3, "send 2 B [12,13); receive 2 B [11,12); execute [12,16)");
    plan_fini(&p);
}

/* Sixteen items over seven nodes: 3, 3, and five times 2. */
static void seven_nodes(void **state)
{
    (void)state;
    plan p;
    start(&p, 7, tacit_range1(16), tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D);
    expect(&p, 0, "send 1 B [2,3); receive 1 B [3,4); execute [0,3)");
    expect(&p, 1, "send 0 B [3,4); send 2 B [5,6); receive 0 B [2,3); receive 2 B [6,7); execute [3,6)");
    expect(&p, 2, "send 1 B [6,7); send 3 B [7,8); receive 1 B [5,6); receive 3 B [8,9); execute [6,8)");
    expect(&p, 5, "send 4 B [12,13); send 6 B [13,14); receive 4 B [11,12); receive 6 B [14,15); execute [12,14)");
    expect(&p, 6, "send 5 B [14,15); receive 5 B [13,14); execute [14,16)");
    plan_fini(&p);
}

/* One item for each of sixteen nodes, and a halo of two: four neighbours. */
static void halo_wider_than_a_chunk(void **state)
{
    (void)state;
    plan p;
    start(&p, 16, tacit_range1(16), tacit_neighborhood(2, 0, 0), TACIT_SPLIT_1D);
    expect(&p, 0, "send 1 B [0,1); send 2 B [0,1); receive 1 B [1,2); receive 2 B [2,3); execute [0,1)");
    expect(
        &p, 7,
        "send 5 B [7,8); send 6 B [7,8); send 8 B [7,8); send 9 B [7,8); receive 5 B [5,6); receive 6 B [6,7); receive 8 B [8,9); "
        "receive 9 B [9,10); execute [7,8)");
    expect(&p, 15, "send 13 B [15,16); send 14 B [15,16); receive 13 B [13,14); receive 14 B [14,15); execute [15,16)");
    plan_fini(&p);
}

/* Fewer items than nodes: the rest have nothing to do. */
static void more_nodes_than_items(void **state)
{
    (void)state;
    plan p;
    start(&p, 7, tacit_range1(3), tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D);
    expect(&p, 1, "send 0 B [1,2); send 2 B [1,2); receive 0 B [0,1); receive 2 B [2,3); execute [1,2)");
    expect(&p, 3, "");
    expect(&p, 6, "");
    plan_fini(&p);
}

static void asymmetric_halo(void **state)
{
    (void)state;
    plan p;
    tacit_component c = tacit_dim_scaled(0, 1, 1, 2, 0);
    start(&p, 4, tacit_range1(16), tacit_components(c, tacit_full(), tacit_full()), TACIT_SPLIT_1D);
    expect(&p, 0, "send 1 B [2,4); execute [0,4)");
    expect(&p, 1, "send 2 B [6,8); receive 0 B [2,4); execute [4,8)");
    expect(&p, 3, "receive 2 B [10,12); execute [12,16)");
    plan_fini(&p);
}

/* Rows in pairs: with a granularity of 4 over 10 items, the chunks are 4, 4 and 2. */
static void granularity(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range1(10), true), plan_buffer(tacit_range1(10), false) };
    gen_task t = stencil(tacit_range1(10), 0, 1, tacit_one_to_one(), TACIT_SPLIT_1D);
    t.granularity[0] = 4;
    plan p;
    plan_init(&p, 4, -1, buffers, 2);
    plan_task(&p, t);
    expect(&p, 0, "execute [0,4)");
    expect(&p, 1, "execute [4,8)");
    expect(&p, 2, "execute [8,10)");
    expect(&p, 3, "");
    t.oversubscribe = 2;
    t.granularity[0] = 1;
    plan_task(&p, t);
    expect(&p, 0, "execute [0,2)+[2,4)");
    expect(&p, 1, "execute [4,5)+[5,6)");
    expect(&p, 3, "execute [8,9)+[9,10)");
    plan_fini(&p);
}

static void box_in_two_dimensions(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 8), tacit_neighborhood(1, 1, 0), TACIT_SPLIT_2D);
    expect(
        &p, 0,
        "send 1 B [0,4)x[3,4); send 2 B [3,4)x[0,4); send 3 B [3,4)x[3,4); receive 1 B [0,4)x[4,5); receive 2 B [4,5)x[0,4); "
        "receive 3 B [4,5)x[4,5); execute [0,4)x[0,4)");
    expect(
        &p, 3,
        "send 0 B [4,5)x[4,5); send 1 B [4,5)x[4,8); send 2 B [4,8)x[4,5); receive 0 B [3,4)x[3,4); receive 1 B [3,4)x[4,8); "
        "receive 2 B [4,8)x[3,4); execute [4,8)x[4,8)");
    plan_fini(&p);
    start(&p, 16, tacit_range2(16, 16), tacit_neighborhood(1, 1, 0), TACIT_SPLIT_2D);
    expect(
        &p, 5,
        "send 0 B [4,5)x[4,5); send 1 B [4,5)x[4,8); send 2 B [4,5)x[7,8); send 4 B [4,8)x[4,5); send 6 B [4,8)x[7,8); "
        "send 8 B [7,8)x[4,5); send 9 B [7,8)x[4,8); send 10 B [7,8)x[7,8); receive 0 B [3,4)x[3,4); receive 1 B [3,4)x[4,8); "
        "receive 2 B [3,4)x[8,9); receive 4 B [4,8)x[3,4); receive 6 B [4,8)x[8,9); receive 8 B [8,9)x[3,4); "
        "receive 9 B [8,9)x[4,8); receive 10 B [8,9)x[8,9); execute [4,8)x[4,8)");
    plan_fini(&p);
}

/* A star has no corners: no messages along the diagonals. */
static void star_in_two_dimensions(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 8), tacit_star(1, 1, 0), TACIT_SPLIT_2D);
    expect(
        &p, 0,
        "send 1 B [0,4)x[3,4); send 2 B [3,4)x[0,4); receive 1 B [0,4)x[4,5); receive 2 B [4,5)x[0,4); execute [0,4)x[0,4)");
    expect(
        &p, 1,
        "send 0 B [0,4)x[4,5); send 3 B [3,4)x[4,8); receive 0 B [0,4)x[3,4); receive 3 B [4,5)x[4,8); execute [0,4)x[4,8)");
    plan_fini(&p);
    start(&p, 16, tacit_range2(16, 16), tacit_star(1, 1, 0), TACIT_SPLIT_2D);
    expect(
        &p, 10,
        "send 6 B [8,9)x[8,12); send 9 B [8,12)x[8,9); send 11 B [8,12)x[11,12); send 14 B [11,12)x[8,12); receive 6 B [7,8)x[8,12); "
        "receive 9 B [8,12)x[7,8); receive 11 B [8,12)x[12,13); receive 14 B [12,13)x[8,12); execute [8,12)x[8,12)");
    expect(
        &p, 15,
        "send 11 B [12,13)x[12,16); send 14 B [12,16)x[12,13); receive 11 B [11,12)x[12,16); receive 14 B [12,16)x[11,12); "
        "execute [12,16)x[12,16)");
    plan_fini(&p);
}

/* What was read stays where it is: a second reader of the same halo moves nothing, a wider one moves what it lacks. */
static void copies_are_remembered(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D);
    gen_task look = { .range = tacit_range1(16), .access = { plan_read(1, tacit_neighborhood(1, 0, 0)) } };
    plan_task(&p, look);
    expect(&p, 1, "execute [4,8)");
    look.access[0] = plan_read(1, tacit_neighborhood(2, 0, 0));
    plan_task(&p, look);
    expect(&p, 1, "send 0 B [5,6); send 2 B [6,7); receive 0 B [2,3); receive 2 B [9,10); execute [4,8)");
    look.access[0] = plan_read(1, tacit_one_to_one());
    plan_task(&p, look);
    expect(&p, 1, "execute [4,8)");
    plan_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_nodes),
        cmocka_unit_test(four_nodes),
        cmocka_unit_test(seven_nodes),
        cmocka_unit_test(halo_wider_than_a_chunk),
        cmocka_unit_test(more_nodes_than_items),
        cmocka_unit_test(asymmetric_halo),
        cmocka_unit_test(granularity),
        cmocka_unit_test(box_in_two_dimensions),
        cmocka_unit_test(star_in_two_dimensions),
        cmocka_unit_test(copies_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
