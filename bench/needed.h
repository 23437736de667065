/* The fewest messages that a program of tiles needs, counted beside the planners by a model of its own.
 *
 * Every task runs on one node and touches whole tiles, which never meet in part. A tile has an owner, the node that
 * wrote it last, and nodes that hold it. A task brings what its node lacks, in one message from each owner.
 * One thread. */
#ifndef BENCH_NEEDED_H
#define BENCH_NEEDED_H

#include "ir/task.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct needed needed;

needed *needed_create(int nodes);
void needed_destroy(needed *l);
/* The next task, in the order of submission. */
void needed_see(needed *l, const ti_task *task);
/* Whether all tasks so far were of that kind, and had work; and then the messages that they need together. */
bool needed_messages(const needed *l, uint64_t *messages);

#endif
