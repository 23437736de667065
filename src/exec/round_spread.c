/* Which worker runs which kernel of a round: see round_spread.h. */
#include "exec/round_spread.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

/* What submitting a task takes, handing a kernel to a worker, taking it over there, and until others see that it has
 * ended; in nanoseconds. */
enum { SUBMIT_NS = 80, HAND_NS = 20, TAKE_NS = 40, SEEN_NS = 100 };

static const uint32_t nobody = UINT32_MAX;

void ti_spread_clear(ti_spread *s)
{
    ti_vec_clear(&s->step);
    ti_vec_clear(&s->need);
    ti_vec_clear(&s->chain);
}

void ti_spread_fini(ti_spread *s)
{
    ti_vec_fini(&s->step);
    ti_vec_fini(&s->need);
    ti_vec_fini(&s->chain);
    ti_vec_fini(&s->worker);
    ti_vec_fini(&s->words);
}

/* ---- what is known */

static bool reads(const ti_instruction_view *v)
{
    return v->mode == TACIT_READ || v->mode == TACIT_UPDATE;
}

static bool writes(const ti_instruction_view *v)
{
    return v->mode != TACIT_READ;
}

static uint64_t bytes_of_both(const ti_instruction_view *a, const ti_instruction_view *b)
{
    if (a->part || b->part || a->place.allocation != b->place.allocation) {
        return 0;
    }
    const ti_box both = ti_box_intersect(&a->box, &b->box);
    return (uint64_t)ti_box_volume(&both) * a->buffer->elem_size;
}

/* What a kernel works with: what it reads, or all if it reads nothing. */
static uint64_t input_bytes(const ti_instruction *i, bool *reads_any)
{
    uint64_t bytes = 0, all = 0;
    *reads_any = false;
    for (uint32_t v = 0; i->kind == TI_INSTRUCTION_KERNEL && v < i->as.kernel.views; v++) {
        const ti_instruction_view *view = &i->as.kernel.view[v];
        const uint64_t its = bytes_of_both(view, view);
        *reads_any |= reads(view);
        bytes += reads(view) ? its : 0;
        all += its;
    }
    return *reads_any ? bytes : all;
}

/* Of that, what another kernel writes. */
static uint64_t shared_bytes(const ti_instruction *i, bool reads_any, const ti_instruction *other)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        for (uint32_t w = 0; w < other->as.kernel.views; w++) {
            const ti_instruction_view *of = &i->as.kernel.view[v], *by = &other->as.kernel.view[w];
            bytes += writes(by) && (reads(of) || !reads_any) ? bytes_of_both(of, by) : 0;
        }
    }
    return bytes;
}

void ti_spread_add(ti_spread *s, const ti_instruction *round, size_t count, uint64_t ns, int pieces, bool may_move)
{
    const size_t at = s->step.count;
    const ti_instruction *i = &round[at];
    bool reads_any;
    ti_spread_step step = { .ns = ns, .pieces = pieces, .may_move = may_move, .need = (uint32_t)s->need.count };
    step.bytes = input_bytes(i, &reads_any);
    TI_ASSERT(at < count && (!may_move || pieces == 1));
    for (uint32_t k = 0; k < i->deps; k++) {
        const size_t of = (at + count - (size_t)(i->dep[k] % count)) % count;
        if (round[of].kind == TI_INSTRUCTION_KERNEL && i->kind == TI_INSTRUCTION_KERNEL) {
            ti_vec_push(&s->need, ((ti_spread_need){ (uint32_t)of, shared_bytes(i, reads_any, &round[of]) }));
        }
        step.names_point |= round[of].kind == TI_INSTRUCTION_EPOCH;
    }
    step.needs = (uint32_t)s->need.count - step.need;
    ti_vec_push(&s->step, step);
}

/* So many, zeroed; until the next call. */
static uint64_t *words(ti_spread *s, size_t count)
{
    ti_vec_reserve(&s->words, count);
    memset(s->words.data, 0, count * sizeof(*s->words.data));
    return s->words.data;
}

/* ---- chains */

/* Step number `k` of those that are looked at; which number a step has. */
static ti_spread_step *step_of(const ti_spread *s, size_t k)
{
    return &s->step.data[(k + s->first) % s->step.count];
}

static size_t number_of(const ti_spread *s, size_t step)
{
    return (step + s->step.count - s->first) % s->step.count;
}

/* Of what a step needs, here or in the round before, most is written by one, which is much of its input; and that one
 * writes most for one of those that need it. */
static void find_neighbours(ti_spread *s, uint32_t at)
{
    enum { MUCH = 4 };
    ti_spread_step *step = &s->step.data[at];
    for (uint32_t k = step->need; k < step->need + step->needs && step->may_move; k++) {
        const ti_spread_need *n = &s->need.data[k];
        if (n->of != at && n->bytes > step->before_bytes && n->bytes >= step->bytes / MUCH &&
            s->step.data[n->of].may_move) {
            step->before = n->of;
            step->before_bytes = n->bytes;
        }
    }
    if (step->before != nobody) {
        ti_spread_step *before = &s->step.data[step->before];
        if (step->before_bytes > before->after_bytes) {
            before->after = at;
            before->after_bytes = step->before_bytes;
        }
    }
}

static bool follows(const ti_spread *s, uint32_t at)
{
    const uint32_t before = s->step.data[at].before;
    return before != nobody && s->step.data[before].after == at;
}

/* Where fewest steps follow one from before: the first such place. */
static size_t find_first(ti_spread *s)
{
    const size_t count = s->step.count;
    uint64_t *change = words(s, count + 1), crossing = 0, least = UINT64_MAX; /* changes may be negative */
    size_t first = 0;
    for (uint32_t at = 0; at < count; at++) { /* those at places after the one that is followed, up to this one */
        if (follows(s, at)) {
            const uint32_t before = s->step.data[at].before;
            change[before + 1]++;
            change[at + 1]--;
            change[0] += before > at;
        }
    }
    for (size_t k = 0; k < count; k++) {
        crossing += change[k];
        first = crossing < least ? k : first;
        least = TI_MIN(crossing, least);
    }
    return first;
}

static void find_chains(ti_spread *s)
{
    ti_vec_clear(&s->chain);
    for (uint32_t at = 0; at < s->step.count; at++) {
        ti_spread_step *step = &s->step.data[at];
        step->before = step->after = nobody;
        step->before_bytes = step->after_bytes = 0;
    }
    for (uint32_t at = 0; at < s->step.count; at++) {
        find_neighbours(s, at);
    }
    s->first = find_first(s);
    for (uint32_t k = 0; k < s->step.count; k++) {
        ti_spread_step *step = step_of(s, k);
        const uint32_t at = (uint32_t)(step - s->step.data);
        if (step->may_move) {
            const bool goes_on = follows(s, at) && number_of(s, step->before) < k;
            step->chain = goes_on ? s->step.data[step->before].chain : (uint32_t)s->chain.count;
            if (!goes_on) {
                ti_vec_push(&s->chain, ((ti_spread_chain){ .first = k }));
            }
            s->chain.data[step->chain].last = k;
            s->chain.data[step->chain].ns += step->ns + TAKE_NS;
        }
    }
}

/* ---- workers */

/* A round is cut into stretches, for each of which each worker has something to do. */
enum { STRETCHES = 32 };

typedef struct loads {
    uint64_t *ns; /* by worker and stretch */
    size_t steps;
} loads;

static uint64_t *load_of(const loads *l, int worker, uint32_t step)
{
    return &l->ns[(size_t)worker * STRETCHES + step * STRETCHES / l->steps];
}

static uint64_t load_meanwhile(const loads *l, int worker, const ti_spread_chain *c)
{
    uint64_t sum = 0;
    for (const uint64_t *ns = load_of(l, worker, c->first); ns <= load_of(l, worker, c->last); ns++) {
        sum += *ns;
    }
    return sum;
}

static void add_load(const loads *l, int worker, const ti_spread_chain *c)
{
    uint64_t *first = load_of(l, worker, c->first), *last = load_of(l, worker, c->last);
    for (uint64_t *ns = first; ns <= last; ns++) {
        *ns += c->ns / (uint64_t)(last - first + 1);
    }
}

/* What submission of a step counts: so much, or who submits gets nothing else. */
static const uint64_t nothing_else = UINT64_MAX;

/* Who submits comes first of those that have about as little to do: others wait for it less than it would for them. */
static int choose_worker(const loads *l, int workers, int self, uint64_t submission, const ti_spread_chain *c)
{
    uint64_t least = UINT64_MAX;
    int first = -1;
    for (int w = 0; w < workers; w++) {
        least = w != self || submission != nothing_else ? TI_MIN(least, load_meanwhile(l, w, c)) : least;
    }
    for (int w = 0; w < workers; w++) {
        const bool gets = w != self || submission != nothing_else;
        if (gets && load_meanwhile(l, w, c) <= least + c->ns / 8 && (first < 0 || w == self)) {
            first = w;
        }
    }
    return first;
}

static void deal(ti_spread *s, int workers, int self, uint64_t submission)
{
    const loads l = { words(s, STRETCHES * (size_t)workers), s->step.count };
    for (uint32_t k = 0; self >= 0 && submission != nothing_else && k < s->step.count; k++) {
        *load_of(&l, self, k) += submission;
    }
    for (size_t c = 0; c < s->chain.count; c++) {
        ti_spread_chain *chain = &s->chain.data[c];
        chain->worker = choose_worker(&l, workers, self, submission, chain);
        add_load(&l, chain->worker, chain);
    }
    for (size_t k = 0; k < s->step.count; k++) {
        ti_spread_step *step = &s->step.data[k];
        step->worker = step->may_move ? s->chain.data[step->chain].worker : -1;
    }
}

/* ---- how long it takes */

typedef struct clocks {
    uint64_t *of; /* by worker; the last one is who submits, if that is none */
    int workers, who;
} clocks;

static uint64_t latest(const clocks *c)
{
    uint64_t t = 0;
    for (int w = 0; w <= c->workers; w++) {
        t = TI_MAX(t, c->of[w]);
    }
    return t;
}

static uint64_t when_needed(const ti_spread *s, const ti_spread_step *step)
{
    uint64_t t = 0;
    for (uint32_t k = step->need; k < step->need + step->needs; k++) {
        const ti_spread_step *n = &s->step.data[s->need.data[k].of];
        t = TI_MAX(t, n->end + (n->worker != step->worker ? SEEN_NS : 0));
    }
    return t;
}

static void pass_step(const ti_spread *s, clocks *c, ti_spread_step *step)
{
    uint64_t *mine = &c->of[c->who];
    *mine += step->pieces ? SUBMIT_NS : 0;
    if (!step->may_move) { /* all wait */
        const uint64_t end = latest(c) + step->ns / (uint64_t)TI_MAX(step->pieces, 1);
        for (int w = 0; w <= c->workers && step->pieces; w++) {
            c->of[w] = end;
        }
        step->end = end;
        return;
    }
    const bool moves = step->worker != c->who;
    uint64_t *its = &c->of[step->worker];
    *mine += moves ? HAND_NS : 0;
    const uint64_t begin = TI_MAX(when_needed(s, step), TI_MAX(*its, *mine + (moves ? SEEN_NS : 0)));
    *its = step->end = begin + step->ns + (moves ? TAKE_NS : 0);
}

/* The second round, since the first one waits for nothing before it. */
static uint64_t estimate(ti_spread *s, int workers, int self)
{
    clocks c = { words(s, (size_t)workers + 1), workers, self >= 0 ? self : workers };
    uint64_t begin = 0;
    for (size_t k = 0; k < 2 * s->step.count; k++) {
        ti_spread_step *step = step_of(s, k);
        begin = k == s->step.count ? latest(&c) : begin;
        step->end = k < s->step.count ? 0 : step->end;
        pass_step(s, &c, step);
    }
    return latest(&c) - begin;
}

/* One after the other; and if workers did nothing else, and saw at once what others do. */
static void bound(ti_spread *s, int workers)
{
    uint64_t sum = 0, longest = 0;
    s->alone = 0;
    for (size_t k = 0; k < s->step.count; k++) {
        ti_spread_step *step = step_of(s, k);
        const uint64_t ns = step->ns / (uint64_t)TI_MAX(step->pieces, 1);
        s->alone += ns + (step->pieces ? SUBMIT_NS : 0);
        sum += step->ns;
        step->end = ns;
        for (uint32_t n = step->need; n < step->need + step->needs; n++) {
            const uint32_t of = s->need.data[n].of;
            step->end = TI_MAX(step->end, number_of(s, of) < k ? s->step.data[of].end + ns : 0);
        }
        longest = TI_MAX(longest, step->end);
    }
    s->ideal = TI_MAX(longest, sum / (uint64_t)workers);
}

static void count_idle(ti_spread *s, int workers, int self)
{
    s->idle = 0;
    for (int w = 0; w < workers; w++) {
        bool gets = w == self;
        for (size_t c = 0; c < s->chain.count && !gets; c++) {
            gets = s->chain.data[c].worker == w;
        }
        s->idle += !gets;
    }
}

static void find(ti_spread *s, int workers, int self)
{
    const uint64_t ways[] = { 0, SUBMIT_NS / 2, SUBMIT_NS, nothing_else };
    uint64_t best = 0;
    s->spread = UINT64_MAX;
    find_chains(s);
    for (size_t k = 0; k < TI_COUNT(ways); k++) {
        deal(s, workers, self, ways[k]);
        const uint64_t ns = estimate(s, workers, self);
        best = ns < s->spread ? ways[k] : best;
        s->spread = TI_MIN(ns, s->spread);
    }
    deal(s, workers, self, best);
    bound(s, workers);
    count_idle(s, workers, self);
}

/* Of all that counts but for how long kernels take, which is never quite the same. */
static uint64_t hash_of(const ti_spread *s, int workers, int self)
{
    uint64_t h = ti_hash_mix((uint64_t)workers, (uint64_t)self);
    for (size_t k = 0; k < s->step.count; k++) {
        const ti_spread_step *step = &s->step.data[k];
        h = ti_hash_mix(h, (uint64_t)step->pieces << 2 | step->may_move << 1 | step->names_point);
        h = ti_hash_mix(h, step->bytes);
    }
    for (size_t k = 0; k < s->need.count; k++) {
        h = ti_hash_mix(h, s->need.data[k].bytes ^ (uint64_t)s->need.data[k].of << 40);
    }
    return h;
}

static uint64_t sum_of_ns(const ti_spread *s)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < s->step.count; k++) {
        sum += s->step.data[k].ns;
    }
    return sum;
}

bool ti_spread_find(ti_spread *s, int workers, int self)
{
    const uint64_t hash = hash_of(s, workers, self), ns = sum_of_ns(s);
    const bool is_known = s->worker.count == s->step.count && s->hash == hash && ns <= 2 * s->ns && s->ns <= 2 * ns;
    if (!is_known) {
        find(s, workers, self);
        ti_vec_clear(&s->worker);
        s->hash = hash;
        s->ns = ns;
    }
    for (size_t k = 0; k < s->step.count; k++) {
        if (is_known) {
            s->step.data[k].worker = s->worker.data[k];
        } else {
            ti_vec_push(&s->worker, s->step.data[k].worker);
        }
    }
    return s->idle < workers - (self >= 0);
}
