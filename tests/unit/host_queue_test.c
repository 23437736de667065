/* The queues of workers: who may steal what. What takes less than it takes to come over stays where it is, unless it is
 * not taken for a while, or the thief goes to sleep. And parts that wait for the end of another job. */
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
    return ti_host_queue_steal(p.owner, p.thief, looks, &e);
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
        assert_true(ti_host_queue_take(p.owner, &e));
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

/* ---- parts that wait for the end of another job */

/* Two parts, which wait for the only one of `before`. */
static ti_host_job follower_of(ti_host_job *before)
{
    ti_host_job j = job_of(SHORT_NS, 2);
    atomic_init(&before->left, 1);
    atomic_init(&j.before, before);
    atomic_init(&j.use_before, atomic_load(&before->use));
    return j;
}

static bool takes_gated(ti_host_queue *q, const ti_host_job *job, int part)
{
    ti_host_entry e = { .part = -1 };
    const bool takes = ti_host_queue_take_gated(q, &e);
    assert_true(!takes || (e.job == job && e.part == part));
    return takes;
}

static void gated_ones_wait_for_the_end(void **unused)
{
    (void)unused;
    for (int way = 0; way < 2; way++) {
        pair p = make_pair();
        ti_host_job before = job_of(SHORT_NS, 1), j = follower_of(&before);
        ti_host_queue_push_gated(p.owner, &j, 0);
        assert_true(ti_host_queue_has_gated(p.owner) && ti_host_queue_has_any(p.owner));
        assert_false(ti_host_queue_has_any(p.thief));
        assert_false(takes_gated(p.owner, &j, 0));
        if (way == 0) {
            atomic_store(&before.left, 0);
        } else {
            atomic_store(&before.use, 1); /* it has ended, and is another job by now */
        }
        assert_true(takes_gated(p.owner, &j, 0));
        assert_false(ti_host_queue_has_any(p.owner) || takes_gated(p.owner, &j, 0));
        free_pair(p);
    }
}

/* They come in their order, however many there are, and do not wait for what is queued, nor that for them. */
static void gated_ones_keep_their_order(void **unused)
{
    enum { MANY_JOBS = 100 };
    (void)unused;
    pair p = make_pair();
    static ti_host_job chain[MANY_JOBS + 1];
    ti_host_job other = job_of(SHORT_NS, 1);
    ti_host_entry e;
    chain[0] = job_of(SHORT_NS, 1);
    for (int i = 1; i <= MANY_JOBS; i++) {
        chain[i] = follower_of(&chain[i - 1]);
        ti_host_queue_push_gated(p.owner, &chain[i], 1);
    }
    ti_host_queue_push(p.owner, &other, 0);
    for (int i = 1; i <= MANY_JOBS; i++) {
        assert_false(takes_gated(p.owner, &chain[i], 1));
        if (i == 1) {
            assert_true(ti_host_queue_take(p.owner, &e) && e.job == &other);
        }
        atomic_store(&chain[i - 1].left, 0);
        assert_true(takes_gated(p.owner, &chain[i], 1));
    }
    assert_false(ti_host_queue_has_any(p.owner));
    free_pair(p);
}

/* A worker that waits is there, and takes it as soon as it can; others take it when that has not happened for a while,
 * or before they sleep. How long it has waited to begin does not count. */
static void gated_ones_are_stolen_when_they_lie_still(void **unused)
{
    (void)unused;
    for (int rests = 0; rests < 2; rests++) {
        pair p = make_pair();
        ti_host_job before = job_of(SHORT_NS, 1), j = follower_of(&before);
        ti_host_queue_push_gated(p.owner, &j, 0);
        for (int i = 0; i < 1000; i++) {
            assert_false(steals(p, rests ? TI_HOST_LOOKS_AT_REST : PER_STEAL));
        }
        assert_false(ti_host_queue_has_work(p.owner));
        atomic_store(&before.left, 0);
        assert_true(ti_host_queue_has_work(p.owner));
        int looks = 0;
        while (!steals(p, rests ? TI_HOST_LOOKS_AT_REST : PER_STEAL)) {
            assert_true(++looks < 100);
        }
        assert_true(rests ? looks == 0 : looks >= 8);
        free_pair(p);
    }
}

static void what_never_runs_is_dropped(void **unused)
{
    (void)unused;
    pair p = make_pair();
    ti_host_job before = job_of(SHORT_NS, 1), j = follower_of(&before), next = job_of(SHORT_NS, 1),
                queued = job_of(SHORT_NS, 1);
    ti_host_entry e;
    int dropped = 0;
    assert_true(ti_host_queue_put_next(p.owner, &next, 0));
    ti_host_queue_push(p.owner, &queued, 0);
    ti_host_queue_push_gated(p.owner, &j, 0);
    while (ti_host_queue_drop(p.owner, &e)) {
        assert_true(e.job == &j || e.job == &next || e.job == &queued);
        dropped++;
    }
    assert_int_equal(dropped, 3);
    assert_false(ti_host_queue_has_any(p.owner));
    free_pair(p);
}

/* Looks at one queue say nothing of another one. */
static void sights_are_of_one_queue_each(void **unused)
{
    enum { QUEUES = 3 };
    (void)unused;
    ti_host_queue *q = ti_alloc_aligned(QUEUES * sizeof(*q));
    ti_host_job j = job_of(SHORT_NS, 1);
    ti_host_entry e;
    for (int i = 0; i < QUEUES; i++) {
        ti_host_queue_init(&q[i], i, QUEUES);
    }
    ti_host_queue_push(&q[0], &j, 0);
    ti_host_queue_push(&q[1], &j, 0);
    ti_host_queue_push(&q[1], &j, 0);
    assert_true(ti_host_queue_take(&q[1], &e)); /* its count differs from that of the other one */
    int looks = 0;
    while (!ti_host_queue_steal(&q[0], &q[2], PER_STEAL, &e)) {
        assert_false(looks < 8 && ti_host_queue_steal(&q[1], &q[2], PER_STEAL, &e));
        assert_true(++looks < 100);
    }
    assert_true(looks >= 8);
    assert_true(ti_host_queue_take(&q[1], &e));
    for (int i = 0; i < QUEUES; i++) {
        ti_host_queue_fini(&q[i]);
    }
    ti_free(q, TI_ALIGN_UP(QUEUES * sizeof(*q), TI_CACHE_LINE));
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
        cmocka_unit_test(gated_ones_wait_for_the_end),
        cmocka_unit_test(gated_ones_keep_their_order),
        cmocka_unit_test(gated_ones_are_stolen_when_they_lie_still),
        cmocka_unit_test(what_never_runs_is_dropped),
        cmocka_unit_test(sights_are_of_one_queue_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
