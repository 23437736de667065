/* Parcels: payloads that outlive the call that gave them, of a send that is held back, of a packed message together
 * with its bytes, or of a message that came before its receive.
 *
 * Small ones come from a pool, so that steady traffic calls no malloc. Parcels that wait lie in a heap by their
 * counters. One thread. */
#ifndef TI_PARCEL_H
#define TI_PARCEL_H

#include "base/vec.h"
#include "comm/comm.h"

typedef struct ti_parcel {
    size_t size;
    uint64_t counter, token;
    ti_payload payload;
    char *packed; /* behind the blocks */
    ti_block block[];
} ti_parcel;

enum { TI_PARCEL_CLASSES = 4 };

typedef struct ti_parcel_pool {
    TI_VEC(ti_parcel *) spare[TI_PARCEL_CLASSES]; /* all of one size each */
} ti_parcel_pool;

void ti_parcel_pool_fini(ti_parcel_pool *pool);

/* A copy of the payload's blocks, or none, and room for its bytes at `packed`, or none. */
ti_parcel *ti_parcel_create(ti_parcel_pool *pool, const ti_payload *payload, bool with_blocks, bool with_bytes);
void ti_parcel_destroy(ti_parcel_pool *pool, ti_parcel *parcel); /* NULL is allowed */

/* The lowest counter is at data[0]. */
typedef TI_VEC(ti_parcel *) ti_parcel_heap;
void ti_parcel_heap_push(ti_parcel_heap *heap, ti_parcel *parcel);
ti_parcel *ti_parcel_heap_pop(ti_parcel_heap *heap); /* not of an empty one */

#endif
