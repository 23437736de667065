/* Random programs: see fuzz_program.h. */
#include "fuzz_program.h"

#include <string.h>

enum { MOST_BUFFERS = 6, MOST_HANDLES = 4, MOST_BYTES = 1 << 12, MOST_BLOCKS = 32, TICKETS = 3, NODES = 64 };

typedef struct state {
    fuzz_program *program;
    fuzz_input in;
    tacit_context *ctx;
    tacit_buffer *buffer[MOST_BUFFERS];
    tacit_range range[MOST_BUFFERS];
    size_t elem[MOST_BUFFERS];
    int mapper[MOST_HANDLES], mappers; /* the first names the chunk itself */
    tacit_op op[MOST_HANDLES];
    int ops;
    tacit_fence_ticket *ticket[TICKETS];
} state;

static unsigned char bytes[MOST_BYTES]; /* contents for buffers */

static bool note(state *s, tacit_status status)
{
    s->program->statuses = s->program->statuses * 31 + (uint64_t)(status + 100);
    FUZZ_REQUIRE(status == TACIT_OK || tacit_last_error(s->ctx)[0]);
    FUZZ_REQUIRE(status != TACIT_ERROR_NETWORK && status != TACIT_ERROR_KERNEL);
    return status == TACIT_OK;
}

/* ---- kernels */

static void touch_row(const tacit_view *v, char *row)
{
    size_t n = (v->box.max[2] - v->box.min[2]) * (v->dims == 3 ? v->elem_size : 1);
    n = v->dims == 2 ? (v->box.max[1] - v->box.min[1]) * v->elem_size : n;
    n = v->dims == 1 ? (v->box.max[0] - v->box.min[0]) * v->elem_size : v->dims == 0 ? v->elem_size : n;
    unsigned char sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (v->mode == TACIT_READ) {
            sum = (unsigned char)(sum + row[i]);
        } else {
            row[i] = (char)(i + sum);
        }
    }
    *(volatile unsigned char *)&bytes[0] = sum;
}

/* Reads or writes everything that its views name. */
static void touch(const tacit_launch *k)
{
    for (int a = 0; a < (int)k->args_size; a++) {
        const tacit_view *v = &k->view[a];
        if (!v->data) { /* this part touches nothing of it */
            continue;
        }
        size_t rows[2] = { v->dims > 1 ? v->box.max[0] - v->box.min[0] : 1,
                           v->dims > 2 ? v->box.max[1] - v->box.min[1] : 1 };
        for (size_t i = 0; i < rows[0]; i++) {
            for (size_t j = 0; j < rows[1]; j++) {
                touch_row(v, (char *)v->data + (v->dims > 1 ? i * v->stride[0] : 0) +
                                 (v->dims > 2 ? j * v->stride[1] : 0));
            }
        }
    }
}

/* ---- buffers, mappers, operators */

/* How many bytes, or more than MOST_BYTES. */
static size_t bytes_of(const tacit_range *range, size_t elem)
{
    size_t n = elem;
    for (int d = 0; d < range->dims && d < TACIT_MAX_DIMS; d++) {
        if (__builtin_mul_overflow(n, range->size[d], &n) || n > MOST_BYTES) {
            return MOST_BYTES + 1;
        }
    }
    return n;
}

/* Whether the library would take it: then it would need the memory. */
static bool is_vast(const tacit_range *range, size_t elem)
{
    size_t n = elem;
    bool overflow = false;
    for (int d = 0; d < range->dims && d < TACIT_MAX_DIMS; d++) {
        overflow |= __builtin_mul_overflow(n, range->size[d], &n);
    }
    return !overflow && n > MOST_BYTES && n <= (size_t)1 << 62;
}

static tacit_range take_range(fuzz_input *in)
{
    tacit_range r = { .dims = (int)fuzz_byte(in) % 64 == 63 ? (int)fuzz_number(in) : (int)fuzz_between(in, 0, 3) };
    for (int d = 0; d < 3; d++) {
        r.size[d] = fuzz_number(in);
    }
    return r;
}

static tacit_distribution take_distribution(fuzz_input *in)
{
    tacit_distribution d = { .kind = (int)fuzz_between(in, 0, 2) };
    if (fuzz_byte(in) % 4 == 0) {
        for (int k = 0; k < 3; k++) {
            d.grid[k] = (int)fuzz_between(in, -1, 4);
            d.block[k] = fuzz_number(in);
        }
    }
    return d;
}

/* Planning takes time with the square of the blocks that are dealt out in turn: few per dimension. */
static void limit_blocks(tacit_distribution *d, const tacit_range *range)
{
    for (int k = 0; k < 3; k++) {
        if (range->size[k] / TI_MAX(d->block[k], (size_t)1) > MOST_BLOCKS) {
            d->block[k] = range->size[k] / MOST_BLOCKS;
        }
    }
}

static void create_buffer(state *s, int i)
{
    tacit_buffer_desc desc = { .range = take_range(&s->in), .distribution = take_distribution(&s->in) };
    desc.elem_size = fuzz_byte(&s->in) % 8 ? (size_t)1 << fuzz_between(&s->in, 0, 3) : (size_t)fuzz_number(&s->in);
    desc.name = fuzz_byte(&s->in) & 1 ? "U" : NULL;
    limit_blocks(&desc.distribution, &desc.range);
    if (is_vast(&desc.range, desc.elem_size) && !s->program->vast) {
        return;
    }
    if (bytes_of(&desc.range, desc.elem_size) <= MOST_BYTES) {
        uint8_t contents = fuzz_byte(&s->in);
        desc.init = contents & 1 ? bytes : NULL;
        desc.init_borrow = contents & 2;
        desc.init_local = contents % 16 == 4 ? bytes : NULL;
    }
    if (s->buffer[i]) {
        note(s, tacit_buffer_destroy(s->ctx, s->buffer[i]));
        s->buffer[i] = NULL;
    }
    if (note(s, tacit_buffer_create(s->ctx, &desc, &s->buffer[i]))) {
        s->range[i] = desc.range;
        s->elem[i] = desc.elem_size;
    }
}

static void chunk_itself(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range, (void)user;
    tacit_region_add(out, *chunk);
}

/* Boxes of any kind, some relative to the chunk. */
static void boxes(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range;
    fuzz_input in = { user, (const uint8_t *)user + 64 };
    for (int n = (int)fuzz_between(&in, 0, 4); n > 0; n--) {
        tacit_box b = *chunk;
        for (int d = 0; d < 3; d++) {
            uint8_t how = fuzz_byte(&in);
            b.min[d] = how & 1 ? fuzz_number(&in) : b.min[d] - how % 8;
            b.max[d] = how & 2 ? fuzz_number(&in) : b.max[d] + how % 8;
        }
        tacit_region_add(out, b);
    }
}

static void create_mapper(state *s)
{
    uint8_t user[64];
    for (size_t i = 0; i < sizeof(user); i++) {
        user[i] = fuzz_byte(&s->in);
    }
    uint8_t how = fuzz_byte(&s->in);
    int handle = -1;
    bool good = note(s, tacit_mapper_create(s->ctx, how % 16 ? boxes : NULL, how % 15 ? user : NULL, sizeof(user),
                                            how % 14 ? 0 : how, &handle));
    if (good && s->mappers < MOST_HANDLES) {
        s->mapper[s->mappers++] = handle;
    }
}

static void combine(void *into, const void *from, size_t n, const void *user)
{
    (void)user;
    memcpy(into, from, n);
}

static void create_op(state *s)
{
    uint8_t how = fuzz_byte(&s->in);
    tacit_op_desc desc = { .combine = how % 16 ? combine : NULL,
                           .identity = how % 15 ? bytes : NULL,
                           .elem_size = (size_t)1 << fuzz_between(&s->in, 0, 3),
                           .commutative = how & 1 };
    tacit_op op;
    if (note(s, tacit_op_create(s->ctx, &desc, &op)) && s->ops < MOST_HANDLES) {
        s->op[s->ops++] = op;
    }
}

/* ---- tasks */

static tacit_component take_component(fuzz_input *in)
{
    uint8_t how = fuzz_byte(in);
    if (how % 8 == 0) {
        return tacit_full();
    }
    if (how % 8 == 1) {
        size_t a = fuzz_number(in);
        return tacit_span(a, fuzz_byte(in) & 1 ? a + (size_t)fuzz_between(in, 0, 9) : (size_t)fuzz_number(in));
    }
    tacit_component c = tacit_dim((int)fuzz_between(in, 0, 2));
    if (how % 8 == 2) {
        c.mul = (int)(fuzz_byte(in) % 8 ? fuzz_between(in, 1, 5) : (int64_t)fuzz_number(in));
        c.div = (int)(fuzz_byte(in) % 8 ? fuzz_between(in, 1, 5) : (int64_t)fuzz_number(in));
    } else if (how % 8 == 3) {
        c.lo = (int64_t)fuzz_number(in);
        c.hi = fuzz_byte(in) & 1 ? -c.lo : (int64_t)fuzz_number(in);
    } else if (how % 8 == 4) {
        c = tacit_dim_periodic(c.dim, fuzz_byte(in) % 8 ? (size_t)fuzz_between(in, 0, 9) : (size_t)fuzz_number(in));
    } else if (how == 255) {
        c.kind = fuzz_byte(in);
        c.dim = fuzz_byte(in);
    }
    return c;
}

static tacit_mapper take_mapper(state *s)
{
    fuzz_input *in = &s->in;
    switch (fuzz_between(in, 0, 11)) {
    case 0:
        return tacit_one_to_one();
    case 1:
        return tacit_periodic(fuzz_number(in), fuzz_number(in), fuzz_number(in));
    case 2:
        return tacit_all();
    case 3: {
        size_t a = fuzz_number(in), b = fuzz_number(in);
        return tacit_fixed(tacit_box3(a, a + (size_t)fuzz_between(in, 0, 8), b, b + (size_t)fuzz_between(in, 0, 8), 0,
                                      fuzz_number(in)));
    }
    case 4:
        return tacit_slice((int)fuzz_between(in, -1, 3));
    case 5:
        return tacit_neighborhood(fuzz_number(in), fuzz_number(in), fuzz_number(in));
    case 6:
        return tacit_star(fuzz_number(in), fuzz_number(in), fuzz_number(in));
    case 7:
        return tacit_transposed((int)fuzz_between(in, 0, 3), (int)fuzz_between(in, 0, 2), (int)fuzz_between(in, 0, 2));
    case 8:
        return tacit_replicated();
    case 9:
        return tacit_custom(s->mapper[fuzz_between(in, 0, s->mappers - 1)]);
    case 10: {
        tacit_component c = take_component(in), d = take_component(in);
        tacit_mapper m = tacit_components(c, d, take_component(in));
        m.kind = fuzz_byte(in) % 32 ? m.kind : (int)fuzz_number(in);
        m.arg = fuzz_byte(in) % 32 ? m.arg : (int)fuzz_number(in);
        return m;
    }
    default: {
        tacit_component c = take_component(in), d = take_component(in);
        return tacit_components(c, d, take_component(in));
    }
    }
}

static tacit_access take_access(state *s)
{
    fuzz_input *in = &s->in;
    uint8_t which = fuzz_byte(in), how = fuzz_byte(in);
    tacit_access a = tacit_access_make(which == 255 ? NULL : s->buffer[which % MOST_BUFFERS],
                                       how == 255 ? (int)fuzz_number(in) : 1 + how % 4, take_mapper(s));
    bool writes = a.mode == TACIT_WRITE || a.mode == TACIT_UPDATE;
    if (a.mapper.kind == TACIT_MAPPER_CUSTOM && writes) {
        a.mapper = tacit_custom(s->mapper[0]);
    }
    if (a.mode == TACIT_REDUCE) {
        a = tacit_reduce(a.buffer, tacit_op_make((int)fuzz_between(in, 0, 9), (tacit_type)fuzz_between(in, -1, 11)));
        a.op = s->ops && fuzz_byte(in) % 4 == 0 ? s->op[fuzz_between(in, 0, s->ops - 1)] : a.op;
        a.include_old = fuzz_byte(in) & 1;
    }
    return a;
}

static tacit_hints take_hints(fuzz_input *in, const uint32_t *weights)
{
    tacit_hints h = { 0 };
    uint8_t which = fuzz_byte(in);
    h.split = which & 1 ? (int)fuzz_between(in, -1, 3) : 0;
    h.oversubscribe = which & 2 ? (int)fuzz_between(in, -1, 6) : 0;
    h.priority = which & 4 ? (int)fuzz_number(in) : 0;
    h.granularity[which % 3] = which & 8 ? fuzz_number(in) : 0;
    h.whole_chunk = which & 16;
    h.weights = (which & 96) == 96 ? weights : NULL;
    return h;
}

static void submit(state *s)
{
    fuzz_input *in = &s->in;
    uint32_t weights[NODES];
    tacit_task t = { .range = take_range(in), .kernel = { .host = touch }, .args = bytes };
    for (int i = 0; i < NODES; i++) {
        weights[i] = i < 3 ? (uint32_t)fuzz_number(in) : 1;
    }
    uint8_t how = fuzz_byte(in), where = fuzz_byte(in);
    for (int d = 0; d < 3; d++) {
        t.offset[d] = how & 1 ? fuzz_number(in) : 0;
    }
    t.on = where & 1 ? (tacit_on)fuzz_between(in, -1, 4) : TACIT_ON_DEVICES;
    t.place = where & 2 ? tacit_place_node((int)fuzz_between(in, -1, 4)) : t.place;
    t.place = where % 16 == 4 ? tacit_place_owner((int)fuzz_between(in, -1, 4)) : t.place;
    t.place.kind = where == 255 ? (int)fuzz_number(in) : t.place.kind;
    t.hint = take_hints(in, weights);
    t.kernel.host = how == 255 ? NULL : touch;
    t.kernel.opencl.source = how % 32 == 31 ? "x" : NULL;
    int accesses = (int)(how % 16 == 15 ? fuzz_between(in, 0, TACIT_MAX_ACCESSES) : fuzz_between(in, 0, 3));
    for (int i = 0; i < accesses; i++) {
        t.access[i] = take_access(s);
        bool is_promised = t.access[i].mapper.kind == TACIT_MAPPER_CUSTOM && t.access[i].mode != TACIT_READ;
        t.hint.split = is_promised ? TACIT_SPLIT_1D
                                   : t.hint.split; /* chunks differ in a dimension that each buffer has */
    }
    int listed = 0;
    while (listed < TACIT_MAX_ACCESSES && t.access[listed].mode) {
        listed++;
    }
    t.args_size = (size_t)listed; /* the kernel learns how many views it has */
    note(s, tacit_submit_sized(s->ctx, &t, how % 64 == 40 ? fuzz_byte(in) : sizeof(t)));
}

/* ---- fences */

static tacit_box take_box(fuzz_input *in)
{
    tacit_box b = TACIT_BOX_ALL;
    if (fuzz_byte(in) & 1) {
        for (int d = 0; d < 3; d++) {
            b.min[d] = fuzz_byte(in) % 4 ? 0 : fuzz_number(in);
            b.max[d] = fuzz_byte(in) % 4 ? 1 + (size_t)fuzz_between(in, 0, 9) : (size_t)fuzz_number(in);
        }
    }
    return b;
}

/* The values of what is vast would need memory. */
static void fence(state *s, int what)
{
    int i = (int)fuzz_between(&s->in, 0, MOST_BUFFERS - 1), t = (int)fuzz_between(&s->in, 0, TICKETS - 1);
    tacit_box box = take_box(&s->in);
    if (!s->buffer[i] || bytes_of(&s->range[i], s->elem[i]) > MOST_BYTES) {
        return;
    }
    static _Thread_local unsigned char got[MOST_BYTES];
    const void *values;
    if (what == 0) {
        note(s, tacit_fence_read(s->ctx, s->buffer[i], box, got));
    } else if (what == 1) {
        note(s, tacit_fence_local(s->ctx, s->buffer[i], got));
    } else if (s->ticket[t]) {
        note(s, tacit_fence_get(s->ticket[t], &values));
        tacit_fence_release(s->ticket[t]);
        s->ticket[t] = NULL;
    } else {
        note(s, tacit_fence(s->ctx, s->buffer[i], box, &s->ticket[t]));
    }
}

static void ask(state *s)
{
    tacit_distribution d = take_distribution(&s->in);
    tacit_range range = take_range(&s->in), local;
    tacit_box box;
    int node;
    size_t at[3] = { fuzz_number(&s->in), fuzz_number(&s->in), fuzz_number(&s->in) };
    note(s, tacit_distribution_local(s->ctx, &d, range, (int)fuzz_between(&s->in, -1, 4), &box, &local));
    note(s, tacit_distribution_owner(s->ctx, &d, range, at[0], at[1], at[2], &node));
}

static void step(state *s)
{
    switch (fuzz_between(&s->in, 0, 31)) {
    case 0:
    case 1:
    case 2:
    case 3:
        create_buffer(s, (int)fuzz_between(&s->in, 0, MOST_BUFFERS - 1));
        break;
    case 4:
        create_mapper(s);
        break;
    case 5:
        create_op(s);
        break;
    case 6:
        ask(s);
        break;
    case 7:
        note(s, tacit_wait(s->ctx));
        break;
    case 8:
    case 9:
        fence(s, 0);
        break;
    case 10:
        fence(s, 1);
        break;
    case 11:
    case 12:
        fence(s, 2);
        break;
    default:
        submit(s);
    }
}

void fuzz_program_run(fuzz_program *program, tacit_context *ctx, const uint8_t *data, size_t size)
{
    state s = { .program = program, .in = { data, data + size }, .ctx = ctx };
    note(&s, tacit_mapper_create(ctx, chunk_itself, NULL, 0, 0, &s.mapper[s.mappers++]));
    for (int i = 0; i < 2; i++) {
        create_buffer(&s, i);
    }
    for (int i = 0; i < program->steps && s.in.at < s.in.end; i++) {
        step(&s);
    }
    for (int t = 0; t < TICKETS; t++) {
        tacit_fence_release(s.ticket[t]);
    }
}
