/* What the command graph keeps of planned multicasts: the state of plan/transfer/multicast.c, which says what they are.
 * Included by impl.h only. Scheduler thread. */
#ifndef TI_COMMAND_MULTICAST_H
#define TI_COMMAND_MULTICAST_H

#include "plan/command/graph.h"
#include "plan/version/multicast.h"
#include "plan/version/transfer.h"

/* What a multicast has brought to the readers of a task, for the report. */
typedef struct ti_command_told {
    uint64_t task;
    const ti_buffer_info *buffer;
    const ti_box *box;
    uint32_t recipients, depth;
    bool left;            /* to its sender */
    ti_messages from, to; /* of this node; if it is planned */
} ti_command_told;

typedef struct ti_command_multicasts {
    bool trees;    /* there may be some */
    bool emitting; /* their messages */
    uint32_t left; /* of the latest one: ti_replay_effect::left */
    ti_tree tree;
    ti_multicast_window window;
    ti_multicasts starting; /* with tasks that have left the window and are not planned yet */
    ti_multicast_counts counts;
    TI_VEC(ti_command_told) told; /* of the latest task that any began with, if somebody wants to know */
    ti_map known;                 /* those that repeat themselves: by a hash, the first of a chain in: */
    TI_VEC(uint64_t) known_words;
    uint64_t forgotten;           /* words of earlier ones */
    ti_multicast_readers lacking; /* scratch, as all that follows */
    ti_multicast_place place;
    ti_messages from, to;
    TI_VEC(ti_holder *) holder;
    TI_VEC(uint64_t) words;
} ti_command_multicasts;

#endif
