/* Where the memory of accelerators lies: see memories.h. */
#include "device/accelerator/memories.h"

#include "base/check.h"

#include <string.h>

/* The number of those at or below the address. */
static size_t rank_of(const ti_memories *m, const void *address)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)m->data[middle].address <= (uintptr_t)address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const ti_memory_piece *ti_memories_find(const ti_memories *memories, const void *address)
{
    size_t rank = rank_of(memories, address);
    const ti_memory_piece *p = rank ? &memories->data[rank - 1] : NULL;
    return p && (uintptr_t)address - (uintptr_t)p->address < p->bytes ? p : NULL;
}

void ti_memories_add(ti_memories *memories, ti_memory_piece piece)
{
    size_t rank = rank_of(memories, piece.address);
    TI_ASSERT(rank == 0 || memories->data[rank - 1].address + memories->data[rank - 1].bytes <= piece.address);
    TI_ASSERT(rank == memories->count || piece.address + piece.bytes <= memories->data[rank].address);
    ti_vec_push(memories, piece);
    memmove(&memories->data[rank + 1], &memories->data[rank], (memories->count - 1 - rank) * sizeof(piece));
    memories->data[rank] = piece;
}

ti_memory_piece ti_memories_take(ti_memories *memories, const void *address)
{
    size_t rank = rank_of(memories, address);
    TI_ASSERT(rank > 0 && memories->data[rank - 1].address == address);
    ti_memory_piece *p = &memories->data[rank - 1], taken = *p;
    memmove(p, p + 1, (memories->count - rank) * sizeof(*p));
    memories->count--;
    return taken;
}
