/* Tasks of random programs: see gen.h. What makes a task legal is said here a second time, independent of src/api. */
#include "gen_maker.h"

/* ---- what an access may do */

/* Which dimensions of the range may be split over nodes. */
static void splittable(const gen_task *t, bool out[3])
{
    int node;
    bool placed = gen_is_placed(t, &node);
    out[0] = !placed && t->range.dims > 0 && t->range.size[0] > 1;
    out[1] = !placed && t->range.dims > 1 && t->range.size[1] > 1 && t->split == TACIT_SPLIT_2D;
    out[2] = false;
}

static bool follows(const tacit_component *c)
{
    return c->kind != TACIT_COMPONENT_FULL && c->kind != TACIT_COMPONENT_SPAN;
}

static bool writes_by_components(const gen_task *t, const tacit_mapper *mapper, int dims, const bool split[3])
{
    bool used[3] = { false, false, false };
    for (int d = 0; d < dims; d++) {
        const tacit_component *c = &mapper->c[d];
        if (!follows(c)) {
            continue;
        }
        if (used[c->dim] || c->lo + c->hi != 0 || (int64_t)t->offset[c->dim] * c->mul % c->div != 0) {
            return false;
        }
        used[c->dim] = true;
    }
    return (used[0] || !split[0]) && (used[1] || !split[1]);
}

/* Whether an item has an element of the buffer's dimension, if halos are not clamped. */
static bool item_touches(const tacit_component *c, int64_t item, int64_t size)
{
    int64_t begin = item * c->mul / c->div - c->lo, end = ((item + 1) * c->mul + c->div - 1) / c->div + c->hi;
    return begin < size && end > 0;
}

/* Public calls want the range to map into the buffer, with halos or without; or every item to touch some of it, but for
 * halos that are sizes. */
static bool fits(const gen_task *t, const gen_access *a, const gen_buffer *b)
{
    gen_box items = gen_items(t);
    for (int d = 0; a->mapper.kind != TACIT_MAPPER_CUSTOM && d < b->range.dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        int64_t size = (int64_t)b->range.size[d];
        int64_t lo = items.min[c->dim] * c->mul / c->div;
        int64_t hi = (items.max[c->dim] * c->mul + c->div - 1) / c->div;
        bool inside = hi <= size || (lo - c->lo >= 0 && hi + c->hi <= size);
        bool clamps = a->mapper.kind == TACIT_MAPPER_COMPONENTS && c->kind == TACIT_COMPONENT_DIM &&
                      item_touches(c, items.min[c->dim], size) && item_touches(c, items.max[c->dim] - 1, size);
        if (follows(c) && lo - c->lo < hi + c->hi && !inside && !clamps) {
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
        bool shares = c->kind == GEN_CUSTOM_SHIFTS || c->kind == GEN_CUSTOM_FIXED || c->kind == GEN_CUSTOM_BAND ||
                      c->kind == GEN_CUSTOM_CROSS || b->range.size[0] == 1;
        return t->range.dims > 0 && (gen_custom_writes_2d(c) || (!shares && !split[1]));
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

/* Reading and writing one buffer in a task, or writing it twice: on one node, or the same elements, or elements that
 * have nothing in common. */
static bool in_place(maker *m, const gen_task *t, const gen_access *a, const gen_access *b)
{
    int node;
    if (gen_is_everywhere(t)) { /* one call on each node */
        return !gen_changes(a) || !gen_changes(b);
    }
    bool alike = a->mapper.kind == TACIT_MAPPER_REPLICATED || b->mapper.kind == TACIT_MAPPER_REPLICATED;
    if (alike || a->mode == TACIT_REDUCE || b->mode == TACIT_REDUCE) {
        return false;
    }
    bool both_write = gen_changes(a) && gen_changes(b);
    return (!both_write && (gen_is_placed(t, &node) || same_mapper(a, b))) || !images_meet(m, t, a, b);
}

/* Whether the access goes together with those that the task has already. */
static bool goes_along(maker *m, const gen_task *t, const gen_access *a)
{
    if (m->options->public_rules && !fits(t, a, &m->program->buffer.data[a->buffer])) {
        return false;
    }
    for (int i = 0; i < t->accesses; i++) {
        const gen_access *b = &t->access[i];
        if (a->buffer != b->buffer || (!gen_changes(a) && !gen_changes(b))) {
            continue;
        }
        if (!in_place(m, t, a, b)) {
            return false;
        }
    }
    return true;
}

/* Write what the task's latest access reads; or, where that leaves elements out, read or write those. */
static void add_twin(maker *m, gen_task *t)
{
    gen_access a = t->access[t->accesses - 1];
    bool custom = a.mode != TACIT_REDUCE && a.mapper.kind == TACIT_MAPPER_CUSTOM;
    gen_custom c = { 0 };
    if (custom) {
        c = m->program->custom.data[a.mapper.arg];
    }
    if (custom && (c.kind == GEN_CUSTOM_STRIDE || c.kind == GEN_CUSTOM_CHECKER)) {
        c.a += c.kind == GEN_CUSTOM_CHECKER;
        c.b++;
        a.mapper = tacit_custom((int)m->program->custom.count);
        a.mode = (int)GEN_DRAW(rng_of(m), gen_modes);
        ti_vec_push(&m->program->custom, c);
    } else if (a.mode == TACIT_READ) {
        a.mode = TACIT_WRITE;
    } else {
        return;
    }
    if ((!gen_writes(&a) || may_write(m, t, &a)) && goes_along(m, t, &a)) {
        t->access[t->accesses++] = a;
    }
}

static void make_reduction(maker *m, const gen_task *t, const gen_buffer *b, gen_access *a)
{
    a->mode = TACIT_REDUCE;
    a->mapper = tacit_all();
    a->op = tacit_op_make((int)gen_between(rng_of(m), TACIT_OP_SUM, TACIT_OP_XOR), (tacit_type)b->type);
    a->include_old = chance(m, GEN_PERCENT_INCLUDE_OLD);
    if (m->options->public_rules && b->elem_size == 8 && chance(m, GEN_PERCENT_USER_OP)) {
        a->op = (tacit_op){ TACIT_OP_USER, t->split == TACIT_SPLIT_2D ? 0 : (int32_t)gen_between(rng_of(m), 0, 1) };
    }
}

static void add_access(maker *m, gen_task *t)
{
    gen_access a = { .buffer = gen_pick_alive(m), .mode = (int)GEN_DRAW(rng_of(m), gen_modes) };
    const gen_buffer *b = &m->program->buffer.data[a.buffer];
    if (b->type && !gen_is_everywhere(t) && chance(m, GEN_PERCENT_REDUCTION)) {
        make_reduction(m, t, b, &a);
    }
    for (int tries = 0; tries < 6 && a.mode != TACIT_REDUCE; tries++) {
        a.mapper = gen_random_mapper(m, t, b, gen_writes(&a));
        if (gen_is_everywhere(t) && a.mode == TACIT_WRITE) {
            a.mapper = tacit_replicated();
        }
        if (!gen_writes(&a) || may_write(m, t, &a)) {
            break;
        }
        if (tries == 5) {
            a.mode = TACIT_READ;
            a.mapper = gen_random_mapper(m, t, b, false);
        }
    }
    a.in_parts = a.mode != TACIT_REDUCE && chance(m, GEN_PERCENT_IN_PARTS);
    if (goes_along(m, t, &a)) {
        t->access[t->accesses++] = a;
    }
}

static void random_range(maker *m, gen_task *t)
{
    const gen_buffer *b = &m->program->buffer.data[gen_pick_alive(m)];
    t->range = b->range;
    if (chance(m, GEN_PERCENT_OTHER_RANGE)) {
        t->range = tacit_range_make((int)GEN_DRAW(rng_of(m), gen_range_dims), 1, 1, 1);
        for (int d = 0; d < t->range.dims; d++) {
            t->range.size[d] = (size_t)gen_between(rng_of(m), 1, largest(m, t->range.dims));
        }
    }
    for (int d = 0; d < t->range.dims; d++) {
        t->offset[d] = chance(m, GEN_PERCENT_OFFSET) ? (size_t)gen_between(rng_of(m), 0, 5) : 0;
    }
    if (t->range.dims > 0 && chance(m, GEN_PERCENT_EMPTY)) {
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

/* They cover the range, and sometimes more. */
static void random_items(maker *m, gen_task *t)
{
    bool none = chance(m, GEN_PERCENT_ITEMS_NONE);
    t->item_count = t->offset[0] + t->range.size[0] + (size_t)gen_between(rng_of(m), 1, 3);
    t->items = TI_NEW_ARRAY(uint64_t, t->item_count);
    for (size_t i = 0; i < t->item_count; i++) {
        bool zero = none || chance(m, GEN_PERCENT_ITEM_ZERO), heavy = chance(m, GEN_PERCENT_ITEM_HEAVY);
        t->items[i] = zero ? 0 : (uint64_t)gen_between(rng_of(m), 1, heavy ? 1000 : 9);
    }
}

/* On which nodes the task runs, and where there. */
static void random_place(maker *m, gen_task *t)
{
    int nodes = m->options->nodes;
    int64_t where = GEN_DRAW(rng_of(m), gen_places);
    if (m->tiles && chance(m, GEN_PERCENT_PLACED_TILES)) {
        where = where == GEN_ON_ONE_NODE ? where : GEN_ON_NODE;
        nodes = chance(m, GEN_PERCENT_FEW_NODES) ? (nodes - 1) % 3 + 1 : nodes;
    }
    bool placed = where == GEN_ON_NODE || where == GEN_ON_ONE_NODE;
    t->place = placed ? (int)gen_between(rng_of(m), 0, nodes - 1) : -1;
    t->on = where == GEN_ON_HOST                                   ? TACIT_ON_HOST
            : where == GEN_ON_EVERY_NODE                           ? TACIT_ON_EVERY_NODE
            : where == GEN_ON_ONE_NODE || where == GEN_ON_ONE_HOST ? TACIT_ON_ONE_NODE
                                                                   : TACIT_ON_DEVICES;
    t->with_owner = placed && m->options->public_rules && chance(m, GEN_PERCENT_WITH_OWNER);
}

/* Splits, places and other hints. */
static void random_hints(maker *m, gen_task *t)
{
    t->split = (int)GEN_DRAW(rng_of(m), gen_splits);
    t->oversubscribe = (int)GEN_DRAW(rng_of(m), gen_oversubscribe_counts);
    t->priority = (int)gen_between(rng_of(m), -2, 2);
    t->whole_chunk = chance(m, GEN_PERCENT_WHOLE_CHUNK);
    t->no_collectives = chance(m, GEN_PERCENT_NO_COLLECTIVES);
    t->pure = m->pure && chance(m, GEN_PERCENT_PURE);
    t->window = t->pure && chance(m, GEN_PERCENT_WINDOW) ? (int)gen_between(rng_of(m), 1, 6) : 0;
    t->cost = (double)(m->options->seed % 3 * (unsigned)t->priority % 7); /* 0 for many */
    t->cost = gen_chance(&m->more, GEN_PERCENT_COSTLY) ? 1e5 : t->cost;
    for (int d = 0; d < t->range.dims; d++) {
        t->granularity[d] = (size_t)GEN_DRAW(rng_of(m), gen_granularity_sizes);
    }
    random_place(m, t);
    t->objects = t->on != TACIT_ON_DEVICES && chance(m, GEN_PERCENT_OBJECTS)
                     ? (unsigned)gen_between(rng_of(m), 1, (1 << GEN_OBJECTS) - 1)
                     : 0;
    t->group = gen_is_everywhere(t) ? (int)(gen_mix(rng_of(m)->state) % (GEN_GROUPS + 1)) : 0;
    bool has_weights = t->split != TACIT_SPLIT_2D && t->place < 0 && t->on < TACIT_ON_ONE_NODE;
    if (has_weights && chance(m, GEN_PERCENT_WEIGHTS)) {
        random_weights(m, t);
    }
    if (has_weights && t->range.dims > 0 && chance(m, GEN_PERCENT_ITEMS)) {
        random_items(m, t);
    }
}

void gen_add_task(maker *m)
{
    gen_task t = { 0 };
    random_range(m, &t);
    random_hints(m, &t);
    int wanted = (int)gen_between(rng_of(m), 1, chance(m, GEN_PERCENT_MANY_ACCESSES) ? GEN_ACCESSES : 4);
    for (int tries = 0; t.accesses < wanted && tries < 3 * GEN_ACCESSES; tries++) {
        if (t.accesses > 0 && chance(m, GEN_PERCENT_TWIN)) {
            add_twin(m, &t);
        } else {
            add_access(m, &t);
        }
    }
    ti_vec_push(&m->program->task, t);
}

int gen_add_writer(maker *m, int buffer)
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
