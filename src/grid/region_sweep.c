/* The sweep behind the region algebra: see region_sweep.h.
 *
 * A level cuts along one dimension. Boxes enter a level in the order in which they start and live until they end;
 * between two such events lies a slab, whose cross-section is found by the next level, down to plain intervals. Pieces
 * of a slab that the previous slab had too make its boxes longer. Dimensions in which all boxes agree are skipped.
 * Any thread. */
#include "grid/region_sweep.h"

#include <string.h>

/* One operand at one level: boxes enter from `src` (sorted along the level's dimension) and live until they end. `live`
 * is sorted along the next dimension. */
typedef struct front {
    const ti_box **src, **live;
    size_t n, entered, count;
} front;

/* `open` are the indices in the output of the previous slab's boxes, `fresh` those of the current one's. */
typedef struct level {
    front a, b;
    uint32_t *open, *fresh;
    size_t opened, room;
} level;

typedef struct sweep {
    ti_arena *arena;
    ti_boxes *out;
    ti_region_op op;
    int dims[3], last; /* the dimensions in which boxes differ; the last of them holds intervals */
    ti_box frame;      /* the extent of the current slabs, and of all boxes in the other dimensions */
    level level[2];
} sweep;

static inline void emit(sweep *s, int64_t lo, int64_t hi)
{
    int d = s->dims[s->last];
    s->frame.min[d] = lo;
    s->frame.max[d] = hi;
    ti_vec_push(s->out, s->frame);
}

static void union_intervals(sweep *s, const ti_box **a, size_t na)
{
    int d = s->dims[s->last];
    int64_t lo = a[0]->min[d], hi = a[0]->max[d];
    for (size_t i = 1; i < na; i++) {
        if (a[i]->min[d] > hi) {
            emit(s, lo, hi);
            lo = a[i]->min[d];
            hi = a[i]->max[d];
        } else {
            hi = TI_MAX(hi, a[i]->max[d]);
        }
    }
    emit(s, lo, hi);
}

static void subtract_intervals(sweep *s, const front *a, const front *b)
{
    int d = s->dims[s->last];
    size_t j = 0;
    for (size_t i = 0; i < a->n; i++) {
        int64_t lo = a->src[i]->min[d], hi = a->src[i]->max[d];
        while (j < b->n && b->src[j]->max[d] <= lo) {
            j++;
        }
        for (size_t k = j; k < b->n && b->src[k]->min[d] < hi; k++) {
            if (lo < b->src[k]->min[d]) {
                emit(s, lo, b->src[k]->min[d]);
            }
            lo = TI_MAX(lo, b->src[k]->max[d]);
        }
        if (lo < hi) {
            emit(s, lo, hi);
        }
    }
}

static void intersect_intervals(sweep *s, const front *a, const front *b)
{
    int d = s->dims[s->last];
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        int64_t lo = TI_MAX(a->src[i]->min[d], b->src[j]->min[d]);
        int64_t a_end = a->src[i]->max[d], b_end = b->src[j]->max[d];
        if (lo < TI_MIN(a_end, b_end)) {
            emit(s, lo, TI_MIN(a_end, b_end));
        }
        i += a_end <= b_end;
        j += b_end <= a_end;
    }
}

/* Let boxes end and enter at coordinate `at` of dimension `d`. Returns where the next one ends or enters. */
static inline int64_t front_advance(front *f, int d, int next_dim, int64_t at)
{
    int64_t next = INT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        const ti_box *box = f->live[i];
        f->live[kept] = box;
        kept += box->max[d] > at;
        next = box->max[d] > at ? TI_MIN(next, box->max[d]) : next;
    }
    for (; f->entered < f->n && f->src[f->entered]->min[d] <= at; f->entered++) {
        const ti_box *box = f->src[f->entered];
        if (box->max[d] <= at) {
            continue;
        }
        size_t i = kept++;
        for (; i > 0 && f->live[i - 1]->min[next_dim] > box->min[next_dim]; i--) {
            f->live[i] = f->live[i - 1];
        }
        f->live[i] = box;
        next = TI_MIN(next, box->max[d]);
    }
    f->count = kept;
    return f->entered < f->n ? TI_MIN(next, f->src[f->entered]->min[d]) : next;
}

/* Order of two pieces by their minimum corner in the dimensions after `d`. */
static inline int order_after(const ti_box *x, const ti_box *y, int d)
{
    for (int e = d + 1; e < 3; e++) {
        if (x->min[e] != y->min[e]) {
            return x->min[e] < y->min[e] ? -1 : 1;
        }
    }
    return 0;
}

static inline bool same_after(const ti_box *x, const ti_box *y, int d)
{
    for (int e = d + 1; e < 3; e++) {
        if (x->min[e] != y->min[e] || x->max[e] != y->max[e]) {
            return false;
        }
    }
    return true;
}

static void level_reserve(sweep *s, level *l, size_t n)
{
    if (n > l->room) {
        size_t room = TI_MAX(n, 2 * l->room);
        uint32_t *open = TI_ARENA_ARRAY(s->arena, uint32_t, room);
        if (l->opened) {
            memcpy(open, l->open, l->opened * sizeof(*open));
        }
        l->open = open;
        l->fresh = TI_ARENA_ARRAY(s->arena, uint32_t, room);
        l->room = room;
    }
}

/* The pieces of a new slab lie at the end of the output: those that the previous slab had too make its boxes longer. */
static void extend_open(sweep *s, level *l, int d, size_t start)
{
    size_t end = s->out->count, put = start, i = 0, kept = 0;
    ti_box *out = s->out->data;
    level_reserve(s, l, end - start);
    for (size_t j = start; j < end; j++) {
        while (i < l->opened && order_after(&out[l->open[i]], &out[j], d) < 0) {
            i++;
        }
        if (i < l->opened && same_after(&out[l->open[i]], &out[j], d)) {
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

static void sweep_intervals(sweep *s, const front *a, const front *b)
{
    switch (s->op) {
    case TI_UNION:
        union_intervals(s, a->src, a->n);
        break;
    case TI_SUBTRACT:
        subtract_intervals(s, a, b);
        break;
    case TI_INTERSECT:
        intersect_intervals(s, a, b);
        break;
    }
}

/* Append the result of the operands' pieces from dimension dims[k] on. `a` is not empty. */
static void sweep_level(sweep *s, int k, const front *from_a, const front *from_b)
{
    if (k == s->last ||
        k >= (int)TI_COUNT(s->level)) { /* the second never comes first; it bounds the recursion for the compiler */
        sweep_intervals(s, from_a, from_b);
        return;
    }
    level *l = &s->level[k];
    front *a = &l->a, *b = &l->b;
    int d = s->dims[k], next_dim = s->dims[k + 1];
    a->src = from_a->src, a->n = from_a->n, a->entered = a->count = 0;
    b->src = from_b->src, b->n = from_b->n, b->entered = b->count = 0;
    l->opened = 0;
    int64_t at = a->src[0]->min[d];
    while (a->entered < a->n || a->count > 0) {
        int64_t next_a = front_advance(a, d, next_dim, at), next = next_a;
        if (b->n) {
            int64_t next_b = front_advance(b, d, next_dim, at);
            next = TI_MIN(next_a, next_b);
        }
        if (a->count == 0) {
            l->opened = 0;
            at = next_a;
            continue;
        }
        if (b->count || s->op != TI_INTERSECT) {
            size_t start = s->out->count;
            s->frame.min[d] = at;
            s->frame.max[d] = next;
            sweep_level(s, k + 1, &(front){ .src = a->live, .n = a->count }, &(front){ .src = b->live, .n = b->count });
            extend_open(s, l, d, start);
        } else {
            l->opened = 0;
        }
        at = next;
    }
}

static bool differ_in(ti_span list, const ti_box *first, int d)
{
    for (size_t i = 0; i < list.n; i++) {
        if (list.box[i].min[d] != first->min[d] || list.box[i].max[d] != first->max[d]) {
            return true;
        }
    }
    return false;
}

static const ti_box **pointers(ti_arena *arena, ti_span list)
{
    const ti_box **p = TI_ARENA_ARRAY(arena, const ti_box *, list.n);
    for (size_t i = 0; i < list.n; i++) {
        p[i] = &list.box[i];
    }
    return p;
}

void ti_region_sweep(ti_arena *arena, ti_region_op what, ti_span a, ti_span b, ti_boxes *out)
{
    if (!a.n) {
        return;
    }
    sweep s = { .arena = arena, .out = out, .op = what, .last = -1, .frame = a.box[0] };
    for (int d = 0; d < 3; d++) {
        if (differ_in(a, &a.box[0], d) || differ_in(b, &a.box[0], d)) {
            s.dims[++s.last] = d;
        }
    }
    if (s.last < 0) {
        s.dims[++s.last] = 2;
    }
    for (int k = 0; k < s.last; k++) {
        s.level[k].a.live = TI_ARENA_ARRAY(arena, const ti_box *, a.n);
        s.level[k].b.live = TI_ARENA_ARRAY(arena, const ti_box *, b.n);
    }
    front from_a = { .src = pointers(arena, a), .n = a.n }, from_b = { .src = pointers(arena, b), .n = b.n };
    sweep_level(&s, 0, &from_a, &from_b);
}
