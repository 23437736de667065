/* Range mappers as data: one component per buffer dimension; images, inverses and properties are decided from it.
 *
 * The image of a chunk [a,b) under `dim k, mul/div, lo, hi` is [floor(a*mul/div) - lo, ceil(b*mul/div) + hi), clamped
 * to the buffer; under `periodic` it goes around instead: along such a dimension it is an *arc*, one interval or the
 * two ends of the dimension. Star mappers are lists of component mappers (one per axis); custom mappers have a handle
 * and no components. What kinds there are: grid/mapper_kinds.h.
 *
 * Invariants: unused bytes are zero, so that equal mappers compare equal with memcmp; a periodic component has a
 * halo, and none of its halos is negative (without one it is a `dim`). A plain value. Any thread. */
#ifndef TI_MAPPER_H
#define TI_MAPPER_H

#include "grid/mapper_kinds.h"
#include "grid/split.h"
#include "tacit/tacit.h"

typedef struct ti_mapper {
    tacit_component c[3];
    int32_t dims;   /* of the buffer */
    int32_t custom; /* handle of a custom mapper, or -1 */
} ti_mapper;

enum {
    TI_MAPPER_PARTS = 3, /* most component mappers that a public mapper expands to */
    TI_MAPPER_BOXES = 8  /* most boxes of an image, of one component mapper or of all that a public mapper expands to */
};

/* ---- kinds */

typedef struct ti_mapper_kind {
    const char *name; /* of the public function: "tacit_all" */
    unsigned rules;
} ti_mapper_kind;

#define TI_ROW(...) +1
enum { TI_MAPPER_KIND_COUNT = 0 TI_MAPPER_KINDS(TI_ROW) };
#undef TI_ROW
extern const ti_mapper_kind ti_mapper_kinds[TI_MAPPER_KIND_COUNT + 1]; /* by TACIT_MAPPER_ALL and so on */

/* NULL if there is no such kind. */
static inline const ti_mapper_kind *ti_mapper_kind_of(int kind)
{
    return kind > 0 && kind <= TI_MAPPER_KIND_COUNT ? &ti_mapper_kinds[kind] : NULL;
}
static inline bool ti_mapper_has_rule(const tacit_mapper *m, unsigned rule)
{
    return ti_mapper_kinds[m->kind].rules & rule;
}

extern const uint8_t ti_component_kinds[UINT8_MAX + 1]; /* rules by TACIT_COMPONENT_FULL and so on */

/* TI_FOLLOWS and so on; 0 also if there is no such kind. */
static inline unsigned ti_component_rules(const tacit_component *c)
{
    return ti_component_kinds[c->kind];
}
/* Whether a component follows a dimension of the task. */
static inline bool ti_component_follows(const tacit_component *c)
{
    return ti_component_rules(c) & TI_FOLLOWS;
}
/* Whether it does so in a way of its own: only the functions of grid/mapper.c know its images. */
static inline bool ti_component_is_irregular(const tacit_component *c)
{
    return (ti_component_rules(c) & (TI_FOLLOWS | TI_IN_ORDER)) == TI_FOLLOWS;
}

/* A span [0, SIZE_MAX), which stands for all of a dimension (TACIT_BOX_ALL). */
static inline bool ti_mapper_spans_all(const tacit_component *c)
{
    return c->kind == TACIT_COMPONENT_SPAN && c->lo == 0 && c->hi == (int64_t)SIZE_MAX;
}

/* Expand a public mapper for a buffer with `dims` dimensions: how many component mappers (1 to ti_mapper_most).
 * Arguments were checked. */
int ti_mapper_expand(const tacit_mapper *from, int dims, ti_mapper *out);
static inline size_t ti_mapper_most(const tacit_mapper *from)
{
    return ti_mapper_has_rule(from, TI_ALONG_AXES) ? TI_MAPPER_PARTS : 1;
}

/* ---- images */

/* The smallest interval around what a component makes of the items [a,b) of its task dimension (if it has one), in a
 * dimension of length `n`; empty if *lo >= *hi. */
void ti_component_bounds(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi);

/* The image of a box of items, in `extent` (the buffer): how many boxes, which are disjoint and sorted by minimum
 * corner, the same on all nodes. At most TI_MAPPER_BOXES, 0 if it is empty; more than 1 only where a periodic
 * component goes around. Not for custom mappers. */
int ti_mapper_image(const ti_mapper *m, const ti_box *extent, const ti_box *items, ti_box *out);

/* Candidate chunks: those whose image may meet `box`, which lies in `extent`, have parts of each dimension d from
 * first[d] to last[d], or, if first[d] > last[d], from 0 to last[d] and from first[d] on. Never misses one. False if
 * there is none. */
bool ti_mapper_inverse(const ti_mapper *m, const ti_split *s, const ti_box *extent, const ti_box *box, int64_t first[3],
                       int64_t last[3]);

/* ---- properties */

/* Whether every chunk has the same image: also by clamping to `extent`. May say false although they have. */
bool ti_mapper_is_constant(const ti_mapper *m, const ti_split *s, const ti_box *extent);
/* Whether images of different chunks never overlap, decided from the components (may say false although they do
 * not). */
bool ti_mapper_is_disjoint(const ti_mapper *m, const ti_split *s);
/* Whether along dimension `d` of the buffer parts that differ in the component's dimension lie side by side. */
bool ti_mapper_is_partitioned(const ti_mapper *m, const ti_split *s, int d);
/* Whether the image under `a` covers that under `b` for every box of items. */
bool ti_mapper_covers(const ti_mapper *a, const ti_mapper *b);

uint64_t ti_mapper_hash(const ti_mapper *m);
bool ti_mapper_equal(const ti_mapper *a, const ti_mapper *b);

#endif
