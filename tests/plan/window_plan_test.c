/* Lookahead over tasks: what is held, what closes the window, and what one collective serves. Commands are stated
 * literally; those of a task that closes a window are those of all tasks that it held. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "plan_expect.h"

enum { A, B, C };

static gen_task task1(const char *name, tacit_range range, gen_access access)
{
    return (gen_task){ .name = name, .range = range, .access = { access } };
}

static gen_task task2(const char *name, tacit_range range, gen_access first, gen_access second)
{
    return (gen_task){ .name = name, .range = range, .access = { first, second } };
}

static void start(plan *p, int nodes, int collectives)
{
    gen_buffer b = plan_buffer(tacit_range1(16), true), list[] = { b, b, b };
    plan_start(p, &(plan_setup){ .nodes = nodes, .only = -1, .collectives = collectives, .horizon_step = 1000 }, list,
               3);
}

/* All nodes write their parts of A. */
static void write_parts(plan *p)
{
    plan_task(p, task1("W", tacit_range1(16), plan_update(A, tacit_one_to_one())));
}

static void expect_held(const plan *p)
{
    for (int i = 0; i < p->count; i++) {
        expect(p, i, "");
    }
}

static void close_window(plan *p)
{
    plan_fence(p, B, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
}

/* ---- what is merged */

static void a_gather_and_an_all_gather_are_one(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, TI_COLLECTIVES_LOOKAHEAD);
    write_parts(&p);
    plan_placed(&p, 1, task1("look", tacit_range1(1), plan_read(A, tacit_all())));
    expect_held(&p);
    plan_task(&p, task1("use", tacit_range1(16), plan_read(A, tacit_all())));
    expect(&p, 0, "all-gather A [0,16) give [0,4) get [4,16); execute [0,4)");
    expect(&p, 1, "all-gather A [0,16) give [4,8) get [0,4)+[8,16); execute [0,1); execute [4,8)");
    expect(&p, 3, "all-gather A [0,16) give [12,16) get [0,12); execute [12,16)");
    plan_fini(&p);
    /* Each task by itself: the gather hides the all-gather. */
    start(&p, 4, TI_COLLECTIVES_DISCOVER);
    write_parts(&p);
    plan_placed(&p, 1, task1("look", tacit_range1(1), plan_read(A, tacit_all())));
    expect(&p, 0, "gather to 1 A [0,16) give [0,4)");
    plan_task(&p, task1("use", tacit_range1(16), plan_read(A, tacit_all())));
    expect(&p, 0,
           "send 2 A [0,4); send 3 A [0,4); receive 1 A [4,8); receive 2 A [8,12); receive 3 A [12,16); execute [0,4)");
    plan_fini(&p);
}

static void what_fits_no_pattern_hides_nothing(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, TI_COLLECTIVES_LOOKAHEAD);
    write_parts(&p);
    plan_task(&p, task1("smooth", tacit_range1(16), plan_read(A, tacit_neighborhood(1, 0, 0))));
    expect_held(&p);
    plan_task(&p, task1("use", tacit_range1(16), plan_read(A, tacit_all())));
    expect(&p, 2, "all-gather A [0,16) give [8,12) get [0,8)+[12,16); execute [8,12); execute [8,12)");
    plan_fini(&p);
    start(&p, 4, TI_COLLECTIVES_DISCOVER);
    write_parts(&p);
    plan_task(&p, task1("smooth", tacit_range1(16), plan_read(A, tacit_neighborhood(1, 0, 0))));
    expect(&p, 2, "send 1 A [8,9); send 3 A [11,12); receive 1 A [7,8); receive 3 A [12,13); execute [8,12)");
    plan_fini(&p);
}

static void parts_for_all_are_one_broadcast(void **state)
{
    (void)state;
    plan p;
    tacit_mapper front = tacit_fixed(tacit_box1(0, 10)), back = tacit_fixed(tacit_box1(6, 16));
    start(&p, 3, TI_COLLECTIVES_LOOKAHEAD);
    plan_placed(&p, 1, task1("W", tacit_range1(16), plan_write(A, tacit_one_to_one())));
    plan_task(&p, task1("front", tacit_range1(16), plan_read(A, front)));
    expect_held(&p);
    plan_task(&p, task1("back", tacit_range1(16), plan_read(A, back)));
    expect_held(&p);
    close_window(&p);
    expect(&p, 0, "broadcast from 1 A [0,10)+[10,16) get [0,10)+[10,16); execute [0,6); execute [0,6); fence [0,1)");
    expect(&p, 1, "broadcast from 1 A [0,10)+[10,16) give [0,10)+[10,16); execute [6,11); execute [6,11); fence [0,1)");
    plan_fini(&p);
}

static void collectives_of_two_buffers_wait_for_nothing(void **state)
{
    (void)state;
    plan p;
    start(&p, 2, TI_COLLECTIVES_LOOKAHEAD);
    plan_task(&p, task2("W", tacit_range1(16), plan_update(A, tacit_one_to_one()), plan_update(B, tacit_one_to_one())));
    plan_task(&p, task2("use", tacit_range1(16), plan_read(A, tacit_all()), plan_read(B, tacit_all())));
    expect(&p, 0,
           "all-gather A [0,16) give [0,8) get [8,16); all-gather B [0,16) give [0,8) get [8,16); execute [0,8)");
    plan_fini(&p);
}

/* ---- what waits, and for what */

static void what_depends_on_nothing_held_goes_on(void **state)
{
    (void)state;
    plan p;
    start(&p, 2, TI_COLLECTIVES_LOOKAHEAD);
    write_parts(&p);
    plan_placed(&p, 1, task2("look", tacit_range1(1), plan_read(A, tacit_all()), plan_write(B, tacit_one_to_one())));
    expect_held(&p);
    plan_task(&p, task1("other", tacit_range1(16), plan_update(C, tacit_one_to_one())));
    expect(&p, 0, "execute [0,8)");
    plan_task(&p, task1("after", tacit_range1(16), plan_update(B, tacit_one_to_one()))); /* looks wrote there */
    expect_held(&p);
    write_parts(&p); /* must wait until it has been read */
    expect_held(&p);
    plan_task(&p,
              task2("more", tacit_range1(16), plan_read(A, tacit_one_to_one()), plan_update(C, tacit_one_to_one())));
    expect_held(&p);
    plan_fence(&p, C, (gen_box){ { 0, 0, 0 }, { 16, 1, 1 } });
    expect(&p, 0,
           "gather to 1 A [0,16) give [0,8); receive 1 B [0,1); execute [0,8); execute [0,8); execute [0,8); "
           "all-gather C [0,16) give [0,8) get [8,16); fence [0,16)");
    plan_fini(&p);
}

/* What is all there is to have is decided when it comes, with what waited for it. */
static void nothing_better_can_come(void **state)
{
    (void)state;
    plan p;
    start(&p, 2, TI_COLLECTIVES_LOOKAHEAD);
    write_parts(&p);
    plan_task(&p, task1("use", tacit_range1(16), plan_read(A, tacit_all())));
    expect(&p, 1, "all-gather A [0,16) give [8,16) get [0,8); execute [8,16)");
    plan_placed(&p, 0, task1("look", tacit_range1(1), plan_read(A, tacit_all())));
    expect(&p, 0, "execute [0,1)");
    plan_fini(&p);
}

/* One step of a loop whose stencil nothing improves; the text is the stencil's. */
static void stencil_step(plan *p)
{
    write_parts(p);
    plan_task(p, task1("smooth", tacit_range1(16), plan_read(A, tacit_neighborhood(1, 0, 0))));
}

static void loops_without_anything_to_find_stop_waiting(void **state)
{
    (void)state;
    const char *text = "send 1 A [7,8); receive 1 A [8,9); execute [0,8)";
    plan p;
    start(&p, 2, TI_COLLECTIVES_LOOKAHEAD);
    for (int window = 0; window < 2; window++) {
        stencil_step(&p);
        expect_held(&p);
        close_window(&p);
    }
    for (int step = 0; step < 3; step++) {
        stencil_step(&p);
        expect(&p, 0, text);
    }
    /* Now something would have been worth it: from here on, tasks are held again. */
    plan_task(&p, task1("use", tacit_range1(16), plan_read(A, tacit_all())));
    expect(&p, 0, "all-gather A [0,16) give [0,8) get [8,16); execute [0,8)");
    stencil_step(&p);
    expect_held(&p);
    plan_task(&p, task1("use", tacit_range1(16), plan_read(A, tacit_all())));
    expect(&p, 0, "all-gather A [0,16) give [0,8) get [8,16); execute [0,8); execute [0,8)");
    plan_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gather_and_an_all_gather_are_one),
        cmocka_unit_test(what_fits_no_pattern_hides_nothing),
        cmocka_unit_test(parts_for_all_are_one_broadcast),
        cmocka_unit_test(collectives_of_two_buffers_wait_for_nothing),
        cmocka_unit_test(what_depends_on_nothing_held_goes_on),
        cmocka_unit_test(nothing_better_can_come),
        cmocka_unit_test(loops_without_anything_to_find_stop_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
