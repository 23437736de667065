/* The kernel that combines the partial results of a reduction, when workers do it. Executor role. */
#ifndef TI_COMBINE_JOB_H
#define TI_COMBINE_JOB_H

#include "exec/job.h"

/* Where the slots are, and the result, or NULL if this node does not have it. */
void ti_combine_find_slots(ti_allocation_table *table, const ti_combination *c, char **slots, char **to);
/* Of the result of a TI_INSTRUCTION_REDUCE. */
size_t ti_combine_bytes(const ti_instruction *reduce);
/* `brief`: as ti_device_kernel has it. */
ti_job *ti_combine_job(ti_jobs *jobs, ti_allocation_table *table, const ti_instruction *reduce, bool brief);

#endif
