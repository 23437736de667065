/* Waiting: no wake-up is lost or reaches the wrong thread, sleeps end, naps grow, and the lock excludes.
 *
 * The ping-pong sleeps for up to ten minutes at a time, so one lost wake-up hangs the test until its time limit. */
#include "base/park.h"

#include "base/clock.h"

#include "random.h"

#include <pthread.h>

enum { ROUNDS = 20000, THREADS = 4, ENOUGH = 100000 };
#define SLEEP_NS (20ull * 1000 * 1000) /* of who polls nothing: in park.c */
#define LONG_NS (600ull * 1000 * 1000 * 1000)

typedef struct game {
    ti_lot lot[2];
    _Atomic uint64_t ball;
} game;

/* Player `side` waits until the ball's parity is its own, and passes it on. */
static void play(game *g, int side, bool with_backoff)
{
    for (uint64_t i = (uint64_t)side; i < ROUNDS; i += 2) {
        ti_waiter waiter = { .can = TI_CAN_ANYTHING };
        for (;;) {
            uint32_t ticket = ti_lot_ticket(&g->lot[side]);
            if (atomic_load_explicit(&g->ball, memory_order_acquire) == i) {
                break;
            }
            if (with_backoff) {
                ti_backoff(&waiter, &g->lot[side], ticket, false);
            } else {
                ti_lot_sleep(&g->lot[side], ticket, LONG_NS);
            }
        }
        atomic_store_explicit(&g->ball, i + 1, memory_order_release);
        ti_lot_wake(&g->lot[!side], 1);
    }
}

static void *second_player(void *arg)
{
    play(arg, 1, false);
    return NULL;
}

static void *second_player_with_backoff(void *arg)
{
    play(arg, 1, true);
    return NULL;
}

static uint32_t sleepers_of(ti_lot *lot)
{
    uint32_t count = 0;
    for (int kind = 0; kind < TI_CAN_KINDS; kind++) {
        count += atomic_load(&lot->sleepers[kind]);
    }
    return count;
}

static void ping_pong(bool with_backoff)
{
    static _Alignas(TI_CACHE_LINE) game g;
    g = (game){ .ball = 0 };
    pthread_t other;
    void *(*body)(void *) = with_backoff ? second_player_with_backoff : second_player;
    assert_int_equal(pthread_create(&other, NULL, body, &g), 0);
    play(&g, 0, with_backoff);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(atomic_load(&g.ball), ROUNDS);
    assert_int_equal(sleepers_of(&g.lot[0]) + sleepers_of(&g.lot[1]), 0);
}

static void no_wake_up_is_lost(void **state)
{
    (void)state;
    ping_pong(false);
}

static void backoff_makes_progress(void **state)
{
    (void)state;
    ping_pong(true);
}

/* Many sleepers in one lot: a wake-up for all reaches all. */
typedef struct crowd {
    ti_lot lot, done;
    _Atomic uint32_t go, arrived;
} crowd;

static void *follow(void *arg)
{
    crowd *c = arg;
    for (uint32_t i = 1; i <= 500; i++) {
        for (;;) {
            uint32_t ticket = ti_lot_ticket(&c->lot);
            if (atomic_load(&c->go) >= i) {
                break;
            }
            ti_lot_sleep(&c->lot, ticket, LONG_NS);
        }
        atomic_fetch_add(&c->arrived, 1);
        ti_lot_wake(&c->done, 1);
    }
    return NULL;
}

static void all_are_woken(void **state)
{
    (void)state;
    static _Alignas(TI_CACHE_LINE) crowd c;
    c = (crowd){ .go = 0 };
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, follow, &c), 0);
    }
    for (uint32_t i = 1; i <= 500; i++) {
        atomic_store(&c.go, i);
        ti_lot_wake(&c.lot, INT32_MAX);
        for (;;) {
            uint32_t ticket = ti_lot_ticket(&c.done);
            if (atomic_load(&c.arrived) == i * THREADS) {
                break;
            }
            ti_lot_sleep(&c.done, ticket, LONG_NS);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
}

/* Sleepers that can do different things: a wake-up for one reaches one who can, whoever has slept longer. */
enum { ABILITIES = 5, ERRANDS = 3000 };
static const uint32_t abilities[ABILITIES] = { TI_CAN_PLAN, TI_CAN_EXECUTE, TI_CAN_RUN_ON(0), TI_CAN_RUN_ON(28),
                                               TI_CAN_WAIT };

typedef struct office {
    ti_lot lot, done;
    _Atomic int errands[ABILITIES];
    _Atomic int finished, next;
} office;

static void *run_errands(void *arg)
{
    office *o = arg;
    const int who = atomic_fetch_add(&o->next, 1);
    for (;;) {
        uint32_t ticket = ti_lot_ticket(&o->lot);
        int left = atomic_load(&o->errands[who]);
        if (left < 0) {
            return NULL;
        }
        if (left > 0) {
            atomic_fetch_sub(&o->errands[who], 1);
            atomic_fetch_add(&o->finished, 1);
            ti_lot_wake(&o->done, 1);
        } else {
            ti_lot_sleep_able(&o->lot, ticket, LONG_NS, abilities[who]);
        }
    }
}

static void wait_for_errands(office *o, int count)
{
    for (;;) {
        uint32_t ticket = ti_lot_ticket(&o->done);
        if (atomic_load(&o->finished) == count) {
            return;
        }
        ti_lot_sleep(&o->done, ticket, LONG_NS);
    }
}

static void those_who_can_are_woken(void **state)
{
    (void)state;
    static _Alignas(TI_CACHE_LINE) office o;
    pthread_t thread[ABILITIES];
    rng r = rng_from(7);
    o = (office){ .next = 0 };
    for (int i = 0; i < ABILITIES; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, run_errands, &o), 0);
    }
    for (int i = 1; i <= ERRANDS; i++) {
        const int who = (int)rng_between(&r, 0, ABILITIES - 1);
        atomic_fetch_add(&o.errands[who], 1);
        ti_lot_wake_able(&o.lot, 1, abilities[who]);
        wait_for_errands(&o, i);
    }
    for (int i = 0; i < ABILITIES; i++) {
        atomic_store(&o.errands[i], -1);
    }
    ti_lot_wake(&o.lot, INT32_MAX);
    for (int i = 0; i < ABILITIES; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    assert_int_equal(sleepers_of(&o.lot), 0);
}

/* Who polls naps, but for a while not while somebody else looks: that one may be waiting for this core. */
static void who_polls_lets_others_look(void **state)
{
    enum { SPINS = 4, YIELDS = 64, LIMIT = 1000 };
    (void)state;
    ti_lock role = { 0 };
    ti_lot lot = { .spins = SPINS, .nap_ns = 20000, .role = &role };
    ti_waiter w = { .can = TI_CAN_ANYTHING };
    for (int i = 0; i < SPINS; i++) {
        ti_backoff(&w, &lot, ti_lot_ticket(&lot), true);
        assert_int_equal(w.naps, 0);
    }
    for (uint32_t i = 1; i <= 3; i++) {
        ti_backoff(&w, &lot, ti_lot_ticket(&lot), true);
        assert_int_equal(w.naps, i);
    }
    ti_lock_take(&role);
    for (w.round = 0; w.round < SPINS + YIELDS;) {
        ti_backoff(&w, &lot, ti_lot_ticket(&lot), true);
        assert_int_equal(w.naps, 0);
    }
    ti_backoff(&w, &lot, ti_lot_ticket(&lot), true);
    assert_int_equal(w.naps, 1);
    ti_lock_drop(&role);
    assert_int_equal(atomic_load(&lot.napping), 0);
}

/* A thread with patience yields for so long, and not a number of times; workers do not. */
static void patience_is_a_time(void **state)
{
    enum { SPINS = 4, YIELDS = 256, TIMES = 600 };
    (void)state;
    ti_lot lot = { .spins = SPINS, .patience_ns = UINT32_MAX };
    ti_waiter w = { .can = TI_CAN_EXECUTE };
    const uint64_t begin = ti_clock_ns();
    for (int i = 0; i < TIMES; i++) {
        ti_backoff(&w, &lot, ti_lot_ticket(&lot), false);
    }
    assert_true(w.since >= begin);
    assert_true(ti_clock_ns() - begin < (TIMES - SPINS - YIELDS) * SLEEP_NS); /* what it would have slept */
    lot.patience_ns = 1;
    const uint64_t late = ti_clock_ns();
    ti_backoff(&w, &lot, ti_lot_ticket(&lot), false);
    assert_true(ti_clock_ns() - late >= SLEEP_NS / 2);
    lot.patience_ns = UINT32_MAX;
    w = (ti_waiter){ .can = TI_CAN_RUN_ON(0) | TI_CAN_EXECUTE, .round = SPINS + YIELDS };
    const uint64_t worker = ti_clock_ns();
    ti_backoff(&w, &lot, ti_lot_ticket(&lot), false);
    assert_true(ti_clock_ns() - worker >= SLEEP_NS / 2 && w.since == 0);
}

/* Naps begin short, again and again where something is due, and grow up to what they may take. */
static void naps_grow(void **state)
{
    (void)state;
    uint64_t before = 0, sum = 0;
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t ns = ti_nap_ns(i, 100000);
        assert_true(ns >= before && ns <= 100000 && ns <= 4000 + sum);
        before = ns;
        sum += ns;
    }
    assert_int_equal(before, 100000);
    assert_int_equal(ti_nap_ns(0, 1000), 1000);
    assert_int_equal(ti_nap_ns(UINT32_MAX, 50000), 50000);
    ti_lot lot = { .nap_ns = 10000 };
    ti_waiter w = { .can = TI_CAN_ANYTHING };
    for (uint32_t i = 1; i <= 5; i++) {
        ti_backoff(&w, &lot, ti_lot_ticket(&lot), true);
        assert_int_equal(w.naps, i);
    }
    atomic_store(&lot.due, ti_clock_ns() + 1000);
    ti_backoff(&w, &lot, ti_lot_ticket(&lot), true);
    assert_int_equal(w.naps, 0);
}

static void sleeps_end(void **state)
{
    (void)state;
    ti_lot lot = { .ticket = 0 };
    uint32_t ticket = ti_lot_ticket(&lot);
    ti_lot_sleep(&lot, ticket, 1000 * 1000);
    ti_lot_wake(&lot, 1);
    assert_int_not_equal(ti_lot_ticket(&lot), ticket);
    ti_lot_sleep(&lot, ticket, LONG_NS);
    assert_int_equal(sleepers_of(&lot), 0);
}

typedef struct counter {
    ti_lock lock;
    pthread_barrier_t start;
    uint64_t value;
} counter;

static void *count_up(void *arg)
{
    counter *c = arg;
    pthread_barrier_wait(&c->start);
    for (int i = 0; i < ENOUGH; i++) {
        ti_lock_take(&c->lock);
        c->value++;
        ti_lock_drop(&c->lock);
    }
    return NULL;
}

static void lock_excludes(void **state)
{
    (void)state;
    counter c = { .value = 0 };
    pthread_t thread[THREADS];
    assert_int_equal(pthread_barrier_init(&c.start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, count_up, &c), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    pthread_barrier_destroy(&c.start);
    assert_int_equal(c.value, (uint64_t)THREADS * ENOUGH);
    assert_true(ti_lock_try(&c.lock));
    assert_false(ti_lock_try(&c.lock));
    ti_lock_drop(&c.lock);
}

static void clock_does_not_go_back(void **state)
{
    (void)state;
    uint64_t last = ti_clock_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = ti_clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost),      cmocka_unit_test(backoff_makes_progress),
        cmocka_unit_test(all_are_woken),           cmocka_unit_test(sleeps_end),
        cmocka_unit_test(those_who_can_are_woken), cmocka_unit_test(who_polls_lets_others_look),
        cmocka_unit_test(patience_is_a_time),      cmocka_unit_test(naps_grow),
        cmocka_unit_test(lock_excludes),           cmocka_unit_test(clock_does_not_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
