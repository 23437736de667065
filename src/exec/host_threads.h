/* Threads for collective host tasks: one for each of their groups that has had a task, so that a kernel may wait for
 * the other nodes while workers, the network and tasks of other groups go on. A zeroed one has none. Executor role. */
#ifndef TI_HOST_THREADS_H
#define TI_HOST_THREADS_H

#include "device/host.h"

typedef struct ti_host_threads {
    ti_device *device[TACIT_MAX_COLLECTIVE_GROUPS + 1]; /* by group; NULL: none yet */
    int count;                                          /* one more than the last of them */
    ti_lot lot;
} ti_host_threads;

/* Waits for kernels that run. */
void ti_host_threads_fini(ti_host_threads *threads);
/* The device of one worker that runs the group's tasks; NULL: the system grants no thread. `told` and `cores`: see
 * ti_host_desc. */
ti_device *ti_host_threads_of(ti_host_threads *threads, int group, ti_lot *told, const ti_cores *cores);
/* ti_device_host_long_kernel of any of them. */
const char *ti_host_threads_long_kernel(ti_host_threads *threads, uint64_t now, uint64_t limit, uint64_t *ns);

#endif
