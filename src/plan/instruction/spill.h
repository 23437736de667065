/* Spilling: contents of a device's memory move to the host to make room for what the next tasks need. Called by
 * window.c when a window closes. See spill.c. */
#ifndef TI_SPILL_H
#define TI_SPILL_H

#include "plan/instruction/impl.h"

/* Whether what the window wants does not fit into some device's own memory, beside all that is there. */
bool ti_instruction_is_device_short(ti_instruction_graph *graph);
/* Choose what is freed there; what only devices have of it is wanted on the host from now on. The memory in which there
 * is no room all the same, else TI_HOST_MEMORY. */
int ti_instruction_choose_spills(ti_instruction_graph *graph);
/* Copy to the host what only devices have, and free what was chosen, if anything was. */
void ti_instruction_spill(ti_instruction_graph *graph);

#endif
