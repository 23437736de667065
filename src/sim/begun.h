/* Part of sim/impl.h: the state of behind.c. Lists of kernels and copies that a simulated accelerator was given before
 * those that they wait for had ended, and that may begin now, first in, first out. One thread. */
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
