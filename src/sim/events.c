/* A binary heap of events: see events.h. */
#include "sim/events.h"

static bool is_before(const ti_event *a, const ti_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void ti_events_push(ti_events *events, ti_event event)
{
    event.order = events->made++;
    ti_vec_push(&events->heap, event);
    ti_event *heap = events->heap.data;
    size_t at = events->heap.count - 1;
    for (; at > 0 && is_before(&event, &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = event;
}

bool ti_events_pop(ti_events *events, ti_event *out)
{
    if (events->heap.count == 0) {
        return false;
    }
    ti_event *heap = events->heap.data, last = heap[--events->heap.count];
    size_t n = events->heap.count, at = 0;
    *out = heap[0];
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return true;
}

void ti_events_fini(ti_events *events)
{
    ti_vec_fini(&events->heap);
}
