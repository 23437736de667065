/* Operations on regions that only tests need, made of those that the library has: difference and intersection of two
 * regions, equality, and whether a box is covered. What they say depends on the normal form and on lists of boxes, so
 * tests that compare them with bitmaps check both. Any thread. */
#ifndef TEST_REGION_OPS_H
#define TEST_REGION_OPS_H

#include "grid/region.h"

/* What was done to the list of boxes is a set again. */
static inline void region_renormalize(ti_region *region)
{
    region->settled = 0;
    ti_region_settle(region);
}

static inline void region_clear(ti_region *region)
{
    ti_vec_clear(&region->boxes);
    region->settled = 0;
}

static inline void region_add_all(ti_region *region, const ti_box *box, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ti_region_add(region, &box[i]);
    }
    ti_region_settle(region);
}

static inline void region_remove(ti_region *region, const ti_box *hole)
{
    ti_boxes_subtract(&region->boxes, hole);
    region_renormalize(region);
}

/* The two-sided operations: `other` is not `region`. */
static inline void region_union(ti_region *region, const ti_region *other)
{
    region_add_all(region, other->boxes.data, other->boxes.count);
}

static inline void region_copy(ti_region *to, const ti_region *from)
{
    region_clear(to);
    region_union(to, from);
}

static inline void region_subtract(ti_region *region, const ti_region *other)
{
    for (size_t i = 0; i < other->boxes.count; i++) {
        ti_boxes_subtract(&region->boxes, &other->boxes.data[i]);
    }
    region_renormalize(region);
}

static inline void region_intersect(ti_region *region, const ti_region *other)
{
    ti_region common = { 0 };
    for (size_t i = 0; i < region->boxes.count; i++) {
        for (size_t j = 0; j < other->boxes.count; j++) {
            ti_boxes_push_common(&region->boxes.data[i], &other->boxes.data[j], &common.boxes);
        }
    }
    region_renormalize(&common);
    region_copy(region, &common);
    ti_region_fini(&common);
}

/* As sets: equal sets have equal lists. */
static inline bool region_equal(const ti_region *a, const ti_region *b)
{
    bool equal = a->boxes.count == b->boxes.count;
    for (size_t i = 0; equal && i < a->boxes.count; i++) {
        equal = ti_box_equal(&a->boxes.data[i], &b->boxes.data[i]);
    }
    return equal;
}

static inline bool region_covers(const ti_region *region, const ti_box *box)
{
    ti_boxes rest = { 0 };
    if (!ti_box_is_empty(box)) {
        ti_vec_push(&rest, *box);
    }
    for (size_t i = 0; i < region->boxes.count; i++) {
        ti_boxes_subtract(&rest, &region->boxes.data[i]);
    }
    bool covers = rest.count == 0;
    ti_vec_fini(&rest);
    return covers;
}

#endif
