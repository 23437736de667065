/* Lists of boxes, and regions: sets of indices, kept as disjoint boxes in a normal form.
 *
 * The idea: a set is cut along dimension 0 wherever its cross-section changes, each cross-section along dimension 1,
 * and what remains are intervals along dimension 2. A box of the normal form is a longest run of slabs whose
 * cross-sections have a piece in common. So boxes are as long as possible in dimension 2, which is contiguous in
 * memory, then in 1, then in 0; and equal sets have equal lists of boxes, however they came about.
 *
 * Invariants of the normal form (ti_boxes_are_normal): no box is empty, no two share an index or join to a box, and
 * they are sorted by ti_box_compare. All memory grows through ti_vec (counted). Owned by one thread. */
#ifndef TI_REGION_H
#define TI_REGION_H

#include "base/vec.h"
#include "grid/box.h"

/* A list of boxes, disjoint or not, in an order that means something to its user. */
typedef TI_VEC(ti_box) ti_boxes;

/* Elements in disjoint boxes. */
static inline int64_t ti_boxes_volume(const ti_box *box, size_t count)
{
    int64_t volume = 0;
    for (size_t i = 0; i < count; i++) {
        volume += ti_box_volume(&box[i]);
    }
    return volume;
}

/* Appends what the two have in common, unless that is nothing. */
static inline void ti_boxes_push_common(const ti_box *a, const ti_box *b, ti_boxes *out)
{
    ti_box common = ti_box_intersect(a, b);
    if (!ti_box_is_empty(&common)) {
        ti_vec_push(out, common);
    }
}

/* Whether any of the boxes shares an index with `box`. */
static inline bool ti_boxes_meet(const ti_boxes *list, const ti_box *box)
{
    for (size_t i = 0; i < list->count; i++) {
        if (ti_box_meets(&list->data[i], box)) {
            return true;
        }
    }
    return false;
}

/* Replaces every box by what `hole` leaves of it (ti_box_subtract), in order. */
void ti_boxes_subtract(ti_boxes *list, const ti_box *hole);
/* Appends the parts of `box` that no box of the list has; the contents of `rest` are lost. */
void ti_boxes_add_missing(ti_boxes *list, const ti_box *box, ti_boxes *rest);

/* Brings boxes, which may be empty or overlap, into normal form. */
void ti_boxes_normalize(ti_boxes *list);
bool ti_boxes_are_normal(const ti_boxes *list);

/* A set that grows box by box; zeroed, it is the empty one. The first `settled` boxes are in normal form. What is added
 * stands behind them as it came until the region is settled, by the caller, or because there is much of it. */
typedef struct ti_region {
    ti_boxes boxes;
    size_t settled;
} ti_region;

void ti_region_fini(ti_region *region);
void ti_region_add(ti_region *region, const ti_box *box);  /* union; empty boxes change nothing */
void ti_region_settle(ti_region *region);                  /* all of it is in normal form then */
void ti_region_clip(ti_region *region, const ti_box *box); /* intersection; settled then */
static inline bool ti_region_is_empty(const ti_region *region)
{
    return region->boxes.count == 0;
}
bool ti_region_meets(const ti_region *region, const ti_box *box);
static inline ti_box ti_region_bounding(const ti_region *region) /* an empty box if empty */
{
    return ti_boxes_bounding(region->boxes.data, region->boxes.count);
}
int64_t ti_region_volume(const ti_region *region); /* of a settled one */

#endif
