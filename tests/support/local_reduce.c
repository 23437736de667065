/* Reductions in one process: see local_reduce.h. */
#include "local_reduce.h"

#include "base/check.h"

#include <string.h>

static local_reduction *find(local_reductions *all, uint64_t sequence)
{
    for (size_t i = 0; i < all->under_way.count; i++) {
        if (all->under_way.data[i].sequence == sequence) {
            return &all->under_way.data[i];
        }
    }
    return NULL;
}

static void leave(local_reductions *all, local_reduction *m, int nodes)
{
    ti_free(m->value, (size_t)nodes * m->bytes);
    *m = all->under_way.data[--all->under_way.count];
}

static void combine(const local_reduction *m, const ti_collective *what, size_t elements)
{
    for (int q = 1; q < what->nodes; q++) {
        ti_reducer_combine(&what->reducer, m->value, m->value + (size_t)q * m->bytes, elements);
    }
}

void local_reduce_bring(local_reductions *all, const ti_exchange *x, int node, const void *value, size_t bytes)
{
    const ti_collective *what = x->what;
    ti_lock_take(&all->lock);
    local_reduction *m = find(all, x->sequence);
    if (!m) {
        local_reduction fresh = { .sequence = x->sequence,
                                  .to_fetch = what->pattern == TI_PATTERN_ALL_REDUCE ? what->nodes : 1,
                                  .bytes = bytes,
                                  .value = ti_alloc((size_t)what->nodes * bytes) };
        ti_vec_push(&all->under_way, fresh);
        m = &all->under_way.data[all->under_way.count - 1];
    }
    TI_ASSERT(m->bytes == bytes && m->came < what->nodes);
    memcpy(m->value + (size_t)node * bytes, value, bytes);
    if (++m->came == what->nodes) {
        combine(m, what, bytes / x->elem_size);
    }
    ti_lock_drop(&all->lock);
}

bool local_reduce_fetch(local_reductions *all, int nodes, uint64_t sequence, void *result)
{
    ti_lock_take(&all->lock);
    local_reduction *m = find(all, sequence);
    bool there = m->came == nodes;
    if (there) {
        memcpy(result, m->value, m->bytes);
        if (--m->to_fetch == 0) {
            leave(all, m, nodes);
        }
    }
    ti_lock_drop(&all->lock);
    return there;
}

void local_reductions_fini(local_reductions *all, int nodes)
{
    while (all->under_way.count) { /* a job that was ended */
        leave(all, &all->under_way.data[0], nodes);
    }
    ti_vec_fini(&all->under_way);
}
