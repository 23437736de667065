/* Placed tasks on tiles: see tile.h. */
#include "api/tile.h"

#include "api/check_task.h"

#include <string.h>

/* As ti_mapper_expand makes it. */
static inline void fill_mapper(ti_mapper *out, const tacit_mapper *from, int dims)
{
    memset(out, 0, sizeof(*out));
    out->dims = dims;
    out->custom = -1;
    for (int d = 0; d < dims; d++) {
        const tacit_component *c = &from->c[d];
        bool full = c->kind == TACIT_COMPONENT_FULL || ti_mapper_spans_all(c);
        out->c[d].kind = full ? TACIT_COMPONENT_FULL : TACIT_COMPONENT_SPAN;
        out->c[d].lo = full ? 0 : c->lo;
        out->c[d].hi = full ? 0 : c->hi;
    }
}

/* The box that an access with a constant mapper touches, if there is one and it lies in its buffer. */
static inline bool find_box(const tacit_access *a, ti_box *out)
{
    const ti_buffer_info *info = &a->buffer->info;
    *out = info->extent;
    for (int d = 0; d < info->dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        if (c->kind == TACIT_COMPONENT_FULL || ti_mapper_spans_all(c)) {
            continue;
        }
        if (c->kind != TACIT_COMPONENT_SPAN || c->lo < 0 || c->hi > info->extent.max[d] || c->lo >= c->hi) {
            return false;
        }
        out->min[d] = c->lo;
        out->max[d] = c->hi;
    }
    return true;
}

/* Whether it writes what an access before it touches, or the other way around. */
static inline bool clashes(const ti_access *access, const ti_footprint *footprint, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (access[i].buffer == access[index].buffer &&
            (ti_access_writes(&access[i]) || ti_access_writes(&access[index])) &&
            ti_box_meets(&footprint[i].bounding, &footprint[index].bounding)) {
            return true;
        }
    }
    return false;
}

const ti_shape *ti_tile_shape(const tacit_context *ctx, const ti_shape *form, const tacit_task *given, ti_arena *arena)
{
    uint32_t count = form->accesses;
    if ((uint32_t)given->place.arg >= (uint32_t)ti_runtime_system(ctx->runtime)->num_nodes) {
        return NULL;
    }
    ti_arena_mark before = ti_arena_here(arena);
    ti_shape *shape = ti_arena_copy(arena, form, sizeof(*form));
    ti_access *access = ti_arena_copy(arena, form->access, count * sizeof(*access));
    ti_footprint *footprint = TI_ARENA_ARRAY(arena, ti_footprint, count);
    ti_mapper *mapper = TI_ARENA_ARRAY(arena, ti_mapper, count);
    for (uint32_t i = 0; i < count; i++) {
        const tacit_access *a = &given->access[i];
        ti_footprint *f = &footprint[i];
        bool known = i > 0 && a->buffer == given->access[i - 1].buffer;
        if (!(known || ti_buffer_is_usable(ctx, a->buffer)) || !find_box(a, &f->bounding)) {
            ti_arena_go_back(arena, before);
            return NULL;
        }
        f->box = &f->bounding;
        f->boxes = 1;
        access[i].buffer = &a->buffer->info;
        access[i].mapper = &mapper[i];
        fill_mapper(&mapper[i], &a->mapper, a->buffer->info.dims);
        if (clashes(access, footprint, i)) {
            ti_arena_go_back(arena, before);
            return NULL;
        }
    }
    shape->place = given->place.arg;
    shape->access = access;
    shape->footprint = footprint;
    return shape;
}
