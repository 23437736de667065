/* How much memory a node may use: from the machine, the nodes that share it, and TACIT_MEMORY_LIMIT. Application
 * thread. */
#ifndef TI_MEMORY_LIMIT_H
#define TI_MEMORY_LIMIT_H

#include "ir/system.h"
#include "tacit/tacit.h"

/* Fills in what the planners may know of memory. Nodes of one machine share it equally. */
void ti_memory_limit_choose(ti_system *system, const tacit_config *config, int local_nodes);

#endif
