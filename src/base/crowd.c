/* Other programs on the same cores: see crowd.h. */
#include "base/crowd.h"

#include "base/park.h"

#include <stdatomic.h>
#include <time.h>

/* What a crowd leaves of what is expected, at most, in eighths; how long a period of that may be; how long it is taken
 * to stay. */
enum { LEAVES_EIGHTHS = 5, PERIOD_NS = 200 * 1000 * 1000, STAYS_NS = 5 * 1000 * 1000 };

uint64_t ti_crowd_until_;
static _Atomic uint32_t expected; /* thousandths of a core, of all contexts */
static ti_lock looking;
static uint64_t last_look, last_used; /* who has `looking` */

void ti_crowd_join(uint32_t share)
{
    atomic_fetch_add_explicit(&expected, share, memory_order_relaxed);
}

void ti_crowd_leave(uint32_t share)
{
    atomic_fetch_sub_explicit(&expected, share, memory_order_relaxed);
}

static uint64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ti_crowd_look(uint64_t now)
{
    if (!ti_lock_try(&looking)) {
        return;
    }
    const uint64_t period = now - last_look, used = used_ns();
    const uint64_t wanted = period / 1000 * atomic_load_explicit(&expected, memory_order_relaxed);
    if (period < PERIOD_NS && (used - last_used) * 8 < wanted * LEAVES_EIGHTHS) {
        __atomic_store_n(&ti_crowd_until_, now + STAYS_NS, __ATOMIC_RELAXED);
    }
    last_look = now;
    last_used = used;
    ti_lock_drop(&looking);
}
