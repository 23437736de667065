/* Placed tasks on tiles: see tile.h. */
#include "api/tile.h"

#include "api/check_task.h"

#include <string.h>

/* What an access with a constant mapper touches, and the mapper as ti_mapper_expand makes it. False: the access is not
 * good, or touches nothing. */
static inline bool fill_tile(const tacit_access *a, ti_box *box, ti_mapper *mapper)
{
    const ti_buffer_info *info = &a->buffer->info;
    bool good = true;
    *box = info->extent;
    memset(mapper, 0, sizeof(*mapper));
    mapper->dims = info->dims;
    mapper->custom = -1;
    for (int d = 0; d < info->dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        if (c->kind == TACIT_COMPONENT_FULL || ti_mapper_spans_all(c)) {
            mapper->c[d].kind = TACIT_COMPONENT_FULL;
            continue;
        }
        good = good && c->lo >= 0 && c->hi <= info->extent.max[d] && c->lo < c->hi;
        mapper->c[d].kind = TACIT_COMPONENT_SPAN;
        box->min[d] = mapper->c[d].lo = c->lo;
        box->max[d] = mapper->c[d].hi = c->hi;
    }
    return good;
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
    ti_access *access = TI_ARENA_ARRAY(arena, ti_access, count);
    ti_footprint *footprint = TI_ARENA_ARRAY(arena, ti_footprint, count);
    ti_mapper *mapper = TI_ARENA_ARRAY(arena, ti_mapper, count);
    for (uint32_t i = 0; i < count; i++) {
        const tacit_access *a = &given->access[i];
        ti_footprint *f = &footprint[i];
        bool is_known = i > 0 && a->buffer == given->access[i - 1].buffer;
        access[i] = form->access[i];
        access[i].mapper = &mapper[i];
        if (!(is_known || ti_buffer_is_usable(ctx, a->buffer)) || !fill_tile(a, &f->bounding, &mapper[i])) {
            ti_arena_go_back(arena, before);
            return NULL;
        }
        access[i].buffer = &a->buffer->info;
        f->box = &f->bounding;
        f->boxes = 1;
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
