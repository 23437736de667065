/* How much memory this machine lets the process use, and its caches. Any thread. */
#ifndef TI_MACHINE_H
#define TI_MACHINE_H

#include "base/cores.h"

/* Bytes: the machine's memory, or less where a control group of the process has a limit. 0 if it is not known. */
uint64_t ti_machine_memory(void);

/* Bytes of all last-level caches of the cores that the process may use, each as a whole; 0 if that is not known. */
uint64_t ti_machine_cache(void);
/* Of these cores; `root` is where the system describes them (/sys/devices/system/cpu). */
uint64_t ti_cache_of(const ti_cores *cores, const char *root);

/* The smallest limit of the control groups of a process: `list` is its file /proc/self/cgroup, `root` where the groups
 * are mounted (/sys/fs/cgroup). UINT64_MAX if there is none. */
uint64_t ti_cgroup_limit(const char *list, const char *root);

#endif
