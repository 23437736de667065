/* The critical path: see timeline.h.
 *
 * It goes back from the last instruction of all nodes: to what made it ready; from a receive to the send that came
 * after it, on another node; from a collective to the node that came last; from a kernel that waited for a worker to
 * the kernel that had it; from what the program submitted after a wait to what it waited for. Each stretch of time has
 * one step, and the steps cover the run from its end to its beginning. */
#include "timeline.h"

enum { WAITED_NS = 2000 };

typedef struct walk {
    timeline *t;
    uint32_t node;
    int64_t time; /* everything after it has its step */
} walk;

static void step(walk *w, int64_t start, uint32_t name, uint8_t kind, tl_cause cause, uint32_t peer)
{
    start = TI_MAX(start, 0);
    if (start >= w->time) {
        return;
    }
    tl_step s = { start, w->time, w->node, peer, name, kind, (uint8_t)cause };
    ti_vec_push(&w->t->path, s);
    w->time = start;
}

/* Back to `begin` in the program's thread, which has not waited: it computed, or (where it does everything) ran kernels
 * and planned. */
static void step_program(walk *w, int64_t begin, uint32_t name)
{
    const tl_node *node = &w->t->node[w->node];
    for (size_t n = node->alone ? timeline_count_before(node, w->time) : 0; n > 0 && w->time > begin; n--) {
        const tl_event *e = &node->event.data[n - 1];
        bool plans = e->kind == TI_TRACE_TASK || e->kind == TI_TRACE_COMMANDS || e->kind == TI_TRACE_INSTRUCTIONS;
        if ((plans || e->kind == TI_TRACE_PART) && e->end <= w->time && e->start >= begin) {
            step(w, e->end, e->name, TI_TRACE_NONE, TL_PROGRAM, w->node);
            step(w, e->start, e->name, plans ? TI_TRACE_NONE : e->kind, plans ? TL_PLANNING : TL_BUSY, w->node);
        }
    }
    step(w, begin, name, TI_TRACE_NONE, TL_PROGRAM, w->node);
}

/* The part that ended last in (after, until] on this node. Parts are sorted by start: one that is long ago began before
 * those that have ended since, so the search ends after some without success. */
static const tl_event *kernel_before(const tl_node *node, const tl_event *e, int64_t after, int64_t until)
{
    enum { LOOKS = 200 };
    const tl_event *best = NULL;
    size_t at = (size_t)(e - node->event.data);
    for (int looks = 0; at > 0 && looks < LOOKS; looks++) {
        const tl_event *p = &node->event.data[--at];
        if (p->kind == TI_TRACE_PART && p->end <= until && p->end > after && p->id != e->id &&
            (!best || p->end > best->end)) {
            best = p;
        }
    }
    return best ? timeline_instruction(node, best->id) : NULL;
}

/* To what made it ready, at w->time or before: the next event, or NULL with the time of its submission. */
static const tl_event *cause_of(walk *w, const tl_event *e)
{
    const tl_node *node = &w->t->node[w->node];
    const tl_event *by = timeline_instruction(node, e->by);
    if (by && by->end <= w->time + WAITED_NS) {
        return by;
    }
    uint64_t *at = ti_map_find(&node->submitted, e->task);
    if (at) {
        step(w, node->event.data[*at - 1].start, e->name, TI_TRACE_NONE, TL_PLANNING, w->node);
    }
    const tl_event *wait = timeline_wait(node, w->time), *point = NULL;
    if (wait && wait->end <= w->time) {
        bool pressure = wait->number == TI_CAUSE_NEAR || wait->number == TI_CAUSE_ROOM;
        point = timeline_point(node, wait->start, wait->end, pressure);
        if (point) {
            step_program(w, wait->end, e->name);
            step(w, point->end, e->name, TI_TRACE_NONE, pressure ? TL_PRESSURE : TL_RESULT, w->node);
        }
    }
    if (!point) {
        step_program(w, 0, e->name);
    }
    return point;
}

static const tl_event *before_message(walk *w, const tl_event *e)
{
    timeline *t = w->t;
    const tl_event *other = NULL;
    uint32_t from = e->where;
    if (e->kind == TI_TRACE_RECEIVE) {
        other = timeline_send_of(t, w->node, e);
    } else if (e->kind == TI_TRACE_COLLECTIVE) {
        uint64_t *last = ti_map_find(&t->last, e->number);
        from = timeline_last_of(t, w->node, e);
        other = last ? &t->node[from].event.data[(uint32_t)*last - 1] : NULL;
    }
    if (other && other != e && other->start > e->start && other->start < w->time) {
        step(w, other->start, e->buffer, e->kind, TL_MESSAGE, from);
        w->node = from;
        return cause_of(w, other);
    }
    step(w, e->start, e->buffer, e->kind, TL_MESSAGE, e->kind == TI_TRACE_COLLECTIVE ? w->node : from);
    return cause_of(w, e);
}

static const tl_event *before_kernel(walk *w, const tl_event *e)
{
    step(w, e->start, e->name, e->kind, TL_BUSY, w->node);
    const tl_event *other = e->start - e->ready > WAITED_NS ? kernel_before(&w->t->node[w->node], e, e->ready, e->start)
                                                            : NULL;
    if (other && other->start < w->time) {
        step(w, other->end, e->name, TI_TRACE_NONE, TL_START, w->node);
        return other;
    }
    step(w, e->ready, e->name, TI_TRACE_NONE, TL_START, w->node);
    return cause_of(w, e);
}

static const tl_event *before(walk *w, const tl_event *e)
{
    if (tl_is_kernel(e->kind)) {
        return before_kernel(w, e);
    }
    if (e->kind >= TI_TRACE_SEND && e->kind <= TI_TRACE_COLLECTIVE) {
        return before_message(w, e);
    }
    bool point = e->kind >= TI_TRACE_FENCE && e->kind <= TI_TRACE_HORIZON;
    step(w, e->start, point ? e->name : e->buffer ? e->buffer : e->name, e->kind, point ? TL_RESULT : TL_COPY, w->node);
    return cause_of(w, e);
}

void timeline_path(timeline *t)
{
    walk w = { .t = t, .time = t->end };
    const tl_event *e = NULL;
    uint64_t most = t->records + 1;
    for (int q = 0; q < t->nodes; q++) {
        const tl_node *node = &t->node[q];
        for (size_t i = 0; i < node->event.count; i++) {
            const tl_event *o = &node->event.data[i];
            if (tl_is_instruction(o->kind) && o->kind < TI_TRACE_FENCE && o->kind != TI_TRACE_FREE &&
                (!e || o->end > e->end)) {
                e = o;
                w.node = (uint32_t)q;
            }
        }
    }
    if (e) {
        step(&w, e->end, e->name, TI_TRACE_NONE, TL_RESULT, w.node);
    }
    while (e && w.time > 0 && most-- > 0) {
        e = before(&w, e);
    }
}
