/* How much memory this machine lets the process use. Any thread. */
#ifndef TI_MACHINE_H
#define TI_MACHINE_H

#include "base/macro.h"

/* Bytes: the machine's memory, or less where a control group of the process has a limit. 0 if it is not known. */
uint64_t ti_machine_memory(void);

/* The smallest limit of the control groups of a process: `list` is its file /proc/self/cgroup, `root` where the groups
 * are mounted (/sys/fs/cgroup). UINT64_MAX if there is none. */
uint64_t ti_cgroup_limit(const char *list, const char *root);

#endif
