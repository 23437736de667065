/* tacit/box.h: ranges and boxes: how large something is, and which part of it is meant.
 *
 * Sizes and indices count elements of a buffer or items of a task, never bytes. Intervals are
 * half-open: [a, b) has the indices a, a + 1, ..., b - 1. Dimension 0 is the slowest: elements that
 * follow each other in memory differ in the last dimension. So a matrix is (rows, columns), and a
 * volume (planes, rows, columns).
 *
 *     range (4, 6), a matrix of 4 rows and 6 columns, and in it the box [1, 3) x [2, 5):
 *
 *              j = 0 1 2 3 4 5
 *         i = 0    . . . . . .
 *             1    . . # # # .         min = { 1, 2, 0 }, max = { 3, 5, 1 }: 2 * 3 elements
 *             2    . . # # # .         tacit_box2(1, 3, 2, 5)
 *             3    . . . . . .
 *
 * All of this is plain values. The functions check nothing and have no side effects; any thread, any
 * node. */
#ifndef TACIT_BOX_H
#define TACIT_BOX_H

#include <tacit/base.h>

TACIT_C_BEGIN_

/* Buffers and tasks have 0 to 3 dimensions. */
#define TACIT_MAX_DIMS 3

/* ==================================================================================== ranges */

/* The extent of a buffer, or of a task's iteration space. With dims 0 it is one element or item, so
 * a description that leaves its range zero is about a single element.
 *
 * A buffer needs at least 1 element in every dimension; a task may have 0 items, and then does
 * nothing. There may be at most 2^46 in one dimension, 2^62 items in a task, and 2^62 bytes in a
 * buffer. The calls that get a range check it. */
typedef struct tacit_range {
    size_t size[TACIT_MAX_DIMS]; /* in elements or items; entries from `dims` on are not looked at */
    int dims;                    /* 0 to 3 */
} tacit_range;

/* A range of `dims` dimensions. The sizes of dimensions that it does not have are not looked at. */
static inline tacit_range tacit_range_make(int dims, size_t n0, size_t n1, size_t n2)
{
    const tacit_range r = { { n0, n1, n2 }, dims };
    return r;
}

/* A range of 1, 2 or 3 dimensions; see TACIT_RANGE. */
static inline tacit_range tacit_range1(size_t n0) { return tacit_range_make(1, n0, 1, 1); }
/* (rows, columns) */
static inline tacit_range tacit_range2(size_t n0, size_t n1) { return tacit_range_make(2, n0, n1, 1); }
/* (planes, rows, columns) */
static inline tacit_range tacit_range3(size_t n0, size_t n1, size_t n2) { return tacit_range_make(3, n0, n1, n2); }

/* A range with as many dimensions as there are arguments, 1 to 3:
 *
 *     TACIT_RANGE(n)
 *     TACIT_RANGE(rows, columns)
 *     TACIT_RANGE(planes, rows, columns)
 *
 * Each argument is evaluated once. */
#define TACIT_RANGE(...) TACIT_PICK4_(__VA_ARGS__, tacit_range3, tacit_range2, tacit_range1, 0)(__VA_ARGS__)
#define TACIT_PICK4_(a, b, c, name, ...) name

/* ===================================================================================== boxes */

/* A half-open cuboid of indices: those with min[d] <= index[d] < max[d] in every dimension d.
 *
 * A box does not know how many dimensions it has. Dimensions that its buffer or task does not have
 * are [0, 1), so the volume is always the product of all three lengths. A box with min[d] >= max[d]
 * in some dimension is empty. */
typedef struct tacit_box {
    size_t min[TACIT_MAX_DIMS]; /* the first index of each dimension */
    size_t max[TACIT_MAX_DIMS]; /* one more than the last index */
} tacit_box;

/* The box [a0, b0) x [a1, b1) x [a2, b2). */
static inline tacit_box tacit_box3(size_t a0, size_t b0, size_t a1, size_t b1, size_t a2, size_t b2)
{
    const tacit_box b = { { a0, a1, a2 }, { b0, b1, b2 } };
    return b;
}
/* The box [a0, b0) x [a1, b1) of a matrix. */
static inline tacit_box tacit_box2(size_t a0, size_t b0, size_t a1, size_t b1)
{
    return tacit_box3(a0, b0, a1, b1, 0, 1);
}
/* The indices [a0, b0) of a vector. */
static inline tacit_box tacit_box1(size_t a0, size_t b0) { return tacit_box3(a0, b0, 0, 1, 0, 1); }

/* The whole buffer, whatever its size and dimensions: for fences and tacit_fixed.
 *
 * In a box, [0, SIZE_MAX) stands for the whole extent of its dimension, so
 * tacit_box3(5, 6, 0, SIZE_MAX, 0, SIZE_MAX) is row 5 of a matrix. */
#define TACIT_BOX_ALL tacit_box3(0, SIZE_MAX, 0, SIZE_MAX, 0, SIZE_MAX)

TACIT_C_END_
#endif
