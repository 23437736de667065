/* Which worker runs which kernel of a round: see round_spread.h. */
#include "exec/round_spread.h"

#include "base/check.h"

/* What submitting a task takes, handing a kernel to a worker, taking it over there, and until others see that it has
 * ended; in nanoseconds. */
enum { SUBMIT_NS = 80, HAND_NS = 20, TAKE_NS = 40, SEEN_NS = 100 };

static const uint32_t nobody = UINT32_MAX;

void ti_spread_clear(ti_spread *s)
{
    ti_vec_clear(&s->step);
    ti_vec_clear(&s->need);
    ti_vec_clear(&s->load);
}

void ti_spread_fini(ti_spread *s)
{
    ti_vec_fini(&s->step);
    ti_vec_fini(&s->need);
    ti_vec_fini(&s->load);
}

/* ---- what is known */

static bool writes(const ti_instruction_view *v)
{
    return v->mode != TACIT_READ;
}

static uint64_t bytes_of_both(const ti_instruction_view *a, const ti_instruction_view *b)
{
    if (a->part || b->part || a->place.allocation != b->place.allocation || !(writes(a) || writes(b))) {
        return 0;
    }
    const ti_box both = ti_box_intersect(&a->box, &b->box);
    return (uint64_t)ti_box_volume(&both) * a->buffer->elem_size;
}

static uint64_t shared_bytes(const ti_instruction *a, const ti_instruction *b)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < a->as.kernel.views; i++) {
        for (uint32_t k = 0; k < b->as.kernel.views; k++) {
            bytes += bytes_of_both(&a->as.kernel.view[i], &b->as.kernel.view[k]);
        }
    }
    return bytes;
}

void ti_spread_add(ti_spread *s, const ti_instruction *round, size_t count, uint64_t ns, int pieces, bool may_move)
{
    const size_t at = s->step.count;
    const ti_instruction *i = &round[at];
    ti_spread_step step = { .ns = ns, .pieces = pieces, .may_move = may_move, .need = (uint32_t)s->need.count };
    TI_ASSERT(at < count && (!may_move || pieces == 1));
    for (uint32_t k = 0; k < i->deps; k++) {
        const size_t of = (at + count - (size_t)(i->dep[k] % count)) % count;
        if (round[of].kind == TI_INSTRUCTION_KERNEL && i->kind == TI_INSTRUCTION_KERNEL) {
            ti_vec_push(&s->need, ((ti_spread_need){ (uint32_t)of, shared_bytes(i, &round[of]) }));
        }
        step.names_point |= round[of].kind == TI_INSTRUCTION_EPOCH;
    }
    step.needs = (uint32_t)s->need.count - step.need;
    ti_vec_push(&s->step, step);
}

/* ---- chains */

/* Of what a step needs in the same round it shares most with one; and that one most with one of those that need it. */
static void find_neighbours(ti_spread *s, uint32_t at)
{
    ti_spread_step *step = &s->step.data[at];
    step->before = step->after = nobody;
    step->before_bytes = step->after_bytes = 0;
    for (uint32_t k = step->need; k < step->need + step->needs && step->may_move; k++) {
        const ti_spread_need *n = &s->need.data[k];
        if (n->of < at && n->bytes > step->before_bytes && s->step.data[n->of].may_move) {
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

static void find_chains(ti_spread *s)
{
    ti_vec_clear(&s->load);
    for (uint32_t at = 0; at < s->step.count; at++) {
        find_neighbours(s, at);
    }
    for (uint32_t at = 0; at < s->step.count; at++) {
        ti_spread_step *step = &s->step.data[at];
        if (step->may_move) {
            const bool follows = step->before != nobody && s->step.data[step->before].after == at;
            step->chain = follows ? s->step.data[step->before].chain : (uint32_t)s->load.count;
            if (!follows) {
                ti_vec_push(&s->load, 0);
            }
            s->load.data[step->chain] += step->ns + TAKE_NS;
        }
    }
}

/* ---- workers */

/* Chains in order, each worker as many as are about its share. */
typedef struct dealer {
    int workers, self, worker, dealt; /* so many have got something */
    uint64_t share, load;
} dealer;

static void go_on(dealer *d)
{
    d->worker = d->worker == d->self && d->self > 0 ? 0 : d->worker + 1;
    d->worker += d->worker == d->self;
    d->load = 0;
    d->dealt++;
}

static int worker_of(dealer *d, uint64_t load)
{
    if (d->load > 0 && d->load + load / 2 > d->share && d->dealt + 1 < d->workers) {
        go_on(d);
    }
    d->load += load;
    return d->worker;
}

/* Who submits comes first, unless that is all that it has time for. Returns whether more than one gets something. */
static bool deal(ti_spread *s, int workers, int self)
{
    const uint64_t submission = s->step.count * SUBMIT_NS;
    uint64_t sum = self >= 0 ? submission : 0;
    for (size_t c = 0; c < s->load.count; c++) {
        sum += s->load.data[c];
    }
    dealer d = { .workers = workers, .self = self, .worker = TI_MAX(self, 0), .share = sum / (uint64_t)workers };
    if (self >= 0 && s->load.count > 0) {
        d.load = submission;
        if (submission + s->load.data[0] / 2 > d.share) {
            go_on(&d);
        }
    }
    for (size_t c = 0; c < s->load.count; c++) {
        s->load.data[c] = (uint64_t)worker_of(&d, s->load.data[c]);
    }
    s->idle = workers - 1 - d.dealt;
    bool differ = false;
    for (size_t k = 0; k < s->step.count; k++) {
        ti_spread_step *step = &s->step.data[k];
        step->worker = step->may_move ? (int)s->load.data[step->chain] : -1;
        differ |= step->may_move && step->worker != TI_MAX(self, 0);
    }
    return differ;
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
    clocks c = { TI_NEW_ARRAY(uint64_t, (size_t)workers + 1), workers, self >= 0 ? self : workers };
    uint64_t begin = 0;
    for (size_t k = 0; k < 2 * s->step.count; k++) {
        ti_spread_step *step = &s->step.data[k % s->step.count];
        begin = k == s->step.count ? latest(&c) : begin;
        step->end = k < s->step.count ? 0 : step->end;
        pass_step(s, &c, step);
    }
    const uint64_t end = latest(&c);
    ti_free(c.of, ((size_t)workers + 1) * sizeof(*c.of));
    return end - begin;
}

/* One after the other; and if workers did nothing else, and saw at once what others do. */
static void bound(ti_spread *s, int workers)
{
    uint64_t sum = 0, longest = 0;
    s->alone = 0;
    for (size_t k = 0; k < s->step.count; k++) {
        ti_spread_step *step = &s->step.data[k];
        const uint64_t ns = step->ns / (uint64_t)TI_MAX(step->pieces, 1);
        s->alone += ns + (step->pieces ? SUBMIT_NS : 0);
        sum += step->ns;
        step->end = ns;
        for (uint32_t n = step->need; n < step->need + step->needs; n++) {
            const uint32_t of = s->need.data[n].of;
            step->end = TI_MAX(step->end, of < k ? s->step.data[of].end + ns : 0);
        }
        longest = TI_MAX(longest, step->end);
    }
    s->ideal = TI_MAX(longest, sum / (uint64_t)workers);
}

bool ti_spread_find(ti_spread *s, int workers, int self)
{
    if (workers < 2) {
        return false;
    }
    find_chains(s);
    if (!deal(s, workers, self)) {
        return false;
    }
    s->spread = estimate(s, workers, self);
    bound(s, workers);
    return true;
}
