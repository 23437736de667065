/* Placed tasks on tiles: what their accesses touch, and shapes that are made of a form (api/shapes.h) and of that.
 * Application thread. */
#ifndef TI_TILE_H
#define TI_TILE_H

#include "api/context.h"

/* What the accesses of a task touch that have constant mappers. */
typedef struct ti_touched {
    ti_footprint tile[TACIT_MAX_ACCESSES]; /* one box, not empty, which is `bounding`: no `box` yet. Its number is 0 if
                                            * it is all of the buffer, or if there are no numbers left */
    uint64_t full;                         /* TI_FULL_BITS for each: bit d, all of dimension d, whatever it is */
    uint32_t numbers;                      /* the bits of all of them */
    bool apart;   /* all have been written, and none meets another: they are entries of the task graph's trackers */
    bool of_form; /* found by ti_tile_fill_known: numbers and corners instead of `tile` (ti_tile_spread) */
    uint32_t number[TACIT_MAX_ACCESSES]; /* as in a brief (ir/brief.h) */
    int64_t corner[TACIT_MAX_ACCESSES * 2 * TACIT_MAX_DIMS];
    /* Programs of tiles go through them in the same order again and again. By access, the number that was found last;
     * by number, that which came after it in the same access. Both are guesses, and may be numbers of another buffer's
     * tiles. */
    uint32_t latest[TACIT_MAX_ACCESSES];
    TI_VEC(uint32_t) follower;
} ti_touched;

/* Fill it for the first `accesses`. False: one of them has another mapper, or touches nothing, or is not good. *usable
 * is a buffer that is known to be usable, or NULL. */
bool ti_tile_fill(const tacit_context *ctx, const tacit_task *given, uint32_t accesses, const tacit_buffer **usable,
                  ti_touched *out);
/* The same of what has this known form, so that all mappers are constant, and its buffers, which are usable: only if
 * briefs may be made of it, and all are known tiles that are apart. */
bool ti_tile_fill_known(const tacit_context *ctx, const ti_shape *form, const tacit_task *given, ti_touched *out);
/* Fill `tile` also then. */
void ti_tile_spread(const ti_shape *form, ti_touched *touched);

/* The form of a shape, all in one piece of the arena. */
ti_shape *ti_tile_form(const ti_shape *shape, ti_arena *arena);

/* The shape of `given`, which has this form and touches these tiles; or NULL: the checks of all descriptions have to
 * look at it. It lies in the arena, with all that is not the form's, and unless the tiles are `apart` nobody has looked
 * whether what it reads has been written. On another node's task it has the accesses of the form, without mappers
 * (ti_shape::bare), if the buffers are the form's. */
const ti_shape *ti_tile_shape(const tacit_context *ctx, const ti_shape *form, const tacit_task *given,
                              const ti_touched *touched, ti_arena *arena);

#endif
