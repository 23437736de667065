/* What each worker of a host device does at the moment: for those who look for kernels that never end, and for workers
 * that have nothing to do. The worker writes; `seen` and what follows it are the executor role's. */
#ifndef TI_HOST_DESK_H
#define TI_HOST_DESK_H

#include "device/device.h"

#include <stdatomic.h>

typedef struct ti_host_desk {
    _Alignas(TI_CACHE_LINE) _Atomic(const ti_device_kernel *) kernel; /* NULL: none */
    _Atomic uint32_t begun;                                           /* kernels */
    uint32_t seen;                                                    /* `begun` at the last look */
    uint64_t since, told; /* when it was seen first; after how many nanoseconds it was told last */
} ti_host_desk;

static inline void ti_host_desk_begin(ti_host_desk *d, const ti_device_kernel *kernel)
{
    atomic_store_explicit(&d->begun, atomic_load_explicit(&d->begun, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&d->kernel, kernel, memory_order_release);
}
/* Before the job is complete, and its memory gone. */
static inline void ti_host_desk_end(ti_host_desk *d)
{
    atomic_store_explicit(&d->kernel, NULL, memory_order_release);
}
static inline bool ti_host_desk_is_busy(const ti_host_desk *d)
{
    return atomic_load_explicit(&d->kernel, memory_order_relaxed) != NULL;
}

/* As ti_device_host_long_kernel (host.h), of so many workers. */
const char *ti_host_desk_long_kernel(ti_host_desk *desk, int workers, uint64_t now, uint64_t limit, uint64_t *ns);

#endif
