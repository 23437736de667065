/* Checks of MPI test programs: a failure says where, and ends the job on all nodes. */
#ifndef MPI_PROGRAM_H
#define MPI_PROGRAM_H

#include "tacit/mpi.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void stop_job(const char *file, int line, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4), __noreturn__));
static inline void stop_job(const char *file, int line, const char *format, ...)
{
    int running = 0;
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    MPI_Initialized(&running);
    if (running) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    _Exit(1);
}

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            stop_job(__FILE__, __LINE__, "%s does not hold", #condition);                                              \
        }                                                                                                              \
    } while (0)

#define REQUIRE_OK(ctx, call)                                                                                          \
    do {                                                                                                               \
        if ((call) != TACIT_OK) {                                                                                      \
            stop_job(__FILE__, __LINE__, "%s: %s", #call, tacit_last_error(ctx));                                      \
        }                                                                                                              \
    } while (0)

/* The call must be refused, with a sentence that contains `part`. */
#define REQUIRE_REFUSED(ctx, call, expected, part)                                                                     \
    do {                                                                                                               \
        tacit_status status_ = (call);                                                                                 \
        if (status_ != (expected) || !strstr(tacit_last_error(ctx), part)) {                                           \
            stop_job(__FILE__, __LINE__, "%s: %s, '%s'", #call, tacit_status_name(status_), tacit_last_error(ctx));    \
        }                                                                                                              \
    } while (0)

static inline int level_named(const char *name)
{
    return strcmp(name, "single") == 0       ? MPI_THREAD_SINGLE
           : strcmp(name, "funneled") == 0   ? MPI_THREAD_FUNNELED
           : strcmp(name, "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                             : MPI_THREAD_MULTIPLE;
}

static inline const char *level_name(int level)
{
    return level == MPI_THREAD_SINGLE       ? "MPI_THREAD_SINGLE"
           : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
           : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                            : "MPI_THREAD_MULTIPLE";
}

#endif
