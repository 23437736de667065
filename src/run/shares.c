/* Weights of devices: see shares.h. */
#include "run/shares.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/macro.h"

#include <string.h>

/* ---- which weights */

static uint64_t mean_of_known(const uint64_t *rate, int count)
{
    unsigned __int128 sum = 0;
    unsigned known = 0;
    for (int i = 0; i < count; i++) {
        sum += rate[i];
        known += rate[i] > 0;
    }
    return known ? (uint64_t)(sum / known) : 0;
}

/* In proportion: a task takes as long as who has most, measured by its weight. */
static bool pays(const uint32_t *now, const uint32_t *weight, int count)
{
    unsigned __int128 before = 0, after = 0;
    bool any = false;
    for (int i = 0; i < count; i++) {
        before += now[i];
        after += weight[i];
    }
    for (int i = 0; i < count; i++) {
        any = any || 9 * now[i] * after >= 10 * weight[i] * before;
    }
    return any;
}

bool ti_weigh(const uint64_t *rate, const uint32_t *now, int count, uint32_t *weight)
{
    const uint64_t mean = mean_of_known(rate, count);
    uint64_t most = TI_MAX(mean, (uint64_t)1);
    for (int i = 0; i < count; i++) {
        most = TI_MAX(most, rate[i]);
    }
    for (int i = 0; i < count; i++) {
        unsigned __int128 r = rate[i] ? rate[i] : mean;
        weight[i] = (uint32_t)TI_MAX((r * TI_SHARES_FULL + most / 2) / most, (unsigned __int128)1);
        TI_ASSERT(0 < weight[i] && weight[i] <= TI_SHARES_FULL);
    }
    return mean > 0 && pays(now, weight, count);
}

/* ---- what nodes hear of each other */

/* A value travels as a number of 21 bits: its leading ones, and by how many bits these are shifted. So three of them
 * fit into a sum, where each node has a place of its own. */
enum { LEADING = 15, CODE = 21, CODES = 3 };
_Static_assert(CODE *CODES <= 63, "a sum has room for them");
_Static_assert(64 - LEADING < 1 << (CODE - LEADING), "a code has room for each shift");

static uint64_t code_of(uint64_t value)
{
    uint64_t shift = 0;
    while (value >> shift >= (uint64_t)1 << LEADING) {
        shift++;
    }
    return shift << LEADING | value >> shift;
}

static uint64_t value_of(uint64_t code)
{
    return (code & (((uint64_t)1 << LEADING) - 1)) << (code >> LEADING);
}

void ti_gather(ti_comm *comm, uint64_t own, uint64_t *all)
{
    const uint64_t mask = ((uint64_t)1 << CODE) - 1;
    for (int first = 0; first < comm->num_nodes; first += CODES) {
        int place = comm->node - first;
        uint64_t mine = place >= 0 && place < CODES ? code_of(own) << (CODE * place) : 0;
        uint64_t sum = (uint64_t)comm->ops->sum(comm, (int64_t)mine);
        for (int i = 0; i < CODES && first + i < comm->num_nodes; i++) {
            all[first + i] = value_of(sum >> (CODE * i) & mask);
        }
    }
}

/* ---- begin and end */

int ti_shares_count(const ti_shares *s)
{
    return s->system->devices - ti_system_first_sharer(s->system);
}

static size_t table_bytes(const ti_shares *s)
{
    return (size_t)s->nodes * TI_MAX_MEMORIES * sizeof(*s->weight);
}

void ti_shares_init(ti_shares *s, const ti_system *system, bool is_dry)
{
    s->system = system;
    s->nodes = system->num_nodes;
    s->are_alike = is_dry;
}

void ti_shares_open(ti_shares *s)
{
    s->weight = s->weight ? s->weight : TI_NEW_ARRAY(uint32_t, (size_t)s->nodes * TI_MAX_MEMORIES);
}

void ti_shares_fini(ti_shares *s)
{
    ti_free(s->weight, s->weight ? table_bytes(s) : 0);
}

/* ---- measuring */

static uint64_t items_of(const ti_meter *m)
{
    return atomic_load_explicit(&m->items, memory_order_relaxed);
}

static uint64_t rate_of(const ti_meter *m)
{
    const unsigned __int128 ns = TI_MAX(atomic_load_explicit(&m->ns, memory_order_relaxed), (uint64_t)1);
    return (uint64_t)TI_MIN((unsigned __int128)items_of(m) * 1000000000u / ns, (unsigned __int128)INT64_MAX);
}

/* Of this node's devices. */
static void rates_of(const ti_shares *s, uint64_t *rate)
{
    for (int d = 0; d < ti_shares_count(s); d++) {
        rate[d] = rate_of(&s->meter[ti_system_first_sharer(s->system) + d]);
    }
}

uint64_t ti_shares_sum(const ti_shares *s, uint64_t *items, uint64_t *ns)
{
    const int count = ti_shares_count(s);
    uint64_t rate[TI_MAX_MEMORIES], longest = 0;
    unsigned __int128 all = 0;
    *items = 0;
    rates_of(s, rate);
    for (int d = 0; d < count; d++) {
        const ti_meter *m = &s->meter[ti_system_first_sharer(s->system) + d];
        *items += items_of(m);
        longest = TI_MAX(longest, atomic_load_explicit(&m->ns, memory_order_relaxed));
        all += rate[d] ? rate[d] : mean_of_known(rate, count);
    }
    *ns = all ? (uint64_t)((unsigned __int128)*items * 1000000000u / all) : 0;
    return longest;
}

/* ---- choosing */

static void current(const ti_shares *s, uint32_t *now)
{
    const uint32_t *weight = ti_system_weights(s->system, ti_system_first_sharer(s->system));
    for (int d = 0; d < ti_shares_count(s); d++) {
        now[d] = weight ? weight[d] : 1;
    }
}

/* Other weights for this node's devices; the first is 0: none. */
static void choose_own(ti_shares *s, uint32_t *weight)
{
    uint64_t rate[TI_MAX_MEMORIES];
    uint32_t now[TI_MAX_MEMORIES];
    TI_ASSERT(0 < ti_shares_count(s) && ti_shares_count(s) <= TI_MAX_MEMORIES);
    rates_of(s, rate);
    current(s, now);
    if (!ti_weigh(rate, now, ti_shares_count(s), weight)) {
        weight[0] = 0;
    }
    for (int d = 0; d < s->system->devices; d++) {
        atomic_store_explicit(&s->meter[d].items, 0, memory_order_relaxed);
        atomic_store_explicit(&s->meter[d].ns, 0, memory_order_relaxed);
    }
}

static void find_most(ti_shares *s, ti_comm *comm, uint64_t *heard)
{
    ti_gather(comm, (uint64_t)ti_shares_count(s), heard);
    for (int i = 0; i < s->nodes; i++) {
        s->most = TI_MAX(s->most, (int)heard[i]);
    }
}

/* The weights of all nodes that have others now. */
static bool hear(ti_shares *s, ti_comm *comm, const uint32_t *own, uint64_t *heard, uint32_t *fresh)
{
    bool any = false;
    TI_ASSERT(0 < s->most && s->most <= TI_MAX_MEMORIES);
    for (int d = 0; d < s->most && s->most > 1; d++) {
        ti_gather(comm, own[d], heard);
        for (int i = 0; i < s->nodes; i++) {
            fresh[(size_t)i * TI_MAX_MEMORIES + (size_t)d] = (uint32_t)heard[i];
        }
    }
    for (int i = 0; i < s->nodes; i++) {
        const uint32_t *row = &fresh[(size_t)i * TI_MAX_MEMORIES];
        if (row[0]) {
            memcpy(ti_shares_of(s, i), row, TI_MAX_MEMORIES * sizeof(*row));
            any = true;
        }
    }
    return any;
}

bool ti_shares_choose(ti_shares *s, ti_comm *comm)
{
    uint32_t own[TI_MAX_MEMORIES] = { 0 };
    if (!s->weight) {
        return false;
    }
    choose_own(s, own);
    uint64_t *heard = TI_NEW_ARRAY(uint64_t, (size_t)s->nodes);
    uint32_t *fresh = TI_NEW_ARRAY(uint32_t, (size_t)s->nodes * TI_MAX_MEMORIES);
    if (s->most == 0) {
        find_most(s, comm, heard);
    }
    bool any = hear(s, comm, own, heard, fresh);
    ti_free(fresh, table_bytes(s));
    ti_free(heard, (size_t)s->nodes * sizeof(*heard));
    return any;
}

void ti_shares_add(const ti_shares *s, int node, ti_strbuf *out)
{
    const uint32_t *row = ti_shares_of(s, node);
    for (int d = 0; row && d < TI_MAX_MEMORIES && row[d]; d++) {
        ti_strbuf_add(out, "%c%u", d ? '+' : '=', row[d]);
    }
}
