/* Region algebra: see region.h.
 *
 * The idea: the normal form is local. Where two regions are combined, a box that touches no box of the other side (not
 * even at a corner) stays as it is, and the others can be swept by themselves (region_sweep.h). So every operation
 * sorts out the boxes that touch, sweeps these few, and merges the outcome with the rest.
 *
 * Scratch memory is on the stack, and on the heap only for hundreds of boxes. Any thread, one at a time per region. */
#include "grid/region.h"

#include "grid/region_sweep.h"

#include <string.h>

/* ---------------------------------------------------------------- scratch and small helpers */

enum { SCRATCH_BYTES = 24 * 1024 };

/* An arena whose first memory is on the stack. */
typedef struct scratch {
    ti_arena arena;
    _Alignas(16) char local[SCRATCH_BYTES];
} scratch;

static inline void scratch_init(scratch *s)
{
    s->arena = (ti_arena){ .next = s->local, .end = s->local + sizeof(s->local) };
}

static inline void scratch_fini(scratch *s)
{
    if (s->arena.block) {
        ti_arena_fini(&s->arena);
    }
}

/* Whether two boxes share an index, a face, an edge or a corner. */
static inline bool touches(const ti_box *a, const ti_box *b)
{
    return a->min[0] <= b->max[0] && b->min[0] <= a->max[0] && a->min[1] <= b->max[1] && b->min[1] <= a->max[1] &&
           a->min[2] <= b->max[2] && b->min[2] <= a->max[2];
}

/* The same for two boxes that are known to touch along dimension 0. */
static inline bool touches_across(const ti_box *a, const ti_box *b)
{
    return (a->min[1] <= b->max[1]) & (b->min[1] <= a->max[1]) & (a->min[2] <= b->max[2]) & (b->min[2] <= a->max[2]);
}

/* Whether b, which is not before a in order, continues a so that both are one box. */
static inline bool continues(const ti_box *a, const ti_box *b)
{
    bool same0 = ((a->min[0] ^ b->min[0]) | (a->max[0] ^ b->max[0])) == 0;
    bool same1 = ((a->min[1] ^ b->min[1]) | (a->max[1] ^ b->max[1])) == 0;
    bool same2 = ((a->min[2] ^ b->min[2]) | (a->max[2] ^ b->max[2])) == 0;
    if (same0) {
        return (same1 && a->max[2] == b->min[2]) || (same2 && a->max[1] == b->min[1]);
    }
    return same1 && same2 && a->max[0] == b->min[0];
}

static void insert_sorted(ti_boxes *boxes, const ti_box *box)
{
    ti_vec_reserve(boxes, boxes->count + 1);
    size_t i = boxes->count++;
    for (; i > 0 && ti_box_compare(&boxes->data[i - 1], box) > 0; i--) {
        boxes->data[i] = boxes->data[i - 1];
    }
    boxes->data[i] = *box;
}

static void erase(ti_boxes *boxes, size_t at)
{
    boxes->count--;
    memmove(&boxes->data[at], &boxes->data[at + 1], (boxes->count - at) * sizeof(ti_box));
}

/* Merge a sorted list into a sorted vector; `from` lies elsewhere. */
static void merge_in(ti_boxes *to, ti_span from)
{
    if (!from.n) {
        return;
    }
    ti_vec_reserve(to, to->count + from.n);
    size_t i = to->count, j = from.n, put = i + j;
    to->count = put;
    while (j > 0) {
        if (i > 0 && ti_box_compare(&to->data[i - 1], &from.box[j - 1]) > 0) {
            to->data[--put] = to->data[--i];
        } else {
            to->data[--put] = from.box[--j];
        }
    }
}

/* The first `head` boxes and those behind them are sorted: make one sorted list of both. */
static void merge_tail(ti_arena *arena, ti_boxes *boxes, size_t head)
{
    if (head == 0 || head == boxes->count || ti_box_compare(&boxes->data[head - 1], &boxes->data[head]) < 0) {
        return;
    }
    size_t n = boxes->count - head;
    const ti_box *tail = ti_arena_copy(arena, boxes->data + head, n * sizeof(ti_box));
    boxes->count = head;
    merge_in(boxes, (ti_span){ tail, n });
}

/* ---------------------------------------------------------------- which boxes touch */

/* Whether so many boxes share their start along dimension 0 that looking for pairs costs more than the sweep. */
static bool is_crowded(ti_span list)
{
    size_t starts = 1;
    for (size_t i = 1; i < list.n; i++) {
        starts += list.box[i].min[0] != list.box[i - 1].min[0];
    }
    return list.n > 64 && 8 * starts < list.n;
}

/* Mark what touches among boxes of `a` and those of `b` that start within them. Returns whether there was any. */
static bool mark_starting(ti_span a, ti_span b, bool *in_a, bool *in_b)
{
    bool any = false;
    size_t first = 0;
    for (size_t i = 0; i < a.n; i++) {
        while (first < b.n && b.box[first].min[0] < a.box[i].min[0]) {
            first++;
        }
        for (size_t j = first; j < b.n && b.box[j].min[0] <= a.box[i].max[0]; j++) {
            if (touches_across(&a.box[i], &b.box[j])) {
                in_a[i] = in_b[j] = any = true;
            }
        }
    }
    return any;
}

static bool mark_pairs(ti_span list, bool *in)
{
    bool any = false;
    for (size_t i = 0; i < list.n; i++) {
        for (size_t j = i + 1; j < list.n && list.box[j].min[0] <= list.box[i].max[0]; j++) {
            if (touches_across(&list.box[i], &list.box[j])) {
                in[i] = in[j] = any = true;
            }
        }
    }
    return any;
}

static bool *flags(ti_arena *arena, size_t n, bool value)
{
    return memset(ti_arena_alloc(arena, n), value, n);
}

/* The boxes of a list whose flag has this value. */
static ti_span select_boxes(ti_arena *arena, ti_span list, const bool *flag, bool value)
{
    ti_box *out = TI_ARENA_ARRAY(arena, ti_box, list.n);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (flag[i] == value) {
            out[n++] = list.box[i];
        }
    }
    return (ti_span){ out, n };
}

static size_t drop_flagged(ti_box *box, size_t n, const bool *flag)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!flag[i]) {
            box[kept++] = box[i];
        }
    }
    return kept;
}

static ti_span merged(ti_arena *arena, ti_span a, ti_span b)
{
    ti_box *out = TI_ARENA_ARRAY(arena, ti_box, a.n + b.n);
    size_t n = 0, i = 0, j = 0;
    while (i < a.n && j < b.n) {
        out[n++] = ti_box_compare(&a.box[i], &b.box[j]) <= 0 ? a.box[i++] : b.box[j++];
    }
    while (i < a.n) {
        out[n++] = a.box[i++];
    }
    while (j < b.n) {
        out[n++] = b.box[j++];
    }
    return (ti_span){ out, n };
}

/* ---------------------------------------------------------------- two regions */

/* boxes = boxes (what) other; both in normal form, and not the same memory. */
static void combine(ti_arena *arena, ti_region_op what, ti_boxes *boxes, ti_span other)
{
    ti_span own = { boxes->data, boxes->count };
    bool all = is_crowded(own) || is_crowded(other);
    bool *in_own = flags(arena, own.n, all), *in_other = flags(arena, other.n, all);
    bool any = all;
    if (!all) {
        any = mark_starting(own, other, in_own, in_other);
        any |= mark_starting(other, own, in_other, in_own);
    }
    ti_span apart = { NULL, 0 };
    size_t head = boxes->count;
    if (any) {
        ti_span near = select_boxes(arena, own, in_own, true), facing = select_boxes(arena, other, in_other, true);
        head = what == TI_INTERSECT ? 0 : drop_flagged(boxes->data, boxes->count, in_own);
        boxes->count = head;
        if (what == TI_UNION) {
            near = merged(arena, near, facing);
            facing.n = 0;
        }
        ti_region_sweep(arena, what, near, facing, boxes);
        merge_tail(arena, boxes, head);
    } else if (what == TI_INTERSECT) {
        boxes->count = 0;
    }
    if (what == TI_UNION) {
        apart = any ? select_boxes(arena, other, in_other, false) : other;
    }
    merge_in(boxes, apart);
}

void ti_region_union(ti_region *region, const ti_region *other)
{
    if (other->boxes.count <= 1 || region == other) {
        if (other->boxes.count == 1) {
            ti_region_add(region, &other->boxes.data[0]);
        }
        return;
    }
    if (region->boxes.count <= 1) {
        ti_box own = region->boxes.count ? region->boxes.data[0] : (ti_box){ { 0 }, { 0 } };
        ti_region_copy(region, other);
        ti_region_add(region, &own);
        return;
    }
    scratch s;
    scratch_init(&s);
    combine(&s.arena, TI_UNION, &region->boxes, (ti_span){ other->boxes.data, other->boxes.count });
    scratch_fini(&s);
}

void ti_region_subtract(ti_region *region, const ti_region *other)
{
    if (region == other) {
        ti_region_clear(region);
    } else if (other->boxes.count == 1) {
        ti_region_remove(region, &other->boxes.data[0]);
    } else if (other->boxes.count && region->boxes.count) {
        scratch s;
        scratch_init(&s);
        combine(&s.arena, TI_SUBTRACT, &region->boxes, (ti_span){ other->boxes.data, other->boxes.count });
        scratch_fini(&s);
    }
}

void ti_region_intersect(ti_region *region, const ti_region *other)
{
    if (region == other || !region->boxes.count) {
        return;
    }
    if (other->boxes.count == 0) {
        ti_region_clear(region);
    } else if (other->boxes.count == 1) {
        ti_region_clip(region, &other->boxes.data[0]);
    } else if (region->boxes.count == 1) {
        ti_box own = region->boxes.data[0];
        ti_region_copy(region, other);
        ti_region_clip(region, &own);
    } else {
        scratch s;
        scratch_init(&s);
        combine(&s.arena, TI_INTERSECT, &region->boxes, (ti_span){ other->boxes.data, other->boxes.count });
        scratch_fini(&s);
    }
}

/* ---------------------------------------------------------------- a region and a box */

/* The general case: sweep the boxes that touch `box` with it, and merge the outcome with the rest. */
static void change(ti_region *region, ti_region_op what, const ti_box *box)
{
    scratch s;
    scratch_init(&s);
    ti_boxes *boxes = &region->boxes;
    ti_box *near = TI_ARENA_ARRAY(&s.arena, ti_box, boxes->count + 1);
    size_t head = 0, n = 0;
    for (size_t i = 0; i < boxes->count; i++) {
        if (touches(&boxes->data[i], box)) {
            near[n++] = boxes->data[i];
        } else {
            boxes->data[head++] = boxes->data[i];
        }
    }
    boxes->count = head = what == TI_INTERSECT ? 0 : head;
    ti_span facing = { box, 1 };
    if (what == TI_UNION) {
        ti_boxes list = { near, n, n + 1 };
        insert_sorted(&list, box);
        n++;
        facing.n = 0;
    }
    ti_region_sweep(&s.arena, what, (ti_span){ near, n }, facing, boxes);
    merge_tail(&s.arena, boxes, head);
    scratch_fini(&s);
}

void ti_region_add(ti_region *region, const ti_box *added)
{
    ti_boxes *boxes = &region->boxes;
    ti_box box = *added;
    size_t near = 0, last = 0;
    if (ti_box_is_empty(&box)) {
        return;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        if (touches(&boxes->data[i], &box)) {
            if (ti_box_covers(&boxes->data[i], &box)) {
                return;
            }
            near++;
            last = i;
        }
    }
    if (near == 0) {
        insert_sorted(boxes, &box);
        return;
    }
    ti_box *one = &boxes->data[last];
    if (near == 1 && (ti_box_covers(&box, one) || continues(one, &box) || continues(&box, one))) {
        box = ti_box_bounding(&box, one);
        erase(boxes, last);
        insert_sorted(boxes, &box);
        return;
    }
    change(region, TI_UNION, &box);
}

/* a without b, which it meets, in normal form: slabs below b, inside out, and then above. */
static size_t carve(const ti_box *a, const ti_box *b, ti_box out[6])
{
    ti_box rest = *a, above[3];
    size_t n = 0, upper = 0;
    for (int d = 0; d < 3; d++) {
        if (rest.min[d] < b->min[d]) {
            out[n] = rest;
            out[n++].max[d] = b->min[d];
            rest.min[d] = b->min[d];
        }
        if (b->max[d] < rest.max[d]) {
            above[upper] = rest;
            above[upper++].min[d] = b->max[d];
            rest.max[d] = b->max[d];
        }
    }
    while (upper) {
        out[n++] = above[--upper];
    }
    return n;
}

void ti_region_remove(ti_region *region, const ti_box *removed)
{
    ti_boxes *boxes = &region->boxes;
    ti_box box = *removed, pieces[6];
    size_t near = 0, last = 0;
    bool any = false;
    if (ti_box_is_empty(&box)) {
        return;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        if (touches(&boxes->data[i], &box)) {
            any |= ti_box_meets(&boxes->data[i], &box);
            near++;
            last = i;
        }
    }
    if (!any) {
        return;
    }
    if (near > 1) {
        change(region, TI_SUBTRACT, &box);
        return;
    }
    size_t n = carve(&boxes->data[last], &box, pieces);
    erase(boxes, last);
    merge_in(boxes, (ti_span){ pieces, n });
}

void ti_region_clip(ti_region *region, const ti_box *clip)
{
    ti_boxes *boxes = &region->boxes;
    ti_box box = *clip;
    size_t n = 0;
    bool cut = false;
    if (ti_box_is_empty(&box)) {
        ti_region_clear(region);
        return;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        if (ti_box_meets(&boxes->data[i], &box)) {
            cut |= !ti_box_covers(&box, &boxes->data[i]);
            boxes->data[n++] = boxes->data[i];
        }
    }
    boxes->count = n;
    if (n == 1) {
        boxes->data[0] = ti_box_intersect(&boxes->data[0], &box);
    } else if (cut) {
        change(region, TI_INTERSECT, &box);
    }
}

/* ---------------------------------------------------------------- many boxes at once */

static int bits_of(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}

static void sort_by_compare(ti_arena *arena, ti_box *box, size_t n)
{
    if (n <= 12) {
        ti_boxes sorted = { box, 0, n };
        for (size_t i = 0; i < n; i++) {
            ti_box b = box[i];
            insert_sorted(&sorted, &b);
        }
        return;
    }
    size_t half = n / 2;
    sort_by_compare(arena, box, half);
    sort_by_compare(arena, box + half, n - half);
    ti_boxes list = { box, n, n };
    merge_tail(arena, &list, half);
}

static void sort_few_keys(uint64_t *key, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t k = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
        }
        key[j] = k;
    }
}

/* Sort by the bits from `low` to `high`, a byte at a time. Returns the sorted array, which is `key` or `other`. */
static uint64_t *sort_keys(uint64_t *key, uint64_t *other, size_t n, int low, int high)
{
    for (int shift = low; shift < high; shift += 8) {
        uint32_t start[257] = { 0 };
        for (size_t i = 0; i < n; i++) {
            start[(key[i] >> shift & 255) + 1]++;
        }
        for (int v = 0; v < 256; v++) {
            start[v + 1] += start[v];
        }
        for (size_t i = 0; i < n; i++) {
            other[start[key[i] >> shift & 255]++] = key[i];
        }
        uint64_t *sorted = other;
        other = key;
        key = sorted;
    }
    return key;
}

/* Sort by minimum corner. Corners and indices are packed into one word, unless the coordinates are too far apart. */
static void sort_boxes(ti_arena *arena, ti_box *box, size_t n)
{
    ti_box range = { { INT64_MAX, INT64_MAX, INT64_MAX }, { INT64_MIN, INT64_MIN, INT64_MIN } };
    int bits[3], index_bits = bits_of(n - 1), total = index_bits;
    for (size_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            range.min[d] = TI_MIN(range.min[d], box[i].min[d]);
            range.max[d] = TI_MAX(range.max[d], box[i].min[d]);
        }
    }
    for (int d = 0; d < 3; d++) {
        bits[d] = bits_of((uint64_t)range.max[d] - (uint64_t)range.min[d]);
        total += bits[d];
    }
    if (total > 63) {
        sort_by_compare(arena, box, n);
        return;
    }
    uint64_t *key = TI_ARENA_ARRAY(arena, uint64_t, n);
    for (size_t i = 0; i < n; i++) {
        key[i] = 0;
        for (int d = 0; d < 3; d++) {
            key[i] = key[i] << bits[d] | ((uint64_t)box[i].min[d] - (uint64_t)range.min[d]);
        }
        key[i] = key[i] << index_bits | i;
    }
    if (n <= 48) {
        sort_few_keys(key, n);
    } else {
        key = sort_keys(key, TI_ARENA_ARRAY(arena, uint64_t, n), n, index_bits, total);
    }
    const ti_box *old = ti_arena_copy(arena, box, n * sizeof(ti_box));
    for (size_t i = 0; i < n; i++) {
        box[i] = old[key[i] & (((uint64_t)1 << index_bits) - 1)];
    }
}

/* Push a box behind sorted ones, at least `head` of which stay, and join it with the last ones if it completes them. */
static inline void push_joining(ti_boxes *boxes, size_t head, const ti_box *box)
{
    ti_vec_push(boxes, *box);
    while (boxes->count > head + 1) {
        ti_box *last = &boxes->data[boxes->count - 1];
        if (ti_box_covers(last - 1, last)) {
            boxes->count--;
        } else if (continues(last - 1, last)) {
            for (int d = 0; d < 3; d++) {
                last[-1].max[d] = last->max[d];
            }
            boxes->count--;
        } else {
            return;
        }
    }
}

/* Append any boxes to a vector, sorted by minimum corner. Tiles in order shrink to few boxes on the way. */
static void append_sorted(ti_arena *arena, ti_boxes *boxes, ti_span added)
{
    size_t head = boxes->count;
    bool sorted = true;
    const ti_box *last = NULL;
    for (size_t i = 0; i < added.n; i++) {
        const ti_box *box = &added.box[i];
        if (ti_box_is_empty(box)) {
            continue;
        }
        sorted = sorted && (!last || ti_box_compare(last, box) <= 0);
        last = box;
        if (sorted) {
            push_joining(boxes, head, box);
        } else {
            ti_vec_push(boxes, *box);
        }
    }
    if (!sorted) {
        size_t n = boxes->count - head;
        sort_boxes(arena, boxes->data + head, n);
        boxes->count = head;
        for (size_t i = 0; i < n; i++) {
            ti_box box = boxes->data[head + i];
            push_joining(boxes, head, &box);
        }
    }
}

/* Bring the boxes behind the first `head`, which are sorted, into normal form. */
static void normalize_tail(ti_arena *arena, ti_boxes *boxes, size_t head)
{
    ti_span list = { boxes->data + head, boxes->count - head };
    if (list.n < 2) {
        return;
    }
    bool all = is_crowded(list);
    bool *near = flags(arena, list.n, all);
    if (!all && !mark_pairs(list, near)) {
        return;
    }
    ti_span touching = select_boxes(arena, list, near, true);
    size_t apart = drop_flagged(boxes->data + head, list.n, near);
    boxes->count = head + apart;
    ti_region_sweep(arena, TI_UNION, touching, (ti_span){ NULL, 0 }, boxes);
    ti_boxes tail = { boxes->data + head, boxes->count - head, boxes->count - head };
    merge_tail(arena, &tail, apart);
}

void ti_region_add_all(ti_region *region, const ti_box *added, size_t n)
{
    if (n <= 1) {
        if (n) {
            ti_region_add(region, added);
        }
        return;
    }
    scratch s;
    scratch_init(&s);
    ti_boxes *boxes = &region->boxes;
    size_t head = boxes->count;
    append_sorted(&s.arena, boxes, (ti_span){ added, n });
    normalize_tail(&s.arena, boxes, head);
    if (head && boxes->count > head) {
        size_t fresh = boxes->count - head;
        const ti_box *tail = ti_arena_copy(&s.arena, boxes->data + head, fresh * sizeof(ti_box));
        boxes->count = head;
        combine(&s.arena, TI_UNION, boxes, (ti_span){ tail, fresh });
    }
    scratch_fini(&s);
}

void ti_boxes_subtract(ti_boxes *list, const ti_box *removed)
{
    ti_box hole = *removed;
    size_t first = 0, n = list->count;
    if (ti_box_is_empty(&hole)) {
        return;
    }
    while (first < n && !ti_box_meets(&list->data[first], &hole)) {
        first++;
    }
    for (size_t i = first; i < n; i++) {
        ti_vec_reserve(list, list->count + 6);
        ti_box box = list->data[i];
        list->count += (size_t)ti_box_subtract(&box, &hole, &list->data[list->count]);
    }
    if (first < n) {
        memmove(&list->data[first], &list->data[n], (list->count - n) * sizeof(ti_box));
        list->count -= n - first;
    }
}

/* ---------------------------------------------------------------- questions */

void ti_region_fini(ti_region *region)
{
    ti_vec_fini(&region->boxes);
}

void ti_region_clear(ti_region *region)
{
    ti_vec_clear(&region->boxes);
}

void ti_region_copy(ti_region *to, const ti_region *from)
{
    if (to == from) {
        return;
    }
    ti_vec_reserve(&to->boxes, from->boxes.count);
    to->boxes.count = from->boxes.count;
    if (from->boxes.count) {
        memcpy(to->boxes.data, from->boxes.data, from->boxes.count * sizeof(ti_box));
    }
}

bool ti_region_covers(const ti_region *region, const ti_box *box)
{
    uint64_t missing = (uint64_t)ti_box_volume(box);
    for (size_t i = 0; missing && i < region->boxes.count; i++) {
        ti_box shared = ti_box_intersect(&region->boxes.data[i], box);
        missing -= (uint64_t)ti_box_volume(&shared);
    }
    return missing == 0;
}

bool ti_region_meets(const ti_region *region, const ti_box *box)
{
    if (ti_box_is_empty(box)) {
        return false;
    }
    for (size_t i = 0; i < region->boxes.count; i++) {
        if (ti_box_meets(&region->boxes.data[i], box)) {
            return true;
        }
    }
    return false;
}

bool ti_region_equal(const ti_region *a, const ti_region *b)
{
    if (a->boxes.count != b->boxes.count) {
        return false;
    }
    for (size_t i = 0; i < a->boxes.count; i++) {
        if (!ti_box_equal(&a->boxes.data[i], &b->boxes.data[i])) {
            return false;
        }
    }
    return true;
}

int64_t ti_region_volume(const ti_region *region)
{
    int64_t sum = 0;
    for (size_t i = 0; i < region->boxes.count; i++) {
        sum += ti_box_volume(&region->boxes.data[i]);
    }
    return sum;
}

ti_box ti_region_bounding(const ti_region *region)
{
    ti_box all = { { 0 }, { 0 } };
    for (size_t i = 0; i < region->boxes.count; i++) {
        all = i ? ti_box_bounding(&all, &region->boxes.data[i]) : region->boxes.data[0];
    }
    return all;
}

bool ti_region_is_valid(const ti_region *region)
{
    const ti_boxes *boxes = &region->boxes;
    if (boxes->count > boxes->capacity || (boxes->count && !boxes->data)) {
        return false;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        if (ti_box_is_empty(&boxes->data[i]) || (i && ti_box_compare(&boxes->data[i - 1], &boxes->data[i]) >= 0)) {
            return false;
        }
    }
    scratch s;
    scratch_init(&s);
    ti_region again = { 0 };
    ti_region_sweep(&s.arena, TI_UNION, (ti_span){ boxes->data, boxes->count }, (ti_span){ NULL, 0 }, &again.boxes);
    bool valid = ti_region_equal(region, &again);
    ti_region_fini(&again);
    scratch_fini(&s);
    return valid;
}
