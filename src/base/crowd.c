/* Other programs on the same cores: see crowd.h. */
#include "base/crowd.h"

#include <time.h>

/* What a crowd leaves of what is expected, at most, in eighths; how long a period of that may be; how long it is taken
 * to stay. */
enum { LEAVES_EIGHTHS = 5, PERIOD_NS = 200 * 1000 * 1000, STAYS_NS = 5 * 1000 * 1000 };

ti_crowd ti_crowd_of_process;

void ti_crowd_join(uint32_t share)
{
    atomic_fetch_add_explicit(&ti_crowd_of_process.expected, share, memory_order_relaxed);
}

void ti_crowd_leave(uint32_t share)
{
    atomic_fetch_sub_explicit(&ti_crowd_of_process.expected, share, memory_order_relaxed);
}

static uint64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ti_crowd_look(uint64_t now)
{
    ti_crowd *crowd = &ti_crowd_of_process;
    if (!ti_lock_try(&crowd->looking)) {
        return;
    }
    const uint64_t period = now - crowd->looked, used = used_ns();
    const uint64_t wanted = period / 1000 * atomic_load_explicit(&crowd->expected, memory_order_relaxed);
    if (period < PERIOD_NS && (used - crowd->used) * 8 < wanted * LEAVES_EIGHTHS) {
        atomic_store_explicit(&crowd->until, now + STAYS_NS, memory_order_relaxed);
    }
    crowd->looked = now;
    crowd->used = used;
    ti_lock_drop(&crowd->looking);
}
