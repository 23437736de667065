/* How far two cores are from each other: see apart.h. Two threads, each on its own core, write a number in turns. */
#include "apart.h"

#include "pairs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { TURNS = 2000, SPINS = 1000 };

typedef struct player {
    _Atomic int *ball;
    int core, parity;
} player;

static void bind_to(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void *play(void *arg)
{
    const player *p = arg;
    bind_to(p->core);
    for (int turn = p->parity; turn < TURNS; turn += 2) {
        for (int spins = 0; atomic_load_explicit(p->ball, memory_order_acquire) != turn; spins++) {
            if (spins > SPINS) {
                sched_yield();
            }
        }
        atomic_store_explicit(p->ball, turn + 1, memory_order_release);
    }
    return NULL;
}

double apart_ns(void)
{
    cpu_set_t mask;
    int core[2], cores = 0;
    sched_getaffinity(0, sizeof(mask), &mask);
    for (int c = 0; c < CPU_SETSIZE && cores < 2; c++) {
        if (CPU_ISSET(c, &mask)) {
            core[cores++] = c;
        }
    }
    _Alignas(64) _Atomic int ball = -1;
    pthread_t other;
    player first = { &ball, cores ? core[0] : 0, 0 }, second = { &ball, cores > 1 ? core[1] : 0, 1 };
    if (cores < 2 || pthread_create(&other, NULL, play, &second) != 0) {
        return 0;
    }
    bind_to(first.core);
    sched_yield();
    double begin = pairs_now();
    atomic_store_explicit(&ball, 0, memory_order_release);
    play(&first);
    pthread_join(other, NULL);
    double ns = 1e9 * (pairs_now() - begin) / TURNS;
    sched_setaffinity(0, sizeof(mask), &mask);
    return ns;
}
