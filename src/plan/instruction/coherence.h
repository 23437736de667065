/* Which memories hold the newest contents of each part of a buffer, on this node.
 *
 * A map from disjoint boxes to sets of memories (bit m is memory m). Writing leaves one memory, copying adds one.
 * Parts that nobody wrote are not in it. Copies are made lazily, when an instruction needs the contents in a memory
 * that lacks them. Scheduler thread. */
#ifndef TI_COHERENCE_H
#define TI_COHERENCE_H

#include "grid/region_map.h"

enum { TI_MAX_MEMORIES = 64 };

typedef struct ti_coherence {
    ti_region_map fresh;
    ti_region_entries found;
} ti_coherence;

void ti_coherence_init(ti_coherence *c);
void ti_coherence_fini(ti_coherence *c);

/* `box` was written in `memory`: nobody else has it. */
void ti_coherence_write(ti_coherence *c, const ti_box *box, int memory);
/* `memory` has got a copy of `box`, which somebody wrote. */
void ti_coherence_copy(ti_coherence *c, const ti_box *box, int memory);
/* Append the parts of `box` that were written and that `memory` lacks, with the sets of those that have them. */
void ti_coherence_lacking(ti_coherence *c, const ti_box *box, int memory, ti_region_entries *out);
bool ti_coherence_is_valid(ti_coherence *c);

/* The memory to copy from: the host's if it is in the set, else the first. */
int ti_coherence_source(uint64_t set);

#endif
