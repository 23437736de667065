/* TACIT_BOUNDS_CHECK: a kernel that touches what its accesses do not declare is found and named.
 *
 * A kernel call gets views of guarded copies (guarded.h) instead of the real memory, made from what its accesses
 * declare for the items of this very call. A touch of a guard is caught at once (fault.h). What guards cannot show is
 * found by values: elements that are not declared, and those of write accesses, hold garbage; the kernel runs a second
 * time from the same inputs with other garbage and with the guards at the other ends of the rows, and its outputs must
 * be the same. If they are not, the element whose garbage makes the difference is found by running the kernel again and
 * again, with half of the suspects changed each time. Only then are outputs copied to where they belong. Host tasks may
 * have effects outside of their buffers, so they run once: reads of garbage are not seen there. One per context; used
 * by all workers at once. */
#ifndef TI_BOUNDS_CHECK_H
#define TI_BOUNDS_CHECK_H

#include "base/failure.h"
#include "device/device.h"

typedef struct ti_bounds ti_bounds;

/* `concurrent`: how many kernels may run at once; `failure` is told what was found. */
ti_bounds *ti_bounds_create(int concurrent, ti_failure *failure);
void ti_bounds_destroy(ti_bounds *bounds);

/* Calls the kernel of `job`, which has `bounds` and `task`, for `launch->chunk`, with `launch->view` for the real
 * memory. Whatever is found is the failure of the run; nothing is written to the real memory then. */
void ti_bounds_run(const ti_device_kernel *job, const tacit_launch *launch);

/* Calls a host kernel: with its views, or checked. A kernel that uses another context may call kernels of that. */
static inline void ti_kernel_call(const ti_device_kernel *job, const tacit_launch *launch)
{
    const tacit_launch *outer = ti_failure_kernel;
    ti_failure_kernel = launch;
    if (TI_UNLIKELY(job->bounds)) {
        ti_bounds_run(job, launch);
    } else {
        job->host(launch);
    }
    ti_failure_kernel = outer;
}

#endif
