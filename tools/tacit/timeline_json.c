/* The trace in the format of chrome://tracing and ui.perfetto.dev: see timeline.h.
 *
 * A node is a process, a lane a thread. Spans are complete events, messages have flows from the send to the receive,
 * and two counters per node say how many bytes of its messages are on their way, and how many instructions are ready
 * and have not started. Times are microseconds.
 *
 * Of long runs short spans of a lane are merged with their neighbours, counters have their highest value of a stretch
 * of time, and only some messages have flows; "otherData" says how many spans were merged, and of how many messages
 * one has a flow. */
#include "timeline.h"

#include "tacit/tacit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, SPANS = 500000, FEWEST = 300, FLOWS = 100000 };

typedef struct change {
    int64_t time, by;
} change;
typedef TI_VEC(change) changes;

typedef struct writer {
    const timeline *t;
    FILE *file;
    ti_strbuf name, text; /* scratch */
    bool some;
    int64_t width;          /* shorter spans are merged; 0: none is */
    uint64_t merged, flows; /* spans that are in others; of so many messages one has a flow */
    uint32_t node;          /* whose spans are written, as is: */
    size_t lane;
} writer;

static void begin(writer *w)
{
    fputs(w->some ? ",\n" : "\n", w->file);
    w->some = true;
}

static const char *quoted(writer *w, const char *text)
{
    ti_strbuf_clear(&w->text);
    ti_strbuf_add_json(&w->text, text);
    return w->text.text;
}

static double us(int64_t ns)
{
    return (double)ns / 1000;
}

static bool has_flow(const writer *w, const tl_event *e)
{
    bool message = e->kind == TI_TRACE_SEND || e->kind == TI_TRACE_RECEIVE || e->kind == TI_TRACE_RELAY;
    return message && !e->unfinished && e->number % w->flows == 0;
}

static void write_span(void *user, const tl_span *span)
{
    writer *w = user;
    const tl_event *e = span->most;
    begin(w);
    ti_strbuf_clear(&w->name);
    timeline_event_name(w->t, e, &w->name);
    fprintf(w->file, "{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s", w->node,
            w->lane, us(span->start), us(span->end - span->start), quoted(w, w->name.text));
    w->merged += span->count - 1;
    fprintf(w->file, ",\"cat\":\"%s\",\"args\":{\"task\":%" PRIu32, ti_trace_kind_name(e->kind), e->task);
    if (e->buffer) {
        fprintf(w->file, ",\"buffer\":%s", quoted(w, timeline_name(w->t, e->buffer)));
    }
    if (e->bytes) {
        fprintf(w->file, ",\"bytes\":%" PRIu64, e->bytes);
    }
    if (e->kind == TI_TRACE_RELAY) {
        fprintf(w->file, ",\"for\":%" PRIu32, e->by);
    }
    if (e->kind == TI_TRACE_SEND || e->kind == TI_TRACE_RECEIVE || e->kind == TI_TRACE_RELAY) {
        fprintf(w->file, ",\"peer\":%" PRIu32 ",\"message\":%" PRIu32, e->where, e->number);
    }
    if (span->count > 1) {
        fprintf(w->file, ",\"merged\":%" PRIu64, span->count);
    }
    fputs(e->unfinished ? ",\"unfinished\":true}}" : "}}", w->file);
}

/* Both ends have the same id, and so have relays on the way; which one it is, all files know. */
static void write_flow(writer *w, const tl_event *e)
{
    bool out = e->kind == TI_TRACE_SEND, end = e->kind == TI_TRACE_RECEIVE;
    uint32_t from = out ? w->node : end ? e->where : e->by, to = end ? w->node : e->where;
    begin(w);
    fprintf(w->file,
            "{\"ph\":\"%s\",\"pid\":%" PRIu32
            ",\"tid\":%zu,\"ts\":%.3f,\"cat\":\"message\",\"name\":\"message\",\"id\":"
            "\"%" PRIu32 ">%" PRIu32 ":%" PRIu32 "\"",
            out   ? "s"
            : end ? "f"
                  : "t",
            w->node, w->lane, us(end ? e->end : e->start), from, to, e->number);
    fputs(end ? ",\"bp\":\"e\"}" : "}", w->file);
}

static void write_name(writer *w, const char *what, uint32_t node, size_t lane, const char *name)
{
    begin(w);
    fprintf(w->file, "{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%zu,\"name\":\"%s\",\"args\":{\"name\":%s}}", node,
            lane, what, quoted(w, name));
}

/* ---- counters */

static int by_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static void write_counter(writer *w, uint32_t node, const char *name, changes *list)
{
    int64_t value = 0, highest = 0, since = INT64_MIN;
    if (list->count) {
        qsort(list->data, list->count, sizeof(change), by_time);
    }
    for (size_t i = 0; i < list->count; i++) {
        value += list->data[i].by;
        if (i + 1 < list->count && list->data[i + 1].time == list->data[i].time) {
            continue;
        }
        highest = TI_MAX(highest, value);
        if (i + 1 == list->count || since == INT64_MIN || list->data[i].time - since >= w->width) {
            begin(w);
            fprintf(w->file,
                    "{\"ph\":\"C\",\"pid\":%" PRIu32 ",\"ts\":%.3f,\"name\":\"%s\",\"args\":{\"%s\":%" PRId64 "}}",
                    node, us(list->data[i].time), name, name, i + 1 == list->count ? value : highest);
            since = list->data[i].time;
            highest = 0;
        }
    }
    ti_vec_fini(list);
}

static void add_stretch(changes *list, int64_t begin, int64_t end, int64_t by)
{
    if (end > begin) {
        change up = { begin, by }, down = { end, -by };
        ti_vec_push(list, up);
        ti_vec_push(list, down);
    }
}

/* Records of kernels say it; what else became ready by the end of another instruction did so at that time. */
static int64_t ready_since(const tl_node *node, const tl_event *e)
{
    const tl_event *by = tl_is_kernel(e->kind) ? NULL : timeline_instruction(node, e->by);
    return by ? TI_MIN(by->end, e->start) : e->ready;
}

/* A message is on its way from its send to the end of its receive; the sends of a node are its own counter. */
static void write_counters(writer *w, uint32_t q, changes *flight)
{
    const tl_node *node = &w->t->node[q];
    changes ready = { 0 };
    for (size_t i = 0; i < node->event.count; i++) {
        const tl_event *e = &node->event.data[i];
        if (tl_is_instruction(e->kind)) {
            add_stretch(&ready, ready_since(node, e), e->start, 1);
        }
    }
    write_counter(w, q, "bytes in flight", flight);
    write_counter(w, q, "ready instructions", &ready);
}

static changes *collect_flights(const timeline *t)
{
    changes *flight = TI_NEW_ARRAY(changes, (size_t)t->nodes);
    for (int q = 0; q < t->nodes; q++) {
        for (size_t i = 0; i < t->node[q].event.count; i++) {
            const tl_event *e = &t->node[q].event.data[i];
            const tl_event *sent = e->kind == TI_TRACE_RECEIVE ? timeline_send_of(t, (uint32_t)q, e) : NULL;
            if (sent) {
                add_stretch(&flight[e->where], sent->start, e->end, (int64_t)sent->bytes);
            }
        }
    }
    return flight;
}

/* ---- all */

static void write_node(writer *w, uint32_t q, const tl_lanes *lanes)
{
    char label[32];
    w->node = q;
    snprintf(label, sizeof(label), "node %" PRIu32, q);
    write_name(w, "process_name", q, 0, label);
    for (w->lane = 0; w->lane < lanes->count; w->lane++) {
        const tl_lane *lane = &lanes->data[w->lane];
        ti_strbuf_clear(&w->name);
        timeline_lane_name(lane, &w->name);
        write_name(w, "thread_name", q, w->lane, w->name.text);
        timeline_spans(w->t, lane, lane->event.count <= FEWEST ? 0 : w->width, write_span, w);
        for (size_t k = 0; lane->kind == TL_LANE_MESSAGES && k < lane->event.count; k++) {
            const tl_event *e = &w->t->node[q].event.data[lane->event.data[k]];
            if (has_flow(w, e)) {
                write_flow(w, e);
            }
        }
    }
}

/* How far apart the times of two nodes may be, at most. */
static int64_t clock_error(const timeline *t)
{
    int64_t most[2] = { 0, 0 };
    for (int q = 0; q < t->nodes; q++) {
        int64_t error = t->node[q].clock_error;
        most[1] = TI_MAX(most[1], TI_MIN(error, most[0]));
        most[0] = TI_MAX(most[0], error);
    }
    return most[0] + most[1];
}

/* Lanes of all nodes, and how much must be merged. */
static tl_lanes *make_lanes(writer *w)
{
    tl_lanes *lanes = TI_NEW_ARRAY(tl_lanes, (size_t)w->t->nodes);
    size_t count = 0, events = 0;
    for (int q = 0; q < w->t->nodes; q++) {
        timeline_lanes(w->t, (uint32_t)q, ROWS, &lanes[q]);
        count += lanes[q].count;
        for (size_t i = 0; i < lanes[q].count; i++) {
            events += lanes[q].data[i].event.count;
        }
    }
    w->width = timeline_width(w->t, count, events, SPANS, FEWEST);
    w->flows = w->width ? w->t->messages / FLOWS + 1 : 1;
    return lanes;
}

bool timeline_write_json(const timeline *t, const char *path, uint64_t *merged)
{
    writer w = { .t = t, .file = fopen(path, "w") };
    if (!w.file) {
        return false;
    }
    changes *flight = collect_flights(t);
    tl_lanes *lanes = make_lanes(&w);
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", w.file);
    for (int q = 0; q < t->nodes; q++) {
        write_node(&w, (uint32_t)q, &lanes[q]);
        timeline_lanes_fini(&lanes[q]);
        write_counters(&w, (uint32_t)q, &flight[q]);
    }
    fprintf(w.file,
            "\n],\"otherData\":{\"tacit\":\"%d.%d.%d\",\"nodes\":%d,\"records\":%" PRIu64 ",\"dropped\":%" PRIu64
            ",\"clock_error_ns\":%" PRId64 ",\"merged\":%" PRIu64 ",\"one_flow_of\":%" PRIu64 "}}\n",
            TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH, t->nodes, t->records, t->dropped,
            clock_error(t), w.merged, w.flows);
    *merged = w.merged;
    ti_free(lanes, (size_t)t->nodes * sizeof(tl_lanes));
    ti_free(flight, (size_t)t->nodes * sizeof(changes));
    ti_strbuf_fini(&w.name);
    ti_strbuf_fini(&w.text);
    int failed = ferror(w.file) ? EIO : 0;
    int closed = fclose(w.file);
    if (failed && !closed) {
        errno = failed;
    }
    return !failed && !closed;
}
