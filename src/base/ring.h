/* A bounded channel of pointers: one producer, one consumer, no locks.
 *
 * The producer publishes with release, the consumer takes with acquire; that is all that orders the data behind the
 * pointers. Which thread is producer or consumer may change if a lock passes the role on. Capacity is a power of
 * two. */
#ifndef TI_RING_H
#define TI_RING_H

#include "base/alloc.h"
#include "base/check.h"

#include <stdatomic.h>

typedef struct ti_ring {
    _Alignas(TI_CACHE_LINE) _Atomic size_t head; /* next to take */
    size_t seen_tail;                            /* the consumer's copy of tail */
    _Alignas(TI_CACHE_LINE) _Atomic size_t tail; /* next to fill */
    size_t seen_head;                            /* the producer's copy of head */
    void **slot;
    size_t capacity;
} ti_ring;

static inline void ti_ring_init(ti_ring *ring, size_t capacity)
{
    TI_ASSERT(capacity > 0 && (capacity & (capacity - 1)) == 0);
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    ring->seen_head = ring->seen_tail = 0;
    ring->capacity = capacity;
    ring->slot = TI_NEW_ARRAY(void *, capacity);
}

static inline void ti_ring_fini(ti_ring *ring)
{
    ti_free(ring->slot, ring->capacity * sizeof(void *));
    ring->slot = NULL;
}

/* Producer: how many can be pushed now. */
static inline size_t ti_ring_space(ti_ring *ring)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (ring->seen_head + ring->capacity == tail) {
        ring->seen_head = atomic_load_explicit(&ring->head, memory_order_acquire);
    }
    TI_ASSERT(tail - ring->seen_head <= ring->capacity);
    return ring->seen_head + ring->capacity - tail;
}

static inline bool ti_ring_push(ti_ring *ring, void *item)
{
    TI_ASSERT(item); /* NULL is what an empty channel gives */
    if (!ti_ring_space(ring)) {
        return false;
    }
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    ring->slot[tail & (ring->capacity - 1)] = item;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

/* Consumer: the oldest item, or NULL. */
static inline void *ti_ring_pop(ti_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head == ring->seen_tail) {
        ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head == ring->seen_tail) {
            return NULL;
        }
    }
    void *item = ring->slot[head & (ring->capacity - 1)];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return item;
}

/* Consumer: what comes after the next `ahead` ones, if that is known already; else NULL. */
static inline void *ti_ring_ahead(const ti_ring *ring, size_t ahead)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    return ring->seen_tail - head > ahead ? ring->slot[(head + ahead) & (ring->capacity - 1)] : NULL;
}

/* Producer, after a push: whether the consumer had taken everything before it. The addition of nothing orders the push
 * before the look. */
static inline bool ti_ring_was_empty(ti_ring *ring)
{
    size_t tail = atomic_fetch_add_explicit(&ring->tail, 0, memory_order_seq_cst);
    return atomic_load_explicit(&ring->head, memory_order_seq_cst) + 1 >= tail;
}

/* Any thread: a guess. */
static inline bool ti_ring_is_empty(const ti_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_relaxed) ==
           atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

#endif
