/* What the files of region maps share: the tree. Included by region_map*.c only.
 *
 * Invariants (ti_region_map_is_valid): all leaves lie at height 0; the box of a child is exactly the bounding box of
 * its boxes; every tree node but the root has 4 to 16 boxes, an inner root at least 2; leaves are sorted by box, so
 * that what a map of one leaf answers is already in order. One thread at a time. */
#ifndef TI_REGION_MAP_IMPL_H
#define TI_REGION_MAP_IMPL_H

#include "grid/region_map.h"

enum { TI_REGION_FANOUT = TI_REGION_MAP_FEW, TI_REGION_MIN_COUNT = 4 };
/* Tree nodes that a map keeps for reuse: normally, and where much was removed at once. */
enum { TI_REGION_MAX_SPARE = 64, TI_REGION_MAX_SPARE_AFTER_MANY = 512 };

/* Where the root is a leaf it may have room for a few boxes only: most maps never have more. */
struct ti_region_node {
    int32_t count;
    int16_t capacity; /* boxes that it has room for; behind them lie their values, or children */
    bool inner;
    int32_t follow_at;     /* of a leaf: where in `follow` */
    uint32_t follow_round; /* `follow` counts only if the map has freed no tree node since */
    union {
        ti_region_node *follow; /* the leaf where the next thing was found: loops in order go there again; or NULL */
        ti_region_node *next_spare;
    };
    ti_box box[];
};

static inline size_t ti_region_node_size(int capacity)
{
    return sizeof(ti_region_node) + (size_t)capacity * (sizeof(ti_box) + sizeof(uint64_t));
}

static inline uint64_t *ti_region_values(const ti_region_node *node)
{
    return (uint64_t *)(uintptr_t)(node->box + node->capacity);
}

static inline ti_region_node *ti_region_child(const ti_region_node *node, int i)
{
    return (ti_region_node *)(uintptr_t)ti_region_values(node)[i];
}

/* Where an entry was, by the corner that was asked for: a hash of as many places as the map has entries, and more, each
 * corner in one of a few places side by side. What is there now may be another entry, or none: whoever follows a finger
 * looks. */
struct ti_region_finger {
    ti_region_node *leaf;
    uint32_t round;    /* it counts only if the map has freed no tree node since */
    uint32_t tag : 24; /* of the corner's hash */
    uint32_t at : 8;
};
enum { TI_REGION_FINGERS = 256, TI_REGION_FINGER_WAYS = 4 };
static const uint32_t ti_region_tags = 0xffffff; /* that a finger can tell apart */

static inline uint64_t ti_region_corner_hash(const ti_box *box)
{
    uint64_t h = (uint64_t)box->min[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)box->min[1] * 0xc2b2ae3d27d4eb4fu ^
                 (uint64_t)box->min[2] * 0x165667b19e3779f9u;
    return (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
}
/* The first of the places that a hash may be in; those behind the last one are there, too. */
static inline ti_region_finger *ti_region_fingers_of(const ti_region_map *map, uint64_t hash)
{
    return &map->fingers[hash >> 32 & (map->max_fingers - 1)];
}
static inline size_t ti_region_fingers_size(const ti_region_map *map)
{
    return (map->max_fingers + TI_REGION_FINGER_WAYS - 1) * sizeof(ti_region_finger);
}

/* The few entries of which a box consists, or its parts in them do. They may be others now, or cut: whoever finds a
 * group adds up what its entries have of the box, and since entries are disjoint, that is all of the box only if no
 * other entry meets it. Boxes of which a part lies in no entry have no group. */
enum { TI_REGION_GROUPS = 64, TI_REGION_GROUP_WAYS = 4, TI_REGION_GROUP_MOST = 4 };
struct ti_region_group {
    ti_box box;
    ti_region_node *leaf[TI_REGION_GROUP_MOST];
    uint32_t round, tag; /* as of a finger; the tag is of all corners */
    uint8_t count;       /* 0: a free place */
    uint8_t at[TI_REGION_GROUP_MOST];
};
/* Where a search found its first entries. */
typedef struct ti_region_found {
    size_t count;
    ti_region_node *leaf[TI_REGION_GROUP_MOST];
    int at[TI_REGION_GROUP_MOST];
} ti_region_found;

static inline void ti_region_note_found(ti_region_found *found, ti_region_node *leaf, int at)
{
    if (found->count < TI_REGION_GROUP_MOST) {
        found->leaf[found->count] = leaf;
        found->at[found->count] = at;
    }
    found->count++;
}
/* The search for `box` found these, more than one. */
void ti_region_remember_group(ti_region_map *map, const ti_region_found *found, const ti_box *box);

static inline size_t ti_region_groups_size(const ti_region_map *map)
{
    return (map->max_groups + TI_REGION_GROUP_WAYS - 1) * sizeof(ti_region_group);
}
static inline uint64_t ti_region_box_hash(const ti_box *box)
{
    uint64_t h = ti_region_corner_hash(box) ^ (uint64_t)box->max[0] * 0x9e3779b97f4a7c15u ^
                 (uint64_t)box->max[1] * 0xc2b2ae3d27d4eb4fu ^ (uint64_t)box->max[2] * 0x165667b19e3779f9u;
    return h ^ h >> 29;
}
/* The first of the places that the group of a box may be in. */
static inline ti_region_group *ti_region_groups_of(const ti_region_map *map, uint64_t hash)
{
    return &map->groups[hash & (map->max_groups - 1)];
}
/* The group of exactly this box, as it was found; or NULL. */
static inline const ti_region_group *ti_region_group_of(const ti_region_map *map, const ti_box *box)
{
    const uint64_t hash = map->groups ? ti_region_box_hash(box) : 0;
    const ti_region_group *g = map->groups ? ti_region_groups_of(map, hash) : NULL;
    for (int way = 0; g && way < TI_REGION_GROUP_WAYS; way++, g++) {
        if (g->tag == hash >> 32 && g->round == map->freed && g->count && ti_box_equal(&g->box, box)) {
            return g;
        }
    }
    return NULL;
}
/* Whether its entries are still all that meet the box. */
static inline bool ti_region_group_holds(const ti_region_group *g)
{
    int64_t volume = 0;
    for (int i = 0; i < g->count; i++) {
        if (g->leaf[i]->inner || g->at[i] >= g->leaf[i]->count) {
            return false;
        }
        const ti_box common = ti_box_intersect(&g->leaf[i]->box[g->at[i]], &g->box);
        if (ti_box_is_empty(&common)) {
            return false;
        }
        volume += ti_box_volume(&common);
    }
    return volume == ti_box_volume(&g->box);
}

static inline ti_box ti_region_node_bounding(const ti_region_node *node)
{
    return ti_boxes_bounding(node->box, (size_t)node->count);
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

/* Follow the finger of what was asked for before. Within its leaf the entry may have moved. */
static inline bool ti_region_fingers_cover(ti_region_map *map, const ti_box *box)
{
    uint64_t hash = ti_region_corner_hash(box);
    ti_region_finger *f = ti_region_fingers_of(map, hash);
    for (int way = 0; way < TI_REGION_FINGER_WAYS; way++, f++) {
        if (f->tag != (hash & ti_region_tags) || !f->leaf || f->round != map->freed || f->leaf->inner) {
            continue;
        }
        if (f->at < f->leaf->count && ti_box_covers(&f->leaf->box[f->at], box)) {
            ti_region_point_at(map, f->leaf, f->at);
            return true;
        }
        for (int i = 0; i < f->leaf->count; i++) {
            if (ti_box_covers(&f->leaf->box[i], box)) {
                f->at = (uint32_t)i;
                ti_region_point_at(map, f->leaf, i);
                return true;
            }
        }
    }
    return false;
}

/* Whether a finger is at the entry that is exactly this box, which tiles are. */
static inline bool ti_region_fingers_find(ti_region_map *map, const ti_box *box)
{
    uint64_t hash = ti_region_corner_hash(box);
    const ti_region_finger *f = ti_region_fingers_of(map, hash), *end = f + TI_REGION_FINGER_WAYS;
    for (uint32_t tag = hash & ti_region_tags; f < end; f++) {
        if (f->tag == tag && f->round == map->freed && f->leaf) {
            ti_region_node *leaf = f->leaf;
            if (f->at < leaf->count && ti_box_equal(&leaf->box[f->at], box) && !leaf->inner) {
                ti_region_point_at(map, leaf, f->at);
                return true;
            }
        }
    }
    return false;
}

/* Go on from the finger's leaf to where others went on. */
static inline bool ti_region_follow_covers(ti_region_map *map, const ti_box *box)
{
    const ti_region_node *leaf = map->finger;
    ti_region_node *follow = leaf && leaf->follow_round == map->freed ? leaf->follow : NULL;
    if (!follow || leaf->follow_at >= follow->count || follow->inner ||
        !ti_box_covers(&follow->box[leaf->follow_at], box)) {
        return false;
    }
    ti_region_point_at(map, follow, leaf->follow_at);
    return true;
}

/* The tree was searched for `box`, and the finger, which was in leaf `before` (or NULL), is at the only entry that
 * meets it. */
void ti_region_remember(ti_region_map *map, ti_region_node *before, const ti_box *box);

/* Moves the finger to the first of its entry and the few after it that covers `box`, or to where others were found:
 * whether there is one. Of a row of tiles that were cut out of what is around them, every third entry is a tile. */
static inline bool ti_region_finger_covers(ti_region_map *map, const ti_box *box)
{
    const ti_region_node *leaf = map->finger;
    int last = leaf ? TI_MIN(map->at + 3, leaf->count - 1) : -1;
    for (int i = map->at; i <= last; i++) {
        if (ti_box_covers(&leaf->box[i], box)) {
            map->at = i;
            return true;
        }
    }
    return map->height > 0 &&
           (ti_region_follow_covers(map, box) || (map->fingers && ti_region_fingers_cover(map, box)));
}

/* The same, but tiles come first. */
static inline bool ti_region_goes_on(ti_region_map *map, const ti_box *box)
{
    return (map->fingers && ti_region_fingers_find(map, box)) || ti_region_finger_covers(map, box);
}

/* For TI_VALIDATE. Large maps are left to tests, since it takes a look at every entry. */
static inline bool ti_region_map_seems_valid(const ti_region_map *map)
{
    enum { MAX_VALIDATED = 64 };
    return map->count > MAX_VALIDATED || ti_region_map_is_valid(map);
}

#endif
