/* No wake-up is lost, whoever sleeps beside those who are meant: here threads that find nothing to do sleep until they
 * are woken, and not for some milliseconds. One wake-up that reaches a thread that can do nothing, or is not sent at
 * all, ends the test by its alarm.
 *
 * Usage: wakes_test [SEED]. Programs with pauses of their own and long kernels, so that threads do fall asleep. */
#include "cluster.h"

#include "base/park.h"
#include "unit/random.h"

#include <time.h>
#include <unistd.h>

enum { ITEMS = 64, STEPS = 60, GROUPS = 3, GIVE_UP_S = 300 };
#define LONG_NS (600ull * 1000 * 1000 * 1000)

static uint64_t seed = 1;
static _Atomic int sleeps;

void __real_ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling);
void __wrap_ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling);
void __wrap_ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling)
{
    if (polling || ti_spins(waiter, lot)) {
        __real_ti_backoff(waiter, lot, ticket, polling);
        return;
    }
    waiter->round++;
    atomic_fetch_add(&sleeps, 1);
    ti_lot_sleep_able(lot, ticket, LONG_NS, waiter->can);
}

static const tacit_config configs[] = {
    { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
    { .workers = 3, .progress = TACIT_PROGRESS_SHARED },
    { .workers = 2, .progress = TACIT_PROGRESS_SHARED, .host_devices = "2" },
    { .workers = 6, .progress = TACIT_PROGRESS_SHARED, .host_devices = "3" },
    { .workers = 1, .progress = TACIT_PROGRESS_THREAD },
    { .workers = 3, .progress = TACIT_PROGRESS_THREAD },
    { .workers = 4, .progress = TACIT_PROGRESS_THREAD, .host_devices = "2" },
};

static void pause_us(long us)
{
    const struct timespec t = { 0, 1000 * us };
    nanosleep(&t, NULL);
}

/* Its argument says how long it takes: most are short, so that threads meet each other on their ways. */
static void add(const tacit_launch *k)
{
    const long us = *(const long *)k->args;
    if (us) {
        pause_us(us);
    }
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) += 1;
    }
}

/* Some microseconds in all, so that it is cut, and follows the one before (exec/chain.c). */
static void work(const tacit_launch *k)
{
    enum { ROUNDS = 60 };
    volatile int sum = 0;
    TACIT_FOR (i, k->chunk, 0) {
        for (int n = 0; n < ROUNDS; n++) {
            sum += n;
        }
        TACIT_AT1(int, k->view[0], i) += 1;
    }
}

static void count(const tacit_launch *k)
{
    atomic_int *at = *(atomic_int *const *)k->args;
    pause_us(50);
    atomic_fetch_add(at, 1);
}

static void submit_add(tacit_context *ctx, tacit_buffer *b, rng *random)
{
    const long us = rng_between(random, 0, 2) ? 0 : (long)rng_between(random, 50, 400);
    const tacit_task t = { .name = "add",
                           .range = TACIT_RANGE(ITEMS),
                           .kernel = { .host = add },
                           TACIT_ARGS(us),
                           .access = { tacit_update(b, tacit_one_to_one()) },
                           .hint = { .whole_chunk = rng_between(random, 0, 1) } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
}

static void submit_count(tacit_context *ctx, tacit_collective_group *group, atomic_int *counted)
{
    const tacit_task t = {
        .name = "count", .kernel = { .host = count }, TACIT_ARGS(counted), .on = TACIT_ON_EVERY_NODE, .group = group
    };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
}

static void run(tacit_context *ctx, rng *random)
{
    static int zeros[ITEMS], got[ITEMS];
    tacit_buffer *b[3];
    tacit_collective_group *group[GROUPS] = { NULL };
    atomic_int counted = 0;
    int added = 0, expected = 0;
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros };
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b[i]));
    }
    for (int i = 1; i < GROUPS; i++) {
        REQUIRE_OK(ctx, tacit_collective_group_create(ctx, &group[i]));
    }
    for (int s = 0; s < STEPS; s++) {
        const int at = (int)rng_between(random, 0, 2);
        submit_add(ctx, b[at], random);
        added += at == 0;
        if (rng_between(random, 0, 7) == 0) {
            submit_count(ctx, group[rng_between(random, 0, GROUPS - 1)], &counted);
            expected++;
        }
        switch (rng_between(random, 0, 9)) {
        case 0:
            pause_us(300); /* all go to sleep, and the next task wakes who plans */
            break;
        case 1:
            REQUIRE_OK(ctx, tacit_wait(ctx));
            break;
        default:
            break;
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b[0], TACIT_BOX_ALL, got));
    REQUIRE_OK(ctx, tacit_wait(ctx));
    for (int i = 0; i < ITEMS; i++) {
        REQUIRE(got[i] == added);
    }
    REQUIRE(atomic_load(&counted) == expected);
}

/* Chains of kernels, whose parts workers have before they may begin, and pauses in which all go to sleep. */
static void run_chains(tacit_context *ctx, rng *random)
{
    enum { CHAINS = 80, LONGEST = 30 };
    static int zeros[ITEMS], got[ITEMS];
    tacit_buffer *b;
    int added = 0;
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    const tacit_task t = { .name = "work",
                           .range = TACIT_RANGE(ITEMS),
                           .kernel = { .host = work },
                           .access = { tacit_update(b, tacit_one_to_one()) } };
    for (int chain = 0; chain < CHAINS; chain++) {
        for (int64_t left = rng_between(random, 1, LONGEST); left > 0; left--, added++) {
            REQUIRE_OK(ctx, tacit_submit(ctx, &t));
        }
        if (rng_between(random, 0, 2)) {
            pause_us((long)rng_between(random, 1, 300));
        } else {
            REQUIRE_OK(ctx, tacit_wait(ctx));
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, got));
    for (int i = 0; i < ITEMS; i++) {
        REQUIRE(got[i] == added);
    }
}

static void sleepers_are_woken(void **state)
{
    (void)state;
    rng random = rng_from(seed);
    for (size_t c = 0; c < TI_COUNT(configs); c++) {
        tacit_context *ctx;
        atomic_store(&sleeps, 0);
        assert_int_equal(tacit_init(&configs[c], &ctx), TACIT_OK);
        run(ctx, &random);
        run_chains(ctx, &random);
        assert_int_equal(tacit_finalize(ctx), TACIT_OK);
        assert_true(atomic_load(&sleeps) > 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sleepers_are_woken) };
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    alarm(GIVE_UP_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
