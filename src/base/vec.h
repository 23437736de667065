/* Growing arrays of plain values.
 *
 *   TI_VEC(ti_box) boxes = { 0 };   ti_vec_push(&boxes, b);   boxes.data[i], boxes.count   ti_vec_fini(&boxes);
 *
 * `data` moves when the array grows. Owned by one thread. */
#ifndef TI_VEC_H
#define TI_VEC_H

#include "base/alloc.h"

#define TI_VEC(type)                                                                                                   \
    struct {                                                                                                           \
        type *data;                                                                                                    \
        size_t count, capacity;                                                                                        \
    }

static inline void *ti_vec_grown(void *data, size_t *capacity, size_t need, size_t elem_size)
{
    /* A cache line first: there are many, of few large elements. */
    size_t old = *capacity, fresh = old ? old : elem_size <= 8 ? 8 : elem_size <= 32 ? 64 / elem_size : 1;
    while (fresh < need) {
        fresh *= 2;
    }
    *capacity = fresh;
    return ti_realloc(data, old * elem_size, fresh * elem_size);
}

#define ti_vec_reserve(v, n)                                                                                           \
    ((v)->capacity < (n) ? (void)((v)->data = ti_vec_grown((v)->data, &(v)->capacity, (n), sizeof(*(v)->data)))        \
                         : (void)0)
#define ti_vec_push(v, value) (ti_vec_reserve((v), (v)->count + 1), (void)((v)->data[(v)->count++] = (value)))
#define ti_vec_clear(v) ((void)((v)->count = 0))
#define ti_vec_fini(v)                                                                                                 \
    (ti_free((v)->data, (v)->capacity * sizeof(*(v)->data)), (void)((v)->data = NULL),                                 \
     (void)((v)->count = (v)->capacity = 0))

#endif
