/* Handles that can be checked: see handle.h. */
#include "base/handle.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/park.h"

#include <string.h>

enum { FIRST_CHUNK = 64, CHUNKS = 24 }; /* chunk c has FIRST_CHUNK << c slots */

typedef struct slot {
    _Atomic uint64_t serial; /* of the object, or 0: there is none */
    union {
        struct slot *next; /* among the freed ones, oldest first */
        char object[TI_HANDLE_BYTES(TI_HANDLE_KINDS)];
    };
} slot;

static struct pool {
    ti_lock lock;
    _Atomic(slot *) chunk[CHUNKS];
    _Atomic int chunks;
    size_t used; /* slots of the last chunk that were given out */
    slot *oldest, *newest;
    size_t resting;                      /* freed ones in that list */
    uint64_t made;                       /* objects so far */
    _Atomic(const void *) newest_object; /* which nearly always is asked for where there is one; or NULL */
} pools[TI_HANDLE_KINDS];

static inline size_t slot_bytes(ti_handle_kind kind)
{
#define POWER_OF_TWO(n) (((n) & ((n)-1)) == 0)
    _Static_assert(POWER_OF_TWO(offsetof(slot, object) + TI_HANDLE_BYTES(TI_HANDLE_CONTEXT)) &&
                       POWER_OF_TWO(offsetof(slot, object) + TI_HANDLE_BYTES(TI_HANDLE_BUFFER)) &&
                       POWER_OF_TWO(offsetof(slot, object) + TI_HANDLE_BYTES(TI_HANDLE_KINDS)),
                   "which slot an address is in is found by masks");
    return offsetof(slot, object) + TI_HANDLE_BYTES(kind);
}

static slot *slot_of(void *object)
{
    return (slot *)(void *)((char *)object - offsetof(slot, object));
}

static slot *take_rested(struct pool *p)
{
    slot *s = p->oldest;
    TI_ASSERT(s && p->resting > 0);
    p->oldest = s->next;
    p->resting--;
    return s;
}

static slot *take_fresh(struct pool *p, size_t bytes)
{
    int chunks = atomic_load_explicit(&p->chunks, memory_order_relaxed);
    if (chunks == 0 || p->used == (size_t)FIRST_CHUNK << (chunks - 1)) {
        if (chunks == CHUNKS) {
            TI_PANIC("more than %d million handles", (FIRST_CHUNK << (CHUNKS - 20)) - 1);
        }
        slot *chunk = ti_alloc_aligned(((size_t)FIRST_CHUNK << chunks) * bytes);
        atomic_store_explicit(&p->chunk[chunks], chunk, memory_order_relaxed);
        atomic_store_explicit(&p->chunks, ++chunks, memory_order_release);
        p->used = 0;
    }
    char *first = (char *)atomic_load_explicit(&p->chunk[chunks - 1], memory_order_relaxed);
    return (slot *)(void *)(first + p->used++ * bytes);
}

void *ti_handle_new(ti_handle_kind kind)
{
    struct pool *p = &pools[kind];
    ti_lock_take(&p->lock);
    slot *s = p->resting > TI_HANDLE_REST ? take_rested(p) : take_fresh(p, slot_bytes(kind));
    uint64_t serial = ++p->made;
    ti_lock_drop(&p->lock);
    memset((char *)s + offsetof(slot, object), 0, TI_HANDLE_BYTES(kind));
    atomic_store_explicit(&s->serial, serial, memory_order_release);
    atomic_store_explicit(&p->newest_object, s->object, memory_order_release);
    return s->object;
}

void ti_handle_free(ti_handle_kind kind, void *object)
{
    struct pool *p = &pools[kind];
    TI_ASSERT(ti_handle_is_live(kind, object));
    slot *s = slot_of(object);
    const void *newest = object;
    atomic_compare_exchange_strong_explicit(&p->newest_object, &newest, NULL, memory_order_relaxed,
                                            memory_order_relaxed);
    atomic_store_explicit(&s->serial, 0, memory_order_release);
    s->next = NULL;
    ti_lock_take(&p->lock);
    if (p->resting++) {
        p->newest->next = s;
    } else {
        p->oldest = s;
    }
    p->newest = s;
    ti_lock_drop(&p->lock);
}

/* From the largest chunk down, which holds most of the slots. Only addresses inside of chunks are followed. */
uint64_t ti_handle_serial(ti_handle_kind kind, const void *object)
{
    struct pool *p = &pools[kind];
    for (int c = atomic_load_explicit(&p->chunks, memory_order_acquire); c-- > 0;) {
        slot *chunk = atomic_load_explicit(&p->chunk[c], memory_order_relaxed);
        uintptr_t offset = (uintptr_t)object - (uintptr_t)chunk->object, inside = slot_bytes(kind) - 1;
        if (offset < ((uintptr_t)FIRST_CHUNK << c) * slot_bytes(kind)) {
            const slot *s = slot_of((char *)(uintptr_t)chunk->object + (offset & ~inside));
            return (offset & inside) == 0 ? atomic_load_explicit(&s->serial, memory_order_acquire) : 0;
        }
    }
    return 0;
}

bool ti_handle_is_live(ti_handle_kind kind, const void *object)
{
    const void *newest = atomic_load_explicit(&pools[kind].newest_object, memory_order_acquire);
    return (object && object == newest) || ti_handle_serial(kind, object) != 0;
}
