/* Kernels in flight, with their views: what the executor gives a device, and takes back when it is done.
 *
 * Loops start the same kernels again: what differs is a task's number and arguments. So a job that comes back keeps its
 * views, and the next kernel with the same ones (`made` of its instruction) takes it as it is. Executor role. */
#ifndef TI_JOB_H
#define TI_JOB_H

#include "device/device.h"
#include "exec/allocation_table.h"

enum { TI_KEPT_JOBS = 256 };

/* An access whose results are combined: the number of its view among those of a part. */
typedef struct ti_job_result {
    uint32_t view;
    ti_reducer reducer;
    size_t elements;
} ti_job_result;

/* `view` has the views of part 0, then those of part 1 ..., `stride` apart, if parts have views of their own
 * (reductions, which `result` lists); `split` has what those of accesses in parts are made of. Behind those of each
 * part, and from `used` on, entries are empty, so that kernels which use views that their tasks do not have are
 * found. */
typedef struct ti_job {
    ti_device_kernel kernel;
    struct ti_job *next;
    uint64_t made;   /* its views are those of kernels with this number; 0: of one kernel only */
    size_t capacity; /* of `view` */
    size_t used;
    uint32_t stride, slots; /* slots: of results; parts have one each, and may be fewer */
    TI_VEC(ti_job_result) result;
    TI_VEC(tacit_view) split;
    tacit_view view[];
} ti_job;

/* A zeroed one is empty. */
typedef struct ti_jobs {
    ti_job *few, *many;         /* unused ones, by their room for views */
    ti_job *kept[TI_KEPT_JOBS]; /* by `made` */
    TI_VEC(ti_job *) all;
} ti_jobs;

void ti_jobs_fini(ti_jobs *jobs);
/* One with room for so many views; one that has the views with this number, or NULL. */
ti_job *ti_jobs_take(ti_jobs *jobs, size_t views);
ti_job *ti_jobs_take_made(ti_jobs *jobs, uint64_t made);
void ti_jobs_return(ti_jobs *jobs, ti_job *job);

/* The views of all parts, and empty ones. */
void ti_job_fill_views(ti_job *job, ti_allocation_table *table, const ti_instruction *kernel, uint32_t parts);
/* Of a job that has the other views: where partial results are, which is elsewhere each time. */
void ti_job_place_results(ti_job *job, ti_allocation_table *table, const ti_instruction *kernel);

#endif
