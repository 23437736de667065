/* The report as one page that needs nothing else: see timeline.h.
 *
 * Style and script are those of page/, put into the program by the build; the data stands between them as JSON. What a
 * lane has more than its share of spans is merged: a merged span covers neighbours that are shorter than a share of the
 * run, and has the name that takes most of their time. */
#include "timeline.h"

#include "ir/collective.h"
#include "page/page.h"
#include "tacit/tacit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPANS = 300000, FEWEST = 300, FLOWS = 20000, STEPS = 20000, BLAMES = 100, ROWS = 5 };
enum { UNFINISHED = 128, MERGED = 256 }; /* with a span's kind; also known to page/report.js */

typedef struct page {
    const timeline *t;
    FILE *file;
    tl_lanes lanes;
    uint64_t merged;    /* spans that are only drawn with others */
    uint32_t **lane_of; /* of each node's events: lane plus one */
    int64_t width;      /* spans that are shorter may be merged */
} page;

/* ---- JSON in a script element, which ends at the first end tag */

static void put_text(FILE *file, const char *text)
{
    ti_strbuf json = { 0 };
    ti_strbuf_add_json(&json, text);
    for (const char *c = json.text; *c; c++) {
        if (*c == '<') {
            fputs("\\u003c", file);
        } else {
            fputc(*c, file);
        }
    }
    ti_strbuf_fini(&json);
}

static void put_named(FILE *file, const char *key, const char *text)
{
    fprintf(file, ",\"%s\":", key);
    put_text(file, text);
}

/* ---- spans */

typedef struct span_writer {
    page *page;
    const tl_node *node;
    int64_t last;
} span_writer;

/* Of a wait its cause, of a part the kind of its instruction, else the other node; of a relay also whose message. */
static uint32_t extra_of(const timeline *t, const tl_event *e, const tl_event *whose)
{
    return e->kind == TI_TRACE_WAIT    ? e->number
           : whose                     ? whose->kind
           : e->kind == TI_TRACE_RELAY ? e->by * (uint32_t)t->nodes + e->where
                                       : e->where;
}

/* Merged spans have their number for their bytes. */
static void put_span(void *user, const tl_span *span)
{
    span_writer *w = user;
    const tl_event *e = span->most;
    const tl_event *whose = tl_is_part(e->kind) ? timeline_instruction(w->node, e->id) : NULL;
    unsigned flags = (e->unfinished ? UNFINISHED : 0) | (span->count > 1 ? MERGED : 0);
    fprintf(w->page->file, "%s%" PRId64 ",%" PRId64 ",%u,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64,
            w->last >= 0 ? "," : "", span->start - TI_MAX(w->last, 0), span->end - span->start, e->kind | flags,
            e->name, e->task, e->buffer, extra_of(w->page->t, e, whose), span->count > 1 ? span->count : e->bytes);
    w->page->merged += span->count - 1;
    w->last = span->start;
}

/* ---- why a worker does nothing: start, duration and cause of each gap's parts, but of very short ones */

typedef struct gaps {
    TI_VEC(tl_step) list; /* of one gap, in any order */
    page *page;
    int64_t last;
} gaps;

static void add_gap(void *user, tl_cause cause, int64_t begin, int64_t end, const tl_event *culprit)
{
    gaps *g = user;
    if (end - begin > g->page->width / 8) {
        tl_step s = { .start = begin, .end = end, .cause = (uint8_t)cause, .name = culprit ? culprit->buffer : 0 };
        s.peer = culprit && culprit->kind == TI_TRACE_RECEIVE ? culprit->where : UINT32_MAX;
        ti_vec_push(&g->list, s);
    }
}

static int by_start(const void *a, const void *b)
{
    const tl_step *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void put_gap(gaps *g, const tl_node *node, const tl_event *before, int64_t begin, int64_t end)
{
    timeline_explain_gap(node, before, begin, end, add_gap, g);
    if (g->list.count) {
        qsort(g->list.data, g->list.count, sizeof(tl_step), by_start);
    }
    for (size_t i = 0; i < g->list.count; i++) {
        const tl_step *s = &g->list.data[i];
        fprintf(g->page->file, "%s%" PRId64 ",%" PRId64 ",%d,%" PRIu32 ",%d", g->last >= 0 ? "," : "",
                s->start - TI_MAX(g->last, 0), s->end - s->start, s->cause, s->name, (int)s->peer);
        g->last = s->start;
    }
    ti_vec_clear(&g->list);
}

static void put_gaps(page *p, const tl_lane *lane)
{
    gaps g = { .page = p, .last = -1 };
    const tl_node *node = &p->t->node[lane->node];
    int64_t since = node->begin;
    for (size_t i = 0; i < lane->event.count; i++) {
        const tl_event *e = &node->event.data[lane->event.data[i]];
        if (e->start - since > p->width / 8) {
            put_gap(&g, node, timeline_instruction(node, e->id), since, e->start);
        }
        since = TI_MAX(since, e->end);
    }
    put_gap(&g, node, node->points.count ? &node->event.data[node->points.data[node->points.count - 1]] : NULL, since,
            node->end);
    ti_vec_fini(&g.list);
}

static void put_lanes(page *p)
{
    ti_strbuf name = { 0 };
    size_t share = TI_MAX((size_t)FEWEST, SPANS / TI_MAX(p->lanes.count, 1)), all = 0;
    for (size_t i = 0; i < p->lanes.count; i++) {
        all += p->lanes.data[i].event.count;
    }
    p->width = 2 * p->t->end / (int64_t)share;
    int64_t width = timeline_width(p->t, p->lanes.count, all, SPANS, FEWEST);
    fputs(",\"lanes\":[", p->file);
    for (size_t i = 0; i < p->lanes.count; i++) {
        const tl_lane *lane = &p->lanes.data[i];
        ti_strbuf_clear(&name);
        timeline_lane_name(lane, &name);
        fprintf(p->file, "%s{\"node\":%" PRIu32 ",\"kind\":%d,\"name\":", i ? ",\n" : "\n", lane->node,
                (int)lane->kind);
        put_text(p->file, name.text);
        fputs(",\"spans\":[", p->file);
        span_writer w = { .page = p, .node = &p->t->node[lane->node], .last = -1 };
        timeline_spans(p->t, lane, lane->event.count <= share ? 0 : width, put_span, &w);
        fputs("],\"gaps\":[", p->file);
        if (lane->kind == TL_LANE_WORKER) {
            put_gaps(p, lane);
        }
        fputs("]}", p->file);
    }
    fprintf(p->file, "],\"merged\":%" PRIu64, p->merged);
    ti_strbuf_fini(&name);
}

static void index_lanes(page *p)
{
    p->lane_of = TI_NEW_ARRAY(uint32_t *, (size_t)p->t->nodes);
    for (int q = 0; q < p->t->nodes; q++) {
        timeline_lanes(p->t, (uint32_t)q, ROWS, &p->lanes);
        p->lane_of[q] = TI_NEW_ARRAY(uint32_t, p->t->node[q].event.count + 1);
    }
    for (size_t i = 0; i < p->lanes.count; i++) {
        const tl_lane *lane = &p->lanes.data[i];
        for (size_t k = 0; k < lane->event.count; k++) {
            p->lane_of[lane->node][lane->event.data[k]] = (uint32_t)i + 1;
        }
    }
}

/* From a send to its receive: lane, time, lane, time, buffer. */
static void put_flows(page *p)
{
    size_t count = 0;
    fputs(",\"flows\":[", p->file);
    for (int q = 0; q < p->t->nodes; q++) {
        const tl_node *node = &p->t->node[q];
        for (size_t i = 0; i < node->event.count && count < FLOWS; i++) {
            const tl_event *e = &node->event.data[i];
            const tl_event *sent = e->kind == TI_TRACE_RECEIVE ? timeline_send_of(p->t, (uint32_t)q, e) : NULL;
            if (sent) {
                uint32_t from = p->lane_of[e->where][sent - p->t->node[e->where].event.data], to = p->lane_of[q][i];
                fprintf(p->file, "%s%" PRIu32 ",%" PRId64 ",%" PRIu32 ",%" PRId64 ",%" PRIu32, count++ ? "," : "",
                        from - 1, sent->start, to - 1, e->end, e->buffer);
            }
        }
    }
    fprintf(p->file, "],\"flows_cut\":%s", count == FLOWS ? "true" : "false");
}

/* ---- what was found out */

static void put_node(page *p, int q)
{
    const tl_node *node = &p->t->node[q];
    const char *machine = timeline_fact(node, "machine");
    fprintf(p->file,
            "%s{\"there\":%s,\"complete\":%s,\"workers\":%d,\"begin\":%" PRId64 ",\"end\":%" PRId64
            ",\"dropped\":%" PRIu64 ",\"records\":%zu,\"clock_error\":%" PRId64 ",\"spent\":[",
            q ? ",\n" : "\n", node->there ? "true" : "false", node->complete ? "true" : "false", node->workers,
            node->begin, node->end, node->dropped, node->event.count, node->clock_error);
    for (int c = 0; c < TL_CAUSES; c++) {
        fprintf(p->file, "%s%" PRId64, c ? "," : "", node->spent[c]);
    }
    fputs("],\"load\":[", p->file);
    const char *comma = "";
    for (size_t i = 0; i < p->t->names.count; i++) {
        const tl_load *load = &p->t->load[(size_t)q * p->t->names.count + i];
        if (load->parts) {
            fprintf(p->file, "%s%zu,%" PRIu64 ",%" PRId64, comma, i, load->parts, load->ns);
            comma = ",";
        }
    }
    fputs("]", p->file);
    put_named(p->file, "machine", machine ? machine : "");
    fputs("}", p->file);
}

static void put_matrix(page *p, const char *key, const uint64_t *bytes)
{
    fprintf(p->file, ",\"%s\":[", key);
    for (size_t i = 0; bytes && i < (size_t)p->t->nodes * (size_t)p->t->nodes; i++) {
        fprintf(p->file, "%s%" PRIu64, i ? "," : "", bytes[i]);
    }
    fputs("]", p->file);
}

static void put_nodes(page *p)
{
    fputs(",\"node\":[", p->file);
    for (int q = 0; q < p->t->nodes; q++) {
        put_node(p, q);
    }
    fputs("]", p->file);
    fprintf(p->file, ",\"bytes_sent\":%" PRIu64 ",\"bytes_collected\":%" PRIu64 ",\"bytes_relayed\":%" PRIu64,
            p->t->bytes_sent, p->t->bytes_collected, p->t->bytes_relayed);
    put_matrix(p, "sent", p->t->sent);
    put_matrix(p, "collected", p->t->collected);
    put_matrix(p, "passed", p->t->passed);
}

static void put_path(page *p)
{
    fputs(",\"path\":[", p->file);
    size_t count = TI_MIN(p->t->path.count, (size_t)STEPS);
    for (size_t i = 0; i < count; i++) {
        const tl_step *s = &p->t->path.data[i];
        fprintf(p->file, "%s%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%d,%d", i ? "," : "", s->start,
                s->end, s->node, s->peer, s->name, s->kind, s->cause);
    }
    fprintf(p->file, "],\"path_cut\":%s,\"blames\":[", count < p->t->path.count ? "true" : "false");
    for (size_t i = 0; i < TI_MIN(p->t->blames.count, (size_t)BLAMES); i++) {
        const tl_blame *b = &p->t->blames.data[i];
        fprintf(p->file, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%d,%" PRId64 ",%" PRIu64 "]", i ? "," : "",
                b->node, b->peer, b->buffer, b->name, b->collective, b->ns, b->times);
    }
    fputs("]", p->file);
}

static void put_words(page *p)
{
    fputs(",\"names\":[", p->file);
    for (size_t i = 0; i < p->t->names.count; i++) {
        fputs(i ? "," : "", p->file);
        put_text(p->file, timeline_name(p->t, (uint32_t)i));
    }
    fputs("],\"kinds\":[", p->file);
    for (int k = 0; k < TI_TRACE_KINDS; k++) {
        fputs(k ? "," : "", p->file);
        put_text(p->file, ti_trace_kind_name((uint8_t)k));
    }
    fputs("],\"causes\":[", p->file);
    for (int c = 0; c < TL_CAUSES; c++) {
        fputs(c ? "," : "", p->file);
        put_text(p->file, timeline_cause_name((tl_cause)c));
    }
    fputs("],\"patterns\":[", p->file);
    for (int c = 0; c < TI_PATTERN_KINDS; c++) {
        fputs(c ? "," : "", p->file);
        put_text(p->file, ti_pattern_name((ti_pattern)c));
    }
    fputs("]", p->file);
}

static const tl_node *any_node(const timeline *t)
{
    int q = 0;
    while (q + 1 < t->nodes && !t->node[q].there) {
        q++;
    }
    return &t->node[q];
}

static void put_facts(page *p, const char *explain)
{
    static const char *const keys[] = { "command", "tacit", "network", "MPI", "settings" };
    ti_strbuf advice = { 0 };
    timeline_advice(p->t, &advice);
    put_named(p->file, "advice", ti_strbuf_text(&advice));
    ti_strbuf_fini(&advice);
    for (size_t i = 0; i < TI_COUNT(keys); i++) {
        const char *value = timeline_fact(any_node(p->t), keys[i]);
        put_named(p->file, keys[i], value ? value : "");
    }
    put_named(p->file, "explain", explain ? explain : "");
}

static void put_data(page *p, const char *explain)
{
    fprintf(p->file,
            "{\"version\":\"%d.%d.%d\",\"nodes\":%d,\"ns\":%" PRId64 ",\"records\":%" PRIu64 ",\"dropped\":%" PRIu64,
            TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH, p->t->nodes, p->t->end, p->t->records,
            p->t->dropped);
    put_words(p);
    put_nodes(p);
    put_lanes(p);
    put_flows(p);
    put_path(p);
    put_facts(p, explain);
    fputs("}", p->file);
}

bool timeline_write_page(const timeline *t, const char *path, const char *explain)
{
    page p = { .t = t, .file = fopen(path, "w") };
    if (!p.file) {
        return false;
    }
    index_lanes(&p);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>tacit trace</title>\n<style>\n",
          p.file);
    fputs(tool_page_css, p.file);
    fputs("</style>\n</head>\n", p.file);
    fputs(tool_page_html, p.file);
    fputs("<script id=\"data\" type=\"application/json\">", p.file);
    put_data(&p, explain);
    fputs("</script>\n<script>\n", p.file);
    fputs(tool_page_js, p.file);
    fputs("</script>\n</html>\n", p.file);
    for (int q = 0; q < t->nodes; q++) {
        ti_free(p.lane_of[q], (t->node[q].event.count + 1) * sizeof(uint32_t));
    }
    ti_free(p.lane_of, (size_t)t->nodes * sizeof(uint32_t *));
    timeline_lanes_fini(&p.lanes);
    bool failed = ferror(p.file);
    return fclose(p.file) == 0 && !failed;
}
