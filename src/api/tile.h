/* Placed tasks on tiles: what their accesses touch, and shapes that are made of a form (api/shapes.h) and of that.
 * Application thread. */
#ifndef TI_TILE_H
#define TI_TILE_H

#include "api/context.h"

/* What an access with a constant mapper touches. */
typedef struct ti_tile {
    ti_box box;      /* in the buffer, not empty */
    uint32_t number; /* of the box: ti_task_graph_tiles; 0: it is all of the buffer, or has none */
    uint8_t full;    /* bit d: all of dimension d, whatever it is */
} ti_tile;

/* Fill what each of the first `accesses` touches. False: one of them has another mapper, or touches nothing, or is not
 * good. *usable is a buffer that is known to be usable, or NULL. */
bool ti_tile_fill(const tacit_context *ctx, const tacit_task *given, uint32_t accesses, const tacit_buffer **usable,
                  ti_tile *out);

/* The form of a shape, all in one piece of the arena. */
ti_shape *ti_tile_form(const ti_shape *shape, ti_arena *arena);

/* The shape of `given`, which has this form and touches these tiles; or NULL: the checks of all descriptions have to
 * look at it. It lies in the arena, with all that is not the form's, and nobody has looked whether what it reads has
 * been written. On another node's task it has the accesses of the form, without mappers (ti_shape::bare), if the
 * buffers are the form's. */
const ti_shape *ti_tile_shape(const tacit_context *ctx, const ti_shape *form, const tacit_task *given,
                              const ti_tile *tile, ti_arena *arena);

#endif
