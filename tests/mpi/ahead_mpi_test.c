/* Nodes that run inline, over MPI: of kernels that wait for messages, each runs when the program has submitted the next
 * one. Then its reader is known when it ends, and what it sends leaves at once. The first need no messages, and the
 * last runs when the program waits. In rounds (run/round.h) each runs when it is submitted. */
#include "mpi_program.h"

enum { STEPS = 400, ROWS = 64 };

/* So many have been submitted, the one at hand included; so many have run. */
static int submitted, ran, early;

static void sweep(const tacit_launch *k)
{
    ran++;
    early += ran > 2 && ran < STEPS && submitted == ran;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        double sum = 0;
        for (size_t j = i ? i - 1 : 0; j < ROWS && j <= i + 1; j++) {
            sum += TACIT_GET1(double, k->view[0], j);
        }
        TACIT_AT1(double, k->view[1], i) = sum / 3;
    }
}

int main(int argc, char **argv)
{
    int level, nodes;
    tacit_context *ctx;
    tacit_buffer *field[2];
    const tacit_config config = { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_OFF };
    static double initial[2][ROWS], sequential[2][ROWS];
    double result[ROWS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    for (int i = 0; i < ROWS; i++) {
        initial[0][i] = sequential[0][i] = i * i % 7;
    }
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, &config, &ctx));
    for (int b = 0; b < 2; b++) {
        const tacit_buffer_desc desc = { .range = TACIT_RANGE(ROWS), .elem_size = sizeof(double), .init = initial[b] };
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &field[b]));
    }
    for (int t = 0; t < STEPS; t++) {
        submitted++;
        REQUIRE_OK(ctx,
                   tacit_submit(ctx, &(tacit_task){ .name = "sweep",
                                                    .range = TACIT_RANGE(ROWS),
                                                    .kernel.host = sweep,
                                                    .access = { tacit_read(field[t % 2], tacit_neighborhood(1, 0, 0)),
                                                                tacit_write(field[1 - t % 2], tacit_one_to_one()) } }));
        REQUIRE(nodes > 1 || ran == submitted);
        for (int i = 0; i < ROWS; i++) {
            const double *from = sequential[t % 2];
            sequential[1 - t % 2][i] = (0 + (i ? from[i - 1] : 0) + from[i] + (i + 1 < ROWS ? from[i + 1] : 0)) / 3;
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, field[STEPS % 2], TACIT_BOX_ALL, result));
    REQUIRE(memcmp(result, sequential[STEPS % 2], sizeof(result)) == 0);
    REQUIRE(ran == STEPS && (nodes == 1 || early == 0));
    REQUIRE_OK(NULL, tacit_finalize(ctx));
    MPI_Finalize();
    return 0;
}
