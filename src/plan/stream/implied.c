/* The instruction graph, cycles: dependencies that others imply. An instruction that waits for a reduction, which waits
 * for a kernel, need not wait for the kernel, too: the executor then has less to count, and sees that what ends lets go
 * of one instruction alone. Scheduler thread. */
#include "plan/stream/impl.h"

enum { REACH = 64 }; /* bits of ti_cycle_step::ancestors */

static uint64_t of_one(uint64_t distance)
{
    return distance <= REACH ? (uint64_t)1 << (distance - 1) : 0;
}

static uint64_t seen_from(uint64_t ancestors, uint64_t distance)
{
    return distance < REACH ? ancestors << distance : 0;
}

/* Of instruction `at` of the two rounds, what those that it depends on wait for. */
static uint64_t implied(const ti_cycle *c, const ti_cycle_step *s, const uint64_t *all, uint64_t at)
{
    uint64_t a = 0;
    for (uint32_t k = 0; k < s->deps; k++) {
        const uint64_t distance = s->instruction.id - c->dep.data[s->dep + k];
        a |= distance <= at ? seen_from(all[at - distance], distance) : 0;
    }
    return a;
}

static uint64_t direct(const ti_cycle *c, const ti_cycle_step *s)
{
    uint64_t a = 0;
    for (uint32_t k = 0; k < s->deps; k++) {
        a |= of_one(s->instruction.id - c->dep.data[s->dep + k]);
    }
    return a;
}

static void drop(ti_cycle *c, ti_cycle_step *s, uint64_t others)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->deps; k++) {
        const uint64_t dep = c->dep.data[s->dep + k];
        if (!(of_one(s->instruction.id - dep) & others)) {
            c->dep.data[s->dep + kept++] = dep;
        }
    }
    s->deps = kept;
}

/* What came before the recorded round may have waited for something else. So two rounds are looked at: in the second
 * one, all between an instruction and what it need not wait for was recorded, and the same is true of each later one.
 * Points wait for all before them. */
void ti_cycle_drop_implied(ti_cycle *c)
{
    const size_t n = c->step.count;
    uint64_t *all = TI_NEW_ARRAY(uint64_t, 2 * n);
    for (size_t at = 0; at < 2 * n; at++) {
        ti_cycle_step *s = &c->step.data[at % n];
        const uint64_t others = implied(c, s, all, at);
        TI_ASSERT(s->instruction.id == c->first + at % n);
        all[at] = s->ancestors = s->instruction.kind == TI_INSTRUCTION_EPOCH ? UINT64_MAX : others | direct(c, s);
        if (at >= n) {
            drop(c, s, others);
        }
    }
    ti_free(all, 2 * n * sizeof(*all));
}

void ti_cycle_add_waits(ti_deps *deps, const ti_cycle_step *s, const uint64_t *id, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (!(of_one(deps->self - id[k]) & s->ancestors)) {
            ti_deps_add(deps, id[k]);
        }
    }
}
