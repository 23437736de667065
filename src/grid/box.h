/* One box: a half-open cuboid of indices, always three-dimensional.
 *
 * Dimensions that are not used are [0, 1). A box with min >= max in some dimension is empty. Coordinates are signed, so
 * that halos may leave the buffer before they are clamped. Plain values; any thread. */
#ifndef TI_BOX_H
#define TI_BOX_H

#include "base/macro.h"
#include "tacit/tacit.h"

typedef struct ti_box {
    int64_t min[3], max[3];
} ti_box;

static inline bool ti_box_is_empty(const ti_box *a)
{
    return a->min[0] >= a->max[0] || a->min[1] >= a->max[1] || a->min[2] >= a->max[2];
}

static inline bool ti_box_equal(const ti_box *a, const ti_box *b)
{
    int64_t diff = 0;
    for (int d = 0; d < 3; d++) {
        diff |= (a->min[d] ^ b->min[d]) | (a->max[d] ^ b->max[d]);
    }
    return diff == 0;
}

/* Whether two boxes that are not empty share an index. */
static inline bool ti_box_meets(const ti_box *a, const ti_box *b)
{
    return a->min[0] < b->max[0] && b->min[0] < a->max[0] && a->min[1] < b->max[1] && b->min[1] < a->max[1] &&
           a->min[2] < b->max[2] && b->min[2] < a->max[2];
}

/* Whether `a` covers all of `b`. */
static inline bool ti_box_covers(const ti_box *a, const ti_box *b)
{
    return a->min[0] <= b->min[0] && b->max[0] <= a->max[0] && a->min[1] <= b->min[1] && b->max[1] <= a->max[1] &&
           a->min[2] <= b->min[2] && b->max[2] <= a->max[2];
}

static inline ti_box ti_box_intersect(const ti_box *a, const ti_box *b)
{
    ti_box c;
    for (int d = 0; d < 3; d++) {
        c.min[d] = TI_MAX(a->min[d], b->min[d]);
        c.max[d] = TI_MIN(a->max[d], b->max[d]);
    }
    return c;
}

/* The smallest box around both. */
static inline ti_box ti_box_bounding(const ti_box *a, const ti_box *b)
{
    ti_box c;
    for (int d = 0; d < 3; d++) {
        c.min[d] = TI_MIN(a->min[d], b->min[d]);
        c.max[d] = TI_MAX(a->max[d], b->max[d]);
    }
    return c;
}

/* The smallest box around all of `n` boxes that are not empty; an empty one if there are none. */
static inline ti_box ti_boxes_bounding(const ti_box *box, size_t n)
{
    ti_box all = n ? box[0] : (ti_box){ { 0, 0, 0 }, { 0, 0, 0 } };
    for (size_t i = 1; i < n; i++) {
        all = ti_box_bounding(&all, &box[i]);
    }
    return all;
}

/* Number of indices; 0 if empty. */
static inline int64_t ti_box_volume(const ti_box *a)
{
    return ti_box_is_empty(a) ? 0 : (a->max[0] - a->min[0]) * (a->max[1] - a->min[1]) * (a->max[2] - a->min[2]);
}

/* Order of two corners, dimension 0 first: negative, 0 or positive. */
static inline int ti_corner_compare(const int64_t a[3], const int64_t b[3])
{
    for (int d = 0; d < 3; d++) {
        if (a[d] != b[d]) {
            return a[d] < b[d] ? -1 : 1;
        }
    }
    return 0;
}

/* Order by minimum corner, then by maximum. */
static inline int ti_box_compare(const ti_box *a, const ti_box *b)
{
    int order = ti_corner_compare(a->min, b->min);
    return order ? order : ti_corner_compare(a->max, b->max);
}

/* a without b: at most 6 pieces, dimension 0 first, below before above. Returns their number; 1 and `a` itself if they
 * do not meet. The order is part of the contract: sender and receiver cut alike (doc/internals.md). */
int ti_box_subtract(const ti_box *a, const ti_box *b, ti_box out[6]);

/* A box of the program's, and back. Indices that no box has become large ones. */
static inline ti_box ti_box_from(const tacit_box *from)
{
    ti_box b;
    for (int d = 0; d < 3; d++) {
        b.min[d] = (int64_t)TI_MIN(from->min[d], (size_t)INT64_MAX);
        b.max[d] = (int64_t)TI_MIN(from->max[d], (size_t)INT64_MAX);
    }
    return b;
}
static inline tacit_box ti_box_to_public(const ti_box *from)
{
    tacit_box b;
    for (int d = 0; d < 3; d++) {
        b.min[d] = (size_t)from->min[d];
        b.max[d] = (size_t)from->max[d];
    }
    return b;
}

/* If the two touch along one whole face, their union is a box: stores it and returns true. */
bool ti_box_join(const ti_box *a, const ti_box *b, ti_box *out);

/* Writes "[0,4)x[2,3)" for the first `dims` dimensions. Returns `text`. */
enum { TI_BOX_TEXT = 160 };
const char *ti_box_format(const ti_box *a, int dims, char text[TI_BOX_TEXT]);

/* Around all boxes that there are. */
static inline ti_box ti_box_everything(void)
{
    return (ti_box){ { INT64_MIN / 2, INT64_MIN / 2, INT64_MIN / 2 }, { INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2 } };
}

#endif
