/* Tasks that overlap with their own messages: the state of overlap.c, which says how, and what is kept with a shape of
 * how its chunks were cut. Included by pure.h only. Scheduler thread. */
#ifndef TI_COMMAND_OVERLAP_H
#define TI_COMMAND_OVERLAP_H

#include "base/arena.h"
#include "ir/command.h"
#include "plan/tolerance/margins.h"
#include "plan/tolerance/overlap.h"

struct ti_command_graph;
struct ti_command_late;
struct ti_command_shape;

/* How the chunk of a shape is cut if this is late. */
typedef struct ti_command_cut_in {
    const struct ti_command_late *late;
    size_t lates;
    const ti_piece *piece;  /* NULL: it is not cut */
    uint32_t pieces, ahead; /* the first wait for messages */
    int64_t at_once;        /* items that do not */
    const struct ti_command_late *after;
    size_t afters; /* in windows: what is late then */
} ti_command_cut_in;

/* What is known of that: in loops there is one way, or a few. */
enum { TI_CUTS_KEPT = 4 };
typedef struct ti_command_parts {
    ti_arena *arena; /* where they lie */
    int count;
    ti_command_cut_in kept[TI_CUTS_KEPT];
} ti_command_parts;

/* The same in windows in stages, by depths. */
typedef struct ti_command_stage_cut {
    ti_margin depth, first; /* how deep what waits reaches, and what comes ahead */
    const ti_piece *piece;
    uint32_t pieces, ahead;
} ti_command_stage_cut;
typedef struct ti_command_stage_parts {
    int count;
    ti_command_stage_cut kept[TI_CUTS_KEPT];
} ti_command_stage_parts;

/* Of a shape: whether its only piece may be cut, and then what is known; and how its only chunk was cut in windows of
 * pure tasks, on one node, too. */
typedef struct ti_command_overlap {
    ti_overlap verdict;
    ti_command_parts *parts;
    ti_command_parts *in_windows; /* NULL: it was in none */
    ti_command_stage_parts *in_stages;
} ti_command_overlap;

/* What is kept of how to cut for what is late now, or NULL (late.c). */
const ti_command_cut_in *ti_command_find_cut(const struct ti_command_graph *graph, const ti_command_parts *parts);

/* The transfers of the task come next; true if the end has to be called after them. */
bool ti_command_overlap_begin(struct ti_command_graph *graph, const ti_task *task,
                              const struct ti_command_shape *known);
/* Its pieces, of which the first `ahead` should come first as soon as they can. */
const ti_piece *ti_command_overlap_end(struct ti_command_graph *graph, const ti_task *task,
                                       const struct ti_command_shape *known, uint32_t *pieces, uint32_t *ahead);

#endif
