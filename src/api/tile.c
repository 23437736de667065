/* Placed tasks on tiles: see tile.h. */
#include "api/tile.h"

#include "base/check.h"

#include <string.h>

/* Whether all components are good ones; *all: they touch all of the buffer. */
static inline bool fill_box(const tacit_access *a, ti_tile *out, bool *all)
{
    const ti_buffer_info *info = a->buffer->info;
    int64_t less = 0;
    unsigned full = 7;
    out->box = info->extent;
    for (int d = 0; d < info->dims; d++) {
        const tacit_component *c = &a->mapper.c[d];
        const int64_t lo = c->lo, hi = c->hi, n = info->extent.max[d];
        if (TI_LIKELY(c->kind == TACIT_COMPONENT_SPAN && lo >= 0 && lo < hi && hi <= n)) {
            out->box.min[d] = lo;
            out->box.max[d] = hi;
            full &= ~(1u << d);
            less |= lo | (hi ^ n);
        } else if (c->kind != TACIT_COMPONENT_FULL && !ti_mapper_spans_all(c)) {
            return false;
        }
    }
    out->full = (uint8_t)full;
    *all = less == 0;
    return true;
}

/* Whether the components are spans that make a box which has a number: then they are good ones. */
static inline bool find_known(const tacit_access *a, const ti_tiles *tiles, int dims, ti_tile *out)
{
    const tacit_component *c = a->mapper.c;
    int others = c[0].kind ^ TACIT_COMPONENT_SPAN;
    out->box = (ti_box){ { c[0].lo, 0, 0 }, { c[0].hi, 1, 1 } };
    out->full = 6;
    if (dims > 1) {
        others |= c[1].kind ^ TACIT_COMPONENT_SPAN;
        out->box.min[1] = c[1].lo;
        out->box.max[1] = c[1].hi;
        out->full = 4;
    }
    if (dims > 2) {
        others |= c[2].kind ^ TACIT_COMPONENT_SPAN;
        out->box.min[2] = c[2].lo;
        out->box.max[2] = c[2].hi;
        out->full = 0;
    }
    out->number = others ? 0 : ti_tiles_find(tiles, &out->box);
    return out->number > 0;
}

bool ti_tile_fill(const tacit_context *ctx, const tacit_task *given, uint32_t accesses, const tacit_buffer **usable,
                  ti_tile *out)
{
    ti_task_graph *graph = ti_runtime_task_graph(ctx->runtime);
    const tacit_buffer *buffer = NULL;
    ti_tiles **tiles = NULL;
    for (uint32_t i = 0; i < accesses; i++) {
        const tacit_access *a = &given->access[i];
        bool constant = a->mapper.kind == TACIT_MAPPER_FIXED || a->mapper.kind == TACIT_MAPPER_ALL, all;
        if (!constant || a->mode == TACIT_REDUCE) {
            return false;
        }
        if (a->buffer != buffer) {
            if (a->buffer != *usable && !ti_buffer_is_usable(ctx, a->buffer)) {
                return false;
            }
            *usable = buffer = a->buffer;
            tiles = ti_task_graph_tiles(graph, buffer->info);
        }
        if (TI_LIKELY(*tiles && find_known(a, *tiles, buffer->info->dims, &out[i]))) {
            continue;
        }
        if (!fill_box(a, &out[i], &all)) {
            return false;
        }
        out[i].number = all ? 0 : ti_tiles_number(tiles, buffer->info->dims, &out[i].box);
    }
    return true;
}

/* ---- shapes: behind one lie its footprints, then its accesses and mappers, as many of each. One of a task
 * that runs elsewhere uses the form's accesses */

static size_t bytes_to_accesses(uint32_t accesses)
{
    return sizeof(ti_shape) + accesses * sizeof(ti_footprint);
}

static size_t bytes_of(uint32_t accesses)
{
    return bytes_to_accesses(accesses) + accesses * (sizeof(ti_access) + sizeof(ti_mapper));
}

ti_shape *ti_tile_form(const ti_shape *shape, ti_arena *arena)
{
    ti_shape *form = ti_arena_alloc_zero(arena, bytes_of(shape->accesses));
    ti_footprint *footprint = (ti_footprint *)(form + 1);
    ti_access *access = (ti_access *)(footprint + shape->accesses);
    *form = *shape;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        access[i] = shape->access[i];
        access[i].mapper = NULL;
        footprint[i].boxes = 1;
    }
    form->name = ti_arena_copy(arena, shape->name, strlen(shape->name) + 1);
    form->access = access;
    form->order = NULL;
    form->submission = NULL;
    form->serial = 0;
    form->number = 0;
    return form;
}

/* Whether one writes what another touches. */
static inline bool clash(const ti_access *access, const tacit_task *given, const ti_tile *tile, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!ti_access_writes(&access[i])) {
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            if (k != i && ti_box_meets(&tile[i].box, &tile[k].box) &&
                given->access[i].buffer == given->access[k].buffer) {
                return true;
            }
        }
    }
    return false;
}

/* Whether nobody will look at mappers, and the accesses can be those of the form. */
static inline bool is_foreign(const ti_system *system, const ti_shape *form, const tacit_task *given)
{
    bool foreign = given->place.arg != system->node && !form->pure && !system->explain && !system->record;
    for (uint32_t i = 0; i < form->accesses && foreign; i++) {
        foreign = given->access[i].buffer->info == form->access[i].buffer;
    }
    return foreign;
}

static inline void fill_footprints(ti_shape *shape, const ti_tile *tile)
{
    ti_footprint *footprint = (ti_footprint *)(shape + 1);
    uint64_t full = 0;
    for (uint32_t i = shape->accesses; i-- > 0;) {
        footprint[i].box = &footprint[i].bounding;
        footprint[i].bounding = tile[i].box;
        footprint[i].tile = tile[i].number;
        full = full << TI_FULL_BITS | tile[i].full;
    }
    shape->footprint = footprint;
    shape->full = full;
}

static ti_shape *foreign_shape(const ti_shape *form, ti_arena *arena)
{
    ti_shape *shape = ti_arena_copy(arena, form, bytes_to_accesses(form->accesses));
    shape->bare = true;
    return shape;
}

static ti_shape *whole_shape(const ti_shape *form, const tacit_task *given, const ti_tile *tile, ti_arena *arena)
{
    ti_shape *shape = ti_arena_copy(arena, form, bytes_of(form->accesses));
    ti_access *access = (ti_access *)((char *)shape + bytes_to_accesses(form->accesses));
    ti_mapper *mapper = (ti_mapper *)(access + form->accesses);
    for (uint32_t i = 0; i < form->accesses; i++) {
        access[i].buffer = given->access[i].buffer->info;
        access[i].mapper = &mapper[i];
        ti_mapper_of_tile(&mapper[i], access[i].buffer->dims, &tile[i].box, tile[i].full);
    }
    shape->access = access;
    return shape;
}

const ti_shape *ti_tile_shape(const tacit_context *ctx, const ti_shape *form, const tacit_task *given,
                              const ti_tile *tile, ti_arena *arena)
{
    const ti_system *system = ti_runtime_system(ctx->runtime);
    if ((uint32_t)given->place.arg >= (uint32_t)system->num_nodes || clash(form->access, given, tile, form->accesses)) {
        return NULL;
    }
    ti_shape *shape = is_foreign(system, form, given) ? foreign_shape(form, arena)
                                                      : whole_shape(form, given, tile, arena);
    fill_footprints(shape, tile);
    shape->place = given->place.arg;
    return shape;
}
