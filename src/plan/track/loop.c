/* Whether a stage goes round in a loop: see loop.h.
 *
 * Equal segments in a row are a stretch. Of each stretch it is known which earlier one last had the same segments and
 * as many of them, and of that one the same: a chain. Walking along this chain finds distances at which the latest
 * stretch repeats an earlier one. From then on each stretch is compared with the one so far before it, until one
 * differs. If the last n stretches or more each repeat the one n before them, n stretches are a round. If several n
 * qualify, it is the one that has repeated for longest: a loop inside another one stops repeating when the outer loop
 * goes on, with something that comes once in each of its rounds, so that its distance is found there. If none does, a
 * few equal segments in a row are a round of one segment. */
#include "plan/track/loop.h"

/* Segments that are not looked at after a second failure: as many as the round had, or this, twice, and each time twice
 * as many. */
enum { FIRST_BACKOFF = 4, MAX_DOUBLINGS = 8 };
/* Earlier stretches that are looked at for one; of a round of one segment, so many are seen. */
enum { MAX_WALK = 16, MIN_ALIKE = 3 };
/* After two rounds that were of no use, two are tried as one, then three, and so on. */
enum { MAX_ROUNDS = 4 };
/* Segments of a round at first, and how many times that, of which less than half are repeated, until twice as many are
 * looked for. */
enum { FIRST_SEGMENTS = 256, PATIENCE = 2 };

static size_t bytes_of(size_t most)
{
    return (most + 1) * (sizeof(ti_loop_stretch) + sizeof(uint64_t));
}

void ti_loop_fini(ti_loop *l)
{
    ti_map_fini(&l->newest);
    ti_free(l->kept, l->most ? bytes_of(l->most) : 0);
}

/* Both in one piece. */
static void set_memory(ti_loop *l, size_t most)
{
    l->most = most;
    l->kept = ti_alloc_zero(bytes_of(most));
    l->past = (uint64_t *)(void *)(l->kept + most + 1);
}

/* Look for longer rounds, among what is known: none was found in so many segments. */
static TI_NOINLINE void grow(ti_loop *l, uint64_t fruitless)
{
    const ti_loop old = *l;
    size_t most = old.most ? 2 * old.most : FIRST_SEGMENTS;
    while (PATIENCE * most <= fruitless && most < TI_LOOP_SEGMENTS) {
        most *= 2;
    }
    set_memory(l, most);
    l->found = l->segments;
    for (uint64_t n = old.segments - TI_MIN(old.segments, old.most + 1); old.most && n < old.segments; n++) {
        l->past[n % (l->most + 1)] = old.past[n % (old.most + 1)];
    }
    const uint64_t end = old.stretches + old.is_open;
    for (uint64_t n = end - TI_MIN(end, old.most + 1); old.most && n < end; n++) {
        l->kept[n % (l->most + 1)] = old.kept[n % (old.most + 1)];
    }
    ti_free(old.kept, old.most ? bytes_of(old.most) : 0);
}

void ti_loop_note(ti_loop *l, uint64_t word)
{
    l->hash = (l->hash << 7 | l->hash >> 57) ^ ti_hash64(word);
}

static inline ti_loop_stretch *stretch_at(ti_loop *l, uint64_t number)
{
    return &l->kept[number % (l->most + 1)];
}

/* Whether the latest stretch, which has ended, is like the one so many before it. */
static bool is_like(ti_loop *l, uint64_t number, uint64_t distance)
{
    const ti_loop_stretch *s = stretch_at(l, number), *before = stretch_at(l, number - distance);
    return distance <= TI_MIN(number, (uint64_t)l->most) && before->number == number - distance + 1 &&
           before->key == s->key;
}

/* Those that go on. */
static void follow_runs(ti_loop *l, uint64_t number)
{
    size_t left = 0;
    for (size_t i = 0; i < l->runs; i++) {
        if (is_like(l, number, l->run[i].distance)) {
            l->run[left] = l->run[i];
            l->run[left++].length++;
        }
    }
    l->runs = left;
}

static void add_run(ti_loop *l, uint64_t distance)
{
    bool is_known = l->runs == TI_LOOP_RUNS;
    for (size_t i = 0; i < l->runs && !is_known; i++) {
        is_known = l->run[i].distance == distance;
    }
    if (!is_known) {
        l->run[l->runs++] = (ti_loop_run){ distance, 1 };
    }
}

/* The distance of the longest run that is a round at least, or 0. */
static size_t find_distance(const ti_loop *l)
{
    const ti_loop_run *longest = NULL;
    for (size_t i = 0; i < l->runs; i++) {
        const ti_loop_run *r = &l->run[i];
        longest = r->length >= r->distance && (!longest || r->length > longest->length) ? r : longest;
    }
    return longest ? (size_t)longest->distance : 0;
}

/* The latest stretch has all its segments. */
static void close_stretch(ti_loop *l)
{
    const uint64_t number = l->stretches++;
    ti_loop_stretch *s = stretch_at(l, number);
    s->key = ti_hash64(s->hash ^ s->count << 1);
    uint64_t *newest = ti_map_at(&l->newest, s->key);
    uint64_t before = s->before = *newest;
    s->number = *newest = number + 1;
    follow_runs(l, number);
    for (int walk = 0; walk < MAX_WALK && before && number - (before - 1) <= l->most; walk++) {
        add_run(l, number - (before - 1));
        before = stretch_at(l, before - 1)->before;
    }
    l->distance = find_distance(l);
}

/* It is known from now on, instead of the oldest one. */
static void open_stretch(ti_loop *l)
{
    ti_loop_stretch *s = stretch_at(l, l->stretches);
    const uint64_t *its = s->number ? ti_map_find(&l->newest, s->key) : NULL;
    if (its && *its == s->number) {
        ti_map_remove(&l->newest, s->key, NULL);
    }
    *s = (ti_loop_stretch){ .hash = l->hash, .begin = l->segments };
    l->is_open = true;
}

/* How many segments the round has in which the latest segment is, or 0. */
static size_t find_round(ti_loop *l)
{
    const ti_loop_stretch *s = stretch_at(l, l->stretches), *like = stretch_at(l, l->stretches - l->distance);
    if (l->distance && like->hash == s->hash && like->count >= s->count && s->begin - like->begin <= l->most) {
        return (size_t)(s->begin - like->begin);
    }
    l->distance = 0;
    return s->count >= MIN_ALIKE;
}

void ti_loop_end_segment(ti_loop *l)
{
    if (!l->most) {
        grow(l, 0);
    }
    if (l->is_open && stretch_at(l, l->stretches)->hash != l->hash) {
        close_stretch(l);
        l->is_open = false;
        const uint64_t fruitless = l->segments - l->found;
        if (fruitless >= PATIENCE * l->most && l->most < TI_LOOP_SEGMENTS) {
            grow(l, fruitless);
        }
    }
    if (!l->is_open) {
        open_stretch(l);
    }
    stretch_at(l, l->stretches)->count++;
    l->past[l->segments++ % (l->most + 1)] = l->hash;
    l->round = find_round(l);
    l->hash = 0;
}

size_t ti_loop_round(ti_loop *l)
{
    if (!l->round || (l->round <= l->failed && l->segments < l->next_try)) {
        return 0;
    }
    if (l->failed && l->round > l->failed) { /* another loop */
        l->more = 0;
        l->failures = 0;
    }
    const size_t all = l->round * (1 + l->more);
    l->recorded = all <= l->most ? all : l->round;
    return l->recorded;
}

bool ti_loop_begin_round(ti_loop *l)
{
    return l->segments++ >= l->next_try;
}

void ti_loop_forget(ti_loop *l)
{
    l->segments++;
    l->stretches++;
    l->runs = 0;
    l->is_open = false;
    l->distance = 0;
    l->hash = 0;
    l->round = 0;
    if (l->phase == TI_LOOP_RECORDS) {
        ti_loop_give_up(l, false);
    }
}

void ti_loop_give_up(ti_loop *l, bool was_worth)
{
    const uint64_t backoff = l->recorded ? TI_MAX(l->recorded, (size_t)FIRST_BACKOFF) : 1;
    const bool is_first = l->failures == 0; /* what was before the loop may not have been forgotten yet */
    l->phase = TI_LOOP_LOOKS;
    l->more = was_worth || is_first ? l->more : (l->more + 1) % MAX_ROUNDS;
    const size_t others = l->segments < l->next_try ? l->failed : 0;
    l->failed = was_worth ? 0 : TI_MAX(l->recorded, others);
    l->next_try = was_worth ? 0 : TI_MAX(l->segments + (is_first ? 0 : backoff << l->failures), l->next_try);
    l->failures = was_worth ? 0 : TI_MIN(l->failures + 1, (int)MAX_DOUBLINGS);
}

/* A short loop inside a long one is repeated, too: what counts is how much is. One of equal segments is no obstacle. */
void ti_loop_go_on(ti_loop *l, uint64_t repeated)
{
    const uint64_t most = 2 * l->most; /* more of them make no difference */
    l->found = l->recorded > 1 ? TI_MIN(l->found + 2 * repeated, l->segments) : l->found;
    for (uint64_t i = 0; i < TI_MIN(repeated, most); i++) {
        l->hash = l->past[(l->segments - l->recorded) % (l->most + 1)];
        ti_loop_end_segment(l);
    }
    l->hash = 0;
}
