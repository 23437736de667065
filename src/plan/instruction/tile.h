/* Tiles of windows in the instruction graph: the state of plan/stream/tile.c, and the function of kernel.c that it
 * calls. Included by impl.h only. Scheduler thread. */
#ifndef TI_INSTRUCTION_TILE_H
#define TI_INSTRUCTION_TILE_H

#include "base/vec.h"
#include "ir/command.h"

struct ti_instruction_graph;
struct ti_device_piece;

typedef struct ti_tilings {
    TI_VEC(struct ti_tiling *) known; /* windows that there have been */
    TI_VEC(uint64_t) kernel;          /* of the window at hand: instructions */
    uint64_t tiles, replayed;         /* so far; windows, or parts of such, whose tiles were known */
    uint64_t after;                   /* an instruction that the kernel at hand waits for beside others; 0: none */
} ti_tilings;

/* kernel.c: compile some items of an execution, which wait for the instruction `after`, too, if it is not 0: the
 * kernel's id. */
uint64_t ti_instruction_compile_kernel(struct ti_instruction_graph *graph, const ti_command *command,
                                       const struct ti_device_piece *at, uint64_t after);

#endif
