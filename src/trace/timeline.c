/* The order of events: see timeline.h. */
#include "trace/timeline.h"

#include "base/clock.h"

#include <stdio.h>

void ti_timeline_add(ti_timeline *timeline, const ti_instruction *instruction, bool complete)
{
    ti_timeline_event event = { ti_clock_ns(), instruction->id, instruction->kind, complete, "" };
    snprintf(event.task, sizeof(event.task), "%s", instruction->task->shape->name);
    ti_vec_push(&timeline->events, event);
}

void ti_timeline_fini(ti_timeline *timeline)
{
    ti_vec_fini(&timeline->events);
}
