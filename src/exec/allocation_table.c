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
    uint64_t address = 0, bytes = 0;
    bool found = ti_map_remove(&table->address, id, &address);
    TI_ASSERT(found);
    (void)found;
    ti_map_remove(&table->bytes, id, &bytes);
    if (table->latest_id == id) {
        table->latest_id = 0;
    }
    return (void *)(uintptr_t)address;
}

void ti_allocation_table_drain(ti_allocation_table *table, void (*release)(void *user, void *address, size_t bytes), void *user)
{
    for (size_t i = 0; i < table->bytes.capacity; i++) {
        if (table->bytes.used[i]) {
            release(user, (void *)(uintptr_t)*ti_map_find(&table->address, table->bytes.slot[i].key), table->bytes.slot[i].value);
        }
    }
    ti_allocation_table_fini(table);
    *table = (ti_allocation_table){ 0 };
}
