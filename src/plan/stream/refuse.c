/* The instruction graph, refusal: see impl.h. What is wanted does not fit into memory: a sentence that names what is
 * needed most of, and a table of all buffers.
 *
 * Nothing that was wanted has been allocated at this point, and nothing will be. What the table predicts includes all
 * tasks of the window. Scheduler thread. */
#include "plan/stream/impl.h"

#include <stdlib.h>

enum { MAX_ROWS = 20 };

typedef struct row {
    const ti_buffer_info *buffer;
    uint64_t now, predicted;
    const ti_want *largest; /* NULL: nothing new is wanted of this buffer */
} row;

typedef TI_VEC(row) rows;

/* What is short: the node's memory, all memories together, or what one device has to itself. */
typedef struct shortage {
    int memory; /* TI_HOST_MEMORY: all */
    uint64_t limit, peak, results, staging, bundled;
} shortage;

static shortage find_shortage(ti_instruction_graph *graph, int memory)
{
    const ti_window *w = &graph->window;
    if (memory != TI_HOST_MEMORY) {
        return (shortage){ .memory = memory,
                           .limit = graph->emit.own[memory].limit,
                           .peak = ti_wants_peak_in(&graph->emit, memory) };
    }
    return (shortage){ .memory = memory,
                       .limit = graph->system->memory,
                       .peak = ti_wants_peak(&graph->emit, w->staging + w->bundled),
                       .results = graph->emit.budget.results,
                       .staging = w->staging,
                       .bundled = w->bundled };
}

static bool concerns(const shortage *s, const ti_buffer_memory *place)
{
    return s->memory == TI_HOST_MEMORY || place->memory == s->memory;
}

/* ---- needs in words */

static const char *verb_of(const ti_access *access)
{
    switch (access->mode) {
    case TACIT_READ:
        return "reads";
    case TACIT_WRITE:
        return "writes";
    case TACIT_UPDATE:
        return "updates";
    default:
        return "reduces into";
    }
}

static void add_part(ti_strbuf *out, const ti_want *want)
{
    char text[TI_BOX_TEXT];
    bool whole = ti_box_covers(&want->footprint, &want->buffer->extent);
    ti_strbuf_add(out, "%s of buffer '%s'",
                  whole ? "all" : ti_box_format(&want->footprint, TI_MAX(want->buffer->dims, 1), text),
                  want->buffer->name);
}

static void add_need(ti_strbuf *out, const ti_want *want)
{
    const ti_task *task = want->largest.task;
    if (task->kind == TI_TASK_CREATE) {
        ti_strbuf_add(out,
                      task->shape->accesses ? "buffer '%s' is created with .init_local"
                                            : "buffer '%s' is created with .init, of which every node holds all",
                      want->buffer->name);
    } else if (task->kind == TI_TASK_FENCE) {
        ti_strbuf_add(out, "a fence needs ");
        add_part(out, want);
    } else if (want->largest.access < 0) {
        ti_strbuf_add(out, "messages for task '%s' need ", task->shape->name);
        add_part(out, want);
    } else {
        const ti_access *access = &task->shape->access[want->largest.access];
        ti_strbuf_add(out, "task '%s' %s ", task->shape->name, verb_of(access));
        add_part(out, want);
        const ti_mapper_kind *kind = ti_mapper_kind_of(access->kind);
        if (access->mode != TACIT_REDUCE && kind) {
            ti_strbuf_add(out, " by %s", kind->name);
        }
    }
}

/* Whether every chunk needs as much, so that more nodes do not help. */
static bool is_constant(const ti_access *access)
{
    for (int d = 0; d < access->mapper->dims && !access->custom; d++) {
        if (ti_component_follows(&access->mapper->c[d])) {
            return false;
        }
    }
    return !access->custom || (access->custom->properties & TACIT_MAPPER_CONSTANT);
}

static const char *cure_of(const ti_want *want)
{
    const ti_task *task = want->largest.task;
    if (task->kind == TI_TASK_CREATE && task->shape->accesses == 0) {
        return "create it without .init and write it in a task, so that each node holds its part";
    }
    if (task->kind == TI_TASK_FENCE) {
        return "read it in parts, or let host tasks write the results";
    }
    const ti_access *access = want->largest.access < 0 ? NULL : &task->shape->access[want->largest.access];
    if (access && access->mode == TACIT_REDUCE) {
        return "reduce into a smaller buffer";
    }
    if (task->kind == TI_TASK_EXECUTE && task->shape->place >= 0) {
        return "split the task over the nodes, or use a mapper that names less of the buffer";
    }
    return access && is_constant(access) ? "more nodes do not change that: use a mapper that names less of the buffer"
                                         : "use more nodes, so that each has a smaller part";
}

/* ---- the table */

static int by_predicted(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int order = (x->predicted < y->predicted) - (x->predicted > y->predicted);
    return order ? order : (x->buffer->serial > y->buffer->serial) - (x->buffer->serial < y->buffer->serial);
}

static void collect_rows(ti_instruction_graph *graph, const shortage *s, rows *out)
{
    for (size_t i = 0; i < graph->buffer.count; i++) {
        row r = { 0 };
        for (size_t p = 0; graph->buffer.data[i] && p < graph->buffer.data[i]->place.count; p++) {
            ti_buffer_memory *place = graph->buffer.data[i]->place.data[p];
            r.buffer = graph->buffer.data[i]->info;
            r.now += concerns(s, place) ? ti_allocated_bytes(&graph->emit, place, r.buffer, &r.buffer->extent) : 0;
        }
        r.predicted = r.now;
        for (size_t w = 0; r.buffer && w < graph->emit.wants.count; w++) {
            const ti_want *want = &graph->emit.wants.data[w];
            if (want->buffer != r.buffer || ti_box_is_empty(&want->box) || !concerns(s, want->memory)) {
                continue;
            }
            r.predicted += ti_bytes_of(r.buffer, &want->box) -
                           ti_allocated_bytes(&graph->emit, want->memory, r.buffer, &want->box);
            if (!r.largest || ti_box_volume(&want->footprint) > ti_box_volume(&r.largest->footprint)) {
                r.largest = want;
            }
        }
        if (r.predicted > 0) {
            ti_vec_push(out, r);
        }
    }
    qsort(out->data, out->count, sizeof(row), by_predicted);
}

static void add_row(ti_strbuf *out, const char *name, const char *extent, const uint64_t *whole, uint64_t now,
                    uint64_t predicted)
{
    char text[3][TI_BYTES_TEXT];
    ti_strbuf_add(out, "\n  %-20s %-22s %12s %12s %12s", name, extent, whole ? ti_bytes_format(*whole, text[0]) : "",
                  ti_bytes_format(now, text[1]), ti_bytes_format(predicted, text[2]));
}

static void add_buffer(ti_strbuf *out, const row *r)
{
    char box[TI_BOX_TEXT];
    uint64_t whole = ti_bytes_of(r->buffer, &r->buffer->extent);
    add_row(out, r->buffer->name, ti_box_format(&r->buffer->extent, TI_MAX(r->buffer->dims, 1), box), &whole, r->now,
            r->predicted);
    if (r->largest) {
        ti_strbuf_add(out, "  ");
        add_need(out, r->largest);
    }
}

static void add_limit(ti_strbuf *out, const ti_system *system, const shortage *s)
{
    char text[2][TI_BYTES_TEXT], name[TI_DEVICE_NAME];
    if (s->memory != TI_HOST_MEMORY) {
        ti_strbuf_add(out, "%s (device %s; TACIT_DEVICE_MEMORY)", ti_bytes_format(s->limit, text[0]),
                      ti_system_device_name(system, ti_system_server(system, s->memory), name));
        return;
    }
    ti_strbuf_add(out, "%s (TACIT_MEMORY_LIMIT", ti_bytes_format(system->memory, text[0]));
    if (system->machine) {
        ti_strbuf_add(out, "; the machine has %s for %d node%s", ti_bytes_format(system->machine, text[1]),
                      system->local_nodes, system->local_nodes == 1 ? "" : "s");
    }
    ti_strbuf_add(out, ")");
}

static void write_table(ti_instruction_graph *graph, const rows *list, const shortage *s)
{
    ti_strbuf *out = &graph->refusal.table;
    uint64_t results = s->results, staging = s->staging + s->bundled, peak = s->peak, now = results, predicted;
    if (s->memory == TI_HOST_MEMORY) {
        ti_strbuf_add(out, "memory of this node, now and as the tasks submitted so far need it:");
    } else {
        char name[TI_DEVICE_NAME];
        ti_strbuf_add(out, "memory of device %s, now and as the next task needs it:",
                      ti_system_device_name(graph->system, ti_system_server(graph->system, s->memory), name));
    }
    ti_strbuf_add(out, "\n  %-20s %-22s %12s %12s %12s  %s", "buffer", "extent", "whole", "now", "needed",
                  "largest new need");
    predicted = now + staging;
    for (size_t i = 0; i < list->count; i++) {
        now += list->data[i].now;
        predicted += list->data[i].predicted;
        if (i < MAX_ROWS) {
            add_buffer(out, &list->data[i]);
        }
    }
    if (list->count > MAX_ROWS) {
        ti_strbuf_add(out, "\n  and %zu smaller ones", list->count - MAX_ROWS);
    }
    if (s->staging) {
        add_row(out, "(partial results)", "", NULL, 0, s->staging);
    }
    if (s->bundled) {
        add_row(out, "(packed messages)", "", NULL, 0, s->bundled);
    }
    if (results) {
        add_row(out, "(results of fences)", "", NULL, results, results);
    }
    if (peak > predicted) {
        add_row(out, "(while buffers grow)", "", NULL, 0, peak - predicted);
    }
    add_row(out, "all", "", NULL, now, TI_MAX(peak, predicted));
    ti_strbuf_add(out, "  limit: ");
    add_limit(out, graph->system, s);
}

static void write_sentence(ti_instruction_graph *graph, const rows *list, const shortage *s)
{
    ti_strbuf *why = &graph->refusal.sentence, need = { 0 }, limit = { 0 };
    char text[3][TI_BYTES_TEXT];
    const ti_want *most = NULL;
    const bool bundles = s->bundled > s->staging;
    uint64_t largest = TI_MAX(s->bundled, s->staging);
    for (size_t i = 0; i < list->count; i++) {
        const row *r = &list->data[i];
        if (r->largest && r->predicted - r->now >= largest) {
            largest = r->predicted - r->now;
            most = r->largest;
        }
    }
    if (most) {
        add_need(&need, most);
    } else {
        ti_strbuf_add(&need, bundles ? "messages of several boxes are packed"
                                     : "reductions need a partial result for each worker");
    }
    add_limit(&limit, graph->system, s);
    ti_strbuf_add(why, "%s: %s; with everything else this %s needs %s, which is %s more than %s; %s", need.text,
                  ti_bytes_format(largest, text[0]), s->memory == TI_HOST_MEMORY ? "node" : "device",
                  ti_bytes_format(s->peak, text[1]), ti_bytes_format(s->peak - s->limit, text[2]), limit.text,
                  most      ? cure_of(most)
                  : bundles ? "set TACIT_LATENCY to fewer tasks, or use more nodes"
                            : "reduce into a smaller buffer, or set TACIT_WORKERS to fewer");
    ti_strbuf_fini(&need);
    ti_strbuf_fini(&limit);
}

void ti_instruction_refuse(ti_instruction_graph *graph, int memory)
{
    rows list = { 0 };
    const shortage s = find_shortage(graph, memory);
    TI_ASSERT(s.peak > s.limit);
    collect_rows(graph, &s, &list);
    write_table(graph, &list, &s);
    write_sentence(graph, &list, &s);
    ti_vec_fini(&list);
    graph->refused = true;
}
