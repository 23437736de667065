/* A crowd is there when a yield took long and the process got less than it may expect, and goes after a while. The
 * clock is the test's. */
#include "base/crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static uint64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void use(uint64_t ns)
{
    for (const uint64_t end = used_ns() + ns; used_ns() < end;) {
    }
}

static void a_process_that_gets_little_has_a_crowd(void **state)
{
    (void)state;
    uint64_t now = 1000 * MS;
    ti_crowd_join(1500);
    ti_crowd_join(500);
    ti_crowd_look(now);
    assert_false(ti_crowd_is_there(now)); /* nothing is known of the time before */
    now += 100 * MS;                      /* in which the process used next to nothing of two cores */
    ti_crowd_look(now);
    assert_true(ti_crowd_is_there(now));
    assert_true(ti_crowd_is_there(now + 4 * MS));
    assert_false(ti_crowd_is_there(now + 6 * MS));
    ti_crowd_leave(1500);
    ti_crowd_leave(500);
}

static void a_process_that_gets_its_part_has_none(void **state)
{
    (void)state;
    uint64_t now = 5000 * MS;
    ti_crowd_join(100); /* a tenth of a core */
    ti_crowd_look(now);
    use(12 * MS);
    now += 100 * MS;
    ti_crowd_look(now);
    assert_false(ti_crowd_is_there(now));
    now += 1000 * MS; /* long ago: the process may have had nothing to do */
    ti_crowd_look(now);
    assert_false(ti_crowd_is_there(now));
    now += 100 * MS;
    ti_crowd_look(now);
    assert_true(ti_crowd_is_there(now));
    ti_crowd_leave(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_process_that_gets_little_has_a_crowd),
                                        cmocka_unit_test(a_process_that_gets_its_part_has_none) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
