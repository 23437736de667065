/* The first error of a context that happened after a call had returned, on whatever thread: kept, printed once,
 * returned by every later call.
 *
 * A wrong kernel usually fails on all nodes at about the same time. So that its sentence is printed once, nodes end the
 * job in the order of their numbers: the first one prints it and ends the job before the others have their turn. Any
 * thread. */
#ifndef TI_FAILURE_H
#define TI_FAILURE_H

#include "base/park.h"
#include "tacit/tacit.h"

typedef struct ti_failure {
    _Atomic int status; /* tacit_status; published after `text` */
    ti_lock lock;
    ti_lot *lot;         /* whoever waits there is woken */
    bool leaves_kernels; /* errors of kernels are not printed here: ti_failure_print_in_turn */
    char text[512];
} ti_failure;

/* Keep the error if it is the first, and print it. */
void ti_failure_set(ti_failure *failure, tacit_status status, const char *format, ...) TI_PRINTF(3, 4);
/* Print the error if it is one of a kernel, which ti_failure_set has left, when the nodes before this one have had the
 * time to end the job. */
void ti_failure_print_in_turn(const ti_failure *failure, int node);
static inline tacit_status ti_failure_get(const ti_failure *failure)
{
    return (tacit_status)atomic_load_explicit(&failure->status, memory_order_acquire);
}

/* The call of a kernel that this thread is in, or NULL: a kernel that ends the process is named by it. */
extern _Thread_local const tacit_launch *ti_failure_kernel __attribute__((tls_model("initial-exec")));

#endif
