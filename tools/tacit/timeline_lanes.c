/* Which event is drawn in which row, and what it is called: see timeline.h. */
#include "timeline.h"

#include "ir/collective.h"

#include <stdlib.h>

void timeline_event_name(const timeline *t, const tl_event *e, ti_strbuf *out)
{
    static const char *const causes[TI_CAUSES] = { "back-pressure", "back-pressure", "result of a fence", "all tasks",
                                                   "the other nodes" };
    const char *name = timeline_name(t, e->name);
    if (e->kind == TI_TRACE_WAIT) {
        ti_strbuf_add(out, "wait: %s", e->number < TI_CAUSES ? causes[e->number] : "");
    } else if (e->kind == TI_TRACE_WINDOW) {
        ti_strbuf_add(out, "window");
    } else if (e->kind == TI_TRACE_COLLECTIVE && e->where < TI_PATTERN_KINDS) {
        ti_strbuf_add(out, "%s", ti_pattern_name((ti_pattern)e->where));
    } else if (*name) {
        ti_strbuf_add(out, "%s", name);
    } else {
        ti_strbuf_add(out, "task %u", e->task);
    }
}

void timeline_lane_name(const tl_lane *lane, ti_strbuf *out)
{
    static const char *const names[] = { "program", "planning", "worker", "device", "memory", "messages" };
    if (lane->kind == TL_LANE_DEVICE) {
        ti_strbuf_add(out, "accelerator %d, lane %d", lane->index / TL_LANES, lane->index % TL_LANES);
        return;
    }
    bool numbered = lane->kind == TL_LANE_WORKER || (lane->kind == TL_LANE_MESSAGES && lane->index > 0);
    ti_strbuf_add(out, numbered ? "%s %d" : "%s", names[lane->kind], lane->index);
}

/* False: it is not drawn, since another event shows it. */
static bool lane_of(const tl_event *e, tl_lane_kind *kind)
{
    switch ((ti_trace_kind)e->kind) {
    case TI_TRACE_TASK:
    case TI_TRACE_WAIT:
        *kind = TL_LANE_PROGRAM;
        return true;
    case TI_TRACE_COMMANDS:
    case TI_TRACE_INSTRUCTIONS:
        *kind = TL_LANE_PLANNER;
        return true;
    case TI_TRACE_COPY:
        *kind = TL_LANE_MEMORY;
        return !e->on_lane;
    case TI_TRACE_ALLOC:
    case TI_TRACE_FREE:
    case TI_TRACE_REDUCE:
    case TI_TRACE_WINDOW:
        *kind = TL_LANE_MEMORY;
        return true;
    case TI_TRACE_SEND:
    case TI_TRACE_RECEIVE:
    case TI_TRACE_COLLECTIVE:
    case TI_TRACE_RELAY:
        *kind = TL_LANE_MESSAGES;
        return true;
    case TI_TRACE_PART:
        *kind = TL_LANE_WORKER;
        return true;
    case TI_TRACE_LANE_KERNEL:
    case TI_TRACE_LANE_COPY:
        *kind = TL_LANE_DEVICE;
        return true;
    case TI_TRACE_COLLECTIVE_HOST: /* on a thread of its own */
        *kind = TL_LANE_MEMORY;
        return true;
    case TI_TRACE_KERNEL:
    case TI_TRACE_HOST:
    case TI_TRACE_FENCE:
    case TI_TRACE_EPOCH:
    case TI_TRACE_HORIZON:
    case TI_TRACE_MEMBERS:
    case TI_TRACE_NONE:
    case TI_TRACE_KINDS:
        break;
    }
    if (e->unfinished) {
        *kind = TL_LANE_MEMORY;
    }
    return e->unfinished;
}

static tl_lane *lane_at(tl_lanes *out, size_t first, tl_lane_kind kind, int index, uint32_t node)
{
    for (size_t i = first; i < out->count; i++) {
        if (out->data[i].kind == kind && out->data[i].index == index) {
            return &out->data[i];
        }
    }
    tl_lane fresh = { .node = node, .kind = kind, .index = index, .end = INT64_MIN };
    ti_vec_push(out, fresh);
    return &out->data[out->count - 1];
}

int64_t timeline_drawn_from(const timeline *t, uint32_t node, const tl_event *e)
{
    const tl_event *sent = e->kind == TI_TRACE_RECEIVE ? timeline_send_of(t, node, e) : NULL;
    return sent ? TI_MIN(TI_MAX(e->start, sent->start), e->end) : e->start;
}

typedef struct drawn {
    int64_t start;
    uint32_t index;
} drawn;

/* What overlaps in one lane goes to the next row, to the last one if there is no room. */
static void add_event(tl_lanes *out, size_t first, tl_lane_kind kind, const tl_event *e, const drawn *d, uint32_t node,
                      int rows)
{
    tl_lane *lane = NULL;
    int row = kind == TL_LANE_WORKER   ? (int)e->where
              : kind == TL_LANE_DEVICE ? (int)(TL_LANES * e->where + e->number % TL_LANES)
                                       : 0;
    for (int i = 0; i < rows; i++) {
        lane = lane_at(out, first, kind, kind == TL_LANE_MESSAGES ? i : row, node);
        if (kind != TL_LANE_MESSAGES || lane->end <= d->start) {
            break;
        }
    }
    ti_vec_push(&lane->event, d->index);
    lane->end = TI_MAX(lane->end, e->end);
}

static int in_order(const void *a, const void *b)
{
    const tl_lane *x = a, *y = b;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->index - y->index;
}

static int by_start(const void *a, const void *b)
{
    const drawn *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

void timeline_lanes(const timeline *t, uint32_t q, int message_rows, tl_lanes *out)
{
    const tl_node *node = &t->node[q];
    size_t first = out->count;
    tl_lane_kind kind;
    TI_VEC(drawn) list = { 0 };
    for (uint32_t i = 0; i < node->event.count; i++) {
        if (lane_of(&node->event.data[i], &kind)) {
            ti_vec_push(&list, ((drawn){ timeline_drawn_from(t, q, &node->event.data[i]), i }));
        }
    }
    if (list.count) {
        qsort(list.data, list.count, sizeof(drawn), by_start);
    }
    for (size_t i = 0; i < list.count; i++) {
        const drawn *d = &list.data[i];
        lane_of(&node->event.data[d->index], &kind);
        add_event(out, first, kind, &node->event.data[d->index], d, q, message_rows);
    }
    ti_vec_fini(&list);
    if (out->count > first) {
        qsort(out->data + first, out->count - first, sizeof(tl_lane), in_order);
    }
}

void timeline_lanes_fini(tl_lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        ti_vec_fini(&lanes->data[i].event);
    }
    ti_vec_fini(lanes);
}

/* ---- spans */

typedef struct merge {
    tl_span span;
    int64_t longest;
    tl_spanned *found;
    void *user;
} merge;

static void end_span(merge *m)
{
    if (m->span.count) {
        m->found(m->user, &m->span);
    }
    m->span = (tl_span){ .count = 0 };
}

void timeline_spans(const timeline *t, const tl_lane *lane, int64_t width, tl_spanned *found, void *user)
{
    merge m = { .found = found, .user = user };
    const tl_node *node = &t->node[lane->node];
    for (size_t i = 0; i < lane->event.count; i++) {
        const tl_event *e = &node->event.data[lane->event.data[i]];
        int64_t start = timeline_drawn_from(t, lane->node, e), length = e->end - start;
        bool small = length < width;
        if (!small || (m.span.count && e->end - m.span.start > width)) {
            end_span(&m);
        }
        m.span.most = !m.span.count || length > m.longest ? e : m.span.most;
        m.longest = m.span.count ? TI_MAX(m.longest, length) : length;
        m.span.start = m.span.count ? m.span.start : start;
        m.span.end = m.span.count ? TI_MAX(m.span.end, e->end) : e->end;
        m.span.count++;
        if (!small) {
            end_span(&m);
        }
    }
    end_span(&m);
}

int64_t timeline_width(const timeline *t, size_t lanes, size_t events, size_t most, size_t fewest)
{
    size_t share = TI_MAX(fewest, most / TI_MAX(lanes, 1));
    return events > most ? 2 * t->end / (int64_t)share : 0;
}
