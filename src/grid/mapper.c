/* Range mappers: see mapper.h. The inverse is rule R10 of the version rules (doc/internals.md). */
#include "grid/mapper.h"

#include "base/check.h"
#include "base/map.h"

#include <string.h>

/* Division that rounds toward minus infinity; b > 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return -floor_div(-a, b);
}

static void set_component(tacit_component *to, const tacit_component *from)
{
    to->kind = ti_mapper_spans_all(from) ? TACIT_COMPONENT_FULL : from->kind;
    if (to->kind == TACIT_COMPONENT_FULL) {
        return;
    }
    to->lo = from->lo;
    to->hi = from->hi;
    if (from->kind == TACIT_COMPONENT_DIM) {
        to->mul = from->mul;
        to->div = from->div;
        to->dim = from->dim;
    }
}

static void expand_star(int dims, ti_mapper *out, int *count)
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
    int count = 1;
    memset(&out[0], 0, sizeof(out[0]));
    out[0].dims = dims;
    out[0].custom = from->kind == TACIT_MAPPER_CUSTOM ? from->arg : -1;
    for (int d = 0; d < dims && out[0].custom < 0; d++) {
        set_component(&out[0].c[d], &from->c[d]);
    }
    if (from->kind == TACIT_MAPPER_STAR && dims > 0) {
        expand_star(dims, out, &count);
    }
    return count;
}

static inline void image_along(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    if (c->kind == TACIT_COMPONENT_FULL) {
        *lo = 0;
        *hi = n;
    } else if (c->kind == TACIT_COMPONENT_SPAN) {
        *lo = TI_MAX(c->lo, 0);
        *hi = TI_MIN(c->hi, n);
    } else {
        if (c->mul != c->div) {
            a = floor_div(a * c->mul, c->div);
            b = ceil_div(b * c->mul, c->div);
        }
        *lo = TI_MAX(a - c->lo, 0);
        *hi = TI_MIN(b + c->hi, n);
    }
}

void ti_component_image(const tacit_component *c, int64_t n, int64_t a, int64_t b, int64_t *lo, int64_t *hi)
{
    image_along(c, n, a, b, lo, hi);
}

static inline void component_image(const tacit_component *c, int64_t n, const ti_box *items, int64_t *lo, int64_t *hi)
{
    int k = c->kind == TACIT_COMPONENT_DIM ? c->dim : 0;
    image_along(c, n, items->min[k], items->max[k], lo, hi);
}

bool ti_mapper_image(const ti_mapper *m, const ti_box *extent, const ti_box *items, ti_box *out)
{
    for (int d = 0; d < 3; d++) {
        out->min[d] = 0;
        out->max[d] = 1;
    }
    for (int d = 0; d < m->dims; d++) {
        component_image(&m->c[d], extent->max[d], items, &out->min[d], &out->max[d]);
        if (out->min[d] >= out->max[d]) {
            return false;
        }
    }
    return true;
}

bool ti_mapper_inverse(const ti_mapper *m, const ti_split *s, const ti_box *box, int64_t first[3], int64_t last[3])
{
    for (int d = 0; d < 3; d++) {
        first[d] = 0;
        last[d] = s->parts[d] - 1;
    }
    for (int d = 0; d < m->dims; d++) {
        const tacit_component *c = &m->c[d];
        if (c->kind == TACIT_COMPONENT_FULL) {
            continue;
        }
        if (c->kind == TACIT_COMPONENT_SPAN) {
            if (c->lo >= box->max[d] || c->hi <= box->min[d]) {
                return false;
            }
            continue;
        }
        int k = c->dim;
        /* A chunk qualifies if its begin is below `above` and its end is above `below`. */
        int64_t above = ceil_div((box->max[d] + c->lo) * c->div, c->mul);
        int64_t below = floor_div((box->min[d] - c->hi) * c->div, c->mul);
        if (below >= s->hi[k] || above <= s->lo[k]) {
            return false;
        }
        if (s->place == TI_PLACE_EVERYWHERE) {
            continue;
        }
        if (below >= s->lo[k]) {
            first[k] = TI_MAX(first[k], ti_split_part(s, k, below));
        }
        if (above <= s->hi[k]) {
            last[k] = TI_MIN(last[k], ti_split_part(s, k, above - 1));
        }
        if (first[k] > last[k]) {
            return false;
        }
    }
    return true;
}

bool ti_mapper_is_constant(const ti_mapper *m, const ti_split *s, const ti_box *extent)
{
    for (int d = 0; d < m->dims && s->place != TI_PLACE_EVERYWHERE; d++) {
        const tacit_component *c = &m->c[d];
        if (c->kind != TACIT_COMPONENT_DIM || s->parts[c->dim] == 1) {
            continue;
        }
        /* The last chunk begins highest, the first one ends lowest: if even they reach both ends, all do. */
        ti_box lowest = ti_split_range(s), image;
        lowest.min[c->dim] = ti_split_border(s, c->dim, s->parts[c->dim] - 1);
        lowest.max[c->dim] = ti_split_border(s, c->dim, 1);
        component_image(c, extent->max[d], &lowest, &image.min[0], &image.max[0]);
        if (image.min[0] != 0 || image.max[0] != extent->max[d]) {
            return false;
        }
    }
    return true;
}

bool ti_mapper_is_partitioned(const ti_mapper *m, const ti_split *s, int d)
{
    const tacit_component *c = &m->c[d];
    return c->kind == TACIT_COMPONENT_DIM && c->lo + c->hi <= 0 && s->gran[c->dim] * c->mul % c->div == 0 &&
           s->lo[c->dim] * c->mul % c->div == 0;
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

static bool component_covers(const tacit_component *a, const tacit_component *b)
{
    if (a->kind == TACIT_COMPONENT_FULL) {
        return true;
    }
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == TACIT_COMPONENT_SPAN) {
        return a->lo <= b->lo && a->hi >= b->hi;
    }
    return a->dim == b->dim && a->mul == b->mul && a->div == b->div && a->lo >= b->lo && a->hi >= b->hi;
}

bool ti_mapper_covers(const ti_mapper *a, const ti_mapper *b)
{
    if (a->custom >= 0 || b->custom >= 0) {
        return a->custom == b->custom;
    }
    for (int d = 0; d < a->dims; d++) {
        if (!component_covers(&a->c[d], &b->c[d])) {
            return false;
        }
    }
    return true;
}

const char *ti_mapper_name(const ti_mapper *m, uint32_t parts)
{
    int full = 0, span = 0, same = 0, halo = 0, other = 0;
    for (int d = 0; d < m->dims && m->custom < 0; d++) {
        const tacit_component *c = &m->c[d];
        bool scaled = c->kind == TACIT_COMPONENT_DIM && (c->mul != c->div || c->lo != c->hi || c->lo < 0);
        full += c->kind == TACIT_COMPONENT_FULL;
        span += c->kind == TACIT_COMPONENT_SPAN;
        other += scaled || (c->kind == TACIT_COMPONENT_DIM && c->dim != d && (c->lo || c->hi));
        same += c->kind == TACIT_COMPONENT_DIM && !scaled && c->dim == d;
        halo += c->kind == TACIT_COMPONENT_DIM && !scaled && c->dim == d && c->hi > 0;
    }
    if (m->custom >= 0 || other > 0) {
        return m->custom >= 0 ? "a custom mapper" : "tacit_components";
    }
    if (parts > 1 || same == m->dims) {
        return parts > 1 ? "tacit_star" : halo ? "tacit_neighborhood" : "tacit_one_to_one";
    }
    if (full == m->dims || full + span == m->dims) {
        return full == m->dims ? "tacit_all" : "tacit_fixed";
    }
    if (full + span == 0 && same < m->dims) {
        return "tacit_transposed";
    }
    return full == 1 && same == m->dims - 1 && !halo ? "tacit_slice" : "tacit_components";
}

uint64_t ti_mapper_hash(const ti_mapper *m)
{
    return ti_hash_words(m, sizeof(*m), 1);
}

bool ti_mapper_equal(const ti_mapper *a, const ti_mapper *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}
