/* Assertions: see check.h. */
#include "base/check.h"

#include "base/log.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Open MPI would print a page of addresses behind the sentence. */
void ti_abort(void)
{
    fflush(stderr);
    if (getenv("OMPI_COMM_WORLD_RANK")) {
        signal(SIGABRT, SIG_DFL);
    }
    abort();
}

void ti_panic(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "tacit: internal error at %s:%d: %s\n", file, line, text);
    ti_abort();
}

void ti_stop(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ti_log(TI_LOG_ERROR, "%s", text);
    ti_abort();
}
