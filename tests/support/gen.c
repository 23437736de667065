/* Random programs: see gen.h.
 *
 * A pool of tasks is drawn first; steps then repeat tasks of the pool, alone and in loops. For each step the elements that
 * were written so far decide whether the task may run; if it reads more, a task that writes the buffer comes first. */
#include "gen.h"

#include <string.h>

#define PICK(r, list) ((list)[gen_between((r), 0, (int64_t)(sizeof(list) / sizeof((list)[0])) - 1)])

/* ---- the state of a generator */

typedef struct maker {
    gen_rng rng;
    const gen_options *options;
    gen_program *program;
    TI_VEC(uint8_t *) written; /* per buffer, one byte per element */
    TI_VEC(uint8_t) alive;
    bool tiles; /* a program whose tasks are mostly placed, and touch tiles */
    gen_boxes boxes;
} maker;

enum { FEWEST_BUFFERS = 1, MOST_BUFFERS = 3, LIVE_BUFFERS = 4 };

static gen_rng *rng_of(maker *m)
{
    return &m->rng;
}

static size_t volume_of(const gen_buffer *buffer)
{
    gen_box extent = gen_extent(buffer);
    return (size_t)gen_volume(&extent);
}

/* Largest extents by number of dimensions: small, but more than a few chunks. */
static int64_t largest(const maker *m, int dims)
{
    static const int64_t few[] = { 1, 40, 12, 6 }, many[] = { 1, 150, 24, 9 };
    return m->options->nodes > 16 ? many[dims] : few[dims];
}

/* ---- buffers */

static void mark_written(maker *m, int buffer, const gen_box *box)
{
    gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, box)
    {
        m->written.data[buffer][gen_element(&extent, at)] = 1;
    }
}

static bool is_written(const maker *m, int buffer, const gen_box *box)
{
    gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, box)
    {
        if (!m->written.data[buffer][gen_element(&extent, at)]) {
            return false;
        }
    }
    return true;
}

static void random_distribution(maker *m, gen_buffer *b)
{
    tacit_distribution *d = &b->distribution;
    b->local_init = b->initialised && m->options->public_rules && gen_chance(rng_of(m), 40);
    if (!m->options->public_rules || gen_chance(rng_of(m), 40)) {
        return;
    }
    d->kind = gen_chance(rng_of(m), 60) ? TACIT_DISTRIBUTE_CYCLIC : TACIT_DISTRIBUTE_BLOCK;
    int left = m->options->nodes;
    for (int k = 0; k < b->range.dims; k++) {
        d->block[k] = (size_t)gen_between(rng_of(m), 0, 4);
        int64_t blocks = ((int64_t)b->range.size[k] - 1) / TI_MAX((int64_t)d->block[k], 1) + 1;
        int most = d->kind == TACIT_DISTRIBUTE_BLOCK && k > 0 ? (int)TI_MIN(blocks, left) : left;
        d->grid[k] = (int)gen_between(rng_of(m), 1, most);
        left /= d->grid[k];
    }
}

static void choose_type(maker *m, gen_buffer *buffer)
{
    static const size_t sizes[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8 };
    buffer->type = (int32_t)gen_between(rng_of(m), TACIT_INT8, TACIT_UINT64);
    buffer->elem_size = sizes[buffer->type];
    buffer->range.dims = gen_chance(rng_of(m), 50) ? 0 : 1;
    buffer->range.size[0] = buffer->range.dims ? (size_t)gen_between(rng_of(m), 1, 4) : 1;
}

/* Add a buffer to the program (not yet a step). */
static int add_buffer(maker *m)
{
    static const int dims[] = { 1, 1, 1, 2, 2, 2, 3, 0 };
    static const size_t sizes[] = { 8, 8, 8, 8, 4, 1, 12, 16 };
    gen_buffer b = { .initialised = gen_chance(rng_of(m), 55), .elem_size = PICK(rng_of(m), sizes) };
    b.range = tacit_range_make(PICK(rng_of(m), dims), 1, 1, 1);
    for (int d = 0; d < b.range.dims; d++) {
        b.range.size[d] = (size_t)gen_between(rng_of(m), 1, largest(m, b.range.dims));
    }
    if (gen_chance(rng_of(m), 20)) {
        choose_type(m, &b);
    }
    random_distribution(m, &b);
    ti_vec_push(&m->program->buffer, b);
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&b)));
    ti_vec_push(&m->alive, 0);
    return (int)m->program->buffer.count - 1;
}

static void create_buffer(maker *m, int buffer)
{
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_CREATE, .index = buffer }));
    m->alive.data[buffer] = 1;
    if (m->program->buffer.data[buffer].initialised) {
        gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
        mark_written(m, buffer, &extent);
    }
}

static int count_alive(const maker *m)
{
    int count = 0;
    for (size_t i = 0; i < m->alive.count; i++) {
        count += m->alive.data[i];
    }
    return count;
}

/* A buffer that exists now. */
static int pick_alive(maker *m)
{
    int64_t n = gen_between(rng_of(m), 0, count_alive(m) - 1);
    for (size_t i = 0;; i++) {
        if (m->alive.data[i] && n-- == 0) {
            return (int)i;
        }
    }
}

/* ---- mappers */

/* Which dimensions of the range may be split over nodes. */
static void splittable(const gen_task *t, bool out[3])
{
    int node;
    bool placed = gen_is_placed(t, &node);
    out[0] = !placed && t->range.dims > 0 && t->range.size[0] > 1;
    out[1] = !placed && t->range.dims > 1 && t->range.size[1] > 1 && t->split == TACIT_SPLIT_2D;
    out[2] = false;
}

static tacit_component random_dim(maker *m, const gen_task *t, int d, bool writes)
{
    static const int scale[][2] = { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 2, 1 },
                                    { 1, 2 }, { 3, 2 }, { 2, 3 }, { 3, 1 }, { 1, 5 } };
    static const int64_t halos[] = { 0, 0, 1, 2, 9 };
    int k = gen_chance(rng_of(m), 60) ? (d < t->range.dims ? d : t->range.dims - 1)
                                      : (int)gen_between(rng_of(m), 0, t->range.dims - 1);
    const int *s = PICK(rng_of(m), scale);
    int64_t h = PICK(rng_of(m), halos), lo = h, hi = h;
    switch (gen_between(rng_of(m), writes ? 3 : 0, 5)) {
    case 0:
        break;
    case 1:
        lo = 0;
        break;
    case 2:
        hi = gen_chance(rng_of(m), 10) ? -1 : 0;
        break;
    case 3:
        hi = -h;
        break;
    case 4:
        lo = -h;
        break;
    default:
        lo = hi = 0;
        break;
    }
    return tacit_dim_scaled(k, s[0], s[1], lo, hi);
}

/* Half of the spans lie on a grid of quarters, so that parts written by different tasks are neighbours. */
static tacit_component random_span(maker *m, size_t size)
{
    int64_t n = (int64_t)size, unit = (m->tiles || gen_chance(rng_of(m), 50)) && n >= 4 ? n / 4 : 1;
    int64_t a = unit * gen_between(rng_of(m), 0, (n - 1) / unit);
    int64_t b = a + unit * gen_between(rng_of(m), 1, unit > 1 ? 2 : n - a);
    return tacit_span((size_t)a, (size_t)(b < n ? b : n));
}

static tacit_mapper random_components(maker *m, const gen_task *t, const gen_buffer *b, bool writes)
{
    tacit_component c[3] = { tacit_full(), tacit_full(), tacit_full() };
    for (int d = 0; d < b->range.dims; d++) {
        int64_t choice = gen_between(rng_of(m), 0, 99);
        if (choice < 15) {
            c[d] = random_span(m, b->range.size[d]);
        } else if (choice > 30 && t->range.dims > 0) {
            c[d] = random_dim(m, t, d, writes);
        }
    }
    return tacit_components(c[0], c[1], c[2]);
}

static tacit_mapper random_fixed(maker *m, const gen_buffer *b)
{
    tacit_box box = tacit_box3(0, 1, 0, 1, 0, 1);
    for (int d = 0; d < b->range.dims; d++) {
        tacit_component c = random_span(m, b->range.size[d]);
        box.min[d] = (size_t)c.lo;
        box.max[d] = (size_t)c.hi;
    }
    return tacit_fixed(box);
}

static tacit_mapper random_custom(maker *m, const gen_buffer *b)
{
    int64_t n = (int64_t)b->range.size[0];
    gen_custom c = { .kind = gen_between(rng_of(m), GEN_CUSTOM_SHIFTS, GEN_CUSTOM_FIXED) };
    c.a = gen_between(rng_of(m), c.kind == GEN_CUSTOM_STRIDE, c.kind == GEN_CUSTOM_STRIDE ? 3 : n - 1);
    c.b = gen_between(rng_of(m), 0, n - 1);
    ti_vec_push(&m->program->custom, c);
    return tacit_custom((int)m->program->custom.count - 1);
}

/* Any mapper that goes with the numbers of dimensions; whether it may write is another question. */
static tacit_mapper random_mapper(maker *m, const gen_task *t, const gen_buffer *b, bool writes)
{
    int dims = b->range.dims;
    size_t e = (size_t)gen_between(rng_of(m), 0, 2);
    int p = (int)gen_between(rng_of(m), 0, dims > 1 ? dims - 1 : 0);
    int64_t choice = gen_between(rng_of(m), 0, 99);
    if (m->tiles && choice > 30) {
        return random_fixed(m, b);
    } else if (choice < 8) {
        return writes ? tacit_replicated() : tacit_all();
    } else if (choice < 14) {
        return random_fixed(m, b);
    } else if (choice < 20) {
        return tacit_all();
    } else if (choice < 30 && dims > 0 && t->range.dims > 0) {
        return random_custom(m, b);
    } else if (choice < 50 || dims != t->range.dims || dims == 0) {
        return random_components(m, t, b, writes);
    } else if (choice < 60) {
        return writes ? tacit_one_to_one() : tacit_neighborhood(e, 1, e);
    } else if (choice < 68) {
        return tacit_star(writes ? 0 : e, writes ? 0 : 1, writes ? 0 : 2);
    } else if (choice < 76) {
        return tacit_transposed(p, dims > 1 ? (p + 1) % dims : 0, dims > 2 ? (p + 2) % dims : 0);
    } else if (choice < 82) {
        return tacit_slice(p);
    }
    return tacit_one_to_one();
}

static bool writes_by_components(const gen_task *t, const tacit_mapper *mapper, int dims, const bool split[3])
{
    bool used[3] = { false, false, false };
    for (int d = 0; d < dims; d++) {
        const tacit_component *c = &mapper->c[d];
        if (c->kind != TACIT_COMPONENT_DIM) {
            continue;
        }
        if (used[c->dim] || c->lo + c->hi != 0 || (int64_t)t->offset[c->dim] * c->mul % c->div != 0) {
            return false;
        }
        used[c->dim] = true;
    }
    return (used[0] || !split[0]) && (used[1] || !split[1]);
}

/* Public calls want the range to map into the buffer; only halos may leave it. */
static bool fits(const gen_task *t, const gen_access *a, const gen_buffer *b)
{
    gen_box items = gen_items(t);
    for (int d = 0; a->mapper.kind != TACIT_MAPPER_CUSTOM && d < b->range.dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        int64_t shift = c->lo + c->hi <= 0;
        int64_t lo = items.min[c->dim] * c->mul / c->div - shift * c->lo;
        int64_t hi = (items.max[c->dim] * c->mul + c->div - 1) / c->div + shift * c->hi;
        if (c->kind == TACIT_COMPONENT_DIM && lo < hi && (lo < 0 || hi > (int64_t)b->range.size[d])) {
            return false;
        }
    }
    return true;
}

/* Whether chunks write disjoint parts by this mapper, or it is replicated. */
static bool may_write(const maker *m, const gen_task *t, const gen_access *a)
{
    const gen_buffer *b = &m->program->buffer.data[a->buffer];
    bool split[3];
    int node;
    splittable(t, split);
    if (a->mapper.kind == TACIT_MAPPER_REPLICATED || gen_is_everywhere(t)) {
        return a->mode == TACIT_WRITE && a->mapper.kind == TACIT_MAPPER_REPLICATED;
    }
    if (a->mapper.kind == TACIT_MAPPER_ALL && m->options->public_rules && !gen_is_placed(t, &node)) {
        return false;
    }
    if (a->mapper.kind == TACIT_MAPPER_CUSTOM) {
        const gen_custom *c = &m->program->custom.data[a->mapper.arg];
        bool shares = c->kind == GEN_CUSTOM_SHIFTS || c->kind == GEN_CUSTOM_FIXED || b->range.size[0] == 1;
        return !shares && !split[1] && t->range.dims > 0;
    }
    return writes_by_components(t, &a->mapper, b->range.dims, split);
}

/* ---- tasks */

static bool images_meet(maker *m, const gen_task *t, const gen_access *x, const gen_access *y)
{
    gen_box items = gen_items(t);
    bool meet = false;
    ti_vec_clear(&m->boxes);
    gen_image(m->program, x, &items, &m->boxes);
    size_t split = m->boxes.count;
    gen_image(m->program, y, &items, &m->boxes);
    for (size_t i = 0; i < split; i++) {
        for (size_t k = split; k < m->boxes.count; k++) {
            const gen_box *p = &m->boxes.data[i], *q = &m->boxes.data[k];
            meet = meet || (p->min[0] < q->max[0] && q->min[0] < p->max[0] && p->min[1] < q->max[1] &&
                            q->min[1] < p->max[1] && p->min[2] < q->max[2] && q->min[2] < p->max[2]);
        }
    }
    return meet;
}

static bool changes(const gen_access *a)
{
    return a->mode != TACIT_READ;
}

static bool same_component(const tacit_component *x, const tacit_component *y)
{
    return x->kind == y->kind && x->dim == y->dim && x->lo == y->lo && x->hi == y->hi && x->mul == y->mul &&
           x->div == y->div;
}

static bool same_mapper(const gen_access *x, const gen_access *y)
{
    bool same = x->mapper.kind == y->mapper.kind && x->mapper.arg == y->mapper.arg &&
                x->mapper.kind != TACIT_MAPPER_STAR;
    for (int d = 0; d < 3; d++) {
        same = same && same_component(&x->mapper.c[d], &y->mapper.c[d]);
    }
    return same;
}

/* Reading and writing one buffer in a task: on one node, or the same elements, or elements that have nothing in common. */
static bool in_place(maker *m, const gen_task *t, const gen_access *a, const gen_access *b)
{
    int node;
    if (gen_is_everywhere(t)) { /* one call on each node */
        return true;
    }
    bool alike = a->mapper.kind == TACIT_MAPPER_REPLICATED || b->mapper.kind == TACIT_MAPPER_REPLICATED;
    if (alike || a->mode == TACIT_REDUCE || b->mode == TACIT_REDUCE) {
        return false;
    }
    return gen_is_placed(t, &node) || same_mapper(a, b) || (!m->options->public_rules && !images_meet(m, t, a, b));
}

/* Whether the access goes together with those that the task has already. */
static bool goes_along(maker *m, const gen_task *t, const gen_access *a)
{
    if (m->options->public_rules && !fits(t, a, &m->program->buffer.data[a->buffer])) {
        return false;
    }
    for (int i = 0; i < t->accesses; i++) {
        const gen_access *b = &t->access[i];
        if (a->buffer != b->buffer || (!changes(a) && !changes(b))) {
            continue;
        }
        if ((changes(a) && changes(b)) || !in_place(m, t, a, b)) {
            return false;
        }
    }
    return true;
}

/* Write what the task's latest access reads. */
static void add_twin(maker *m, gen_task *t)
{
    gen_access a = t->access[t->accesses - 1];
    if (a.mode == TACIT_READ) {
        a.mode = TACIT_WRITE;
        if (may_write(m, t, &a) && goes_along(m, t, &a)) {
            t->access[t->accesses++] = a;
        }
    }
}

static void make_reduction(maker *m, const gen_task *t, const gen_buffer *b, gen_access *a)
{
    a->mode = TACIT_REDUCE;
    a->mapper = tacit_all();
    a->op = tacit_op_make((int)gen_between(rng_of(m), TACIT_OP_SUM, TACIT_OP_XOR), (tacit_type)b->type);
    a->include_old = gen_chance(rng_of(m), 30);
    if (m->options->public_rules && b->elem_size == 8 && gen_chance(rng_of(m), 40)) {
        a->op = (tacit_op){ TACIT_OP_USER, t->split == TACIT_SPLIT_2D ? 0 : (int32_t)gen_between(rng_of(m), 0, 1) };
    }
}

static void add_access(maker *m, gen_task *t)
{
    static const int modes[] = { TACIT_READ, TACIT_READ, TACIT_WRITE, TACIT_UPDATE };
    gen_access a = { .buffer = pick_alive(m), .mode = PICK(rng_of(m), modes) };
    const gen_buffer *b = &m->program->buffer.data[a.buffer];
    if (b->type && !gen_is_everywhere(t) && gen_chance(rng_of(m), 60)) {
        make_reduction(m, t, b, &a);
    }
    for (int tries = 0; tries < 6 && a.mode != TACIT_REDUCE; tries++) {
        a.mapper = random_mapper(m, t, b, gen_writes(&a));
        if (gen_is_everywhere(t) && a.mode == TACIT_WRITE) {
            a.mapper = tacit_replicated();
        }
        if (!gen_writes(&a) || may_write(m, t, &a)) {
            break;
        }
        if (tries == 5) {
            a.mode = TACIT_READ;
            a.mapper = random_mapper(m, t, b, false);
        }
    }
    if (goes_along(m, t, &a)) {
        t->access[t->accesses++] = a;
    }
}

static void random_range(maker *m, gen_task *t)
{
    static const int dims[] = { 1, 1, 1, 2, 2, 2, 2, 3, 3, 0 };
    const gen_buffer *b = &m->program->buffer.data[pick_alive(m)];
    t->range = b->range;
    if (gen_chance(rng_of(m), 35)) {
        t->range = tacit_range_make(PICK(rng_of(m), dims), 1, 1, 1);
        for (int d = 0; d < t->range.dims; d++) {
            t->range.size[d] = (size_t)gen_between(rng_of(m), 1, largest(m, t->range.dims));
        }
    }
    for (int d = 0; d < t->range.dims; d++) {
        t->offset[d] = gen_chance(rng_of(m), 25) ? (size_t)gen_between(rng_of(m), 0, 5) : 0;
    }
    if (t->range.dims > 0 && gen_chance(rng_of(m), 3)) {
        t->range.size[gen_between(rng_of(m), 0, t->range.dims - 1)] = 0;
    }
}

static void random_weights(maker *m, gen_task *t)
{
    t->weights = TI_NEW_ARRAY(uint32_t, (size_t)m->options->nodes);
    for (int i = 0; i < m->options->nodes; i++) {
        t->weights[i] = (uint32_t)gen_between(rng_of(m), 0, 5);
    }
}

/* Splits, places and other hints. */
static void random_hints(maker *m, gen_task *t)
{
    static const size_t granularity[] = { 0, 0, 0, 1, 2, 3, 4 };
    static const int oversubscribe[] = { 0, 0, 0, 1, 2, 3 };
    t->place = -1;
    t->split = gen_chance(rng_of(m), 35)   ? TACIT_SPLIT_2D
               : gen_chance(rng_of(m), 50) ? TACIT_SPLIT_1D
                                           : TACIT_SPLIT_DEFAULT;
    t->oversubscribe = PICK(rng_of(m), oversubscribe);
    t->priority = (int)gen_between(rng_of(m), -2, 2);
    t->whole_chunk = gen_chance(rng_of(m), 25);
    t->no_collectives = gen_chance(rng_of(m), 8);
    for (int d = 0; d < t->range.dims; d++) {
        t->granularity[d] = PICK(rng_of(m), granularity);
    }
    int64_t where = gen_between(rng_of(m), 0, 99);
    if (where < (m->tiles ? 75 : 20)) {
        t->place = (int)gen_between(rng_of(m), 0, m->tiles ? (m->options->nodes - 1) % 3 : m->options->nodes - 1);
    }
    t->with_owner = t->place >= 0 && m->options->public_rules && gen_chance(rng_of(m), 40);
    t->on = where > 75 ? TACIT_ON_HOST : where < 8 ? TACIT_ON_ONE_NODE : TACIT_ON_DEVICES;
    t->on = where > 95 ? TACIT_ON_ONE_NODE : where > 89 ? TACIT_ON_EVERY_NODE : t->on;
    t->objects = t->on != TACIT_ON_DEVICES && gen_chance(rng_of(m), 40)
                     ? (unsigned)gen_between(rng_of(m), 1, (1 << GEN_OBJECTS) - 1)
                     : 0;
    if (t->split != TACIT_SPLIT_2D && t->place < 0 && t->on < TACIT_ON_ONE_NODE && gen_chance(rng_of(m), 20)) {
        random_weights(m, t);
    }
}

static void add_task(maker *m)
{
    gen_task t = { 0 };
    random_range(m, &t);
    random_hints(m, &t);
    int wanted = (int)gen_between(rng_of(m), 1, gen_chance(rng_of(m), 10) ? GEN_ACCESSES : 4);
    for (int tries = 0; t.accesses < wanted && tries < 3 * GEN_ACCESSES; tries++) {
        if (t.accesses > 0 && gen_chance(rng_of(m), 10)) {
            add_twin(m, &t);
        } else {
            add_access(m, &t);
        }
    }
    ti_vec_push(&m->program->task, t);
}

/* A task that writes all of one buffer, each element by one item. */
static int add_writer(maker *m, int buffer)
{
    gen_task t = { .range = m->program->buffer.data[buffer].range };
    random_hints(m, &t);
    t.access[0] = (gen_access){ .buffer = buffer, .mode = TACIT_WRITE, .mapper = tacit_one_to_one() };
    if (gen_is_everywhere(&t)) {
        t.access[0].mapper = tacit_replicated();
    }
    t.accesses = 1;
    ti_vec_push(&m->program->task, t);
    return (int)m->program->task.count - 1;
}

/* ---- transfers in which all nodes take part */

/* A buffer of two dimensions, long enough for every node to have a part along each. */
static int add_square(maker *m)
{
    gen_buffer b = { .initialised = gen_chance(rng_of(m), 30), .elem_size = 8 };
    b.range = tacit_range2((size_t)m->options->nodes + (size_t)gen_between(rng_of(m), 0, 5),
                           (size_t)m->options->nodes + (size_t)gen_between(rng_of(m), 0, 5));
    ti_vec_push(&m->program->buffer, b);
    ti_vec_push(&m->written, TI_NEW_ARRAY(uint8_t, volume_of(&b)));
    ti_vec_push(&m->alive, 0);
    return (int)m->program->buffer.count - 1;
}

static void add_whole_task(maker *m, int buffer, int mode, tacit_mapper mapper, int place)
{
    const gen_buffer *b = &m->program->buffer.data[buffer];
    gen_task t = { .range = b->range, .place = place, .accesses = 1 };
    if (mapper.kind == TACIT_MAPPER_TRANSPOSED) {
        t.range = tacit_range2(b->range.size[1], b->range.size[0]);
    }
    t.split = TACIT_SPLIT_1D;
    t.whole_chunk = gen_chance(rng_of(m), 25);
    t.oversubscribe = gen_chance(rng_of(m), 20) ? 2 : 1;
    t.access[0] = (gen_access){ .buffer = buffer, .mode = mode, .mapper = mapper };
    ti_vec_push(&m->program->task, t);
}

/* Ways to write and to read one buffer, which make patterns with each other. Returns how many tasks it adds. */
static int add_pattern(maker *m)
{
    bool square = m->options->nodes <= 16 && count_alive(m) < LIVE_BUFFERS && gen_chance(rng_of(m), 60);
    int buffer = square ? add_square(m) : pick_alive(m), node = (int)gen_between(rng_of(m), 0, m->options->nodes - 1);
    if (square) {
        create_buffer(m, buffer);
    }
    int dims = m->program->buffer.data[buffer].range.dims;
    add_whole_task(m, buffer, TACIT_WRITE, tacit_one_to_one(), -1);
    add_whole_task(m, buffer, dims == 2 ? TACIT_UPDATE : TACIT_READ,
                   dims == 2 ? tacit_transposed(1, 0, 2) : tacit_one_to_one(), -1);
    add_whole_task(m, buffer, TACIT_READ, dims == 0 || gen_chance(rng_of(m), 50) ? tacit_all() : tacit_slice(0), -1);
    add_whole_task(m, buffer, TACIT_WRITE, tacit_one_to_one(), node);
    add_whole_task(m, buffer, TACIT_READ, tacit_one_to_one(), -1);
    add_whole_task(m, buffer, TACIT_READ, tacit_all(), gen_chance(rng_of(m), 50) ? node : 0);
    return 6;
}

/* Tasks in two dimensions that read what others wrote by rows and by columns of their chunks, or of a part of them, some with other borders or several
 * chunks per node. Returns how many tasks it adds. */
static int add_grid_pattern(maker *m)
{
    gen_rng *r = rng_of(m);
    bool square = count_alive(m) < LIVE_BUFFERS && m->options->nodes <= 16;
    int buffer = square ? add_square(m) : pick_alive(m);
    if (square) {
        create_buffer(m, buffer);
    }
    const tacit_range range = m->program->buffer.data[buffer].range;
    if (range.dims != 2) {
        return 0;
    }
    tacit_component i = tacit_dim(0), j = tacit_dim(1), all = tacit_full();
    tacit_component some_i = random_span(m, range.size[0]), some_j = random_span(m, range.size[1]);
    const tacit_mapper read[] = { tacit_slice(1), tacit_slice(0), tacit_components(i, some_j, all),
                                  tacit_components(some_i, j, all) };
    size_t granularity = (size_t)gen_between(r, 0, 2);
    for (int k = 0; k < 6; k++) {
        gen_task t = { .range = range, .place = -1, .accesses = 1, .split = TACIT_SPLIT_2D };
        t.access[0] = (gen_access){ .buffer = buffer, .mode = k < 2 ? TACIT_WRITE : TACIT_READ };
        t.access[0].mapper = k < 2 ? tacit_one_to_one() : read[k - 2];
        t.granularity[0] = gen_chance(r, 15) ? granularity + 1 : granularity;
        t.oversubscribe = gen_chance(r, 10) ? 2 : 1;
        if (k >= 2 && gen_chance(r, 30)) { /* the task's other length makes no difference to what it follows */
            int other = k % 2 ? 0 : 1;
            t.range.size[other] = (size_t)gen_between(r, 1, (int64_t)range.size[other]);
        }
        int d = (int)gen_between(r, 0, 1);
        if (k >= 2 && t.range.size[d] > 1 && gen_chance(r, 15)) {
            t.offset[d] = 1;
            t.range.size[d]--;
        }
        ti_vec_push(&m->program->task, t);
    }
    return 6;
}

/* ---- steps */

static void push_task(maker *m, int index)
{
    const gen_task *t = &m->program->task.data[index];
    gen_box items = gen_items(t);
    ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_TASK, .index = index }));
    for (int i = 0; i < t->accesses && gen_volume(&items) > 0; i++) {
        if (!changes(&t->access[i])) {
            continue;
        }
        ti_vec_clear(&m->boxes);
        gen_image(m->program, &t->access[i], &items, &m->boxes);
        for (size_t k = 0; k < m->boxes.count; k++) {
            mark_written(m, t->access[i].buffer, &m->boxes.data[k]);
        }
    }
}

/* A buffer that the task reads before it was written; -1: none; -2: a buffer does not exist. */
static int lacking(maker *m, const gen_task *t)
{
    gen_box items = gen_items(t);
    for (int i = 0; i < t->accesses; i++) {
        if (!m->alive.data[t->access[i].buffer]) {
            return -2;
        }
    }
    for (int i = 0; i < t->accesses && gen_volume(&items) > 0; i++) {
        if (!gen_needs_old(&t->access[i])) {
            continue;
        }
        ti_vec_clear(&m->boxes);
        gen_image(m->program, &t->access[i], &items, &m->boxes);
        for (size_t k = 0; k < m->boxes.count; k++) {
            if (!is_written(m, t->access[i].buffer, &m->boxes.data[k])) {
                return t->access[i].buffer;
            }
        }
    }
    return -1;
}

static void submit(maker *m, int index)
{
    for (;;) {
        int buffer = lacking(m, &m->program->task.data[index]);
        if (buffer == -2) {
            return;
        }
        if (buffer == -1) {
            push_task(m, index);
            return;
        }
        push_task(m, add_writer(m, buffer));
    }
}

/* A random box of a buffer, all of it written. */
static void push_fence(maker *m, int buffer)
{
    const gen_buffer *b = &m->program->buffer.data[buffer];
    gen_box box = gen_extent(b);
    bool local = m->options->public_rules && gen_chance(rng_of(m), 30);
    for (int d = 0; d < b->range.dims && !local && gen_chance(rng_of(m), 40); d++) {
        box.min[d] = gen_between(rng_of(m), 0, box.max[d] - 1);
        box.max[d] = gen_between(rng_of(m), box.min[d] + 1, box.max[d]);
    }
    if (!is_written(m, buffer, &box)) {
        push_task(m, add_writer(m, buffer));
    }
    ti_vec_push(
        &m->program->step,
        ((gen_step){
            .kind = GEN_FENCE, .index = buffer, .box = box, .blocking = gen_chance(rng_of(m), 50), .local = local }));
}

static void push_loop(maker *m)
{
    int body[4], length = (int)gen_between(rng_of(m), 1, 4), rounds = (int)gen_between(rng_of(m), 2, 8);
    for (int i = 0; i < length; i++) {
        body[i] = (int)gen_between(rng_of(m), 0, (int64_t)m->program->task.count - 1);
    }
    for (int i = 0; i < rounds * length; i++) {
        submit(m, body[i % length]);
    }
}

static void push_patterns(maker *m)
{
    int count = gen_chance(rng_of(m), 40) ? add_grid_pattern(m) : add_pattern(m);
    int last = (int)m->program->task.count - 1;
    for (int64_t i = count ? gen_between(rng_of(m), 4, 12) : 0; i > 0; i--) {
        submit(m, last - (int)gen_between(rng_of(m), 0, count - 1));
    }
}

static void push_step(maker *m)
{
    int64_t choice = gen_between(rng_of(m), 0, 99);
    if (gen_chance(rng_of(m), 5)) {
        push_patterns(m);
    } else if (choice < 4) {
        ti_vec_push(&m->program->step, ((gen_step){ .kind = gen_chance(rng_of(m), 50) ? GEN_WAIT : GEN_FLUSH }));
    } else if (choice < 12) {
        push_fence(m, pick_alive(m));
    } else if (choice < 15 && count_alive(m) < LIVE_BUFFERS) {
        create_buffer(m, add_buffer(m));
        add_task(m);
        add_task(m);
    } else if (choice < 17 && count_alive(m) > 1) {
        int buffer = pick_alive(m);
        ti_vec_push(&m->program->step, ((gen_step){ .kind = GEN_DESTROY, .index = buffer }));
        m->alive.data[buffer] = 0;
    } else if (choice < 22) {
        add_task(m);
    } else if (choice < 34) {
        push_loop(m);
    } else {
        submit(m, (int)gen_between(rng_of(m), 0, (int64_t)m->program->task.count - 1));
    }
}

/* The largest box that is all written, grown from the first written element; false if there is none. */
static bool written_box(const maker *m, int buffer, gen_box *out)
{
    gen_box extent = gen_extent(&m->program->buffer.data[buffer]);
    bool any = false;
    int64_t at[3];
    GEN_FOR_EACH(at, &extent)
    {
        if (!any && m->written.data[buffer][gen_element(&extent, at)]) {
            *out = (gen_box){ { at[0], at[1], at[2] }, { at[0] + 1, at[1] + 1, at[2] + 1 } };
            any = true;
        }
    }
    for (int d = 0; any && d < 3; d++) {
        while (out->max[d] < extent.max[d]) {
            out->max[d]++;
            if (!is_written(m, buffer, out)) {
                out->max[d]--;
                break;
            }
        }
    }
    return any;
}

/* At the end everything is looked at. */
static void push_last_fences(maker *m)
{
    for (size_t i = 0; i < m->alive.count; i++) {
        gen_box box;
        if (m->alive.data[i] && written_box(m, (int)i, &box)) {
            ti_vec_push(&m->program->step,
                        ((gen_step){ .kind = GEN_FENCE, .index = (int)i, .box = box, .blocking = true }));
        }
    }
}

static void fini(maker *m)
{
    for (size_t i = 0; i < m->written.count; i++) {
        ti_free(m->written.data[i], volume_of(&m->program->buffer.data[i]));
    }
    ti_vec_fini(&m->written);
    ti_vec_fini(&m->alive);
    ti_vec_fini(&m->boxes);
}

gen_program *gen_create(const gen_options *options)
{
    maker m = { .rng = { gen_mix(options->seed ^ (uint64_t)options->nodes << 48) },
                .options = options,
                .program = TI_NEW(gen_program) };
    m.program->seed = options->seed;
    m.program->nodes = options->nodes;
    m.tiles = gen_chance(&m.rng, 20);
    int64_t buffers = gen_between(&m.rng, FEWEST_BUFFERS, MOST_BUFFERS),
            tasks = gen_between(&m.rng, 3, m.tiles ? 16 : 10);
    for (int64_t i = 0; i < buffers; i++) {
        create_buffer(&m, add_buffer(&m));
    }
    for (int64_t i = 0; i < tasks; i++) {
        add_task(&m);
    }
    while (m.program->step.count < (size_t)options->steps) {
        push_step(&m);
    }
    push_last_fences(&m);
    fini(&m);
    return m.program;
}

void gen_destroy(gen_program *program)
{
    for (size_t i = 0; i < program->task.count; i++) {
        ti_free(program->task.data[i].weights, (size_t)program->nodes * sizeof(uint32_t));
    }
    ti_vec_fini(&program->buffer);
    ti_vec_fini(&program->custom);
    ti_vec_fini(&program->task);
    ti_vec_fini(&program->step);
    TI_DELETE(program);
}
