/* Reductions in one process: see local_reduce.h. */
#include "comm/local_reduce.h"

#include "base/check.h"

#include <string.h>

static ti_local_meeting *find(ti_local_meetings *all, uint64_t sequence)
{
    for (size_t i = 0; i < all->meeting.count; i++) {
        if (all->meeting.data[i].sequence == sequence) {
            return &all->meeting.data[i];
        }
    }
    return NULL;
}

static void leave(ti_local_meetings *all, ti_local_meeting *m, int nodes)
{
    ti_free(m->value, (size_t)nodes * m->bytes);
    *m = all->meeting.data[--all->meeting.count];
}

static void combine(const ti_local_meeting *m, const ti_collective *what, size_t elements)
{
    for (int q = 1; q < what->nodes; q++) {
        ti_reducer_combine(&what->reducer, m->value, m->value + (size_t)q * m->bytes, elements);
    }
}

void ti_local_reduce_bring(ti_local_meetings *all, const ti_exchange *x, int node, const void *value, size_t bytes)
{
    const ti_collective *what = x->what;
    ti_lock_take(&all->lock);
    ti_local_meeting *m = find(all, x->sequence);
    if (!m) {
        ti_local_meeting fresh = { .sequence = x->sequence,
                                   .to_fetch = what->pattern == TI_PATTERN_ALL_REDUCE ? what->nodes : 1,
                                   .bytes = bytes,
                                   .value = ti_alloc((size_t)what->nodes * bytes) };
        ti_vec_push(&all->meeting, fresh);
        m = &all->meeting.data[all->meeting.count - 1];
    }
    TI_ASSERT(m->bytes == bytes && m->came < what->nodes);
    memcpy(m->value + (size_t)node * bytes, value, bytes);
    if (++m->came == what->nodes) {
        combine(m, what, bytes / x->elem_size);
    }
    ti_lock_drop(&all->lock);
}

bool ti_local_reduce_fetch(ti_local_meetings *all, int nodes, uint64_t sequence, void *result)
{
    ti_lock_take(&all->lock);
    ti_local_meeting *m = find(all, sequence);
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

void ti_local_meetings_fini(ti_local_meetings *all, int nodes)
{
    while (all->meeting.count) { /* a job that was ended */
        leave(all, &all->meeting.data[0], nodes);
    }
    ti_vec_fini(&all->meeting);
}
