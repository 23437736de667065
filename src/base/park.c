/* How threads wait: see park.h. Sleeping is a futex on the ticket.
 *
 * Whoever wakes a thread takes it off the count: else all who come by until it gets a core would call the system,
 * too. */
#include "base/park.h"

#include "base/clock.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void ti_lot_sleep(ti_lot *lot, uint32_t ticket, uint64_t at_most_ns)
{
    struct timespec limit = { (time_t)(at_most_ns / 1000000000u), (long)(at_most_ns % 1000000000u) };
    atomic_fetch_add_explicit(&lot->sleepers, 1, memory_order_seq_cst);
    bool woken = atomic_load_explicit(&lot->ticket, memory_order_seq_cst) == ticket &&
                 syscall(SYS_futex, &lot->ticket, FUTEX_WAIT_PRIVATE, ticket, &limit, NULL, 0) == 0;
    if (!woken) {
        atomic_fetch_sub_explicit(&lot->sleepers, 1, memory_order_relaxed);
    }
}

void ti_lot_wake_slow(ti_lot *lot, int count)
{
    long woken = syscall(SYS_futex, &lot->ticket, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    if (woken > 0) {
        atomic_fetch_sub_explicit(&lot->sleepers, (uint32_t)woken, memory_order_relaxed);
    }
}

/* A round is about 0.1 us while spinning and 0.5 us or more while yielding. A thread that polls the network for others
 * keeps yielding longer and then naps, since no other thread can tell it that a message has come. */
enum { YIELDS = 256, POLLING_YIELDS = 2048 };
enum { NAP_NS = 50 * 1000, SLEEP_NS = 20 * 1000 * 1000 };

uint64_t ti_until_due(uint64_t due, uint64_t at_most_ns)
{
    enum { LEAST_NS = 1000 };
    uint64_t now = due ? ti_clock_ns() : 0;
    return !due ? at_most_ns : due > now + LEAST_NS ? TI_MIN(due - now, at_most_ns) : LEAST_NS;
}

void ti_sleep_exactly(void)
{
    enum { SLACK_NS = 1000 };
    prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
}

/* The slack is the thread's, and it may be the program's own: set where it is needed. */
static void nap(ti_lot *lot, uint32_t ticket)
{
    ti_sleep_exactly();
    ti_lot_sleep(lot, ticket, ti_until_due(atomic_load_explicit(&lot->due, memory_order_relaxed), lot->nap_ns));
}

void ti_backoff(uint32_t *round, ti_lot *lot, uint32_t ticket, bool polling)
{
    uint32_t n = (*round)++;
    if (n < lot->spins) {
        ti_cpu_relax();
    } else if (polling && lot->nap_ns) {
        nap(lot, ticket);
    } else if (n < lot->spins + (polling ? (uint32_t)POLLING_YIELDS : (uint32_t)YIELDS)) {
        sched_yield();
    } else {
        ti_lot_sleep(lot, ticket, polling ? NAP_NS : SLEEP_NS);
    }
}
