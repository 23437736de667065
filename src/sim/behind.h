/* What simulated accelerators are given early: kernels and copies that wait only for others that such a device has been
 * given already, as in a run (exec/engine.h). They are queued behind these, and the time of their launch passes
 * meanwhile. Part of the simulator; start.c and complete.c call it. One thread. */
#ifndef TI_SIM_BEHIND_H
#define TI_SIM_BEHIND_H

#include "sim/impl.h"

/* Give what can be given now. */
void ti_sim_give_behind(const ti_cluster *c, node *n);
/* The instruction ends now: what was given behind it alone begins. */
void ti_sim_begin_given(node *n, const ti_engine_slot *ended);
/* The next of these that is to be started; NULL: there is none. */
const ti_instruction *ti_sim_next_begun(const node *n, ti_begun *from);
/* When the instruction, which is started, was given to its device: now, or before. */
double ti_sim_given_at(const ti_cluster *c, node *n, uint64_t instruction);

#endif
