/* What allocations are used for: it finds those of which less than half is ever touched, in dry runs and in live runs
 * that end with advice.
 *
 * For every allocation of a buffer it notes which boxes kernels, messages and fences touch, until these are half of
 * it; then the allocation is *tight*, and is not looked at any more. Of one that is loose in the end, the access is
 * named whose view has most elements that no access declares. Executor role. */
#ifndef TI_DRY_MEMORY_H
#define TI_DRY_MEMORY_H

#include "base/map.h"
#include "grid/region.h"
#include "ir/instruction.h"

/* An allocation of which most lies idle. */
typedef struct ti_dry_loose {
    char *buffer, *task; /* task NULL: no kernel has touched it */
    int access;
    bool spans; /* the access declares far boxes, which its view spans; else boxes of several accesses share it */
    uint64_t bytes, used_bytes;
} ti_dry_loose;

typedef struct ti_dry_allocation {
    ti_box box;
    size_t elem_size;
    bool tight, replaced; /* replaced: by a larger one, which has its contents */
    ti_region used;
    int64_t idle; /* elements of the view of `loose.access` that it does not declare */
    int64_t seen; /* and all of them */
    ti_dry_loose loose;
} ti_dry_allocation;

typedef struct ti_dry_memory {
    TI_VEC(ti_dry_allocation) allocation;
    TI_VEC(size_t) unused;
    ti_map index; /* allocation id to place in the list, plus one */
    ti_map known; /* hashes: of allocation, shape, access and chunk, whose view has been noted */
    size_t knowns;
    TI_VEC(ti_dry_loose) loose; /* the largest of each buffer, task and access */
    ti_boxes image;
} ti_dry_memory;

void ti_dry_memory_fini(ti_dry_memory *m);                          /* a zeroed one is fresh */
void ti_dry_memory_note(ti_dry_memory *m, const ti_instruction *i); /* an instruction that is issued */
void ti_dry_memory_end(ti_dry_memory *m);                           /* what is still allocated counts too */
/* After that: the one of which most bytes lie idle, or NULL. */
const ti_dry_loose *ti_dry_memory_most(const ti_dry_memory *m);

#endif
