/* What planning costs as the cluster grows, counted in chunks that are evaluated, and what it leaves behind.
 *
 * One node of a cluster is planned. A stencil costs the same on 16 and on a million nodes, for nodes with equally
 * many neighbours; a pattern in which everybody talks to everybody costs as much as it has messages. Entries of
 * version maps and memory stay bounded in long runs. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>

typedef struct cost {
    uint64_t evaluated, messages, entries;
} cost;

static gen_task step_of(tacit_range range, int from, tacit_mapper neighbours, int split)
{
    gen_task t = { .range = range, .split = split };
    t.access[0] = plan_read(from, neighbours);
    t.access[1] = plan_write(1 - from, tacit_one_to_one());
    return t;
}

/* The cost of one step in the steady state. */
static cost stencil(int nodes, int node, tacit_range range, tacit_mapper neighbours, int split)
{
    gen_buffer buffers[] = { plan_buffer(range, true), plan_buffer(range, false) };
    plan p;
    cost c = { 0, 0, 0 };
    plan_init(&p, nodes, node, buffers, 2);
    for (int i = 0; i < 12; i++) {
        plan_task(&p, step_of(range, i % 2, neighbours, split));
        if (i >= 8) {
            assert_true(i == 8 || c.evaluated == p.node[0].evaluated); /* steady */
            c = (cost){ p.node[0].evaluated, p.node[0].messages, plan_entries(&p) };
        }
    }
    plan_fini(&p);
    return c;
}

enum { FEW = 16, MANY = 1 << 20 };

static void stencil_in_one_dimension(void **state)
{
    (void)state;
    static const int places[][2] = { { 0, 0 }, { 7, MANY / 2 }, { FEW - 1, MANY - 1 } };
    for (size_t i = 0; i < 3; i++) {
        for (size_t halo = 1; halo <= 200; halo *= 200) {
            cost few = stencil(FEW, places[i][0], tacit_range1(64 * FEW), tacit_neighborhood(halo, 0, 0),
                               TACIT_SPLIT_1D);
            cost many = stencil(MANY, places[i][1], tacit_range1((size_t)64 * MANY), tacit_neighborhood(halo, 0, 0),
                                TACIT_SPLIT_1D);
            assert_int_equal(few.messages, many.messages);
            assert_int_equal(few.evaluated, many.evaluated);
            assert_int_equal(many.entries, 2);
            assert_true(halo > 1 || many.evaluated <= 20);
        }
    }
}

/* Nodes at a corner, at an edge and inside, on a square of nodes. */
static void stencil_in_two_dimensions(void **state)
{
    (void)state;
    static const int places[][2] = { { 0, 0 }, { 1, 512 }, { 5, 512 * 1024 + 512 }, { 15, MANY - 1 } };
    for (size_t i = 0; i < 4; i++) {
        for (int star = 0; star < 2; star++) {
            tacit_mapper m = star ? tacit_star(1, 1, 0) : tacit_neighborhood(1, 1, 0);
            cost few = stencil(FEW, places[i][0], tacit_range2(64, 64), m, TACIT_SPLIT_2D);
            cost many = stencil(MANY, places[i][1], tacit_range2(16 * 1024, 16 * 1024), m, TACIT_SPLIT_2D);
            assert_int_equal(few.messages, many.messages);
            assert_int_equal(few.evaluated, many.evaluated);
            assert_true(many.evaluated <= 60);
        }
    }
}

/* On a ring every node has two neighbours, also the first and the last: all cost what an inner one costs without a
 * ring, on any number of nodes. */
static void periodic_stencil_in_one_dimension(void **state)
{
    (void)state;
    static const int places[][2] = {
        { 0, 0 }, { 1, 1 }, { 7, MANY / 2 }, { FEW - 2, MANY - 2 }, { FEW - 1, MANY - 1 }
    };
    for (size_t halo = 1; halo <= 200; halo *= 200) {
        const tacit_range few_items = tacit_range1(64 * FEW), many_items = tacit_range1((size_t)64 * MANY);
        cost inner = stencil(FEW, 7, few_items, tacit_neighborhood(halo, 0, 0), TACIT_SPLIT_1D);
        for (size_t i = 0; i < 5; i++) {
            cost few = stencil(FEW, places[i][0], few_items, tacit_periodic(halo, 0, 0), TACIT_SPLIT_1D);
            cost many = stencil(MANY, places[i][1], many_items, tacit_periodic(halo, 0, 0), TACIT_SPLIT_1D);
            assert_int_equal(few.messages, inner.messages);
            assert_int_equal(few.evaluated, inner.evaluated);
            assert_int_equal(many.messages, inner.messages);
            assert_int_equal(many.evaluated, inner.evaluated);
            assert_int_equal(many.entries, 2);
            assert_true(halo > 1 || (many.messages == 4 && many.evaluated <= 20));
        }
    }
}

/* Corners, edges and the inside of a square of nodes: all have eight neighbours on a torus, whose planning costs the
 * same up to the few chunks that pieces at a border add. */
static void periodic_stencil_in_two_dimensions(void **state)
{
    (void)state;
    static const int places[][2] = {
        { 0, 0 }, { 1, 512 }, { 5, 512 * 1024 + 512 }, { 7, 512 * 1024 + 1023 }, { 15, MANY - 1 }
    };
    for (size_t i = 0; i < 5; i++) {
        cost few = stencil(FEW, places[i][0], tacit_range2(64, 64), tacit_periodic(1, 1, 0), TACIT_SPLIT_2D);
        cost many = stencil(MANY, places[i][1], tacit_range2(16 * 1024, 16 * 1024), tacit_periodic(1, 1, 0),
                            TACIT_SPLIT_2D);
        assert_int_equal(few.messages, 16);
        assert_int_equal(many.messages, 16);
        assert_int_equal(few.evaluated, many.evaluated);
        assert_true(many.evaluated <= 60);
    }
}

static cost nbody(int nodes, int node)
{
    tacit_range range = tacit_range1((size_t)64 * (size_t)nodes);
    gen_buffer buffers[] = { plan_buffer(range, true), plan_buffer(range, true) };
    gen_task kick = { .range = range, .access = { plan_read(0, tacit_all()), plan_update(1, tacit_one_to_one()) } };
    gen_task drift = { .range = range,
                       .access = { plan_read(1, tacit_one_to_one()), plan_update(0, tacit_one_to_one()) } };
    plan p;
    cost c = { 0, 0, 0 };
    plan_init(&p, nodes, node, buffers, 2);
    for (int i = 0; i < 6; i++) {
        plan_task(&p, kick);
        c = (cost){ p.node[0].evaluated, p.node[0].messages, 0 };
        plan_task(&p, drift);
        c.evaluated += p.node[0].evaluated;
        c.messages += p.node[0].messages;
        c.entries = plan_entries(&p);
    }
    plan_fini(&p);
    return c;
}

/* Evaluations per message: the same on 4 and on 256 nodes, but for a constant per task. */
static void everybody_with_everybody(void **state)
{
    (void)state;
    cost base = nbody(4, 2);
    assert_int_equal(base.messages, 6);
    for (int nodes = 8; nodes <= 256; nodes *= 2) {
        cost c = nbody(nodes, nodes / 2);
        assert_int_equal(c.messages, 2 * (nodes - 1));
        assert_true(c.evaluated * base.messages <= base.evaluated * c.messages + 32 * base.messages);
        assert_int_equal(c.entries, 2);
    }
}

/* A step that appends a row and reads all earlier ones. The latest step's cost does not depend on how many there
 * were. */
static void append_rows(int collectives)
{
    enum { NODES = 8, ROWS = 2000, WIDTH = 32 };
    gen_buffer buffers[] = { plan_buffer(tacit_range2(ROWS, WIDTH), false) };
    uint64_t early = 0;
    plan p;
    plan_start(&p, &(plan_setup){ .nodes = NODES, .only = 3, .collectives = collectives }, buffers, 1);
    for (size_t t = 0; t < ROWS; t++) {
        tacit_component row = tacit_span(t, t + 1);
        gen_task step = { .range = tacit_range1(WIDTH) };
        step.access[0] = plan_write(0, tacit_components(row, tacit_dim(0), tacit_full()));
        if (t > 0) {
            step.access[1] = plan_read(0, tacit_components(tacit_span(0, t), tacit_full(), tacit_full()));
        }
        plan_task(&p, step);
        early = t == 50 ? p.node[0].evaluated : early;
        assert_true(plan_entries(&p) <= 4);
        assert_true(t < 60 || ti_task_graph_all_entries(p.node[0].tasks) < 60);
    }
    assert_int_equal(p.node[0].evaluated, early);
    plan_fini(&p);
}

static void appended_rows(void **state)
{
    (void)state;
    append_rows(TI_COLLECTIVES_OFF);
    append_rows(TI_COLLECTIVES_DISCOVER);
    append_rows(TI_COLLECTIVES_LOOKAHEAD);
}

/* The most memory that the planners have in the first half of a run, and in the second. `body` plans round i. */
static void check_constant_memory(void (*body)(plan *p, size_t i))
{
    enum { ROUNDS = 22000 };
    gen_buffer buffers[] = { plan_buffer(tacit_range1(4096), true), plan_buffer(tacit_range1(4096), true) };
    plan p;
    uint64_t before = ti_alloc_live(), most[2] = { 0, 0 };
    plan_init(&p, 1024, 500, buffers, 2);
    for (size_t i = 0; i < ROUNDS; i++) {
        body(&p, i);
        most[2 * i / ROUNDS] = TI_MAX(most[2 * i / ROUNDS], ti_alloc_live() - before);
    }
    assert_true(most[1] <= most[0] + most[0] / 8);
    assert_true(most[1] < 16 << 20);
    plan_fini(&p);
    assert_int_equal(ti_alloc_live(), before);
}

static void stencil_round(plan *p, size_t i)
{
    plan_task(p, step_of(tacit_range1(4096), (int)(i % 2), tacit_neighborhood(1, 0, 0), TACIT_SPLIT_1D));
}

/* A window that is nowhere twice for long, written and then read from elsewhere. */
static void window_round(plan *p, size_t i)
{
    size_t at = i * 7 % 3000, width = 500 + i % 501;
    tacit_component shift = tacit_dim_scaled(0, 1, 1, -(int64_t)at, (int64_t)at);
    gen_task t = { .range = tacit_range1(width),
                   .access = { plan_write(0, tacit_components(shift, tacit_full(), tacit_full())) } };
    plan_task(p, t);
    t.access[0] = plan_read(0, tacit_fixed(tacit_box1(i % 4000, i % 4000 + 50)));
    t.range = tacit_range1(1024);
    plan_task(p, t);
}

/* Tasks on nodes in turn, and a reduction now and then. */
static void placed_round(plan *p, size_t i)
{
    size_t at = i * 16 % 4096;
    gen_task t = { .range = tacit_range1(1), .access = { plan_update(0, tacit_fixed(tacit_box1(at, at + 16))) } };
    t.access[1] = plan_read(1, tacit_fixed(tacit_box1(at / 2, at / 2 + 8)));
    plan_placed(p, (int)(i * 37 % 1024), t);
}

static void constant_memory(void **state)
{
    (void)state;
    check_constant_memory(stencil_round);
    check_constant_memory(window_round);
    check_constant_memory(placed_round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stencil_in_one_dimension),
        cmocka_unit_test(stencil_in_two_dimensions),
        cmocka_unit_test(periodic_stencil_in_one_dimension),
        cmocka_unit_test(periodic_stencil_in_two_dimensions),
        cmocka_unit_test(everybody_with_everybody),
        cmocka_unit_test(appended_rows),
        cmocka_unit_test(constant_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
