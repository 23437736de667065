/* What the time of a simulated run was spent on, along one chain of events: the critical path by name.
 *
 * Whatever starts is started by the event at hand, which is the last thing that it waited for. So each event carries
 * the sums of its own chain, and those of the last event are the critical path. Most events add to what their cause
 * added to, so a chain is sums that others share, and what was added since in one slot. One thread. */
#ifndef TI_PATH_H
#define TI_PATH_H

#include "base/vec.h"

#include <stdint.h>

enum { TI_PATH_PLANNING, TI_PATH_MESSAGES, TI_PATH_COPIES, TI_PATH_NAMES, TI_PATH_SLOTS = 64 };

typedef struct ti_path {
    double ns[TI_PATH_SLOTS]; /* from TI_PATH_NAMES on: tasks by name, the last slot for all names beyond */
    uint32_t chains;          /* that share it */
} ti_path;

typedef struct ti_chain {
    uint32_t path; /* 0: nothing yet */
    int slot;
    double ns;
} ti_chain;

typedef struct ti_paths {
    TI_VEC(ti_path) path; /* at index - 1 */
    TI_VEC(uint32_t) free;
    TI_VEC(char *) name;
} ti_paths;

/* A chain like `from`, with `ns` more in `slot`. Dropped by whoever asked. */
ti_chain ti_paths_extend(ti_paths *paths, ti_chain from, int slot, double ns);
void ti_paths_drop(ti_paths *paths, ti_chain chain);
/* The sums of a chain. */
void ti_paths_sum(const ti_paths *paths, ti_chain chain, double ns[TI_PATH_SLOTS]);
/* The slot of tasks with this name. */
int ti_paths_slot(ti_paths *paths, const char *name);
void ti_paths_fini(ti_paths *paths);

#endif
