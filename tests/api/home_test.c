/* Who takes the roles in the mode shared (run/home.c). What a program submits and waits for is run by its own thread;
 * what it leaves lying while it computes is run by workers, also while the roles are the program's. Nothing here knows
 * how long anything takes: who never comes is found by the alarm. */
#include "cluster.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include <cmocka.h>

enum { ITEMS = 64, ROUNDS = 400, GIVE_UP_S = 300 };

static _Thread_local bool is_program;
static _Atomic int by_program, runs;

static void add(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) += 1;
    }
    atomic_fetch_add(&by_program, is_program);
    atomic_fetch_add(&runs, 1);
}

/* In rounds the program's thread carries all out at once. */
#define SHARED .progress = TACIT_PROGRESS_SHARED, .rounds = TACIT_ROUNDS_OFF

static const tacit_config configs[] = {
    { SHARED, .workers = 2 },
    { SHARED, .workers = 3 },
    { SHARED, .workers = 2, .host_devices = "2" },
    { SHARED, .workers = 1, .threads = TACIT_THREADS_ON },
};

static void submit(tacit_context *ctx, tacit_buffer *b)
{
    const tacit_task t = { .name = "add",
                           .range = TACIT_RANGE(ITEMS),
                           .kernel = { .host = add },
                           .access = { tacit_update(b, tacit_one_to_one()) },
                           .hint = { .whole_chunk = true } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &t));
}

static tacit_buffer *start(const tacit_config *config, tacit_context **ctx)
{
    static const int zeros[ITEMS];
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros };
    tacit_buffer *b;
    is_program = true;
    atomic_store(&by_program, 0);
    atomic_store(&runs, 0);
    assert_int_equal(tacit_init(config, ctx), TACIT_OK);
    REQUIRE_OK(*ctx, tacit_buffer_create(*ctx, &desc, &b));
    return b;
}

static void finish(tacit_context *ctx, tacit_buffer *b, int expected)
{
    int got[ITEMS];
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, got));
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(got[i], expected);
    }
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* Of several workers of one device the program's thread is one. Another thread may take a role from it when the system
 * takes its core away, but not each time. */
static void who_waits_runs_what_it_waits_for(void **state)
{
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        tacit_context *ctx;
        tacit_buffer *b = start(&configs[c], &ctx);
        for (int i = 0; i < ROUNDS; i++) {
            submit(ctx, b);
            REQUIRE_OK(ctx, tacit_wait(ctx));
        }
        assert_int_equal(atomic_load(&runs), ROUNDS);
        assert_true(atomic_load(&by_program) > ROUNDS / 2);
        finish(ctx, b, ROUNDS);
    }
}

/* The program looks itself, outside tacit, whether its kernel has run: it has waited before, so the roles are its
 * own, and the workers may be asleep. */
static void what_lies_still_is_taken(void **state)
{
    (void)state;
    for (size_t c = 0; c < TI_COUNT(configs); c++) {
        tacit_context *ctx;
        tacit_buffer *b = start(&configs[c], &ctx);
        int submitted = 0;
        for (int i = 0; i < ROUNDS / 4; i++) {
            for (int k = 0; k <= i % 4; k++, submitted++) {
                submit(ctx, b);
            }
            if (i % 16 == 0) {
                usleep(2000); /* now they are */
            }
            while (atomic_load(&runs) < submitted) {
                sched_yield();
            }
            assert_int_equal(atomic_load(&by_program), 0);
            if (i % 3 == 0) {
                REQUIRE_OK(ctx, tacit_wait(ctx));
            }
        }
        finish(ctx, b, submitted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_runs_what_it_waits_for),
        cmocka_unit_test(what_lies_still_is_taken),
    };
    alarm(GIVE_UP_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
