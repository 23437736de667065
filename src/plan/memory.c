/* The allocations of buffers: see memory.h. */
#include "plan/memory.h"

#include "base/check.h"

#include <string.h>

ti_instruction *ti_emit_start(ti_emitter *e, ti_instruction_kind kind, const ti_task *task)
{
    ti_instruction *instruction = TI_ARENA_NEW(ti_arena_ring_top(&e->arenas), ti_instruction);
    instruction->kind = kind;
    instruction->id = e->next_id++;
    instruction->task = task;
    instruction->priority = task->priority;
    ti_deps_start(&e->deps, instruction->id);
    return instruction;
}

void ti_emit(ti_emitter *e, ti_instruction *instruction)
{
    instruction->deps = (uint32_t)e->deps.ids.count;
    instruction->dep = ti_arena_copy(ti_arena_ring_top(&e->arenas), e->deps.ids.data,
                                     instruction->deps * sizeof(uint64_t));
    ti_vec_push(&e->batch, instruction);
}

void ti_buffer_memory_init(ti_buffer_memory *memory, int device, ti_emitter *emitter)
{
    memset(memory, 0, sizeof(*memory));
    memory->device = device;
    ti_region_map_init(&memory->allocated);
    ti_tracker_init(&memory->tracker, &emitter->era);
}

void ti_buffer_memory_fini(ti_buffer_memory *memory)
{
    ti_region_map_fini(&memory->allocated);
    ti_tracker_fini(&memory->tracker);
}

static bool find_covering(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box)
{
    if (memory->latest.id && ti_box_covers(&memory->latest.box, box)) {
        return true;
    }
    ti_vec_clear(&e->scratch);
    ti_region_map_query(&memory->allocated, box, &e->scratch);
    if (e->scratch.count == 1 && ti_box_covers(&e->scratch.data[0].box, box)) {
        memory->latest = (ti_allocation){ e->scratch.data[0].value, e->scratch.data[0].box };
        return true;
    }
    return false;
}

/* The bounding box of `box` and all allocations that meet it; leaves those allocations in the scratch list. */
static ti_box grown_box(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box)
{
    ti_box grown = *box;
    for (bool changed = true; changed;) {
        changed = false;
        ti_vec_clear(&e->scratch);
        ti_region_map_query(&memory->allocated, &grown, &e->scratch);
        for (size_t i = 0; i < e->scratch.count; i++) {
            if (!ti_box_covers(&grown, &e->scratch.data[i].box)) {
                grown = ti_box_bounding(&grown, &e->scratch.data[i].box);
                changed = true;
            }
        }
    }
    return grown;
}

static void emit_free(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                      const ti_region_entry *old)
{
    ti_instruction *instruction = ti_emit_start(e, TI_INSTRUCTION_FREE, task);
    instruction->device = memory->device;
    instruction->as.memory.allocation = old->value;
    instruction->as.memory.buffer = buffer;
    instruction->as.memory.box = old->box;
    instruction->as.memory.bytes = (size_t)ti_box_volume(&old->box) * buffer->elem_size;
    ti_tracker_uses(&memory->tracker, &old->box, &e->deps);
    ti_emit(e, instruction);
}

/* `buffer` NULL: staging, `box` counts bytes. */
static uint64_t emit_alloc(ti_emitter *e, const ti_task *task, int device, const ti_buffer_info *buffer,
                           const ti_box *box, uint64_t *out)
{
    ti_instruction *instruction = ti_emit_start(e, TI_INSTRUCTION_ALLOC, task);
    *out = ++e->next_allocation;
    instruction->device = device;
    instruction->as.memory.allocation = *out;
    instruction->as.memory.buffer = buffer;
    instruction->as.memory.box = *box;
    instruction->as.memory.bytes = (size_t)ti_box_volume(box) * (buffer ? buffer->elem_size : 1);
    ti_emit(e, instruction);
    return instruction->id;
}

/* Copy an old allocation into the new one and free it. Users of its box wait for the copy from now on. */
static void move_contents(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                          const ti_region_entry *old, const ti_allocation *fresh, uint64_t alloc)
{
    ti_instruction *copy = ti_emit_start(e, TI_INSTRUCTION_COPY, task);
    copy->device = memory->device;
    copy->as.copy.from = (ti_place){ .allocation = old->value, .whole = old->box };
    copy->as.copy.to = (ti_place){ .allocation = fresh->id, .whole = fresh->box };
    copy->as.copy.box = old->box;
    copy->as.copy.elem_size = buffer->elem_size;
    ti_deps_add(&e->deps, alloc);
    ti_tracker_read(&memory->tracker, &old->box, copy->id, &e->deps);
    ti_emit(e, copy);
    emit_free(memory, e, task, buffer, old);
    ti_tracker_write(&memory->tracker, &old->box, copy->id, &e->deps);
    ti_region_map_remove(&memory->allocated, &old->box, old->value);
    e->reallocations++;
}

/* Where nothing was allocated before, users wait for the allocation. */
static void claim_new_parts(ti_buffer_memory *memory, ti_emitter *e, const ti_box *box, const ti_region_entries *old,
                            uint64_t alloc)
{
    ti_boxes rest = { 0 };
    ti_vec_push(&rest, *box);
    for (size_t i = 0; i < old->count; i++) {
        ti_boxes_subtract(&rest, &old->data[i].box);
    }
    for (size_t i = 0; i < rest.count; i++) {
        ti_tracker_write(&memory->tracker, &rest.data[i], alloc, &e->deps);
    }
    ti_vec_fini(&rest);
}

void ti_buffer_memory_ensure(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task, const ti_buffer_info *buffer,
                             const ti_box *box)
{
    if (ti_box_is_empty(box) || find_covering(memory, e, box)) {
        return;
    }
    ti_allocation fresh = { .box = grown_box(memory, e, box) };
    uint64_t alloc = emit_alloc(e, task, memory->device, buffer, &fresh.box, &fresh.id);
    claim_new_parts(memory, e, &fresh.box, &e->scratch, alloc);
    for (size_t i = 0; i < e->scratch.count; i++) {
        move_contents(memory, e, task, buffer, &e->scratch.data[i], &fresh, alloc);
    }
    ti_region_map_insert(&memory->allocated, &fresh.box, fresh.id);
    memory->latest = fresh;
}

ti_place ti_buffer_memory_place(ti_buffer_memory *memory, const ti_box *box)
{
    if (memory->latest.id && ti_box_covers(&memory->latest.box, box)) {
        return (ti_place){ .allocation = memory->latest.id, .whole = memory->latest.box };
    }
    ti_region_entries found = { 0 };
    ti_region_map_query(&memory->allocated, box, &found);
    TI_ASSERT(found.count == 1 && ti_box_covers(&found.data[0].box, box));
    memory->latest = (ti_allocation){ found.data[0].value, found.data[0].box };
    ti_vec_fini(&found);
    return (ti_place){ .allocation = memory->latest.id, .whole = memory->latest.box };
}

void ti_buffer_memory_release(ti_buffer_memory *memory, ti_emitter *e, const ti_task *task,
                              const ti_buffer_info *buffer)
{
    ti_vec_clear(&e->scratch);
    ti_region_map_query(&memory->allocated, &buffer->extent, &e->scratch);
    for (size_t i = 0; i < e->scratch.count; i++) {
        emit_free(memory, e, task, buffer, &e->scratch.data[i]);
    }
}

uint64_t ti_emit_staging(ti_emitter *e, const ti_task *task, int device, size_t bytes, uint64_t *out)
{
    ti_box box = { { 0, 0, 0 }, { (int64_t)bytes, 1, 1 } };
    return emit_alloc(e, task, device, NULL, &box, out);
}
