/* An MPI program that lends its communicator, and uses MPI-IO in a collective host task */
#include <stdio.h>
#include <stdlib.h>
#include <tacit/mpi.h>

enum { N = 1000 };
static void square(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0)
        TACIT_AT1(double, k->view[0], i) = (double)i * (double)i;
}
/* every node has all of the buffer, and writes a part of it by one collective call */
static void save(const tacit_launch *k)
{
    MPI_Comm comm = tacit_launch_communicator(k);
    MPI_File f;
    const size_t first = (size_t)(N * k->node / k->num_nodes), end = (size_t)(N * (k->node + 1) / k->num_nodes);
    if (comm == MPI_COMM_NULL ||
        MPI_File_open(comm, "squares.bin", MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &f)) {
        tacit_kernel_fail(k, "squares.bin cannot be opened");
        return;
    }
    MPI_File_write_at_all(f, (MPI_Offset)(first * sizeof(double)), &TACIT_GET1(double, k->view[0], first),
                          (int)(end - first), MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
}
int main(int argc, char **argv)
{
    int level, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tacit_context *ctx;
    tacit_buffer *x;
    if (tacit_init_mpi(MPI_COMM_WORLD, NULL, &ctx)) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (tacit_buffer_create(
            ctx, &(tacit_buffer_desc){ .name = "x", .range = TACIT_RANGE(N), .elem_size = sizeof(double) }, &x) ||
        tacit_submit(ctx, &(tacit_task){ .name = "square",
                                         .range = TACIT_RANGE(N),
                                         .kernel.host = square,
                                         .access = { tacit_write(x, tacit_one_to_one()) } }) ||
        tacit_submit(ctx, &(tacit_task){ .name = "save",
                                         .on = TACIT_ON_EVERY_NODE,
                                         .range = TACIT_RANGE(1),
                                         .kernel.host = save,
                                         .access = { tacit_read(x, tacit_all()) } }) ||
        tacit_finalize(ctx)) {
        fprintf(stderr, "%s\n", tacit_last_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double sum = 0, mine = rank;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("done, ranks add up to %g\n", sum);
    return MPI_Finalize();
}
