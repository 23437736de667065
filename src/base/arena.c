/* Arenas: see arena.h. */
#include "base/arena.h"

#include "base/check.h"

enum { FIRST_BLOCK = 16 * 1024, MAX_STEP = 256 * 1024 };

struct ti_arena_block {
    ti_arena_block *below;
    size_t size;  /* of the whole block, this header included */
    char pad[16]; /* keeps what follows on a multiple of 16 bytes */
};

static void free_list(ti_arena_block *block)
{
    while (block) {
        ti_arena_block *below = block->below;
        ti_free(block, block->size);
        block = below;
    }
}

void ti_arena_fini(ti_arena *arena)
{
    free_list(arena->block);
    free_list(arena->spare);
    *arena = (ti_arena){ 0 };
}

static void use_block(ti_arena *arena, ti_arena_block *block)
{
    TI_ASSERT(block->size > sizeof(ti_arena_block));
    block->below = arena->block;
    arena->block = block;
    arena->next = (char *)block + sizeof(ti_arena_block);
    arena->end = (char *)block + block->size;
}

void *ti_arena_grow(ti_arena *arena, size_t size)
{
    size_t need = size + sizeof(ti_arena_block) + 1; /* a block is never used up entirely */
    while (arena->spare) {
        ti_arena_block *block = arena->spare;
        arena->spare = block->below;
        if (block->size >= need) {
            use_block(arena, block);
            return ti_arena_alloc(arena, size);
        }
        ti_free(block, block->size);
    }
    size_t step = arena->block ? TI_MIN(2 * arena->block->size, (size_t)MAX_STEP) : (size_t)FIRST_BLOCK;
    ti_arena_block *block = ti_alloc(TI_MAX(step, need));
    block->size = TI_MAX(step, need);
    use_block(arena, block);
    return ti_arena_alloc(arena, size);
}

static size_t list_bytes(const ti_arena_block *block)
{
    size_t bytes = 0;
    for (; block; block = block->below) {
        bytes += block->size;
    }
    return bytes;
}

size_t ti_arena_bytes(const ti_arena *arena)
{
    return list_bytes(arena->block) + list_bytes(arena->spare);
}

void ti_arena_reserve(ti_arena *arena, size_t size)
{
    TI_ASSERT(!arena->block);
    ti_arena_block *block = ti_alloc(TI_ALIGN_UP(size, 16) + sizeof(ti_arena_block) + 1);
    block->size = TI_ALIGN_UP(size, 16) + sizeof(ti_arena_block) + 1;
    use_block(arena, block);
}

enum { RING_START = 8 };

void ti_arena_ring_init(ti_arena_ring *ring)
{
    *ring = (ti_arena_ring){ .capacity = RING_START, .count = 1 };
    ring->slot = ti_alloc_zero(RING_START * sizeof(*ring->slot));
}

void ti_arena_ring_fini(ti_arena_ring *ring)
{
    for (uint32_t i = 0; i < ring->capacity; i++) {
        ti_arena_fini(&ring->slot[i].arena);
    }
    ti_free(ring->slot, ring->capacity * sizeof(*ring->slot));
    *ring = (ti_arena_ring){ 0 };
}

static void double_capacity(ti_arena_ring *ring)
{
    struct ti_ring_slot *grown = ti_alloc_zero(2 * ring->capacity * sizeof(*grown));
    for (uint32_t i = 0; i < ring->capacity; i++) {
        grown[i] = ring->slot[(ring->first + i) & (ring->capacity - 1)];
    }
    ti_free(ring->slot, ring->capacity * sizeof(*ring->slot));
    ring->slot = grown;
    ring->first = 0;
    ring->capacity *= 2;
}

void ti_arena_ring_advance(ti_arena_ring *ring, uint64_t horizon)
{
    if (ring->count == ring->capacity) {
        double_capacity(ring);
    }
    struct ti_ring_slot *closed = &ring->slot[(ring->first + ring->count - 1) & (ring->capacity - 1)];
    closed->closed_by = horizon;
    ring->count++;
    ti_arena_ring_top(ring)->spare = closed->arena.spare;
    closed->arena.spare = NULL;
}

/* Its blocks go to the newest arena, which is the only one with spare blocks: those used last, likely still in a cache,
 * are used first. */
static void empty(ti_arena_ring *ring, ti_arena *arena)
{
    ti_arena *top = ti_arena_ring_top(ring);
    while (arena->block) {
        ti_arena_block *block = arena->block;
        arena->block = block->below;
        block->below = top->spare;
        top->spare = block;
    }
    arena->next = arena->end = NULL;
}

void ti_arena_ring_release(ti_arena_ring *ring, uint64_t executed)
{
    /* With horizons ... G, H in order and H executed, everything before G is done and no longer referred to: trackers
     * read ids below G as G. So the arenas that G or an earlier horizon closed may go; the last closed one is kept. */
    while (ring->count > 2 && ring->slot[(ring->first + 1) & (ring->capacity - 1)].closed_by <= executed) {
        empty(ring, &ring->slot[ring->first].arena);
        ring->first = (ring->first + 1) & (ring->capacity - 1);
        ring->count--;
    }
}

size_t ti_arena_ring_bytes(const ti_arena_ring *ring)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < ring->capacity; i++) {
        bytes += ti_arena_bytes(&ring->slot[i].arena);
    }
    return bytes;
}
