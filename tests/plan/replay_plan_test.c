/* Replay: what tasks that come again do to buffers in a state that comes again is not derived anew, and is the same
 * all the same. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

enum { A, B, C, NODES = 4, ITEMS = 16 };

static gen_task task1(const char *name, gen_access access)
{
    return (gen_task){ .name = name, .range = tacit_range1(ITEMS), .access = { access } };
}

static gen_access sum_of(int buffer, bool include_old)
{
    return (gen_access){ .buffer = buffer,
                         .mode = TACIT_REDUCE,
                         .mapper = tacit_all(),
                         .op = tacit_sum(TACIT_UINT64),
                         .include_old = include_old };
}

static void start(plan *p, int collectives)
{
    gen_buffer b = plan_buffer(tacit_range1(ITEMS), true), list[] = { b, b, b };
    plan_start(p, &(plan_setup){ .nodes = NODES, .only = -1, .collectives = collectives, .horizon_step = 3 }, list, 3);
}

static void step_of_stencil(plan *p, int from)
{
    p->shape = (uint64_t)from + 1;
    gen_task t = { .range = tacit_range1(ITEMS) };
    t.access[0] = plan_read(from, tacit_neighborhood(1, 0, 0));
    t.access[1] = plan_write(1 - from, tacit_one_to_one());
    plan_task(p, t);
}

static void loops_evaluate_nothing(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_COLLECTIVES_OFF);
    for (int i = 0; i < 20; i++) {
        uint64_t before = p.node[1].replayed;
        step_of_stencil(&p, i % 2);
        const char *text = i % 2
                               ? "send 0 B [4,5); send 2 B [7,8); receive 0 B [3,4); receive 2 B [8,9); execute [4,8)"
                               : "send 0 A [4,5); send 2 A [7,8); receive 0 A [3,4); receive 2 A [8,9); execute [4,8)";
        assert_string_equal(plan_text(&p, 1), i == 0 ? "execute [4,8)" : text);
        assert_true(i < 6 || (p.node[1].replayed == before + 2 && p.node[1].evaluated == 0));
    }
    assert_int_equal(p.node[0].replayed, 0); /* it explains */
    plan_fini(&p);
}

static void what_comes_between_is_seen(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_COLLECTIVES_OFF);
    for (int i = 0; i < 11; i++) {
        step_of_stencil(&p, i % 2);
    }
    assert_true(p.node[1].replayed > 0);
    p.shape = 0;
    plan_task(&p, task1("all", plan_read(B, tacit_all())));
    assert_string_equal(plan_text(&p, 1), "send 0 B [4,8); send 2 B [4,8); send 3 B [4,8); receive 0 B [0,4); "
                                          "receive 2 B [8,12); receive 3 B [12,16); execute [4,8)");
    step_of_stencil(&p, B); /* everything is here */
    assert_string_equal(plan_text(&p, 1), "execute [4,8)");
    step_of_stencil(&p, A);
    assert_string_equal(plan_text(&p, 1),
                        "send 0 A [4,5); send 2 A [7,8); receive 0 A [3,4); receive 2 A [8,9); execute [4,8)");
    plan_fini(&p);
}

/* What is placed on another node, comes once, and only writes concerns node 1 in nothing; but the versions lag. */
static void what_others_write_between_is_seen(void **state)
{
    (void)state;
    for (int n = 0; n < 16; n++) {
        int steps = 8 + n / 2, written = n % 2;
        plan p;
        start(&p, TI_COLLECTIVES_OFF);
        for (int i = 0; i < steps; i++) {
            step_of_stencil(&p, i % 2);
        }
        assert_true(p.node[1].replayed > 0);
        p.shape = 0;
        plan_placed(&p, 2, task1("fill", plan_write(written, tacit_one_to_one())));
        assert_string_equal(plan_text(&p, 1), "");
        step_of_stencil(&p, written);
        assert_string_equal(plan_text(&p, 1),
                            written ? "receive 2 B [3,9); execute [4,8)" : "receive 2 A [3,9); execute [4,8)");
        plan_fini(&p);
    }
}

static void all_gathers_are_found_again(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_COLLECTIVES_LOOKAHEAD);
    for (int i = 0; i < 12; i++) {
        uint64_t before = p.node[1].replayed;
        p.shape = 1;
        plan_task(&p, task1("write", plan_update(A, tacit_one_to_one())));
        assert_string_equal(plan_text(&p, 1), "execute [4,8)");
        p.shape = 2;
        plan_task(&p, task1("read", plan_read(A, tacit_all())));
        assert_string_equal(plan_text(&p, 1), "all-gather A [0,16) give [4,8) get [0,4)+[8,16); execute [4,8)");
        assert_true(i < 4 || p.node[1].replayed == before + 2);
    }
    plan_fini(&p);
}

/* ---- a wavefront: all tasks of a long loop meet different contents */

enum { ROWS = 60, WIDTH = 8 };

static void start_wavefront(plan *p)
{
    gen_buffer b = plan_buffer(tacit_range2(ROWS, 2 * WIDTH), true);
    plan_start(p, &(plan_setup){ .nodes = 2, .only = -1, .collectives = TI_COLLECTIVES_LOOKAHEAD, .horizon_step = 3 },
               &b, 1);
}

/* One row of the block of columns that a node has, of the row above and of the last element to the left. */
static void plan_row(plan *p, size_t row, int node)
{
    const size_t left = node ? WIDTH : 1, end = (size_t)(node + 1) * WIDTH;
    gen_task t = { .name = "row", .range = tacit_range2(1, end - left), .offset = { row, left } };
    t.access[0] = plan_read(A, tacit_fixed(tacit_box2(row - 1, row, left - 1, end)));
    t.access[1] = plan_read(A, tacit_fixed(tacit_box2(row, row + 1, left - 1, left)));
    t.access[2] = plan_write(A, tacit_one_to_one());
    p->shape = p->shape ? 2 * (uint64_t)row + (uint64_t)node : 0;
    plan_placed(p, node, t);
}

static void long_loops_are_replayed(void **state)
{
    (void)state;
    enum { SWEEPS = 7, WARM = 3 };
    plan with, without;
    start_wavefront(&with);
    start_wavefront(&without);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t i = 2; i < (size_t)2 * ROWS; i++) {
            const uint64_t before = with.node[1].replayed;
            with.shape = 1;
            plan_row(&with, i / 2, (int)(i % 2));
            plan_row(&without, i / 2, (int)(i % 2));
            for (int n = 0; n < 2; n++) {
                assert_string_equal(plan_text(&with, n), plan_text(&without, n));
            }
            assert_true(sweep != WARM || with.node[1].replayed == before + 1);
            if (sweep > WARM && i == ROWS + (size_t)sweep) { /* the map is far behind by then */
                plan_fence(&with, A, (gen_box){ { 3, 2, 0 }, { ROWS, 2 * WIDTH, 1 } });
                plan_fence(&without, A, (gen_box){ { 3, 2, 0 }, { ROWS, 2 * WIDTH, 1 } });
                assert_string_equal(plan_text(&with, 1), plan_text(&without, 1));
            }
        }
    }
    plan_fini(&with);
    plan_fini(&without);
}

/* Where a result goes follows from who has read those before. */
static void reductions_are_found_again(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_COLLECTIVES_LOOKAHEAD);
    for (int i = 0; i < 30; i++) {
        uint64_t before = p.node[1].replayed;
        p.shape = 1;
        plan_task(&p, task1("sum", sum_of(A, false)));
        assert_string_equal(plan_text(&p, 1),
                            i >= 11 && i <= 20 ? "execute [4,8); reduce to 2" : "execute [4,8); all-reduce");
        if (i >= 10 && i < 20) {
            p.shape = 2;
            plan_placed(&p, 2, task1("look", plan_read(A, tacit_all())));
            assert_string_equal(plan_text(&p, 1), "");
        } else {
            p.shape = 3;
            plan_task(&p, task1("read", plan_read(A, tacit_all())));
            assert_string_equal(plan_text(&p, 1),
                                i == 20 ? "broadcast from 2 A [0,16) get [0,16); execute [4,8)" : "execute [4,8)");
        }
        assert_true(i % 10 < 3 || p.node[1].replayed == before + 2);
    }
    assert_int_equal(p.node[0].replayed, 0); /* it explains */
    plan_fini(&p);
}

/* ---- random programs of few tasks: with replay and without, node by node */

static void run_kind(plan *p, int kind)
{
    static const tacit_box front = { { 0, 0, 0 }, { 10, 1, 1 } };
    int buffer = kind % 3;
    p->shape = p->shape ? (uint64_t)kind + 1 : 0;
    switch (kind / 3) {
    case 0:
        plan_task(p, task1("write", plan_write(buffer, tacit_one_to_one())));
        break;
    case 1:
        plan_task(p, task1("update", plan_update(buffer, tacit_one_to_one())));
        break;
    case 2:
        plan_task(p, task1("all", plan_read(buffer, tacit_all())));
        break;
    case 3:
        plan_task(p, task1("halo", plan_read(buffer, tacit_neighborhood(1, 0, 0))));
        break;
    case 4:
        plan_placed(p, 1, task1("look", plan_read(buffer, tacit_all())));
        break;
    case 5:
        plan_task(p, task1("front", plan_read(buffer, tacit_fixed(front))));
        break;
    case 6:
        plan_task(p, task1("sum", sum_of(buffer, false)));
        break;
    case 7:
        plan_task(p, task1("more", sum_of(buffer, true)));
        break;
    case 8:
        plan_placed(p, 3, task1("sum alone", sum_of(buffer, false)));
        break;
    default:
        plan_placed(p, 2, task1("fill", plan_write(buffer, tacit_one_to_one())));
        break;
    }
}

enum { KINDS = 30, LOOP = 6 };

/* Loops of a few tasks, now and then with a fence. */
static void compare(uint64_t seed, int collectives, uint64_t *replayed)
{
    plan with, without;
    gen_rng r = { gen_mix(seed) };
    start(&with, collectives);
    start(&without, collectives);
    for (int loop = 0; loop < 8; loop++) {
        int kind[LOOP], length = (int)gen_between(&r, 1, LOOP), turns = (int)gen_between(&r, 1, 12);
        for (int i = 0; i < length; i++) {
            kind[i] = (int)gen_between(&r, 0, KINDS - 1);
        }
        for (int i = 0; i < length * turns; i++) {
            with.shape = 1;
            run_kind(&with, kind[i % length]);
            run_kind(&without, kind[i % length]);
            for (int n = 0; n < NODES; n++) {
                assert_string_equal(plan_text(&with, n), plan_text(&without, n));
            }
        }
        if (gen_chance(&r, 30)) {
            plan_fence(&with, A, (gen_box){ { 0, 0, 0 }, { ITEMS, 1, 1 } });
            plan_fence(&without, A, (gen_box){ { 0, 0, 0 }, { ITEMS, 1, 1 } });
            assert_string_equal(plan_text(&with, 1), plan_text(&without, 1));
        }
    }
    assert_int_equal(without.node[1].replayed, 0);
    *replayed += with.node[1].replayed;
    plan_fini(&with);
    plan_fini(&without);
}

static void plans_are_the_same_without(void **state)
{
    (void)state;
    for (int c = TI_COLLECTIVES_OFF; c <= TI_COLLECTIVES_LOOKAHEAD; c++) {
        uint64_t replayed = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            compare(seed, c, &replayed);
        }
        assert_true(replayed > 3000);
    }
}

/* Three parts, of which two are written before a horizon and one after it. What lies before it is one forward, the
 * first, so the order of three collectives depends on which part comes last, although versions look the same. All nodes
 * take that order from the tasks: those that replay, and the first, which never does. */
enum { PART = 32 };

static void write_part(plan *p, int part)
{
    int64_t at = (int64_t)part * PART;
    p->shape = (uint64_t)part + 1;
    plan_task(p, (gen_task){ .range = tacit_range1(PART),
                             .access = { plan_write(A, tacit_components(tacit_dim_scaled(0, 1, 1, -at, at),
                                                                        tacit_full(), tacit_full())) } });
}

/* One element of each part is read, by which the old writers become one. */
static void read_little(plan *p)
{
    gen_task t = { .range = tacit_range1(1) };
    for (size_t k = 0; k < 3; k++) {
        t.access[k] = plan_read(A, tacit_fixed(tacit_box1(k * PART, k * PART + 1)));
    }
    p->shape = 4;
    plan_placed(p, 2, t);
}

static void parts_in_another_order(void **state)
{
    (void)state;
    static const char *const parts[] = { "all-gather A [1,", "all-gather A [65," };
    plan p;
    gen_buffer b = plan_buffer(tacit_range1((size_t)3 * PART), true), list[] = { b, b };
    plan_start(
        &p,
        &(plan_setup){
            .nodes = NODES, .only = -1, .collectives = TI_COLLECTIVES_DISCOVER, .horizon_step = 3, .old_producers = 1 },
        list, 2);
    int orders[2] = { 0, 0 };
    for (int i = 0; i < 40; i++) {
        int last = i < 12 ? i % 2 * 2 : i / 3 % 2 * 2;
        for (int part = 0; part < 3; part++) {
            if (part != last) {
                write_part(&p, part);
            }
        }
        for (int k = 0; k < 4; k++) { /* as many as make a horizon */
            p.shape = 5;
            plan_task(&p, task1("chain", plan_update(B, tacit_one_to_one())));
        }
        write_part(&p, last);
        read_little(&p);
        p.shape = 6;
        plan_task(&p, task1("R", plan_read(A, tacit_all())));
        const char *first = strstr(plan_text(&p, 0), parts[0]), *second = strstr(plan_text(&p, 0), parts[1]);
        for (int n = 1; n < NODES && first && second; n++) {
            const char *here = strstr(plan_text(&p, n), parts[0]), *there = strstr(plan_text(&p, n), parts[1]);
            assert_true(here && there && (here < there) == (first < second));
        }
        orders[first < second] += first && second;
    }
    assert_true(orders[0] > 5 && orders[1] > 5 && p.node[1].replayed > 50);
    plan_fini(&p);
}

/* A version that one node has read is another one than a version that another node has read. */
static void who_has_read_is_seen(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_COLLECTIVES_OFF);
    for (int i = 0; i < 24; i++) {
        const int reader = 1 + i % 2;
        const uint64_t before = p.node[1].replayed;
        p.shape = 1;
        plan_placed(&p, 0, task1("write", plan_write(A, tacit_all())));
        p.shape = 1 + (uint64_t)reader;
        plan_placed(&p, reader, task1("first", plan_read(A, tacit_all())));
        p.shape = 4;
        plan_placed(&p, 1, task1("second", plan_read(A, tacit_all())));
        assert_string_equal(plan_text(&p, 1), reader == 1 ? "execute [0,16)" : "receive 0 A [0,16); execute [0,16)");
        p.shape = 5;
        plan_placed(&p, 2, task1("third", plan_read(A, tacit_all())));
        assert_string_equal(plan_text(&p, 2), reader == 2 ? "execute [0,16)" : "receive 0 A [0,16); execute [0,16)");
        assert_true(i < 6 || p.node[1].replayed == before + 4);
    }
    plan_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_evaluate_nothing),      cmocka_unit_test(long_loops_are_replayed),
        cmocka_unit_test(what_comes_between_is_seen),  cmocka_unit_test(what_others_write_between_is_seen),
        cmocka_unit_test(all_gathers_are_found_again), cmocka_unit_test(reductions_are_found_again),
        cmocka_unit_test(plans_are_the_same_without),  cmocka_unit_test(parts_in_another_order),
        cmocka_unit_test(who_has_read_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
