/* The first error of a context: see failure.h. */
#include "base/failure.h"

#include "base/log.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

_Thread_local const tacit_launch *ti_failure_kernel __attribute__((tls_model("initial-exec")));

void ti_failure_set(ti_failure *failure, tacit_status status, const char *format, ...)
{
    ti_lock_take(&failure->lock);
    if (atomic_load_explicit(&failure->status, memory_order_relaxed) == TACIT_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(failure->text, sizeof(failure->text), format, args);
        va_end(args);
        if (!failure->leaves_kernels || status != TACIT_ERROR_KERNEL) {
            ti_log(TI_LOG_ERROR, "%s", failure->text);
        }
        atomic_store_explicit(&failure->status, (int)status, memory_order_release);
    }
    ti_lock_drop(&failure->lock);
    ti_lot_wake(failure->lot, INT_MAX);
}

void ti_failure_print_in_turn(const ti_failure *failure, int node)
{
    enum { TURN_MS = 400, MAX_TURNS = 5 };
    if (failure->leaves_kernels && ti_failure_get(failure) == TACIT_ERROR_KERNEL) {
        int64_t ms = (int64_t)TURN_MS * TI_MIN(node, MAX_TURNS);
        const struct timespec turn = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
        nanosleep(&turn, NULL);
        ti_log(TI_LOG_ERROR, "%s", failure->text);
    }
}
