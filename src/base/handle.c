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
    size_t resting; /* freed ones in that list */
    uint64_t made;  /* objects so far */
} pools[TI_HANDLE_KINDS];

_Atomic(const void *) ti_handle_newest[TI_HANDLE_KINDS];

/* The bytes of a slot, as a power of two. */
static inline unsigned slot_bits(ti_handle_kind kind)
{
    enum { CONTEXT = 10, BUFFER = 6, OTHERS = 7 };
    _Static_assert(offsetof(slot, object) + TI_HANDLE_BYTES(TI_HANDLE_CONTEXT) == 1 << CONTEXT &&
                       offsetof(slot, object) + TI_HANDLE_BYTES(TI_HANDLE_BUFFER) == 1 << BUFFER &&
                       offsetof(slot, object) + TI_HANDLE_BYTES(TI_HANDLE_KINDS) == 1 << OTHERS,
                   "which slot an address is in is found by masks");
    return kind == TI_HANDLE_CONTEXT ? CONTEXT : kind == TI_HANDLE_BUFFER ? BUFFER : OTHERS;
}

static inline size_t slot_bytes(ti_handle_kind kind)
{
    return (size_t)1 << slot_bits(kind);
}

static slot *slot_of(const void *object)
{
    return (slot *)(uintptr_t)((uintptr_t)object - offsetof(slot, object));
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
    atomic_store_explicit(&ti_handle_newest[kind], s->object, memory_order_release);
    return s->object;
}

void ti_handle_free(ti_handle_kind kind, void *object)
{
    struct pool *p = &pools[kind];
    TI_ASSERT(ti_handle_is_live(kind, object));
    slot *s = slot_of(object);
    const void *newest = object;
    atomic_compare_exchange_strong_explicit(&ti_handle_newest[kind], &newest, NULL, memory_order_relaxed,
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
    const struct pool *p = &pools[kind];
    const unsigned bits = slot_bits(kind);
    for (int c = atomic_load_explicit(&p->chunks, memory_order_acquire); c-- > 0;) {
        const slot *chunk = atomic_load_explicit(&p->chunk[c], memory_order_relaxed);
        const uintptr_t offset = (uintptr_t)object - (uintptr_t)chunk->object, number = offset >> bits;
        if (number < (uintptr_t)FIRST_CHUNK << c) {
            return offset == number << bits ? atomic_load_explicit(&slot_of(object)->serial, memory_order_acquire) : 0;
        }
    }
    return 0;
}

bool ti_handle_is_live(ti_handle_kind kind, const void *object)
{
    return ti_handle_is_newest(kind, object) || ti_handle_serial(kind, object) != 0;
}
