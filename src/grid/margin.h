/* Margins: by how many items the chunks of a split are enlarged, along each dimension, below and above.
 *
 * A chunk with its margin ends at the range, as the chunk itself does. If margins are multiples of a mapper's *unit*,
 * what an enlarged chunk touches is what the chunk touches under a mapper with larger halos, but for what lies beyond
 * the range. So nothing else need know of margins: images, inverses and comparisons are those of mappers. A plain
 * value. Any thread. */
#ifndef TI_MARGIN_H
#define TI_MARGIN_H

#include "grid/mapper.h"

typedef struct ti_margin {
    int64_t lo[3], hi[3]; /* in items */
} ti_margin;

static inline bool ti_margin_is_none(const ti_margin *m)
{
    return !(m->lo[0] | m->lo[1] | m->lo[2] | m->hi[0] | m->hi[1] | m->hi[2]);
}

bool ti_margin_equal(const ti_margin *a, const ti_margin *b);

/* The chunk with its margin, in `range`. */
ti_box ti_margin_enlarge(const ti_margin *m, const ti_box *chunk, const ti_box *range);

/* Margins along dimension `dim` of the task have to be multiples of this; it grows with every mapper. */
void ti_margin_unit(const ti_mapper *m, int dim, int64_t *unit);

/* Make the halos of a component mapper larger by the margin, which is a multiple of its unit. */
void ti_margin_widen(const ti_margin *m, ti_mapper *mapper);

#endif
