/* Kernels that are handed to workers in order: each part of a shared one runs once, and none begins before the one
 * before has ended; one that goes to a worker alone begins when all that it needs has ended, and not before; and a part
 * of a worker that does not come is run by who waits for it.
 *
 * Usage: host_fork_test [SEED]. */
#include "device/host_fork.h"

#include "base/alloc.h"
#include "effort.h"
#include "random.h"

#include <pthread.h>
#include <string.h>

enum { MAX_WORKERS = 12, ITEMS = 60, KERNELS = EFFORT(2000, 500) };

static uint64_t seed;

typedef struct crew {
    ti_lot lot;
    ti_failure failure;
    ti_host_desc desc;
    ti_host_desk *desks;
    ti_host_fork fork;
    int workers, threads;
    atomic_bool stop;
    pthread_t thread[MAX_WORKERS];
} crew;

typedef struct worker {
    crew *crew;
    int number;
} worker;

/* ---- kernels: what they have seen */

static _Atomic uint64_t latest;       /* the number of the kernel that runs */
static _Atomic uint64_t done[ITEMS];  /* by item: the last kernel that has run it */
static _Atomic uint64_t out_of_order; /* parts */

typedef struct order {
    uint64_t number, more[7]; /* some kernels have arguments that do not lie in a post */
} order;

static void do_part(const tacit_launch *k)
{
    const order *o = k->args;
    atomic_store(&latest, o->number);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        const size_t other = (i * 7 + 13) % ITEMS; /* mostly another worker's: the kernel before has run it */
        out_of_order += atomic_exchange(&done[i], o->number) != o->number - 1;
        out_of_order += atomic_load(&done[other]) + 1 < o->number;
    }
    out_of_order += (uintptr_t)k->args % 16 != 0 || (k->args_size > sizeof(uint64_t) && o->more[5] != 3 * o->number);
}

static void *work(void *arg)
{
    worker *w = arg;
    while (!atomic_load(&w->crew->stop)) {
        if (!ti_host_fork_work(&w->crew->fork, w->number)) {
            sched_yield();
        }
    }
    return NULL;
}

static void open_crew(crew *c, worker *of, int workers, int threads)
{
    memset(c, 0, sizeof(*c));
    c->workers = workers;
    c->threads = threads;
    c->desks = ti_alloc_aligned(sizeof(*c->desks) * (size_t)workers);
    c->failure.lot = &c->lot;
    c->desc = (ti_host_desc){ .workers = workers, .lot = &c->lot, .failure = &c->failure };
    ti_host_fork_init(&c->fork, &c->desc, c->desks, workers);
    for (int i = 0; i < threads; i++) {
        of[i] = (worker){ c, i };
        assert_int_equal(pthread_create(&c->thread[i], NULL, work, &of[i]), 0);
    }
    for (int i = 0; i < ITEMS; i++) {
        atomic_store(&done[i], 0);
    }
    atomic_store(&out_of_order, 0);
}

static void close_crew(crew *c)
{
    atomic_store(&c->stop, true);
    for (int i = 0; i < c->threads; i++) {
        pthread_join(c->thread[i], NULL);
    }
    ti_host_fork_fini(&c->fork);
    ti_free(c->desks, sizeof(*c->desks) * (size_t)c->workers);
}

/* Kernels of all lengths of arguments, in parts for all or in one; all items were run by all of them. */
static void run_kernels(crew *c, rng *random, int self)
{
    static _Alignas(16) order orders[2];
    ti_device_kernel kernel[2];
    ti_host_fork_begin(&c->fork, self, 0);
    memset(kernel, 0, sizeof(kernel));
    for (uint64_t n = 1; n <= KERNELS; n++) {
        ti_device_kernel *k = &kernel[n % 2];
        order *o = &orders[n % 2];
        const size_t bytes = rng_between(random, 0, 1) ? sizeof(uint64_t) : sizeof(order);
        const int parts = rng_between(random, 0, 4) ? c->workers : 1;
        *o = (order){ .number = n, .more[5] = 3 * n };
        k->host = do_part;
        k->launch.chunk = tacit_box1(0, ITEMS);
        k->launch.dims = 1;
        k->launch.args_size = sizeof(uint64_t) < bytes ? bytes : sizeof(uint64_t);
        if (parts > 1) {
            ti_host_fork_share(&c->fork, k, o, bytes);
        } else {
            ti_host_fork_run(&c->fork, k, o);
        }
        if (rng_between(random, 0, 50) == 0) {
            ti_host_fork_meet(&c->fork);
            for (int i = 0; i < ITEMS; i++) {
                assert_int_equal(atomic_load(&done[i]), n);
            }
        }
    }
    ti_host_fork_meet(&c->fork);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(atomic_load(&done[i]), KERNELS);
    }
    assert_int_equal(atomic_load(&out_of_order), 0);
}

static void kernels_follow_each_other(void **state)
{
    rng random = rng_from(seed);
    (void)state;
    for (int workers = 1; workers <= MAX_WORKERS; workers++) {
        crew c;
        worker of[MAX_WORKERS];
        open_crew(&c, of, workers, workers - 1);
        run_kernels(&c, &random, workers - 1);
        close_crew(&c);
        open_crew(&c, of, workers, workers); /* who posts is none of them */
        run_kernels(&c, &random, -1);
        close_crew(&c);
    }
}

/* Nobody comes, or only some. */
static void parts_of_others_are_run(void **state)
{
    rng random = rng_from(seed);
    (void)state;
    for (int threads = 0; threads < 3; threads++) {
        crew c;
        worker of[MAX_WORKERS];
        open_crew(&c, of, 4, threads);
        run_kernels(&c, &random, 3);
        close_crew(&c);
    }
}

/* ---- one worker */

enum { LATEST = 40, MOST_NEEDS = 5 };

/* Of one of the latest kernels: its number, how many of its parts have ended, and which others it needs. */
typedef struct deed {
    uint64_t number, needs, need[MOST_NEEDS];
} deed;

static _Atomic uint64_t ended[LATEST]; /* by turn: parts of kernels of this turn, in all */
static uint64_t parts_by_then[LATEST]; /* including the latest one's */

static void do_deed(const tacit_launch *k)
{
    const deed *d = k->args;
    for (uint64_t i = 0; i < d->needs; i++) { /* that turn's counts only grow */
        out_of_order += atomic_load(&ended[d->need[i] % LATEST]) < d->need[i] / LATEST;
    }
    atomic_fetch_add(&ended[d->number % LATEST], 1);
}

static ti_host_wait hand(crew *c, rng *random, uint64_t n, ti_device_kernel *k, deed *d, const ti_host_wait *wait)
{
    const int by = (int)rng_between(random, 0, c->workers - 1);
    const size_t bytes = rng_between(random, 0, 1) ? sizeof(*d) : TI_HOST_FEW_BYTES;
    d->needs = (uint64_t)rng_between(random, 0, bytes == sizeof(*d) ? MOST_NEEDS : 2);
    for (uint64_t i = 0; i < d->needs; i++) {
        const uint64_t turn = (n - (uint64_t)rng_between(random, 1, LATEST - 1)) % LATEST;
        d->need[i] = parts_by_then[turn] * LATEST + turn;
        ti_host_fork_need(&c->fork, by, &wait[turn]);
    }
    return ti_host_fork_hand(&c->fork, by, k, d, bytes);
}

/* Shared ones, ones for a worker, and ones for the caller after all else. */
static void do_deeds(crew *c, rng *random, int self)
{
    static _Alignas(16) deed deeds[LATEST];
    static ti_device_kernel kernel[LATEST];
    ti_host_wait wait[LATEST];
    uint64_t at_point = 0, before = 0, all = 0;
    ti_host_fork_begin(&c->fork, self, 0);
    for (int i = 0; i < LATEST; i++) {
        wait[i] = (ti_host_wait){ TI_HOST_NOBODY, 0 };
        parts_by_then[i] = 0;
        atomic_store(&ended[i], 0);
    }
    for (uint64_t n = LATEST; n < LATEST + KERNELS; n++) {
        const uint64_t turn = n % LATEST;
        ti_device_kernel *k = &kernel[turn];
        const int way = (int)rng_between(random, 0, 20);
        ti_host_fork_await(&c->fork, &wait[turn]);
        assert_int_equal(atomic_load(&ended[turn]), parts_by_then[turn]);
        deeds[turn] = (deed){ .number = n };
        k->host = do_deed;
        k->launch = (tacit_launch){ .chunk = tacit_box1(0, ITEMS), .dims = 1 };
        wait[turn] = way == 0   ? (ti_host_fork_run(&c->fork, k, &deeds[turn]), (ti_host_wait){ TI_HOST_NOBODY, 0 })
                     : way <= 2 ? ti_host_fork_share(&c->fork, k, &deeds[turn], sizeof(deed))
                                : hand(c, random, n, k, &deeds[turn], wait);
        parts_by_then[turn] += way == 1 || way == 2 ? (uint64_t)c->workers : 1;
        all += way == 1 || way == 2 ? (uint64_t)c->workers : 1;
        if (rng_between(random, 0, 30) == 0) {
            uint64_t sum = 0;
            ti_host_fork_note_point(&c->fork);
            before = at_point;
            at_point = all;
            ti_host_fork_need_point(&c->fork, -1);
            for (int i = 0; i < LATEST; i++) {
                sum += atomic_load(&ended[i]);
            }
            assert_true(sum >= before);
        }
    }
    ti_host_fork_meet(&c->fork);
    for (int i = 0; i < LATEST; i++) {
        assert_int_equal(atomic_load(&ended[i]), parts_by_then[i]);
    }
    assert_int_equal(atomic_load(&out_of_order), 0);
}

/* With all workers, some, or none but the caller; with a caller that is one, or is not. */
static void kernels_wait_for_what_they_need(void **state)
{
    rng random = rng_from(seed);
    (void)state;
    for (int workers = 2; workers <= MAX_WORKERS; workers++) {
        crew c;
        worker of[MAX_WORKERS];
        const int self = workers - 1;
        open_crew(&c, of, workers, (int)rng_between(&random, 0, 3) ? self : self / 2);
        do_deeds(&c, &random, self);
        close_crew(&c);
        open_crew(&c, of, workers, workers);
        do_deeds(&c, &random, -1);
        close_crew(&c);
    }
}

static void nothing_runs_after_a_failure(void **state)
{
    crew c;
    worker of[MAX_WORKERS];
    order o = { .number = 1 };
    ti_device_kernel k;
    (void)state;
    memset(&k, 0, sizeof(k));
    k.host = do_part;
    k.launch.chunk = tacit_box1(0, ITEMS);
    k.launch.dims = 1;
    k.launch.args_size = sizeof(uint64_t);
    open_crew(&c, of, 3, 2);
    ti_failure_set(&c.failure, TACIT_ERROR_KERNEL, "it fails");
    ti_host_fork_begin(&c.fork, 2, 0);
    ti_host_fork_share(&c.fork, &k, &o, sizeof(uint64_t));
    ti_host_fork_hand(&c.fork, 1, &k, &o, sizeof(uint64_t));
    ti_host_fork_hand(&c.fork, 2, &k, &o, sizeof(uint64_t));
    ti_host_fork_meet(&c.fork);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(atomic_load(&done[i]), 0);
    }
    close_crew(&c);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(kernels_follow_each_other),
                                        cmocka_unit_test(parts_of_others_are_run),
                                        cmocka_unit_test(kernels_wait_for_what_they_need),
                                        cmocka_unit_test(nothing_runs_after_a_failure) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
