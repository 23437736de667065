/* What accesses of random programs touch, by plain arithmetic: see gen.h. */
#include "gen.h"
#include "touches.h"

#include <string.h>

gen_box gen_extent(const gen_buffer *buffer)
{
    gen_box b = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < buffer->range.dims; d++) {
        b.max[d] = (int64_t)buffer->range.size[d];
    }
    return b;
}

gen_box gen_items(const gen_task *task)
{
    gen_box b = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < task->range.dims; d++) {
        b.min[d] = (int64_t)task->offset[d];
        b.max[d] = b.min[d] + (int64_t)task->range.size[d];
    }
    return b;
}

int64_t gen_volume(const gen_box *box)
{
    int64_t volume = 1;
    for (int d = 0; d < 3; d++) {
        volume *= box->max[d] > box->min[d] ? box->max[d] - box->min[d] : 0;
    }
    return volume;
}

bool gen_is_placed(const gen_task *task, int *node)
{
    *node = task->place >= 0 ? task->place : 0;
    return task->place >= 0 || task->on == TACIT_ON_ONE_NODE;
}

bool gen_is_constant(const gen_access *access)
{
    switch (access->mapper.kind) {
    case TACIT_MAPPER_ALL:
    case TACIT_MAPPER_FIXED:
    case TACIT_MAPPER_REPLICATED:
        return true;
    default:
        return false;
    }
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool has_components(const tacit_mapper *m)
{
    return m->kind != TACIT_MAPPER_CUSTOM;
}

static int count_components(const gen_program *program, const gen_access *access)
{
    return has_components(&access->mapper) ? program->buffer.data[access->buffer].range.dims : 0;
}

void gen_granularity(const gen_task *task, int64_t out[3])
{
    for (int d = 0; d < 3; d++) {
        out[d] = task->granularity[d] ? (int64_t)task->granularity[d] : 1;
    }
    for (int i = 0; i < task->accesses; i++) {
        const gen_access *a = &task->access[i];
        for (int d = 0; gen_writes(a) && has_components(&a->mapper) && d < 3; d++) {
            const tacit_component *c = &a->mapper.c[d];
            if (c->kind == TACIT_COMPONENT_DIM && c->div > 1) {
                int64_t unit = c->div / gcd(c->mul, c->div);
                out[c->dim] *= unit / gcd(out[c->dim], unit);
            }
        }
    }
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

/* Clamp `box` to the buffer and append it, unless nothing is left. */
static void push_clamped(gen_boxes *out, const gen_box *extent, gen_box box)
{
    for (int d = 0; d < 3; d++) {
        box.min[d] = box.min[d] < 0 ? 0 : box.min[d];
        box.max[d] = box.max[d] > extent->max[d] ? extent->max[d] : box.max[d];
        if (box.min[d] >= box.max[d]) {
            return;
        }
    }
    ti_vec_push(out, box);
}

enum { MOST_RUNS = 8 };

/* The elements that are touched along one dimension, as intervals. */
typedef struct runs {
    int64_t min[MOST_RUNS], max[MOST_RUNS];
    int count;
} runs;

/* Looks at every element of the dimension: for kinds of components that give more than one interval. */
static runs runs_of_elements(const tacit_component *c, int64_t a, int64_t b, int64_t size)
{
    runs out = { .count = 0 };
    bool before = false;
    for (int64_t x = 0; x < size; x++) {
        bool now = touches(c, a, b, size, x);
        if (now && !before) {
            out.min[out.count++] = x;
        }
        if (now) {
            out.max[out.count - 1] = x + 1;
        }
        before = now;
    }
    return out;
}

/* Along dimension d of the image; `halo` is false for the axes of a star that stay narrow. */
static runs runs_of(const tacit_component *c, const gen_box *items, int64_t size, bool halo)
{
    runs out = { .count = 1 };
    if (c->kind == TACIT_COMPONENT_FULL) {
        out.max[0] = size;
    } else if (c->kind == TACIT_COMPONENT_SPAN) {
        out.min[0] = c->lo;
        out.max[0] = c->hi;
    } else if (c->kind == TACIT_COMPONENT_DIM) {
        out.min[0] = floor_quotient(items->min[c->dim] * c->mul, c->div) - (halo ? c->lo : 0);
        out.max[0] = -floor_quotient(-items->max[c->dim] * c->mul, c->div) + (halo ? c->hi : 0);
    } else {
        return runs_of_elements(c, items->min[c->dim], items->max[c->dim], size);
    }
    return out;
}

static void push_product(const runs along[3], const gen_box *extent, gen_boxes *out)
{
    for (int i = 0; i < along[0].count; i++) {
        for (int j = 0; j < along[1].count; j++) {
            for (int k = 0; k < along[2].count; k++) {
                push_clamped(out, extent,
                             (gen_box){ { along[0].min[i], along[1].min[j], along[2].min[k] },
                                        { along[0].max[i], along[1].max[j], along[2].max[k] } });
            }
        }
    }
}

static void component_image(const gen_access *access, const gen_box *items, const gen_box *extent, int dims,
                            gen_boxes *out)
{
    bool star = access->mapper.kind == TACIT_MAPPER_STAR;
    for (int axis = 0; axis < (star && dims > 0 ? dims : 1); axis++) {
        runs along[3];
        for (int d = 0; d < 3; d++) {
            along[d] = (runs){ .max = { 1 }, .count = 1 };
            if (d < dims) {
                along[d] = runs_of(&access->mapper.c[d], items, extent->max[d], !star || d == axis);
            }
        }
        push_product(along, extent, out);
    }
}

void gen_image(const gen_program *program, const gen_access *access, const gen_box *items, gen_boxes *out)
{
    gen_box extent = gen_extent(&program->buffer.data[access->buffer]);
    if (access->mode == TACIT_REDUCE) {
        ti_vec_push(out, extent);
    } else if (access->mapper.kind == TACIT_MAPPER_CUSTOM) {
        gen_custom_image(&program->custom.data[access->mapper.arg], items, &extent, out);
    } else {
        component_image(access, items, &extent, count_components(program, access), out);
    }
}

/* ---- custom mappers */

/* The box with [a, b) in dimension 0 and all of the others. */
static void push_slab(gen_boxes *out, const gen_box *extent, int64_t a, int64_t b)
{
    gen_box box = *extent;
    box.min[0] = a;
    box.max[0] = b;
    push_clamped(out, extent, box);
}

static void push_item(const gen_custom *custom, int64_t i, const gen_box *extent, gen_boxes *out)
{
    if (custom->kind == GEN_CUSTOM_STRIDE) {
        int64_t at = i * custom->a + custom->b % custom->a;
        push_slab(out, extent, at, at + 1);
        return;
    }
    gen_box box = { { i, i, i }, { i + 1, i + 1, i + 1 } };
    for (int d = 0; d < 3; d++) {
        if (extent->max[d] == 1) {
            box.min[d] = 0;
            box.max[d] = 1;
        }
    }
    push_clamped(out, extent, box);
}

/* The elements (i, j, *). */
static void push_line(gen_boxes *out, const gen_box *extent, int64_t i, int64_t j)
{
    push_clamped(out, extent, (gen_box){ { i, j, 0 }, { i + 1, j + 1, extent->max[2] } });
}

/* Of kinds that look at two dimensions of the range. */
static void push_pair(const gen_custom *custom, int64_t i, int64_t j, const gen_box *extent, gen_boxes *out)
{
    if (custom->kind == GEN_CUSTOM_CHECKER) {
        if ((i + j + custom->a) % 2 == 0) {
            push_line(out, extent, i, j);
        }
        return;
    }
    push_line(out, extent, i + custom->a, j - custom->b);
    push_line(out, extent, j, i);
}

void gen_custom_image(const gen_custom *custom, const gen_box *items, const gen_box *extent, gen_boxes *out)
{
    int64_t a = items->min[0], b = items->max[0], n = extent->max[0], half = n / 2;
    switch ((gen_custom_kind)custom->kind) {
    case GEN_CUSTOM_SHIFTS:
        push_slab(out, extent, a + custom->a, b + custom->a);
        push_slab(out, extent, a + custom->b, b + custom->b);
        break;
    case GEN_CUSTOM_REVERSE:
        push_slab(out, extent, n - b, n - a);
        break;
    case GEN_CUSTOM_STRIDE:
    case GEN_CUSTOM_DIAGONAL:
        for (int64_t i = a; i < b; i++) {
            push_item(custom, i, extent, out);
        }
        break;
    case GEN_CUSTOM_BAND:
        for (int64_t i = a; i < b; i++) {
            push_slab(out, extent, i - 7 * i % (custom->a + 1), i - 7 * i % (custom->a + 1) + 1);
            push_slab(out, extent, i, i + 1);
            push_slab(out, extent, i + 5 * i % (custom->b + 1), i + 5 * i % (custom->b + 1) + 1);
        }
        break;
    case GEN_CUSTOM_HALVES:
        push_slab(out, extent, a, b < half ? b : half);
        if (a < half) {
            push_slab(out, extent, a + half, (b < half ? b : half) + half);
        }
        break;
    case GEN_CUSTOM_FIXED:
        push_slab(out, extent, custom->a, custom->a + 1);
        push_slab(out, extent, custom->b, custom->b + 2);
        break;
    case GEN_CUSTOM_CHECKER:
    case GEN_CUSTOM_CROSS:
        for (int64_t i = a; i < b; i++) {
            for (int64_t j = items->min[1]; j < items->max[1]; j++) {
                push_pair(custom, i, j, extent, out);
            }
        }
        break;
    }
}

void gen_custom_mapper(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    gen_buffer buffer = { .range = *range };
    gen_box items, extent = gen_extent(&buffer);
    gen_boxes boxes = { 0 };
    for (int d = 0; d < 3; d++) {
        items.min[d] = (int64_t)chunk->min[d];
        items.max[d] = (int64_t)chunk->max[d];
    }
    gen_custom_image(user, &items, &extent, &boxes);
    for (size_t i = 0; i < boxes.count; i++) {
        tacit_box box;
        for (int d = 0; d < 3; d++) {
            box.min[d] = (size_t)boxes.data[i].min[d];
            box.max[d] = (size_t)boxes.data[i].max[d];
        }
        tacit_region_add(out, box);
    }
    ti_vec_fini(&boxes);
}

/* The part of dimension `d` that has index x, if `parts` share the blocks as evenly as they can, the first ones
 * getting one more. */
static int64_t even_part(int64_t n, int64_t block, int64_t parts, int64_t x)
{
    int64_t blocks = (n + block - 1) / block, part = 0;
    parts = TI_MIN(parts, blocks);
    for (int64_t first = 0; part < parts; part++) {
        first += blocks / parts + (part < blocks % parts);
        if (x / block < first) {
            break;
        }
    }
    return part;
}

int gen_owner(const gen_buffer *buffer, int nodes, const int64_t at[3])
{
    const tacit_distribution *d = &buffer->distribution;
    int64_t owner = 0;
    for (int k = 0; k < 3; k++) {
        bool used = k < buffer->range.dims;
        int64_t block = TI_MAX((int64_t)d->block[k], 1), grid = TI_MAX(d->grid[k], 1);
        if (k == 0 && !d->grid[0]) {
            grid = nodes;
        }
        int64_t part = d->kind == TACIT_DISTRIBUTE_CYCLIC
                           ? at[k] / block % grid
                           : even_part(used ? (int64_t)buffer->range.size[k] : 1, block, grid, at[k]);
        owner = owner * grid + part;
    }
    return (int)owner;
}
