/* Reductions into an array, with MPI by hand: arrays_mpi BYTES, started by a launcher. */
#include "arrays.h"

#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t n = arrays_elements(argc, argv);
    int repeats = arrays_repeats(n), node, nodes, code = 0;
    double fastest = 1e9, *sum = malloc(n * sizeof(double));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    for (int round = -1; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = arrays_now();
        for (int r = 0; r < repeats; r++) {
            memset(sum, 0, n * sizeof(double));
            arrays_add(sum, n, (size_t)node);
            MPI_Allreduce(MPI_IN_PLACE, sum, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        double seconds = (arrays_now() - start) / repeats;
        fastest = round >= 0 && seconds < fastest ? seconds : fastest;
    }
    if (node == 0) {
        code = arrays_report(sum, n, (size_t)nodes, fastest);
    }
    MPI_Finalize();
    free(sum);
    return code;
}
