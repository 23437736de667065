/* What stands in for comm_mpi.c in a build without MPI: a run has one node, and a launcher's environment means
 * nothing. Any thread. */
#include "comm/comm.h"

#include <stdio.h>

ti_comm *ti_comm_mpi_create(size_t early_bytes, char *why, size_t why_size)
{
    (void)early_bytes;
    snprintf(why, why_size, "this build of tacit has no MPI, so it runs on one node only; build it with MPI for more");
    return NULL;
}

bool ti_comm_mpi_is_launched(void)
{
    return false;
}

const char *ti_comm_mpi_library(void)
{
    return "none";
}
