/* The R-tree behind region maps: see region_map.h.
 *
 * The idea: a tree node has up to 16 boxes, each with a value (leaves) or a child. Insertion descends to the child that
 * grows least; a full tree node is split along the dimension and at the place that leave the least overlap. A tree node
 * that falls below 4 boxes is merged with a neighbour, or takes boxes from it, so the tree shrinks with its contents.
 *
 * One thread at a time. */
#include "grid/region_map_impl.h"

#include "base/check.h"

#include <string.h>

enum { FANOUT = TI_REGION_FANOUT, MIN_COUNT = TI_REGION_MIN_COUNT, MAX_POOLED = FANOUT + 6 };
enum {
    MIN_SPLIT = 6,
    MAX_MERGED = 12
}; /* boxes of either side of a split, and of a root that takes the place of two */
enum { MAX_SPARE = TI_REGION_MAX_SPARE, MAX_SPARE_AFTER_MANY = TI_REGION_MAX_SPARE_AFTER_MANY };

/* Boxes with their payload, outside of tree nodes: while a full tree node is split. */
typedef struct pool {
    int count;
    ti_box box[MAX_POOLED];
    uint64_t value[MAX_POOLED];
} pool;

void ti_region_map_init(ti_region_map *map)
{
    *map = (ti_region_map){ 0 };
}

static void free_node(ti_region_node *node)
{
    ti_free(node, ti_region_node_size(node->capacity));
}

/* With room for `capacity` boxes at least. Nothing points to spare ones that are smaller: they were roots. */
static ti_region_node *take_node(ti_region_map *map, int capacity)
{
    ti_region_node *node;
    while ((node = map->spare)) {
        map->spare = node->next_spare;
        map->spares--;
        if (node->capacity >= capacity) {
            break;
        }
        free_node(node);
    }
    if (!node) {
        node = ti_alloc(ti_region_node_size(capacity));
        node->capacity = (int16_t)capacity;
    }
    node->count = 0;
    node->inner = false;
    node->follow = NULL;
    return node;
}

static void drop_node(ti_region_map *map, ti_region_node *node, int max_spares)
{
    map->finger = map->finger == node ? NULL : map->finger;
    node->count = 0; /* for other fingers */
    if (map->spares < max_spares) {
        node->next_spare = map->spare;
        map->spare = node;
        map->spares++;
    } else {
        map->freed++; /* other fingers do not count any more */
        free_node(node);
    }
}

/* A root that is a leaf gets room for `n` more boxes, if it may have that many. */
static void make_room(ti_region_map *map, int n)
{
    ti_region_node *old = map->root;
    if (TI_LIKELY(map->height > 0 || old->count + n <= old->capacity || old->capacity == FANOUT)) {
        return;
    }
    int capacity = old->count + n <= FANOUT / 4 ? FANOUT / 4 : FANOUT;
    ti_region_node *fresh = take_node(map, capacity);
    fresh->count = old->count;
    memcpy(fresh->box, old->box, (size_t)old->count * sizeof(ti_box));
    memcpy(ti_region_values(fresh), ti_region_values(old), (size_t)old->count * sizeof(uint64_t));
    map->finger = map->finger == old ? fresh : map->finger;
    map->root = fresh;
    drop_node(map, old, 0);
}

static void free_tree(ti_region_node *node, int height)
{
    for (int i = 0; height > 0 && i < node->count; i++) {
        free_tree(ti_region_child(node, i), height - 1);
    }
    free_node(node);
}

/* The scratch list, empty: few maps ever need it. */
static ti_region_entries *orphans_of(ti_region_map *map)
{
    map->orphans = map->orphans ? map->orphans : TI_NEW(ti_region_entries);
    ti_vec_clear(map->orphans);
    return map->orphans;
}

static void drop_fingers(ti_region_map *map)
{
    ti_free(map->fingers, map->fingers ? ti_region_fingers_size(map) : 0);
    ti_free(map->groups, map->groups ? ti_region_groups_size(map) : 0);
    map->fingers = NULL;
    map->groups = NULL;
    map->max_fingers = map->max_groups = 0;
}

void ti_region_map_fini(ti_region_map *map)
{
    if (map->root) {
        free_tree(map->root, map->height);
    }
    while (map->spare) {
        ti_region_node *node = map->spare;
        map->spare = node->next_spare;
        free_node(node);
    }
    if (map->orphans) {
        ti_vec_fini(map->orphans);
        TI_DELETE(map->orphans);
    }
    drop_fingers(map);
    ti_region_map_init(map);
}

/* ---- measures */

/* Volumes are compared only, and may exceed 64 bits: hence floating point. */
static inline double volume(const ti_box *b)
{
    return (double)(b->max[0] - b->min[0]) * (double)(b->max[1] - b->min[1]) * (double)(b->max[2] - b->min[2]);
}

static double margin(const ti_box *b)
{
    return (double)(b->max[0] - b->min[0]) + (double)(b->max[1] - b->min[1]) + (double)(b->max[2] - b->min[2]);
}

static double overlap(const ti_box *a, const ti_box *b)
{
    ti_box c = ti_box_intersect(a, b);
    return ti_box_is_empty(&c) ? 0 : volume(&c);
}

/* ---- insertion */

static void leaf_insert(ti_region_node *leaf, const ti_box *box, uint64_t value)
{
    TI_ASSERT(!leaf->inner && leaf->count < leaf->capacity);
    int i = leaf->count++;
    for (; i > 0 && ti_region_compare(&leaf->box[i - 1], ti_region_values(leaf)[i - 1], box, value) > 0; i--) {
        leaf->box[i] = leaf->box[i - 1];
        ti_region_values(leaf)[i] = ti_region_values(leaf)[i - 1];
    }
    leaf->box[i] = *box;
    ti_region_values(leaf)[i] = value;
}

static void node_put(ti_region_node *node, int height, const ti_box *box, uint64_t value)
{
    if (height == 0) {
        leaf_insert(node, box, value);
    } else {
        TI_ASSERT(node->count < node->capacity);
        node->inner = true;
        node->box[node->count] = *box;
        ti_region_values(node)[node->count++] = value;
    }
}

static void pool_add(pool *p, const ti_region_node *node)
{
    TI_ASSERT(p->count + node->count <= MAX_POOLED);
    memcpy(&p->box[p->count], node->box, (size_t)node->count * sizeof(ti_box));
    memcpy(&p->value[p->count], ti_region_values(node), (size_t)node->count * sizeof(uint64_t));
    p->count += node->count;
}

/* Indices of the pool's boxes, sorted along `d` by their middle. */
static void order_along(const pool *p, int d, uint8_t *order)
{
    for (int i = 0; i < p->count; i++) {
        int64_t key = p->box[i].min[d] / 2 + p->box[i].max[d] / 2;
        int j = i;
        for (; j > 0; j--) {
            const ti_box *before = &p->box[order[j - 1]];
            if (before->min[d] / 2 + before->max[d] / 2 <= key) {
                break;
            }
            order[j] = order[j - 1];
        }
        order[j] = (uint8_t)i;
    }
}

/* How a pool is cut in two: the first `at` boxes in this order, and the others. */
typedef struct cut {
    double overlap, margin;
    int at;
    uint8_t order[MAX_POOLED];
} cut;

/* The best cut of a given order; of equal ones the last, since loops often add in ascending order, and what lies behind
 * the cut is filled next. */
static void rate_cuts(const pool *p, cut *c)
{
    ti_box below[MAX_POOLED], above[MAX_POOLED];
    int n = p->count;
    below[0] = p->box[c->order[0]];
    above[n - 1] = p->box[c->order[n - 1]];
    for (int i = 1; i < n; i++) {
        below[i] = ti_box_bounding(&below[i - 1], &p->box[c->order[i]]);
        above[n - 1 - i] = ti_box_bounding(&above[n - i], &p->box[c->order[n - 1 - i]]);
    }
    c->at = 0;
    for (int at = MIN_SPLIT; at <= n - MIN_SPLIT; at++) {
        double shared = overlap(&below[at - 1], &above[at]), around = margin(&below[at - 1]) + margin(&above[at]);
        if (!c->at || shared < c->overlap || (shared == c->overlap && around <= c->margin)) {
            c->overlap = shared;
            c->margin = around;
            c->at = at;
        }
    }
}

/* Whether all boxes span the same indices of a dimension, so that it does not tell them apart. */
static bool is_same_along(const pool *p, int d)
{
    for (int i = 1; i < p->count; i++) {
        if (p->box[i].min[d] != p->box[0].min[d] || p->box[i].max[d] != p->box[0].max[d]) {
            return false;
        }
    }
    return true;
}

/* Distribute the pool over two tree nodes of this height. */
static void pool_split(const pool *p, int height, ti_region_node *a, ti_region_node *b)
{
    cut best = { .at = 0 };
    for (int d = 2; d >= 0; d--) {
        if (is_same_along(p, d) && (d > 0 || best.at)) {
            continue;
        }
        cut c = { .at = 0 };
        order_along(p, d, c.order);
        rate_cuts(p, &c);
        if (!best.at || c.overlap < best.overlap || (c.overlap == best.overlap && c.margin <= best.margin)) {
            best = c;
        }
    }
    TI_ASSERT(best.at >= MIN_SPLIT && p->count - best.at >= MIN_SPLIT && p->count - best.at <= FANOUT);
    a->count = b->count = 0;
    for (int i = 0; i < p->count; i++) {
        int from = best.order[i];
        node_put(i < best.at ? a : b, height, &p->box[from], p->value[from]);
    }
}

/* Put entries or children into a tree node; if there is no room for them, split it and return the new neighbour. */
static ti_region_node *node_insert(ti_region_map *map, ti_region_node *node, int height, const ti_region_entry *entry,
                                   int n)
{
    if (TI_LIKELY(node->count + n <= FANOUT)) {
        for (int i = 0; i < n; i++) {
            node_put(node, height, &entry[i].box, entry[i].value);
        }
        return NULL;
    }
    pool p = { .count = 0 };
    pool_add(&p, node);
    for (int i = 0; i < n; i++) {
        p.box[p.count] = entry[i].box;
        p.value[p.count++] = entry[i].value;
    }
    ti_region_node *fresh = take_node(map, FANOUT);
    pool_split(&p, height, node, fresh);
    return fresh;
}

/* The entry of a tree node in the one above it. */
static ti_region_entry as_child(ti_region_node *node)
{
    return (ti_region_entry){ ti_region_node_bounding(node), (uint64_t)(uintptr_t)node };
}

/* The child whose box grows least; the smaller one if several do. */
static int choose_child(const ti_region_node *node, const ti_box *box)
{
    int best = 0;
    double best_growth = 0, best_volume = 0;
    for (int i = 0; i < node->count; i++) {
        ti_box grown = ti_box_bounding(&node->box[i], box);
        double before = volume(&node->box[i]), growth = volume(&grown) - before;
        if (i == 0 || growth < best_growth || (growth == best_growth && before < best_volume)) {
            best = i;
            best_growth = growth;
            best_volume = before;
        }
    }
    return best;
}

/* Insert below `node`. Returns the new neighbour if it had to be split; then the caller recomputes its box. */
static ti_region_node *insert_below(ti_region_map *map, ti_region_node *node, int height, const ti_region_entry *entry)
{
    if (height == 0) {
        return node_insert(map, node, 0, entry, 1);
    }
    int at = choose_child(node, &entry->box);
    ti_region_node *child = ti_region_child(node, at), *fresh = insert_below(map, child, height - 1, entry);
    if (!fresh) {
        node->box[at] = ti_box_bounding(&node->box[at], &entry->box);
        return NULL;
    }
    node->box[at] = ti_region_node_bounding(child);
    const ti_region_entry added = as_child(fresh);
    return node_insert(map, node, height, &added, 1);
}

/* The root was split, and `fresh` is its new neighbour, or NULL: then nothing changes. */
static void grow_root(ti_region_map *map, ti_region_node *old, ti_region_node *fresh)
{
    if (!fresh) {
        return;
    }
    ti_region_node *root = take_node(map, FANOUT);
    node_insert(map, root, 1, (ti_region_entry[]){ as_child(old), as_child(fresh) }, 2);
    map->root = root;
    map->height++;
}

void ti_region_map_insert(ti_region_map *map, const ti_box *box, uint64_t value)
{
    TI_ASSERT(!ti_box_is_empty(box));
    if (!map->root) {
        map->root = take_node(map, 1);
        map->height = 0;
    }
    map->count++;
    make_room(map, 1);
    if (TI_LIKELY(map->height == 0 && map->root->count < FANOUT)) {
        leaf_insert(map->root, box, value);
    } else {
        const ti_region_entry entry = { *box, value };
        grow_root(map, map->root, insert_below(map, map->root, map->height, &entry));
    }
    TI_VALIDATE(ti_region_map_seems_valid(map));
}

/* ---- exact boxes */

static void node_erase(ti_region_node *node, int at)
{
    TI_ASSERT(at >= 0 && at < node->count);
    size_t behind = (size_t)(--node->count - at);
    memmove(&node->box[at], &node->box[at + 1], behind * sizeof(ti_box));
    memmove(&ti_region_values(node)[at], &ti_region_values(node)[at + 1], behind * sizeof(uint64_t));
}

/* The neighbour of a child whose joint box is smallest. */
static int choose_neighbour(const ti_region_node *node, int at)
{
    int best = -1;
    double best_volume = 0;
    for (int i = 0; i < node->count; i++) {
        ti_box joint = ti_box_bounding(&node->box[i], &node->box[at]);
        double growth = volume(&joint) - volume(&node->box[i]);
        if (i != at && (best < 0 || growth < best_volume)) {
            best = i;
            best_volume = growth;
        }
    }
    TI_ASSERT(best >= 0 && best != at); /* an inner tree node has two children at least */
    return best;
}

/* A child has too few boxes: merge it with a neighbour, or share the neighbour's. */
static void refill_child(ti_region_map *map, ti_region_node *node, int height, int at)
{
    int other = choose_neighbour(node, at);
    ti_region_node *small = ti_region_child(node, at), *full = ti_region_child(node, other);
    if (small->count + full->count <= FANOUT) {
        for (int i = 0; i < small->count; i++) {
            node_put(full, height - 1, &small->box[i], ti_region_values(small)[i]);
        }
        node->box[other] = ti_box_bounding(&node->box[other], &node->box[at]);
        node_erase(node, at);
        drop_node(map, small, MAX_SPARE);
        return;
    }
    pool p = { .count = 0 };
    pool_add(&p, small);
    pool_add(&p, full);
    pool_split(&p, height - 1, small, full);
    node->box[at] = ti_region_node_bounding(small);
    node->box[other] = ti_region_node_bounding(full);
}

static bool remove_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box, uint64_t value)
{
    if (height == 0) {
        for (int i = 0; i < node->count; i++) {
            if (ti_region_values(node)[i] == value && ti_box_equal(&node->box[i], box)) {
                node_erase(node, i);
                return true;
            }
        }
        return false;
    }
    for (int i = 0; i < node->count; i++) {
        ti_region_node *child = ti_region_child(node, i);
        if (!ti_box_covers(&node->box[i], box) || !remove_below(map, child, height - 1, box, value)) {
            continue;
        }
        node->box[i] = ti_region_node_bounding(child);
        if (child->count < MIN_COUNT) {
            refill_child(map, node, height, i);
        }
        return true;
    }
    return false;
}

/* Give up a root of one child, or of two that fit well into one. */
static void shorten(ti_region_map *map)
{
    while (map->height > 0) {
        ti_region_node *old = map->root;
        if (old->count == 2 && ti_region_child(old, 0)->count + ti_region_child(old, 1)->count <= MAX_MERGED) {
            refill_child(map, old, map->height, 0);
        }
        if (old->count > 1) {
            return;
        }
        map->root = ti_region_child(old, 0);
        map->height--;
        drop_node(map, old, MAX_SPARE);
    }
    if (map->max_fingers > TI_REGION_FINGERS ||
        map->max_groups > TI_REGION_GROUPS) { /* what was large is small: memory goes, too */
        drop_fingers(map);
    }
}

bool ti_region_map_remove(ti_region_map *map, const ti_box *box, uint64_t value)
{
    if (!map->count) {
        return false;
    }
    ti_box copy = *box;
    if (!remove_below(map, map->root, map->height, &copy, value)) {
        return false;
    }
    map->count--;
    shorten(map);
    if (!map->count) {
        drop_node(map, map->root, MAX_SPARE);
        map->root = NULL;
    }
    TI_VALIDATE(ti_region_map_seems_valid(map));
    return true;
}

/* The first neighbour that has this value and makes a box with `box`, which becomes that box; or NULL. */
static const ti_region_entry *join_neighbour(ti_region_map *map, ti_box *box, uint64_t value)
{
    if (!map->count) {
        return NULL;
    }
    ti_region_entries *beside = orphans_of(map);
    ti_region_map_query_joining(map, box, beside);
    for (size_t i = 0; i < beside->count; i++) {
        const ti_region_entry *e = &beside->data[i];
        if (e->value == value && ti_box_join(&e->box, box, box)) {
            return e;
        }
    }
    return NULL;
}

void ti_region_map_insert_joined(ti_region_map *map, const ti_box *box, uint64_t value)
{
    ti_box whole = *box;
    for (const ti_region_entry *e; (e = join_neighbour(map, &whole, value));) {
        ti_region_map_remove(map, &e->box, value);
    }
    ti_region_map_insert(map, &whole, value);
}

/* ---- cutting, removing much */

typedef struct pieces {
    const ti_region_entry *piece;
    int count;
} pieces;

/* Look for the entry below `node`, and cut it. *found says whether it was there. Returns the new neighbour of `node` if
 * that was split, or NULL. */
static ti_region_node *cut_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box,
                                 const pieces *p, bool *found)
{
    for (int i = 0; i < node->count && !*found; i++) {
        if (height == 0 && ti_box_equal(&node->box[i], box)) {
            *found = true;
            ti_region_point_at(map, node, i);
            node_erase(node, i);
            return node_insert(map, node, 0, p->piece, p->count);
        }
        if (height == 0 || !ti_box_covers(&node->box[i], box)) {
            continue;
        }
        ti_region_node *child = ti_region_child(node, i), *fresh = cut_below(map, child, height - 1, box, p, found);
        if (fresh) {
            const ti_region_entry added = as_child(fresh);
            node->box[i] = ti_region_node_bounding(child);
            return node_insert(map, node, height, &added, 1);
        }
    }
    return NULL;
}

void ti_region_map_cut(ti_region_map *map, const ti_box *box, const ti_region_entry *piece, int n)
{
    ti_box copy = *box;
    const pieces p = { piece, n };
    bool found = false;
    TI_ASSERT(map->root && n >= 1 && n <= 7);
    map->count += (size_t)n - 1;
    make_room(map, n - 1);
    if (ti_region_finger_covers(map, &copy) && ti_box_equal(&map->finger->box[map->at], &copy) &&
        map->finger->count + n - 1 <= FANOUT) { /* the pieces are its box, so no box above changes */
        node_erase(map->finger, map->at);
        node_insert(map, map->finger, 0, piece, n);
    } else {
        grow_root(map, map->root, cut_below(map, map->root, map->height, &copy, &p, &found));
        TI_ASSERT(found);
    }
    TI_VALIDATE(ti_region_map_seems_valid(map));
}

/* Give up a whole subtree. Its tree nodes are kept for reuse: what is written at once is often read in parts again. The
 * entries are put into `kept`, unless that is NULL. Returns their number. */
static size_t drop_subtree(ti_region_map *map, ti_region_node *node, int height, ti_region_entries *kept)
{
    size_t entries = 0;
    for (int i = 0; i < node->count; i++) {
        if (height > 0) {
            entries += drop_subtree(map, ti_region_child(node, i), height - 1, kept);
        } else if (kept) {
            ti_region_entry entry = { node->box[i], ti_region_values(node)[i] };
            ti_vec_push(kept, entry);
        }
    }
    entries += height == 0 ? (size_t)node->count : 0;
    drop_node(map, node, MAX_SPARE_AFTER_MANY);
    return entries;
}

/* What is left of tree nodes that became too small goes into `orphans`. Returns how many entries left the tree. */
static size_t remove_inside_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box,
                                  ti_region_entries *orphans)
{
    size_t removed = 0;
    int kept = 0;
    for (int i = 0; i < node->count; i++) {
        bool covered = ti_box_covers(box, &node->box[i]), meets = covered || ti_box_meets(box, &node->box[i]);
        ti_region_node *child = height > 0 ? ti_region_child(node, i) : NULL;
        node->box[kept] = node->box[i];
        ti_region_values(node)[kept] = ti_region_values(node)[i];
        if (height == 0) {
            removed += covered;
            kept += !covered;
            continue;
        }
        size_t fewer = !meets ? 0 : covered ? 0 : remove_inside_below(map, child, height - 1, box, orphans);
        if (covered || child->count < MIN_COUNT) {
            removed += drop_subtree(map, child, height - 1, covered ? NULL : orphans);
        } else {
            node->box[kept] = fewer ? ti_region_node_bounding(child) : node->box[kept];
            kept++;
        }
        removed += fewer;
    }
    node->count = kept;
    return removed;
}

size_t ti_region_map_remove_inside(ti_region_map *map, const ti_box *box)
{
    size_t before = map->count;
    if (!before) {
        return 0;
    }
    ti_box copy = *box;
    ti_region_entries *orphans = map->height > 0 ? orphans_of(map) : NULL;
    map->count -= remove_inside_below(map, map->root, map->height, &copy, orphans);
    if (map->root->count == 0) {
        drop_node(map, map->root, MAX_SPARE);
        map->root = NULL;
        map->height = 0;
    } else {
        shorten(map);
    }
    for (size_t i = 0; orphans && i < orphans->count; i++) {
        ti_region_map_insert(map, &orphans->data[i].box, orphans->data[i].value);
    }
    TI_VALIDATE(ti_region_map_seems_valid(map));
    return before - map->count;
}

/* The one that comes first has the minimum corner of them all, so what is in order stays so. */
size_t ti_region_map_unite(ti_region_map *map, const ti_box *box, uint64_t value)
{
    ti_region_node *leaf = map->root;
    size_t before = map->count;
    int kept = 0, first = -1;
    TI_ASSERT(leaf);
    if (map->height > 0) {
        size_t removed = ti_region_map_remove_inside(map, box);
        ti_region_map_insert(map, box, value);
        return removed;
    }
    for (int i = 0; i < leaf->count; i++) {
        bool inside = ti_box_covers(box, &leaf->box[i]);
        if (inside && first >= 0) {
            continue;
        }
        first = inside ? kept : first;
        leaf->box[kept] = inside ? *box : leaf->box[i];
        ti_region_values(leaf)[kept++] = inside ? value : ti_region_values(leaf)[i];
    }
    TI_ASSERT(first >= 0);
    leaf->count = kept;
    map->count = (size_t)kept;
    ti_region_point_at(map, leaf, first);
    TI_VALIDATE(ti_region_map_seems_valid(map));
    return before - map->count + 1;
}
