/* Who sends what to whom before a task can run: derived alike by sender and receiver, so no message announces another.
 *
 * All reads of one buffer by one task are planned as one union, which gives at most one message per ordered pair of
 * nodes. Its pieces are ordered by entry, owner's chunk, owned box and wanted box (R8), so both sides see the same
 * bytes in the same order. Scheduler thread. */
#ifndef TI_TRANSFER_H
#define TI_TRANSFER_H

#include "plan/version/version.h"

/* The pieces of the messages of one node, by peer; pieces of one peer are adjacent and in message order. */
typedef struct ti_message_piece {
    int peer;
    uint32_t order;
    ti_box box;
} ti_message_piece;

typedef TI_VEC(ti_message_piece) ti_messages;

typedef struct ti_transfer_planner {
    int node;
    ti_boxes covered; /* what collectives of the task bring: not planned again */
    ti_messages incoming, outgoing, other;
    ti_boxes mine, wanted, owned;
    ti_demand demand;
    ti_chunk_list chunks, found, peers;
} ti_transfer_planner;

void ti_transfer_init(ti_transfer_planner *planner, int node);
void ti_transfer_fini(ti_transfer_planner *planner);

/* Fill `incoming` and `outgoing` for a task that reads `map` through `reads`. The map is not changed. */
void ti_transfer_plan(ti_transfer_planner *planner, ti_version_map *map, ti_holders reads);

#endif
