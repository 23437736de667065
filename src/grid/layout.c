/* Boxes in memory: see layout.h.
 *
 * Folding goes from the inside out. A dimension of extent 1 needs no loop; one whose step is the length of the run
 * makes the run longer; one whose step continues the loop inside it makes that loop longer. At most two loops remain,
 * because the last dimension is contiguous. Any thread. */
#include "grid/layout.h"

#include "base/check.h"

#include <string.h>

size_t ti_layout_offset(const ti_box *whole, const int64_t at[3], size_t elem_size)
{
    size_t index = 0;
    for (int d = 0; d < 3; d++) {
        TI_ASSERT(at[d] >= whole->min[d] && at[d] < whole->max[d]);
        index = index * (size_t)(whole->max[d] - whole->min[d]) + (size_t)(at[d] - whole->min[d]);
    }
    return index * elem_size;
}

/* Add a loop of n steps around what the block covers so far. */
static void block_repeat(ti_block *b, size_t n, size_t step)
{
    if (n == 1) {
        return;
    }
    if (b->count[1] == 1) {
        if (step == b->run) {
            b->run *= n;
        } else {
            b->count[1] = n;
            b->stride[1] = step;
        }
    } else if (step == b->count[1] * b->stride[1]) {
        b->count[1] *= n;
    } else {
        TI_ASSERT(b->count[0] == 1); /* three dimensions, and the last one is contiguous */
        b->count[0] = n;
        b->stride[0] = step;
    }
}

ti_block ti_layout_block(char *base, const ti_box *whole, const ti_box *box, size_t elem_size)
{
    ti_block b = { .base = base, .run = elem_size, .count = { 1, 1 } };
    size_t step = elem_size;
    if (ti_box_is_empty(box)) {
        b.run = 0;
        return b;
    }
    TI_ASSERT(ti_box_covers(whole, box));
    for (int d = 2; d >= 0; d--) {
        block_repeat(&b, (size_t)(box->max[d] - box->min[d]), step);
        step *= (size_t)(whole->max[d] - whole->min[d]);
    }
    b.base = base + ti_layout_offset(whole, box->min, elem_size);
    b.stride[1] = b.count[1] == 1 ? b.run : b.stride[1];
    b.stride[0] = b.count[0] == 1 ? b.count[1] * b.stride[1] : b.stride[0];
    return b;
}

/* One row of runs. With a constant `run` the compiler makes plain loads and stores of it. */
static inline void copy_row(char *to, const char *from, size_t n, size_t to_step, size_t from_step, size_t run)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(to, from, run);
        to += to_step;
        from += from_step;
    }
}

/* Two blocks with equal runs and counts. */
static void copy_alike(const ti_block *to, const ti_block *from)
{
    size_t n = from->count[1], to_step = to->stride[1], from_step = from->stride[1];
    for (size_t i = 0; i < from->count[0]; i++) {
        char *t = to->base + i * to->stride[0];
        const char *f = from->base + i * from->stride[0];
        switch (from->run) {
        case 4:
            copy_row(t, f, n, to_step, from_step, 4);
            break;
        case 8:
            copy_row(t, f, n, to_step, from_step, 8);
            break;
        case 16:
            copy_row(t, f, n, to_step, from_step, 16);
            break;
        default:
            copy_row(t, f, n, to_step, from_step, from->run);
            break;
        }
    }
}

/* The same bytes of a single run, cut like another block. */
static ti_block cut_alike(const ti_block *single, const ti_block *other)
{
    ti_block b = *other;
    TI_ASSERT(single->run == ti_block_bytes(other));
    b.base = single->base;
    b.stride[1] = other->run;
    b.stride[0] = other->run * other->count[1];
    return b;
}

/* How far byte `at` of a block lies from its base, in the order of the box; runs are not cut but at their begin. */
static size_t place_of(const ti_block *b, size_t at)
{
    size_t run = at / b->run;
    return at % b->run + run % b->count[1] * b->stride[1] + run / b->count[1] * b->stride[0];
}

/* The bytes up to which a block is one run, and one loop of runs: sorted, where the other block ends either as well. */
void ti_layout_match(ti_block *a, ti_block *b)
{
    const size_t all = ti_block_bytes(a);
    const size_t ends[4] = { a->run, a->run * a->count[1], b->run, b->run * b->count[1] };
    size_t run = all, loop = all;
    TI_ASSERT(all == ti_block_bytes(b) && all > 0);
    for (int i = 0; i < 4; i++) {
        run = TI_MIN(run, ends[i]);
    }
    for (int i = 0; i < 4; i++) {
        loop = ends[i] > run ? TI_MIN(loop, ends[i]) : loop;
    }
    TI_ASSERT(loop % run == 0 && all % loop == 0);
    for (int i = 0; i < 2; i++) {
        ti_block *x = i ? b : a, old = *x;
        *x = (ti_block){ old.base, run, { all / loop, loop / run }, { 0 } };
        x->stride[1] = loop > run ? place_of(&old, run) : run;
        x->stride[0] = all > loop ? place_of(&old, loop) : x->count[1] * x->stride[1];
    }
}

/* A place in a block: `left` bytes of the current run are still to be visited. */
typedef struct cursor {
    const ti_block *block;
    char *at;
    size_t left, row, column;
} cursor;

static cursor cursor_start(const ti_block *b, size_t byte)
{
    size_t run = byte / b->run, at = byte % b->run, row = run / b->count[1], column = run % b->count[1];
    return (cursor){ b, b->base + row * b->stride[0] + column * b->stride[1] + at, b->run - at, row, column };
}

static void cursor_advance(cursor *c, size_t bytes)
{
    const ti_block *b = c->block;
    TI_ASSERT(bytes <= c->left);
    c->at += bytes;
    c->left -= bytes;
    if (c->left == 0) {
        c->left = b->run;
        if (++c->column == b->count[1]) {
            c->column = 0;
            c->row++;
        }
        c->at = b->base + c->row * b->stride[0] + c->column * b->stride[1];
    }
}

void ti_layout_copy_bytes(const ti_block *to, const ti_block *from, size_t begin, size_t end)
{
    TI_ASSERT(begin <= end && end <= ti_block_bytes(to) && end <= ti_block_bytes(from));
    cursor t = cursor_start(to, begin), f = cursor_start(from, begin);
    for (size_t left = end - begin; left > 0;) {
        size_t n = TI_MIN(TI_MIN(t.left, f.left), left);
        memcpy(t.at, f.at, n);
        left -= n;
        if (left > 0) {
            cursor_advance(&t, n);
            cursor_advance(&f, n);
        }
    }
}

void ti_layout_copy(const ti_block *to, const ti_block *from)
{
    TI_ASSERT(ti_block_bytes(to) == ti_block_bytes(from));
    if (ti_block_bytes(from) == 0) {
        return;
    }
    if (to->run == from->run && to->count[0] == from->count[0]) {
        copy_alike(to, from);
    } else if (from->count[0] * from->count[1] == 1) {
        ti_block cut = cut_alike(from, to);
        copy_alike(to, &cut);
    } else if (to->count[0] * to->count[1] == 1) {
        ti_block cut = cut_alike(to, from);
        copy_alike(&cut, from);
    } else {
        ti_layout_copy_bytes(to, from, 0, ti_block_bytes(from));
    }
}

/* Every row moves to where it lies behind all that has not been moved yet, if the last is moved first. */
void ti_layout_widen(char *base, const ti_box *old, const ti_box *whole, size_t elem_size)
{
    int64_t end[2] = { old->max[0], old->max[1] };
    size_t run = (size_t)(old->max[2] - old->min[2]) * elem_size;
    for (int d = 1; d >= 0 && old->max[d + 1] - old->min[d + 1] == whole->max[d + 1] - whole->min[d + 1]; d--) {
        run *= (size_t)(old->max[d] - old->min[d]); /* rows that lie side by side in both */
        end[d] = old->min[d] + 1;
    }
    for (int64_t i = end[0] - 1; i >= old->min[0]; i--) {
        for (int64_t j = end[1] - 1; j >= old->min[1]; j--) {
            const int64_t at[3] = { i, j, old->min[2] };
            char *from = base + ti_layout_offset(old, at, elem_size),
                 *to = base + ti_layout_offset(whole, at, elem_size);
            if (to != from) {
                memmove(to, from, run);
            }
        }
    }
}
