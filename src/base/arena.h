/* Bump allocation in blocks, freed all at once; and a ring of arenas, one per horizon.
 *
 * An arena hands out memory that lives until it is reset. Blocks are kept on reset (up to the peak of one reset), so
 * that the steady state calls no malloc. The ring serves graph vertices: vertices go into the newest arena,
 * ti_arena_ring_advance closes it and opens the next, ti_arena_ring_release recycles those that were closed early
 * enough. Owned by one thread. */
#ifndef TI_ARENA_H
#define TI_ARENA_H

#include "base/alloc.h"

#include <string.h>

typedef struct ti_arena_block ti_arena_block;

typedef struct ti_arena {
    char *next, *end;
    ti_arena_block *block; /* the one in use; older ones are linked behind it */
    ti_arena_block *spare;
} ti_arena;

void ti_arena_init(ti_arena *arena);
void ti_arena_fini(ti_arena *arena);
void ti_arena_reset(ti_arena *arena);
void *ti_arena_grow(ti_arena *arena, size_t size); /* the slow path of ti_arena_alloc */

/* Uninitialised, 16-byte aligned. */
static inline void *ti_arena_alloc(ti_arena *arena, size_t size)
{
    size_t need = TI_ALIGN_UP(size, 16);
    if (TI_UNLIKELY((size_t)(arena->end - arena->next) <= need)) { /* also if nothing is wanted and nothing is there */
        return ti_arena_grow(arena, need);
    }
    void *ptr = arena->next;
    arena->next += need;
    return ptr;
}

static inline void *ti_arena_alloc_zero(ti_arena *arena, size_t size)
{
    return memset(ti_arena_alloc(arena, size), 0, size);
}

static inline void *ti_arena_copy(ti_arena *arena, const void *from, size_t size)
{
    void *ptr = ti_arena_alloc(arena, size);
    return size ? memcpy(ptr, from, size) : ptr;
}

#define TI_ARENA_NEW(arena, type) ((type *)ti_arena_alloc_zero((arena), sizeof(type)))
#define TI_ARENA_ARRAY(arena, type, n) ((type *)ti_arena_alloc((arena), sizeof(type) * (n)))

typedef struct ti_arena_ring {
    struct ti_ring_slot {
        ti_arena arena;
        uint64_t closed_by; /* the horizon that closed it */
    } * slot;
    uint32_t first, count, capacity; /* capacity: a power of two */
} ti_arena_ring;

void ti_arena_ring_init(ti_arena_ring *ring);
void ti_arena_ring_fini(ti_arena_ring *ring);
static inline ti_arena *ti_arena_ring_top(ti_arena_ring *ring)
{
    return &ring->slot[(ring->first + ring->count - 1) & (ring->capacity - 1)].arena;
}
/* Close the newest arena on behalf of `horizon` (ids ascend) and open another one. */
void ti_arena_ring_advance(ti_arena_ring *ring, uint64_t horizon);
/* Horizon `executed` is done: recycle the arenas closed before the horizon that precedes it. */
void ti_arena_ring_release(ti_arena_ring *ring, uint64_t executed);
size_t ti_arena_ring_bytes(const ti_arena_ring *ring); /* of all blocks, used or spare */

#endif
