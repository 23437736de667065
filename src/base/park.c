/* How threads wait: see park.h. Sleeping is a futex on the ticket.
 *
 * Whoever wakes a thread takes it off the count: else all who come by until it gets a core would call the system,
 * too. */
#include "base/park.h"

#include "base/clock.h"
#include "base/crowd.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void count_sleeper(ti_lot *lot, uint32_t can, uint32_t add, memory_order order)
{
    for (int kind = 0; kind < TI_CAN_KINDS; kind++) {
        if (can & ti_can_of_kind(kind)) {
            atomic_fetch_add_explicit(&lot->sleepers[kind], add, order);
        }
    }
}

/* The futex wants to know until when, not how long. */
void ti_lot_sleep_able(ti_lot *lot, uint32_t ticket, uint64_t at_most_ns, uint32_t can)
{
    const uint64_t end = ti_clock_ns() + at_most_ns;
    const struct timespec limit = { (time_t)(end / 1000000000u), (long)(end % 1000000000u) };
    count_sleeper(lot, can, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&lot->ticket, memory_order_seq_cst) == ticket) {
        syscall(SYS_futex, &lot->ticket, FUTEX_WAIT_BITSET_PRIVATE, ticket, &limit, NULL, can);
    }
    count_sleeper(lot, can, (uint32_t)-1, memory_order_relaxed);
}

void ti_lot_wake_slow(ti_lot *lot, int count, uint32_t can)
{
    syscall(SYS_futex, &lot->ticket, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL, can);
}

/* A round is about 0.1 us while spinning and 0.5 us or more while yielding. A thread that polls the network for others
 * keeps yielding longer and then naps, since no other thread can tell it that a message has come. After a yield that
 * took long somebody looks whether other programs want the cores. */
enum { YIELDS = 256, POLLING_YIELDS = 2048, ROLE_YIELDS = 64 };
enum { LONG_YIELD_NS = 1000 * 1000 };
enum { NAP_NS = 50 * 1000, SLEEP_NS = 20 * 1000 * 1000, FIRST_NAP_NS = 4000 };

uint64_t ti_until_due(uint64_t due, uint64_t at_most_ns)
{
    enum { MIN_NS = 1000 };
    uint64_t now = due ? ti_clock_ns() : 0;
    return !due ? at_most_ns : due > now + MIN_NS ? TI_MIN(due - now, at_most_ns) : MIN_NS;
}

void ti_sleep_exactly(void)
{
    enum { SLACK_NS = 1000 };
    prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
}

uint64_t ti_nap_ns(uint32_t naps, uint64_t at_most_ns)
{
    uint64_t ns = FIRST_NAP_NS;
    for (uint32_t i = 0; i < naps && ns < at_most_ns; i++) {
        ns += ns / 2;
    }
    return TI_MIN(ns, at_most_ns);
}

/* What others send is likely to come when something of this node is due, and soon afterwards. The slack is the
 * thread's, and it may be the program's own: set where it is needed. */
static void nap(ti_waiter *waiter, ti_lot *lot, uint32_t ticket)
{
    const uint64_t due = atomic_load_explicit(&lot->due, memory_order_relaxed);
    const uint64_t most = due ? lot->nap_ns : ti_nap_ns(waiter->naps, lot->nap_ns);
    waiter->naps = due ? 0 : waiter->naps + 1;
    ti_sleep_exactly();
    atomic_fetch_add_explicit(&lot->napping, 1, memory_order_relaxed);
    ti_lot_sleep_able(lot, ticket, ti_until_due(due, most), waiter->can);
    atomic_fetch_sub_explicit(&lot->napping, 1, memory_order_relaxed);
}

/* Somebody is looking just now, and may be waiting for this core. */
static bool is_looked_after(const ti_lot *lot)
{
    return lot->role && ti_lock_is_held(lot->role);
}

/* False: others want the core, so it is time to sleep. */
static bool yields(void)
{
    const uint64_t before = ti_clock_ns();
    if (ti_crowd_is_there(before)) {
        return false;
    }
    sched_yield();
    const uint64_t after = ti_clock_ns();
    if (after - before > LONG_YIELD_NS) {
        ti_crowd_look(after);
    }
    return true;
}

/* The program's thread, and those that have no kernels to run. */
static bool is_patient(ti_waiter *waiter, const ti_lot *lot)
{
    if (!lot->patience_ns || ((waiter->can & TI_CAN_RUN) && !(waiter->can & TI_CAN_WAIT))) {
        return false;
    }
    const uint64_t now = ti_clock_ns();
    waiter->since = waiter->round == lot->spins + 1 ? now : waiter->since;
    return now - waiter->since < lot->patience_ns;
}

void ti_backoff(ti_waiter *waiter, ti_lot *lot, uint32_t ticket, bool polling)
{
    uint32_t n = waiter->round++;
    waiter->naps = n ? waiter->naps : 0;
    if (n < lot->spins) {
        ti_cpu_relax();
    } else if (polling && lot->nap_ns && !(n < lot->spins + ROLE_YIELDS && is_looked_after(lot))) {
        nap(waiter, lot, ticket);
    } else if ((!is_patient(waiter, lot) && n >= lot->spins + (uint32_t)(polling ? POLLING_YIELDS : YIELDS)) ||
               !yields()) {
        ti_lot_sleep_able(lot, ticket, polling ? NAP_NS : SLEEP_NS, waiter->can);
    }
}
