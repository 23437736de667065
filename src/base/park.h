/* How threads wait: spin briefly, then give up the core, then sleep.
 *
 * A lot is a place where threads sleep until something may have changed. The sleeper takes a ticket *before* it looks
 * for work the last time; ti_lot_wake after a change moves the ticket, so a wake-up between look and sleep is never
 * lost. Sleeps are bounded, because some events (messages) wake nobody.
 *
 * Threads of one lot can do different things: plan, execute, run kernels of a device. A sleeper says what it can, and
 * who wakes one says for what: so a wake-up never reaches a thread that goes back to sleep over it.
 *
 * Where accelerators compute, the program's thread and those that only plan or execute do little but wait, and sleeping
 * and waking take longer than what they wait for: such a lot has patience, so that they yield for a while first.
 *
 * Where nobody says when messages come, threads nap. They look again when something is due that is known, and else
 * after naps that grow with how long they have waited already, so that they are late by a part of that at most.
 *
 * ti_lock is a lock for very short sections, also with more threads than cores: it spins a little, then yields. Any
 * thread. */
#ifndef TI_PARK_H
#define TI_PARK_H

#include "base/macro.h"

#include <sched.h>
#include <stdatomic.h>

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
static inline bool ti_lock_is_held(const ti_lock *lock)
{
    return atomic_load_explicit(&lock->held, memory_order_relaxed);
}

/* What a sleeper can do: a set of these. Kernels are those of one device, which may share its bit with another one that
 * is TI_CAN_DEVICES further on. */
enum { TI_CAN_PLAN = 1, TI_CAN_EXECUTE = 2, TI_CAN_DEVICES = 29, TI_CAN_KINDS = 4 };
#define TI_CAN_RUN_ON(device) (4u << ((device) % TI_CAN_DEVICES))
#define TI_CAN_RUN 0x7ffffffcu      /* on some device */
#define TI_CAN_WAIT 0x80000000u     /* for what the program is to be told of: points, signals, room for tasks */
#define TI_CAN_ANYTHING 0xffffffffu /* also: whoever sleeps is woken */
static inline uint32_t ti_can_of_kind(int kind)
{
    return kind < 2 ? 1u << kind : kind == 2 ? TI_CAN_RUN : TI_CAN_WAIT;
}

typedef struct ti_lot {
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t ticket;
    _Atomic uint32_t sleepers[TI_CAN_KINDS]; /* that can do this */
    _Atomic uint32_t napping;                /* threads that will look again soon by themselves */
    /* Set before threads use the lot, and on a cache line that stays with all of them: */
    _Alignas(TI_CACHE_LINE) uint32_t spins; /* waiting steps before the core is given up */
    uint32_t patience_ns; /* how long threads that run no kernels for others yield before they sleep; 0: as all do */
    uint32_t nap_ns;      /* how long who polls sleeps at a time, right after that; 0: a fixed time, much later */
    const ti_lock *role;  /* who has it looks for what those who poll wait for; NULL: they look themselves */
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t due; /* on the clock: who polls should look again then; 0: not known */
} ti_lot;

enum { TI_SPINS_CROWDED = 16, TI_SPINS_ROOMY = 512 }; /* fewer cores than threads, or a core for each */

static inline uint32_t ti_lot_ticket(ti_lot *lot)
{
    return atomic_load_explicit(&lot->ticket, memory_order_acquire);
}
/* Returns at once if the ticket has moved. `can`: what this thread can do. */
void ti_lot_sleep_able(ti_lot *lot, uint32_t ticket, uint64_t at_most_ns, uint32_t can);
static inline void ti_lot_sleep(ti_lot *lot, uint32_t ticket, uint64_t at_most_ns)
{
    ti_lot_sleep_able(lot, ticket, at_most_ns, TI_CAN_ANYTHING);
}

void ti_lot_wake_slow(ti_lot *lot, int count, uint32_t can);
/* Wake some of those who can do any of that. Call after the change is published. Costs one atomic addition while nobody
 * of them sleeps. */
static inline void ti_lot_wake_able(ti_lot *lot, int count, uint32_t can)
{
    uint32_t any = 0;
    atomic_fetch_add_explicit(&lot->ticket, 1, memory_order_seq_cst);
    for (int kind = 0; kind < TI_CAN_KINDS; kind++) {
        any |= can & ti_can_of_kind(kind) ? atomic_load_explicit(&lot->sleepers[kind], memory_order_seq_cst) : 0;
    }
    if (TI_UNLIKELY(any)) {
        ti_lot_wake_slow(lot, count, can);
    }
}
/* Whoever has looked already, and is about to sleep, looks again. Nobody is woken. */
static inline void ti_lot_move(ti_lot *lot)
{
    atomic_fetch_add_explicit(&lot->ticket, 1, memory_order_seq_cst);
}
static inline void ti_lot_wake(ti_lot *lot, int count)
{
    ti_lot_wake_able(lot, count, TI_CAN_ANYTHING);
}
/* Whether anybody sleeps who can run kernels. */
static inline bool ti_lot_has_runners(ti_lot *lot)
{
    return atomic_load_explicit(&lot->sleepers[2], memory_order_seq_cst) > 0;
}

/* A thread that waits. */
typedef struct ti_waiter {
    uint32_t round; /* fruitless steps; set to 0 after success */
    uint32_t naps;  /* of them, in a row, while nothing was due that is known */
    uint32_t can;   /* as a sleeper */
    uint64_t since; /* on the clock: when it began to yield; for threads with patience */
} ti_waiter;

/* Whether the next waiting step is to spin, for which no ticket is needed. */
static inline bool ti_spins(const ti_waiter *waiter, const ti_lot *lot)
{
    return waiter->round < lot->spins;
}
/* One waiting step. */
void ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling);
/* How long nap number `naps` is, at most so long. */
uint64_t ti_nap_ns(uint32_t naps, uint64_t at_most_ns);

/* How long to sleep until a time on the clock (0: none is known); at most so long, and never not at all. */
uint64_t ti_until_due(uint64_t due, uint64_t at_most_ns);
/* This thread's sleeps end within microseconds of their time from now on. */
void ti_sleep_exactly(void);

#endif
