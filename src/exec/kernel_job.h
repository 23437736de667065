/* What a device is given for a kernel instruction: the views of its parts, and how it may be cut. Executor role. */
#ifndef TI_KERNEL_JOB_H
#define TI_KERNEL_JOB_H

#include "exec/job.h"
#include "ir/system.h"

/* Of a run. */
typedef struct ti_kernel_setting {
    const ti_system *system;
    tacit_context *context;
    struct ti_bounds *bounds; /* or NULL */
} ti_kernel_setting;

/* Kernels of equal numbers (`made`) are of one shape, and differ in nothing but their task: they get a job that has
 * been used before. The caller returns it to `jobs`. */
ti_job *ti_kernel_job(ti_jobs *jobs, ti_allocation_table *table, const ti_kernel_setting *is,
                      const ti_instruction *kernel);

#endif
