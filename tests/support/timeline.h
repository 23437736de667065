/* The order of events in the executor: which instruction was started and completed when. For tests that state orders.
 *
 * Filled in the executor role; read after the run. */
#ifndef TEST_TIMELINE_H
#define TEST_TIMELINE_H

#include "base/vec.h"
#include "exec/executor.h"

typedef struct timeline_event {
    ti_instruction_kind kind;
    bool complete; /* else: started */
    char task[32]; /* its name, cut */
} timeline_event;

typedef struct timeline {
    ti_executor_tap tap; /* for ti_runtime_tap */
    TI_VEC(timeline_event) events;
} timeline;

void timeline_init(timeline *t); /* stays where it is */
void timeline_fini(timeline *t);

#endif
