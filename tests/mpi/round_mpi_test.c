/* Random loops on the nodes of a job (api/loops.h): most of their tasks are carried out by the program's thread
 * (rounds), whose short messages go by memory that the nodes share, or by MPI.
 *
 * Usage: round_mpi_test [SEED]. Which tasks are carried out so depends on how threads run; results do not. */
#include "api/loops.h"

#include "effort.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define INLINE .threads = TACIT_THREADS_INLINE
#define ALWAYS INLINE, .rounds = TACIT_ROUNDS_ON

static const tacit_config configs[] = {
    { ALWAYS },
    { INLINE, .rounds = TACIT_ROUNDS_AUTO },
    { ALWAYS, .horizon_step = 2, .local_messages = TACIT_LOCAL_MESSAGES_MPI },
    { ALWAYS, .early_bytes = 2048 },
    { ALWAYS, .horizon_step = 1, .collectives = TACIT_COLLECTIVES_OFF, .divergence = TACIT_DIVERGENCE_OFF },
    { ALWAYS, .collectives = TACIT_COLLECTIVES_DISCOVER, .early_bytes = 1024 },
    { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2, .rounds = TACIT_ROUNDS_ON },
    { ALWAYS, .multicast = TACIT_MULTICAST_DYNAMIC },
};

/* The tasks that were carried out so. */
static uint64_t run_program(const tacit_config *config, uint64_t number)
{
    program p;
    tacit_context *ctx;
    REQUIRE_OK(NULL, tacit_init(config, &ctx));
    start_program_of_nodes(&p, ctx, number, number % 2 ? 20 : 0);
    run_loops(&p, 2);
    const uint64_t in_rounds = check_program(&p);
    REQUIRE_OK(NULL, tacit_finalize(ctx));
    return in_rounds;
}

int main(int argc, char **argv)
{
    enum { EACH = EFFORT(3, 1) };
    int level, node;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL), in_rounds = 0;
    REQUIRE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS); /* contexts after one another */
    REQUIRE(MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    REQUIRE(MPI_Comm_rank(MPI_COMM_WORLD, &node) == MPI_SUCCESS);
    if (node == 0) {
        printf("seed %" PRIu64 "\n", seed);
        fflush(stdout);
    }
    for (size_t i = 0; i < EACH * TI_COUNT(configs); i++) {
        in_rounds += run_program(&configs[i % TI_COUNT(configs)], seed + i);
    }
    REQUIRE(in_rounds > 0);
    if (node == 0) {
        printf("%" PRIu64 " tasks in rounds\n", in_rounds);
    }
    REQUIRE(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
