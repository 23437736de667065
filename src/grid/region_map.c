/* The R-tree behind region maps: see region_map.h.
 *
 * The idea: a tree node has up to 16 boxes, each with a value (leaves) or a child. Insertion descends to the child that
 * grows least; a full tree node is split along the dimension and at the place that leave the least overlap. A tree node
 * that falls below 4 boxes is merged with a neighbour, or takes boxes from it, so the tree shrinks with its contents.
 *
 * Invariants (ti_region_map_is_valid): all leaves lie at height 0; the box of a child is exactly the bounding box of
 * its boxes; every tree node but the root has 4 to 16 boxes, an inner root at least 2; leaves are sorted by box, so
 * that what a map of one leaf answers is already in order. One thread at a time. */
#include "grid/region_map.h"

#include "base/check.h"
#include "base/sort.h"

#include <string.h>

enum { FANOUT = TI_REGION_MAP_FEW, LEAST = 4, SPLIT_LEAST = 6, FEW_ENOUGH = 12 };
enum { MOST_SPARE = 64, FEW_TO_SORT = 16 };

struct ti_region_node {
    int32_t count;
    ti_box box[FANOUT];
    union {
        uint64_t value[FANOUT];
        ti_region_node *child[FANOUT];
        ti_region_node *next_spare;
    };
};

/* Boxes with their payload, outside of tree nodes: while a full tree node is split. */
typedef struct pool {
    int count;
    ti_box box[FANOUT + LEAST];
    uint64_t value[FANOUT + LEAST];
} pool;

void ti_region_map_init(ti_region_map *map)
{
    *map = (ti_region_map){ 0 };
}

static ti_region_node *take_node(ti_region_map *map)
{
    ti_region_node *node = map->spare;
    if (node) {
        map->spare = node->next_spare;
        map->spares--;
    } else {
        node = ti_alloc(sizeof(*node));
    }
    node->count = 0;
    return node;
}

static void drop_node(ti_region_map *map, ti_region_node *node)
{
    map->finger = map->finger == node ? NULL : map->finger;
    if (map->spares < MOST_SPARE) {
        node->next_spare = map->spare;
        map->spare = node;
        map->spares++;
    } else {
        TI_DELETE(node);
    }
}

static void free_tree(ti_region_node *node, int height)
{
    for (int i = 0; height > 0 && i < node->count; i++) {
        free_tree(node->child[i], height - 1);
    }
    TI_DELETE(node);
}

void ti_region_map_fini(ti_region_map *map)
{
    if (map->root) {
        free_tree(map->root, map->height);
    }
    while (map->spare) {
        ti_region_node *node = map->spare;
        map->spare = node->next_spare;
        TI_DELETE(node);
    }
    ti_region_map_init(map);
}

/* ---------------------------------------------------------------- measures */

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

static ti_box bounding(const ti_box *box, int n)
{
    ti_box all = box[0];
    for (int i = 1; i < n; i++) {
        all = ti_box_bounding(&all, &box[i]);
    }
    return all;
}

static inline int entry_compare(const ti_box *a, uint64_t a_value, const ti_box *b, uint64_t b_value)
{
    int order = ti_box_compare(a, b);
    return order ? order : (a_value > b_value) - (a_value < b_value);
}

/* ---------------------------------------------------------------- insertion */

static void leaf_insert(ti_region_node *leaf, const ti_box *box, uint64_t value)
{
    int i = leaf->count++;
    for (; i > 0 && entry_compare(&leaf->box[i - 1], leaf->value[i - 1], box, value) > 0; i--) {
        leaf->box[i] = leaf->box[i - 1];
        leaf->value[i] = leaf->value[i - 1];
    }
    leaf->box[i] = *box;
    leaf->value[i] = value;
}

static void node_append(ti_region_node *node, const ti_box *box, uint64_t value)
{
    node->box[node->count] = *box;
    node->value[node->count++] = value;
}

static void node_put(ti_region_node *node, int height, const ti_box *box, uint64_t value)
{
    if (height == 0) {
        leaf_insert(node, box, value);
    } else {
        node_append(node, box, value);
    }
}

static void pool_add(pool *p, const ti_region_node *node)
{
    memcpy(&p->box[p->count], node->box, (size_t)node->count * sizeof(ti_box));
    memcpy(&p->value[p->count], node->value, (size_t)node->count * sizeof(uint64_t));
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
    uint8_t order[FANOUT + LEAST];
} cut;

/* The best cut of a given order. */
static void rate_cuts(const pool *p, cut *c)
{
    ti_box below[FANOUT + LEAST], above[FANOUT + LEAST];
    int n = p->count;
    below[0] = p->box[c->order[0]];
    above[n - 1] = p->box[c->order[n - 1]];
    for (int i = 1; i < n; i++) {
        below[i] = ti_box_bounding(&below[i - 1], &p->box[c->order[i]]);
        above[n - 1 - i] = ti_box_bounding(&above[n - i], &p->box[c->order[n - 1 - i]]);
    }
    c->at = 0;
    for (int at = SPLIT_LEAST; at <= n - SPLIT_LEAST; at++) {
        double shared = overlap(&below[at - 1], &above[at]), around = margin(&below[at - 1]) + margin(&above[at]);
        if (!c->at || shared < c->overlap || (shared == c->overlap && around < c->margin)) {
            c->overlap = shared;
            c->margin = around;
            c->at = at;
        }
    }
}

/* Distribute the pool over two tree nodes of this height. */
static void pool_split(const pool *p, int height, ti_region_node *a, ti_region_node *b)
{
    cut best = { .at = 0 };
    for (int d = 0; d < 3; d++) {
        cut c = { .at = 0 };
        order_along(p, d, c.order);
        rate_cuts(p, &c);
        if (!best.at || c.overlap < best.overlap || (c.overlap == best.overlap && c.margin < best.margin)) {
            best = c;
        }
    }
    a->count = b->count = 0;
    for (int i = 0; i < p->count; i++) {
        int from = best.order[i];
        node_put(i < best.at ? a : b, height, &p->box[from], p->value[from]);
    }
}

/* Put an entry or child into a tree node; if it is full, split it and return the new neighbour. */
static ti_region_node *node_insert(ti_region_map *map, ti_region_node *node, int height, const ti_box *box,
                                   uint64_t value)
{
    if (TI_LIKELY(node->count < FANOUT)) {
        node_put(node, height, box, value);
        return NULL;
    }
    pool p = { .count = 0 };
    pool_add(&p, node);
    p.box[p.count] = *box;
    p.value[p.count++] = value;
    ti_region_node *fresh = take_node(map);
    pool_split(&p, height, node, fresh);
    return fresh;
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
static ti_region_node *insert_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box,
                                    uint64_t value)
{
    if (height == 0) {
        return node_insert(map, node, 0, box, value);
    }
    int at = choose_child(node, box);
    ti_region_node *child = node->child[at], *fresh = insert_below(map, child, height - 1, box, value);
    if (!fresh) {
        node->box[at] = ti_box_bounding(&node->box[at], box);
        return NULL;
    }
    node->box[at] = bounding(child->box, child->count);
    ti_box fresh_box = bounding(fresh->box, fresh->count);
    return node_insert(map, node, height, &fresh_box, (uint64_t)(uintptr_t)fresh);
}

void ti_region_map_insert(ti_region_map *map, const ti_box *box, uint64_t value)
{
    TI_ASSERT(!ti_box_is_empty(box));
    if (!map->root) {
        map->root = take_node(map);
        map->height = 0;
    }
    map->count++;
    if (TI_LIKELY(map->height == 0 && map->root->count < FANOUT)) {
        leaf_insert(map->root, box, value);
        return;
    }
    ti_box copy = *box;
    ti_region_node *old = map->root, *fresh = insert_below(map, old, map->height, &copy, value);
    if (fresh) {
        ti_region_node *root = take_node(map);
        ti_box old_box = bounding(old->box, old->count), fresh_box = bounding(fresh->box, fresh->count);
        node_append(root, &old_box, (uint64_t)(uintptr_t)old);
        node_append(root, &fresh_box, (uint64_t)(uintptr_t)fresh);
        map->root = root;
        map->height++;
    }
}

/* ---------------------------------------------------------------- exact boxes */

static inline void point_at(ti_region_map *map, ti_region_node *leaf, int at)
{
    map->finger = leaf;
    map->at = at;
}

/* The first of the finger's entry and the one after it that covers `box` becomes the finger's: whether there is one. */
static inline bool finger_covers(ti_region_map *map, const ti_box *box)
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

static bool find_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box)
{
    if (height == 0) {
        for (int i = 0; i < node->count; i++) {
            if (ti_box_equal(&node->box[i], box)) {
                point_at(map, node, i);
                return true;
            }
        }
        return false;
    }
    for (int i = 0; i < node->count; i++) {
        if (ti_box_covers(&node->box[i], box) && find_below(map, node->child[i], height - 1, box)) {
            return true;
        }
    }
    return false;
}

uint64_t *ti_region_map_find(ti_region_map *map, const ti_box *box)
{
    if (!map->count) {
        return NULL;
    }
    if (finger_covers(map, box) && ti_box_equal(&map->finger->box[map->at], box)) {
        return &map->finger->value[map->at];
    }
    return find_below(map, map->root, map->height, box) ? &map->finger->value[map->at] : NULL;
}

static void node_erase(ti_region_node *node, int at)
{
    size_t behind = (size_t)(--node->count - at);
    memmove(&node->box[at], &node->box[at + 1], behind * sizeof(ti_box));
    memmove(&node->value[at], &node->value[at + 1], behind * sizeof(uint64_t));
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
    return best;
}

/* A child has too few boxes: merge it with a neighbour, or share the neighbour's. */
static void refill_child(ti_region_map *map, ti_region_node *node, int height, int at)
{
    int other = choose_neighbour(node, at);
    ti_region_node *small = node->child[at], *full = node->child[other];
    if (small->count + full->count <= FANOUT) {
        for (int i = 0; i < small->count; i++) {
            node_put(full, height - 1, &small->box[i], small->value[i]);
        }
        node->box[other] = ti_box_bounding(&node->box[other], &node->box[at]);
        node_erase(node, at);
        drop_node(map, small);
        return;
    }
    pool p = { .count = 0 };
    pool_add(&p, small);
    pool_add(&p, full);
    pool_split(&p, height - 1, small, full);
    node->box[at] = bounding(small->box, small->count);
    node->box[other] = bounding(full->box, full->count);
}

static bool remove_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box, uint64_t value)
{
    if (height == 0) {
        for (int i = 0; i < node->count; i++) {
            if (node->value[i] == value && ti_box_equal(&node->box[i], box)) {
                node_erase(node, i);
                return true;
            }
        }
        return false;
    }
    for (int i = 0; i < node->count; i++) {
        ti_region_node *child = node->child[i];
        if (!ti_box_covers(&node->box[i], box) || !remove_below(map, child, height - 1, box, value)) {
            continue;
        }
        node->box[i] = bounding(child->box, child->count);
        if (child->count < LEAST) {
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
        if (old->count == 2 && old->child[0]->count + old->child[1]->count <= FEW_ENOUGH) {
            refill_child(map, old, map->height, 0);
        }
        if (old->count > 1) {
            return;
        }
        map->root = old->child[0];
        map->height--;
        drop_node(map, old);
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
        drop_node(map, map->root);
        map->root = NULL;
    }
    return true;
}

/* ---------------------------------------------------------------- queries */

static inline bool reaches(const ti_box *a, const ti_box *b)
{
    return a->min[0] <= b->max[0] && b->min[0] <= a->max[0] && a->min[1] <= b->max[1] && b->min[1] <= a->max[1] &&
           a->min[2] <= b->max[2] && b->min[2] <= a->max[2];
}

/* Whether two boxes that reach each other share more than an edge or corner. */
static inline bool shares_face(const ti_box *a, const ti_box *b)
{
    int edges = 0;
    for (int d = 0; d < 3; d++) {
        edges += a->min[d] == b->max[d] || b->min[d] == a->max[d];
    }
    return edges <= 1;
}

/* Append what meets `box`. */
static void query_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box, ti_region_entries *out)
{
    for (int i = 0; i < node->count; i++) {
        if (!ti_box_meets(&node->box[i], box)) {
            continue;
        }
        if (height == 0) {
            ti_region_entry entry = { node->box[i], node->value[i] };
            ti_vec_push(out, entry);
            point_at(map, node, i);
        } else {
            query_below(map, node->child[i], height - 1, box, out);
        }
    }
}

static void query_touching_below(const ti_region_node *node, int height, const ti_box *box, ti_region_entries *out)
{
    for (int i = 0; i < node->count; i++) {
        if (!reaches(&node->box[i], box)) {
            continue;
        }
        if (height > 0) {
            query_touching_below(node->child[i], height - 1, box, out);
        } else if (shares_face(&node->box[i], box)) {
            ti_region_entry entry = { node->box[i], node->value[i] };
            ti_vec_push(out, entry);
        }
    }
}

static inline bool in_order(const ti_region_entry *a, const ti_region_entry *b)
{
    return entry_compare(&a->box, a->value, &b->box, b->value) <= 0;
}

/* Merge the sorted runs [from, mid) and [mid, end) into `to`. */
static void merge_runs(const ti_region_entry *from, size_t mid, size_t end, ti_region_entry *to)
{
    for (size_t i = 0, j = mid, put = 0; put < end; put++) {
        to[put] = i < mid && (j == end || in_order(&from[i], &from[j])) ? from[i++] : from[j++];
    }
}

/* Sort n entries; `other` has room for as many. Leaves are sorted, so short runs in order are common. */
static void sort_entries(ti_region_entry *entry, size_t n, ti_region_entry *other)
{
    if (n <= FEW_TO_SORT) {
        for (size_t i = 1; i < n; i++) {
            ti_region_entry e = entry[i];
            size_t j = i;
            for (; j > 0 && !in_order(&entry[j - 1], &e); j--) {
                entry[j] = entry[j - 1];
            }
            entry[j] = e;
        }
        return;
    }
    sort_entries(entry, n / 2, other);
    sort_entries(entry + n / 2, n - n / 2, other);
    if (!in_order(&entry[n / 2 - 1], &entry[n / 2])) {
        merge_runs(entry, n / 2, n, other);
        memcpy(entry, other, n * sizeof(*entry));
    }
}

static void sort_from(ti_region_entries *out, size_t first)
{
    size_t n = out->count - first, i = 1;
    while (i < n && in_order(&out->data[first + i - 1], &out->data[first + i])) {
        i++;
    }
    if (i < n) {
        if (n > FEW_TO_SORT) {
            ti_vec_reserve(out, out->count + n);
        }
        sort_entries(out->data + first, n, out->data + out->count);
    }
}

void ti_region_map_query(ti_region_map *map, const ti_box *box, ti_region_entries *out)
{
    size_t first = out->count;
    if (!map->count || ti_box_is_empty(box)) {
        return;
    }
    if (!map->overlapping && finger_covers(map, box)) {
        ti_region_entry entry = { map->finger->box[map->at], map->finger->value[map->at] };
        ti_vec_push(out, entry);
        return;
    }
    query_below(map, map->root, map->height, box, out);
    if (out->count > first + 1) {
        sort_from(out, first);
    }
}

static void refer_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box, ti_region_refs *out)
{
    for (int i = 0; i < node->count; i++) {
        if (!ti_box_meets(&node->box[i], box)) {
            continue;
        }
        if (height == 0) {
            ti_region_ref ref = { &node->box[i], &node->value[i] };
            ti_vec_push(out, ref);
            point_at(map, node, i);
        } else {
            refer_below(map, node->child[i], height - 1, box, out);
        }
    }
}

static int compare_refs(const void *a, const void *b)
{
    const ti_region_ref *x = a, *y = b;
    return entry_compare(x->box, *x->value, y->box, *y->value);
}

/* Leaves are sorted, and often come in order. */
void ti_region_map_refer(ti_region_map *map, const ti_box *box, ti_region_refs *out)
{
    ti_vec_clear(out);
    if (!map->count || ti_box_is_empty(box)) {
        return;
    }
    if (!map->overlapping && finger_covers(map, box)) {
        ti_region_ref ref = { &map->finger->box[map->at], &map->finger->value[map->at] };
        ti_vec_push(out, ref);
        return;
    }
    refer_below(map, map->root, map->height, box, out);
    for (size_t i = 1; map->height > 0 && i < out->count; i++) {
        if (compare_refs(&out->data[i - 1], &out->data[i]) > 0) {
            ti_vec_reserve(out, out->count + out->count / 2);
            ti_sort(out->data, out->count, sizeof(out->data[0]), compare_refs, out->data + out->count);
            return;
        }
    }
}

void ti_region_map_query_touching(const ti_region_map *map, const ti_box *box, ti_region_entries *out)
{
    size_t first = out->count;
    if (!map->count || ti_box_is_empty(box)) {
        return;
    }
    query_touching_below(map->root, map->height, box, out);
    if (out->count > first + 1) {
        sort_from(out, first);
    }
}

/* The cursor has a digit per height, of which the lowest inner one counts fastest: which child to go to. A map that became smaller wraps it. */
void ti_region_map_visit(const ti_region_map *map, uint64_t *cursor, ti_region_entries *out)
{
    const ti_region_node *node = map->root, *path[16];
    if (!map->count) {
        return;
    }
    int top = TI_MIN(map->height, 15);
    for (int h = map->height; h > 0; h--) {
        int digit = h <= top ? (int)(*cursor >> 4 * h & 15) : 0;
        path[TI_MIN(h, 15)] = node;
        node = node->child[TI_MIN(digit, node->count - 1)];
    }
    for (int i = 0; i < node->count; i++) {
        ti_region_entry entry = { node->box[i], node->value[i] };
        ti_vec_push(out, entry);
    }
    for (int h = 1; h <= top; h++) {
        uint64_t digit = *cursor >> 4 * h & 15;
        *cursor &= ~((uint64_t)15 << 4 * h);
        if ((int)digit + 1 < path[h]->count) {
            *cursor |= (digit + 1) << 4 * h;
            return;
        }
    }
}

/* ---------------------------------------------------------------- invariants */

/* Counts the entries below `node` into *entries; false if something is wrong. */
static bool is_valid_below(const ti_region_node *node, int height, int least, size_t *entries)
{
    if (node->count < least || node->count > FANOUT) {
        return false;
    }
    for (int i = 0; i < node->count; i++) {
        if (ti_box_is_empty(&node->box[i])) {
            return false;
        }
        if (height == 0) {
            if (i && ti_box_compare(&node->box[i - 1], &node->box[i]) > 0) {
                return false;
            }
            continue;
        }
        if (!node->child[i] || !is_valid_below(node->child[i], height - 1, LEAST, entries)) {
            return false;
        }
        ti_box exact = bounding(node->child[i]->box, node->child[i]->count);
        if (!ti_box_equal(&exact, &node->box[i])) {
            return false;
        }
    }
    *entries += height == 0 ? (size_t)node->count : 0;
    return true;
}

bool ti_region_map_is_valid(const ti_region_map *map)
{
    size_t entries = 0;
    int spares = 0;
    for (const ti_region_node *node = map->spare; node && spares <= MOST_SPARE; node = node->next_spare) {
        spares++;
    }
    if (spares != map->spares || map->height < 0 || !map->root != !map->count) {
        return false;
    }
    if (map->root && !is_valid_below(map->root, map->height, map->height ? 2 : 1, &entries)) {
        return false;
    }
    return entries == map->count;
}
