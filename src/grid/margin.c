/* Margins: see margin.h. */
#include "grid/margin.h"

#include "base/check.h"

#include <string.h>

bool ti_margin_equal(const ti_margin *a, const ti_margin *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

ti_box ti_margin_enlarge(const ti_margin *m, const ti_box *chunk, const ti_box *range)
{
    ti_box out;
    for (int d = 0; d < 3; d++) {
        TI_ASSERT(m->lo[d] >= 0 && m->hi[d] >= 0);
        out.min[d] = TI_MAX(chunk->min[d] - m->lo[d], range->min[d]);
        out.max[d] = TI_MIN(chunk->max[d] + m->hi[d], range->max[d]);
    }
    return out;
}

void ti_margin_unit(const ti_mapper *m, int dim, int64_t *unit)
{
    for (int d = 0; d < m->dims && m->custom < 0; d++) {
        const tacit_component *c = &m->c[d];
        if (ti_component_follows(c) && c->dim == dim) {
            *unit = ti_lcm(*unit, c->div / ti_gcd(c->mul, c->div));
        }
    }
}

void ti_margin_widen(const ti_margin *m, ti_mapper *mapper)
{
    TI_ASSERT(mapper->custom < 0);
    for (int d = 0; d < mapper->dims; d++) {
        tacit_component *c = &mapper->c[d];
        if (ti_component_follows(c)) {
            TI_ASSERT(m->lo[c->dim] * c->mul % c->div == 0 && m->hi[c->dim] * c->mul % c->div == 0);
            c->lo += m->lo[c->dim] * c->mul / c->div;
            c->hi += m->hi[c->dim] * c->mul / c->div;
        }
    }
}
