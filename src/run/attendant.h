/* The attendant: a thread that sleeps, and looks after what needs somebody while all other threads are in kernels.
 *
 * While messages are under way it wakes now and then, first after 50 us, then less often, up to every millisecond
 * (every four where waking is slow). If nobody has looked at the network since the last time, it does, again and again
 * as long as that moves something. Where it is known when something is due, it wakes a little later, by a timer that
 * the others set: it is there if they are in kernels, and takes no time of theirs if they see to it themselves. A few
 * times per TACIT_WATCHDOG it looks for kernels that do not end. When no message has been under way for some
 * milliseconds, it sleeps until somebody calls it, or until the next such look. All that it takes from kernels is the
 * time of its looks. Started and stopped by the application thread; it looks with the executor role. */
#ifndef TI_ATTENDANT_H
#define TI_ATTENDANT_H

#include "base/park.h"

#include <pthread.h>

typedef struct ti_attendant_desc {
    bool (*is_needed)(void *user); /* whether messages are under way */
    uint64_t (*looks)(void *user); /* how often anybody has looked after them so far */
    const ti_lot *timed;           /* whose `due` says when something is to happen; NULL: that is never known */
    bool (*look)(void *user);      /* look after them; returns whether something happened */
    void (*watch)(void *user);     /* look at kernels */
    uint64_t watch_ns;             /* between two such looks; 0: none */
    void *user;
} ti_attendant_desc;

typedef struct ti_attendant {
    ti_attendant_desc is;
    pthread_t thread;
    bool started;
    _Atomic bool stop;
    _Atomic int asleep; /* changed and asked by read-modify-write only, so one of two threads sees what the other did */
    uint64_t cost;      /* nanoseconds that it has computed, at its last look */
    int called, timer;  /* descriptors that it sleeps on */
} ti_attendant;

/* False if the system does not grant the thread, or two descriptors. */
bool ti_attendant_start(ti_attendant *attendant, const ti_attendant_desc *desc);
/* Also one that was not started. Others may still set its timer after the first, and not after the second. */
void ti_attendant_stop(ti_attendant *attendant);
void ti_attendant_fini(ti_attendant *attendant);

void ti_attendant_wake(ti_attendant *attendant);
void ti_attendant_set_timer(ti_attendant *attendant, uint64_t due);

/* Something is to happen then, or nothing that is known (0). By who has the executor role, also where no attendant was
 * started. */
static inline void ti_attendant_expect(ti_attendant *attendant, ti_lot *timed, uint64_t due)
{
    if (TI_UNLIKELY(timed->nap_ns) && atomic_exchange_explicit(&timed->due, due, memory_order_relaxed) != due) {
        ti_attendant_set_timer(attendant, due);
    }
}

/* It is needed from now on. Any thread, also where none was started. */
static inline void ti_attendant_call(ti_attendant *attendant)
{
    if (TI_UNLIKELY(atomic_fetch_or_explicit(&attendant->asleep, 0, memory_order_acq_rel))) {
        ti_attendant_wake(attendant);
    }
}

#endif
