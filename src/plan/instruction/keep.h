/* The instruction graph, staging memory that is not in use and is kept for the next reduction: the state of keep.c,
 * which says how. Included by impl.h only. Scheduler thread. */
#ifndef TI_KEEP_H
#define TI_KEEP_H

#include "base/vec.h"

#include <stdint.h>

/* What more have used last is freed. */
enum { TI_KEPT_USERS = 8 };

typedef struct ti_kept {
    uint64_t allocation;
    int device, horizons; /* horizons: that have come since its last use */
    size_t bytes, afters;
    uint64_t after[TI_KEPT_USERS]; /* its last users */
} ti_kept;

/* One size on one device. */
typedef struct ti_kept_kind {
    size_t bytes;
    int device;
    uint32_t kept, spare; /* how many there are; as many overlap */
} ti_kept_kind;

typedef struct ti_keeper {
    TI_VEC(ti_kept) kept; /* from `first` on: the one used longest ago first */
    size_t first;
    TI_VEC(ti_kept_kind) kinds; /* of which some are kept */
} ti_keeper;

#endif
