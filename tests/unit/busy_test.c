/* How long accelerators are busy with kernels that are measured (exec/busy.h). */
#include "exec/busy.h"

#include "base/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct seen {
    int count, device;
    uint64_t items, ns;
} seen;

static void note(void *user, int device, uint64_t items, uint64_t ns)
{
    seen *s = user;
    *s = (seen){ s->count + 1, device, items, ns };
}

static void kernels_side_by_side_are_one_time(void **state)
{
    (void)state;
    seen s = { 0 };
    ti_busy b = { .user = &s, .done = note };
    ti_busy_launched(&b, 2, 10, 90, 100);
    ti_busy_launched(&b, 2, 20, 110, 120);
    ti_busy_ended(&b, 2, 150);
    assert_int_equal(s.count, 0);
    ti_busy_launched(&b, 3, 7, 150, 160);
    ti_busy_launched(&b, 2, 0, 150, 160); /* does not count */
    ti_busy_ended(&b, 2, 180);
    assert_true(s.count == 1 && s.device == 2 && s.items == 30 && s.ns == 80);
    ti_busy_ended(&b, 3, 200);
    assert_true(s.count == 2 && s.device == 3 && s.items == 7 && s.ns == 40);
}

/* A kernel is compiled meanwhile, so that nobody sees others end. */
static void long_launches_spoil_what_runs(void **state)
{
    (void)state;
    const uint64_t compiled = 500 + TI_BUSY_LONG_LAUNCH + 1;
    seen s = { 0 };
    ti_busy b = { .user = &s, .done = note };
    ti_busy_launched(&b, 1, 10, 90, 100);
    ti_busy_launched(&b, 2, 0, 500, compiled);
    ti_busy_launched(&b, 2, 5, 500, compiled); /* itself has begun at its end */
    ti_busy_ended(&b, 1, compiled + 10);
    assert_int_equal(s.count, 0);
    ti_busy_ended(&b, 2, compiled + 20);
    assert_true(s.count == 1 && s.device == 2 && s.items == 5 && s.ns == 20);
    ti_busy_launched(&b, 1, 10, compiled + 30, compiled + 40);
    ti_busy_ended(&b, 1, compiled + 50);
    assert_true(s.count == 2 && s.device == 1 && s.ns == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_side_by_side_are_one_time),
        cmocka_unit_test(long_launches_spoil_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
