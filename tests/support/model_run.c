/* Random programs through the public interface: see model_run.h. */
#include "model_run.h"

#include "model_prepared.h"
#include "run/device_list.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What a kernel is given. The pointer is good in this process only, and kernels run nowhere else. */
typedef struct kernel_args {
    const gen_program *program;
    size_t step;
    model_result *result;
    model_hall hall;
    tacit_host_object *object[GEN_OBJECTS];
} kernel_args;

/* The contents of a host object, on each node its own: it has one task at a time, in the order of steps. */
typedef struct held {
    _Atomic int users;
    size_t last_step;
    model_result *result;
} held;

/* Initial contents that are borrowed, as a list. */
typedef struct borrowed {
    struct borrowed *next;
} borrowed;

typedef struct pending {
    size_t step;
    tacit_fence_ticket *ticket;
} pending;

typedef struct runner {
    tacit_context *ctx;
    const gen_program *program;
    const oracle *truth;
    model_hall hall;
    model_result *result;
    tacit_host_object *object[GEN_OBJECTS];
    held *held[GEN_OBJECTS];
    tacit_collective_group *group[GEN_GROUPS];
    tacit_buffer **buffer;
    tacit_weights **weights;  /* of tasks of the pool, or NULL */
    model_prepared *prepared; /* of each */
    int *custom;
    tacit_op user_op[2];
    TI_VEC(pending) fences;
} runner;

static void note(runner *r, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

static void note(runner *r, const char *format, ...)
{
    if (!r->result->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(r->result->why, sizeof(r->result->why), format, args);
        va_end(args);
    }
    r->result->failed = true;
}

/* Every call must succeed. */
static bool ok(runner *r, size_t step, tacit_status status)
{
    if (status != TACIT_OK) {
        note(r, "node %d, step %zu: %s: %s", tacit_node(r->ctx), step, tacit_status_name(status),
             tacit_last_error(r->ctx));
    }
    return status == TACIT_OK;
}

/* ---- the kernel of all tasks */

static unsigned char *element_of(const tacit_view *whole, const int64_t at[3])
{
    const tacit_view *part = tacit_part_of(whole, (size_t)at[0], (size_t)at[1], (size_t)at[2]);
    const tacit_view *v = part ? part : whole;
    unsigned char *data = v->data;
    for (int d = 0; d < v->dims; d++) {
        if (at[d] < (int64_t)v->box.min[d] || at[d] >= (int64_t)v->box.max[d]) {
            fprintf(stderr, "model: a view of '%s' is [%zu,%zu) in dimension %d, but %lld was declared\n", v->name,
                    v->box.min[d], v->box.max[d], d, (long long)at[d]);
            abort();
        }
        data += (size_t)(at[d] - (int64_t)v->box.min[d]) * v->stride[d];
    }
    return data;
}

static const unsigned char *fetch(meaning_source *s, int access, const int64_t at[3])
{
    const tacit_launch *k = s->user;
    return element_of(&k->view[access], at);
}

/* New values of what one access writes, one after the other; with `store`, from `values` to the view. */
static size_t each_written(meaning_source *s, const gen_box *chunk, int access, unsigned char *values, bool store)
{
    const tacit_launch *k = s->user;
    const gen_access *a = &s->task->access[access];
    size_t size = s->program->buffer.data[a->buffer].elem_size, count = 0;
    gen_boxes image = { 0 };
    int64_t at[3];
    gen_image(s->program, a, chunk, &image);
    for (size_t i = 0; i < image.count; i++) {
        GEN_FOR_EACH(at, &image.data[i])
        {
            unsigned char value[MEANING_MOST_BYTES];
            if (store) {
                memcpy(element_of(&k->view[access], at), values + count * size, size);
            } else if (values) {
                meaning_value(s, access, at, value);
                memcpy(values + count * size, value, size);
            }
            count++;
        }
    }
    ti_vec_fini(&image);
    return count;
}

static void reduce_access(meaning_source *s, const gen_box *chunk, int access)
{
    const tacit_launch *k = s->user;
    const gen_access *a = &s->task->access[access];
    gen_box extent = gen_extent(&s->program->buffer.data[a->buffer]);
    int64_t at[3], item[3];
    GEN_FOR_EACH(at, &extent)
    {
        GEN_FOR_EACH(item, chunk)
        {
            unsigned char part[MEANING_MOST_BYTES];
            meaning_contribution(s, access, item, at, part);
            meaning_combine(a->op, element_of(&k->view[access], at), part);
        }
    }
}

/* The objects that a task names are used by it alone, and by one task after the other. */
static void use_objects(const kernel_args *args, const gen_task *task, bool begin)
{
    for (int i = 0; i < GEN_OBJECTS; i++) {
        if (!(task->objects >> i & 1)) {
            continue;
        }
        held *o = tacit_host_object_contents(args->object[i]);
        if (begin && (atomic_fetch_add(&o->users, 1) != 0 || o->last_step > args->step)) {
            fprintf(stderr, "model: step %zu shares host object %d with another task, or comes after step %zu\n",
                    args->step, i, o->last_step);
            abort();
        }
        if (begin) {
            o->last_step = args->step;
        } else {
            atomic_fetch_sub(&o->users, 1);
        }
    }
}

/* One kernel in eight takes up to two milliseconds longer than it must, others on each node: the nodes come to their
 * next commands at different times. */
static void delay(const tacit_launch *k, const kernel_args *args)
{
    uint64_t draw = gen_mix(args->hall.delays ^ (uint64_t)k->node << 32 ^ args->step ^ (uint64_t)k->chunk.min[0] << 16);
    if (args->hall.delays && draw % 8 == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = (long)(draw / 8 % 2000000) }, NULL);
    }
    if (args->hall.slow == k->node + 1) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

/* First all new values, then all of them are stored: some tasks write what they read. */
static void kernel(const tacit_launch *k)
{
    const kernel_args *args = k->args;
    unsigned char *values[GEN_ACCESSES] = { NULL };
    meaning_source s;
    gen_box chunk;
    for (int d = 0; d < 3; d++) {
        chunk.min[d] = (int64_t)k->chunk.min[d];
        chunk.max[d] = (int64_t)k->chunk.max[d];
    }
    meaning_init(&s, args->program, args->step);
    s.fetch = fetch;
    s.user = (void *)(uintptr_t)k;
    use_objects(args, s.task, true);
    delay(k, args);
    if (k->on == TACIT_ON_EVERY_NODE && args->hall.meet) {
        args->hall.meet(k, args->step, args->hall.user);
        __atomic_fetch_add(&args->result->collective_hosts, 1, __ATOMIC_RELAXED); /* groups overlap */
    }
    for (int i = 0; i < s.task->accesses; i++) {
        if (gen_writes(&s.task->access[i])) {
            size_t count = each_written(&s, &chunk, i, NULL, false);
            values[i] = malloc(count * MEANING_MOST_BYTES + 1);
            each_written(&s, &chunk, i, values[i], false);
        } else if (s.task->access[i].mode == TACIT_REDUCE) {
            reduce_access(&s, &chunk, i);
        }
    }
    for (int i = 0; i < s.task->accesses; i++) {
        if (values[i]) {
            each_written(&s, &chunk, i, values[i], true);
            free(values[i]);
        }
    }
    use_objects(args, s.task, false);
    meaning_fini(&s);
}

/* ---- steps */

static bool owns(const runner *r, const gen_buffer *b, const int64_t at[3])
{
    return gen_owner(b, r->program->nodes, at) == tacit_node(r->ctx);
}

static bool create(runner *r, size_t step, int index)
{
    const gen_buffer *b = &r->program->buffer.data[index];
    gen_box extent = gen_extent(b);
    size_t count = (size_t)gen_volume(&extent);
    borrowed *memory = malloc(sizeof(borrowed) + count * b->elem_size);
    unsigned char *init = b->initialised ? (unsigned char *)(memory + 1) : NULL;
    size_t filled = 0;
    int64_t at[3];
    GEN_FOR_EACH(at, &extent)
    {
        if (init && (!b->local_init || owns(r, b, at))) {
            meaning_initial(index, gen_element(&extent, at), b->elem_size, init + filled++ * b->elem_size);
        }
    }
    char name[16];
    snprintf(name, sizeof(name), "b%d", index);
    tacit_buffer_desc desc = { .name = name, .range = b->range, .elem_size = b->elem_size };
    desc.distribution = b->distribution;
    desc.init = b->local_init ? NULL : init;
    desc.init_local = b->local_init ? init : NULL;
    desc.init_borrow = gen_mix(step) % 4 == 0;
    tacit_status status = tacit_buffer_create(r->ctx, &desc, &r->buffer[index]);
    if (desc.init_borrow) {
        memory->next = r->result->borrowed;
        r->result->borrowed = memory;
    } else {
        free(memory); /* it has been copied */
    }
    return ok(r, step, status);
}

static bool fill(runner *r, size_t step)
{
    int buffer = r->program->step.data[step].index;
    unsigned char value[MEANING_MOST_BYTES];
    meaning_filled(step, r->program->buffer.data[buffer].elem_size, value);
    return ok(r, step, tacit_fill(r->ctx, r->buffer[buffer], value));
}

static bool resize(runner *r, size_t step)
{
    const gen_step *s = &r->program->step.data[step];
    r->buffer[s->index] = r->buffer[s->old];
    return ok(r, step, tacit_buffer_resize(r->ctx, r->buffer[s->index], r->program->buffer.data[s->index].range));
}

/* Some are kept for the next time, others made anew: equal ones are the same. */
static bool make_weights(runner *r, size_t step, int index)
{
    const gen_task *t = &r->program->task.data[index];
    return !t->items || r->weights[index] ||
           ok(r, step, tacit_weights_create(r->ctx, t->item_count, t->items, &r->weights[index]));
}

static bool drop_weights(runner *r, size_t step, int index)
{
    tacit_weights *weights = r->weights[index];
    if (!weights || step % 3) {
        return true;
    }
    r->weights[index] = NULL;
    return ok(r, step, tacit_weights_destroy(r->ctx, weights));
}

/* ---- what comes and goes while tasks still use it */

static void end_object(void *contents)
{
    held *o = contents;
    if (atomic_load(&o->users) != 0) {
        fprintf(stderr, "model: a host object ends while a task uses it\n");
        abort();
    }
    o->result->objects--;
    free(o);
}

static bool create_object(runner *r, size_t step, int i)
{
    r->held[i] = malloc(sizeof(held));
    *r->held[i] = (held){ .result = r->result };
    tacit_host_object_desc desc = { .contents = r->held[i], .end = end_object };
    r->result->objects++;
    return ok(r, step, tacit_host_object_create_with(r->ctx, &desc, &r->object[i]));
}

static bool create_mapper(runner *r, size_t step, size_t i)
{
    const gen_custom *c = &r->program->custom.data[i];
    unsigned properties = c->kind == GEN_CUSTOM_FIXED ? TACIT_MAPPER_CONSTANT : 0;
    return ok(r, step, tacit_mapper_create(r->ctx, gen_custom_mapper, c, sizeof(*c), properties, &r->custom[i]));
}

static void combine_user(void *into, const void *from, size_t n, const void *user)
{
    const int *which = user;
    for (size_t i = 0; i < n; i++) {
        meaning_combine((tacit_op){ TACIT_OP_USER, *which }, (unsigned char *)into + 8 * i,
                        (const unsigned char *)from + 8 * i);
    }
}

static bool create_operator(runner *r, size_t step, int i)
{
    unsigned char identity[MEANING_MOST_BYTES];
    meaning_identity((tacit_op){ TACIT_OP_USER, i }, identity);
    tacit_op_desc desc = { .combine = combine_user,
                           .identity = identity,
                           .elem_size = 8,
                           .user = &i,
                           .user_size = sizeof(i),
                           .commutative = i == 0 };
    return ok(r, step, tacit_op_create(r->ctx, &desc, &r->user_op[i]));
}

/* One in eight steps: what the program made is destroyed, and made again. */
static bool renew(runner *r, size_t step)
{
    const uint64_t draw = gen_mix(r->program->seed << 20 ^ step), which = draw >> 32;
    const int object = (int)(which % GEN_OBJECTS), group = (int)(which % GEN_GROUPS), op = (int)(which % 2);
    const size_t customs = r->program->custom.count, custom = customs ? which % customs : 0;
    switch (draw % 32) {
    case 0:
        return ok(r, step, tacit_host_object_destroy(r->ctx, r->object[object])) && create_object(r, step, object);
    case 1:
        return ok(r, step, tacit_collective_group_destroy(r->ctx, r->group[group])) &&
               ok(r, step, tacit_collective_group_create(r->ctx, &r->group[group]));
    case 2:
        return ok(r, step, tacit_op_destroy(r->ctx, r->user_op[op])) && create_operator(r, step, op);
    case 3:
        return !customs ||
               (ok(r, step, tacit_mapper_destroy(r->ctx, r->custom[custom])) && create_mapper(r, step, custom));
    default:
        return true;
    }
}

static bool fence_object(runner *r, size_t step)
{
    const size_t i = step % GEN_OBJECTS;
    void *contents = NULL;
    bool good = ok(r, step, tacit_host_object_fence(r->ctx, r->object[i], &contents));
    if (good && contents != r->held[i]) {
        note(r, "node %d, step %zu: a fence gives other contents of a host object", tacit_node(r->ctx), step);
    }
    return good;
}

/* Equal descriptions are one shape to tacit, so tasks of the pool come again by their names, or by none, or all by one.
 * In one program of four every step has a name of its own: then nothing comes again. */
static const char *name_of(const runner *r, size_t step, char text[24])
{
    int index = r->program->step.data[step].index;
    switch (r->program->seed % 4) {
    case 0:
        snprintf(text, 24, "step %zu", step);
        return text;
    case 1:
        return "every step";
    default:
        snprintf(text, 24, "task %d", index);
        return index % 3 ? text : NULL;
    }
}

/* One in eight tasks is submitted wrongly first: that is refused, and changes nothing. */
static bool is_refused(runner *r, size_t step, tacit_task wrong)
{
    const uint64_t draw = gen_mix(r->program->seed << 24 ^ step ^ 0x2ef), way = draw / 8 % 7;
    if (draw % 8) {
        return true;
    }
    if (way == 0 && wrong.access[0].mode) {
        wrong.access[0].buffer = NULL;
    } else if (way == 1 && wrong.access[0].mode) {
        wrong.access[0].mapper = tacit_custom(1 << 20);
        wrong.access[0].mode = TACIT_READ;
    } else if (way == 2) {
        wrong.place = tacit_place_node(r->program->nodes);
    } else if (way == 3) {
        wrong.args = NULL;
    } else if (way == 4) {
        wrong.range.dims = 4;
    } else if (way == 5 && wrong.access[0].mode) { /* two write the same, or one reads what the other writes */
        wrong.access[1] = wrong.access[0];
        wrong.access[1].mode = TACIT_REDUCE;
        wrong.access[1].op = tacit_sum((tacit_type)99);
    } else {
        wrong.hint.priority = 5000;
    }
    tacit_status status = tacit_submit(r->ctx, &wrong);
    if (status == TACIT_OK || !*tacit_last_error(r->ctx)) {
        note(r, "node %d, step %zu: a wrong task (%d) is not refused", tacit_node(r->ctx), step, (int)way);
    }
    return status != TACIT_OK;
}

static bool submit(runner *r, size_t step)
{
    int index = r->program->step.data[step].index;
    const gen_task *t = &r->program->task.data[index];
    kernel_args args = { .program = r->program, .step = step, .result = r->result, .hall = r->hall };
    if (!make_weights(r, step, index) || !renew(r, step)) {
        return false;
    }
    memcpy(args.object, r->object, sizeof(args.object));
    char name[24];
    tacit_task task = { .name = name_of(r, step, name),
                        .range = t->range,
                        .kernel = { .host = kernel,
                                    /* tests/model/shadow.h */
                                    .opencl = { .source = "shadow", .entry = "shadow", .group = { 3 } },
                                    .cuda = { .source = "shadow", .entry = "shadow", .group = { 2 } } },
                        TACIT_ARGS(args),
                        .on = (tacit_on)t->on,
                        .cost = t->cost };
    task.hint = (tacit_hints){ .split = t->split,
                               .oversubscribe = t->oversubscribe,
                               .priority = t->priority,
                               .whole_chunk = t->whole_chunk,
                               .no_collectives = t->no_collectives,
                               .pure = t->pure,
                               .window = t->window,
                               .weights = t->weights,
                               .item_weights = r->weights[index] };
    for (int d = 0; d < 3; d++) {
        task.offset[d] = t->offset[d];
        task.hint.granularity[d] = t->granularity[d];
    }
    if (t->place >= 0) {
        task.place = t->with_owner && t->accesses ? tacit_place_owner((int)step % t->accesses)
                                                  : tacit_place_node(t->place);
    }
    task.group = t->group ? r->group[t->group - 1] : NULL;
    for (int i = 0; i < GEN_OBJECTS; i++) {
        task.host_object[i] = t->objects >> i & 1 ? r->object[i] : NULL;
    }
    for (int i = 0; i < t->accesses; i++) {
        task.access[i] = tacit_access_make(r->buffer[t->access[i].buffer], t->access[i].mode, t->access[i].mapper);
        bool user = t->access[i].op.kind == TACIT_OP_USER;
        task.access[i].op = user ? r->user_op[t->access[i].op.type] : t->access[i].op;
        task.access[i].include_old = t->access[i].include_old;
        task.access[i].in_parts = t->access[i].in_parts;
        if (t->access[i].mapper.kind == TACIT_MAPPER_CUSTOM) {
            task.access[i].mapper.arg = r->custom[t->access[i].mapper.arg];
        }
    }
    const bool prepares = r->program->seed % 4 != 0 && gen_mix(r->program->seed + step / 16) % 2;
    return is_refused(r, step, task) && ok(r, step, model_submit(r->ctx, &r->prepared[index], &task, prepares)) &&
           drop_weights(r, step, index);
}

static void compare(runner *r, size_t step, const unsigned char *found)
{
    const gen_step *f = &r->program->step.data[step];
    size_t size = r->program->buffer.data[f->index].elem_size, count = (size_t)gen_volume(&f->box);
    const unsigned char *expected = r->truth->fenced[step];
    r->result->fences++;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(found + i * size, expected + i * size, size) != 0) {
            note(r, "node %d, step %zu: the fence of b%d differs from the oracle at element %zu of %zu",
                 tacit_node(r->ctx), step, f->index, i, count);
            return;
        }
    }
}

/* A local array has this node's elements in row-major order, and nothing else. */
static void compare_local(runner *r, size_t step, const unsigned char *found, size_t own)
{
    const gen_step *f = &r->program->step.data[step];
    const gen_buffer *b = &r->program->buffer.data[f->index];
    size_t seen = 0;
    int64_t at[3];
    r->result->fences++;
    GEN_FOR_EACH(at, &f->box)
    {
        const unsigned char *truth = r->truth->fenced[step] + gen_element(&f->box, at) * b->elem_size;
        if (!owns(r, b, at)) {
            continue;
        }
        if (seen >= own || memcmp(found + seen * b->elem_size, truth, b->elem_size) != 0) {
            note(r, "node %d, step %zu: the local fence of b%d differs from the oracle at its element %zu of %zu",
                 tacit_node(r->ctx), step, f->index, seen, own);
            return;
        }
        seen++;
    }
    if (seen != own) {
        note(r, "node %d, step %zu: the local array of b%d has %zu elements, not %zu", tacit_node(r->ctx), step,
             f->index, own, seen);
    }
}

static bool local_fence(runner *r, size_t step)
{
    const gen_step *f = &r->program->step.data[step];
    const gen_buffer *b = &r->program->buffer.data[f->index];
    tacit_range local = { { 0, 0, 0 }, 0 };
    bool good = ok(r, step,
                   tacit_distribution_local(r->ctx, &b->distribution, b->range, tacit_node(r->ctx), NULL, &local));
    size_t own = local.size[0] * local.size[1] * local.size[2];
    unsigned char *found = own ? malloc(own * b->elem_size) : NULL;
    good = good && ok(r, step, tacit_fence_local(r->ctx, r->buffer[f->index], found));
    if (good) {
        compare_local(r, step, found, own);
    }
    free(found);
    return good;
}

/* A node may look twice, or not at all. */
static bool finish_fence(runner *r, const pending *p)
{
    const void *data;
    const uint64_t looks = gen_mix((uint64_t)tacit_node(r->ctx) << 40 ^ p->step) % 16;
    bool good = true;
    for (int i = looks == 0; i >= 0 && good && looks < 15; i--) {
        good = ok(r, p->step, tacit_fence_get(p->ticket, &data));
        if (good) {
            compare(r, p->step, data);
        }
    }
    tacit_fence_release(p->ticket);
    return good;
}

/* Nodes look in different orders. */
static bool finish_fences(runner *r, size_t left)
{
    bool good = true;
    while (r->fences.count > left) {
        const size_t i = (r->fences.data[0].step + (size_t)tacit_node(r->ctx)) % r->fences.count;
        good = finish_fence(r, &r->fences.data[i]) && good;
        r->fences.count--;
        memmove(r->fences.data + i, r->fences.data + i + 1, (r->fences.count - i) * sizeof(pending));
    }
    return good;
}

static bool fence(runner *r, size_t step)
{
    const gen_step *f = &r->program->step.data[step];
    tacit_box box;
    for (int d = 0; d < 3; d++) {
        box.min[d] = (size_t)f->box.min[d];
        box.max[d] = (size_t)f->box.max[d];
    }
    if (f->local) {
        return local_fence(r, step);
    }
    if (!f->blocking) {
        pending p = { .step = step };
        if (!ok(r, step, tacit_fence(r->ctx, r->buffer[f->index], box, &p.ticket))) {
            return false;
        }
        ti_vec_push(&r->fences, p);
        return finish_fences(r, 3);
    }
    unsigned char *found = malloc((size_t)gen_volume(&f->box) * r->program->buffer.data[f->index].elem_size);
    bool good = ok(r, step, tacit_fence_read(r->ctx, r->buffer[f->index], box, found));
    if (good) {
        compare(r, step, found);
    }
    free(found);
    return good;
}

static bool run_step(runner *r, size_t i)
{
    const gen_step *step = &r->program->step.data[i];
    switch (step->kind) {
    case GEN_CREATE:
        return create(r, i, step->index);
    case GEN_DESTROY:
        return ok(r, i, tacit_buffer_destroy(r->ctx, r->buffer[step->index]));
    case GEN_RESIZE:
        return resize(r, i);
    case GEN_TASK:
        return submit(r, i);
    case GEN_FENCE:
        return fence(r, i);
    case GEN_WAIT:
        return ok(r, i,
                  (step->index == GEN_RETUNE    ? tacit_retune
                   : step->index == GEN_BARRIER ? tacit_barrier
                                                : tacit_wait)(r->ctx)) &&
               finish_fences(r, 0);
    case GEN_FLUSH:
        return i % 3 ? ok(r, i, tacit_flush(r->ctx)) : fence_object(r, i);
    case GEN_FILL:
        return fill(r, i);
    }
    return false;
}

bool model_end(model_result *result)
{
    while (result->borrowed) {
        borrowed *first = result->borrowed;
        result->borrowed = first->next;
        free(first);
    }
    return result->objects == 0;
}

void model_run(tacit_context *ctx, const gen_program *program, const oracle *truth, const model_hall *hall,
               model_result *out)
{
    runner r = { .ctx = ctx, .program = program, .truth = truth, .result = out };
    r.hall = hall ? *hall : (model_hall){ 0 };
    r.buffer = TI_NEW_ARRAY(tacit_buffer *, program->buffer.count);
    r.weights = ti_alloc_zero((program->task.count + 1) * sizeof(*r.weights));
    r.prepared = ti_alloc_zero((program->task.count + 1) * sizeof(*r.prepared));
    r.custom = TI_NEW_ARRAY(int, program->custom.count);
    bool good = create_operator(&r, 0, 0) && create_operator(&r, 0, 1);
    for (int i = 0; i < GEN_OBJECTS && good; i++) {
        good = create_object(&r, 0, i);
    }
    for (int i = 0; i < GEN_GROUPS && good; i++) {
        good = ok(&r, 0, tacit_collective_group_create(ctx, &r.group[i]));
    }
    for (size_t i = 0; i < program->custom.count && good; i++) {
        good = create_mapper(&r, 0, i);
    }
    for (size_t i = 0; i < program->step.count && good; i++) {
        good = run_step(&r, i);
    }
    finish_fences(&r, 0);
    ti_vec_fini(&r.fences);
    ti_free(r.buffer, program->buffer.count * sizeof(*r.buffer));
    ti_free(r.weights, (program->task.count + 1) * sizeof(*r.weights));
    ti_free(r.prepared, (program->task.count + 1) * sizeof(*r.prepared));
    ti_free(r.custom, program->custom.count * sizeof(*r.custom));
}

void model_config(gen_rng *r, tacit_config *out)
{
    static const int steps[] = { 0, 1, 2, 4, 1000000 }, fronts[] = { 0, 0, 4, 16 }, ahead[] = { 0, 1, 2, 8 };
    static const int threads[] = { TACIT_THREADS_DEFAULT, TACIT_THREADS_INLINE, TACIT_THREADS_ON };
    static const int progress[] = { TACIT_PROGRESS_DEFAULT, TACIT_PROGRESS_SHARED, TACIT_PROGRESS_THREAD };
    static const size_t early[] = { 0, 1, 64, 1024, 65536 };
    static const char *const devices[] = { NULL, NULL, "2", "1:discrete", "2:discrete", "3:discrete", "4:discrete" };
    *out = (tacit_config){ .workers = (int)gen_between(r, 1, 5) };
    out->host_devices = devices[gen_between(r, 0, 6)];
    out->threads = threads[gen_between(r, 0, 2)];
    out->progress = progress[gen_between(r, 0, 2)];
    out->run_ahead = ahead[gen_between(r, 0, 3)];
    out->horizon_step = steps[gen_between(r, 0, 4)];
    out->horizon_front = fronts[gen_between(r, 0, 3)];
    out->early_bytes = early[gen_between(r, 0, 4)];
    out->reproducible = gen_chance(r, 40);
    out->bounds_check = gen_chance(r, 20);
    out->lookahead = (int)gen_between(r, TACIT_LOOKAHEAD_DEFAULT, TACIT_LOOKAHEAD_FULL);
    out->collectives = (int)gen_between(r, TACIT_COLLECTIVES_DEFAULT, TACIT_COLLECTIVES_LOOKAHEAD);
    out->collective_schedule = (int)gen_between(r, TACIT_COLLECTIVE_SCHEDULE_DEFAULT, TACIT_COLLECTIVE_SCHEDULE_PACKED);
    out->divergence = gen_chance(r, 20) ? TACIT_DIVERGENCE_OFF : TACIT_DIVERGENCE_DEFAULT;
    out->broadcast = (int)gen_between(r, TACIT_BROADCAST_DEFAULT, TACIT_BROADCAST_CHAIN);
    out->relay_bytes = early[gen_between(r, 0, 4)];
    out->multicast = (int)gen_between(r, TACIT_MULTICAST_DEFAULT, TACIT_MULTICAST_OFF);
    static const char *const latency[] = {
        NULL,        "halo:2", "halo:3",          "halo:5",   "halo:8",
        "halo:16",   "staged", "staged:2",        "staged:5", "staged:8",
        "staged:16", "auto",   "auto:off,8,2,16", "auto:4",   "auto:off,staged:4,8"
    };
    out->latency = latency[gen_between(r, 0, TI_COUNT(latency) - 1)];
    out->check_pure = out->latency && gen_chance(r, 50);
    static const char *const tile[] = { NULL, "off", "auto", "1", "40", "100", "300", "1k" };
    out->latency_tile = tile[gen_between(r, 0, TI_COUNT(tile) - 1)];
    out->overlap = (int)gen_between(r, TACIT_OVERLAP_DEFAULT, TACIT_OVERLAP_OFF);
    out->comm_delay = gen_chance(r, 25) ? (int)gen_between(r, 1, 40) : 0;
    out->explain = gen_chance(r, 30) ? "/dev/null" : NULL; /* plans are the same, and two threads fill the report */
}

void model_more(const gen_rng *r, tacit_config *out)
{
    static const char *const pins[] = { NULL, NULL, "off", "0" };
    gen_rng own = { gen_mix(r->state ^ 0x9b1c) };
    out->pin = pins[gen_between(&own, 0, TI_COUNT(pins) - 1)];
    out->memory_limit = gen_chance(&own, 30) ? "64M" : NULL;
    out->watchdog = gen_chance(&own, 20) ? -1 : 0;
    out->advice = gen_chance(&own, 10) ? TACIT_ADVICE_ON : TACIT_ADVICE_DEFAULT;
    out->rounds = (int)gen_between(&own, TACIT_ROUNDS_DEFAULT, TACIT_ROUNDS_OFF);
    out->local_messages = gen_chance(&own, 30) ? TACIT_LOCAL_MESSAGES_MPI : TACIT_LOCAL_MESSAGES_DEFAULT;
}

void model_files(const gen_rng *r, const char *folder, model_paths *paths, tacit_config *out)
{
    gen_rng own = { gen_mix(r->state ^ 0xf11e) };
    snprintf(paths->trace, sizeof(paths->trace), "%s/trace", folder);
    snprintf(paths->graph, sizeof(paths->graph), "%s/graph", folder);
    out->trace = gen_chance(&own, 10) ? paths->trace : NULL;
    out->graph = gen_chance(&own, 5) ? paths->graph : NULL;
    out->graph_tasks = gen_chance(&own, 50) ? "3:20" : NULL;
}

void model_remove_files(const char *folder)
{
    DIR *all = opendir(folder);
    for (const struct dirent *file = all ? readdir(all) : NULL; file; file = readdir(all)) {
        char path[sizeof(file->d_name) + MODEL_PATH];
        snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
        unlink(path); /* not . and .. */
    }
    if (all) {
        closedir(all);
    }
}

/* How many devices of a node share its work. */
static int sharers(const tacit_config *config)
{
    ti_device_list list;
    ti_strbuf why = { 0 };
    bool good = ti_device_list_parse(config->devices, config->host_devices, &list, &why);
    ti_strbuf_fini(&why);
    return good ? (list.idle_host ? 0 : list.hosts) + list.opencls + list.cudas : 0;
}

/* =8+1, for one node in two. Returns the length. */
static size_t add_devices(gen_rng *r, int count, char *text, size_t room)
{
    size_t length = 0;
    for (int d = 0; d < count && (d > 0 || gen_chance(r, 50)); d++) {
        length += (size_t)snprintf(text + length, room - length, "%c%d", d ? '+' : '=',
                                   (int)gen_between(r, 1, gen_chance(r, 20) ? 1000 : 4));
    }
    return length;
}

void model_balance(const gen_rng *r, int nodes, char text[MODEL_BALANCE], tacit_config *out)
{
    gen_rng own = { gen_mix(r->state ^ 0xba1a) }, devices = { gen_mix(r->state ^ 0xde71) };
    size_t length = 0;
    const int64_t choices = gen_between(&own, 0, 4);
    const int count = gen_chance(&devices, 50) ? sharers(out) : 0;
    for (int64_t c = 0, after = gen_between(&own, 0, 3); c < choices && nodes <= 20; c++) {
        length += (size_t)snprintf(text + length, MODEL_BALANCE - length, "%s%d:", c ? "/" : "", (int)after);
        for (int i = 0; i < nodes; i++) {
            length += (size_t)snprintf(text + length, MODEL_BALANCE - length, "%s%d", i ? "," : "",
                                       (int)gen_between(&own, 1, gen_chance(&own, 20) ? 1000 : 4));
            length += add_devices(&devices, count, text + length, MODEL_BALANCE - length);
        }
        after += gen_between(&own, 1, 8);
    }
    if (length == 0) {
        snprintf(text, MODEL_BALANCE, "%s", gen_chance(&own, 30) ? "auto" : "off");
    }
    out->balance = text;
}
