/* Range mappers: see mapper.h. The inverse is rule R10 of the version rules (doc/internals.md).
 *
 * Each kind of component has a section with its five functions; switches that are made from the rows of
 * mapper_kinds.h lead to them. */
#include "grid/mapper.h"

#include "base/check.h"
#include "base/map.h"

#include <string.h>

/* The functions of a kind have the same parameters, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- parts of a dimension of the split that may qualify: an arc, which the components of a mapper narrow in turn */

typedef struct parts {
    const ti_split *split;
    int64_t *first, *last;
} parts;

/* To [a,b]. Of an arc that goes around and an interval, the interval stays, since it has all that qualify. */
static inline bool narrow(const parts *p, int k, int64_t a, int64_t b)
{
    bool around = p->first[k] > p->last[k];
    p->first[k] = around ? a : TI_MAX(p->first[k], a);
    p->last[k] = around ? b : TI_MIN(p->last[k], b);
    return p->first[k] <= p->last[k];
}

/* To those that begin below item `above` and end behind item `below`. */
static inline bool narrow_to_items(const parts *p, int k, int64_t below, int64_t above)
{
    const ti_split *s = p->split;
    if (below >= s->hi[k] || above <= s->lo[k]) {
        return false;
    }
    if (s->place == TI_PLACE_EVERYWHERE) {
        return true;
    }
    int64_t a = below >= s->lo[k] ? ti_split_part(s, k, below) : 0;
    int64_t b = above <= s->hi[k] ? ti_split_part(s, k, above - 1) : s->parts[k] - 1;
    return narrow(p, k, a, b);
}

/* ---- full: all of the dimension */

static inline bool full_image(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    *lo = 0;
    *hi = n;
    return false;
}

static inline bool full_inverse(const tacit_component *c, int64_t n, int64_t x, int64_t y, const parts *p)
{
    return true;
}

static inline bool full_is_constant(const tacit_component *c, const ti_split *s, int64_t n)
{
    return true;
}

static inline bool full_is_partitioned(const tacit_component *c, const ti_split *s)
{
    return false;
}

static inline bool full_covers(const tacit_component *a, const tacit_component *b)
{
    return true;
}

/* ---- span: [lo,hi), whatever the chunk */

static inline bool span_image(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    *lo = TI_MAX(c->lo, 0);
    *hi = TI_MIN(c->hi, n);
    return false;
}

static inline bool span_inverse(const tacit_component *c, int64_t n, int64_t x, int64_t y, const parts *p)
{
    return c->lo < y && c->hi > x;
}

#define span_is_constant full_is_constant
#define span_is_partitioned full_is_partitioned

static inline bool span_covers(const tacit_component *a, const tacit_component *b)
{
    return b->kind == TACIT_COMPONENT_SPAN && a->lo <= b->lo && a->hi >= b->hi;
}

/* ---- dim: follows a dimension of the task, scaled, with a halo, clamped */

/* Before clamping. */
static inline void reach(const tacit_component *c, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    if (c->mul != c->div) {
        a = ti_floor_div(a * c->mul, c->div);
        b = ti_ceil_div(b * c->mul, c->div);
    }
    *lo = a - c->lo;
    *hi = b + c->hi;
}

static inline bool dim_image(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    reach(c, a, b, &a, &b);
    *lo = TI_MAX(a, 0);
    *hi = TI_MIN(b, n);
    return false;
}

static inline bool dim_inverse(const tacit_component *c, int64_t n, int64_t x, int64_t y, const parts *p)
{
    int64_t above = ti_ceil_div((y + c->lo) * c->div, c->mul), below = ti_floor_div((x - c->hi) * c->div, c->mul);
    return narrow_to_items(p, c->dim, below, above);
}

/* The last chunk begins highest, the first one ends lowest: if even they reach both ends, all do. */
static inline bool dim_is_constant(const tacit_component *c, const ti_split *s, int64_t n)
{
    int64_t lo, hi;
    dim_image(c, n, ti_split_border(s, c->dim, s->parts[c->dim] - 1), ti_split_border(s, c->dim, 1), &lo, &hi);
    return lo == 0 && hi == n;
}

static inline bool dim_is_partitioned(const tacit_component *c, const ti_split *s)
{
    return c->lo + c->hi <= 0 && s->gran[c->dim] * c->mul % c->div == 0 && s->lo[c->dim] * c->mul % c->div == 0;
}

/* Whether `a` reaches as far as `b` before both are clamped, or go around. */
static inline bool reaches_as_far(const tacit_component *a, const tacit_component *b)
{
    return a->dim == b->dim && a->mul == b->mul && a->div == b->div && a->lo >= b->lo && a->hi >= b->hi;
}

static inline bool dim_covers(const tacit_component *a, const tacit_component *b)
{
    return b->kind == TACIT_COMPONENT_DIM && reaches_as_far(a, b);
}

/* ---- periodic: the same, but behind the end comes the begin */

/* An arc begins in [0,n); one that goes around ends behind n. */
static inline bool periodic_image(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    TI_ASSERT(c->lo >= 0 && c->hi >= 0);
    reach(c, a, b, &a, &b);
    if (b - a >= n) {
        *lo = 0;
        *hi = n;
        return false;
    }
    int64_t turns = (uint64_t)a < (uint64_t)n ? 0 : ti_floor_div(a, n);
    *lo = a - turns * n;
    *hi = b - turns * n;
    return *hi > n;
}

/* Items whose own elements lie in [x - hi, y + lo), which may go around. Both ends of the dimension together are an
 * arc of parts. */
static inline bool periodic_inverse(const tacit_component *c, int64_t n, int64_t x, int64_t y, const parts *p)
{
    const ti_split *s = p->split;
    int k = c->dim;
    int64_t u = x - c->hi, v = y + c->lo;
    bool inside = s->lo[k] >= 0 && s->hi[k] * c->mul <= n * c->div;
    if (v - u >= n || !inside || s->place == TI_PLACE_EVERYWHERE) {
        return true;
    }
    if (u >= 0 && v <= n) {
        return dim_inverse(c, n, x, y, p);
    }
    int64_t end = u < 0 ? v : v - n, begin = end + n - (v - u); /* [0,end) and [begin,n) */
    int64_t above = ti_ceil_div(end * c->div, c->mul), below = ti_floor_div(begin * c->div, c->mul),
            most = s->parts[k] - 1;
    TI_ASSERT(0 < end && end < begin && begin < n);
    if (above <= s->lo[k]) {
        return narrow_to_items(p, k, below, s->hi[k]);
    }
    if (below >= s->hi[k]) {
        return narrow_to_items(p, k, s->lo[k] - 1, above);
    }
    int64_t a = below >= s->lo[k] ? ti_split_part(s, k, below) : 0;
    int64_t b = above <= s->hi[k] ? ti_split_part(s, k, above - 1) : most;
    if (a > b + 1 && p->first[k] == 0 && p->last[k] == most) {
        p->first[k] = a;
        p->last[k] = b;
    }
    return true;
}

/* Only if all chunks have all of the dimension. None is smaller than the last, unless borders are in a table. */
static inline bool periodic_is_constant(const tacit_component *c, const ti_split *s, int64_t n)
{
    int k = c->dim;
    int64_t smallest = k == 0 && s->table ? 1 : s->hi[k] - ti_split_border(s, k, s->parts[k] - 1);
    return ti_ceil_div(smallest * c->mul, c->div) + c->lo + c->hi >= n;
}

#define periodic_is_partitioned full_is_partitioned

static inline bool periodic_covers(const tacit_component *a, const tacit_component *b)
{
    return (b->kind == TACIT_COMPONENT_PERIODIC || b->kind == TACIT_COMPONENT_DIM) && reaches_as_far(a, b);
}

/* ---- from a kind to its functions */

typedef enum component_kind {
#define TI_ROW(KIND, name, rules) KIND_##KIND = TACIT_COMPONENT_##KIND,
    TI_COMPONENT_KINDS(TI_ROW)
#undef TI_ROW
} component_kind;

/* The end of a function that has a case for every kind, which is what CALL makes of the kind's name. */
#define CASE(KIND, name, rules)                                                                                        \
    case KIND_##KIND:                                                                                                  \
        return CALL(name);
#define SWITCH_ON(kind)                                                                                                \
    switch ((component_kind)(kind)) {                                                                                  \
        TI_COMPONENT_KINDS(CASE)                                                                                       \
    }                                                                                                                  \
    TI_UNREACHABLE()

/* Whether it goes around: *hi is behind the end then. */
static inline bool image_along(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
#define CALL(name) name##_image(c, n, a, b, lo, hi)
    SWITCH_ON(__builtin_expect(c->kind, TACIT_COMPONENT_DIM));
#undef CALL
}

static inline bool inverse_along(const tacit_component *c, int64_t n, int64_t x, int64_t y, const parts *p)
{
#define CALL(name) name##_inverse(c, n, x, y, p)
    SWITCH_ON(c->kind);
#undef CALL
}

static bool is_constant_along(const tacit_component *c, const ti_split *s, int64_t n)
{
#define CALL(name) name##_is_constant(c, s, n)
    SWITCH_ON(c->kind);
#undef CALL
}

static bool is_partitioned_along(const tacit_component *c, const ti_split *s)
{
#define CALL(name) name##_is_partitioned(c, s)
    SWITCH_ON(c->kind);
#undef CALL
}

static bool covers_along(const tacit_component *a, const tacit_component *b)
{
#define CALL(name) name##_covers(a, b)
    SWITCH_ON(a->kind);
#undef CALL
}

/* ---- public mappers */

const ti_mapper_kind ti_mapper_kinds[TI_MAPPER_KIND_COUNT + 1] = {
#define TI_ROW(KIND, name, arguments, rules, weight, touches) [TACIT_MAPPER_##KIND] = { "tacit_" #name, rules },
    TI_MAPPER_KINDS(TI_ROW)
#undef TI_ROW
};

const uint8_t ti_component_kinds[UINT8_MAX + 1] = {
#define TI_ROW(KIND, name, rules) [TACIT_COMPONENT_##KIND] = (rules),
    TI_COMPONENT_KINDS(TI_ROW)
#undef TI_ROW
};

/* Field by field, since what lies between them may be anything. */
static inline void set_component(tacit_component *to, const tacit_component *from)
{
    if (from->kind == TACIT_COMPONENT_FULL || ti_mapper_spans_all(from)) {
        to->kind = TACIT_COMPONENT_FULL;
        return;
    }
    to->kind = from->kind;
    to->lo = from->lo;
    to->hi = from->hi;
    unsigned rules = ti_component_rules(from);
    if (rules & TI_FOLLOWS) {
        to->mul = from->mul;
        to->div = from->div;
        to->dim = from->dim;
    }
    if (TI_UNLIKELY(rules & TI_NEEDS_HALO) && !from->lo && !from->hi) {
        to->kind = TACIT_COMPONENT_DIM;
    }
}

static TI_NOINLINE void expand_axes(int dims, ti_mapper *out, int *count)
{
    ti_mapper all = out[0];
    *count = 0;
    for (int axis = 0; axis < dims; axis++) {
        if (all.c[axis].lo || all.c[axis].hi || (axis == dims - 1 && *count == 0)) {
            ti_mapper *m = &out[(*count)++];
            *m = all;
            for (int d = 0; d < dims; d++) {
                m->c[d].lo = d == axis ? all.c[d].lo : 0;
                m->c[d].hi = d == axis ? all.c[d].hi : 0;
            }
        }
    }
}

int ti_mapper_expand(const tacit_mapper *from, int dims, ti_mapper *out)
{
    unsigned rules = ti_mapper_kinds[from->kind].rules;
    int count = 1;
    TI_ASSERT(ti_mapper_kind_of(from->kind) && dims >= 0 && dims <= 3);
    memset(&out[0], 0, sizeof(out[0]));
    out[0].dims = dims;
    out[0].custom = -1;
    if (TI_UNLIKELY(rules & TI_ARG_IS_HANDLE)) {
        out[0].custom = from->arg;
        return 1;
    }
    for (int d = 0; d < dims; d++) {
        set_component(&out[0].c[d], &from->c[d]);
    }
    if (TI_UNLIKELY(rules & TI_ALONG_AXES) && dims > 0) {
        expand_axes(dims, out, &count);
    }
    return count;
}

/* ---- all dimensions together */

void ti_component_bounds(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    if (image_along(c, n, a, b, lo, hi)) {
        *lo = 0;
        *hi = n;
    }
}

/* From a box of arcs to boxes: what lies behind the end of a dimension lies at its begin. */
static TI_NOINLINE int cut_arcs(const ti_box *extent, ti_box *out)
{
    const ti_box arcs = out[0];
    int count = 0;
    for (int low = 7; low >= 0; low--) { /* by minimum corner: dimension 0 is bit 2 */
        bool exists = true;
        ti_box b = arcs;
        for (int d = 0; d < 3; d++) {
            bool at_begin = low >> (2 - d) & 1, around = arcs.max[d] > extent->max[d];
            exists = exists && (around || at_begin);
            if (around) {
                b.min[d] = at_begin ? 0 : arcs.min[d];
                b.max[d] = at_begin ? arcs.max[d] - extent->max[d] : extent->max[d];
            }
        }
        if (exists) {
            out[count++] = b;
        }
    }
    return count;
}

int ti_mapper_image(const ti_mapper *m, const ti_box *extent, const ti_box *items, ti_box *out)
{
    bool around = false;
    TI_ASSERT(m->custom < 0);
    for (int d = 0; d < 3; d++) {
        out->min[d] = 0;
        out->max[d] = 1;
    }
    for (int d = 0; d < m->dims; d++) {
        const tacit_component *c = &m->c[d];
        int64_t n = extent->max[d];
        around |= image_along(c, n, items->min[c->dim], items->max[c->dim], &out->min[d], &out->max[d]);
        if (out->min[d] >= out->max[d]) {
            return 0;
        }
        TI_ASSERT(out->min[d] >= 0 && out->min[d] < n && out->max[d] - out->min[d] <= n);
    }
    return TI_LIKELY(!around) ? 1 : cut_arcs(extent, out);
}

bool ti_mapper_inverse(const ti_mapper *m, const ti_split *s, const ti_box *extent, const ti_box *box, int64_t first[3],
                       int64_t last[3])
{
    const parts p = { s, first, last };
    TI_ASSERT(m->custom < 0 && ti_box_covers(extent, box));
    for (int d = 0; d < 3; d++) {
        first[d] = 0;
        last[d] = s->parts[d] - 1;
    }
    for (int d = 0; d < m->dims; d++) {
        if (!inverse_along(&m->c[d], extent->max[d], box->min[d], box->max[d], &p)) {
            return false;
        }
    }
    return true;
}

bool ti_mapper_is_constant(const ti_mapper *m, const ti_split *s, const ti_box *extent)
{
    for (int d = 0; d < m->dims && s->place != TI_PLACE_EVERYWHERE; d++) {
        const tacit_component *c = &m->c[d];
        if (ti_component_follows(c) && s->parts[c->dim] > 1 && !is_constant_along(c, s, extent->max[d])) {
            return false;
        }
    }
    return true;
}

bool ti_mapper_is_partitioned(const ti_mapper *m, const ti_split *s, int d)
{
    return is_partitioned_along(&m->c[d], s);
}

bool ti_mapper_is_disjoint(const ti_mapper *m, const ti_split *s)
{
    bool used[3] = { false, false, false };
    if (s->place == TI_PLACE_EVERYWHERE) {
        return s->chunks == 1;
    }
    for (int d = 0; d < m->dims; d++) {
        if (ti_mapper_is_partitioned(m, s, d)) {
            used[m->c[d].dim] = true;
        }
    }
    for (int k = 0; k < 3; k++) {
        if (s->parts[k] != 1 && !used[k]) {
            return false;
        }
    }
    return true;
}

bool ti_mapper_covers(const ti_mapper *a, const ti_mapper *b)
{
    if (a->custom >= 0 || b->custom >= 0) {
        return a->custom == b->custom;
    }
    for (int d = 0; d < a->dims; d++) {
        if (!covers_along(&a->c[d], &b->c[d])) {
            return false;
        }
    }
    return true;
}

uint64_t ti_mapper_hash(const ti_mapper *m)
{
    return ti_hash_words(m, sizeof(*m), 1);
}

bool ti_mapper_equal(const ti_mapper *a, const ti_mapper *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}
