/* In rounds that the program's thread carries out, kernels that cannot be cut and do not depend on each other run
 * beside each other: each of several chains has its own buffer, and their kernels meet.
 *
 * Some kernels wait a while for another one. How many meet depends on how threads run; that any do, in a loop of which
 * nearly all is carried out so, does not. */
#include "../unit/random.h"
#include "cluster.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>

enum { MAX_CHAINS = 5, ITEMS = 50, TIMES = 20, STEPS = 3000, LOOKS = 2000 };

static _Atomic int inside;   /* kernels that run */
static _Atomic uint64_t met; /* kernels that have seen another one */

static void look(void)
{
    bool meets = false;
    for (int looks = 0; looks < LOOKS && !meets; looks++) {
        meets = atomic_load(&inside) > 1;
        if (looks % 256 == 255) { /* seldom: where other programs run, each may take milliseconds */
            sched_yield();
        }
    }
    atomic_fetch_add(&met, meets);
}

/* Each item from the one before it, several times: far longer than submitting it. */
static void compute(uint64_t *x, uint64_t step)
{
    for (size_t i = 0; i < TIMES * ITEMS; i++) {
        const size_t at = i % (ITEMS - 1) + 1;
        x[at] = 3 * x[at] + x[at - 1] + step;
    }
}

/* One call for all. */
static void do_chain(const tacit_launch *k)
{
    const uint64_t step = *(const uint64_t *)k->args;
    REQUIRE(k->chunk.max[0] - k->chunk.min[0] == ITEMS);
    atomic_fetch_add(&inside, 1);
    if (step >= STEPS / 30 && step % 8 == 0) {
        look();
    }
    compute(&TACIT_AT1(uint64_t, k->view[0], 0), step);
    atomic_fetch_sub(&inside, 1);
}

static void expect(tacit_context *ctx, tacit_buffer *buffer, uint64_t first)
{
    uint64_t expected[ITEMS], got[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) {
        expected[i] = first;
    }
    for (uint64_t step = 0; step < STEPS; step++) {
        compute(expected, step);
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, buffer, tacit_box1(0, ITEMS), got));
    assert_memory_equal(got, expected, sizeof(got));
}

static void run_chains(const tacit_config *config, int chains)
{
    tacit_context *ctx;
    tacit_buffer *x[MAX_CHAINS];
    assert_int_equal(tacit_init(config, &ctx), TACIT_OK);
    for (int c = 0; c < chains; c++) {
        const uint64_t first = (uint64_t)c + 1;
        REQUIRE_OK(ctx,
                   tacit_buffer_create(
                       ctx,
                       &(tacit_buffer_desc){ .name = "x", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(uint64_t) },
                       &x[c]));
        REQUIRE_OK(ctx, tacit_fill(ctx, x[c], &first));
    }
    atomic_store(&met, 0);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (int c = 0; c < chains; c++) {
            REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "chain",
                                                             .range = TACIT_RANGE(ITEMS),
                                                             .kernel.host = do_chain,
                                                             .hint.whole_chunk = true,
                                                             TACIT_ARGS(step),
                                                             .access = { tacit_update(x[c], tacit_one_to_one()) } }));
        }
    }
    for (int c = 0; c < chains; c++) {
        expect(ctx, x[c], (uint64_t)c + 1);
    }
    const uint64_t in_rounds = ti_runtime_in_rounds(ctx->runtime);
    print_message("%d chains on %d workers: %" PRIu64 " of %d tasks in rounds, %" PRIu64 " have met another one\n",
                  chains, tacit_workers(ctx), in_rounds, STEPS * chains, atomic_load(&met));
    assert_true(in_rounds > (uint64_t)(STEPS * chains) * 3 / 4); /* so some of those that looked were */
    assert_true(chains == 1 ? atomic_load(&met) == 0 : atomic_load(&met) > 0);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void chains_run_beside_each_other(void **state)
{
    static const int progress[] = { TACIT_PROGRESS_SHARED, TACIT_PROGRESS_THREAD };
    (void)state;
    for (size_t p = 0; p < TI_COUNT(progress); p++) {
        for (int workers = 2; workers <= 4; workers++) {
            for (int chains = 1; chains <= MAX_CHAINS; chains += 2 - (chains < 3)) {
                const tacit_config config = {
                    .threads = TACIT_THREADS_ON, .progress = progress[p], .workers = workers, .rounds = TACIT_ROUNDS_ON
                };
                run_chains(&config, chains);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(chains_run_beside_each_other) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
