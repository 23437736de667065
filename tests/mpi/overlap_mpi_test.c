/* Messages move while kernels compute, also where all threads of the sender are in one.
 *
 * overlap_mpi_test, started by a launcher. The last node reads what node 0 has written, while a kernel of node 0 runs
 * that ends when it sees, in memory which the processes share, that the reader's kernel has run. So nothing but order
 * is looked at: a message that waited for the kernel would never come, and the kernel gives up after MOST_SECONDS. */
#include "mpi_program.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { ELEMENTS = 1 << 20, MOST_SECONDS = 60, ROUNDS = 3 };

typedef struct board {
    _Atomic int arrived; /* rounds that the reader has read */
    _Atomic int late;    /* kernels that gave up */
} board;

typedef struct look {
    board *board;
    int round;
} look;

static void fill(const tacit_launch *k)
{
    const look *l = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(double, k->view[0], i) = (double)(i + (size_t)l->round);
    }
}

static void take(const tacit_launch *k)
{
    const look *l = k->args;
    int wrong = 0;
    for (size_t i = 0; i < ELEMENTS; i++) {
        wrong += TACIT_GET1(double, k->view[0], i) != (double)(i + (size_t)l->round);
    }
    TACIT_AT1(int, k->view[1], 0) = wrong;
    atomic_store(&l->board->arrived, l->round + 1);
}

/* Computes, as far as the machine can tell. */
static void compute(const tacit_launch *k)
{
    const look *l = k->args;
    time_t start = time(NULL);
    while (atomic_load(&l->board->arrived) <= l->round) {
        if (time(NULL) - start > MOST_SECONDS) {
            atomic_fetch_add(&l->board->late, 1);
            break;
        }
    }
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[0], i) = l->round;
    }
}

static void submit(tacit_context *ctx, const tacit_task *task)
{
    REQUIRE_OK(ctx, tacit_submit(ctx, task));
}

static void run(const tacit_config *config, board *b, int workers)
{
    tacit_context *ctx;
    tacit_buffer *u, *w, *c;
    int wrong = -1;
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, config, &ctx));
    int reader = tacit_num_nodes(ctx) - 1;
    tacit_buffer_desc desc = { .name = "U", .range = TACIT_RANGE(ELEMENTS), .elem_size = sizeof(double) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &u));
    desc = (tacit_buffer_desc){ .name = "wrong", .range = TACIT_RANGE(1), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &w));
    desc = (tacit_buffer_desc){ .name = "C", .range = TACIT_RANGE((size_t)workers), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &c));
    for (int round = 0; round < ROUNDS; round++) {
        const look l = { b, round };
        submit(ctx, &(tacit_task){ .name = "fill",
                                   .range = TACIT_RANGE(ELEMENTS),
                                   .place = tacit_place_node(0),
                                   .kernel = { .host = fill },
                                   TACIT_ARGS(l),
                                   .access = { tacit_write(u, tacit_one_to_one()) } });
        REQUIRE_OK(ctx, tacit_wait(ctx));
        submit(ctx, &(tacit_task){ .name = "take",
                                   .range = TACIT_RANGE(1),
                                   .place = tacit_place_node(reader),
                                   .kernel = { .host = take },
                                   TACIT_ARGS(l),
                                   .access = { tacit_read(u, tacit_all()), tacit_write(w, tacit_one_to_one()) } });
        submit(ctx, &(tacit_task){ .name = "compute", /* as many parts as there are workers */
                                   .range = TACIT_RANGE((size_t)workers),
                                   .place = tacit_place_node(0),
                                   .kernel = { .host = compute },
                                   TACIT_ARGS(l),
                                   .access = { tacit_write(c, tacit_one_to_one()) } });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, w, TACIT_BOX_ALL, &wrong));
        REQUIRE(wrong == 0);
        REQUIRE_OK(ctx, tacit_wait(ctx));
    }
    REQUIRE_OK(ctx, tacit_finalize(ctx));
    REQUIRE(atomic_load(&b->late) == 0);
}

int main(int argc, char **argv)
{
    int level = 0, rank = 0, ranks = 0, bytes = 0;
    board *b;
    MPI_Aint size;
    MPI_Win window;
    cpu_set_t all, one;
    alarm(10 * MOST_SECONDS);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1); /* the sender has to copy */
    REQUIRE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
    REQUIRE(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)sizeof(*b) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &b, &window);
    MPI_Win_shared_query(window, 0, &size, &bytes, &b);
    const tacit_config modes[] = {
        { .workers = 1 }, /* one core, which is inline */
        { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
        { .workers = 2, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
        { .workers = 1, .progress = TACIT_PROGRESS_THREAD },
    };
    sched_getaffinity(0, sizeof(all), &all);
    for (size_t i = 0; ranks > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (rank == 0) {
            atomic_store(&b->arrived, 0);
            atomic_store(&b->late, 0);
        }
        CPU_ZERO(&one);
        CPU_SET((size_t)sched_getcpu(), &one);
        sched_setaffinity(0, sizeof(cpu_set_t), i == 0 ? &one : &all);
        MPI_Barrier(MPI_COMM_WORLD);
        run(&modes[i], b, modes[i].workers);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
