/* Parcels: see parcel.h. */
#include "comm/parcel.h"

#include "base/check.h"

#include <string.h>

/* Sizes of pooled parcels: 128 bytes and doubles of it. */
enum { SMALLEST = 128, MAX_SPARE = 1024 /* of each size */ };

/* The first size class that is large enough; TI_PARCEL_CLASSES: none is. */
static int class_of(size_t size)
{
    int class = 0;
    while (class < TI_PARCEL_CLASSES && size > (size_t)SMALLEST << class) {
        class ++;
    }
    return class;
}

static size_t allocated(size_t size)
{
    int class = class_of(size);
    return class < TI_PARCEL_CLASSES ? (size_t)SMALLEST << class : size;
}

ti_parcel *ti_parcel_create(ti_parcel_pool *pool, const ti_payload *payload, bool with_blocks, bool with_bytes)
{
    size_t blocks = with_blocks ? payload->count * sizeof(ti_block) : 0;
    size_t size = sizeof(ti_parcel) + blocks + (with_bytes ? payload->bytes : 0);
    int class = class_of(size);
    bool pooled = class < TI_PARCEL_CLASSES && pool->spare[class].count;
    ti_parcel *p = pooled ? pool->spare[class].data[--pool->spare[class].count] : ti_alloc(allocated(size));
    *p = (ti_parcel){ .size = size, .packed = (char *)p + sizeof(ti_parcel) + blocks };
    p->payload = (ti_payload){ .block = p->block, .count = with_blocks ? payload->count : 0, .bytes = payload->bytes };
    if (blocks) {
        memcpy(p->block, payload->block, blocks);
    }
    return p;
}

void ti_parcel_destroy(ti_parcel_pool *pool, ti_parcel *p)
{
    if (!p) {
        return;
    }
    int class = class_of(p->size);
    if (class < TI_PARCEL_CLASSES && pool->spare[class].count < MAX_SPARE) {
        ti_vec_push(&pool->spare[class], p);
    } else {
        ti_free(p, allocated(p->size));
    }
}

void ti_parcel_pool_fini(ti_parcel_pool *pool)
{
    for (int class = 0; class < TI_PARCEL_CLASSES; class ++) {
        for (size_t i = 0; i < pool->spare[class].count; i++) {
            ti_free(pool->spare[class].data[i], (size_t)SMALLEST << class);
        }
        ti_vec_fini(&pool->spare[class]);
    }
}

void ti_parcel_heap_push(ti_parcel_heap *heap, ti_parcel *parcel)
{
    size_t i = heap->count;
    ti_vec_push(heap, parcel);
    ti_parcel **at = heap->data;
    for (; i && at[(i - 1) / 2]->counter > parcel->counter; i = (i - 1) / 2) {
        at[i] = at[(i - 1) / 2];
    }
    at[i] = parcel;
}

ti_parcel *ti_parcel_heap_pop(ti_parcel_heap *heap)
{
    TI_ASSERT(heap->count > 0);
    ti_parcel **at = heap->data, *top = at[0], *last = at[--heap->count];
    size_t i = 0, n = heap->count;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && at[child + 1]->counter < at[child]->counter;
        if (at[child]->counter >= last->counter) {
            break;
        }
        at[i] = at[child];
        i = child;
    }
    at[i] = last;
    TI_ASSERT(!heap->count || top->counter <= at[0]->counter);
    return top;
}
