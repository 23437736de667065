/* The sweep: union, difference and intersection of two sorted lists of boxes, in the normal form of regions.
 *
 * The idea: cut a set along dimension 0 wherever a box starts or ends, so that its cross-section is constant between
 * two cuts; do the same with the cross-sections along dimension 1; what remains are intervals along dimension 2. A box
 * of the result is a longest run of slabs whose cross-sections contain the same piece. This form depends on the set
 * alone, has no two boxes that join, and prefers boxes that are long in the last dimension, which is contiguous in
 * memory. For grid/region.c only. Any thread. */
#ifndef TI_REGION_SWEEP_H
#define TI_REGION_SWEEP_H

#include "base/arena.h"
#include "grid/region.h"

typedef struct ti_span {
    const ti_box *box;
    size_t n;
} ti_span;

typedef enum ti_region_op { TI_UNION, TI_SUBTRACT, TI_INTERSECT } ti_region_op;

/* Append a (what) b to `out`, sorted and in normal form. Both lists are sorted. In a union `a` may overlap itself, and
 * `b` is empty; otherwise both are in normal form. Neither lies in `out`. Scratch memory comes from `arena`. */
void ti_region_sweep(ti_arena *arena, ti_region_op what, ti_span a, ti_span b, ti_boxes *out);

#endif
