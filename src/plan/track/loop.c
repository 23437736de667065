/* Whether a stage goes round in a loop: see loop.h.
 *
 * Of each segment it is known which one before had an equal hash, and of that the same. So all distances at which the
 * segment at hand repeats another are found by a walk over those alone, and the first of them that has done so for as
 * many segments as it is long is a round. */
#include "plan/track/loop.h"

/* Segments that are not looked at after a failure: as many as the round had, or this, and each time twice as many. */
enum { FIRST_PAUSE = 4, MAX_DOUBLINGS = 8 };
/* Earlier segments that are looked at for one; of a round of one, so many are seen, as it may be part of a longer. */
enum { MAX_WALK = 16, MIN_RUN = 2 };
/* After rounds that were of no use, two of them are tried as one, then three, and so on. */
enum { MAX_ROUNDS = 4 };

void ti_loop_fini(ti_loop *l)
{
    ti_map_fini(&l->newest);
}

void ti_loop_note(ti_loop *l, uint64_t word)
{
    l->hash = (l->hash << 7 | l->hash >> 57) ^ ti_hash64(word);
}

/* The segment is like the one `distance` before it. */
static void extend(ti_loop *l, uint64_t number, size_t distance)
{
    struct ti_loop_run *run = &l->run[distance];
    run->length = run->length && run->end + 1 == number ? run->length + 1 : 1;
    run->end = number;
    if (!l->round && run->length >= TI_MAX(distance, (size_t)MIN_RUN)) {
        l->round = distance;
    }
}

/* The segment is known from now on, instead of the oldest one: 1 + the number of the latest equal one, or 0. */
static uint64_t take_place(ti_loop *l, uint64_t number)
{
    struct ti_loop_segment *s = &l->kept[number % TI_LOOP_KEPT];
    const uint64_t *its = s->number ? ti_map_find(&l->newest, s->hash) : NULL;
    if (its && *its == s->number) {
        ti_map_remove(&l->newest, s->hash, NULL);
    }
    uint64_t *newest = ti_map_at(&l->newest, l->hash);
    *s = (struct ti_loop_segment){ l->hash, *newest, number + 1 };
    *newest = number + 1;
    return s->before;
}

void ti_loop_end_segment(ti_loop *l)
{
    const uint64_t number = l->segments++;
    uint64_t before = take_place(l, number);
    l->round = 0;
    for (int walk = 0; walk < MAX_WALK && before && number - (before - 1) <= TI_LOOP_SEGMENTS; walk++) {
        extend(l, number, number - (before - 1));
        before = l->kept[(before - 1) % TI_LOOP_KEPT].before;
    }
    l->hash = 0;
}

size_t ti_loop_round(ti_loop *l)
{
    if (!l->round || l->segments < l->next_try) {
        return 0;
    }
    const size_t all = l->round * (1 + l->more);
    l->recorded = all <= TI_LOOP_SEGMENTS ? all : l->round;
    return l->recorded;
}

bool ti_loop_begin_round(ti_loop *l)
{
    return l->segments++ >= l->next_try;
}

void ti_loop_forget(ti_loop *l)
{
    l->segments++; /* runs end */
    l->hash = 0;
    l->round = 0;
    if (l->phase == TI_LOOP_RECORDS) {
        ti_loop_give_up(l, false);
    }
}

void ti_loop_give_up(ti_loop *l, bool was_worth)
{
    const uint64_t pause = l->recorded ? TI_MAX(l->recorded, (size_t)FIRST_PAUSE) : 1;
    l->phase = TI_LOOP_LOOKS;
    l->more = was_worth ? l->more : (l->more + 1) % MAX_ROUNDS;
    l->failures = was_worth ? 0 : TI_MIN(l->failures + 1, (int)MAX_DOUBLINGS);
    l->next_try = was_worth ? 0 : l->segments + (pause << l->failures);
}
