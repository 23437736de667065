/* How benchmarks over MPI end when a call of tacit fails. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "tacit/tacit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Say which call of which benchmark failed, and end the job. */
static inline void bench_check(const char *bench, tacit_context *ctx, tacit_status status, const char *call)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "%s: %s: %s: %s\n", bench, call, tacit_status_name(status), tacit_last_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

#endif
