/* Which number of parts is better: see trial.h. A mark is the place of a time, and the number of the trial. */
#include "device/trial.h"

#include "base/check.h"

enum { A_TURN = TI_TRIAL_SETTLES + TI_TRIAL_COUNTS, MARK_BITS = 8, PER_GAIN = 20, MAX_LOSSES = 1 }; /* in pairs */

/* Turns come in pairs, one of each; in every second pair the other one comes first. */
static int way_of(uint32_t turn)
{
    return (int)((turn ^ turn / 2) % 2);
}

void ti_trial_begin(ti_trial *t, int now, int other)
{
    TI_ASSERT(now != other && now > 0 && other > 0);
    t->parts[0] = now;
    t->parts[1] = other;
    t->next = 0;
    t->pairs = t->gains = 0;
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
    return t->parts[way_of(turn)];
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

static uint64_t turn_ns(const ti_trial *t, uint32_t turn)
{
    const uint64_t first = atomic_load_explicit(&t->end[turn][0], memory_order_relaxed),
                   last = atomic_load_explicit(&t->end[turn][1], memory_order_relaxed);
    return first && last ? last - first : 0;
}

/* Those of a pair are compared, since cores may become slower or faster during a trial. False: they have not ended. */
static bool judge(ti_trial *t)
{
    const uint32_t first = 2 * t->pairs, second = first + 1;
    const bool in_order = way_of(first) == 0;
    const uint64_t now = turn_ns(t, in_order ? first : second), other = turn_ns(t, in_order ? second : first);
    if (!now || !other) {
        return false;
    }
    t->gains += other < now - now / PER_GAIN;
    t->pairs++;
    return true;
}

static bool is_lost(const ti_trial *t)
{
    return t->pairs - t->gains > MAX_LOSSES;
}

bool ti_trial_has_ended(ti_trial *t)
{
    bool ended = is_lost(t) || t->pairs == TI_TRIAL_TURNS;
    while (!ended && judge(t)) {
        ended = is_lost(t) || t->pairs == TI_TRIAL_TURNS;
    }
    return ended;
}

int ti_trial_better(const ti_trial *t)
{
    TI_ASSERT(is_lost(t) || t->pairs == TI_TRIAL_TURNS);
    return t->parts[is_lost(t) ? 0 : 1];
}
