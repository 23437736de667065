/* The order of events: see timeline.h. */
#include "timeline.h"

#include <stdio.h>

static void add(timeline *t, const ti_instruction *instruction, bool complete)
{
    timeline_event event = { instruction->kind, complete, "" };
    snprintf(event.task, sizeof(event.task), "%s", instruction->task->shape->name);
    ti_vec_push(&t->events, event);
}

static void started(void *user, const ti_instruction *instruction)
{
    add(user, instruction, false);
}

static void completed(void *user, const ti_instruction *instruction)
{
    add(user, instruction, true);
}

void timeline_init(timeline *t)
{
    *t = (timeline){ .tap = { .user = t, .started = started, .completed = completed } };
}

void timeline_fini(timeline *t)
{
    ti_vec_fini(&t->events);
}
