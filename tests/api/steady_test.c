/* Memory does not grow with the length of a run: independent tasks, chains, stencils, reductions, fences, buffers
 * that come and go, a slow consumer; on one node in several thread modes, and on two in one process. See steady.h.
 *
 * `steady_test [TASKS [PROGRAM]]`: tasks of each program, 300 000 unless given. */
#include "api/steady.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const program programs[] = {
    { "independent", independent, 0, 1, { .workers = 2 }, .divide = 1 },
    { "chain", chain, 0, 1, { .workers = 2 }, .divide = 1 },
    { "replaced", replaced, 1, 1, { .workers = 2 }, .divide = 1 },
    { "stencil", stencil, 0, 1, { .workers = 2 }, .divide = 1 },
    { "fragments", fragments, 0, 1, { .workers = 2 }, .divide = 1 },
    { "reduction", reduction, 0, 1, { .workers = 2 }, .divide = 1 },
    { "fences", fences, 20, 1, { .workers = 2 }, .divide = 1 },
    { "buffers", buffers, 20000, 1, { .workers = 2 }, .divide = 1 },
    { "mixed-inline", mixed, 500, 1, { .threads = TACIT_THREADS_INLINE }, .divide = 1 },
    { "mixed-thread", mixed, 500, 1, { .progress = TACIT_PROGRESS_THREAD, .workers = 1 }, .divide = 1 },
    { "stencil-2",
      stencil,
      5000,
      2,
      { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
      .divide = 10 },
    { "mixed-2",
      mixed,
      5000,
      2,
      { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
      .divide = 4 },
    { "slow-consumer",
      slow_consumer,
      5000,
      2,
      { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
      .divide = 4,
      .apart = true },
    { "slow-sink",
      slow_sink,
      5000,
      2,
      { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
      .divide = 1,
      .apart = true },
    { "slow-sink-inline", slow_sink, 5000, 2, { .threads = TACIT_THREADS_INLINE }, .divide = 1, .apart = true },
};

static void memory_is_constant(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < TI_COUNT(programs); i++) {
        const program *p = &programs[i];
        if (is_chosen(p)) {
            atomic_store(&was_ahead[0], false);
            atomic_store(&was_ahead[1], false);
            cluster_run(&(cluster){ .nodes = p->nodes,
                                    .config = &p->config,
                                    .early = 1 << 14,
                                    .program = run,
                                    .user = (void *)(uintptr_t)p });
        }
    }
}

int main(int argc, char **argv)
{
    wanted_tasks = argc > 1 ? strtoull(argv[1], NULL, 0) : wanted_tasks;
    only = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_is_constant) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
