/* Tiles of a window: the items of consecutive tasks in another order, by small parts of the data. All tasks work on one
 * part, as far as they can, before the next part is begun: so it stays in the cache.
 *
 * The first task is cut into tiles, one after the other along its dimensions. After each tile, every later task goes as
 * far as it can: all of its items that neither touch what the rest of an earlier task will write, nor write what that
 * will touch. So a tile of a stencil moves back by its radius with every task (time skewing), in place or not, and each
 * item is executed once. Only what the mappers of any two tasks have in common counts. Whoever executes the kernels of
 * the list in order, or in another order that keeps dependencies, gets the results of the tasks in their order.
 *
 * Cuts lie between granules, along dimension 0, and along 1 if all tasks are split in two dimensions (TACIT_SPLIT_2D),
 * since kernels of others may take rows to be whole. What one device executes is tiled by itself, so that devices work
 * at the same time. A pure function. Any thread. */
#ifndef TI_TILES_H
#define TI_TILES_H

#include "grid/region.h"
#include "ir/shape.h"

/* Items of a task on a device. */
typedef struct ti_tile_piece {
    uint32_t task;
    int device;
    ti_box items;
} ti_tile_piece;

/* Tasks in order, and all of their pieces, those of earlier tasks first. */
typedef struct ti_tile_request {
    const ti_shape *const *shape;
    uint32_t tasks, pieces;
    const ti_tile_piece *piece;
    uint64_t bytes; /* that a tile of all tasks may touch */
    uint64_t least; /* that tasks touch in sum, or there are no tiles */
    int ahead;      /* a tile begins when the one so many before it has ended, on each device; at least 1 */
} ti_tile_request;

/* Some items of a piece, by one kernel. */
typedef struct ti_tile_kernel {
    uint32_t piece;
    int32_t after; /* begins when this one of the list has ended, so that tiles are few at a time; -1: at once */
    ti_box items;
} ti_tile_kernel;

typedef struct ti_tile_order {
    TI_VEC(ti_tile_kernel) kernel;
    int64_t extent[3]; /* of a tile, in items of the first task */
    uint32_t tiles;
    uint64_t bytes; /* that all tasks touch */
} ti_tile_order;

typedef enum ti_tile_verdict {
    TI_TILES_MADE,
    TI_TILES_ONE,    /* there is one task */
    TI_TILES_FIXED,  /* a task may not be cut */
    TI_TILES_SMALL,  /* all that they touch stays in the cache */
    TI_TILES_SKEW,   /* a tile would be too small for what moves from task to task: then fewer tasks may do */
    TI_TILES_MANY,   /* there would be too many kernels */
    TI_TILES_DEVICE, /* an accelerator executes one */
    TI_TILES_VERDICTS
} ti_tile_verdict;

/* Whether the task may be cut wherever granules end, and any kernel of it sees what it needs. */
bool ti_tile_order_admits(const ti_shape *shape);

/* Of at least one task; appends to `out->kernel` if there are tiles. */
ti_tile_verdict ti_tile_order_make(const ti_tile_request *request, ti_tile_order *out);
void ti_tile_order_fini(ti_tile_order *tiles);

#endif
