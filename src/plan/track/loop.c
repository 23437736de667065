/* Whether a stage goes round in a loop: see loop.h. */
#include "plan/track/loop.h"

#include "base/map.h"

#include <string.h>

enum { KEPT = 2 * TI_LOOP_SEGMENTS };
/* After a failure that many segments are not looked at, each time twice as many. */
enum { FIRST_PAUSE = 4, MAX_DOUBLINGS = 8 };

void ti_loop_note(ti_loop *l, uint64_t word)
{
    l->hash = (l->hash << 7 | l->hash >> 57) ^ ti_hash64(word);
}

void ti_loop_end_segment(ti_loop *l)
{
    l->hashes[l->segments++ % KEPT] = l->hash;
    for (size_t q = 1; q <= TI_LOOP_SEGMENTS; q++) {
        const bool is_same = l->segments > q && l->hashes[(l->segments - 1 - q) % KEPT] == l->hash;
        l->same[q] = is_same ? l->same[q] + 1 : 0;
    }
    l->hash = 0;
}

size_t ti_loop_round(const ti_loop *l)
{
    for (size_t q = 1; q <= TI_LOOP_SEGMENTS && l->segments >= l->next_try; q++) {
        if (l->same[q] >= q) {
            return q;
        }
    }
    return 0;
}

void ti_loop_forget(ti_loop *l)
{
    memset(l->same, 0, sizeof(l->same));
    l->hash = 0;
    if (l->phase == TI_LOOP_RECORDS) {
        ti_loop_give_up(l, false);
    }
}

void ti_loop_give_up(ti_loop *l, bool was_worth)
{
    l->phase = TI_LOOP_LOOKS;
    l->failures = was_worth ? 0 : TI_MIN(l->failures + 1, (int)MAX_DOUBLINGS);
    l->next_try = was_worth ? 0 : l->segments + ((uint64_t)FIRST_PAUSE << l->failures);
}
