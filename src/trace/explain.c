/* The report of TACIT_EXPLAIN: see explain.h. */
#include "trace/explain.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_NAMES = 4096, MAX_ROWS = 4096 }; /* programs that number their tasks must not fill memory */

typedef struct row {
    ti_explain_edge edge; /* region: of the first one; peers: at most; bytes, messages, ...: of all together */
    uint64_t times, first_bytes;
} row;

struct ti_explain {
    TI_VEC(char *) names;
    ti_map name_index; /* hash of the text to index, plus one */
    TI_VEC(row) rows;
    ti_map row_index; /* hash of the key to index, plus one */
    uint64_t carried[TI_PATTERN_KINDS][TI_CARRIERS];
    ti_explain_overlaps overlaps;
    ti_explain_windows windows;
    ti_explain_tilings tilings;
};

ti_explain *ti_explain_create(void)
{
    return TI_NEW(ti_explain);
}

void ti_explain_destroy(ti_explain *explain)
{
    if (!explain) {
        return;
    }
    for (size_t i = 0; i < explain->names.count; i++) {
        ti_strfree(explain->names.data[i]);
    }
    for (size_t i = 0; i < explain->rows.count; i++) {
        ti_strfree((char *)(uintptr_t)explain->rows.data[i].edge.region);
    }
    ti_explain_overlaps_fini(&explain->overlaps);
    ti_explain_windows_fini(&explain->windows);
    ti_explain_tilings_fini(&explain->tilings);
    ti_vec_fini(&explain->names);
    ti_vec_fini(&explain->rows);
    ti_map_fini(&explain->name_index);
    ti_map_fini(&explain->row_index);
    TI_DELETE(explain);
}

void ti_explain_note_overlap(ti_explain *explain, const ti_explain_overlap *what)
{
    ti_explain_overlaps_note(&explain->overlaps, what);
}

void ti_explain_note_window(ti_explain *explain, const ti_explain_window *window)
{
    ti_explain_windows_note(&explain->windows, window);
}

void ti_explain_note_tiles(ti_explain *explain, const ti_explain_tiles *tiles)
{
    ti_explain_tilings_note(&explain->tilings, tiles);
}

void ti_explain_note_choice(ti_explain *explain, const char *sentence)
{
    ti_explain_windows_choice(&explain->windows, sentence);
}

/* ---- names */

const char *ti_explain_name(ti_explain *explain, const char *name)
{
    const char *wanted = explain->names.count < MAX_NAMES - 1 ? name : "(others)";
    for (const char *text = name;; text = wanted) { /* many names: those that are known stay what they are */
        uint64_t key = ti_hash_bytes(text, strlen(text)), *at = ti_map_find(&explain->name_index, key);
        while (at && strcmp(explain->names.data[*at - 1], text) != 0) {
            at = ti_map_find(&explain->name_index, ++key);
        }
        if (at) {
            return explain->names.data[*at - 1];
        }
        if (text == wanted) {
            ti_vec_push(&explain->names, ti_strdup(text));
            *ti_map_at(&explain->name_index, key) = explain->names.count;
            return explain->names.data[explain->names.count - 1];
        }
    }
}

/* ---- rows */

static bool same_row(const ti_explain_edge *a, const ti_explain_edge *b)
{
    return a->producer == b->producer && a->consumer == b->consumer && a->buffer == b->buffer &&
           a->verdict == b->verdict && a->rest == b->rest && a->pattern == b->pattern && a->merged == b->merged &&
           a->groups == b->groups && a->members == b->members;
}

static row *row_of(ti_explain *explain, const ti_explain_edge *edge)
{
    uint64_t key = ti_hash64((uintptr_t)edge->producer);
    key = ti_hash64(key ^ (uintptr_t)edge->consumer);
    key = ti_hash64(key ^ (uintptr_t)edge->buffer);
    key = ti_hash64(key ^ ((uint64_t)edge->verdict << 8) ^ ((uint64_t)edge->pattern << 1) ^ edge->merged);
    uint64_t *at = ti_map_find(&explain->row_index, key);
    while (at && !same_row(&explain->rows.data[*at - 1].edge, edge)) {
        at = ti_map_find(&explain->row_index, ++key);
    }
    if (at) {
        return &explain->rows.data[*at - 1];
    }
    if (explain->rows.count == MAX_ROWS) {
        return NULL;
    }
    row fresh = { .edge = *edge, .first_bytes = edge->bytes };
    fresh.edge.region = ti_strdup(edge->region);
    fresh.edge.recipients = 0;
    fresh.edge.bytes = fresh.edge.messages = fresh.edge.sent = fresh.edge.received = 0;
    ti_vec_push(&explain->rows, fresh);
    *ti_map_at(&explain->row_index, key) = explain->rows.count;
    return &explain->rows.data[explain->rows.count - 1];
}

void ti_explain_note(ti_explain *explain, const ti_explain_edge *edge)
{
    row *r = row_of(explain, edge);
    if (r) {
        r->times++;
        r->edge.bytes += edge->bytes;
        r->edge.recipients += edge->recipients;
        r->edge.depth = TI_MAX(r->edge.depth, edge->depth);
        r->edge.peers = TI_MAX(r->edge.peers, edge->peers);
        r->edge.messages += edge->messages;
        r->edge.sent += edge->sent;
        r->edge.received += edge->received;
    }
}

size_t ti_explain_rows(const ti_explain *explain)
{
    return explain->rows.count;
}

const ti_explain_edge *ti_explain_row(const ti_explain *explain, size_t index, uint64_t *times)
{
    *times = explain->rows.data[index].times;
    return &explain->rows.data[index].edge;
}

void ti_explain_carried(ti_explain *explain, const uint64_t carried[TI_PATTERN_KINDS][TI_CARRIERS])
{
    if (explain) {
        memcpy(explain->carried, carried, sizeof(explain->carried));
    }
}

/* ---- in words */

static void add_became(const ti_explain_edge *edge, ti_strbuf *out)
{
    const char *before = "";
    if (edge->verdict == TI_VERDICT_FREE && edge->messages == 0) {
        ti_strbuf_add(out, "free");
        return;
    }
    if (edge->verdict == TI_VERDICT_MULTICAST) {
        ti_strbuf_add(out, "multicast to %" PRIu64 ", depth %u", edge->recipients, edge->depth);
        return;
    }
    if (edge->verdict == TI_VERDICT_BROADCAST) {
        ti_strbuf_add(out, "broadcast to %" PRIu64, edge->recipients);
        return;
    }
    if (edge->verdict == TI_VERDICT_COLLECTIVE) {
        ti_strbuf_add(out, "%s%s", ti_pattern_name(edge->pattern), edge->merged ? " for several tasks" : "");
        if (edge->groups) {
            ti_strbuf_add(out, " in %d groups of %d", edge->groups, edge->members);
        }
        before = " and ";
    }
    if (edge->messages) {
        ti_strbuf_add(out, "%smessages, %d peer%s", before, edge->peers, edge->peers == 1 ? "" : "s");
    } else if (edge->verdict != TI_VERDICT_COLLECTIVE) {
        ti_strbuf_add(out, edge->verdict == TI_VERDICT_CAME ? "came before" : "nothing here");
    }
}

/* The widest of each text column, so that rows line up. */
typedef struct widths {
    int from, to, buffer, became;
} widths;

static widths measure(const ti_explain *explain)
{
    widths w = { 8, 8, 6, 6 };
    ti_strbuf text = { 0 };
    for (size_t i = 0; i < explain->rows.count; i++) {
        const ti_explain_edge *e = &explain->rows.data[i].edge;
        ti_strbuf_clear(&text);
        add_became(e, &text);
        w.from = TI_MAX(w.from, (int)strlen(e->producer));
        w.to = TI_MAX(w.to, (int)strlen(e->consumer));
        w.buffer = TI_MAX(w.buffer, (int)strlen(e->buffer));
        w.became = TI_MAX(w.became, (int)text.length);
    }
    ti_strbuf_fini(&text);
    return w;
}

static bool is_failure(const ti_explain_edge *edge)
{
    ti_verdict verdict = ti_explain_verdict(edge);
    return verdict != TI_VERDICT_FREE && verdict != TI_VERDICT_COLLECTIVE && verdict != TI_VERDICT_CAME &&
           verdict != TI_VERDICT_MULTICAST && verdict != TI_VERDICT_BROADCAST;
}

static void add_row(const row *r, const widths *w, int note, ti_strbuf *out)
{
    const ti_explain_edge *e = &r->edge;
    ti_strbuf became = { 0 };
    char sent[TI_BYTES_TEXT], received[TI_BYTES_TEXT];
    add_became(e, &became);
    ti_strbuf_add(out, "  %-*s  %-*s  %-*s  %-*s %8" PRIu64 " %10s %10s  %s", w->from, e->producer, w->to, e->consumer,
                  w->buffer, e->buffer, w->became, ti_strbuf_text(&became), r->times, ti_bytes_format(e->sent, sent),
                  ti_bytes_format(e->received, received), e->region);
    if (note) {
        ti_strbuf_add(out, "  (%d)", note);
    }
    ti_strbuf_add(out, "\n");
    ti_strbuf_fini(&became);
}

/* The same command is a call of MPI or of NCCL, or messages between pairs of nodes, whichever is expected to be faster.
 * Nothing in dry runs. */
static void add_carriers(const ti_explain *explain, ti_strbuf *out)
{
    static const struct {
        ti_carrier carrier;
        const char *name;
    } by[] = { { TI_BY_DEVICES, "NCCL" },
               { TI_BY_LIBRARY, "MPI" },
               { TI_BY_MESSAGES, "messages between pairs of nodes" } };
    const char *title = "Who carried collectives out on this node (TACIT_COLLECTIVE_SCHEDULE, TACIT_NCCL):\n";
    for (int p = 0; p < TI_PATTERN_KINDS; p++) {
        const char *comma = "";
        for (size_t i = 0; i < TI_COUNT(by); i++) {
            const uint64_t times = explain->carried[p][by[i].carrier];
            if (times && !*comma) {
                ti_strbuf_add(out, "%s  %-10s ", title, ti_pattern_name((ti_pattern)p));
                title = "";
            }
            if (times) {
                ti_strbuf_add(out, "%s %" PRIu64 " by %s", comma, times, by[i].name);
                comma = ",";
            }
        }
        ti_strbuf_add(out, "%s", *comma ? "\n" : "");
    }
}

typedef TI_VEC(char *) texts;

/* The place of a text, at the end if it is new. */
static size_t place_of(texts *known, const char *text)
{
    size_t i = 0;
    while (i < known->count && strcmp(known->data[i], text) != 0) {
        i++;
    }
    if (i == known->count) {
        ti_vec_push(known, ti_strdup(text));
    }
    return i;
}

static void texts_fini(texts *known)
{
    for (size_t i = 0; i < known->count; i++) {
        ti_strfree(known->data[i]);
    }
    ti_vec_fini(known);
}

/* What is said below the table: each reason once, and each piece of advice with the first reason that calls for it. */
typedef struct notes {
    texts reasons, remedies;
    TI_VEC(int) first; /* of each remedy: the number of its reason */
    ti_strbuf text;
} notes;

/* The number of the reason of an edge. */
static int add_reason(notes *n, const ti_explain_edge *edge)
{
    ti_strbuf text = { 0 };
    ti_explain_reason(edge, &text);
    size_t known = n->reasons.count;
    int number = (int)place_of(&n->reasons, ti_strbuf_text(&text)) + 1;
    if (n->reasons.count > known) {
        ti_strbuf_add(&n->text, " (%d) %s\n     ", number, ti_strbuf_text(&text));
        ti_strbuf_clear(&text);
        ti_explain_remedy(edge, &text);
        known = n->remedies.count;
        size_t remedy = place_of(&n->remedies, ti_strbuf_text(&text));
        if (n->remedies.count > known) {
            ti_vec_push(&n->first, number);
            ti_strbuf_add(&n->text, "%s\n", ti_strbuf_text(&text));
        } else {
            ti_strbuf_add(&n->text, "As for (%d).\n", n->first.data[remedy]);
        }
    }
    ti_strbuf_fini(&text);
    return number;
}

void ti_explain_text(const ti_explain *explain, const ti_system *system, ti_strbuf *out)
{
    widths w = measure(explain);
    ti_strbuf_add(out, "tacit explain: what became of the edges between tasks, as node %d of %d sees it\n",
                  system->node, system->num_nodes);
    if (!explain->rows.count) {
        ti_strbuf_add(out, "  %s\n",
                      system->num_nodes == 1 ? "on one node nothing moves" : "no task reads what another one wrote");
        ti_explain_windows_text(&explain->windows, out);
        ti_explain_tilings_text(&explain->tilings, out);
        return;
    }
    ti_strbuf_add(out, "  %-*s  %-*s  %-*s  %-*s %8s %10s %10s  %s\n", w.from, "producer", w.to, "consumer", w.buffer,
                  "buffer", w.became, "became", "times", "sent", "received", "region");
    notes said = { .text = { 0 } };
    for (size_t i = 0; i < explain->rows.count; i++) {
        const row *r = &explain->rows.data[i];
        add_row(r, &w, is_failure(&r->edge) ? add_reason(&said, &r->edge) : 0, out);
    }
    ti_strbuf_add(out, "%s%s", said.reasons.count ? "Why messages are no collectives:\n" : "",
                  ti_strbuf_text(&said.text));
    texts_fini(&said.reasons);
    texts_fini(&said.remedies);
    ti_vec_fini(&said.first);
    ti_strbuf_fini(&said.text);
    add_carriers(explain, out);
    ti_explain_overlaps_text(&explain->overlaps, out);
    ti_explain_windows_text(&explain->windows, out);
    ti_explain_tilings_text(&explain->tilings, out);
}

/* ---- for programs */

static void add_json_row(const row *r, ti_strbuf *out)
{
    const ti_explain_edge *e = &r->edge;
    ti_strbuf text = { 0 };
    add_became(e, &text);
    ti_strbuf_add(out, "\n    {\"times\": %" PRIu64, r->times);
    ti_strbuf_add_json_entry(out, "producer", e->producer);
    ti_strbuf_add_json_entry(out, "consumer", e->consumer);
    ti_strbuf_add_json_entry(out, "buffer", e->buffer);
    ti_strbuf_add_json_entry(out, "region", e->region);
    ti_strbuf_add_json_entry(out, "became", ti_strbuf_text(&text));
    ti_strbuf_add_json_entry(out, "verdict", ti_verdict_name(e->verdict));
    ti_strbuf_add_json_entry(out, "pattern", ti_pattern_name(e->pattern));
    ti_strbuf_add(out, ", \"groups\": %d, \"group_nodes\": %d", e->groups, e->members);
    ti_strbuf_add(out, ", \"for_several_tasks\": %s", e->merged ? "true" : "false");
    ti_strbuf_add(out, ", \"recipients\": %" PRIu64 ", \"depth\": %u", e->recipients, e->depth);
    ti_strbuf_add(out,
                  ", \"region_bytes\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"peers\": %d, \"messages\": %" PRIu64
                  ", \"sent_bytes\": %" PRIu64 ", \"received_bytes\": %" PRIu64,
                  r->first_bytes, e->bytes, e->peers, e->messages, e->sent, e->received);
    if (is_failure(e)) {
        ti_strbuf_clear(&text);
        ti_explain_reason(e, &text);
        ti_strbuf_add_json_entry(out, "reason", ti_strbuf_text(&text));
        ti_strbuf_clear(&text);
        ti_explain_remedy(e, &text);
        ti_strbuf_add_json_entry(out, "remedy", ti_strbuf_text(&text));
    }
    ti_strbuf_add(out, "}");
    ti_strbuf_fini(&text);
}

static void add_json(const ti_explain *explain, const ti_system *system, ti_strbuf *out)
{
    static const char *const modes[] = { "off", "discover", "lookahead" };
    ti_strbuf_add(out, "{\n  \"nodes\": %d,\n  \"node\": %d,\n  \"collectives\": \"%s\",\n  \"edges\": [",
                  system->num_nodes, system->node, modes[system->collectives]);
    for (size_t i = 0; i < explain->rows.count; i++) {
        ti_strbuf_add(out, "%s", i ? "," : "");
        add_json_row(&explain->rows.data[i], out);
    }
    ti_strbuf_add(out, "%s],\n  \"carried_out\": [", explain->rows.count ? "\n  " : "");
    const char *comma = "";
    for (int p = 0; p < TI_PATTERN_KINDS; p++) {
        const uint64_t *by = explain->carried[p];
        if (by[TI_BY_MESSAGES] || by[TI_BY_LIBRARY] || by[TI_BY_DEVICES]) {
            ti_strbuf_add(out,
                          "%s\n    {\"pattern\": \"%s\", \"by_mpi\": %" PRIu64 ", \"by_messages\": %" PRIu64
                          ", \"by_nccl\": %" PRIu64 "}",
                          comma, ti_pattern_name((ti_pattern)p), by[TI_BY_LIBRARY], by[TI_BY_MESSAGES],
                          by[TI_BY_DEVICES]);
            comma = ",";
        }
    }
    ti_strbuf_add(out, "%s],\n  \"overlap\": ", *comma ? "\n  " : "");
    ti_explain_overlaps_json(&explain->overlaps, out);
    ti_strbuf_add(out, ",\n  \"windows\": ");
    ti_explain_windows_json(&explain->windows, out);
    ti_strbuf_add(out, ",\n  \"tiles\": ");
    ti_explain_tilings_json(&explain->tilings, out);
    ti_strbuf_add(out, ",\n  \"latency_choices\": ");
    ti_explain_windows_choices_json(&explain->windows, out);
    ti_strbuf_add(out, "\n}\n");
}

bool ti_explain_write(const ti_system *system, const char *path, ti_strbuf *why)
{
    ti_strbuf text = { 0 };
    size_t length = strlen(path);
    bool json = length > 5 && strcmp(path + length - 5, ".json") == 0, to_stderr = strcmp(path, "1") == 0;
    if (json) {
        add_json(system->explain, system, &text);
    } else {
        ti_strbuf table = { 0 };
        ti_explain_text(system->explain, system, &table);
        ti_strbuf_add_utf8(&text, ti_strbuf_text(&table));
        ti_strbuf_fini(&table);
    }
    bool ok = to_stderr ? fputs(ti_strbuf_text(&text), stderr) >= 0 : ti_strbuf_write(&text, path);
    if (!ok) {
        ti_strbuf_add(
            why, "cannot write '%s': %s; set TACIT_EXPLAIN to 1, or to a path in a folder that exists and has room",
            path, strerror(errno));
    }
    ti_strbuf_fini(&text);
    return ok;
}
