/* Common patterns other than stencils: what nodes send and receive, stated literally. Gather and fence, all to all,
 * matrix products, updates with another split than the last writer's, tiles that are placed, several buffers,
 * reductions. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>

#include "plan_expect.h"

static gen_task task1(tacit_range range, gen_access access)
{
    return (gen_task){ .range = range, .access = { access } };
}

static gen_task task2(tacit_range range, gen_access first, gen_access second)
{
    return (gen_task){ .range = range, .access = { first, second } };
}

static void gather(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range1(16), false) };
    plan p;
    plan_init(&p, 4, -1, buffers, 1);
    plan_task(&p, task1(tacit_range1(16), plan_write(0, tacit_one_to_one())));
    plan_placed(&p, 1, task1(tacit_range1(1), plan_read(0, tacit_all())));
    expect(&p, 0, "send 1 A [0,4)");
    expect(&p, 1, "receive 0 A [0,4); receive 2 A [8,12); receive 3 A [12,16); execute [0,1)");
    expect(&p, 2, "send 1 A [8,12)");
    expect(&p, 3, "send 1 A [12,16)");
    plan_placed(&p, 1, task1(tacit_range1(1), plan_read(0, tacit_all())));
    expect(&p, 0, "");
    expect(&p, 1, "execute [0,1)");
    plan_fini(&p);
}

/* A fence brings its box to all nodes. */
static void fence(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range1(14), false) };
    plan p;
    plan_init(&p, 7, -1, buffers, 1);
    plan_task(&p, task1(tacit_range1(14), plan_write(0, tacit_one_to_one())));
    plan_fence(&p, 0, (gen_box){ { 3, 0, 0 }, { 5, 1, 1 } });
    expect(&p, 0, "receive 1 A [3,4); receive 2 A [4,5); fence [3,5)");
    expect(
        &p, 1,
        "send 0 A [3,4); send 2 A [3,4); send 3 A [3,4); send 4 A [3,4); send 5 A [3,4); send 6 A [3,4); receive 2 A [4,5); fence [3,5)");
    expect(&p, 6, "receive 1 A [3,4); receive 2 A [4,5); fence [3,5)");
    plan_fence(&p, 0, (gen_box){ { 3, 0, 0 }, { 5, 1, 1 } });
    for (int i = 0; i < 7; i++) {
        expect(&p, i, "fence [3,5)");
    }
    plan_fini(&p);
}

/* Everybody's forces need everybody's positions. */
static void all_to_all(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range1(16), true), plan_buffer(tacit_range1(16), true) };
    gen_task kick = task2(tacit_range1(16), plan_read(0, tacit_all()), plan_update(1, tacit_one_to_one()));
    gen_task drift = task2(tacit_range1(16), plan_read(1, tacit_one_to_one()), plan_update(0, tacit_one_to_one()));
    plan p;
    plan_init(&p, 4, -1, buffers, 2);
    for (int i = 0; i < 5; i++) {
        plan_task(&p, kick);
        expect(
            &p, 0,
            i == 0
                ? "execute [0,4)"
                : "send 1 A [0,4); send 2 A [0,4); send 3 A [0,4); receive 1 A [4,8); receive 2 A [8,12); receive 3 A [12,16); execute [0,4)");
        expect(
            &p, 2,
            i == 0
                ? "execute [8,12)"
                : "send 0 A [8,12); send 1 A [8,12); send 3 A [8,12); receive 0 A [0,4); receive 1 A [4,8); receive 3 A [12,16); "
                  "execute [8,12)");
        plan_task(&p, drift);
        expect(&p, 0, "execute [0,4)");
    }
    assert_int_equal(plan_entries(&p), 2);
    plan_fini(&p);
}

/* C = A B with rows over the nodes: B goes everywhere, A stays. */
static void product_of_rows(void **state)
{
    (void)state;
    gen_buffer b = plan_buffer(tacit_range2(8, 8), false), buffers[] = { b, b, b };
    plan p;
    plan_init(&p, 2, -1, buffers, 3);
    plan_task(&p, task1(tacit_range2(8, 8), plan_write(0, tacit_one_to_one())));
    plan_task(&p, task1(tacit_range2(8, 8), plan_write(1, tacit_one_to_one())));
    gen_task product = { .range = tacit_range2(8, 8),
                         .access = { plan_read(0, tacit_slice(1)), plan_read(1, tacit_slice(0)),
                                     plan_write(2, tacit_one_to_one()) } };
    plan_task(&p, product);
    expect(&p, 0, "send 1 B [0,4)x[0,8); receive 1 B [4,8)x[0,8); execute [0,4)x[0,8)");
    expect(&p, 1, "send 0 B [4,8)x[0,8); receive 0 B [0,4)x[0,8); execute [4,8)x[0,8)");
    plan_fini(&p);
}

/* The same in two dimensions: rows of A within a row of nodes, columns of B within a column. */
static void product_in_two_dimensions(void **state)
{
    (void)state;
    gen_buffer b = plan_buffer(tacit_range2(8, 8), false), buffers[] = { b, b, b };
    gen_task product = { .range = tacit_range2(8, 8),
                         .split = TACIT_SPLIT_2D,
                         .access = { plan_read(0, tacit_slice(1)), plan_read(1, tacit_slice(0)),
                                     plan_write(2, tacit_one_to_one()) } };
    gen_task fill = task2(tacit_range2(8, 8), plan_write(0, tacit_one_to_one()), plan_write(1, tacit_one_to_one()));
    fill.split = TACIT_SPLIT_2D;
    plan p;
    plan_init(&p, 4, -1, buffers, 3);
    plan_task(&p, fill);
    plan_task(&p, product);
    expect(
        &p, 0,
        "send 1 A [0,4)x[0,4); receive 1 A [0,4)x[4,8); send 2 B [0,4)x[0,4); receive 2 B [4,8)x[0,4); execute [0,4)x[0,4)");
    expect(
        &p, 3,
        "send 2 A [4,8)x[4,8); receive 2 A [4,8)x[0,4); send 1 B [4,8)x[4,8); receive 1 B [0,4)x[4,8); execute [4,8)x[4,8)");
    plan_fini(&p);
    plan_init(&p, 16, -1, buffers, 3);
    plan_task(&p, fill);
    plan_task(&p, product);
    expect(
        &p, 5,
        "send 4 A [2,4)x[2,4); send 6 A [2,4)x[2,4); send 7 A [2,4)x[2,4); receive 4 A [2,4)x[0,2); receive 6 A [2,4)x[4,6); "
        "receive 7 A [2,4)x[6,8); send 1 B [2,4)x[2,4); send 9 B [2,4)x[2,4); send 13 B [2,4)x[2,4); receive 1 B [0,2)x[2,4); "
        "receive 9 B [4,6)x[2,4); receive 13 B [6,8)x[2,4); execute [2,4)x[2,4)");
    plan_fini(&p);
}

/* The old owners supply what is read; afterwards the new split owns. */
static void update_with_another_split(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range2(8, 8), false) };
    gen_task squares = task1(tacit_range2(8, 8), plan_write(0, tacit_one_to_one())),
             rows = task1(tacit_range2(8, 8), plan_update(0, tacit_one_to_one()));
    squares.split = TACIT_SPLIT_2D;
    plan p;
    plan_init(&p, 4, -1, buffers, 1);
    plan_task(&p, squares);
    plan_task(&p, rows);
    expect(&p, 0, "send 1 A [2,4)x[0,4); receive 1 A [0,2)x[4,8); execute [0,2)x[0,8)");
    expect(&p, 1, "send 0 A [0,2)x[4,8); receive 0 A [2,4)x[0,4); execute [2,4)x[0,8)");
    expect(&p, 2, "send 3 A [6,8)x[0,4); receive 3 A [4,6)x[4,8); execute [4,6)x[0,8)");
    plan_task(&p, rows);
    expect(&p, 0, "execute [0,2)x[0,8)");
    assert_int_equal(plan_entries(&p), 1);
    plan_fini(&p);
}

static void transposition(void **state)
{
    (void)state;
    gen_buffer b = plan_buffer(tacit_range2(4, 4), false), buffers[] = { b, b };
    plan p;
    plan_init(&p, 2, -1, buffers, 2);
    plan_task(&p, task1(tacit_range2(4, 4), plan_write(0, tacit_one_to_one())));
    plan_task(&p,
              task2(tacit_range2(4, 4), plan_read(0, tacit_transposed(1, 0, 2)), plan_write(1, tacit_one_to_one())));
    expect(&p, 0, "send 1 A [0,2)x[2,4); receive 1 A [2,4)x[0,2); execute [0,2)x[0,4)");
    expect(&p, 1, "send 0 A [2,4)x[0,2); receive 0 A [0,2)x[2,4); execute [2,4)x[0,4)");
    plan_fini(&p);
}

static tacit_mapper tile(size_t i, size_t j)
{
    return tacit_fixed(tacit_box2(2 * i, 2 * i + 2, 2 * j, 2 * j + 2));
}

/* A tile that several nodes read goes to each of them once. */
static void placed_tiles(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range2(8, 8), true) };
    gen_task factor = task1(tacit_range1(1), plan_update(0, tile(0, 0)));
    plan p;
    plan_init(&p, 4, -1, buffers, 1);
    plan_placed(&p, 2, factor);
    expect(&p, 2, "execute [0,1)");
    for (size_t i = 1; i < 4; i++) {
        plan_placed(&p, (int)i % 2, task2(tacit_range1(1), plan_read(0, tile(0, 0)), plan_update(0, tile(i, 0))));
        expect(&p, 2, i == 1 ? "send 1 A [0,2)x[0,2)" : i == 2 ? "send 0 A [0,2)x[0,2)" : "");
        expect(&p, 1, i == 1 ? "receive 2 A [0,2)x[0,2); execute [0,1)" : i == 3 ? "execute [0,1)" : "");
        expect(&p, 3, "");
    }
    plan_fini(&p);
}

/* Two reads of one buffer travel in one message; two buffers do not. */
static void several_reads(void **state)
{
    (void)state;
    gen_buffer b = plan_buffer(tacit_range1(16), false), buffers[] = { b, b };
    plan p;
    plan_init(&p, 4, -1, buffers, 2);
    plan_task(&p, task2(tacit_range1(16), plan_write(0, tacit_one_to_one()), plan_write(1, tacit_one_to_one())));
    gen_task t = { .range = tacit_range1(16) };
    t.access[0] = plan_read(1, tacit_neighborhood(1, 0, 0));
    t.access[1] = plan_read(0, tacit_fixed(tacit_box1(0, 2)));
    t.access[2] = plan_read(1, tacit_fixed(tacit_box1(0, 2)));
    plan_task(&p, t);
    expect(
        &p, 0,
        "send 1 B [3,4)+[0,2); send 2 B [0,2); send 3 B [0,2); receive 1 B [4,5); send 1 A [0,2); send 2 A [0,2); send 3 A [0,2); "
        "execute [0,4)");
    expect(
        &p, 1,
        "send 0 B [4,5); send 2 B [7,8); receive 0 B [3,4)+[0,2); receive 2 B [8,9); receive 0 A [0,2); execute [4,8)");
    plan_fini(&p);
}

/* Data that several nodes hold come from different ones: node a + q mod (b - a) serves node q. */
static void served_by_many(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range1(8), false) };
    plan p;
    plan_init(&p, 7, -1, buffers, 1);
    plan_task(&p, task1(tacit_range1(3), plan_write(0, tacit_replicated())));
    expect(&p, 2, "execute [2,3)");
    expect(&p, 3, "");
    plan_fence(&p, 0, (gen_box){ { 0, 0, 0 }, { 8, 1, 1 } });
    expect(&p, 0, "send 3 A [0,8); send 6 A [0,8); fence [0,8)");
    expect(&p, 1, "send 4 A [0,8); fence [0,8)");
    expect(&p, 2, "send 5 A [0,8); fence [0,8)");
    expect(&p, 5, "receive 2 A [0,8); fence [0,8)");
    plan_fini(&p);
}

/* A binomial tree; its root is the first node with a chunk. */
static void reduction(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range_make(0, 1, 1, 1), false) };
    gen_access sum = { .buffer = 0, .mode = TACIT_REDUCE, .mapper = tacit_all(), .op = tacit_sum(TACIT_UINT64) };
    plan p;
    plan_init(&p, 7, -1, buffers, 1);
    plan_task(&p, task1(tacit_range1(6), sum));
    expect(&p, 0, "execute [0,1); reduce to -1 from 1 from 2 from 4");
    expect(&p, 1, "execute [1,2); reduce to 0");
    expect(&p, 2, "execute [2,3); reduce to 0 from 3");
    expect(&p, 4, "execute [4,5); reduce to 0 from 5");
    expect(&p, 6, "");
    plan_fence(&p, 0, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
    expect(
        &p, 0,
        "send 1 A [0,1); send 2 A [0,1); send 3 A [0,1); send 4 A [0,1); send 5 A [0,1); send 6 A [0,1); fence [0,1)");
    plan_fini(&p);
}

/* A tree over blocks, whoever has them: here each item is a block. Neighbours that are siblings are combined where
 * they lie, and what remains goes to whoever has the sibling; all that one node has for another is one message. */
static void reduction_in_blocks(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range_make(0, 1, 1, 1), false) };
    gen_access sum = { .buffer = 0, .mode = TACIT_REDUCE, .mapper = tacit_all(), .op = tacit_sum(TACIT_DOUBLE) };
    plan p;
    plan_init(&p, 3, -1, buffers, 1);
    p.lowering.reproducible = true;
    plan_task(&p, task1(tacit_range1(12), sum));
    expect(&p, 0, "execute [0,4); reduce [0,4) from 1 [4,8) from 2 [8,12)");
    expect(&p, 1, "execute [4,8); reduce [4,8) to 0 [4,8)");
    expect(&p, 2, "execute [8,12); reduce [8,12) to 0 [8,12)");
    plan_task(&p, task1(tacit_range1(11), sum));
    expect(&p, 0, "execute [0,4); reduce [0,4) from 1 [4,8) from 2 [8,11)");
    expect(&p, 2, "execute [8,11); reduce [8,11) to 0 [8,11)");
    plan_task(&p, task1(tacit_range1(10), sum));
    expect(&p, 0, "execute [0,4); reduce [0,4) from 1 [4,8) from 2 [8,10)");
    expect(&p, 1, "execute [4,7); reduce [4,7) from 2 [7,8) to 0 [4,8)");
    expect(&p, 2, "execute [7,10); reduce [7,10) to 1 [7,8) to 0 [8,10)");
    plan_fence(&p, 0, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
    expect(&p, 0, "send 1 A [0,1); send 2 A [0,1); fence [0,1)");
    plan_task(&p, task1(tacit_range1(600), sum)); /* 200 blocks of 3 */
    expect(&p, 0, "execute [0,201); reduce [0,67) from 1 [67,68)+[68,72)+[72,80)+[80,96)+[96,128)+[128,200)");
    expect(&p, 1,
           "execute [201,402); reduce [67,134) from 2 [134,136)+[136,144)+[144,160)+[160,192)+[192,200) "
           "to 0 [67,68)+[68,72)+[72,80)+[80,96)+[96,128)+[128,200)");
    plan_fini(&p);
    plan_init(&p, 5, -1, buffers, 1);
    p.lowering.reproducible = true;
    plan_task(&p, task1(tacit_range1(12), sum));
    expect(&p, 0, "execute [0,3); reduce [0,3) from 1 [3,4)+[4,8) from 3 [8,12)");
    expect(&p, 1, "execute [3,6); reduce [3,6) from 2 [6,8) to 0 [3,4)+[4,8)");
    expect(&p, 2, "execute [6,8); reduce [6,8) to 1 [6,8)");
    expect(&p, 3, "execute [8,10); reduce [8,10) from 4 [10,12) to 0 [8,12)");
    expect(&p, 4, "execute [10,12); reduce [10,12) to 3 [10,12)");
    plan_task(&p, task1(tacit_range1(3), sum));
    expect(&p, 0, "execute [0,1); reduce [0,1) from 1 [1,2) from 2 [2,3)");
    expect(&p, 2, "execute [2,3); reduce [2,3) to 0 [2,3)");
    expect(&p, 3, "");
    plan_placed(&p, 3, task1(tacit_range1(12), sum));
    expect(&p, 3, "execute [0,12); reduce [0,12)");
    expect(&p, 0, "");
    plan_fini(&p);
}

/* One node plans no transfers and keeps no versions. */
static void one_node(void **state)
{
    (void)state;
    gen_buffer buffers[] = { plan_buffer(tacit_range1(16), false) };
    plan p;
    plan_init(&p, 1, -1, buffers, 1);
    plan_task(&p, task1(tacit_range1(16), plan_write(0, tacit_one_to_one())));
    plan_task(&p, task1(tacit_range1(16), plan_read(0, tacit_all())));
    expect(&p, 0, "execute [0,16)");
    plan_fence(&p, 0, (gen_box){ { 0, 0, 0 }, { 16, 1, 1 } });
    expect(&p, 0, "fence [0,16)");
    assert_int_equal(plan_entries(&p), 0);
    plan_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather),
        cmocka_unit_test(fence),
        cmocka_unit_test(all_to_all),
        cmocka_unit_test(product_of_rows),
        cmocka_unit_test(product_in_two_dimensions),
        cmocka_unit_test(update_with_another_split),
        cmocka_unit_test(transposition),
        cmocka_unit_test(placed_tiles),
        cmocka_unit_test(several_reads),
        cmocka_unit_test(served_by_many),
        cmocka_unit_test(reduction),
        cmocka_unit_test(reduction_in_blocks),
        cmocka_unit_test(one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
