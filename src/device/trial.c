/* Which number of parts is better: see trial.h. A mark is the place of a time, and the number of the trial. */
#include "device/trial.h"

#include "base/check.h"

#include <stdlib.h>

enum { A_TURN = TI_TRIAL_SETTLES + TI_TRIAL_COUNTS, MARK_BITS = 8, PER_GAIN = 20 };

void ti_trial_begin(ti_trial *t, int now, int other)
{
    TI_ASSERT(now != other && now > 0 && other > 0);
    t->parts[0] = now;
    t->parts[1] = other;
    t->next = 0;
    atomic_fetch_add_explicit(&t->number, 1, memory_order_relaxed);
    for (int i = 0; i < 4 * TI_TRIAL_TURNS; i++) {
        atomic_store_explicit(&t->end[i / 2][i % 2], 0, memory_order_relaxed);
    }
}

int ti_trial_next(ti_trial *t, uint32_t *mark)
{
    const uint32_t turn = t->next / A_TURN, launch = t->next % A_TURN;
    *mark = 0;
    if (turn >= 2 * TI_TRIAL_TURNS) {
        return t->parts[0];
    }
    t->next++;
    if (launch == TI_TRIAL_SETTLES || launch == A_TURN - 1) {
        const uint32_t place = 2 * turn + (launch == A_TURN - 1) + 1;
        *mark = atomic_load_explicit(&t->number, memory_order_relaxed) << MARK_BITS | place;
    }
    return t->parts[turn % 2];
}

void ti_trial_drop(ti_trial *t, uint32_t mark)
{
    t->next -= mark != 0;
}

void ti_trial_note(ti_trial *t, uint32_t mark, uint64_t now)
{
    const uint32_t place = (mark & ((1u << MARK_BITS) - 1)) - 1;
    TI_ASSERT(place < 4 * TI_TRIAL_TURNS);
    if (mark >> MARK_BITS == (atomic_load_explicit(&t->number, memory_order_relaxed) & (UINT32_MAX >> MARK_BITS))) {
        atomic_store_explicit(&t->end[place / 2][place % 2], now, memory_order_relaxed);
    }
}

bool ti_trial_has_ended(const ti_trial *t)
{
    bool all = t->next == TI_TRIAL_LAUNCHES;
    for (int i = 0; i < 4 * TI_TRIAL_TURNS && all; i++) {
        all = atomic_load_explicit(&t->end[i / 2][i % 2], memory_order_relaxed) != 0;
    }
    return all;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(const ti_trial *t, int which)
{
    uint64_t ns[TI_TRIAL_TURNS];
    for (int i = 0; i < TI_TRIAL_TURNS; i++) {
        const int turn = 2 * i + which;
        ns[i] = atomic_load_explicit(&t->end[turn][1], memory_order_relaxed) -
                atomic_load_explicit(&t->end[turn][0], memory_order_relaxed);
    }
    qsort(ns, TI_TRIAL_TURNS, sizeof(*ns), by_size);
    return ns[TI_TRIAL_TURNS / 2];
}

int ti_trial_better(const ti_trial *t)
{
    const uint64_t now = median(t, 0), other = median(t, 1);
    return other < now - now / PER_GAIN ? t->parts[1] : t->parts[0];
}
