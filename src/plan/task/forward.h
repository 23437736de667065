/* Forwards: where a collective may take place, found in the task graph before anything is known of nodes.
 *
 * Algorithm 1 of Knorr et al., doi 10.1007/s10766-024-00767-y: a task that reads what a producer wrote, in another way
 * than it was written, gets a forward between the two, unless another consumer's forward has moved that region before.
 * What is read as it was written, over the same geometry, moves nothing: tasks of one geometry are divided among nodes
 * alike. The decision what becomes of a forward is the command graph's.
 *
 * Who wrote what is kept by plan/task/producer.h. With lookahead (TI_COLLECTIVES_LOOKAHEAD) nothing is marked as moved:
 * the command graph knows better what has moved, and a forward that came to nothing must not hide a later one.
 *
 * Horizons: a task that reads what many producers wrote before the latest horizon makes one of them, and from then on
 * what is read of it is one forward without a producer. The command graph divides it by who has what. So a task has a
 * bounded number of forwards, however long the program runs; and boxes that are used again and again keep their
 * producers. Application thread. */
#ifndef TI_FORWARD_H
#define TI_FORWARD_H

#include "base/arena.h"
#include "ir/system.h"
#include "ir/task.h"
#include "plan/task/producer.h"

typedef struct ti_forwards ti_forwards;

ti_forwards *ti_forwards_create(const ti_system *system); /* NULL if nobody wants any: one node, or all is off */
void ti_forwards_destroy(ti_forwards *forwards);

/* `task` comes next and has its id: set its forwards and sources, which live in `arena`, and note what it
 * writes. Horizons and epochs too. */
void ti_forwards_add(ti_forwards *forwards, ti_task *task, ti_arena *arena);
/* The same of a brief, task `id` on a node, if placed tasks have written all of its buffers and the tiles that it
 * writes: no forward comes of it. False: nothing has changed. */
bool ti_forwards_pass(ti_forwards *forwards, const ti_shape *form, const uint32_t *tile, uint64_t id, int node);
/* The tile is likely to be written soon. */
void ti_forwards_expect(const ti_forwards *forwards, const ti_buffer_info *buffer, uint32_t tile);
size_t ti_forwards_entries(const ti_forwards *forwards);

/* For cycles (plan/task/cycle.h), which know of what there is when nothing is looked at. The producers of the buffer in
 * this slot, or NULL; a horizon or epoch has been handed out. */
ti_producers *ti_forwards_producers(const ti_forwards *forwards, size_t slot);
void ti_forwards_pass_point(ti_forwards *forwards, uint64_t point);

#endif
