/* Executing the simulator's plans as a recorded run went (sim/recorded.h): first they are compared with what was
 * recorded, instruction by instruction. Then submitting and planning a task, and executing an instruction, takes the
 * time that was recorded. If the recorded order is kept, messages take their recorded times, too, and every node
 * starts its instructions in the order of the record. Else the simulator decides the order, and messages take the time
 * of the simulated network. One thread. */
#ifndef TI_REPLAY_H
#define TI_REPLAY_H

#include "sim/recorded.h"

typedef struct ti_replay {
    ti_recorded *recorded;
    bool in_order;
    ti_map meetings;      /* collectives and barriers under way: how many have come */
    uint64_t zeros;       /* fences whose values are not recorded */
    ti_strbuf difference; /* between the plans and what was recorded; empty: there is none */
} ti_replay;

/* `events`: starts and ends of instructions; `moved`: so many of them have to be moved, at least, to make the order of
 * each node the recorded one. */
typedef struct ti_replay_result {
    double recorded_ns;
    uint64_t instructions, events, moved;
} ti_replay_result;

ti_replay *ti_replay_create(const char *prefix, int nodes, bool in_order, ti_strbuf *why);
void ti_replay_destroy(ti_replay *replay);
/* What the program got from its n-th fence; without a record zeros stay, and are counted. */
void ti_replay_give_values(ti_replay *replay, uint64_t fence, void *data, size_t bytes);
/* Of all devices of a node. */
int ti_replay_workers(const ti_replay *replay, int node);

#endif
