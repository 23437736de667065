/* Where boxes lie in memory: row-major allocations, and the strided blocks of a copy or message.
 *
 * A block is count[0] x count[1] runs of `run` contiguous bytes, `stride[0]` and `stride[1]` bytes apart. Dimensions
 * that are contiguous in memory are folded into the run, so that whole rows become one run; evenly spaced runs are one
 * loop, the inner one. Where a count is 1, its stride is what the loop inside spans. An empty box is one run of 0
 * bytes. Plain values; any thread. */
#ifndef TI_LAYOUT_H
#define TI_LAYOUT_H

#include "grid/box.h"

typedef struct ti_block {
    char *base;
    size_t run;
    size_t count[2]; /* outer, inner; at least 1 */
    size_t stride[2];
} ti_block;

/* So many bytes one behind the other. */
static inline ti_block ti_block_of(void *at, size_t bytes)
{
    return (ti_block){ .base = at, .run = bytes, .count = { 1, 1 }, .stride = { bytes, bytes } };
}

static inline size_t ti_block_bytes(const ti_block *b)
{
    return b->run * b->count[0] * b->count[1];
}

/* The block of `box` inside an allocation of `whole` that starts at `base`. `whole` covers `box`. */
ti_block ti_layout_block(char *base, const ti_box *whole, const ti_box *box, size_t elem_size);
/* Bytes from the start of `whole` to element `at`. */
size_t ti_layout_offset(const ti_box *whole, const int64_t at[3], size_t elem_size);
/* Of an allocation of `old` that has become one of `whole`, which covers it: move all elements to where they belong. */
void ti_layout_widen(char *base, const ti_box *old, const ti_box *whole, size_t elem_size);
/* Fold two blocks of the same box alike: afterwards they have equal runs and counts. */
void ti_layout_match(ti_block *a, ti_block *b);
/* Copy between two blocks of the same box, folded alike or not. They do not overlap in memory. */
void ti_layout_copy(const ti_block *to, const ti_block *from);
/* The same of bytes [begin, end) only, counted in the order of the box. */
void ti_layout_copy_bytes(const ti_block *to, const ti_block *from, size_t begin, size_t end);

#endif
