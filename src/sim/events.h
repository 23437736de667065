/* What happens next in a simulated cluster: events in the order of their times, and of their making where times are
 * equal. So two simulations of the same program are the same. One thread. */
#ifndef TI_EVENTS_H
#define TI_EVENTS_H

#include "base/vec.h"
#include "sim/path.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ti_event {
    double time; /* nanoseconds */
    uint64_t order;
    int kind, node;
    uint64_t what;
    ti_chain chain; /* what led to it */
} ti_event;

typedef struct ti_events {
    TI_VEC(ti_event) heap;
    uint64_t made;
} ti_events;

void ti_events_push(ti_events *events, ti_event event); /* `order` is set here */
bool ti_events_pop(ti_events *events, ti_event *out);
static inline bool ti_events_is_empty(const ti_events *events)
{
    return events->heap.count == 0;
}
void ti_events_fini(ti_events *events);

#endif
