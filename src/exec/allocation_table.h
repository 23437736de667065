/* What the executor knows of allocations, by the ids that the planner gave them. Executor role. */
#ifndef TI_ALLOCATION_TABLE_H
#define TI_ALLOCATION_TABLE_H

#include "base/map.h"
#include "base/vec.h"
#include "ir/instruction.h"

typedef struct ti_allocation_record {
    void *address; /* NULL: this record is free */
    size_t bytes;
    int device;
    const ti_buffer_info *buffer; /* NULL: partial results */
} ti_allocation_record;

typedef struct ti_allocation_table {
    ti_map index; /* id to record */
    TI_VEC(ti_allocation_record) record;
    TI_VEC(size_t) unused;
    uint64_t latest_id; /* the one asked for last */
    char *latest;
} ti_allocation_table;

void ti_allocation_table_fini(ti_allocation_table *table); /* a zeroed table is an empty one */
void ti_allocation_table_add(ti_allocation_table *table, uint64_t id, const ti_allocation_record *record);
/* The first byte of a place's allocation, or the user's address. */
char *ti_allocation_table_base(ti_allocation_table *table, const ti_place *place);
/* A device has no memory for this instruction: the sentence; and a table in the log, of what each buffer has there. */
enum { TI_ALLOCATION_TEXT = TI_BOX_TEXT + 200 };
void ti_allocation_table_refuse(const ti_allocation_table *table, const ti_instruction *alloc, const char *device,
                                char what[TI_ALLOCATION_TEXT]);
/* Forget an allocation; returns what was known of it. */
ti_allocation_record ti_allocation_table_take(ti_allocation_table *table, uint64_t id);

#endif
