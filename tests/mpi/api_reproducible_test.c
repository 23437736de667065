/* Reductions with tacit_config.reproducible between processes: on each number of ranks the bits are those of one node
 * in one process. */
#include "api/reproducible.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    static results all[MOST_NODES];
    static const char *const devices[] = { NULL, "2:discrete" };
    results expected;
    int level;
    reference(&expected);
    REQUIRE(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level) ==
            MPI_SUCCESS); /* contexts after one another */
    for (size_t d = 0; d < TI_COUNT(devices); d++) {
        tacit_context *ctx;
        tacit_config config = { .workers = 3, .host_devices = devices[d], .reproducible = 1 };
        REQUIRE_OK(NULL, tacit_init(&config, &ctx));
        reductions(ctx, all);
        REQUIRE(difference(&expected, &all[tacit_node(ctx)]) == -1);
        REQUIRE_OK(NULL, tacit_finalize(ctx));
    }
    REQUIRE(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
