/* A program outside the tree that uses MPI itself: the sum of squares' neighbours, as in consumer.c, on a
 * communicator of its own; all nodes compare it in a task on every node. */
#include <tacit/mpi.h>

#include <stdio.h>

enum { ITEMS = 100 };

static void add(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        int64_t left = i > 0 ? (int64_t)((i - 1) * (i - 1)) : 0;
        int64_t right = i + 1 < ITEMS ? (int64_t)((i + 1) * (i + 1)) : 0;
        TACIT_AT0(int64_t, k->view[0]) += left + right;
    }
}

static void compare(const tacit_launch *k)
{
    int64_t here = TACIT_GET0(int64_t, k->view[0]), most = 0;
    MPI_Allreduce(&here, &most, 1, MPI_INT64_T, MPI_MAX, tacit_launch_communicator(k));
    if (here != most)
        tacit_kernel_fail(k, "%lld here, %lld elsewhere", (long long)here, (long long)most);
}

static int run(tacit_context *ctx)
{
    int64_t sum = 0;
    tacit_buffer *total;
    const tacit_buffer_desc desc = { .name = "total", .elem_size = sizeof(int64_t) };
    if (tacit_buffer_create(ctx, &desc, &total))
        return 1;
    const tacit_task adding = { .name = "add",
                                .range = TACIT_RANGE(ITEMS),
                                .kernel.host = add,
                                .access = { tacit_reduce(total, tacit_sum(TACIT_INT64)) } };
    const tacit_task comparing = { .name = "compare",
                                   .on = TACIT_ON_EVERY_NODE,
                                   .kernel.host = compare,
                                   .access = { tacit_read(total, tacit_all()) } };
    if (tacit_submit(ctx, &adding) || tacit_submit(ctx, &comparing) ||
        tacit_fence_read(ctx, total, TACIT_BOX_ALL, &sum))
        return 1;
    if (tacit_node(ctx) == 0)
        printf("sum %lld on %d nodes\n", (long long)sum, tacit_num_nodes(ctx));
    return 0;
}

int main(int argc, char **argv)
{
    int level, failed;
    tacit_context *ctx;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (tacit_init_mpi(comm, NULL, &ctx) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    failed = run(ctx);
    if (failed)
        fprintf(stderr, "%s\n", tacit_last_error(ctx));
    failed |= tacit_finalize(ctx) != TACIT_OK;
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return failed;
}
