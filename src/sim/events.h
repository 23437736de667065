/* What happens next in a simulated cluster: events in the order of their times, and of their making where times are
 * equal. So two simulations of the same program are the same. One thread. */
#ifndef TI_EVENTS_H
#define TI_EVENTS_H

#include "base/map.h"
#include "base/vec.h"
#include "sim/path.h"

#include <stdbool.h>
#include <stdint.h>

/* EVENT_APPLICATION: the application thread goes on. EVENT_PLANNED: `what` instructions have been planned.
 * EVENT_MEET: all ranks of a collective that begin a step now have said so. EVENT_STEPPED: one is through with steps.
 * EVENT_PART: a worker (TI_WORKER_SHIFT) ends its part of an instruction. EVENT_DONE: an instruction is complete.
 * EVENT_LOOK: the attendant looks after messages. The others concern the message `what`: sim/wire.c; what concerns
 * messages comes last. */
typedef enum event_kind {
    EVENT_APPLICATION,
    EVENT_PLANNED,
    EVENT_PART,
    EVENT_DONE,
    EVENT_MEET,
    EVENT_STEPPED,
    EVENT_LOOK,
    EVENT_SENT,
    EVENT_ENTERS,
    EVENT_ASKS,
    EVENT_ANSWERS,
    EVENT_ARRIVED,
    EVENT_RECEIVED
} event_kind;

typedef struct ti_event {
    double time; /* nanoseconds */
    int kind, node;
    uint64_t what;
    ti_chain chain; /* what led to it */
    uint32_t next;  /* of the same time, + 1 */
} ti_event;

/* Nodes of a cluster often do the same at the same time: so a heap has the times, and each time its events. */
typedef struct ti_events {
    TI_VEC(struct ti_moment {
        double time;
        uint32_t first; /* event, + 1 */
    })
    heap;
    ti_map at; /* by time: its last event, + 1 */
    TI_VEC(ti_event) event;
    TI_VEC(uint32_t) free; /* places in `event` */
} ti_events;

void ti_events_push(ti_events *events, const ti_event *event);
bool ti_events_pop(ti_events *events, ti_event *out);
/* When the next event is; infinite if there is none. */
double ti_events_next(const ti_events *events);
void ti_events_fini(ti_events *events);

#endif
