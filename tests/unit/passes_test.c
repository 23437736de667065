/* Passes of the program's loop (api/passes.h): loops of many lengths, behind other tasks, described or prepared. */
#include "api/passes.h"

#include "base/macro.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static ti_passes begin(void)
{
    ti_passes p = { .on = true };
    ti_passes_begin(&p);
    return p;
}

/* Of a program's tasks that differ in this number only. */
static tacit_task task_of(size_t number)
{
    return (tacit_task){ .range = tacit_range_make(1, 10, number * 77, number), .offset = { number, 5 * number } };
}

static void submit_or_start(ti_passes *p, size_t number, bool is_prepared)
{
    const tacit_task t = task_of(number);
    if (is_prepared) {
        ti_passes_started(p, number + 1);
    } else {
        ti_passes_submitted(p, &t);
    }
}

/* Twice as many tasks at most go by until one is looked for that comes again. */
static void passes_are_counted(void **state)
{
    (void)state;
    enum { PASSES = 50 };
    for (size_t before = 0; before < 100; before += 3) {
        for (size_t length = 1; length < 200; length += 7) {
            for (int is_prepared = 0; is_prepared < 2; is_prepared++) {
                ti_passes p = begin();
                for (size_t i = 0; i < before; i++) {
                    submit_or_start(&p, 1000 + i, is_prepared);
                }
                for (size_t i = 0; i < PASSES * length; i++) {
                    submit_or_start(&p, i % length, is_prepared);
                }
                const size_t unseen = 2 * TI_MAX(before, length);
                assert_true(p.passes < PASSES && p.passes + 2 + unseen / length >= PASSES);
                assert_true(ti_passes_are_many(&p) == (p.passes >= TI_PASSES_MANY));
            }
        }
    }
}

/* A prepared task and a described one are never the same, nor are those before a wait looked for after it. */
static void others_do_not_count(void **state)
{
    (void)state;
    ti_passes p = begin();
    for (size_t i = 0; i < 100; i++) {
        submit_or_start(&p, i / 2, i % 2);
    }
    assert_int_equal(p.passes, 0);
    ti_passes_begin(&p);
    submit_or_start(&p, 3, false);
    ti_passes_begin(&p);
    submit_or_start(&p, 3, false);
    assert_int_equal(p.passes, 0);
    submit_or_start(&p, 3, false);
    assert_int_equal(p.passes, 1);
    p = (ti_passes){ .on = false };
    for (size_t i = 0; i < 100; i++) {
        submit_or_start(&p, 0, i % 2);
    }
    assert_int_equal(p.passes, 0);
}

/* What is not looked at may be anything, and other on each node. */
static void dimensions_that_are_not_there_do_not_count(void **state)
{
    (void)state;
    ti_passes p = begin();
    for (size_t i = 0; i < 100; i++) {
        const tacit_task t = { .range = tacit_range_make(1, 10, i, 2 * i), .offset = { 4, i, 3 * i } };
        ti_passes_submitted(&p, &t);
    }
    assert_int_equal(p.passes, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_counted),
        cmocka_unit_test(others_do_not_count),
        cmocka_unit_test(dimensions_that_are_not_there_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
