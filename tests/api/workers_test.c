/* Workers of a node: how many there are, who they are, that kernels of several devices run without the program's
 * thread; and tacit_fill, which they all take part in. */
#include "cluster.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MOST_WORKERS = 16, ITEMS = 4000, ROUNDS = 50, GIVE_UP_S = 300 };

static const tacit_config configs[] = {
    { .threads = TACIT_THREADS_INLINE },
    { .threads = TACIT_THREADS_INLINE, .host_devices = "2" },
    { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
    { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .host_devices = "2" },
    { .workers = 2, .progress = TACIT_PROGRESS_SHARED, .host_devices = "2" },
    { .workers = 2, .progress = TACIT_PROGRESS_SHARED, .host_devices = "2:discrete" },
    { .workers = 5, .progress = TACIT_PROGRESS_SHARED, .host_devices = "2" },
    { .workers = 6, .progress = TACIT_PROGRESS_SHARED, .host_devices = "3" },
    { .workers = 2, .progress = TACIT_PROGRESS_THREAD, .host_devices = "2" },
    { .workers = 3, .progress = TACIT_PROGRESS_THREAD },
};
static const int expected_workers[] = { 1, 2, 1, 2, 2, 2, 4, 6, 2, 3 };

/* ---- numbers */

typedef struct desk {
    atomic_int busy[MOST_WORKERS], items;
    int workers;
} desk;

static void sit_down(const tacit_launch *k)
{
    desk *d = *(desk *const *)k->args;
    REQUIRE(k->num_workers == d->workers && k->worker >= 0 && k->worker < k->num_workers);
    REQUIRE(atomic_fetch_add(&d->busy[k->worker], 1) == 0); /* nobody else with this number is at work */
    for (volatile int i = 0; i < 2000; i++) {
    }
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) += 1;
    }
    atomic_fetch_sub(&d->busy[k->worker], 1);
    atomic_fetch_add(&d->items, (int)(k->chunk.max[0] - k->chunk.min[0]));
}

static tacit_task sitting(desk *const *d, tacit_buffer *b)
{
    return (tacit_task){ .name = "sit",
                         .range = TACIT_RANGE(ITEMS),
                         .kernel = { .host = sit_down },
                         .args = d,
                         .args_size = sizeof(*d),
                         .access = { tacit_update(b, tacit_one_to_one()) } };
}

static void worker_numbers_are_unique(void **state)
{
    static int zeros[ITEMS], got[ITEMS];
    (void)state;
    for (size_t c = 0; c < TI_COUNT(configs); c++) {
        tacit_context *ctx;
        tacit_buffer *b[3];
        desk d = { .workers = expected_workers[c] }, *at = &d;
        assert_int_equal(tacit_init(&configs[c], &ctx), TACIT_OK);
        assert_int_equal(tacit_workers(ctx), expected_workers[c]);
        for (int i = 0; i < 3; i++) {
            const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros };
            REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b[i]));
        }
        for (int i = 0; i < 3 * ROUNDS; i++) { /* three at a time */
            const tacit_task t = sitting(&at, b[i % 3]);
            REQUIRE_OK(ctx, tacit_submit(ctx, &t));
        }
        REQUIRE_OK(ctx, tacit_fence_read(ctx, b[2], TACIT_BOX_ALL, got));
        for (int i = 0; i < ITEMS; i++) {
            assert_int_equal(got[i], ROUNDS);
        }
        assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    }
    assert_int_equal(tacit_workers(NULL), -1);
}

/* ---- threads */

static int threads_of_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (const struct dirent *e; tasks && (e = readdir(tasks));) {
        count += e->d_name[0] != '.';
    }
    if (tasks) {
        closedir(tasks);
    }
    return count;
}

/* The program's thread is one of the workers while it waits. A sanitizer may have a thread of its own. */
static void no_more_threads_than_workers(void **state)
{
    static const char *const devices[] = { NULL, "2", "3", "4:discrete" };
    (void)state;
    int before = threads_of_process();
    for (int i = 0; before > 0 && i < (int)TI_COUNT(devices); i++) {
        for (int workers = 2; workers <= 12; workers *= 6) {
            const tacit_config config = { .workers = workers,
                                          .threads = TACIT_THREADS_ON,
                                          .progress = TACIT_PROGRESS_SHARED,
                                          .watchdog = -1, /* which has a thread that looks now and then */
                                          .host_devices = devices[i] };
            tacit_context *ctx;
            assert_int_equal(tacit_init(&config, &ctx), TACIT_OK);
            assert_int_equal(threads_of_process() - before, tacit_workers(ctx) - 1);
            assert_true(tacit_workers(ctx) == TI_MAX(workers, i + 1));
            assert_int_equal(tacit_finalize(ctx), TACIT_OK);
        }
    }
}

/* Kernels of all devices run while the program is elsewhere. */
static void devices_need_no_waiting_program(void **state)
{
    static int zeros[ITEMS];
    (void)state;
    for (size_t c = 2; c < TI_COUNT(configs); c++) {
        tacit_context *ctx;
        tacit_buffer *b;
        desk d = { .workers = expected_workers[c] }, *at = &d;
        assert_int_equal(tacit_init(&configs[c], &ctx), TACIT_OK);
        const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros };
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
        for (int i = 0; i < 5; i++) {
            const tacit_task t = sitting(&at, b);
            REQUIRE_OK(ctx, tacit_submit(ctx, &t));
        }
        REQUIRE_OK(ctx, tacit_flush(ctx));
        struct timespec start, now, nap = { 0, 1000000 };
        clock_gettime(CLOCK_MONOTONIC, &start);
        while (atomic_load(&d.items) < 5 * ITEMS) {
            nanosleep(&nap, NULL);
            clock_gettime(CLOCK_MONOTONIC, &now);
            REQUIRE(now.tv_sec - start.tv_sec < GIVE_UP_S);
        }
        assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    }
}

/* ---- filling */

typedef struct rgb {
    unsigned char part[3];
} rgb;

/* What a part holds, and that the rest of the buffer follows. */
static void one_fill(tacit_context *ctx, const tacit_buffer_desc *desc)
{
    enum { MOST = 2000 };
    const rgb first = { { 1, 2, 3 } }, second = { { 4, 5, 6 } };
    rgb got[MOST], mine[MOST];
    tacit_buffer *b;
    tacit_range local;
    size_t n = 1;
    for (int d = 0; d < desc->range.dims; d++) {
        n *= desc->range.size[d];
    }
    REQUIRE(n <= MOST);
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, desc, &b));
    REQUIRE_OK(ctx, tacit_fill(ctx, b, &first));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, got));
    for (size_t i = 0; i < n; i++) {
        REQUIRE(memcmp(&got[i], &first, sizeof(first)) == 0);
    }
    tacit_counters before, after;
    rgb changing = second;
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &before));
    REQUIRE_OK(ctx, tacit_fill(ctx, b, &changing));
    changing = first; /* it was copied */
    REQUIRE_OK(ctx, tacit_distribution_local(ctx, &desc->distribution, desc->range, tacit_node(ctx), NULL, &local));
    REQUIRE_OK(ctx, tacit_fence_local(ctx, b, mine));
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &after));
    REQUIRE(after.messages_sent == before.messages_sent && after.collectives == before.collectives);
    for (size_t i = 0; i < local.size[0] * local.size[1] * local.size[2]; i++) {
        REQUIRE(memcmp(&mine[i], &second, sizeof(second)) == 0);
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, got));
    for (size_t i = 0; i < n; i++) {
        REQUIRE(memcmp(&got[i], &second, sizeof(second)) == 0);
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b));
}

static void fill_all_kinds(tacit_context *ctx, void *user)
{
    const int nodes = tacit_num_nodes(ctx), two = nodes > 1 ? 2 : 1;
    const tacit_distribution none = { 0 }, cyclic = { .kind = TACIT_DISTRIBUTE_CYCLIC, .block = { 3, 2, 2 } };
    (void)user;
    tacit_buffer_desc desc = { .name = "A", .elem_size = sizeof(rgb) };
    for (int dims = 0; dims <= 3; dims++) {
        desc.range = tacit_range_make(dims, dims == 1 ? 901 : 13, 11, 7);
        desc.distribution = none;
        one_fill(ctx, &desc);
        if (dims > 0) {
            desc.distribution = cyclic;
            one_fill(ctx, &desc);
        }
        if (dims > 1) {
            for (int kind = 0; kind < 2; kind++) {
                desc.distribution =
                    (tacit_distribution){ .kind = kind, .grid = { 1, two, dims > 2 }, .block = { 2, 3 } };
                one_fill(ctx, &desc);
            }
        }
    }
}

static void fills(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= 5; nodes += nodes / 2 + 1) {
        for (size_t c = 0; c < TI_COUNT(configs); c++) {
            cluster_run(&(cluster){ .nodes = nodes, .config = &configs[c], .program = fill_all_kinds });
        }
        cluster_run(&(cluster){
            .nodes = nodes, .config = &(tacit_config){ .workers = 2, .bounds_check = 1 }, .program = fill_all_kinds });
    }
}

static void fills_are_checked(void **state)
{
    tacit_context *ctx;
    tacit_buffer *b;
    const int one = 1;
    (void)state;
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_OK);
    const tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(8), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    assert_int_equal(tacit_fill(NULL, b, &one), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_fill(ctx, NULL, &one), TACIT_ERROR_ARGUMENT);
    assert_non_null(strstr(tacit_last_error(ctx), "tacit_fill: the buffer is NULL"));
    assert_int_equal(tacit_fill(ctx, b, NULL), TACIT_ERROR_ARGUMENT);
    assert_non_null(strstr(tacit_last_error(ctx), "tacit_fill: the value is NULL"));
    REQUIRE_OK(ctx, tacit_fill(ctx, b, &one));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b)); /* the task goes on */
    assert_int_equal(tacit_fill(ctx, b, &one), TACIT_ERROR_STATE);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    assert_int_equal(tacit_fill(ctx, b, &one), TACIT_ERROR_STATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_numbers_are_unique),
        cmocka_unit_test(no_more_threads_than_workers),
        cmocka_unit_test(devices_need_no_waiting_program),
        cmocka_unit_test(fills),
        cmocka_unit_test(fills_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
