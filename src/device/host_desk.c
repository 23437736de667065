/* What workers do: see host_desk.h. */
#include "device/host_desk.h"

/* A kernel that a worker shows is not complete, and stays where it is while the caller has the executor role. */
const char *ti_host_desk_long_kernel(ti_host_desk *desk, int workers, uint64_t now, uint64_t limit, uint64_t *ns)
{
    for (int i = 0; i < workers; i++) {
        ti_host_desk *d = &desk[i];
        const ti_device_kernel *k = atomic_load_explicit(&d->kernel, memory_order_acquire);
        uint32_t begun = atomic_load_explicit(&d->begun, memory_order_relaxed);
        if (!k || begun != d->seen) {
            d->seen = begun;
            d->since = now;
            d->told = 0;
        } else if (now - d->since >= limit && now - d->since >= 2 * d->told) {
            d->told = *ns = now - d->since;
            return k->launch.name;
        }
    }
    return NULL;
}
