/* Questions to region maps: see region_map.h. */
#include "grid/region_map_impl.h"

#include "base/check.h"
#include "base/sort.h"

enum { FANOUT = TI_REGION_FANOUT, MIN_COUNT = TI_REGION_MIN_COUNT, MAX_INSERTED = 16 };

/* Room for all entries. What was known is found again when it is asked for. */
static void grow_fingers(ti_region_map *map)
{
    ti_free(map->fingers, map->fingers ? ti_region_fingers_size(map) : 0);
    map->max_fingers = TI_MAX(map->max_fingers, (uint32_t)TI_REGION_FINGERS);
    while (map->max_fingers < 2 * map->count) {
        map->max_fingers *= 2;
    }
    map->fingers = ti_alloc_zero(ti_region_fingers_size(map));
}

void ti_region_remember(ti_region_map *map, ti_region_node *before, const ti_box *box)
{
    TI_ASSERT(map->height > 0 && map->finger && map->at < map->finger->count);
    if (before && before != map->finger) {
        before->follow = map->finger;
        before->follow_at = map->at;
        before->follow_round = map->freed;
    }
    if (!map->fingers || map->max_fingers < 2 * map->count) {
        grow_fingers(map);
    }
    uint64_t hash = ti_region_corner_hash(box);
    ti_region_finger *first = ti_region_fingers_of(map, hash), *to = first;
    for (int way = 0; way < TI_REGION_FINGER_WAYS; way++) {
        if (!first[way].leaf || first[way].tag == (hash & ti_region_tags) || first[way].round != map->freed) {
            to = &first[way];
            break;
        }
    }
    *to = (ti_region_finger){ map->finger, map->freed, hash & ti_region_tags, (uint32_t)map->at & 0xff };
}

/* Twice as many places as entries, or more: what is asked for differs in how it meets them. */
static void grow_groups(ti_region_map *map)
{
    ti_free(map->groups, map->groups ? ti_region_groups_size(map) : 0);
    map->max_groups = TI_MAX(map->max_groups, (uint32_t)TI_REGION_GROUPS);
    while (map->max_groups < map->count) {
        map->max_groups *= 2;
    }
    map->groups = ti_alloc_zero(ti_region_groups_size(map));
}

void ti_region_remember_group(ti_region_map *map, const ti_region_found *found, const ti_box *box)
{
    int64_t size[3], volume;
    if (map->height == 0 || map->overlapping || found->count > TI_REGION_GROUP_MOST) {
        return;
    }
    for (int d = 0; d < 3; d++) {
        if (__builtin_sub_overflow(box->max[d], box->min[d], &size[d])) {
            return;
        }
    }
    if (__builtin_mul_overflow(size[0], size[1], &volume) || __builtin_mul_overflow(volume, size[2], &volume)) {
        return;
    }
    const uint64_t hash = ti_region_box_hash(box);
    ti_region_group group = {
        .box = *box, .round = map->freed, .tag = (uint32_t)(hash >> 32), .count = (uint8_t)found->count
    };
    for (size_t i = 0; i < found->count; i++) {
        group.leaf[i] = found->leaf[i];
        group.at[i] = (uint8_t)found->at[i];
    }
    if (!ti_region_group_holds(&group)) {
        return;
    }
    if (!map->groups || map->max_groups < map->count) {
        grow_groups(map);
    }
    ti_region_group *first = ti_region_groups_of(map, hash), *to = first;
    for (int way = 0; way < TI_REGION_GROUP_WAYS; way++) {
        if (!first[way].count || first[way].round != map->freed || ti_box_equal(&first[way].box, box)) {
            to = &first[way];
            break;
        }
    }
    *to = group;
}

/* ---- exact boxes */

static bool find_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box)
{
    if (height == 0) {
        for (int i = 0; i < node->count; i++) {
            if (ti_box_equal(&node->box[i], box)) {
                ti_region_point_at(map, node, i);
                return true;
            }
        }
        return false;
    }
    for (int i = 0; i < node->count; i++) {
        if (ti_box_covers(&node->box[i], box) && find_below(map, ti_region_child(node, i), height - 1, box)) {
            return true;
        }
    }
    return false;
}

uint64_t *ti_region_map_near(ti_region_map *map, const ti_box *box)
{
    if (TI_LIKELY(map->fingers && ti_region_fingers_find(map, box))) {
        return &ti_region_values(map->finger)[map->at];
    }
    ti_region_node *before = map->finger;
    if (ti_region_group_of(map, box) || !ti_region_finger_covers(map, box) ||
        !ti_box_equal(&map->finger->box[map->at], box)) {
        return NULL;
    }
    if (map->fingers && map->height > 0) { /* the next time it may not be the next one */
        ti_region_remember(map, before, box);
    }
    return &ti_region_values(map->finger)[map->at];
}

uint64_t *ti_region_map_find(ti_region_map *map, const ti_box *box)
{
    uint64_t *value = map->count ? ti_region_map_near(map, box) : NULL;
    ti_region_node *before = map->finger;
    if (!value && map->count && find_below(map, map->root, map->height, box)) {
        value = &ti_region_values(map->finger)[map->at];
        if (map->height > 0) {
            ti_region_remember(map, before, box);
        }
    }
    return value;
}

/* ---- queries */

/* Whether something in `a` may share a whole face with `b`. */
static inline bool may_join(const ti_box *a, const ti_box *b)
{
    int inside = 0;
    for (int d = 0; d < 3; d++) {
        if (a->min[d] > b->max[d] || b->min[d] > a->max[d]) {
            return false;
        }
        inside += a->min[d] <= b->min[d] && b->max[d] <= a->max[d];
    }
    return inside >= 2;
}

/* Whether the two are a box together: most are told apart by their first dimensions. */
static inline bool joins(const ti_box *a, const ti_box *b)
{
    int along = -1;
    for (int d = 0; d < 3; d++) {
        if (a->min[d] != b->min[d] || a->max[d] != b->max[d]) {
            if (along >= 0 || (a->max[d] != b->min[d] && b->max[d] != a->min[d])) {
                return false;
            }
            along = d;
        }
    }
    return along >= 0;
}

/* Append what meets `box`. */
static void query_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box, ti_region_entries *out,
                        ti_region_found *found)
{
    for (int i = 0; i < node->count; i++) {
        if (!ti_box_meets(&node->box[i], box)) {
            continue;
        }
        if (height == 0) {
            ti_region_entry entry = { node->box[i], ti_region_values(node)[i] };
            ti_vec_push(out, entry);
            ti_region_point_at(map, node, i);
            ti_region_note_found(found, node, i);
        } else {
            query_below(map, ti_region_child(node, i), height - 1, box, out, found);
        }
    }
}

static void query_joining_below(const ti_region_node *node, int height, const ti_box *box, ti_region_entries *out)
{
    for (int i = 0; i < node->count; i++) {
        if (height > 0 && may_join(&node->box[i], box)) {
            query_joining_below(ti_region_child(node, i), height - 1, box, out);
        } else if (height == 0 && joins(&node->box[i], box)) {
            ti_region_entry entry = { node->box[i], ti_region_values(node)[i] };
            ti_vec_push(out, entry);
        }
    }
}

static int by_box(const void *a, const void *b)
{
    const ti_region_entry *x = a, *y = b;
    return ti_region_compare(&x->box, x->value, &y->box, y->value);
}

/* Sort the entries from `first` on: few, or what came from leaves, which are sorted. */
static void sort_from(ti_region_entries *out, size_t first)
{
    TI_ASSERT(first <= out->count);
    size_t n = out->count - first, sorted = first + 1;
    while (sorted < out->count && by_box(&out->data[sorted - 1], &out->data[sorted]) <= 0) {
        sorted++;
    }
    if (sorted < out->count && n > MAX_INSERTED) {
        ti_vec_reserve(out, out->count + n / 2);
        ti_sort(out->data + first, n, sizeof(*out->data), by_box, out->data + out->count);
        return;
    }
    for (size_t i = sorted; i < out->count; i++) {
        ti_region_entry e = out->data[i];
        size_t j = i;
        for (; j > first && by_box(&out->data[j - 1], &e) > 0; j--) {
            out->data[j] = out->data[j - 1];
        }
        out->data[j] = e;
    }
}

void ti_region_map_query(ti_region_map *map, const ti_box *box, ti_region_entries *out)
{
    size_t first = out->count;
    if (!map->count || ti_box_is_empty(box)) {
        return;
    }
    const ti_region_group *group = ti_region_group_of(map, box);
    if (group && ti_region_group_holds(group)) {
        for (int i = 0; i < group->count; i++) {
            const ti_region_node *leaf = group->leaf[i];
            ti_region_entry entry = { leaf->box[group->at[i]], ti_region_values(leaf)[group->at[i]] };
            ti_vec_push(out, entry);
        }
        sort_from(out, first);
        return;
    }
    if (!map->overlapping && ti_region_goes_on(map, box)) {
        ti_region_entry entry = { map->finger->box[map->at], ti_region_values(map->finger)[map->at] };
        ti_vec_push(out, entry);
        return;
    }
    ti_region_node *before = map->finger;
    ti_region_found found = { 0 };
    query_below(map, map->root, map->height, box, out, &found);
    if (out->count > first + 1) {
        ti_region_remember_group(map, &found, box);
        sort_from(out, first);
    } else if (out->count > first && map->height > 0) {
        ti_region_remember(map, before, box);
    }
}

static void refer_in_leaf(ti_region_map *map, ti_region_node *leaf, const ti_box *box, ti_region_refs *out,
                          ti_region_found *found)
{
    ti_vec_reserve(out, out->count + (size_t)leaf->count);
    ti_region_ref *ref = out->data + out->count, *first = ref;
    for (int i = 0; i < leaf->count; i++) {
        if (ti_box_meets(&leaf->box[i], box)) {
            *ref++ = (ti_region_ref){ &leaf->box[i], &ti_region_values(leaf)[i] };
            ti_region_note_found(found, leaf, i);
        }
    }
    if (ref > first) {
        ti_region_point_at(map, leaf, (int)(ref[-1].box - leaf->box));
        out->count += (size_t)(ref - first);
    }
}

static void refer_below(ti_region_map *map, ti_region_node *node, int height, const ti_box *box, ti_region_refs *out,
                        ti_region_found *found)
{
    if (height == 0) {
        refer_in_leaf(map, node, box, out, found);
        return;
    }
    for (int i = 0; i < node->count; i++) {
        if (ti_box_meets(&node->box[i], box)) {
            refer_below(map, ti_region_child(node, i), height - 1, box, out, found);
        }
    }
}

static void refer_to_finger(const ti_region_map *map, ti_region_refs *out)
{
    ti_region_ref ref = { &map->finger->box[map->at], &ti_region_values(map->finger)[map->at] };
    ti_vec_push(out, ref);
}

static void refer_to_group(const ti_region_group *group, ti_region_refs *out)
{
    ti_vec_reserve(out, group->count);
    for (int i = 0; i < group->count; i++) {
        ti_region_node *leaf = group->leaf[i];
        out->data[i] = (ti_region_ref){ &leaf->box[group->at[i]], &ti_region_values(leaf)[group->at[i]] };
    }
    out->count = group->count;
}

/* Search the tree. */
static void refer_anew(ti_region_map *map, const ti_box *box, ti_region_refs *out, bool once)
{
    ti_region_node *before = map->finger;
    ti_region_found found = { 0 };
    refer_below(map, map->root, map->height, box, out, &found);
    if (once) {
        return;
    }
    if (out->count == 1 && map->height > 0) {
        ti_region_remember(map, before, box);
    } else if (out->count > 1) {
        ti_region_remember_group(map, &found, box);
    }
}

static inline void refer(ti_region_map *map, const ti_box *box, ti_region_refs *out, bool once)
{
    const ti_region_group *group;
    ti_vec_clear(out);
    if (!map->count || ti_box_is_empty(box)) {
        return;
    }
    if (map->count == 1) { /* buffers that are always used as wholes */
        ti_region_point_at(map, map->root, 0);
        if (ti_box_meets(map->root->box, box)) {
            refer_to_finger(map, out);
        }
        return;
    }
    if (TI_UNLIKELY(map->overlapping)) {
        refer_anew(map, box, out, once);
    } else if (map->fingers && ti_region_fingers_find(map, box)) { /* tiles come first */
        refer_to_finger(map, out);
    } else if ((group = ti_region_group_of(map, box)) && ti_region_group_holds(group)) {
        refer_to_group(group, out);
    } else if (ti_region_finger_covers(map, box)) {
        refer_to_finger(map, out);
    } else {
        refer_anew(map, box, out, once);
    }
}

void ti_region_map_refer(ti_region_map *map, const ti_box *box, ti_region_refs *out)
{
    refer(map, box, out, false);
}

void ti_region_map_refer_once(ti_region_map *map, const ti_box *box, ti_region_refs *out)
{
    refer(map, box, out, true);
}

void ti_region_map_query_joining(const ti_region_map *map, const ti_box *box, ti_region_entries *out)
{
    size_t first = out->count;
    if (!map->count || ti_box_is_empty(box)) {
        return;
    }
    query_joining_below(map->root, map->height, box, out);
    sort_from(out, first);
}

/* The cursor has a digit per height: which child to go to. That of the lowest inner tree nodes counts fastest. In a map
 * that became smaller it wraps. */
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
        node = ti_region_child(node, TI_MIN(digit, node->count - 1));
    }
    for (int i = 0; i < node->count; i++) {
        ti_region_entry entry = { node->box[i], ti_region_values(node)[i] };
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

/* ---- invariants */

/* Counts the entries below `node` into *entries; false if something is wrong. */
static bool is_valid_below(const ti_region_node *node, int height, int min_count, size_t *entries)
{
    if (node->count < min_count || node->count > node->capacity || (height > 0 && node->capacity < FANOUT)) {
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
        if (!ti_region_child(node, i) || !is_valid_below(ti_region_child(node, i), height - 1, MIN_COUNT, entries)) {
            return false;
        }
        ti_box exact = ti_region_node_bounding(ti_region_child(node, i));
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
    for (const ti_region_node *node = map->spare; node && spares <= TI_REGION_MAX_SPARE_AFTER_MANY;
         node = node->next_spare) {
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
