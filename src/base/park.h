/* How threads wait: spin briefly, then give up the core, then sleep.
 *
 * A lot is a place where threads sleep until something may have changed. The sleeper takes a ticket *before* it looks
 * for work the last time; ti_lot_wake after a change moves the ticket, so a wake-up between look and sleep is never
 * lost. Sleeps are bounded, because some events (messages) wake nobody.
 *
 * ti_lock is a lock for very short sections, also with more threads than cores: it spins a little, then yields. Any
 * thread. */
#ifndef TI_PARK_H
#define TI_PARK_H

#include "base/macro.h"

#include <sched.h>
#include <stdatomic.h>

typedef struct ti_lot {
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t ticket;
    _Atomic uint32_t sleepers; /* that nobody has woken yet */
    uint32_t spins;            /* waiting steps before the core is given up; set before threads use the lot */
    uint32_t nap_ns;           /* how long who polls sleeps at a time, right after that; 0: a fixed time, much later */
    _Atomic uint64_t due;      /* on the clock: who polls should look again then; 0: not known */
} ti_lot;

enum { TI_SPINS_CROWDED = 16, TI_SPINS_ROOMY = 512 }; /* fewer cores than threads, or a core for each */

static inline uint32_t ti_lot_ticket(ti_lot *lot)
{
    return atomic_load_explicit(&lot->ticket, memory_order_acquire);
}
void ti_lot_sleep(ti_lot *lot, uint32_t ticket, uint64_t at_most_ns); /* returns at once if the ticket has moved */
void ti_lot_wake_slow(ti_lot *lot, int count);
/* Call after the change is published. Costs one atomic addition while nobody sleeps. */
static inline void ti_lot_wake(ti_lot *lot, int count)
{
    atomic_fetch_add_explicit(&lot->ticket, 1, memory_order_seq_cst);
    if (TI_UNLIKELY(atomic_load_explicit(&lot->sleepers, memory_order_seq_cst))) {
        ti_lot_wake_slow(lot, count);
    }
}

/* One waiting step; *round counts the fruitless ones and is set to 0 by the caller after success. */
void ti_backoff(uint32_t *round, ti_lot *lot, uint32_t ticket, bool polling);

/* How long to sleep until a time on the clock (0: none is known); at most so long, and never not at all. */
uint64_t ti_until_due(uint64_t due, uint64_t at_most_ns);
/* This thread's sleeps end within microseconds of their time from now on. */
void ti_sleep_exactly(void);

static inline void ti_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

typedef struct ti_lock {
    _Atomic uint32_t held;
} ti_lock;

static inline bool ti_lock_try(ti_lock *lock)
{
    return !atomic_load_explicit(&lock->held, memory_order_relaxed) &&
           !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}
static inline void ti_lock_take(ti_lock *lock)
{
    for (uint32_t spins = 0; !ti_lock_try(lock); spins++) {
        if (spins < 64) {
            ti_cpu_relax();
        } else {
            sched_yield();
        }
    }
}
static inline void ti_lock_drop(ti_lock *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
