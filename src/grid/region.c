/* Regions: see region.h.
 *
 * The idea: one sweep gives the normal form of any boxes, so a union is the sweep over the boxes of both sides, and an
 * intersection that over the intersections of boxes. Boxes enter a level of the sweep in the order in which they start,
 * and live until they end. Between two such events lies a slab, whose cross-section the next level finds. Pieces that
 * the slab before had, too, make its boxes longer. Dimensions in which all boxes agree are skipped.
 *
 * Invariants: what enters a level is sorted along its dimension, and what it appends is sorted and in normal form.
 * Scratch memory is on the stack, and on the heap only for hundreds of boxes. Any thread, one at a time per list. */
#include "grid/region.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/sort.h"

#include <string.h>

enum { SCRATCH_BYTES = 24 * 1024 };

/* `live` are the boxes that the current slab crosses, sorted along the next dimension; `open` the indices in the output
 * of the boxes that the previous slab reached, in order, and `fresh` room for those of the next one. */
typedef struct level {
    const ti_box **live;
    uint32_t *open, *fresh;
    size_t count, opened, room;
} level;

typedef struct sweep {
    ti_arena arena;
    ti_boxes *out;
    int dims[3], last; /* the dimensions in which boxes differ; the last of them holds intervals */
    ti_box frame;      /* the extent of the current slabs, and of all boxes in the other dimensions */
    level level[2];
    _Alignas(16) char local[SCRATCH_BYTES]; /* the first memory of the arena */
} sweep;

/* ---------------------------------------------------------------- the sweep */

static void unite_intervals(sweep *s, const ti_box **box, size_t n)
{
    int d = s->dims[s->last];
    s->frame.min[d] = box[0]->min[d];
    s->frame.max[d] = box[0]->max[d];
    for (size_t i = 1; i < n; i++) {
        TI_ASSERT(box[i - 1]->min[d] <= box[i]->min[d]);
        if (box[i]->min[d] > s->frame.max[d]) {
            ti_vec_push(s->out, s->frame);
            s->frame.min[d] = box[i]->min[d];
        }
        s->frame.max[d] = TI_MAX(s->frame.max[d], box[i]->max[d]);
    }
    ti_vec_push(s->out, s->frame);
}

/* Lets boxes end that end at `at`. Returns where the next one does. */
static int64_t leave(level *l, int d, int64_t at)
{
    int64_t next = INT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        const ti_box *box = l->live[i];
        l->live[kept] = box;
        kept += box->max[d] > at;
        next = box->max[d] > at ? TI_MIN(next, box->max[d]) : next;
    }
    l->count = kept;
    return next;
}

static void enter(level *l, const ti_box *box, int next_dim)
{
    size_t i = l->count++;
    for (; i > 0 && l->live[i - 1]->min[next_dim] > box->min[next_dim]; i--) {
        l->live[i] = l->live[i - 1];
    }
    l->live[i] = box;
}

/* Order of two pieces by their minimum corner in the dimensions after `d`. */
static int order_after(const ti_box *x, const ti_box *y, int d)
{
    for (int e = d + 1; e < 3; e++) {
        if (x->min[e] != y->min[e]) {
            return x->min[e] < y->min[e] ? -1 : 1;
        }
    }
    return 0;
}

static bool same_after(const ti_box *x, const ti_box *y, int d)
{
    for (int e = d + 1; e < 3; e++) {
        if (x->min[e] != y->min[e] || x->max[e] != y->max[e]) {
            return false;
        }
    }
    return true;
}

static void reserve_open(sweep *s, level *l, size_t n)
{
    if (n > l->room) {
        size_t room = TI_MAX(n, 2 * l->room);
        uint32_t *open = TI_ARENA_ARRAY(&s->arena, uint32_t, room);
        l->open = l->opened ? memcpy(open, l->open, l->opened * sizeof(*open)) : open;
        l->fresh = TI_ARENA_ARRAY(&s->arena, uint32_t, room);
        l->room = room;
    }
}

/* The pieces of a new slab lie in the output from `start` on: those that the previous slab had, too, make its boxes
 * longer. */
static void extend_open(sweep *s, level *l, int d, size_t start)
{
    size_t end = s->out->count, put = start, i = 0, kept = 0;
    ti_box *out = s->out->data;
    reserve_open(s, l, end - start);
    for (size_t j = start; j < end; j++) {
        while (i < l->opened && order_after(&out[l->open[i]], &out[j], d) < 0) {
            i++;
        }
        if (i < l->opened && same_after(&out[l->open[i]], &out[j], d)) {
            TI_ASSERT(out[l->open[i]].max[d] == out[j].min[d]);
            out[l->open[i]].max[d] = out[j].max[d];
            l->fresh[kept++] = l->open[i++];
        } else {
            out[put] = out[j];
            l->fresh[kept++] = (uint32_t)put++;
        }
    }
    s->out->count = put;
    uint32_t *previous = l->open;
    l->open = l->fresh;
    l->fresh = previous;
    l->opened = kept;
}

/* Appends the normal form of what the boxes are in the dimensions from dims[k] on, within the frame. */
static void sweep_level(sweep *s, int k, const ti_box **box, size_t n)
{
    if (k == s->last || k == (int)TI_COUNT(s->level)) { /* the second bounds the recursion for the compiler */
        unite_intervals(s, box, n);
        return;
    }
    level *l = &s->level[k];
    int d = s->dims[k];
    size_t entered = 0;
    l->count = l->opened = 0;
    for (int64_t at = box[0]->min[d], next; entered < n || l->count; at = next) {
        next = leave(l, d, at);
        for (; entered < n && box[entered]->min[d] == at; entered++) {
            enter(l, box[entered], s->dims[k + 1]);
            next = TI_MIN(next, box[entered]->max[d]);
        }
        if (entered < n) {
            TI_ASSERT(box[entered]->min[d] > at); /* sorted, and no start was passed by */
            next = TI_MIN(next, box[entered]->min[d]);
        }
        size_t start = s->out->count;
        if (l->count) {
            s->frame.min[d] = at;
            s->frame.max[d] = next;
            sweep_level(s, k + 1, l->live, l->count);
        }
        extend_open(s, l, d, start);
    }
}

/* ---------------------------------------------------------------- the normal form of a list */

static int by_corner(const void *a, const void *b)
{
    return order_after(*(const ti_box *const *)a, *(const ti_box *const *)b, -1);
}

/* Sorts by minimum corner, and makes neighbours one that are one box, as tiles often are. Returns how many are left. */
static size_t sort_boxes(sweep *s, ti_box *own, size_t n, const ti_box **box)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        box[i] = &own[i];
    }
    ti_sort(box, n, sizeof(*box), by_corner, TI_ARENA_ARRAY(&s->arena, const ti_box *, n / 2));
    for (size_t i = 0; i < n; i++) {
        ti_box *last = kept ? &own[box[kept - 1] - own] : NULL;
        if (!last || !(ti_box_covers(last, box[i]) || ti_box_join(last, box[i], last))) {
            box[kept++] = box[i];
        }
    }
    return kept;
}

/* Chooses the dimensions that matter. */
static void find_dims(sweep *s, const ti_box **box, size_t n)
{
    s->last = -1;
    for (int d = 0; d < 3; d++) {
        size_t i = 1;
        while (i < n && box[i]->min[d] == box[0]->min[d] && box[i]->max[d] == box[0]->max[d]) {
            i++;
        }
        if (i < n) {
            s->dims[++s->last] = d;
        }
    }
    TI_ASSERT(s->last >= 0); /* of equal boxes only one is left */
    for (int k = 0; k < s->last; k++) {
        s->level[k] = (level){ .live = TI_ARENA_ARRAY(&s->arena, const ti_box *, n) };
    }
}

void ti_boxes_normalize(ti_boxes *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++) {
        list->data[n] = list->data[i];
        n += !ti_box_is_empty(&list->data[i]);
    }
    list->count = n;
    if (n < 2) {
        return;
    }
    sweep s;
    s.arena = (ti_arena){ .next = s.local, .end = s.local + sizeof(s.local) };
    s.out = list;
    ti_box *own = ti_arena_copy(&s.arena, list->data, n * sizeof(ti_box));
    const ti_box **box = TI_ARENA_ARRAY(&s.arena, const ti_box *, n);
    n = sort_boxes(&s, own, n, box);
    s.frame = *box[0];
    list->count = 0;
    if (n > 1) {
        find_dims(&s, box, n);
        sweep_level(&s, 0, box, n);
    } else {
        ti_vec_push(list, s.frame);
    }
    if (s.arena.block) {
        ti_arena_fini(&s.arena);
    }
    TI_VALIDATE(ti_boxes_are_normal(list));
}

/* Whether two boxes may stand side by side in normal form: they share no index; intervals of a row have a gap between
 * them; pieces of a slab do not continue each other along dimension 1, nor boxes along dimension 0. A list is in normal
 * form if and only if that holds for all its pairs. */
static bool may_be_neighbours(const ti_box *a, const ti_box *b)
{
    bool apart[3], touch = true;
    for (int d = 0; d < 3; d++) {
        apart[d] = a->max[d] <= b->min[d] || b->max[d] <= a->min[d];
        touch = touch && a->min[d] <= b->max[d] && b->min[d] <= a->max[d];
    }
    bool same1 = a->min[1] == b->min[1] && a->max[1] == b->max[1];
    bool same2 = a->min[2] == b->min[2] && a->max[2] == b->max[2];
    return !touch || (apart[0] ? !(same1 && same2) : apart[1] && !same2);
}

bool ti_boxes_are_normal(const ti_boxes *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const ti_box *a = &list->data[i];
        if (ti_box_is_empty(a) || (i && ti_box_compare(a - 1, a) >= 0)) {
            return false;
        }
        for (size_t j = i + 1; j < list->count && list->data[j].min[0] <= a->max[0]; j++) {
            if (!may_be_neighbours(a, &list->data[j])) {
                return false;
            }
        }
    }
    return true;
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

void ti_boxes_add_missing(ti_boxes *list, const ti_box *box, ti_boxes *rest)
{
    ti_vec_clear(rest);
    ti_vec_push(rest, *box);
    for (size_t i = 0; i < list->count && rest->count; i++) {
        ti_boxes_subtract(rest, &list->data[i]);
    }
    for (size_t i = 0; i < rest->count; i++) {
        ti_vec_push(list, rest->data[i]);
    }
}

/* ---------------------------------------------------------------- regions */

void ti_region_fini(ti_region *region)
{
    ti_vec_fini(&region->boxes);
    region->settled = 0;
}

void ti_region_settle(ti_region *region)
{
    TI_ASSERT(region->settled <= region->boxes.count);
    if (region->settled < region->boxes.count) {
        ti_boxes_normalize(&region->boxes);
        region->settled = region->boxes.count;
    }
}

void ti_region_add(ti_region *region, const ti_box *box)
{
    enum { MAX_UNSETTLED = 64 };
    ti_box added = *box; /* which may lie in the region */
    if (ti_box_is_empty(&added)) {
        return;
    }
    if (region->boxes.count >= 2 * region->settled + MAX_UNSETTLED) {
        ti_region_settle(region);
    }
    ti_vec_push(&region->boxes, added);
}

void ti_region_clip(ti_region *region, const ti_box *box)
{
    ti_box clip = *box;
    for (size_t i = 0; i < region->boxes.count; i++) {
        region->boxes.data[i] = ti_box_intersect(&region->boxes.data[i], &clip);
    }
    region->settled = 0;
    ti_region_settle(region);
}

bool ti_region_meets(const ti_region *region, const ti_box *box)
{
    for (size_t i = 0; i < region->boxes.count && !ti_box_is_empty(box); i++) {
        if (ti_box_meets(&region->boxes.data[i], box)) {
            return true;
        }
    }
    return false;
}

int64_t ti_region_volume(const ti_region *region)
{
    TI_ASSERT(region->settled == region->boxes.count); /* so they are disjoint */
    return ti_boxes_volume(region->boxes.data, region->boxes.count);
}
