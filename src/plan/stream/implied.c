/* The instruction graph, cycles: dependencies that others imply. An instruction that waits for a reduction, which waits
 * for a kernel, need not wait for the kernel, too: the executor then has less to count, and sees that what ends lets go
 * of one instruction alone. Scheduler thread. */
#include "plan/stream/impl.h"

enum { REACH = 64 };

/* What an instruction waits for, directly or not, as far as that has been recorded: bit d - 1 stands for the one that
 * came d before it. */
typedef uint64_t ancestors;

static ancestors of_one(uint64_t distance)
{
    return distance <= REACH ? (ancestors)1 << (distance - 1) : 0;
}

static ancestors seen_from(ancestors of, uint64_t distance)
{
    return distance < REACH ? of << distance : 0;
}

/* Of instruction `at` of the two rounds, what those that it depends on wait for. */
static ancestors implied(const ti_cycle *c, const ti_cycle_step *s, const ancestors *all, uint64_t at)
{
    ancestors a = 0;
    for (uint32_t k = 0; k < s->deps; k++) {
        const uint64_t distance = s->instruction.id - c->dep.data[s->dep + k];
        a |= distance <= at ? seen_from(all[at - distance], distance) : 0;
    }
    return a;
}

static ancestors direct(const ti_cycle *c, const ti_cycle_step *s)
{
    ancestors a = 0;
    for (uint32_t k = 0; k < s->deps; k++) {
        a |= of_one(s->instruction.id - c->dep.data[s->dep + k]);
    }
    return a;
}

static void drop(ti_cycle *c, ti_cycle_step *s, ancestors others)
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
    ancestors *all = TI_NEW_ARRAY(ancestors, 2 * n);
    for (size_t at = 0; at < 2 * n; at++) {
        ti_cycle_step *s = &c->step.data[at % n];
        const ancestors others = implied(c, s, all, at);
        TI_ASSERT(s->instruction.id == c->first + at % n);
        all[at] = s->instruction.kind == TI_INSTRUCTION_EPOCH ? UINT64_MAX : others | direct(c, s);
        if (at >= n) {
            drop(c, s, others);
        }
    }
    ti_free(all, 2 * n * sizeof(*all));
}
