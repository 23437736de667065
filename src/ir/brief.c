/* Briefs: see brief.h. */
#include "ir/brief.h"

#include "base/check.h"

#include <string.h>

_Static_assert(TACIT_MAX_ACCESSES % TI_BRIEF_TILES == 0, "numbers of tiles are copied so many at a time");

const ti_task *ti_brief_new(const ti_brief_desc *what, uint64_t id, const uint64_t *dep, size_t deps, ti_arena *arena)
{
    const ti_shape *form = what->form;
    const size_t accesses = form->accesses, room = TI_ALIGN_UP(accesses, (size_t)TI_BRIEF_TILES);
    const size_t each = (size_t)2 * (size_t)form->tile_dims, at = TI_BRIEF_AT + offsetof(ti_brief, tile);
    char *memory = ti_arena_alloc(arena, at + room * sizeof(uint32_t) + (accesses * each + deps) * sizeof(int64_t));
    ti_task *task = (ti_task *)(void *)memory;
    ti_brief *b = (ti_brief *)(void *)(memory + TI_BRIEF_AT);
    int64_t *corner = (int64_t *)(void *)(memory + at + room * sizeof(uint32_t));
    uint64_t *copy = (uint64_t *)(corner + accesses * each);
    task->kind = TI_TASK_BRIEF;
    task->deps = (uint32_t)deps;
    task->id = id;
    task->shape = form;
    task->dep = copy;
    task->args = form->args_size ? ti_arena_copy(arena, what->args, form->args_size) : NULL;
    b->full = what->full;
    b->corner = corner;
    b->place = what->place;
    for (size_t i = 0; i < accesses; i += TI_BRIEF_TILES) {
        memcpy(&b->tile[i], &what->tile[i], TI_BRIEF_TILES * sizeof(uint32_t));
    }
    memcpy(corner, what->corner, accesses * each * sizeof(int64_t));
    memcpy(copy, dep, deps * sizeof(uint64_t));
    return task;
}

const ti_task *ti_brief_task(const ti_task *brief, ti_arena *arena)
{
    const ti_brief *b = ti_brief_of(brief);
    const ti_shape *form = brief->shape;
    ti_shape *shape = ti_arena_alloc(arena, sizeof(*shape) + form->accesses * sizeof(ti_footprint));
    ti_footprint *footprint = (ti_footprint *)(shape + 1);
    TI_ASSERT(brief->kind == TI_TASK_BRIEF);
    *shape = *form;
    for (uint32_t i = 0; i < form->accesses; i++) {
        footprint[i] = (ti_footprint){ .box = &footprint[i].bounding,
                                       .boxes = 1,
                                       .tile = b->tile[i],
                                       .bounding = ti_brief_box(b->corner, form->tile_dims, i) };
    }
    shape->footprint = footprint;
    shape->full = b->full;
    shape->bare = true;
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
