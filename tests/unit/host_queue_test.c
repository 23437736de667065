/* The queues of workers: who may steal what. What takes less than it takes to come over stays where it is, unless it is
 * not taken for a while, or the thief goes to sleep. */
#include "device/host_queue.h"

#include "base/alloc.h"
#include "device/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SHORT_NS = 800, MANY = 15, PER_STEAL = TI_HOST_LOOKS_PER_STEAL };

typedef struct pair {
    ti_host_queue *owner, *thief;
} pair;

static pair make_pair(void)
{
    ti_host_queue *q = ti_alloc_aligned(2 * sizeof(*q));
    ti_host_queue_init(&q[0], 0, 2);
    ti_host_queue_init(&q[1], 1, 2);
    return (pair){ &q[0], &q[1] };
}

static void free_pair(pair p)
{
    ti_host_queue_fini(p.owner);
    ti_host_queue_fini(p.thief);
    ti_free(p.owner, TI_ALIGN_UP(2 * sizeof(*p.owner), TI_CACHE_LINE));
}

static ti_host_job job_of(uint64_t ns, int parts)
{
    ti_host_job j;
    memset(&j, 0, sizeof(j));
    j.parts = j.cuts = parts;
    j.length.ns = ns;
    atomic_init(&j.stealable, true);
    return j;
}

static bool steals(pair p, uint32_t looks)
{
    ti_host_entry e;
    return ti_host_queue_take(p.owner, p.thief, looks, &e);
}

static void long_or_unknown_ones_are_stolen_at_once(void **unused)
{
    (void)unused;
    const uint64_t ns[] = { 0, 2 * TI_PART_NS, 1000000000000 };
    for (size_t i = 0; i < TI_COUNT(ns); i++) {
        pair p = make_pair();
        ti_host_job j = job_of(ns[i], 1);
        ti_host_queue_push(p.owner, &j, 0);
        assert_true(steals(p, PER_STEAL));
        assert_true(ti_host_queue_is_empty(p.owner));
        free_pair(p);
    }
}

/* Three short ones are worth it, and then those that are left are not. */
static void a_few_short_ones_stay(void **unused)
{
    (void)unused;
    pair p = make_pair();
    ti_host_job j = job_of(2 * TI_PART_NS / 3 + 1, 1);
    for (int count = 1; count <= 2; count++) {
        ti_host_queue_push(p.owner, &j, 0);
        assert_false(steals(p, PER_STEAL));
    }
    ti_host_queue_push(p.owner, &j, 0);
    assert_true(steals(p, PER_STEAL));
    assert_false(steals(p, PER_STEAL));
    free_pair(p);
}

static void many_empty_ones_are_shared(void **unused)
{
    (void)unused;
    pair p = make_pair();
    ti_host_job j = job_of(1, 1);
    for (int i = 1; i < MANY; i++) {
        ti_host_queue_push(p.owner, &j, 0);
    }
    assert_false(steals(p, PER_STEAL));
    ti_host_queue_push(p.owner, &j, 0);
    assert_true(steals(p, PER_STEAL));
    free_pair(p);
}

/* What a part takes counts, not its whole job. */
static void parts_are_short(void **unused)
{
    (void)unused;
    pair p = make_pair();
    ti_host_job j = job_of(2 * SHORT_NS, 2);
    ti_host_queue_push(p.owner, &j, 0);
    assert_false(steals(p, PER_STEAL));
    free_pair(p);
}

static void what_is_left_lying_is_stolen(void **unused)
{
    (void)unused;
    ti_host_entry e;
    pair p = make_pair();
    ti_host_job j = job_of(SHORT_NS, 1);
    int looks = 0;
    ti_host_queue_push(p.owner, &j, 0);
    while (!steals(p, PER_STEAL)) {
        assert_true(++looks < 100);
    }
    assert_true(looks >= 8);
    /* While the owner takes one after the other, none of them has been there for long. */
    for (int i = 0; i < 100; i++) {
        ti_host_queue_push(p.owner, &j, 0);
        assert_false(steals(p, PER_STEAL));
        assert_true(ti_host_queue_take(p.owner, NULL, 0, &e));
    }
    free_pair(p);
}

/* Nobody wakes it for that again. */
static void who_goes_to_sleep_steals(void **unused)
{
    (void)unused;
    pair p = make_pair();
    ti_host_job j = job_of(SHORT_NS, 1);
    ti_host_queue_push(p.owner, &j, 0);
    assert_true(steals(p, TI_HOST_LOOKS_AT_REST));
    free_pair(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_or_unknown_ones_are_stolen_at_once),
        cmocka_unit_test(a_few_short_ones_stay),
        cmocka_unit_test(many_empty_ones_are_shared),
        cmocka_unit_test(parts_are_short),
        cmocka_unit_test(what_is_left_lying_is_stolen),
        cmocka_unit_test(who_goes_to_sleep_steals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
