/* Part of sim/impl.h: simulated nodes that follow a recorded run, which sim/replay.c and sim/replay_start.c implement.
 * Not for others; the outside is replay.h. One thread. */
#ifndef TI_SIM_REPLAY_IMPL_H
#define TI_SIM_REPLAY_IMPL_H

/* In sim/replay.c. Only where there is a recorded run, but for the first four.
 * Whether the plans are others than recorded: then nothing more is simulated. */
bool ti_sim_replay_differs(const ti_cluster *c);
/* Whether instructions start in recorded order. */
bool ti_sim_replay_has_order(const ti_cluster *c);
/* Whether one thread of the node does everything: what is under way is in `executor`. */
bool ti_sim_replay_is_alone(const ti_cluster *c, const node *n);
/* An instruction starts, or would end; false: something else comes first. */
void ti_sim_replay_started(const ti_cluster *c, const node *n, const ti_instruction *i);
bool ti_sim_replay_ended(const ti_cluster *c, const node *n, const ti_instruction *i);
void ti_sim_replay_planned(ti_cluster *c, const node *n, const ti_instruction *i);
/* All has been planned. False and a sentence if something else was recorded. */
bool ti_sim_replay_ends(const ti_cluster *c, ti_strbuf *why);
ti_replay_result ti_sim_replay_result(const ti_cluster *c);
/* Of one task, in ns: what the program computes before; the stages; and after how long without another task its window
 * of allocations is closed (-1: it is not). */
typedef struct ti_sim_stages {
    double gap, task, commands, instructions, closes;
} ti_sim_stages;
ti_sim_stages ti_sim_replay_task(const ti_cluster *c, const node *n, const ti_task *task);
/* In recorded order: the instruction that starts next, NULL: it may not yet, or none does; and the one that was to end
 * and whose turn it is now, or 0. */
const ti_instruction *ti_sim_replay_next(ti_cluster *c, node *n);
uint64_t ti_sim_replay_due(const ti_cluster *c, const node *n);
/* What instructions take: sim/replay_start.c. False: it starts as it does without a recorded run. */
bool ti_sim_replay_start(ti_cluster *c, node *n, const ti_instruction *i);
/* Into how many parts a kernel was cut, and what each took. */
int ti_sim_replay_parts(const ti_cluster *c, const node *n, const ti_instruction *i);
double ti_sim_replay_part(const ti_cluster *c, const node *n, uint64_t instruction, int part);

#endif
