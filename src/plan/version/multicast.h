/* Planned multicasts: which nodes will read a version, as far as a window of tasks shows, and the tree over them.
 *
 * All nodes see the same placed tasks in the same order, so they see alike on which nodes a box will be read before it
 * is written again. A task names for each of its reads the task that wrote the box (ti_task::source). Reads of the same
 * box of the same source are of one version: their nodes are a *group*. Tasks enter the window at its end and leave it
 * at its front. When one leaves that is the first reader of a group of several nodes, the version can be sent to all of
 * them at once, by a tree in which readers send it on. Nodes that read another box, or one that several tasks wrote,
 * are in no group with them: nobody is asked for what it does not have.
 *
 * What is found is only a forecast: whoever acts on it looks at the versions for who has what. So it may be cut off
 * anywhere, as long as all nodes cut it off alike. A window costs what its tasks read, a group what its nodes are, and
 * nothing remains of what has left. Scheduler thread. */
#ifndef TI_MULTICAST_H
#define TI_MULTICAST_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "comm/tree.h"
#include "ir/task.h"

/* A node, by the first of its tasks that reads the version. */
typedef struct ti_multicast_reader {
    const ti_task *task;
    uint32_t access; /* index */
    int node;
} ti_multicast_reader;

typedef TI_VEC(ti_multicast_reader) ti_multicast_readers;

/* Several nodes will read a box, the first of them by this task. Those whose tasks have a higher priority come first,
 * then those whose tasks do. */
typedef struct ti_multicast {
    const ti_task *task;
    const ti_buffer_info *buffer;
    const ti_box *box;
    const ti_multicast_reader *reader;
    uint32_t readers;
} ti_multicast;

typedef TI_VEC(ti_multicast) ti_multicasts;

typedef struct ti_multicast_group ti_multicast_group;

typedef struct ti_multicast_window {
    TI_VEC(const ti_task *) task;
    TI_VEC(ti_multicast_group *) read; /* of these tasks, for each read that has a source */
    size_t first_task, first_read;     /* those before have left */
    ti_map groups;                     /* by a hash: the first of a chain */
    ti_multicast_group *free;
    ti_multicast_readers sorted; /* scratch */
} ti_multicast_window;           /* a zeroed one is empty */

void ti_multicast_window_fini(ti_multicast_window *w);
static inline size_t ti_multicast_window_count(const ti_multicast_window *w)
{
    return w->task.count - w->first_task;
}
void ti_multicast_window_push(ti_multicast_window *w, const ti_task *task);
/* The task at the front leaves. What begins with it is appended, and lies in the arena. */
const ti_task *ti_multicast_window_pop(ti_multicast_window *w, ti_arena *arena, ti_multicasts *out);

/* A place in a tree over recipients 0, 1, ...: from whom, and to whom. */
enum { TI_MULTICAST_ROOT = -1 };
typedef struct ti_multicast_place {
    int parent; /* a recipient, or the root; of the root, itself */
    TI_VEC(uint32_t) child;
    TI_VEC(uint32_t) list; /* scratch */
} ti_multicast_place;      /* a zeroed one is empty */

void ti_multicast_place_find(ti_multicast_place *place, ti_tree tree, uint32_t recipients, int who);
void ti_multicast_place_fini(ti_multicast_place *place);

#endif
