/* tacit_flush: tasks that wait for what comes next begin, while the program does something else and makes no call. */
#include "api/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

enum { N = 64 };

static _Atomic int ran;

static void count(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) = (int)i;
    }
}

static void tell(const tacit_launch *k)
{
    int sum = 0;
    for (size_t i = 0; i < N; i++) {
        sum += TACIT_GET1(int, k->view[0], i);
    }
    atomic_store(&ran, sum);
}

/* The second task is a gather, which an all-gather for a later task would make superfluous. */
static void program(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *a;
    const tacit_buffer_desc desc = { .name = "a", .range = TACIT_RANGE(N), .elem_size = sizeof(int) };
    const tacit_task counting = { .name = "count",
                                  .range = TACIT_RANGE(N),
                                  .kernel = { .host = count },
                                  .access = { tacit_write(NULL, tacit_one_to_one()) } };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &a));
    tacit_task first = counting;
    first.access[0].buffer = a;
    const tacit_task telling = { .name = "tell",
                                 .range = TACIT_RANGE(1),
                                 .kernel = { .host = tell },
                                 .access = { tacit_read(a, tacit_all()) },
                                 .place = tacit_place_node(1) };
    REQUIRE_OK(ctx, tacit_submit(ctx, &first));
    REQUIRE_OK(ctx, tacit_submit(ctx, &telling));
    REQUIRE_OK(ctx, tacit_flush(ctx));
    const struct timespec pause = { 0, 1000 * 1000 };
    for (int i = 0; i < 60000 && atomic_load(&ran) == 0; i++) {
        nanosleep(&pause, NULL); /* a minute at most */
    }
    REQUIRE(atomic_load(&ran) == N * (N - 1) / 2);
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

static void held_tasks_begin(void **state)
{
    (void)state;
    for (int progress = TACIT_PROGRESS_SHARED; progress <= TACIT_PROGRESS_THREAD; progress++) {
        const tacit_config config = { .progress = progress,
                                      .workers = 2,
                                      .threads = TACIT_THREADS_ON,
                                      .horizon_step = 1000,
                                      .collectives = TACIT_COLLECTIVES_LOOKAHEAD };
        atomic_store(&ran, 0);
        cluster_run(&(cluster){ .nodes = 2, .config = &config, .program = program });
    }
}

static void a_context_is_needed(void **state)
{
    (void)state;
    assert_int_equal(tacit_flush(NULL), TACIT_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_tasks_begin),
        cmocka_unit_test(a_context_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
