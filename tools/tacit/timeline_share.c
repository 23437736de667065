/* Where the time of workers went: see timeline.h.
 *
 * A worker is busy or there is a gap before what it runs next. What kept that from running is found by going back from
 * it: what made it ready, what made that ready, and so on until the gap began. So every nanosecond of a gap has one
 * cause, and messages that nobody waited for have none. */
#include "timeline.h"

#include <stdlib.h>

enum { DEPTH = 4, STEPS = 10000 };

const char *timeline_cause_name(tl_cause cause)
{
    static const char *const names[] = { "kernels",  "messages", "other kernels", "copies, memory", "start",
                                         "planning", "window",   "back-pressure", "results",        "program" };
    return names[cause];
}

/* ---- looking things up */

static uint64_t pair_key(uint32_t origin, uint32_t target, uint32_t number)
{
    return ti_hash64(ti_hash64(((uint64_t)origin << 32) | target) ^ number);
}

static void index_node(timeline *t, uint32_t q)
{
    tl_node *node = &t->node[q];
    for (uint32_t i = 0; i < node->event.count; i++) {
        const tl_event *e = &node->event.data[i];
        if (e->kind == TI_TRACE_TASK) {
            *ti_map_at(&node->submitted, e->task) = i + 1;
        } else if (e->kind == TI_TRACE_COMMANDS) {
            *ti_map_at(&node->planned, e->task) = i + 1;
        } else if (e->kind == TI_TRACE_WAIT) {
            ti_vec_push(&node->waits, i);
        } else if (e->kind == TI_TRACE_WINDOW) {
            ti_vec_push(&node->windows, i);
        } else if (e->kind >= TI_TRACE_FENCE && e->kind <= TI_TRACE_HORIZON) {
            ti_vec_push(&node->points, i);
        } else if (e->kind == TI_TRACE_SEND) {
            *ti_map_at(&t->sends, pair_key(q, e->where, e->number)) = i + 1;
        } else if (e->kind == TI_TRACE_COLLECTIVE) {
            uint64_t *last = ti_map_at(&t->last, e->number);
            const tl_node *other = *last ? &t->node[*last >> 32] : NULL;
            if (!other || other->event.data[(uint32_t)*last - 1].start < e->start) {
                *last = ((uint64_t)q << 32) | (i + 1);
            }
        }
    }
}

const tl_event *timeline_send_of(const timeline *t, uint32_t node, const tl_event *receive)
{
    uint64_t *found = ti_map_find(&t->sends, pair_key(receive->where, node, receive->number));
    return found && receive->where < (uint32_t)t->nodes ? &t->node[receive->where].event.data[*found - 1] : NULL;
}

const tl_event *timeline_relayed_send(const timeline *t, const tl_event *relay)
{
    uint64_t *found = ti_map_find(&t->sends, pair_key(relay->by, relay->where, relay->number));
    return found && relay->by < (uint32_t)t->nodes ? &t->node[relay->by].event.data[*found - 1] : NULL;
}

uint32_t timeline_last_of(const timeline *t, uint32_t node, const tl_event *collective)
{
    uint64_t *found = ti_map_find(&t->last, collective->number);
    return found ? (uint32_t)(*found >> 32) : node;
}

/* How many of these events begin at `time` or before. */
static size_t count_until(const tl_node *node, const uint32_t *list, size_t count, int64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (node->event.data[list[middle]].start <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t timeline_count_before(const tl_node *node, int64_t time)
{
    size_t low = 0, high = node->event.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (node->event.data[middle].start < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const tl_event *timeline_wait(const tl_node *node, int64_t time)
{
    size_t n = count_until(node, node->waits.data, node->waits.count, time);
    return n ? &node->event.data[node->waits.data[n - 1]] : NULL;
}

const tl_event *timeline_point(const tl_node *node, int64_t begin, int64_t end, bool horizons)
{
    for (size_t n = count_until(node, node->points.data, node->points.count, end); n > 0; n--) {
        const tl_event *e = &node->event.data[node->points.data[n - 1]];
        if (e->end < begin) {
            return NULL;
        }
        if (e->end <= end && (horizons || e->kind != TI_TRACE_HORIZON)) {
            return e;
        }
    }
    return NULL;
}

/* ---- one gap */

typedef struct search {
    const tl_node *node;
    tl_found *found;
    void *user;
} search;

static void say(const search *s, tl_cause cause, int64_t begin, int64_t end, const tl_event *culprit)
{
    if (end > begin) {
        s->found(s->user, cause, begin, end, culprit);
    }
}

static tl_cause cause_of(const tl_event *e)
{
    return tl_is_kernel(e->kind)                                                                   ? TL_KERNEL
           : e->kind >= TI_TRACE_SEND && e->kind <= TI_TRACE_COLLECTIVE                            ? TL_MESSAGE
           : e->kind == TI_TRACE_FENCE || e->kind == TI_TRACE_EPOCH || e->kind == TI_TRACE_HORIZON ? TL_RESULT
                                                                                                   : TL_COPY;
}

static void go_back(const search *s, const tl_event *e, int64_t begin, int64_t end, int depth);

/* The program's thread did not wait. Where it does everything it may have planned; else it has computed. */
static void explain_computation(const search *s, int64_t begin, int64_t end)
{
    for (size_t n = s->node->alone ? timeline_count_before(s->node, end) : 0; n > 0 && end > begin; n--) {
        const tl_event *e = &s->node->event.data[n - 1];
        bool plans = e->kind == TI_TRACE_TASK || e->kind == TI_TRACE_COMMANDS || e->kind == TI_TRACE_INSTRUCTIONS;
        if (e->end <= begin && e->kind != TI_TRACE_SEND && e->kind != TI_TRACE_FREE) {
            break;
        }
        if (plans && e->end <= end) {
            say(s, TL_PROGRAM, TI_MAX(e->end, begin), end, NULL);
            say(s, TL_PLANNING, TI_MAX(e->start, begin), TI_MAX(e->end, begin), NULL);
            end = TI_MAX(e->start, begin);
        }
    }
    say(s, TL_PROGRAM, begin, end, NULL);
}

/* Before the task was submitted, from the end backwards: what the program's thread did. */
static void explain_program(const search *s, int64_t begin, int64_t end, int depth)
{
    const tl_node *node = s->node;
    while (end > begin) {
        const tl_event *wait = timeline_wait(node, end - 1);
        if (!wait || wait->end <= begin) {
            explain_computation(s, begin, end);
            return;
        }
        int64_t until = TI_MIN(wait->end, end), since = TI_MAX(wait->start, begin);
        explain_computation(s, until, end);
        if (wait->number == TI_CAUSE_NEAR || wait->number == TI_CAUSE_ROOM) {
            say(s, TL_PRESSURE, since, until, NULL);
        } else {
            const tl_event *point = depth > 0 ? timeline_point(node, since, until, false) : NULL;
            say(s, TL_RESULT, point ? point->end : since, until, NULL);
            if (point) {
                say(s, TL_RESULT, TI_MAX(since, point->start), point->end, point);
                go_back(s, point, since, TI_MIN(until, TI_MAX(point->start, since)), depth - 1);
            }
        }
        end = since;
    }
}

/* Before an instruction was known that then waited for nothing. */
static void explain_plan(const search *s, uint32_t task, int64_t begin, int64_t end, int depth)
{
    const tl_node *node = s->node;
    uint64_t *at = ti_map_find(&node->submitted, task);
    int64_t submitted = at ? TI_MIN(TI_MAX(node->event.data[*at - 1].start, begin), end) : begin;
    for (int64_t t = end; t > submitted;) {
        size_t n = count_until(node, node->windows.data, node->windows.count, t - 1);
        const tl_event *window = n ? &node->event.data[node->windows.data[n - 1]] : NULL;
        if (!window || window->end <= submitted) {
            say(s, TL_PLANNING, submitted, t, NULL);
            break;
        }
        say(s, TL_PLANNING, TI_MIN(window->end, t), t, NULL);
        say(s, TL_WINDOW, TI_MAX(window->start, submitted), TI_MIN(window->end, t), NULL);
        t = TI_MAX(window->start, submitted);
    }
    if (at) {
        explain_program(s, begin, submitted, depth);
    }
}

/* What kept `e` from being ready, from `end` backwards to `begin`. */
static void go_back(const search *s, const tl_event *e, int64_t begin, int64_t end, int depth)
{
    for (int steps = 0; end > begin && steps < STEPS; steps++) {
        const tl_event *by = timeline_instruction(s->node, e->by);
        if (!by || by->start > end) {
            explain_plan(s, e->task, begin, end, depth);
            return;
        }
        int64_t since = TI_MAX(by->start, begin);
        say(s, cause_of(by), since, end, by);
        if (tl_is_kernel(by->kind)) { /* it may have waited for a worker, which waited for others */
            say(s, TL_START, TI_MAX(TI_MIN(by->ready, since), begin), since, by);
            since = TI_MAX(TI_MIN(by->ready, since), begin);
        }
        end = since;
        e = by;
    }
}

void timeline_explain_gap(const tl_node *node, const tl_event *e, int64_t begin, int64_t end, tl_found *found,
                          void *user)
{
    search s = { node, found, user };
    if (!e) {
        explain_program(&s, begin, end, DEPTH);
        return;
    }
    int64_t ready = TI_MIN(TI_MAX(e->ready, begin), end);
    say(&s, e->kind == TI_TRACE_EPOCH ? TL_RESULT : TL_START, ready, end, e);
    go_back(&s, e, begin, ready, DEPTH);
}

/* ---- all of them */

typedef struct tally {
    timeline *t;
    uint32_t node;
    ti_map blames; /* hash of a blame to its index, plus one */
} tally;

static void blame(tally *y, const tl_event *e, int64_t ns)
{
    bool collective = e->kind == TI_TRACE_COLLECTIVE;
    tl_blame b = { .node = y->node,
                   .peer = collective ? timeline_last_of(y->t, y->node, e) : e->where,
                   .buffer = e->buffer,
                   .name = e->name,
                   .collective = collective };
    uint64_t key = ti_hash64(((uint64_t)b.node << 33) ^ ((uint64_t)b.peer << 1) ^ collective);
    uint64_t *at = ti_map_at(&y->blames, ti_hash64(key ^ ((uint64_t)b.buffer << 32) ^ b.name));
    if (!*at) {
        ti_vec_push(&y->t->blames, b);
        *at = y->t->blames.count;
    }
    y->t->blames.data[*at - 1].ns += ns;
    y->t->blames.data[*at - 1].times++;
}

static void add_cause(void *user, tl_cause cause, int64_t begin, int64_t end, const tl_event *culprit)
{
    tally *y = user;
    y->t->node[y->node].spent[cause] += end - begin;
    if (cause == TL_MESSAGE && culprit) {
        blame(y, culprit, end - begin);
    }
}

/* The last thing that everything waited for. */
static const tl_event *last_point(const tl_node *node)
{
    return node->points.count ? &node->event.data[node->points.data[node->points.count - 1]] : NULL;
}

static void add_load(timeline *t, uint32_t q, const tl_event *part)
{
    tl_load *load = &t->load[(size_t)q * t->names.count + part->name];
    load->parts++;
    load->ns += part->end - part->start;
}

static void add_part(timeline *t, uint32_t q, const tl_event *part)
{
    const tl_event *whose = timeline_instruction(&t->node[q], part->id);
    t->node[q].spent[TL_BUSY] += part->end - part->start;
    if (!whose || tl_is_kernel(whose->kind)) {
        add_load(t, q, part);
    }
}

static void share_node(tally *y)
{
    timeline *t = y->t;
    tl_node *node = &t->node[y->node];
    int64_t *free_since = TI_NEW_ARRAY(int64_t, (size_t)node->workers + 1);
    for (int w = 0; w < node->workers; w++) {
        free_since[w] = node->begin;
    }
    for (size_t i = 0; i < node->event.count; i++) {
        const tl_event *e = &node->event.data[i];
        if (e->kind == TI_TRACE_PART && e->where < (uint32_t)node->workers) {
            const tl_event *whose = timeline_instruction(node, e->id);
            timeline_explain_gap(node, whose, free_since[e->where], e->start, add_cause, y);
            add_part(t, y->node, e);
            free_since[e->where] = TI_MAX(free_since[e->where], e->end);
        } else if (e->kind == TI_TRACE_LANE_KERNEL) {
            add_load(t, y->node, e);
        } else if (e->kind == TI_TRACE_MEMBERS) {
            t->bytes_collected += e->bytes;
        } else if (e->kind == TI_TRACE_RELAY) {
            t->relayed++;
            t->bytes_relayed += e->bytes;
            if (t->passed && e->where < (uint32_t)t->nodes) {
                t->passed[(size_t)y->node * (size_t)t->nodes + e->where] += e->bytes;
            }
        } else if (e->kind == TI_TRACE_SEND) {
            t->messages++;
            t->bytes_sent += e->bytes;
            if (t->sent && e->where < (uint32_t)t->nodes) {
                t->sent[(size_t)y->node * (size_t)t->nodes + e->where] += e->bytes;
            }
        }
    }
    for (int w = 0; w < node->workers; w++) {
        timeline_explain_gap(node, last_point(node), free_since[w], node->end, add_cause, y);
    }
    ti_free(free_since, ((size_t)node->workers + 1) * sizeof(int64_t));
}

static int longest_first(const void *a, const void *b)
{
    const tl_blame *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

/* A relay does not know what it passes on: whose task and buffer that is, the sender's record says. */
static void name_relays(timeline *t)
{
    for (int q = 0; q < t->nodes; q++) {
        for (size_t i = 0; i < t->node[q].event.count; i++) {
            tl_event *e = &t->node[q].event.data[i];
            const tl_event *sent = e->kind == TI_TRACE_RELAY ? timeline_relayed_send(t, e) : NULL;
            if (sent) {
                e->task = sent->task;
                e->name = sent->name;
                e->buffer = sent->buffer;
            }
        }
    }
}

void timeline_share(timeline *t)
{
    tally y = { .t = t };
    t->load = TI_NEW_ARRAY(tl_load, (size_t)t->nodes * t->names.count);
    if (t->nodes <= TL_MATRIX) {
        t->sent = TI_NEW_ARRAY(uint64_t, (size_t)t->nodes * (size_t)t->nodes);
        t->passed = TI_NEW_ARRAY(uint64_t, (size_t)t->nodes * (size_t)t->nodes);
    }
    for (int q = 0; q < t->nodes; q++) {
        index_node(t, (uint32_t)q);
    }
    name_relays(t);
    for (int q = 0; q < t->nodes; q++) {
        y.node = (uint32_t)q;
        share_node(&y);
    }
    if (t->blames.count) {
        qsort(t->blames.data, t->blames.count, sizeof(tl_blame), longest_first);
    }
    ti_map_fini(&y.blames);
}
