/* Addresses of allocations: see allocation_table.h. */
#include "exec/allocation_table.h"

#include "base/check.h"

char *ti_allocation_table_base(ti_allocation_table *table, const ti_place *place)
{
    if (place->allocation == 0) {
        return place->user;
    }
    if (place->allocation != table->latest_id) {
        uint64_t *address = ti_map_find(&table->address, place->allocation);
        TI_ASSERT(address);
        table->latest_id = place->allocation;
        table->latest = (char *)(uintptr_t)*address;
    }
    return table->latest;
}

void *ti_allocation_table_take(ti_allocation_table *table, uint64_t id)
{
    uint64_t address = 0;
    bool found = ti_map_remove(&table->address, id, &address);
    TI_ASSERT(found);
    (void)found;
    if (table->latest_id == id) {
        table->latest_id = 0;
    }
    return (void *)(uintptr_t)address;
}
