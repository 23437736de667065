/* Where the memory of accelerators lies: pieces by address, each with its driver's handle.
 *
 * tacit knows memory by addresses. Those of accelerators are names for the host: a driver either has addresses of its
 * own, which no other memory has, or takes some that nothing is mapped to. Executor role, but for creation and the end.
 */
#ifndef TI_MEMORIES_H
#define TI_MEMORIES_H

#include "base/vec.h"

typedef struct ti_memory_piece {
    char *address;
    size_t bytes;
    void *handle; /* the driver's */
} ti_memory_piece;

typedef TI_VEC(ti_memory_piece) ti_memories; /* sorted by address */

void ti_memories_add(ti_memories *memories, ti_memory_piece piece);
/* Forgets the piece that begins at the address, which must be there. */
ti_memory_piece ti_memories_take(ti_memories *memories, const void *address);
/* The piece that the address lies in; NULL: it is the host's. Valid until the next call of the others. */
const ti_memory_piece *ti_memories_find(const ti_memories *memories, const void *address);
static inline size_t ti_memory_offset(const ti_memory_piece *piece, const void *address)
{
    return (size_t)((const char *)address - piece->address);
}

#endif
