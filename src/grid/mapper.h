/* Range mappers as data: one component per buffer dimension; images, inverses and properties are decided from it.
 *
 * The image of a chunk [a,b) under `dim k, mul/div, lo, hi` is [floor(a*mul/div) - lo, ceil(b*mul/div) + hi), clamped to the buffer. Star
 * mappers are lists of component mappers (one per axis); custom mappers have a handle and no components.
 * A mapper is a plain value: unused bytes are zero, so that equal mappers compare equal with memcmp. Any thread. */
#ifndef TI_MAPPER_H
#define TI_MAPPER_H

#include "grid/split.h"
#include "tacit/tacit.h"

typedef struct ti_mapper {
    tacit_component c[3];
    int32_t dims;   /* of the buffer */
    int32_t custom; /* handle of a custom mapper, or -1 */
} ti_mapper;

enum { TI_MAPPER_PARTS = 3 }; /* most component mappers that a public mapper expands to */

/* A span [0, SIZE_MAX), which stands for all of a dimension (TACIT_BOX_ALL). */
static inline bool ti_mapper_spans_all(const tacit_component *c)
{
    return c->kind == TACIT_COMPONENT_SPAN && c->lo == 0 && c->hi == (int64_t)SIZE_MAX;
}

/* Expand a public mapper for a buffer with `dims` dimensions: how many component mappers (1 to ti_mapper_most). Arguments were checked. */
int ti_mapper_expand(const tacit_mapper *from, int dims, ti_mapper *out);
static inline size_t ti_mapper_most(const tacit_mapper *from)
{
    return from->kind == TACIT_MAPPER_STAR ? TI_MAPPER_PARTS : 1;
}

/* The part of a dimension of length `n` that a component makes of the items [a,b) of its task dimension (if it has one); empty if *lo >= *hi. */
void ti_component_image(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi);

/* The image of a box of items, clamped to `extent` (the buffer). False if it is empty. Not for custom mappers. */
bool ti_mapper_image(const ti_mapper *m, const ti_box *extent, const ti_box *items, ti_box *out);

/* Candidate chunks: those whose image may meet `box` lie in the parts [first[d], last[d]] of each dimension. Never misses one.
 * False if there is none. */
bool ti_mapper_inverse(const ti_mapper *m, const ti_split *s, const ti_box *box, int64_t first[3], int64_t last[3]);

/* Whether every chunk has the same image: also by clamping to `extent`. */
bool ti_mapper_is_constant(const ti_mapper *m, const ti_split *s, const ti_box *extent);
/* Whether images of different chunks never overlap, decided from the components (may say false although they do not). */
bool ti_mapper_is_disjoint(const ti_mapper *m, const ti_split *s);
/* Whether along dimension `d` of the buffer parts that differ in the component's dimension lie side by side. */
bool ti_mapper_is_partitioned(const ti_mapper *m, const ti_split *s, int d);
/* Whether the image under `a` covers that under `b` for every box of items. */
bool ti_mapper_covers(const ti_mapper *a, const ti_mapper *b);

/* The public function that makes such a mapper, for messages: "tacit_all". `parts` mappers from `m` on are one access. */
const char *ti_mapper_name(const ti_mapper *m, uint32_t parts);

uint64_t ti_mapper_hash(const ti_mapper *m);
bool ti_mapper_equal(const ti_mapper *a, const ti_mapper *b);

#endif
