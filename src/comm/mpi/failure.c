/* What fails in MPI, or does not fit, as sentences: declared in state.h. */
#include "base/check.h"
#include "comm/mpi/start.h"
#include "comm/mpi/state.h"

#include <stdarg.h>
#include <stdio.h>

/* The first one stays; poll reports it. */
void ti_mpi_fail(ti_mpi_state *self, const char *format, ...)
{
    if (self->comm.stats.error) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(self->error, sizeof(self->error), format, args);
    va_end(args);
    self->comm.stats.error = self->error;
}

bool ti_mpi_succeeded(ti_mpi_state *self, int code, const char *what)
{
    if (TI_LIKELY(code == MPI_SUCCESS)) {
        return true;
    }
    char text[MPI_MAX_ERROR_STRING];
    ti_mpi_fail(self, "%s failed: %s", what, ti_mpi_error_text(code, text));
    return false;
}

void ti_mpi_fail_op(ti_mpi_state *self, const ti_mpi_op *o, const char *call, int code)
{
    static const char *const what[] = { "sending", "sending", "sending", "receiving", "sending", "receiving" };
    char text[MPI_MAX_ERROR_STRING];
    int class = code;
    self->comm.stats.length_mismatch |= MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
    if (o->kind == TI_MPI_OP_BARRIER || o->kind == TI_MPI_OP_COLLECTIVE) {
        ti_mpi_fail(self, "%s (of a %s) failed: %s", call, o->kind == TI_MPI_OP_BARRIER ? "barrier" : "collective",
                    ti_mpi_error_text(code, text));
        return;
    }
    ti_mpi_fail(self, "%s (%s %zu bytes %s node %d) failed: %s", call, what[o->kind], o->bytes,
                ti_mpi_is_received(o->kind) ? "from" : "to", o->peer, ti_mpi_error_text(code, text));
}

void ti_mpi_length_differs(ti_mpi_state *self, int node, size_t bytes, size_t expected)
{
    self->comm.stats.length_mismatch = true;
    ti_mpi_fail(self, "node %d sent %zu bytes where %zu were expected", node, bytes, expected);
}
