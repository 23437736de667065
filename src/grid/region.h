/* A region: a set of indices, kept as disjoint boxes in a normal form.
 *
 * Normal form: boxes are disjoint, none is empty, no two of them join to a box, and they are sorted by ti_box_compare.
 * Boxes are as long as possible in dimension 2, then in 1, then in 0 (region_sweep.h). So the form depends on the set
 * of indices alone, not on how it came about: equal sets have equal lists of boxes. All memory grows through ti_vec
 * (counted). Owned by one thread. */
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

/* The smallest box around all of a list, which has some. */
static inline ti_box ti_boxes_bounding(const ti_boxes *list)
{
    ti_box around = list->data[0];
    for (size_t i = 1; i < list->count; i++) {
        around = ti_box_bounding(&around, &list->data[i]);
    }
    return around;
}

/* Appends what the two have in common, unless that is nothing. */
static inline void ti_boxes_push_common(const ti_box *a, const ti_box *b, ti_boxes *out)
{
    ti_box common = ti_box_intersect(a, b);
    if (!ti_box_is_empty(&common)) {
        ti_vec_push(out, common);
    }
}

typedef struct ti_region {
    ti_boxes boxes;
} ti_region;

void ti_region_fini(ti_region *region); /* a zeroed region is the empty one */
static inline bool ti_region_is_empty(const ti_region *region)
{
    return region->boxes.count == 0;
}
void ti_region_clear(ti_region *region);
void ti_region_copy(ti_region *to, const ti_region *from);

void ti_region_add(ti_region *region, const ti_box *box); /* union with a box; empty boxes change nothing */
void ti_region_add_all(ti_region *region, const ti_box *boxes, size_t n); /* with many: faster than one by one */
void ti_region_remove(ti_region *region, const ti_box *box);              /* difference with a box */
void ti_region_clip(ti_region *region, const ti_box *box);                /* intersection with a box */
void ti_region_union(ti_region *region, const ti_region *other);
void ti_region_subtract(ti_region *region, const ti_region *other);
void ti_region_intersect(ti_region *region, const ti_region *other);

bool ti_region_covers(const ti_region *region, const ti_box *box);
bool ti_region_meets(const ti_region *region, const ti_box *box);
bool ti_region_equal(const ti_region *a, const ti_region *b); /* as sets */
int64_t ti_region_volume(const ti_region *region);
ti_box ti_region_bounding(const ti_region *region); /* empty box if empty */
bool ti_region_is_valid(const ti_region *region);

/* On plain lists: replace every box of `list` by what `hole` leaves of it, in order (ti_box_subtract), as it comes. */
void ti_boxes_subtract(ti_boxes *list, const ti_box *hole);

#endif
