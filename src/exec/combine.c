/* Combining the slots of a reduction: see combine.h. */
#include "exec/combine.h"

#include "base/check.h"
#include "ir/reduction.h"

#include <string.h>

enum { STEP_BYTES = 16 * 1024 };

size_t ti_combine_step(size_t elem_size)
{
    return TI_MAX(STEP_BYTES / elem_size, (size_t)1);
}

/* `slots` and `to` begin with the first of n elements; a slot has `bytes`. */
static void combine(const ti_combination *c, char *slots, char *to, size_t n, size_t bytes)
{
    const ti_reducer *reducer = &c->reducer;
    size_t size = n * c->buffer->elem_size;
    bool over = to && !c->include_old && !c->pair; /* what is there counts for nothing */
    char *into = over ? to : slots;
    if (c->is_identity) {
        ti_reducer_fill_identity(reducer, slots, n);
    }
    if (over) {
        memcpy(to, slots, size);
    }
    for (uint32_t k = 0; k < c->pairs; k++) {
        const ti_slot_pair *pair = &c->pair[k];
        TI_ASSERT(pair->into != pair->from);
        ti_reducer_combine(reducer, slots + pair->into * bytes, slots + pair->from * bytes, n);
    }
    for (uint32_t k = 1; k < c->slots; k++) {
        ti_reducer_combine(reducer, into, slots + k * bytes, n);
    }
    if (to && c->include_old) {
        ti_reducer_combine(reducer, to, slots, n);
    } else if (to && !over) {
        memcpy(to, slots, size);
    }
}

void ti_combine_slots(const ti_combination *c, char *slots, char *to, size_t first, size_t end)
{
    size_t elem = c->buffer->elem_size, step = ti_combine_step(elem);
    TI_ASSERT(first <= end && end <= c->elements && (to != NULL) == c->is_root);
    for (size_t at = first; at < end; at += step) {
        combine(c, slots + at * elem, to ? to + at * elem : NULL, TI_MIN(step, end - at), c->elements * elem);
    }
}
