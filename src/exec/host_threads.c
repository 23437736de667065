/* Threads for collective host tasks: see host_threads.h. */
#include "exec/host_threads.h"

#include "base/check.h"

void ti_host_threads_fini(ti_host_threads *t)
{
    for (int g = 0; g < t->count; g++) {
        if (t->device[g]) {
            t->device[g]->ops->destroy(t->device[g]);
        }
    }
    t->count = 0;
}

ti_device *ti_host_threads_of(ti_host_threads *t, int group, ti_lot *told, const ti_cores *cores)
{
    TI_ASSERT(group >= 0 && group <= TACIT_MAX_COLLECTIVE_GROUPS);
    if (!t->device[group]) {
        ti_host_desc desc = { .workers = 1, .threads = 1, .lot = &t->lot, .name = "tacit-host-task" };
        desc.runs = TI_CAN_RUN_ON(group);
        desc.told = told;
        desc.cores = cores;
        t->device[group] = ti_device_host_create(&desc);
        t->count = TI_MAX(t->count, group + 1);
    }
    return t->device[group];
}

const char *ti_host_threads_long_kernel(ti_host_threads *t, uint64_t now, uint64_t limit, uint64_t *ns)
{
    const char *name = NULL;
    for (int g = 0; g < t->count && !name; g++) {
        name = t->device[g] ? ti_device_host_long_kernel(t->device[g], now, limit, ns) : NULL;
    }
    return name;
}
