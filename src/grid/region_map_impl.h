/* What the files of region maps share: the tree. Included by region_map*.c only.
 *
 * Invariants (ti_region_map_is_valid): all leaves lie at height 0; the box of a child is exactly the bounding box of
 * its boxes; every tree node but the root has 4 to 16 boxes, an inner root at least 2; leaves are sorted by box, so
 * that what a map of one leaf answers is already in order. */
#ifndef TI_REGION_MAP_IMPL_H
#define TI_REGION_MAP_IMPL_H

#include "grid/region_map.h"

enum { TI_REGION_FANOUT = TI_REGION_MAP_FEW, TI_REGION_LEAST = 4 };
/* Tree nodes that a map keeps for reuse: normally, and where much was removed at once. */
enum { TI_REGION_SPARE = 64, TI_REGION_MANY_SPARE = 512 };

struct ti_region_node {
    int32_t count;
    ti_box box[TI_REGION_FANOUT];
    union {
        uint64_t value[TI_REGION_FANOUT];
        ti_region_node *child[TI_REGION_FANOUT];
        ti_region_node *next_spare;
    };
};

static inline ti_box ti_region_bounding(const ti_box *box, int n)
{
    ti_box all = box[0];
    for (int i = 1; i < n; i++) {
        all = ti_box_bounding(&all, &box[i]);
    }
    return all;
}

static inline int ti_region_compare(const ti_box *a, uint64_t a_value, const ti_box *b, uint64_t b_value)
{
    int order = ti_box_compare(a, b);
    return order ? order : (a_value > b_value) - (a_value < b_value);
}

static inline void ti_region_point_at(ti_region_map *map, ti_region_node *leaf, int at)
{
    map->finger = leaf;
    map->at = at;
}

/* The first of the finger's entry and the one after it that covers `box` becomes the finger's: whether there is one. */
static inline bool ti_region_finger_covers(ti_region_map *map, const ti_box *box)
{
    const ti_region_node *leaf = map->finger;
    int last = leaf ? TI_MIN(map->at + 1, leaf->count - 1) : -1;
    for (int i = map->at; i <= last; i++) {
        if (ti_box_covers(&leaf->box[i], box)) {
            map->at = i;
            return true;
        }
    }
    return false;
}

#endif
