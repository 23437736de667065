/* The first error of a context that happened later, on whatever thread: kept, printed once, returned by every later
 * call. */
#ifndef TI_FAILURE_H
#define TI_FAILURE_H

#include "base/park.h"
#include "tacit/tacit.h"

typedef struct ti_failure {
    _Atomic int status; /* tacit_status; published after `text` */
    ti_lock lock;
    ti_lot *lot; /* whoever waits there is woken */
    char text[512];
} ti_failure;

/* Keep the error if it is the first, and print it. */
void ti_failure_set(ti_failure *failure, tacit_status status, const char *format, ...) TI_PRINTF(3, 4);
static inline tacit_status ti_failure_get(const ti_failure *failure)
{
    return (tacit_status)atomic_load_explicit(&failure->status, memory_order_acquire);
}

/* The call of a kernel that this thread is in, or NULL: a kernel that ends the process is named by it. */
extern _Thread_local const tacit_launch *ti_failure_kernel __attribute__((tls_model("initial-exec")));

#endif
