/* Memory does not grow with the length of a run, between processes: stencils, everything mixed, and a last node that
 * is slower than node 0. See steady.h. `api_steady_test [TASKS [PROGRAM]]`. */
#include "api/steady.h"

#include <mpi.h>

static const program programs[] = {
    { "stencil", stencil, 10, 0, { 0 }, .divide = 10 },
    { "mixed", mixed, 500, 0, { 0 }, .divide = 10 },
    { "slow-consumer", slow_consumer, 10, 0, { 0 }, .divide = 10 },
    { "slow-sink", slow_sink, 10, 0, { 0 }, .divide = 3 },
};

int main(int argc, char **argv)
{
    tacit_context *ctx;
    int level;
    /* Warm-up takes more tasks with more nodes. */
    wanted_tasks = argc > 1 ? strtoull(argv[1], NULL, 0) : COUNTS_RESIDENT ? wanted_tasks : 4 * wanted_tasks;
    only = argc > 2 ? argv[2] : NULL;
    REQUIRE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS); /* contexts after one another */
    for (size_t i = 0; i < TI_COUNT(programs); i++) {
        if (is_chosen(&programs[i])) {
            REQUIRE_OK(NULL, tacit_init(NULL, &ctx));
            run(ctx, (void *)(uintptr_t)&programs[i]);
            REQUIRE_OK(NULL, tacit_finalize(ctx));
        }
    }
    REQUIRE(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
