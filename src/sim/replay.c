/* A recorded run and the simulator's: the same instructions, and in which order. See replay.h. */
#include "sim/impl.h"

#include "base/check.h"
#include "base/sort.h"
#include "exec/trace.h"
#include "trace/read.h"

#include <inttypes.h>
#include <string.h>

ti_replay *ti_replay_create(const char *prefix, int nodes, bool in_order, ti_strbuf *why)
{
    ti_recorded *recorded = ti_recorded_open(prefix, nodes, why);
    if (!recorded) {
        return NULL;
    }
    ti_replay *p = TI_NEW(ti_replay);
    p->recorded = recorded;
    p->in_order = in_order;
    return p;
}

void ti_replay_destroy(ti_replay *p)
{
    if (p) {
        ti_recorded_close(p->recorded);
        ti_map_fini(&p->meetings);
        ti_strbuf_fini(&p->difference);
        TI_DELETE(p);
    }
}

int ti_replay_workers(const ti_replay *p, int at)
{
    return p->recorded->node[at].workers;
}

void ti_replay_give_values(ti_replay *p, uint64_t fence, void *data, size_t bytes)
{
    p->zeros += bytes > 0 && !ti_recorded_values(p->recorded, fence, data, bytes);
}

static ti_recorded_instruction *recorded_of(const ti_cluster *c, const node *n, const ti_instruction *i)
{
    ti_recorded_instruction *r = ti_recorded_at(c->replay->recorded, n->system.node, i->id);
    TI_ASSERT(r); /* compared when it was planned */
    return r;
}

/* ---- the same instructions? */

bool ti_sim_replay_differs(const ti_cluster *c)
{
    return c->replay && c->replay->difference.length > 0;
}

static bool has_bytes(const ti_trace_record *r)
{
    return r->kind < TI_TRACE_KERNEL || (r->kind > TI_TRACE_COLLECTIVE_HOST && r->kind < TI_TRACE_FENCE);
}

/* "a send of 512 bytes to node 1 for task 7 ('halo')" */
static void describe(const ti_trace_record *r, uint64_t items, const char *task, ti_strbuf *out)
{
    ti_strbuf_add(out, "%s %s", strchr("aeiou", *ti_trace_kind_name(r->kind)) ? "an" : "a",
                  ti_trace_kind_name(r->kind));
    if (r->kind == TI_TRACE_COLLECTIVE && r->where < TI_PATTERN_KINDS) {
        ti_strbuf_add(out, " (%s)", ti_pattern_name((ti_pattern)r->where));
    }
    if (has_bytes(r)) {
        ti_strbuf_add(out, " of %" PRIu64 " bytes", r->value);
    } else if (items) {
        ti_strbuf_add(out, " of %" PRIu64 " items", items);
    }
    if (r->kind == TI_TRACE_SEND || r->kind == TI_TRACE_RECEIVE) {
        ti_strbuf_add(out, " %s node %u", r->kind == TI_TRACE_SEND ? "to" : "from", r->where);
    }
    ti_strbuf_add(out, " for task %u ('%s')", r->task, task);
}

/* What the record of an instruction would say; items only of kernels whose parts are known on the other side. */
static uint64_t items_of(const ti_instruction *i)
{
    bool kernel = i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_HOST;
    return kernel ? (uint64_t)ti_box_volume(&i->as.kernel.chunk) : 0;
}

static uint64_t recorded_items(const ti_cluster *c, int q, const ti_recorded_instruction *r)
{
    uint64_t items = 0;
    bool kernel = r && (r->record.kind == TI_TRACE_KERNEL || r->record.kind == TI_TRACE_HOST);
    for (uint32_t k = 0; kernel && k < r->parts; k++) {
        items += c->replay->recorded->node[q].part.data[r->first_part + k].items;
    }
    return items;
}

static bool is_same(const ti_trace_record *here, const ti_trace_record *there)
{
    return here->kind == there->kind && here->task == there->task && here->number == there->number &&
           here->where == there->where && here->name == there->name &&
           (!has_bytes(here) || here->value == there->value);
}

static void say_difference(ti_cluster *c, int q, const ti_instruction *i, const ti_trace_record *here,
                           const ti_recorded_instruction *there)
{
    const ti_recorded *recorded = c->replay->recorded;
    const char *command = recorded->node[q].command ? recorded->node[q].command : "";
    ti_strbuf *why = &c->replay->difference, text[2] = { { 0 }, { 0 } };
    describe(here, items_of(i), i->task->shape->name, &text[0]);
    if (there) {
        describe(&there->record, recorded_items(c, q, there), ti_recorded_task_name(recorded, q, there->record.task),
                 &text[1]);
    }
    ti_strbuf_add(why,
                  "'%s' is the trace of another run: instruction %llu of node %d is %s here, and %s there; give "
                  "the program the same arguments and settings (it was '%s')",
                  recorded->prefix, (unsigned long long)i->id, q, text[0].text, there ? text[1].text : "nothing",
                  command);
    if (c->replay->zeros) {
        ti_strbuf_add(why,
                      "; %llu fences gave zeros before, since values are recorded up to 1 MiB of each and 64 MiB of "
                      "all: let the program decide by smaller ones",
                      (unsigned long long)c->replay->zeros);
    }
    ti_strbuf_fini(&text[0]);
    ti_strbuf_fini(&text[1]);
}

void ti_sim_replay_planned(ti_cluster *c, const node *n, const ti_instruction *i)
{
    int q = n->system.node;
    if (ti_sim_replay_differs(c)) {
        return;
    }
    ti_recorded_instruction *there = ti_recorded_at(c->replay->recorded, q, i->id);
    ti_trace_record here = { .task = (uint32_t)i->task->id };
    ti_trace_describe(i, &here);
    uint64_t items = recorded_items(c, q, there);
    if (!there || !is_same(&here, &there->record) || (items && items != items_of(i)) ||
        strcmp(i->task->shape->name, ti_recorded_task_name(c->replay->recorded, q, i->task->id)) != 0) {
        say_difference(c, q, i, &here, there);
    }
    c->replay->recorded->node[q].planned++;
}

bool ti_sim_replay_ends(const ti_cluster *c, ti_strbuf *why)
{
    const ti_replay *p = c->replay;
    for (int q = 0; q < c->nodes && why->length == 0; q++) {
        const ti_recorded_node *n = &p->recorded->node[q];
        if (2 * n->planned != n->order.count) {
            ti_strbuf_add(why,
                          "'%s' is the trace of another run: node %d has %llu instructions here, and %zu there; "
                          "give the program the same arguments and settings (it was '%s')",
                          p->recorded->prefix, q, (unsigned long long)n->planned, n->order.count / 2,
                          n->command ? n->command : "");
        }
    }
    return why->length == 0;
}

/* ---- the program, and planning */

ti_sim_stages ti_sim_replay_task(const ti_cluster *c, const node *n, const ti_task *task)
{
    const ti_recorded_task *r = ti_recorded_task_of(c->replay->recorded, n->system.node, task->id);
    ti_sim_stages s = { .closes = -1 };
    if (r) {
        s = (ti_sim_stages){ .gap = (double)r->gap,
                             .task = (double)(r->end - r->start),
                             .commands = (double)r->commands,
                             .instructions = (double)r->instructions,
                             .closes = (double)r->closes };
    }
    return s;
}

/* ---- order */

bool ti_sim_replay_is_alone(const ti_cluster *c, const node *n)
{
    return c->replay && c->replay->recorded->node[n->system.node].alone;
}

bool ti_sim_replay_has_order(const ti_cluster *c)
{
    return c->replay && c->replay->in_order;
}

static const ti_recorded_event *next_event(const ti_cluster *c, const node *n)
{
    const ti_recorded_node *r = &c->replay->recorded->node[n->system.node];
    return r->turn < r->order.count ? &r->order.data[r->turn] : NULL;
}

const ti_instruction *ti_sim_replay_next(ti_cluster *c, node *n)
{
    ti_recorded_node *r = &c->replay->recorded->node[n->system.node];
    const ti_engine_slot *slot;
    while ((slot = ti_engine_next(&n->engine))) {
        recorded_of(c, n, slot->instruction)->ready = true;
    }
    for (int d = 0; d < n->system.devices; d++) {
        while ((slot = ti_engine_next_kernel(&n->engine, d))) {
            recorded_of(c, n, slot->instruction)->ready = true;
        }
    }
    const ti_recorded_event *e = next_event(c, n);
    return e && !e->is_end && r->instruction.data[e->id].ready ? ti_engine_slot_of(&n->engine, e->id)->instruction
                                                               : NULL;
}

uint64_t ti_sim_replay_due(const ti_cluster *c, const node *n)
{
    const ti_recorded_event *e = next_event(c, n);
    return e && e->is_end && c->replay->recorded->node[n->system.node].instruction.data[e->id].over ? e->id : 0;
}

void ti_sim_replay_started(const ti_cluster *c, const node *n, const ti_instruction *i)
{
    if (c->replay) {
        recorded_of(c, n, i)->began = c->now;
        c->replay->recorded->node[n->system.node].turn++;
    }
}

bool ti_sim_replay_ended(const ti_cluster *c, const node *n, const ti_instruction *i)
{
    if (!c->replay) {
        return true;
    }
    const ti_recorded_event *e = next_event(c, n);
    ti_recorded_instruction *r = recorded_of(c, n, i);
    r->over = true;
    if (c->replay->in_order && !(e && e->is_end && e->id == i->id)) {
        return false;
    }
    r->ended = c->now;
    c->replay->recorded->node[n->system.node].turn++;
    return true;
}

typedef struct moment {
    int64_t recorded;
    double here;
} moment;
typedef TI_VEC(moment) moments;

/* What was recorded for the same time may come in any order. */
static int by_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    return x->recorded != y->recorded ? (x->recorded > y->recorded) - (x->recorded < y->recorded)
                                      : (x->here > y->here) - (x->here < y->here);
}

/* All but the longest part of the list whose times do not fall: `tail` has the least end of every length. */
static size_t count_moved(const moments *list)
{
    TI_VEC(double) tail = { 0 };
    for (size_t i = 0; i < list->count; i++) {
        double time = list->data[i].here;
        size_t low = 0, high = tail.count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (tail.data[middle] <= time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == tail.count) {
            ti_vec_push(&tail, time);
        } else {
            tail.data[low] = time;
        }
    }
    size_t moved = list->count - tail.count;
    ti_vec_fini(&tail);
    return moved;
}

ti_replay_result ti_sim_replay_result(const ti_cluster *c)
{
    const ti_recorded *recorded = c->replay->recorded;
    ti_replay_result out = { .recorded_ns = (double)recorded->ns, .instructions = recorded->instructions };
    moments list = { 0 }, other = { 0 };
    for (int q = 0; q < c->nodes; q++) {
        ti_vec_clear(&list);
        for (size_t k = 0; k < recorded->node[q].order.count; k++) {
            const ti_recorded_event *e = &recorded->node[q].order.data[k];
            const ti_recorded_instruction *r = &recorded->node[q].instruction.data[e->id];
            ti_vec_push(&list, ((moment){ e->time, e->is_end ? r->ended : r->began }));
        }
        ti_vec_sort(&list, &other, by_time);
        out.events += list.count;
        out.moved += count_moved(&list);
    }
    ti_vec_fini(&list);
    ti_vec_fini(&other);
    return out;
}
