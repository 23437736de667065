/* The sequential oracle: see oracle.h. */
#include "oracle.h"

#include <string.h>

static size_t bytes_of(const gen_buffer *b)
{
    gen_box extent = gen_extent(b);
    return (size_t)gen_volume(&extent) * b->elem_size;
}

static unsigned char *element(const oracle *o, int buffer, const int64_t at[3])
{
    const gen_buffer *b = &o->program->buffer.data[buffer];
    gen_box extent = gen_extent(b);
    return o->data[buffer] + gen_element(&extent, at) * b->elem_size;
}

static void create(oracle *o, int buffer)
{
    const gen_buffer *b = &o->program->buffer.data[buffer];
    for (size_t i = 0; b->initialised && i < bytes_of(b) / b->elem_size; i++) {
        meaning_initial(buffer, i, b->elem_size, o->data[buffer] + i * b->elem_size);
    }
}

static void resize(oracle *o, int old, int buffer)
{
    gen_box was = gen_extent(&o->program->buffer.data[old]), extent = gen_extent(&o->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, &extent)
    {
        if (at[0] < was.max[0] && at[1] < was.max[1] && at[2] < was.max[2]) {
            memcpy(element(o, buffer, at), element(o, old, at), o->program->buffer.data[old].elem_size);
        }
    }
}

static void fill(oracle *o, size_t step)
{
    int buffer = o->program->step.data[step].index;
    const gen_buffer *b = &o->program->buffer.data[buffer];
    for (size_t i = 0; i < bytes_of(b) / b->elem_size; i++) {
        meaning_filled(step, b->elem_size, o->data[buffer] + i * b->elem_size);
    }
}

static const unsigned char *fetch(meaning_source *s, int access, const int64_t at[3])
{
    oracle *o = s->user;
    o->reads++;
    return element(o, s->task->access[access].buffer, at);
}

/* New values of all elements that one access writes go to `fresh`, a copy of the buffer. */
static void write_access(oracle *o, meaning_source *s, int access, unsigned char *fresh)
{
    const gen_access *a = &s->task->access[access];
    const gen_buffer *b = &o->program->buffer.data[a->buffer];
    gen_box extent = gen_extent(b), items = gen_items(s->task);
    gen_boxes image = { 0 };
    int64_t at[3];
    gen_image(o->program, a, &items, &image);
    for (size_t i = 0; i < image.count; i++) {
        GEN_FOR_EACH(at, &image.data[i])
        {
            unsigned char value[MEANING_MOST_BYTES];
            meaning_value(s, access, at, value);
            memcpy(fresh + gen_element(&extent, at) * b->elem_size, value, b->elem_size);
        }
    }
    ti_vec_fini(&image);
}

static void reduce_access(oracle *o, meaning_source *s, int access, unsigned char *fresh)
{
    const gen_access *a = &s->task->access[access];
    const gen_buffer *b = &o->program->buffer.data[a->buffer];
    gen_box extent = gen_extent(b), items = gen_items(s->task);
    int64_t at[3], item[3];
    GEN_FOR_EACH(at, &extent)
    {
        unsigned char sum[MEANING_MOST_BYTES], part[MEANING_MOST_BYTES];
        unsigned char *to = fresh + gen_element(&extent, at) * b->elem_size;
        meaning_identity(a->op, sum);
        if (a->include_old) {
            memcpy(sum, to, b->elem_size);
        }
        GEN_FOR_EACH(item, &items)
        {
            meaning_contribution(s, access, item, at, part);
            meaning_combine(a->op, sum, part);
        }
        memcpy(to, sum, b->elem_size);
    }
}

/* What the buffer of access i will be: of an access before it to the same one, or a copy. */
static unsigned char *fresh_contents(const oracle *o, const gen_task *t, int i, unsigned char *fresh[])
{
    int buffer = t->access[i].buffer;
    for (int k = 0; k < i; k++) {
        if (fresh[k] && t->access[k].buffer == buffer) {
            return fresh[k];
        }
    }
    size_t bytes = bytes_of(&o->program->buffer.data[buffer]);
    fresh[i] = memcpy(ti_alloc(bytes), o->data[buffer], bytes);
    return fresh[i];
}

/* First all new values, then all of them take effect. */
static void run_task(oracle *o, size_t step)
{
    meaning_source s;
    unsigned char *fresh[GEN_ACCESSES] = { NULL };
    meaning_init(&s, o->program, step);
    s.fetch = fetch;
    s.user = o;
    gen_box items = gen_items(s.task);
    for (int i = 0; i < s.task->accesses && gen_volume(&items) > 0; i++) {
        const gen_access *a = &s.task->access[i];
        if (a->mode == TACIT_READ) {
            continue;
        }
        unsigned char *to = fresh_contents(o, s.task, i, fresh);
        if (a->mode == TACIT_REDUCE) {
            reduce_access(o, &s, i, to);
        } else {
            write_access(o, &s, i, to);
        }
    }
    for (int i = 0; i < s.task->accesses; i++) {
        if (fresh[i]) {
            int buffer = s.task->access[i].buffer;
            size_t bytes = bytes_of(&o->program->buffer.data[buffer]);
            memcpy(o->data[buffer], fresh[i], bytes);
            ti_free(fresh[i], bytes);
        }
    }
    meaning_fini(&s);
}

static size_t fence_bytes(const oracle *o, const gen_step *step)
{
    return (size_t)gen_volume(&step->box) * o->program->buffer.data[step->index].elem_size;
}

static void keep_fence(oracle *o, size_t index)
{
    const gen_step *step = &o->program->step.data[index];
    size_t size = o->program->buffer.data[step->index].elem_size;
    unsigned char *to = o->fenced[index] = ti_alloc(fence_bytes(o, step));
    int64_t at[3];
    GEN_FOR_EACH(at, &step->box)
    {
        memcpy(to, element(o, step->index, at), size);
        to += size;
    }
}

void oracle_run(oracle *o, const gen_program *program)
{
    *o = (oracle){ .program = program };
    o->data = TI_NEW_ARRAY(unsigned char *, program->buffer.count);
    o->fenced = TI_NEW_ARRAY(unsigned char *, program->step.count);
    for (size_t i = 0; i < program->buffer.count; i++) {
        o->data[i] = ti_alloc_zero(bytes_of(&program->buffer.data[i]));
    }
    for (size_t i = 0; i < program->step.count; i++) {
        switch (program->step.data[i].kind) {
        case GEN_CREATE:
            create(o, program->step.data[i].index);
            break;
        case GEN_RESIZE:
            resize(o, program->step.data[i].old, program->step.data[i].index);
            break;
        case GEN_FILL:
            fill(o, i);
            break;
        case GEN_TASK:
            run_task(o, i);
            break;
        case GEN_FENCE:
            keep_fence(o, i);
            break;
        case GEN_DESTROY:
        case GEN_WAIT:
        case GEN_FLUSH:
            break;
        }
    }
}

void oracle_fini(oracle *o)
{
    for (size_t i = 0; i < o->program->step.count; i++) {
        if (o->fenced[i]) {
            ti_free(o->fenced[i], fence_bytes(o, &o->program->step.data[i]));
        }
    }
    for (size_t i = 0; i < o->program->buffer.count; i++) {
        ti_free(o->data[i], bytes_of(&o->program->buffer.data[i]));
    }
    ti_free(o->data, o->program->buffer.count * sizeof(*o->data));
    ti_free(o->fenced, o->program->step.count * sizeof(*o->fenced));
}
