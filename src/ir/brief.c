/* Briefs: see brief.h. */
#include "ir/brief.h"

#include "base/check.h"

#include <string.h>

static inline size_t dims_of(const ti_shape *form, uint32_t access)
{
    return (size_t)form->access[access].buffer->dims;
}

static inline void put_corners(int64_t *corner, size_t dims, const ti_box *box)
{
    for (size_t d = 0; d < dims; d++) {
        corner[d] = box->min[d];
        corner[dims + d] = box->max[d];
    }
}

const ti_task *ti_brief_new(const ti_brief_desc *what, uint64_t id, const uint64_t *dep, size_t deps, ti_arena *arena)
{
    const ti_shape *form = what->form;
    const size_t accesses = form->accesses, at = TI_BRIEF_AT + offsetof(ti_brief, tile) + accesses * sizeof(uint32_t);
    size_t corners = 0;
    for (uint32_t i = 0; i < accesses; i++) {
        corners += 2 * dims_of(form, i);
    }
    char *memory = ti_arena_alloc(arena, TI_ALIGN_UP(at, sizeof(int64_t)) + (corners + deps) * sizeof(int64_t));
    int64_t *corner = (int64_t *)(void *)(memory + TI_ALIGN_UP(at, sizeof(int64_t)));
    uint64_t *copy = (uint64_t *)(corner + corners);
    ti_task *task = (ti_task *)(void *)memory;
    ti_brief *b = (ti_brief *)(void *)(memory + TI_BRIEF_AT);
    task->kind = TI_TASK_BRIEF;
    task->deps = (uint32_t)deps;
    task->id = id;
    task->shape = form;
    task->dep = copy;
    task->args = form->args_size ? ti_arena_copy(arena, what->args, form->args_size) : NULL;
    b->full = what->full;
    b->corner = corner;
    b->place = what->place;
    for (uint32_t i = 0; i < accesses; i++) {
        const size_t dims = dims_of(form, i);
        TI_ASSERT(what->tile[i].tile > 0);
        b->tile[i] = what->tile[i].tile;
        put_corners(corner, dims, &what->tile[i].bounding);
        corner += 2 * dims;
    }
    for (size_t i = 0; i < deps; i++) {
        copy[i] = dep[i];
    }
    return task;
}

const ti_task *ti_brief_task(const ti_task *brief, ti_arena *arena)
{
    const ti_brief *b = ti_brief_of(brief);
    const ti_shape *form = brief->shape;
    const int64_t *corner = b->corner;
    ti_shape *shape = ti_arena_alloc(arena, sizeof(*shape) + form->accesses * sizeof(ti_footprint));
    ti_footprint *footprint = (ti_footprint *)(shape + 1);
    TI_ASSERT(brief->kind == TI_TASK_BRIEF);
    *shape = *form;
    for (uint32_t i = 0; i < form->accesses; i++) {
        const size_t dims = dims_of(form, i);
        ti_footprint *f = &footprint[i];
        *f = (ti_footprint){ .boxes = 1, .tile = b->tile[i], .bounding = { { 0, 0, 0 }, { 1, 1, 1 } } };
        memcpy(f->bounding.min, corner, dims * sizeof(*corner));
        memcpy(f->bounding.max, corner + dims, dims * sizeof(*corner));
        f->box = &f->bounding;
        corner += 2 * dims;
    }
    shape->footprint = footprint;
    shape->full = b->full;
    shape->bare = true;
    shape->tiled = false; /* what all tiles of one buffer have in common has been looked at */
    shape->place = b->place;
    ti_task *task = TI_ARENA_NEW(arena, ti_task);
    task->kind = TI_TASK_EXECUTE;
    task->deps = brief->deps;
    task->id = brief->id;
    task->shape = shape;
    task->dep = brief->dep;
    task->args = brief->args;
    return task;
}
