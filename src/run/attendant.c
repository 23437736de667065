/* The attendant: see attendant.h. */
#include "run/attendant.h"

#include "base/check.h"
#include "base/clock.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_NAP_NS = 50 * 1000, LAST_NAP_NS = 1000 * 1000, NAPS_UNTIL_SLEEP = 4, LOOKS_AT_ONCE = 256 };
enum { NAP_PER_COST = 150, MAX_NAP_NS = 4 * 1000 * 1000 };
/* A look that takes longer has moved bytes: one that finds nothing needs 1 to 3 us. */
enum { LONG_LOOK_NS = 10 * 1000 };
#define FOR_EVER_NS 3600000000000u

static bool is_over(const ti_attendant *a)
{
    return atomic_load_explicit(&a->stop, memory_order_acquire);
}

/* What this thread has computed since the last time, with all that waking takes. */
static uint64_t take_cost(uint64_t *before)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, cost = now - *before;
    *before = now;
    return cost;
}

/* Naps after fruitless looks become longer, until they take less than a hundredth of the time. */
static uint64_t longer(uint64_t nap, uint64_t cost)
{
    uint64_t most = TI_MIN(NAP_PER_COST * cost, (uint64_t)MAX_NAP_NS);
    return TI_MIN(2 * nap, TI_MAX(most, (uint64_t)LAST_NAP_NS));
}

/* Threads that nap until something is due see to it themselves, unless they go into kernels before. */
static bool others_nap(const ti_attendant *a)
{
    return a->is.timed && atomic_load_explicit(&a->is.timed->napping, memory_order_relaxed) > 0;
}

/* What was due is not done, and nobody is there who will do it soon. */
static bool is_overdue(const ti_attendant *a)
{
    const uint64_t due = a->is.timed ? atomic_load_explicit(&a->is.timed->due, memory_order_relaxed) : 0;
    return due && due <= ti_clock_ns();
}

/* Returns how long to nap now. A single long look may be due to cold caches: the next one shows. */
static uint64_t look_after(ti_attendant *a, uint64_t nap, uint64_t *seen)
{
    bool goes_on = (a->is.looks(a->is.user) == *seen || is_overdue(a)) && !others_nap(a);
    for (int i = 0; goes_on && i < LOOKS_AT_ONCE && !is_over(a); i++) {
        uint64_t start = ti_clock_ns();
        bool moved = a->is.look(a->is.user);
        bool is_long = ti_clock_ns() - start > LONG_LOOK_NS;
        goes_on = moved || is_long;
        nap = moved || (is_long && i > 0) ? FIRST_NAP_NS / 2 : nap;
    }
    *seen = a->is.looks(a->is.user);
    return longer(nap, take_cost(&a->cost));
}

/* ---- sleeping */

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

void ti_attendant_wake(ti_attendant *a)
{
    const uint64_t one = 1;
    ssize_t written = write(a->called, &one, sizeof(one)); /* fails if it has been called often already */
    (void)written;
}

void ti_attendant_set_timer(ti_attendant *a, uint64_t due)
{
    if (a->started) {
        const struct itimerspec at = { .it_value = time_of(due ? due + a->is.timed->nap_ns : 0) };
        timerfd_settime(a->timer, TFD_TIMER_ABSTIME, &at, NULL);
    }
}

/* Until it is called, or something is due. */
static void sleep_for(ti_attendant *a, uint64_t at_most_ns)
{
    struct pollfd on[] = { { .fd = a->called, .events = POLLIN }, { .fd = a->timer, .events = POLLIN } };
    const struct timespec limit = time_of(at_most_ns);
    int awake = ppoll(on, TI_COUNT(on), &limit, NULL);
    for (size_t i = 0; awake > 0 && i < TI_COUNT(on); i++) {
        uint64_t count;
        ssize_t got = on[i].revents ? read(on[i].fd, &count, sizeof(count)) : 0; /* the timer may be set anew by now */
        (void)got;
    }
}

/* Until it is called, or has to look at kernels. */
static void sleep_until_called(ti_attendant *a)
{
    /* Either the caller sees this, or this thread what the caller did before. */
    (void)atomic_exchange_explicit(&a->asleep, 1, memory_order_acq_rel);
    if (!a->is.is_needed(a->is.user)) {
        sleep_for(a, a->is.watch_ns ? a->is.watch_ns : FOR_EVER_NS);
    }
    (void)atomic_exchange_explicit(&a->asleep, 0, memory_order_acq_rel);
}

static void *attendant_main(void *user)
{
    ti_attendant *a = user;
    uint64_t nap = FIRST_NAP_NS, seen = 0, watched = ti_clock_ns();
    int naps = NAPS_UNTIL_SLEEP; /* since it was needed last */
    if (a->is.timed) {
        ti_sleep_exactly();
    }
    for (;;) {
        if (is_over(a)) {
            return NULL;
        }
        if (naps >= NAPS_UNTIL_SLEEP) {
            sleep_until_called(a);
            naps = 0;
            nap = FIRST_NAP_NS;
            seen = a->is.looks(a->is.user);
        } else {
            sleep_for(a, nap);
            bool needed = a->is.is_needed(a->is.user);
            naps = needed ? 0 : naps + 1;
            nap = needed ? look_after(a, nap, &seen) : (uint64_t)LAST_NAP_NS;
        }
        if (a->is.watch_ns && ti_clock_ns() - watched >= a->is.watch_ns) {
            a->is.watch(a->is.user);
            watched = ti_clock_ns();
        }
    }
}

static bool open_descriptors(ti_attendant *a)
{
    a->called = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    a->timer = a->called >= 0 ? timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC) : -1;
    if (a->called >= 0 && a->timer < 0) {
        close(a->called);
    }
    return a->timer >= 0;
}

static void close_descriptors(ti_attendant *a)
{
    close(a->called);
    close(a->timer);
}

/* Signals are for the threads of the program. */
static bool start_thread(ti_attendant *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&a->thread, NULL, attendant_main, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        pthread_setname_np(a->thread, "tacit-attendant");
    }
    return started;
}

bool ti_attendant_start(ti_attendant *a, const ti_attendant_desc *desc)
{
    TI_ASSERT(!a->started && desc->is_needed && desc->looks && desc->look && (desc->watch || !desc->watch_ns));
    a->is = *desc;
    if (!open_descriptors(a)) {
        return false;
    }
    a->started = start_thread(a);
    if (!a->started) {
        close_descriptors(a);
    }
    return a->started;
}

void ti_attendant_stop(ti_attendant *a)
{
    if (a->started && !is_over(a)) {
        atomic_store_explicit(&a->stop, true, memory_order_release);
        ti_attendant_wake(a);
        pthread_join(a->thread, NULL);
    }
}

void ti_attendant_fini(ti_attendant *a)
{
    ti_attendant_stop(a);
    if (a->started) {
        close_descriptors(a);
        a->started = false;
    }
}
