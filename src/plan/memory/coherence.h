/* Which places hold the newest contents of each part of a buffer, on this node.
 *
 * A place is a memory, or one of several sets of allocations in a memory (plan/instruction/places.c). The state is a
 * map from disjoint boxes to sets of places (bit p is place p). Writing leaves one place, copying adds one. Parts that
 * nobody wrote are not in it. Copies are made lazily, when an instruction needs the contents in a place that lacks
 * them. Scheduler thread. */
#ifndef TI_COHERENCE_H
#define TI_COHERENCE_H

#include "grid/region_map.h"
#include "plan/track/tracker.h"

enum { TI_MAX_PLACES = 64 };

typedef struct ti_coherence {
    ti_region_map fresh;
    ti_region_entries found;
} ti_coherence;

void ti_coherence_init(ti_coherence *c);
void ti_coherence_fini(ti_coherence *c);

/* `box` was written in `place`: nobody else has it. */
void ti_coherence_write(ti_coherence *c, const ti_box *box, int place);
/* `place` has got a copy of `box`, which somebody wrote. */
void ti_coherence_copy(ti_coherence *c, const ti_box *box, int place);
/* `place` has nothing of `box` any more; somebody else has all of it that was written. */
void ti_coherence_forget(ti_coherence *c, const ti_box *box, int place);
/* Append the parts of `box` that were written and that `place` lacks, with the sets of those that have them. */
void ti_coherence_lacking(ti_coherence *c, const ti_box *box, int place, ti_region_entries *out);
/* Append what is known: states with the same words answer alike. */
void ti_coherence_describe(ti_coherence *c, ti_tracker_state *state);
bool ti_coherence_is_valid(ti_coherence *c);

/* The place of a set to copy from: the first of those that are near, else the first, which may be the host's. */
int ti_coherence_source(uint64_t set, uint64_t near);

#endif
