/* What simulated accelerators were given behind others, which have ended by now: first in, first out. See behind.c. */
#ifndef TI_SIM_BEGUN_H
#define TI_SIM_BEGUN_H

#include "base/map.h"
#include "base/vec.h"

typedef struct ti_begun {
    TI_VEC(uint64_t) instruction;
    size_t head; /* entries before it are gone */
} ti_begun;

/* Of a node. */
typedef struct ti_behind {
    ti_map given;    /* from an instruction to when */
    ti_begun copies; /* kernels begin on their devices */
} ti_behind;

#endif
