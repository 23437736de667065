/* What the executor knows of allocations: see allocation_table.h. */
#include "exec/allocation_table.h"

#include "base/check.h"

void ti_allocation_table_fini(ti_allocation_table *table)
{
    ti_map_fini(&table->index);
    ti_vec_fini(&table->record);
    ti_vec_fini(&table->unused);
}

void ti_allocation_table_add(ti_allocation_table *table, uint64_t id, const ti_allocation_record *record)
{
    TI_ASSERT(id != 0 && !ti_map_find(&table->index, id));
    size_t at = table->record.count;
    if (table->unused.count) {
        at = table->unused.data[--table->unused.count];
        TI_ASSERT(!table->record.data[at].address);
        table->record.data[at] = *record;
    } else {
        ti_vec_push(&table->record, *record);
    }
    *ti_map_at(&table->index, id) = at;
}

char *ti_allocation_table_base(ti_allocation_table *table, const ti_place *place)
{
    if (place->allocation == 0) {
        return place->user;
    }
    if (place->allocation != table->latest_id) {
        const uint64_t *at = ti_map_find(&table->index, place->allocation);
        TI_ASSERT(at);
        table->latest_id = place->allocation;
        table->latest = table->record.data[*at].address;
    }
    return table->latest;
}

ti_allocation_record ti_allocation_table_take(ti_allocation_table *table, uint64_t id)
{
    uint64_t at = 0;
    bool found = ti_map_remove(&table->index, id, &at);
    TI_ASSERT(found);
    (void)found;
    if (table->latest_id == id) {
        table->latest_id = 0;
    }
    ti_allocation_record record = table->record.data[at];
    table->record.data[at].address = NULL;
    ti_vec_push(&table->unused, (size_t)at);
    return record;
}
