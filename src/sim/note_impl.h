/* Part of sim/impl.h: the records of a simulated run, which sim/note.c makes. Not for others. One thread. */
#ifndef TI_SIM_NOTE_IMPL_H
#define TI_SIM_NOTE_IMPL_H

/* Records of a trace: sim/note.c. Nothing where none is written. Calls go from the last of these groups to the first:
 * cluster.c calls all. */
void ti_sim_note_open(node *n, ti_recorder *recorder);
void ti_sim_note_fini(node *n);
/* The application thread is through with a task at `end`; the planner has planned it, of which so much was made. */
void ti_sim_note_task(node *n, const ti_task *task, double begin, double end);
void ti_sim_note_plan(node *n, const ti_task *task, size_t commands, size_t instructions);
/* Before and after the application thread is blocked. */
void ti_sim_note_wait(const ti_cluster *c, node *n, bool was_blocked);
/* Instructions become known, one starts, one ends. */
void ti_sim_note_known(const ti_cluster *c, node *n);
void ti_sim_note_start(const ti_cluster *c, node *n, const ti_instruction *i);
void ti_sim_note_end(const ti_cluster *c, node *n, const ti_instruction *i);
/* A worker or lane of this device begins a part of an instruction, and ends it. Returns which of the node's it is. */
int ti_sim_note_part(const ti_cluster *c, node *n, int device);
void ti_sim_note_part_end(const ti_cluster *c, node *n, const ti_instruction *i, int part, int worker);
/* A lane of an accelerator copies between these times. */
void ti_sim_note_copy(node *n, const ti_instruction *i, copy_way way, double begin, double end);

#endif
