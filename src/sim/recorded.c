/* Reading a recorded run: see recorded.h. */
#include "sim/recorded.h"

#include "base/macro.h"
#include "base/sort.h"
#include "trace/read.h"

#include <string.h>

/* While files are read. */
typedef struct reader {
    ti_recorded *r;
    ti_trace_drift *drift;
    TI_VEC(ti_trace_record) windows; /* of the node at hand, as all that follows */
    TI_VEC(ti_trace_record) waits;
    TI_VEC(ti_trace_record) instructions;
    ti_recorded_node *node;
    int index;
    uint64_t dropped;
    bool complete, unfinished;
} reader;

uint64_t ti_recorded_message(int from, int to, uint64_t number)
{
    return ti_hash64(ti_hash64((uint64_t)from << 32 | (uint64_t)to) ^ number) | 1;
}

uint64_t ti_recorded_meeting(int node, ti_trace_kind kind, uint64_t number)
{
    return ti_hash64(ti_hash64((uint64_t)node << 32 | (uint64_t)kind) ^ number) | 1;
}

ti_recorded_instruction *ti_recorded_at(const ti_recorded *r, int node, uint64_t id)
{
    ti_recorded_node *n = &r->node[node];
    return id < n->instruction.count && n->instruction.data[id].record.kind ? &n->instruction.data[id] : NULL;
}

static ti_recorded_task *task_at(const ti_recorded_node *n, uint64_t task)
{
    uint64_t *at = ti_map_find(&n->task_at, (uint32_t)task);
    return at ? &n->task.data[*at - 1] : NULL;
}

const ti_recorded_task *ti_recorded_task_of(const ti_recorded *r, int node, uint64_t task)
{
    return task_at(&r->node[node], task);
}

const char *ti_recorded_task_name(const ti_recorded *r, int node, uint64_t task)
{
    const ti_recorded_node *n = &r->node[node];
    const ti_recorded_task *t = task_at(n, task);
    return t && t->name < n->name.count && n->name.data[t->name] ? n->name.data[t->name] : "";
}

bool ti_recorded_values(const ti_recorded *r, uint64_t fence, void *data, size_t bytes)
{
    const uint64_t *at = ti_map_find(&r->value_at, (uint32_t)fence);
    const ti_recorded_value *value = at ? &r->values.data[*at - 1] : NULL;
    bool known = value && value->bytes == bytes;
    if (known) {
        memcpy(data, value->data, bytes);
    }
    return known;
}

/* ---- blocks */

static ti_recorded_task *make_task(ti_recorded_node *n, uint32_t task)
{
    uint64_t *at = ti_map_at(&n->task_at, task);
    if (*at == 0) {
        ti_vec_push(&n->task, ((ti_recorded_task){ .task = task, .closes = -1 }));
        *at = n->task.count;
    }
    return &n->task.data[*at - 1];
}

static void add_record(reader *d, const ti_trace_record *record)
{
    ti_recorded_node *n = d->node;
    ti_recorded_task *task;
    ti_trace_kind kind = (ti_trace_kind)(record->kind & (TI_TRACE_UNFINISHED - 1));
    d->unfinished |= record->kind & TI_TRACE_UNFINISHED;
    if (kind == TI_TRACE_TASK) {
        task = make_task(n, record->task);
        task->name = record->name;
        task->start = (int64_t)record->start;
        task->end = (int64_t)record->end;
    } else if (kind == TI_TRACE_COMMANDS || kind == TI_TRACE_INSTRUCTIONS) {
        task = make_task(n, record->task);
        *(kind == TI_TRACE_COMMANDS ? &task->commands : &task->instructions) = (int64_t)(record->end - record->start);
        task->planned = (int64_t)record->end;
    } else if (kind == TI_TRACE_WINDOW) {
        ti_vec_push(&d->windows, *record);
    } else if (kind == TI_TRACE_WAIT) {
        ti_vec_push(&d->waits, *record);
    } else if (kind == TI_TRACE_PART) {
        ti_vec_push(&n->part, ((ti_recorded_part){ .start = (int64_t)record->start,
                                                   .end = (int64_t)record->end,
                                                   .items = record->value,
                                                   .id = record->id }));
    } else if (kind >= TI_TRACE_ALLOC && kind <= TI_TRACE_HORIZON && !(record->kind & TI_TRACE_UNFINISHED)) {
        ti_vec_push(&d->instructions, *record);
    }
}

static void add_name(ti_recorded_node *n, uint32_t number, const char *text, size_t length)
{
    enum { MOST = 1 << 16 };
    ti_strbuf copy = { 0 };
    if (number >= MOST) { /* the file is damaged */
        return;
    }
    ti_strbuf_add(&copy, "%.*s", (int)length, text);
    while (n->name.count <= number) {
        ti_vec_push(&n->name, NULL);
    }
    ti_strfree(n->name.data[number]);
    n->name.data[number] = ti_strdup(ti_strbuf_text(&copy));
    ti_strbuf_fini(&copy);
}

static void add_fact(ti_recorded_node *n, const char *text, size_t length)
{
    static const char alone[] = "progress=inline", command[] = "command=";
    n->alone |= length == sizeof(alone) - 1 && memcmp(text, alone, length) == 0;
    if (length >= sizeof(command) - 1 && memcmp(text, command, sizeof(command) - 1) == 0 && !n->command) {
        ti_strbuf copy = { 0 };
        ti_strbuf_add(&copy, "%.*s", (int)(length - sizeof(command) + 1), text + sizeof(command) - 1);
        n->command = ti_strdup(ti_strbuf_text(&copy));
        ti_strbuf_fini(&copy);
    }
}

static void add_end(reader *d, const ti_trace_block *block, const char *data)
{
    ti_trace_end end;
    if (block->bytes == sizeof(end)) {
        memcpy(&end, data, sizeof(end));
        d->complete = true;
        d->dropped = end.dropped;
    }
}

static void add_values(reader *d, const ti_trace_block *block, const char *data)
{
    uint64_t *at = ti_map_at(&d->r->value_at, block->id);
    if (*at == 0 && d->index == 0) {
        ti_recorded_value value = { ti_alloc(TI_MAX(block->bytes, 1)), block->bytes };
        memcpy(value.data, data, block->bytes);
        ti_vec_push(&d->r->values, value);
        *at = d->r->values.count;
    }
}

static void take_block(void *user, const ti_trace_block *block, const char *data)
{
    reader *d = user;
    ti_trace_record record;
    switch ((ti_trace_block_kind)block->kind) {
    case TI_BLOCK_RECORDS:
        for (size_t i = 0; i < block->bytes / sizeof(record); i++) {
            memcpy(&record, data + i * sizeof(record), sizeof(record));
            add_record(d, &record);
        }
        break;
    case TI_BLOCK_NAME:
        add_name(d->node, block->id, data, block->bytes);
        break;
    case TI_BLOCK_FACT:
        add_fact(d->node, data, block->bytes);
        break;
    case TI_BLOCK_CLOCKS:
        ti_trace_add_clocks(d->drift, (uint32_t)d->r->nodes, block, data);
        break;
    case TI_BLOCK_END:
        add_end(d, block, data);
        break;
    case TI_BLOCK_VALUES:
        add_values(d, block, data);
        break;
    case TI_BLOCK_BUFFER:
        break;
    }
}

/* ---- what follows from the records of one node */

/* Numbers of instructions have no gaps. */
static bool place_instructions(const reader *d, ti_recorded_node *n)
{
    const ti_recorded_instruction none = { .began = -1, .ended = -1 };
    size_t count = d->instructions.count;
    for (size_t i = 0; i <= count; i++) {
        ti_vec_push(&n->instruction, none);
    }
    for (size_t i = 0; i < count; i++) {
        const ti_trace_record *record = &d->instructions.data[i];
        ti_recorded_instruction *to = record->id <= count ? &n->instruction.data[record->id] : NULL;
        if (!to || record->id == 0 || to->record.kind) {
            return false;
        }
        to->record = *record;
        to->start = (int64_t)record->start;
        to->end = (int64_t)record->end;
    }
    return true;
}

static int by_instruction(const void *a, const void *b)
{
    const ti_recorded_part *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->start > y->start) - (x->start < y->start);
}

/* A kernel begins when a worker does; when it was given to one says nothing. */
static void link_parts(ti_recorded_node *n)
{
    TI_VEC(ti_recorded_part) other = { 0 };
    ti_vec_sort(&n->part, &other, by_instruction);
    ti_vec_fini(&other);
    for (size_t k = 0; k < n->part.count; k++) {
        uint32_t id = n->part.data[k].id;
        ti_recorded_instruction *i = id < n->instruction.count ? &n->instruction.data[id] : NULL;
        if (i && i->parts++ == 0) {
            i->first_part = (uint32_t)k;
            i->start = i->record.kind == TI_TRACE_KERNEL || i->record.kind == TI_TRACE_HOST ? n->part.data[k].start
                                                                                            : i->start;
        }
    }
}

typedef struct stretch {
    int64_t start, end;
    ti_recorded_task *task; /* whose submission it is, or NULL */
} stretch;
typedef TI_VEC(stretch) stretches;

static int by_start(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void add_stretches(const reader *d, const ti_recorded_node *n, stretches *all)
{
    for (size_t i = 0; i < n->task.count; i++) {
        ti_recorded_task *t = &n->task.data[i];
        ti_vec_push(all, ((stretch){ t->start, t->end, t }));
        if (n->alone) {
            ti_vec_push(all, ((stretch){ t->planned - t->commands - t->instructions, t->planned, NULL }));
        }
    }
    for (size_t i = 0; i < d->waits.count; i++) {
        ti_vec_push(all, ((stretch){ (int64_t)d->waits.data[i].start, (int64_t)d->waits.data[i].end, NULL }));
    }
    for (size_t i = 0; n->alone && i < n->part.count; i++) {
        ti_vec_push(all, ((stretch){ n->part.data[i].start, n->part.data[i].end, NULL }));
    }
    for (size_t i = 0; n->alone && i < n->instruction.count; i++) {
        const ti_recorded_instruction *r = &n->instruction.data[i];
        bool itself = r->record.kind == TI_TRACE_ALLOC || r->record.kind == TI_TRACE_FREE ||
                      r->record.kind == TI_TRACE_COPY || r->record.kind == TI_TRACE_REDUCE;
        if (itself && r->parts == 0) {
            ti_vec_push(all, ((stretch){ r->start, r->end, NULL }));
        }
    }
}

/* What the program did between tasks: it did not wait, and where one thread does everything it did nothing else
 * either. */
static void find_gaps(const reader *d, ti_recorded_node *n)
{
    stretches all = { 0 }, other = { 0 };
    add_stretches(d, n, &all);
    ti_vec_sort(&all, &other, by_start);
    int64_t since = all.count > 0 ? all.data[0].start : 0, until = since, other_ns = 0;
    for (size_t i = 0; i < all.count; i++) {
        const stretch *s = &all.data[i];
        if (s->task) {
            s->task->gap = TI_MAX(s->start - since - other_ns, 0);
            since = TI_MAX(since, s->end);
            other_ns = 0;
        } else {
            other_ns += TI_MAX(s->end - TI_MAX(s->start, until), 0);
        }
        until = TI_MAX(until, s->end);
    }
    ti_vec_fini(&all);
    ti_vec_fini(&other);
}

/* A window that ends while no task is being planned was closed since nothing came. */
static void find_closings(const reader *d, ti_recorded_node *n)
{
    for (size_t i = 0; i < d->windows.count; i++) {
        int64_t end = (int64_t)d->windows.data[i].end;
        ti_recorded_task *last = NULL;
        bool within = false;
        for (size_t k = 0; k < n->task.count; k++) {
            ti_recorded_task *t = &n->task.data[k];
            within |= t->planned - t->instructions <= end && end <= t->planned;
            last = t->planned < end && (!last || t->planned > last->planned) ? t : last;
        }
        if (!within && last) {
            last->closes = end - last->planned;
        }
    }
}

static bool is_usable(const reader *d, ti_strbuf *why)
{
    if (!d->complete || d->unfinished) {
        ti_strbuf_add(why,
                      "the records of node %d of '%s' end in the middle, since the run failed: it cannot be replayed",
                      d->index, d->r->prefix);
    } else if (d->dropped) {
        ti_strbuf_add(why,
                      "node %d of '%s' lacks %llu records, which came faster than they could be written: it cannot be "
                      "replayed; trace fewer steps",
                      d->index, d->r->prefix, (unsigned long long)d->dropped);
    }
    return d->complete && !d->unfinished && !d->dropped;
}

static bool read_node(reader *d, int q, ti_strbuf *why)
{
    ti_trace_header header;
    ti_recorded_node *n = d->node = &d->r->node[q];
    d->index = q;
    d->complete = false;
    d->dropped = 0;
    ti_vec_clear(&d->windows);
    ti_vec_clear(&d->waits);
    ti_vec_clear(&d->instructions);
    if (!ti_trace_read(d->r->prefix, q, &header, take_block, d, why) || !is_usable(d, why)) {
        return false;
    }
    if (!place_instructions(d, n) || n->task.count == 0) {
        ti_strbuf_add(why, "the records of node %d of '%s' are damaged", q, d->r->prefix);
        return false;
    }
    n->workers = header.rings > TI_TRACE_WORKER ? (int)(header.rings - TI_TRACE_WORKER) : 1;
    n->clock = header.start;
    link_parts(n);
    find_gaps(d, n);
    find_closings(d, n);
    return true;
}

/* ---- all nodes on one clock */

static void shift(ti_recorded_node *n, const ti_trace_drift *drift, int64_t origin)
{
    for (size_t i = 0; i < n->instruction.count; i++) {
        n->instruction.data[i].start = ti_trace_common_time(drift, n->instruction.data[i].start) - origin;
        n->instruction.data[i].end = ti_trace_common_time(drift, n->instruction.data[i].end) - origin;
    }
    for (size_t i = 0; i < n->part.count; i++) {
        n->part.data[i].start = ti_trace_common_time(drift, n->part.data[i].start) - origin;
        n->part.data[i].end = ti_trace_common_time(drift, n->part.data[i].end) - origin;
    }
}

typedef TI_VEC(ti_recorded_event) events;

/* What an instruction depends on has a smaller number, so at one time it ends before. */
static int by_time(const void *a, const void *b)
{
    const ti_recorded_event *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
           : x->id != y->id   ? (x->id > y->id) - (x->id < y->id)
                              : (int)x->is_end - (int)y->is_end;
}

static void put_in_order(ti_recorded_node *n)
{
    events other = { 0 };
    for (uint32_t id = 0; id < n->instruction.count; id++) {
        const ti_recorded_instruction *i = &n->instruction.data[id];
        if (i->record.kind) {
            ti_vec_push(&n->order, ((ti_recorded_event){ i->start, id, false }));
            ti_vec_push(&n->order, ((ti_recorded_event){ i->end, id, true }));
        }
    }
    ti_vec_sort(&n->order, &other, by_time);
    ti_vec_fini(&other);
}

static void index_node(ti_recorded *r, int q)
{
    ti_recorded_node *n = &r->node[q];
    for (uint64_t id = 0; id < n->instruction.count; id++) {
        const ti_recorded_instruction *i = &n->instruction.data[id];
        const ti_trace_record *e = &i->record;
        ti_trace_kind kind = (ti_trace_kind)e->kind;
        r->instructions += kind != TI_TRACE_NONE;
        r->ns = TI_MAX(r->ns, i->end);
        if (kind == TI_TRACE_SEND) {
            *ti_map_at(&r->sends, ti_recorded_message(q, (int)e->where, e->number)) = id;
        } else if (kind == TI_TRACE_RECEIVE) {
            *ti_map_at(&r->receives, ti_recorded_message((int)e->where, q, e->number)) = id;
        } else if (kind == TI_TRACE_COLLECTIVE || kind == TI_TRACE_EPOCH) {
            *ti_map_at(&r->meetings, ti_recorded_meeting(q, kind, kind == TI_TRACE_EPOCH ? e->task : e->number)) = id;
        }
    }
}

static ti_recorded_task *first_task(const ti_recorded_node *n)
{
    ti_recorded_task *first = &n->task.data[0];
    for (size_t i = 1; i < n->task.count; i++) {
        first = n->task.data[i].start < first->start ? &n->task.data[i] : first;
    }
    return first;
}

/* Time begins with the first task of all nodes. */
static void put_on_one_clock(const reader *d)
{
    ti_recorded *r = d->r;
    int64_t origin = INT64_MAX;
    for (int q = 0; q < r->nodes; q++) {
        origin = TI_MIN(origin, ti_trace_common_time(&d->drift[q], first_task(&r->node[q])->start));
    }
    for (int q = 0; q < r->nodes; q++) {
        ti_recorded_task *first = first_task(&r->node[q]);
        first->gap = ti_trace_common_time(&d->drift[q], first->start) - origin;
        shift(&r->node[q], &d->drift[q], origin);
        put_in_order(&r->node[q]);
        index_node(r, q);
    }
}

ti_recorded *ti_recorded_open(const char *prefix, int nodes, ti_strbuf *why)
{
    ti_trace_header header;
    if (!ti_trace_read(prefix, 0, &header, NULL, NULL, why)) {
        return NULL;
    }
    if (header.nodes != (uint32_t)nodes) {
        ti_strbuf_add(why, "'%s' was recorded on %u nodes, not on %d", prefix, header.nodes, nodes);
        return NULL;
    }
    ti_recorded *r = TI_NEW(ti_recorded);
    r->prefix = ti_strdup(prefix);
    r->nodes = nodes;
    r->node = TI_NEW_ARRAY(ti_recorded_node, (size_t)r->nodes);
    reader d = { .r = r, .drift = TI_NEW_ARRAY(ti_trace_drift, (size_t)r->nodes) };
    bool good = true;
    for (int q = 0; q < r->nodes && good; q++) {
        good = read_node(&d, q, why);
    }
    if (good) {
        put_on_one_clock(&d);
    }
    ti_free(d.drift, (size_t)r->nodes * sizeof(ti_trace_drift));
    ti_vec_fini(&d.windows);
    ti_vec_fini(&d.waits);
    ti_vec_fini(&d.instructions);
    if (!good) {
        ti_recorded_close(r);
        return NULL;
    }
    return r;
}

void ti_recorded_close(ti_recorded *r)
{
    if (!r) {
        return;
    }
    for (int q = 0; q < r->nodes; q++) {
        ti_recorded_node *n = &r->node[q];
        for (size_t i = 0; i < n->name.count; i++) {
            ti_strfree(n->name.data[i]);
        }
        ti_vec_fini(&n->name);
        ti_vec_fini(&n->instruction);
        ti_vec_fini(&n->part);
        ti_vec_fini(&n->task);
        ti_vec_fini(&n->order);
        ti_map_fini(&n->task_at);
        ti_strfree(n->command);
    }
    ti_free(r->node, (size_t)r->nodes * sizeof(ti_recorded_node));
    for (size_t i = 0; i < r->values.count; i++) {
        ti_free(r->values.data[i].data, TI_MAX(r->values.data[i].bytes, 1));
    }
    ti_vec_fini(&r->values);
    ti_map_fini(&r->value_at);
    ti_map_fini(&r->sends);
    ti_map_fini(&r->receives);
    ti_map_fini(&r->meetings);
    ti_strfree(r->prefix);
    TI_DELETE(r);
}
