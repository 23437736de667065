/* Placed tasks on tiles: a shape is made of a form (api/shapes.h) and what the description adds to it. Application
 * thread. */
#ifndef TI_TILE_H
#define TI_TILE_H

#include "api/context.h"

/* The shape of `given`, which has this form, or NULL: the checks of all descriptions have to look at it. It lies in the
 * arena, with all that is not the form's, and nobody has looked whether what it reads has been written. */
const ti_shape *ti_tile_shape(const tacit_context *ctx, const ti_shape *form, const tacit_task *given, ti_arena *arena);

#endif
