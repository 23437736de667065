/* Tasks that have been submitted before: loops submit the same descriptions again and again.
 *
 * A description that was good once is good as long as its buffers live: what it reads stays written, and nothing else that a check looks at changes. So
 * the second time that a description comes, the task that was made of it is kept, with its mappers and footprints, in one piece
 * of memory; from the third time on the task is a copy of that. Descriptions are compared by value, names and arguments too: a
 * description that differs in anything is checked as if nothing had been before. Custom mappers, weights and host objects are not
 * remembered. Copies of one row of memory have its number, by which later stages know them again (ti_task.row). Application thread. */
#ifndef TI_RECALL_H
#define TI_RECALL_H

#include "plan/task/graph.h"

typedef struct ti_recall ti_recall;

ti_recall *ti_recall_create(void);
void ti_recall_destroy(ti_recall *recall);
/* Forget everything: a buffer is destroyed, and what comes next may have its address. */
void ti_recall_clear(ti_recall *recall);

/* A new task of `graph` that `given` describes, or NULL. It needs no check. */
ti_task *ti_recall_task(ti_recall *recall, ti_task_graph *graph, const tacit_task *given);
/* `task`, which has footprints and is not submitted yet, was made of the description that was asked for last, which is good. */
void ti_recall_keep(ti_recall *recall, const ti_task *task);

#endif
