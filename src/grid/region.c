/* Region algebra: see region.h.
 *
 * The idea: the normal form is local. Where two regions are combined, a box that touches no box of the other side (not
 * even at a corner) stays as it is, and the others can be swept by themselves (region_sweep.h). So every operation
 * sorts out the boxes that touch, sweeps these few, and merges the outcome with the rest.
 *
 * Scratch memory is on the stack, and on the heap only for hundreds of boxes. Any thread, one at a time per region. */
#include "grid/region.h"

#include "grid/box_sort.h"
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

/* Whether two disjoint boxes may stand side by side in normal form. A set of disjoint boxes is in normal form if and
 * only if all its pairs are settled: intervals in a row do not touch, pieces of a slab do not continue each other along
 * dimension 1, nor boxes along dimension 0. */
static inline bool settled(const ti_box *a, const ti_box *b)
{
    if (!touches(a, b)) {
        return true;
    }
    bool same2 = a->min[2] == b->min[2] && a->max[2] == b->max[2];
    if (a->max[0] <= b->min[0] || b->max[0] <= a->min[0]) {
        return !(same2 && a->min[1] == b->min[1] && a->max[1] == b->max[1]);
    }
    return (a->max[1] <= b->min[1] || b->max[1] <= a->min[1]) && !same2;
}

/* Whether all of `list` are disjoint from `box` and settled with it. */
static bool all_settled(ti_span list, const ti_box *box)
{
    for (size_t i = 0; i < list.n; i++) {
        if (!settled(&list.box[i], box)) {
            return false;
        }
    }
    return true;
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

/* Replace the box at `at` by its union with `box`, both of which touch nothing else, without a sweep. Returns false if
 * that is not possible. */
static bool unite_pair(ti_boxes *boxes, size_t at, const ti_box *box)
{
    ti_box one = boxes->data[at], pieces[6];
    if (ti_box_covers(box, &one) || continues(&one, box) || continues(box, &one)) {
        ti_box all = ti_box_bounding(box, &one);
        erase(boxes, at);
        insert_sorted(boxes, &all);
        return true;
    }
    if (!ti_box_meets(&one, box)) {
        if (settled(&one, box)) {
            insert_sorted(boxes, box);
            return true;
        }
        return false;
    }
    ti_span rest = { pieces, carve(&one, box, pieces) };
    if (all_settled(rest, box)) {
        boxes->data[at] = *box;
    } else {
        rest.n = carve(box, &one, pieces);
        if (!all_settled(rest, &one)) {
            return false;
        }
    }
    ti_box kept = boxes->data[at];
    erase(boxes, at);
    insert_sorted(boxes, &kept);
    merge_in(boxes, rest);
    return true;
}

void ti_region_add(ti_region *region, const ti_box *added)
{
    ti_boxes *boxes = &region->boxes;
    ti_box box = *added;
    size_t near = 0, last = 0;
    bool calm = true;
    if (ti_box_is_empty(&box)) {
        return;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        if (touches(&boxes->data[i], &box)) {
            if (ti_box_covers(&boxes->data[i], &box)) {
                return;
            }
            calm = calm && !ti_box_meets(&boxes->data[i], &box) && settled(&boxes->data[i], &box);
            near++;
            last = i;
        }
    }
    if (calm) {
        insert_sorted(boxes, &box);
    } else if (near > 1 || !unite_pair(boxes, last, &box)) {
        change(region, TI_UNION, &box);
    }
}

/* Cut `box` out of the one box that it meets, without a sweep. Returns false if the neighbours have to change. */
static bool carve_one(ti_boxes *boxes, size_t at, const ti_box *box)
{
    ti_box pieces[6];
    ti_span rest = { pieces, carve(&boxes->data[at], box, pieces) };
    for (size_t i = 0; i < boxes->count; i++) {
        if (i != at && touches(&boxes->data[i], box) && !all_settled(rest, &boxes->data[i])) {
            return false;
        }
    }
    erase(boxes, at);
    merge_in(boxes, rest);
    return true;
}

void ti_region_remove(ti_region *region, const ti_box *removed)
{
    ti_boxes *boxes = &region->boxes;
    ti_box box = *removed;
    size_t met = 0, last = 0;
    if (ti_box_is_empty(&box)) {
        return;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        if (ti_box_meets(&boxes->data[i], &box)) {
            met++;
            last = i;
        }
    }
    if (met > 1 || (met == 1 && !carve_one(boxes, last, &box))) {
        change(region, TI_SUBTRACT, &box);
    }
}

/* Clip few boxes, all of which meet `box`, one by one. Returns false, and changes nothing, if pieces would join. */
static bool clip_each(ti_boxes *boxes, const ti_box *box)
{
    enum { FEW = 6 };
    ti_box piece[FEW];
    ti_boxes sorted = { piece, 0, FEW };
    if (boxes->count > FEW) {
        return false;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        ti_box p = ti_box_intersect(&boxes->data[i], box);
        if (!all_settled((ti_span){ piece, i }, &p)) {
            return false;
        }
        insert_sorted(&sorted, &p);
    }
    memcpy(boxes->data, piece, boxes->count * sizeof(ti_box));
    return true;
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
    if (cut && !clip_each(boxes, &box)) {
        change(region, TI_INTERSECT, &box);
    }
}

/* ---------------------------------------------------------------- many boxes at once */

/* Whether the minimum corner of a comes after that of b. */
static inline bool starts_after(const ti_box *a, const ti_box *b)
{
    for (int d = 0; d < 3; d++) {
        if (a->min[d] != b->min[d]) {
            return a->min[d] > b->min[d];
        }
    }
    return false;
}

/* Put a box behind sorted ones, of which the first `head` stay as they are. It is joined with the last ones if it
 * completes them. Returns false, and changes nothing, if the box belongs further up. */
static inline bool push_joining(ti_boxes *boxes, size_t head, const ti_box *box)
{
    if (boxes->count == head) {
        ti_vec_push(boxes, *box);
        return true;
    }
    ti_box *last = &boxes->data[boxes->count - 1];
    if (!continues(last, box)) {
        if (starts_after(last, box)) {
            return false;
        }
        if (!ti_box_covers(last, box)) {
            ti_vec_push(boxes, *box);
        }
        return true;
    }
    memcpy(last->max, box->max, sizeof(last->max));
    for (; last > boxes->data + head && continues(last - 1, last); last--) {
        memcpy(last[-1].max, last->max, sizeof(last->max));
        boxes->count--;
    }
    return true;
}

/* Append any boxes to a vector, sorted by minimum corner. Tiles in order shrink to few boxes on the way. */
static void append_sorted(ti_arena *arena, ti_boxes *boxes, ti_span added)
{
    size_t head = boxes->count, i = 0;
    while (i < added.n && (ti_box_is_empty(&added.box[i]) || push_joining(boxes, head, &added.box[i]))) {
        i++;
    }
    if (i == added.n) {
        return;
    }
    for (; i < added.n; i++) {
        if (!ti_box_is_empty(&added.box[i])) {
            ti_vec_push(boxes, added.box[i]);
        }
    }
    size_t n = boxes->count - head;
    ti_box_sort(arena, boxes->data + head, n);
    boxes->count = head;
    for (i = 0; i < n; i++) {
        ti_box box = boxes->data[head + i];
        push_joining(boxes, head, &box);
    }
}

/* Bring the boxes behind the first `head`, which are sorted, into normal form. */
static void normalize_tail(ti_arena *arena, ti_boxes *boxes, size_t head)
{
    if (boxes->count - head < 2) {
        return;
    }
    ti_span list = { boxes->data + head, boxes->count - head };
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
        const ti_box *a = &boxes->data[i];
        if (ti_box_is_empty(a) || (i && ti_box_compare(a - 1, a) >= 0)) {
            return false;
        }
        for (size_t j = i + 1; j < boxes->count && boxes->data[j].min[0] <= a->max[0]; j++) {
            if (ti_box_meets(a, &boxes->data[j]) || !settled(a, &boxes->data[j])) {
                return false;
            }
        }
    }
    return true;
}
