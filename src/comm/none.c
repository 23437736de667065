/* What a build without MPI has instead of comm/mpi/create.c and start.c: see comm.h. A run has one node, and what
 * launchers of MPI say in the environment is ignored. Any thread. */
#include "comm/comm.h"

#include <stdio.h>

ti_comm *ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size)
{
    (void)settings;
    snprintf(why, why_size, "this build of tacit has no MPI, so it runs on one node only; build it with MPI for more");
    return NULL;
}

tacit_status ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out, char *why,
                               size_t why_size)
{
    (void)given;
    (void)settings;
    *out = NULL;
    snprintf(
        why, why_size,
        "tacit_init_mpi: this build of tacit has no MPI; build it with -DTACIT_MPI=ON, or use tacit_init on one node");
    return TACIT_ERROR_UNSUPPORTED;
}

bool ti_comm_mpi_is_launched(void)
{
    return false;
}

bool ti_comm_mpi_has_others(void)
{
    return false;
}

bool ti_comm_mpi_is_alone(void)
{
    return true;
}

const char *ti_comm_mpi_library(void)
{
    return "none";
}
