/* A submission as a value: see submission.h.
 *
 * Every task of a run with several nodes passes through here, so a hash is a sum of hashes of two words each,
 * which do not wait for each other. */
#include "ir/submission.h"

#include "base/hash.h"
#include "ir/brief.h"

#include <stddef.h>
#include <string.h>

/* What is hashed: the header behind `id`, then the accesses, two words at a time. */
enum { HEADER = offsetof(ti_submission, kind), HEADER_PAIRS = (offsetof(ti_submission, access) - HEADER) / 16 };
_Static_assert((offsetof(ti_submission, access) - HEADER) % 16 == 0, "the header is made of pairs of words");
_Static_assert(sizeof(struct ti_submission_access) == 16, "an access is a pair of words");
_Static_assert(sizeof(tacit_component) == 32, "a component is two pairs of words");

/* ---- hashes */

static uint32_t fold(uint64_t h)
{
    return (uint32_t)(h ^ h >> 32);
}

static void seal(ti_submission *s)
{
    const char *header = (const char *)&s->kind;
    uint64_t h = 0;
    for (uint64_t i = 0; i < HEADER_PAIRS; i++) {
        h += ti_hash_pair(header + i * 16, i);
    }
    for (uint32_t i = 0; i < s->accesses; i++) {
        h += ti_hash_pair(&s->access[i], HEADER_PAIRS + i);
    }
    s->hash = ti_hash_mix(h, s->accesses);
}

/* ---- parts of a record */

/* All but the accesses; word by word, since compilers make a slow instruction of a memset of this size. */
static inline void clear(ti_submission *s)
{
    s->hash = s->id = s->bytes = s->number = s->window = 0;
    s->kind = s->accesses = s->dims = s->name_rest = s->args = s->split = s->where = 0;
    s->place = 0;
    for (int i = 0; i < TI_SUBMISSION_NAME; i += 8) {
        memset(s->name + i, 0, 8);
    }
    s->box = (ti_box){ { 0, 0, 0 }, { 0, 0, 0 } };
}

static void set_name(ti_submission *s, const char *name)
{
    size_t length = strlen(name);
    memcpy(s->name, name, TI_MIN(length, sizeof(s->name)));
    if (TI_UNLIKELY(length > sizeof(s->name))) {
        s->name_rest = fold(ti_hash_bytes(name + sizeof(s->name), length - sizeof(s->name)));
    }
}

static void set_box(ti_submission *s, const ti_box *box, int dims)
{
    s->dims = (uint32_t)dims;
    s->box = *box;
}

static inline uint64_t hash_component(const tacit_component *c, uint64_t place)
{
    return ti_hash_pair(&c->lo, place) + ti_hash_pair(&c->mul, place + 1);
}

/* The same as of the mapper that ti_mapper_of_tile makes; `full` of the access. */
static uint32_t hash_tile(int dims, const ti_box *box, uint64_t full)
{
    uint64_t h = 0;
    for (int d = 0; d < dims; d++) {
        tacit_component c;
        memset(&c, 0, sizeof(c));
        c.kind = full >> d & 1 ? TACIT_COMPONENT_FULL : TACIT_COMPONENT_SPAN;
        c.lo = full >> d & 1 ? 0 : box->min[d];
        c.hi = full >> d & 1 ? 0 : box->max[d];
        h += hash_component(&c, 2 * (uint64_t)d);
    }
    return fold(h);
}

static uint32_t hash_mappers(const ti_shape *shape, uint32_t index)
{
    const ti_access *access = &shape->access[index];
    if (shape->bare) {
        return hash_tile(access->buffer->dims, shape->footprint[index].box, shape->full >> TI_FULL_BITS * index);
    }
    uint64_t h = access->custom ? (uint64_t)access->custom->handle + 1 : 0;
    for (uint32_t i = 0; i < access->mappers && !access->custom; i++) {
        const ti_mapper *m = &access->mapper[i];
        for (uint64_t d = 0; d < (uint64_t)m->dims; d++) {
            h += hash_component(&m->c[d], 6 * i + 2 * d);
        }
    }
    return fold(h);
}

static uint32_t hash_op(const ti_access *access)
{
    const tacit_op *op = &access->reducer.op;
    return fold(ti_hash_mix(ti_hash_mix((uint64_t)op->kind, (uint64_t)op->type), access->include_old));
}

static uint32_t hash_split(const ti_shape *shape, size_t weights)
{
    bool plain = shape->gran[0] == 1 && shape->gran[1] == 1 && shape->gran[2] == 1 && shape->oversubscribe == 1 &&
                 shape->grid[0] == 0 && shape->cost == 0;
    if (TI_LIKELY(plain && !shape->two_dimensional && !shape->weights && !shape->items)) {
        return 0;
    }
    uint64_t h;
    memcpy(&h, &shape->cost, sizeof(h));
    h = ti_hash_mix(h, (uint64_t)shape->oversubscribe << 1 | shape->two_dimensional);
    for (int d = 0; d < 3; d++) {
        h = ti_hash_mix(ti_hash_mix(h, (uint64_t)shape->gran[d]), (uint64_t)shape->grid[d]);
    }
    if (shape->weights) {
        h = ti_hash_mix(h, ti_hash_bytes(shape->weights, weights * sizeof(shape->weights[0])));
    }
    if (shape->items) {
        h = ti_hash_mix(h, shape->items->hash);
    }
    return fold(h);
}

static void add_access(const ti_access *a, uint32_t mapper, ti_submission *out)
{
    out->access[out->accesses++] = (struct ti_submission_access){ .buffer = (uint32_t)a->buffer->serial,
                                                                  .mapper = mapper,
                                                                  .mode = (uint32_t)a->mode,
                                                                  .op = a->mode == TACIT_REDUCE ? hash_op(a) : 0 };
}

static void add_accesses(const ti_shape *shape, ti_submission *out)
{
    for (uint32_t i = 0; i < shape->accesses; i++) {
        add_access(&shape->access[i], hash_mappers(shape, i), out);
    }
}

static void add_task(const ti_shape *shape, int num_nodes, ti_submission *out)
{
    out->kind = TI_SUBMITTED_TASK;
    set_name(out, shape->name);
    set_box(out, &shape->range, shape->dims);
    out->bytes = shape->args_size;
    out->split = hash_split(shape, (size_t)num_nodes);
    out->place = shape->place;
    out->where = (uint32_t)shape->on | (shape->pure ? TI_SUBMITTED_PURE : 0);
    out->window = (uint64_t)shape->window;
    if (TI_UNLIKELY(shape->orders)) {
        out->number = ti_hash_bytes(shape->order, shape->orders * sizeof(shape->order[0]));
    }
}

/* The tiles of a brief, and its node. The form has all else that is compared. */
static void add_tiles(const ti_task *brief, ti_submission *out)
{
    const ti_brief *b = ti_brief_of(brief);
    const int dims = brief->shape->tile_dims;
    for (uint32_t i = 0; i < brief->shape->accesses; i++) {
        const ti_box box = ti_brief_box(b->corner, dims, i);
        add_access(&brief->shape->access[i], hash_tile(dims, &box, b->full >> TI_FULL_BITS * i), out);
    }
    out->place = b->place;
}

/* A fence of a box has a mapper of spans; one of each node's own part goes through the distribution. */
static void add_fence(const ti_shape *shape, int num_nodes, ti_submission *out)
{
    const ti_access *a = &shape->access[0];
    ti_box box = a->buffer->extent;
    for (int d = 0; !a->custom && d < a->mapper->dims; d++) {
        if (a->mapper->c[d].kind == TACIT_COMPONENT_SPAN) {
            box.min[d] = a->mapper->c[d].lo;
            box.max[d] = a->mapper->c[d].hi;
        }
    }
    out->split = hash_split(shape, (size_t)num_nodes);
    out->kind = TI_SUBMITTED_FENCE;
    set_name(out, a->buffer->name);
    set_box(out, &box, a->buffer->dims);
    add_accesses(shape, out);
}

static void add_buffer(ti_submission_kind kind, const ti_buffer_info *buffer, ti_submission *out)
{
    out->kind = (uint32_t)kind;
    set_name(out, buffer->name);
    set_box(out, &buffer->extent, buffer->dims);
    out->bytes = buffer->elem_size;
    out->place = (int32_t)buffer->serial;
}

void ti_submission_of_shape(const ti_shape *shape, int num_nodes, ti_submission *out)
{
    clear(out);
    if (shape->is_fence) {
        add_fence(shape, num_nodes, out);
    } else {
        add_task(shape, num_nodes, out);
        add_accesses(shape, out);
    }
    seal(out);
}

static ti_submission_kind kind_of_epoch(const ti_task *task)
{
    const char *name = task->shape->name;
    return strcmp(name, "finalize") == 0  ? TI_SUBMITTED_FINALIZE
           : strcmp(name, "retune") == 0  ? TI_SUBMITTED_RETUNE
           : strcmp(name, "barrier") == 0 ? TI_SUBMITTED_BARRIER
                                          : TI_SUBMITTED_WAIT;
}

void ti_submission_of_task(const ti_task *task, int num_nodes, ti_submission *out)
{
    const ti_shape *shape = task->shape;
    if (TI_LIKELY(shape->submission != NULL)) {
        ti_submission_copy(out, shape->submission);
        out->id = task->id;
        return;
    }
    clear(out);
    out->id = task->id;
    switch (task->kind) {
    case TI_TASK_BRIEF:
    case TI_TASK_EXECUTE:
        add_task(shape, num_nodes, out);
        if (task->kind == TI_TASK_BRIEF) {
            add_tiles(task, out);
        } else {
            add_accesses(shape, out);
        }
        out->args = shape->hash_args ? fold(ti_hash_bytes(task->args, shape->args_size)) : 0;
        break;
    case TI_TASK_FENCE:
        add_fence(shape, num_nodes, out);
        break;
    case TI_TASK_EPOCH:
        out->kind = kind_of_epoch(task);
        break;
    case TI_TASK_CREATE:
        add_buffer(task->as.create.resizes ? TI_SUBMITTED_RESIZE : TI_SUBMITTED_CREATE, task->as.create.buffer, out);
        add_accesses(shape, out); /* of contents that each node gives its part of, or none of it */
        out->number = shape->accesses || task->as.create.init.memory;
        break;
    case TI_TASK_DESTROY:
        add_buffer(TI_SUBMITTED_DESTROY, task->as.destroy, out);
        break;
    case TI_TASK_HORIZON: /* one that the program asks for */
        out->kind = TI_SUBMITTED_FLUSH;
        break;
    }
    seal(out);
}

void ti_submission_of_call(ti_submission_kind kind, uint64_t number, uint64_t bytes, unsigned properties,
                           ti_submission *out)
{
    clear(out);
    out->kind = (uint32_t)kind;
    out->number = number;
    out->bytes = bytes;
    out->where = properties;
    seal(out);
}

/* ---- words about it */

static void add_box(const ti_submission *s, const char *before, ti_strbuf *out)
{
    char text[TI_BOX_TEXT];
    if (s->dims > 0) {
        ti_strbuf_add(out, "%s%s", before, ti_box_format(&s->box, (int)s->dims, text));
    }
}

static void add_name(const ti_submission *s, ti_strbuf *out)
{
    ti_strbuf_add(out, "'%.*s%s'", (int)sizeof(s->name), s->name, s->name_rest ? "..." : "");
}

void ti_submission_describe(const ti_submission *s, ti_strbuf *out)
{
    static const char *const verb[] = { "runs with",
                                        "submitted task",
                                        "read buffer",
                                        "called tacit_wait",
                                        "called tacit_flush",
                                        "created buffer",
                                        "destroyed buffer",
                                        "created the mapper",
                                        "created the operator",
                                        "chose the distribution of buffer",
                                        "called tacit_finalize",
                                        "called tacit_retune",
                                        "created weights of",
                                        "resized buffer",
                                        "called tacit_barrier" };
    static const char *const collectives[] = { "", "off", "discover", "lookahead" };
    ti_strbuf_add(out, "%s", verb[s->kind]);
    switch ((ti_submission_kind)s->kind) {
    case TI_SUBMITTED_TASK:
        ti_strbuf_add(out, " %llu ", (unsigned long long)s->id);
        add_name(s, out);
        add_box(s, " over ", out);
        break;
    case TI_SUBMITTED_FENCE:
    case TI_SUBMITTED_CREATE:
    case TI_SUBMITTED_DESTROY:
    case TI_SUBMITTED_RESIZE:
        ti_strbuf_add(out, " ");
        add_name(s, out);
        add_box(s, " ", out);
        ti_strbuf_add(out, "%s", s->kind == TI_SUBMITTED_FENCE ? " by a fence" : "");
        break;
    case TI_SUBMITTED_MAPPER:
    case TI_SUBMITTED_OPERATOR:
    case TI_SUBMITTED_OWNERS:
        ti_strbuf_add(out, "%s %llu", s->kind == TI_SUBMITTED_OWNERS ? " number" : "", (unsigned long long)s->number);
        break;
    case TI_SUBMITTED_WEIGHTS:
        ti_strbuf_add(out, " %llu items", (unsigned long long)s->number);
        break;
    case TI_SUBMITTED_SETTINGS:
        ti_strbuf_add(
            out, " TACIT_HORIZON_STEP=%llu, TACIT_HORIZON_FRONT=%llu, TACIT_REPRODUCIBLE=%u and TACIT_COLLECTIVES=%s",
            (unsigned long long)s->number, (unsigned long long)s->bytes, s->where & 1, collectives[s->where >> 1 & 3]);
        break;
    case TI_SUBMITTED_WAIT:
    case TI_SUBMITTED_FLUSH:
    case TI_SUBMITTED_FINALIZE:
    case TI_SUBMITTED_RETUNE:
    case TI_SUBMITTED_BARRIER:
        break;
    }
}

/* Collects the parts of a list. */
typedef struct list {
    ti_strbuf *out;
    ti_buffer_name *name;
    void *user;
    int items;
} list;

static void add_item(list *l, const char *format, ...) TI_PRINTF(2, 3);
static void add_item(list *l, const char *format, ...)
{
    va_list args;
    ti_strbuf_add(l->out, "%s", l->items++ ? ", " : "");
    va_start(args, format);
    ti_strbuf_vadd(l->out, format, args);
    va_end(args);
}

static void add_if(list *l, bool differs, const char *text)
{
    if (differs) {
        add_item(l, "%s", text);
    }
}

static void add_buffer_name(list *l, uint32_t number)
{
    const char *name = l->name ? l->name(l->user, number) : NULL;
    if (name) {
        ti_strbuf_add(l->out, "'%s'", name);
    } else {
        ti_strbuf_add(l->out, "number %u", number);
    }
}

static void compare_access(list *l, uint32_t index, const struct ti_submission_access *a,
                           const struct ti_submission_access *b)
{
    static const char *const modes[] = { "none", "read", "write", "update", "reduce" };
    if (memcmp(a, b, sizeof(*a)) == 0) {
        return;
    }
    if (a->buffer != b->buffer) {
        add_item(l, "the buffer of access %u (", index);
        add_buffer_name(l, a->buffer);
        ti_strbuf_add(l->out, " and ");
        add_buffer_name(l, b->buffer);
        ti_strbuf_add(l->out, ")");
        return;
    }
    bool mode = a->mode != b->mode;
    add_item(l, "the %s of access %u (buffer ", mode ? "mode" : a->mapper != b->mapper ? "mapper" : "operator", index);
    add_buffer_name(l, a->buffer);
    if (mode) {
        ti_strbuf_add(l->out, ", %s and %s", modes[a->mode], modes[b->mode]);
    }
    ti_strbuf_add(l->out, ")");
}

static void compare_tasks(list *l, const ti_submission *a, const ti_submission *b)
{
    if (a->bytes != b->bytes) {
        add_item(l, "the size of the arguments (%llu and %llu bytes)", (unsigned long long)a->bytes,
                 (unsigned long long)b->bytes);
    } else if (a->args != b->args) {
        add_item(l, "the bytes of the arguments");
    }
    add_if(l, a->split != b->split, "the hints for the split");
    add_if(l, a->place != b->place, "the placement");
    add_if(l, (a->where | TI_SUBMITTED_PURE) != (b->where | TI_SUBMITTED_PURE), "where they run (.on)");
    add_if(l, (a->where & TI_SUBMITTED_PURE) != (b->where & TI_SUBMITTED_PURE), "the hint pure");
    add_if(l, a->window != b->window, "the hint window");
    add_if(l, a->number != b->number, "the host objects or the group");
    if (a->accesses != b->accesses) {
        add_item(l, "the number of accesses (%u and %u)", a->accesses, b->accesses);
        return;
    }
    for (uint32_t i = 0; i < a->accesses; i++) {
        compare_access(l, i, &a->access[i], &b->access[i]);
    }
}

static void compare_others(list *l, const ti_submission *a, const ti_submission *b)
{
    if ((a->kind == TI_SUBMITTED_OWNERS || a->kind == TI_SUBMITTED_WEIGHTS) && a->bytes != b->bytes) {
        add_item(l, a->kind == TI_SUBMITTED_OWNERS ? "the distribution" : "the weights");
    } else if (a->bytes != b->bytes) {
        add_item(l, "the size of %s (%llu and %llu bytes)", a->kind == TI_SUBMITTED_CREATE ? "an element" : "its data",
                 (unsigned long long)a->bytes, (unsigned long long)b->bytes);
    }
    if (a->kind == TI_SUBMITTED_CREATE && a->number != b->number) {
        add_item(l, "whether there is .init");
    } else if (a->kind == TI_SUBMITTED_CREATE && a->accesses != b->accesses) {
        add_item(l, "whether there is .init_local");
    }
    add_if(l, a->where != b->where, "the properties");
    add_if(l, a->kind == TI_SUBMITTED_DESTROY && a->place != b->place, "the buffer");
    for (uint32_t i = 0; i < a->accesses && i < b->accesses && a->kind == TI_SUBMITTED_FENCE; i++) {
        if (a->access[i].buffer != b->access[i].buffer) {
            compare_access(l, i, &a->access[i], &b->access[i]);
        }
    }
}

void ti_submission_difference(const ti_submission *a, const ti_submission *b, ti_buffer_name *name, void *user,
                              ti_strbuf *out)
{
    list l = { out, name, user, 0 };
    if (a->kind != b->kind || a->kind == TI_SUBMITTED_SETTINGS) {
        return; /* the descriptions say it */
    }
    add_if(&l, memcmp(a->name, b->name, sizeof(a->name)) != 0 || a->name_rest != b->name_rest, "the name");
    add_if(&l, a->dims != b->dims || !ti_box_equal(&a->box, &b->box),
           a->kind == TI_SUBMITTED_TASK    ? "the range"
           : a->kind == TI_SUBMITTED_FENCE ? "the box"
                                           : "the size");
    if (a->kind == TI_SUBMITTED_TASK) {
        compare_tasks(&l, a, b);
    } else {
        compare_others(&l, a, b);
    }
}
