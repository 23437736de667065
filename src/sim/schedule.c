/* Algorithms of collectives: see schedule.h. */
#include "sim/schedule.h"

#include "base/check.h"

#include <string.h>

static const char *const names[TI_ALGORITHMS] = {
    [TI_ALGORITHM_AUTO] = "auto",
    [TI_ALGORITHM_LINEAR] = "linear",
    [TI_ALGORITHM_BINOMIAL] = "binomial",
    [TI_ALGORITHM_SCATTER_ALLGATHER] = "scatter-allgather",
    [TI_ALGORITHM_RING] = "ring",
    [TI_ALGORITHM_BRUCK] = "bruck",
    [TI_ALGORITHM_DOUBLING] = "recursive-doubling",
    [TI_ALGORITHM_PAIRWISE] = "pairwise",
    [TI_ALGORITHM_NONBLOCKING] = "nonblocking",
};

enum { WHOLE = 32 << 10 }; /* that one rank gets, at most, if all values go to all */

#define BIT(algorithm) (1u << TI_ALGORITHM_##algorithm)
static const unsigned fitting[TI_PATTERN_KINDS] = {
    [TI_PATTERN_GATHER] = BIT(LINEAR) | BIT(BINOMIAL),
    [TI_PATTERN_ALL_GATHER] = BIT(LINEAR) | BIT(RING) | BIT(BRUCK) | BIT(DOUBLING),
    [TI_PATTERN_BROADCAST] = BIT(LINEAR) | BIT(BINOMIAL) | BIT(SCATTER_ALLGATHER),
    [TI_PATTERN_SCATTER] = BIT(LINEAR) | BIT(BINOMIAL),
    [TI_PATTERN_ALL_TO_ALL] = BIT(LINEAR) | BIT(PAIRWISE),
    [TI_PATTERN_REDUCE] = BIT(LINEAR) | BIT(BINOMIAL),
    [TI_PATTERN_ALL_REDUCE] = BIT(LINEAR) | BIT(BINOMIAL) | BIT(RING) | BIT(DOUBLING),
};

const char *ti_algorithm_name(ti_algorithm algorithm)
{
    return names[algorithm];
}

ti_algorithm ti_algorithm_of(const char *name)
{
    ti_algorithm a = TI_ALGORITHM_AUTO;
    while (a < TI_ALGORITHMS && strcmp(names[a], name) != 0) {
        a++;
    }
    return a;
}

static bool is_power(int ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

bool ti_algorithm_fits(ti_algorithm algorithm, ti_pattern pattern, int ranks)
{
    bool halves = pattern == TI_PATTERN_ALL_GATHER && algorithm == TI_ALGORITHM_DOUBLING;
    bool preset = algorithm == TI_ALGORITHM_AUTO || algorithm == TI_ALGORITHM_NONBLOCKING;
    return preset || ((fitting[pattern] >> algorithm & 1) && (!halves || is_power(ranks)));
}

/* The fixed rules of coll/tuned in Open MPI 4.1 (coll_tuned_decision_fixed.c), coarsened to the algorithms here. */
static ti_algorithm decide(ti_pattern pattern, int ranks, double bytes)
{
    switch (pattern) {
    case TI_PATTERN_ALL_GATHER:
        if (bytes < 50000) {
            return is_power(ranks) ? TI_ALGORITHM_DOUBLING : TI_ALGORITHM_BRUCK;
        }
        return TI_ALGORITHM_RING;
    case TI_PATTERN_BROADCAST:
        return bytes < 370728 ? TI_ALGORITHM_BINOMIAL : TI_ALGORITHM_SCATTER_ALLGATHER;
    case TI_PATTERN_GATHER:
    case TI_PATTERN_SCATTER:
        return ranks > 10 && bytes / ranks < 1024 ? TI_ALGORITHM_BINOMIAL : TI_ALGORITHM_LINEAR;
    case TI_PATTERN_ALL_TO_ALL:
        return bytes / ranks < 3000 ? TI_ALGORITHM_LINEAR : TI_ALGORITHM_PAIRWISE;
    case TI_PATTERN_REDUCE:
        return TI_ALGORITHM_BINOMIAL;
    case TI_PATTERN_ALL_REDUCE:
        return bytes < 10000 ? TI_ALGORITHM_DOUBLING : TI_ALGORITHM_RING;
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        break;
    }
    return TI_ALGORITHM_AUTO;
}

/* What coll/libnbc of Open MPI 4.1.4 sends, seen by its pml/monitoring; but long reductions, for which it has
 * Rabenseifner's algorithm. */
static ti_algorithm decide_nonblocking(ti_pattern pattern, int ranks)
{
    switch (pattern) {
    case TI_PATTERN_ALL_GATHER:
    case TI_PATTERN_GATHER:
    case TI_PATTERN_SCATTER:
    case TI_PATTERN_ALL_TO_ALL:
        return TI_ALGORITHM_LINEAR;
    case TI_PATTERN_BROADCAST:
        return ranks <= 4 ? TI_ALGORITHM_LINEAR : TI_ALGORITHM_BINOMIAL;
    case TI_PATTERN_REDUCE:
    case TI_PATTERN_ALL_REDUCE:
        return TI_ALGORITHM_BINOMIAL;
    case TI_PATTERN_NONE:
    case TI_PATTERN_KINDS:
        break;
    }
    return TI_ALGORITHM_AUTO;
}

static ti_algorithm choose(ti_algorithm wanted, ti_pattern pattern, int ranks, double bytes)
{
    return wanted == TI_ALGORITHM_AUTO          ? decide(pattern, ranks, bytes)
           : wanted == TI_ALGORITHM_NONBLOCKING ? decide_nonblocking(pattern, ranks)
                                                : wanted;
}

void ti_schedule_init(ti_schedule *s, ti_pattern pattern, ti_algorithm algorithm, int ranks, int root,
                      const double *part)
{
    *s = (ti_schedule){ .pattern = pattern, .ranks = ranks, .root = root };
    s->before = TI_NEW_ARRAY(double, (size_t)ranks + 1);
    for (int v = 0; v < ranks; v++) {
        s->before[v + 1] = s->before[v] + (part ? part[(v + root) % ranks] : 0);
    }
    s->total = s->before[ranks];
    s->algorithm = choose(algorithm, pattern, ranks, s->total);
    TI_ASSERT(ti_algorithm_fits(s->algorithm, pattern, ranks));
}

void ti_schedule_fini(ti_schedule *s)
{
    ti_free(s->before, ((size_t)s->ranks + 1) * sizeof(double));
}

/* ---- steps */

static int log2_up(int ranks)
{
    int steps = 0;
    while (1 << steps < ranks) {
        steps++;
    }
    return steps;
}

static int power_below(int ranks)
{
    int power = 1;
    while (2 * power <= ranks) {
        power *= 2;
    }
    return power;
}

int ti_schedule_steps(const ti_schedule *s)
{
    if (s->ranks == 1) {
        return 0;
    }
    switch (s->algorithm) {
    case TI_ALGORITHM_LINEAR:
        return s->pattern == TI_PATTERN_ALL_REDUCE && s->total * (s->ranks - 1) > WHOLE ? 2 : 1;
    case TI_ALGORITHM_BINOMIAL:
        return (s->pattern == TI_PATTERN_ALL_REDUCE ? 2 : 1) * log2_up(s->ranks);
    case TI_ALGORITHM_BRUCK:
    case TI_ALGORITHM_AUTO:
        return log2_up(s->ranks);
    case TI_ALGORITHM_SCATTER_ALLGATHER:
        return log2_up(s->ranks) + s->ranks - 1;
    case TI_ALGORITHM_RING:
        return s->pattern == TI_PATTERN_ALL_REDUCE ? 2 * (s->ranks - 1) : s->ranks - 1;
    case TI_ALGORITHM_DOUBLING:
        return log2_up(power_below(s->ranks)) + (is_power(s->ranks) ? 0 : 2);
    case TI_ALGORITHM_PAIRWISE:
        return s->ranks - 1;
    case TI_ALGORITHM_NONBLOCKING:
    case TI_ALGORITHMS:
        break;
    }
    TI_UNREACHABLE();
}

/* Ranks counted from the root are `v`. */
static int rank_of(const ti_schedule *s, int v)
{
    return (v % s->ranks + s->root + s->ranks) % s->ranks;
}
static int from_root(const ti_schedule *s, int rank)
{
    return (rank - s->root + s->ranks) % s->ranks;
}

/* Bytes of the parts of `count` ranks from `v` on, around the ring. */
static double parts(const ti_schedule *s, int v, int count)
{
    v = (v % s->ranks + s->ranks) % s->ranks;
    int end = v + count;
    return end <= s->ranks ? s->before[end] - s->before[v] : s->total - s->before[v] + s->before[end - s->ranks];
}

static void add(const ti_schedule *s, ti_schedule_ops *out, int v, bool send, double bytes)
{
    bool combines = !send && ti_pattern_combines(s->pattern);
    ti_vec_push(out, ((ti_schedule_op){ rank_of(s, v), send, combines, bytes }));
}

/* One message up or down a binomial tree, between v and v + mask, where mask divides v. */
static void tree_step(const ti_schedule *s, int v, int mask, bool up, bool by_part, ti_schedule_ops *out)
{
    int low = v & ~mask, high = v | mask;
    if ((low & (mask - 1)) == 0 && high < s->ranks) {
        double bytes = by_part ? parts(s, high, TI_MIN(mask, s->ranks - high)) : s->total;
        add(s, out, v == low ? high : low, (v == high) == up, bytes);
    }
}

/* An all-reduce goes up, and then down. */
static void binomial(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    int levels = log2_up(s->ranks);
    bool up = s->pattern == TI_PATTERN_GATHER || s->pattern == TI_PATTERN_REDUCE ||
              (s->pattern == TI_PATTERN_ALL_REDUCE && step < levels);
    bool by_part = s->pattern == TI_PATTERN_GATHER || s->pattern == TI_PATTERN_SCATTER;
    tree_step(s, v, 1 << (up ? step : levels - 1 - step % levels), up, by_part, out);
    if (!up && out->count > 0) {
        out->data[0].combines = false;
    }
}

static void linear_rooted(const ti_schedule *s, int v, ti_schedule_ops *out)
{
    bool up = s->pattern == TI_PATTERN_GATHER || s->pattern == TI_PATTERN_REDUCE;
    bool by_part = s->pattern == TI_PATTERN_GATHER || s->pattern == TI_PATTERN_SCATTER;
    for (int other = 1; other < s->ranks; other++) {
        if (v == 0 || v == other) {
            add(s, out, v == 0 ? other : 0, (v != 0) == up, by_part ? parts(s, other, 1) : s->total);
        }
    }
}

/* All values to all, or a part to each, who then gives its result to all (comm/combining.h). */
static void linear_all_reduce(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    double bytes = ti_schedule_steps(s) == 2 ? s->total / s->ranks : s->total;
    for (int k = 1; k < s->ranks; k++) {
        add(s, out, v + k, true, bytes);
        add(s, out, v - k + s->ranks, false, bytes);
        out->data[out->count - 1].combines = step == 0;
    }
}

static void linear(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    if (s->pattern == TI_PATTERN_ALL_REDUCE) {
        linear_all_reduce(s, v, step, out);
        return;
    }
    if (s->pattern != TI_PATTERN_ALL_GATHER && s->pattern != TI_PATTERN_ALL_TO_ALL) {
        linear_rooted(s, v, out);
        return;
    }
    for (int k = 1; k < s->ranks; k++) {
        int to = v + k, from = v - k + s->ranks;
        bool pairs = s->pattern == TI_PATTERN_ALL_TO_ALL;
        add(s, out, to, true, pairs ? s->between(s->user, v, to % s->ranks) : parts(s, v, 1));
        add(s, out, from, false, pairs ? s->between(s->user, from % s->ranks, v) : parts(s, from, 1));
    }
}

/* Parts go around: in step k each rank passes on what it got in the one before. */
static void ring(const ti_schedule *s, int v, int k, bool equal, ti_schedule_ops *out)
{
    double share = s->total / s->ranks;
    add(s, out, v + 1, true, equal ? share : parts(s, v - k, 1));
    add(s, out, v - 1, false, equal ? share : parts(s, v - 1 - k, 1));
}

static void all_reduce_ring(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    ring(s, v, step % (s->ranks - 1), true, out);
    out->data[1].combines = step < s->ranks - 1;
}

static void bruck(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    int distance = 1 << step, count = TI_MIN(distance, s->ranks - distance);
    add(s, out, v - distance + s->ranks, true, parts(s, v, count));
    add(s, out, v + distance, false, parts(s, v + distance, count));
}

/* Ranks beyond the largest power of two first give theirs to a neighbour, and get the result from it in the end. */
static void all_reduce_doubling(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    int power = power_below(s->ranks), extra = s->ranks - power, steps = ti_schedule_steps(s);
    bool paired = v < 2 * extra;
    if (extra > 0 && (step == 0 || step == steps - 1)) {
        if (paired) {
            add(s, out, v ^ 1, (v & 1) == (step != 0), s->total);
            out->data[0].combines = !out->data[0].send && step == 0;
        }
        return;
    }
    if (paired && !(v & 1)) {
        return;
    }
    int index = (paired ? v / 2 : v - extra) ^ 1 << (step - (extra > 0));
    int peer = index < extra ? 2 * index + 1 : index + extra;
    add(s, out, peer, true, s->total);
    add(s, out, peer, false, s->total);
}

static void doubling(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    if (s->pattern == TI_PATTERN_ALL_REDUCE) {
        all_reduce_doubling(s, v, step, out);
        return;
    }
    int mask = 1 << step, peer = v ^ mask;
    add(s, out, peer, true, parts(s, v & ~(mask - 1), mask));
    add(s, out, peer, false, parts(s, peer & ~(mask - 1), mask));
}

static void pairwise(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    int to = (v + step + 1) % s->ranks, from = (v - step - 1 + s->ranks) % s->ranks;
    add(s, out, to, true, s->between(s->user, v, to));
    add(s, out, from, false, s->between(s->user, from, v));
}

static void dissemination(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    add(s, out, v + (1 << step), true, 0);
    add(s, out, v - (1 << step) + s->ranks, false, 0);
}

static void scatter_allgather(const ti_schedule *s, int v, int step, ti_schedule_ops *out)
{
    int scatter = log2_up(s->ranks);
    if (step >= scatter) {
        ring(s, v, step - scatter, true, out);
        return;
    }
    int mask = 1 << (scatter - 1 - step);
    tree_step(s, v, mask, false, false, out);
    if (out->count > 0) {
        int high = v | mask;
        out->data[0].bytes = s->total / s->ranks * TI_MIN(mask, s->ranks - high);
    }
}

void ti_schedule_step(const ti_schedule *s, int rank, int step, ti_schedule_ops *out)
{
    int v = from_root(s, rank);
    ti_vec_clear(out);
    switch (s->algorithm) {
    case TI_ALGORITHM_AUTO:
        dissemination(s, v, step, out);
        break;
    case TI_ALGORITHM_LINEAR:
        linear(s, v, step, out);
        break;
    case TI_ALGORITHM_BINOMIAL:
        binomial(s, v, step, out);
        break;
    case TI_ALGORITHM_SCATTER_ALLGATHER:
        scatter_allgather(s, v, step, out);
        break;
    case TI_ALGORITHM_RING:
        if (s->pattern == TI_PATTERN_ALL_REDUCE) {
            all_reduce_ring(s, v, step, out);
        } else {
            ring(s, v, step, false, out);
        }
        break;
    case TI_ALGORITHM_BRUCK:
        bruck(s, v, step, out);
        break;
    case TI_ALGORITHM_DOUBLING:
        doubling(s, v, step, out);
        break;
    case TI_ALGORITHM_PAIRWISE:
        pairwise(s, v, step, out);
        break;
    case TI_ALGORITHM_NONBLOCKING:
    case TI_ALGORITHMS:
        break;
    }
}
