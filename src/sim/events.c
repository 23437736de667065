/* Events in the order of their times: see events.h. */
#include "sim/events.h"

#include <math.h>
#include <string.h>

typedef struct ti_moment moment;

static uint32_t keep(ti_events *events, const ti_event *event)
{
    uint32_t place = (uint32_t)events->event.count;
    if (events->free.count > 0) {
        place = events->free.data[--events->free.count];
    } else {
        ti_vec_push(&events->event, *event);
    }
    events->event.data[place] = *event;
    events->event.data[place].next = 0;
    return place + 1;
}

static uint64_t key_of(double time)
{
    uint64_t key;
    memcpy(&key, &time, sizeof(key));
    return key;
}

static void add_moment(ti_events *events, double time, uint32_t event)
{
    moment fresh = { time, event };
    ti_vec_push(&events->heap, fresh);
    moment *heap = events->heap.data;
    size_t at = events->heap.count - 1;
    for (; at > 0 && time < heap[(at - 1) / 2].time; at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = fresh;
}

void ti_events_push(ti_events *events, const ti_event *event)
{
    uint32_t fresh = keep(events, event);
    uint64_t *last = ti_map_at(&events->at, key_of(event->time));
    if (*last) {
        events->event.data[*last - 1].next = fresh;
    } else {
        add_moment(events, event->time, fresh);
    }
    *last = fresh;
}

static void drop_moment(ti_events *events)
{
    moment *heap = events->heap.data, last = heap[--events->heap.count];
    size_t n = events->heap.count, at = 0;
    ti_map_remove(&events->at, key_of(heap[0].time), NULL);
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && heap[child + 1].time < heap[child].time;
        if (heap[child].time >= last.time) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
}

bool ti_events_pop(ti_events *events, ti_event *out)
{
    if (events->heap.count == 0) {
        return false;
    }
    uint32_t place = events->heap.data[0].first - 1;
    *out = events->event.data[place];
    ti_vec_push(&events->free, place);
    events->heap.data[0].first = out->next;
    if (out->next == 0) {
        drop_moment(events);
    }
    return true;
}

double ti_events_next(const ti_events *events)
{
    return events->heap.count > 0 ? events->heap.data[0].time : (double)INFINITY;
}

void ti_events_fini(ti_events *events)
{
    ti_vec_fini(&events->heap);
    ti_map_fini(&events->at);
    ti_vec_fini(&events->event);
    ti_vec_fini(&events->free);
}
