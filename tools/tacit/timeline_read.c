/* Reading the trace files of a run: see timeline.h. */
#include "timeline.h"

#include "base/hash.h"
#include "trace/read.h"

#include <stdlib.h>
#include <string.h>

/* What is needed while files are read. */
typedef struct reader {
    timeline *t;
    ti_trace_drift *drift; /* of each node */
    ti_map names;          /* of the node that is read: its numbers to ours */
    uint32_t node;
} reader;

const char *timeline_name(const timeline *t, uint32_t name)
{
    return name < t->names.count ? t->names.data[name] : "";
}

uint32_t timeline_intern(timeline *t, const char *text, size_t length)
{
    uint64_t key = ti_hash_bytes(text, length), *at;
    while ((at = ti_map_find(&t->name_index, key)) &&
           (strlen(t->names.data[*at]) != length || memcmp(t->names.data[*at], text, length) != 0)) {
        key++;
    }
    if (!at) {
        ti_strbuf copy = { 0 };
        ti_strbuf_add(&copy, "%.*s", (int)length, text);
        ti_vec_push(&t->names, ti_strdup(ti_strbuf_text(&copy)));
        ti_strbuf_fini(&copy);
        at = ti_map_at(&t->name_index, key);
        *at = t->names.count - 1;
    }
    return (uint32_t)*at;
}

const char *timeline_fact(const tl_node *node, const char *key)
{
    size_t length = strlen(key);
    const char *text = ti_strbuf_text(&node->facts), *end = text + node->facts.length;
    for (; text < end; text += strlen(text) + 1) {
        if (strncmp(text, key, length) == 0 && text[length] == '=') {
            return text + length + 1;
        }
    }
    return NULL;
}

/* ---- blocks */

static void add_fact(tl_node *node, const char *text, size_t bytes)
{
    ti_strbuf_add(&node->facts, "%.*s", (int)bytes, text);
    ti_strbuf_reserve(&node->facts, node->facts.length + 2);
    node->facts.text[++node->facts.length] = '\0';
}

/* Of the record only what needs no other record; times stay as they are. */
static void add_record(reader *r, const ti_trace_record *from)
{
    timeline *t = r->t;
    uint8_t kind = from->kind & (TI_TRACE_UNFINISHED - 1);
    if (kind == TI_TRACE_NONE || kind >= TI_TRACE_KINDS || from->end < from->start) {
        return;
    }
    tl_event e = { .start = (int64_t)from->start,
                   .end = (int64_t)from->end,
                   .ready = tl_is_kernel(kind) ? (int64_t)from->value : (int64_t)from->start,
                   .bytes = tl_is_kernel(kind) || kind == TI_TRACE_PART ? 0 : from->value,
                   .items = kind == TI_TRACE_PART      ? from->value
                            : kind == TI_TRACE_MEMBERS ? from->name
                                                       : 0,
                   .task = from->task,
                   .id = from->id,
                   .by = from->by,
                   .number = from->number,
                   .where = from->where,
                   .kind = kind,
                   .unfinished = from->kind & TI_TRACE_UNFINISHED };
    if (kind == TI_TRACE_TASK) {
        uint64_t *name = ti_map_find(&r->names, from->name);
        e.name = name ? (uint32_t)*name : 0;
        *ti_map_at(&t->task_name, from->task) = e.name;
    } else if (kind != TI_TRACE_MEMBERS) {
        e.buffer = from->name;
    }
    ti_vec_push(&t->node[r->node].event, e);
    t->records++;
}

static void take_block(void *user, const ti_trace_block *block, const char *data)
{
    reader *r = user;
    timeline *t = r->t;
    tl_node *node = &t->node[r->node];
    ti_trace_end end;
    switch ((ti_trace_block_kind)block->kind) {
    case TI_BLOCK_RECORDS:
        for (size_t i = 0; i < block->bytes / sizeof(ti_trace_record); i++) {
            ti_trace_record record;
            memcpy(&record, data + i * sizeof(record), sizeof(record));
            add_record(r, &record);
        }
        break;
    case TI_BLOCK_NAME:
        *ti_map_at(&r->names, block->id) = timeline_intern(t, data, block->bytes);
        break;
    case TI_BLOCK_BUFFER:
        *ti_map_at(&t->buffer_name, block->id) = timeline_intern(t, data, block->bytes);
        break;
    case TI_BLOCK_FACT:
        add_fact(node, data, block->bytes);
        break;
    case TI_BLOCK_CLOCKS:
        ti_trace_add_clocks(r->drift, (uint32_t)t->nodes, block, data);
        break;
    case TI_BLOCK_VALUES:
        break;
    case TI_BLOCK_END:
        if (block->bytes == sizeof(end)) {
            memcpy(&end, data, sizeof(end));
            node->complete = true;
            node->dropped = end.dropped;
            t->dropped += end.dropped;
        }
        break;
    }
}

static void read_node(reader *r, const char *prefix, int index, ti_strbuf *why)
{
    ti_trace_header header;
    tl_node *node = &r->t->node[index];
    r->node = (uint32_t)index;
    if (!ti_trace_read(prefix, index, &header, take_block, r, why)) {
        return;
    }
    node->there = true;
    node->workers = header.rings > TI_TRACE_WORKER ? (int)(header.rings - TI_TRACE_WORKER) : 0;
    node->clock = header.start;
    const char *progress = timeline_fact(node, "progress");
    node->alone = progress && strcmp(progress, "inline") == 0;
    ti_map_fini(&r->names);
    r->names = (ti_map){ 0 };
}

/* ---- one clock */

static int by_start(const void *a, const void *b)
{
    const tl_event *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

static void align(tl_node *node, const ti_trace_drift *d, int64_t origin)
{
    node->begin = ti_trace_common_time(d, (int64_t)node->clock) - origin;
    node->end = node->begin;
    node->clock_error = d->known ? (int64_t)TI_MAX(d->first.error, d->last.error) : -1;
    for (size_t i = 0; i < node->event.count; i++) {
        tl_event *e = &node->event.data[i];
        e->start = ti_trace_common_time(d, e->start) - origin;
        e->end = ti_trace_common_time(d, e->end) - origin;
        e->ready = TI_MIN(ti_trace_common_time(d, e->ready) - origin, e->start);
        node->end = TI_MAX(node->end, e->end);
    }
    if (node->event.count) {
        qsort(node->event.data, node->event.count, sizeof(tl_event), by_start);
    }
}

/* Which event is which instruction; and the names of what belongs to tasks. */
static void link_node(timeline *t, tl_node *node)
{
    for (size_t i = 0; i < node->event.count; i++) {
        const tl_event *e = &node->event.data[i];
        node->instructions = tl_is_instruction(e->kind) ? TI_MAX(node->instructions, e->id) : node->instructions;
    }
    node->instruction = TI_NEW_ARRAY(uint32_t, (size_t)node->instructions + 1);
    for (size_t i = 0; i < node->event.count; i++) {
        if (tl_is_instruction(node->event.data[i].kind)) {
            node->instruction[node->event.data[i].id] = (uint32_t)i + 1;
        }
    }
    for (size_t i = 0; i < node->event.count; i++) {
        tl_event *e = &node->event.data[i];
        const tl_event *whose = tl_is_part(e->kind) ? timeline_instruction(node, e->id) : NULL;
        e->task = whose ? whose->task : e->task;
        if (whose && e->kind == TI_TRACE_LANE_COPY) {
            e->bytes = whose->bytes;
            node->event.data[node->instruction[e->id] - 1].on_lane = true;
        }
        uint64_t *name = ti_map_find(&t->task_name, e->task), *buffer = ti_map_find(&t->buffer_name, e->buffer);
        e->name = name ? (uint32_t)*name : 0;
        e->buffer = buffer && e->buffer ? (uint32_t)*buffer : 0;
    }
}

const tl_event *timeline_instruction(const tl_node *node, uint32_t id)
{
    return id && id <= node->instructions && node->instruction[id] ? &node->event.data[node->instruction[id] - 1]
                                                                   : NULL;
}

static void put_in_order(reader *r)
{
    timeline *t = r->t;
    int64_t origin = INT64_MAX;
    for (int q = 0; q < t->nodes; q++) {
        if (t->node[q].there) {
            origin = TI_MIN(origin, ti_trace_common_time(&r->drift[q], (int64_t)t->node[q].clock));
        }
    }
    for (int q = 0; q < t->nodes; q++) {
        align(&t->node[q], &r->drift[q], origin);
        link_node(t, &t->node[q]);
        t->end = TI_MAX(t->end, t->node[q].end);
    }
}

bool timeline_read(timeline *t, const char *prefix, ti_strbuf *why)
{
    ti_trace_header header;
    bool found = false;
    ti_strbuf ignored = { 0 };
    for (int q = 0; q < 64 && !found; q++) { /* node 0's file may be missing, if its disk was full */
        found = ti_trace_read(prefix, q, &header, NULL, NULL, q == 0 ? why : &ignored);
    }
    ti_strbuf_fini(&ignored);
    if (!found) {
        return false;
    }
    ti_strbuf_clear(why);
    t->nodes = (int)header.nodes;
    t->node = TI_NEW_ARRAY(tl_node, (size_t)t->nodes);
    timeline_intern(t, "", 0);
    reader r = { .t = t, .drift = TI_NEW_ARRAY(ti_trace_drift, (size_t)t->nodes) };
    for (int q = 0; q < t->nodes; q++) {
        read_node(&r, prefix, q, why);
    }
    put_in_order(&r);
    ti_free(r.drift, (size_t)t->nodes * sizeof(ti_trace_drift));
    return true;
}

void timeline_fini(timeline *t)
{
    size_t names = t->names.count;
    for (int q = 0; q < t->nodes; q++) {
        ti_free(t->node[q].instruction, ((size_t)t->node[q].instructions + 1) * sizeof(uint32_t));
        ti_vec_fini(&t->node[q].event);
        ti_strbuf_fini(&t->node[q].facts);
        ti_map_fini(&t->node[q].submitted);
        ti_map_fini(&t->node[q].planned);
        ti_vec_fini(&t->node[q].waits);
        ti_vec_fini(&t->node[q].windows);
        ti_vec_fini(&t->node[q].points);
    }
    ti_free(t->load, (size_t)t->nodes * names * sizeof(tl_load));
    ti_free(t->sent, (size_t)t->nodes * (size_t)t->nodes * sizeof(uint64_t));
    ti_free(t->passed, (size_t)t->nodes * (size_t)t->nodes * sizeof(uint64_t));
    ti_free(t->collected, (size_t)t->nodes * (size_t)t->nodes * sizeof(uint64_t));
    ti_free(t->node, (size_t)t->nodes * sizeof(tl_node));
    for (size_t i = 0; i < names; i++) {
        ti_strfree(t->names.data[i]);
    }
    ti_vec_fini(&t->names);
    ti_map_fini(&t->name_index);
    ti_map_fini(&t->task_name);
    ti_map_fini(&t->buffer_name);
    ti_map_fini(&t->sends);
    ti_map_fini(&t->last);
    ti_vec_fini(&t->blames);
    ti_vec_fini(&t->path);
}
