/* Combining the partial results of a reduction, which lie in slots of its staging memory. Workers and the executor
 * role, each with elements of its own. */
#ifndef TI_COMBINE_H
#define TI_COMBINE_H

#include "ir/instruction.h"

/* Elements that are combined at once: they stay in a core's cache. */
size_t ti_combine_step(size_t elem_size);
/* Combine elements [first, end): from the slots to `to`, the whole buffer, if this node has the result. */
void ti_combine_slots(const ti_combination *c, char *slots, char *to, size_t first, size_t end);

#endif
