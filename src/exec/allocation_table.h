/* Addresses of allocations, by the ids that the planner gave them. Executor role. */
#ifndef TI_ALLOCATION_TABLE_H
#define TI_ALLOCATION_TABLE_H

#include "base/map.h"
#include "ir/instruction.h"

typedef struct ti_allocation_table {
    ti_map address, bytes;
    uint64_t latest_id; /* the one asked for last */
    char *latest;
} ti_allocation_table;

static inline void ti_allocation_table_fini(ti_allocation_table *table)
{
    ti_map_fini(&table->address);
    ti_map_fini(&table->bytes);
}
static inline void ti_allocation_table_set(ti_allocation_table *table, uint64_t id, void *address, size_t bytes)
{
    *ti_map_at(&table->address, id) = (uint64_t)(uintptr_t)address;
    *ti_map_at(&table->bytes, id) = bytes;
}
/* The first byte of a place's allocation, or the user's address. */
char *ti_allocation_table_base(ti_allocation_table *table, const ti_place *place);
/* Forget an allocation; returns its address. */
void *ti_allocation_table_take(ti_allocation_table *table, uint64_t id);
/* Forget all that is left, after a run that failed. */
void ti_allocation_table_drain(ti_allocation_table *table, void (*release)(void *user, void *address, size_t bytes), void *user);

#endif
