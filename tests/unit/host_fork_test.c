/* Kernels that all workers share: each part runs once, no kernel begins before the one before has ended, and a part of
 * a worker that does not come is run by who waits for it.
 *
 * Usage: host_fork_test [SEED]. */
#include "device/host_fork.h"

#include "base/alloc.h"
#include "effort.h"
#include "random.h"

#include <pthread.h>
#include <string.h>

enum { MAX_WORKERS = 12, ITEMS = 60, KERNELS = EFFORT(4000, 500) };

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
        ti_host_fork_run(&c->fork, self, k, parts, o, bytes);
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
    ti_host_fork_run(&c.fork, 2, &k, 3, &o, sizeof(uint64_t));
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
                                        cmocka_unit_test(nothing_runs_after_a_failure) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
