/* The table of shapes (ir/shape.h): descriptions that come again are checked, copied and mapped once.
 *
 * A description that was good once is good as long as its buffers and host objects live: what it reads stays written,
 * and nothing else that a check looks at changes. So the second time that a description comes, the shape that is made
 * of it is kept; from the third time on it is found. Descriptions are compared by value. All but the bytes of arguments
 * counts (api/description.h). The table grows with the program up to a bound; then shapes that have not come for long
 * are dropped, and freed when their tasks have been executed.
 *
 * Placed tasks on tiles come with other nodes and boxes every time. What they have in common is a form, of which the
 * table keeps up to TI_FORMS: a shape is made of it by adding the node, the buffers and the boxes (api/tile.c).
 * Application thread. */
#ifndef TI_SHAPES_H
#define TI_SHAPES_H

#include "api/tile.h"

enum { TI_SHAPES = 1 << 15, TI_TILE_SHAPES = 2048, TI_FORMS = 128 }; /* at most; of shapes with a form fewer */

ti_shapes *ti_shapes_create(const tacit_context *ctx);
void ti_shapes_destroy(ti_shapes *shapes);

/* The shape of `given` for task number `task`, or NULL: it is not known. It needs no check. */
const ti_shape *ti_shapes_find(ti_shapes *shapes, const tacit_task *given, uint64_t task);
/* Where a shape is in the table: no look at a description finds it sooner. */
typedef struct ti_shapes_place {
    struct ti_shapes_entry *entry; /* NULL: nowhere */
    uint64_t serial;
} ti_shapes_place;
/* Of the one that was found or kept last, if it is `shape`. */
ti_shapes_place ti_shapes_place_of(const ti_shapes *shapes, const ti_shape *shape);
/* The shape that is there, for task number `task`; NULL: it has been forgotten. */
const ti_shape *ti_shapes_at(ti_shapes *shapes, const ti_shapes_place *place, uint64_t task);

/* The memory in which a shape of the description that was asked for last is to be made, so that it can be kept, or
 * NULL: it is not worth that. Then either keep the shape, which has its footprints, or abandon it. Horizon or epoch
 * `executed` has been executed: what has left is freed if its tasks came before the point before that. `returns`: it
 * will come again, and need not have come before. */
ti_arena *ti_shapes_begin(ti_shapes *shapes, uint64_t executed, bool returns);
/* Whether it is of a form, and one of those that are not kept: nothing has to begin. */
bool ti_shapes_passes(const ti_shapes *shapes);
void ti_shapes_keep(ti_shapes *shapes, const tacit_task *given, ti_shape *shape, uint64_t task);
void ti_shapes_abandon(ti_shapes *shapes);

/* The form of what was asked for last, or NULL: there is none. It is a shape that lacks what tiles of a program differ
 * in: the node, and of each access, which has a constant mapper, buffer, mapper and footprint. These are made of
 * `touched`, and need to be checked. It lives until the task that was asked for has been executed, and tiles until the
 * next one is asked for. */
const ti_shape *ti_shapes_form(ti_shapes *shapes, ti_touched **touched);
/* Remember the form of what was asked for last, and could not be found, if it comes often; `shape` was made of it, and
 * its accesses of one buffer that write touch nothing that others do. */
void ti_shapes_keep_form(ti_shapes *shapes, const tacit_task *given, const ti_shape *shape, uint64_t task);

/* A buffer is destroyed, or (NULL) a host object: shapes that use it (or any host object) are forgotten, since others
 * may get its address. */
void ti_shapes_forget(ti_shapes *shapes, const ti_buffer_info *buffer);

/* Weights of items are destroyed: likewise. */
void ti_shapes_forget_weights(ti_shapes *shapes, const ti_weights *weights);

/* Other weights of nodes hold from now on (TACIT_BALANCE): shapes that have the old ones are forgotten. */
void ti_shapes_forget_balanced(ti_shapes *shapes);

/* A custom mapper (or NULL) or an operator (or NULL) is destroyed: likewise, since it must not be used any more. */
void ti_shapes_forget_function(ti_shapes *shapes, const ti_custom_mapper *mapper, const ti_user_op *op);

/* How many there are, and the bytes of all, those that have left included: tests. */
size_t ti_shapes_count(const ti_shapes *shapes);
size_t ti_shapes_bytes(const ti_shapes *shapes);

#endif
