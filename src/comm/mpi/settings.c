/* Whether all nodes have the same settings, before anything is done that depends on them: see settings.h. */
#include "comm/mpi/settings.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "comm/comm.h"
#include "comm/mpi/guard.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAME = 64 };

/* The first line that differs; lines are "NAME=value", the same names in the same order on all nodes. */
static void say_difference(int node, const char *mine, const char *first)
{
    for (size_t n, k; *mine && *first; mine += n + 1, first += k + 1) {
        n = strcspn(mine, "\n");
        k = strcspn(first, "\n");
        if (n == k && memcmp(mine, first, n) == 0) {
            continue;
        }
        int name = (int)strcspn(mine, "=");
        ti_log(
            TI_LOG_ERROR,
            "%.*s is %.*s on node %d, but %.*s on node 0; all nodes must have the same: set it for all of them or for "
            "none",
            TI_MIN(name, MAX_NAME), mine, (int)n - name - 1, mine + name + 1, node, (int)k - name - 1,
            first + name + 1);
        return;
    }
}

/* One node says what differs, and all end: those that say nothing wait until it has. */
static void end_all(int node, int who, const char *mine, const char *first)
{
    enum { MAX_SECONDS = 10 };
    ti_log_setup(TI_LOG_ERROR, node);
    if (node == who) {
        say_difference(node, mine, first);
    } else {
        sleep(MAX_SECONDS);
    }
    ti_mpi_guard_end();
}

int ti_mpi_compare_settings(MPI_Comm comm, int node, const char *text, const char **call)
{
    uint64_t length = strlen(text);
    *call = "MPI_Bcast";
    int code = MPI_Bcast(&length, 1, MPI_UINT64_T, 0, comm);
    if (code != MPI_SUCCESS) {
        return code;
    }
    char *first = ti_alloc_zero(length + 1);
    memcpy(first, text, node == 0 ? length : 0);
    code = MPI_Bcast(first, (int)length, MPI_CHAR, 0, comm);
    if (code == MPI_SUCCESS) {
        int who = strcmp(first, text) == 0 ? INT_MAX : node;
        *call = "MPI_Allreduce";
        code = MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, comm);
        if (code == MPI_SUCCESS && who != INT_MAX) {
            end_all(node, who, text, first);
        }
    }
    ti_free(first, length + 1);
    return code;
}
