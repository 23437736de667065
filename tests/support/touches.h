/* What a component of a mapper touches, said for one element, by plain arithmetic: the truth that images are
 * compared with, written without a look at src/. A new kind of component gets a line here. Any thread. */
#ifndef TEST_TOUCHES_H
#define TEST_TOUCHES_H

#include "tacit/tacit.h"

/* Whether x is in [floor(a m / d) - lo, ceil(b m / d) + hi): floor(p / q) <= y is p < (y + 1) q, and ceil(p / q) > y
 * is p > y q. */
static inline bool touches_within(const tacit_component *c, int64_t a, int64_t b, int64_t x)
{
    return a * c->mul < (x + c->lo + 1) * c->div && b * c->mul > (x - c->hi) * c->div;
}

/* Whether the items [a,b) touch element x of a dimension of n elements. */
static inline bool touches(const tacit_component *c, int64_t a, int64_t b, int64_t n, int64_t x)
{
    switch (c->kind) {
    case TACIT_COMPONENT_FULL:
        return true;
    case TACIT_COMPONENT_SPAN:
        return c->lo <= x && x < c->hi;
    case TACIT_COMPONENT_DIM:
        return touches_within(c, a, b, x);
    case TACIT_COMPONENT_PERIODIC:
        if (c->lo == 0 && c->hi == 0) {
            return touches_within(c, a, b, x);
        }
        /* element x is that of all numbers that differ from it by a multiple of n */
        for (int64_t y = a * c->mul / c->div - c->lo; y < b * c->mul / c->div + 1 + c->hi; y++) {
            if (touches_within(c, a, b, y) && (y % n + n) % n == x) {
                return true;
            }
        }
        return false;
    default:
        return false;
    }
}

#endif
