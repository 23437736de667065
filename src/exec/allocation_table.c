/* What the executor knows of allocations: see allocation_table.h. */
#include "exec/allocation_table.h"

#include "base/check.h"
#include "base/log.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>

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

/* ---- for who asks why there is no more */

typedef struct held {
    const ti_buffer_info *buffer;
    uint64_t bytes;
    size_t allocations;
} held;
typedef TI_VEC(held) held_list;

static held *held_of(held_list *list, const ti_buffer_info *buffer)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i].buffer == buffer) {
            return &list->data[i];
        }
    }
    ti_vec_push(list, ((held){ .buffer = buffer }));
    return &list->data[list->count - 1];
}

static int by_bytes(const void *a, const void *b)
{
    const held *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void add_line(ti_strbuf *out, const char *name, uint64_t bytes, size_t allocations)
{
    char text[TI_BYTES_TEXT];
    ti_strbuf_add(out, "\n  %-20s %12s in %zu allocation%s", name, ti_bytes_format(bytes, text), allocations,
                  allocations == 1 ? "" : "s");
}

/* The bytes that each buffer has on a device, largest first. */
static void describe(const ti_allocation_table *table, int device, const char *name, ti_strbuf *out)
{
    enum { MAX_LINES = 20 };
    held_list list = { 0 };
    held all = { .buffer = NULL };
    for (size_t i = 0; i < table->record.count; i++) {
        const ti_allocation_record *r = &table->record.data[i];
        if (r->address && r->device == device) {
            held *h = held_of(&list, r->buffer);
            h->bytes += r->bytes;
            h->allocations++;
            all.bytes += r->bytes;
            all.allocations++;
        }
    }
    if (list.count) {
        qsort(list.data, list.count, sizeof(held), by_bytes);
    }
    ti_strbuf_add(out, "memory of device %s, which has no more:", name);
    for (size_t i = 0; i < TI_MIN(list.count, (size_t)MAX_LINES); i++) {
        const held *h = &list.data[i];
        add_line(out, h->buffer ? h->buffer->name : "(partial results)", h->bytes, h->allocations);
    }
    add_line(out, "all", all.bytes, all.allocations);
    ti_vec_fini(&list);
}

void ti_allocation_table_refuse(const ti_allocation_table *table, const ti_instruction *alloc, const char *device,
                                char what[TI_ALLOCATION_TEXT])
{
    char text[TI_BOX_TEXT];
    const ti_buffer_info *buffer = alloc->as.memory.buffer;
    ti_strbuf held_there = { 0 };
    describe(table, alloc->device, device, &held_there);
    ti_log_text(TI_LOG_ERROR, held_there.text);
    ti_strbuf_fini(&held_there);
    snprintf(what, TI_ALLOCATION_TEXT,
             "no memory for %s of buffer '%s' (%zu bytes on this node); use more nodes or smaller buffers",
             ti_box_format(&alloc->as.memory.box, buffer ? TI_MAX(buffer->dims, 1) : 1, text),
             buffer ? buffer->name : "(partial results)", alloc->as.memory.bytes);
}
