/* The allocations of buffers: per buffer and memory a set of disjoint boxes that are allocated, and who used them last.
 *
 * A footprint (the box that a kernel or message needs contiguously) must lie in one allocation. If none covers it, a new one takes the bounding
 * box of the footprint and of all allocations that meet it; what they hold is copied over and they are freed. Tiles that nobody needs together
 * thus stay separate, and stencils grow once. Part of the instruction graph: functions append instructions to its batch. Scheduler thread. */
#ifndef TI_MEMORY_H
#define TI_MEMORY_H

#include "base/arena.h"
#include "ir/instruction.h"
#include "ir/system.h"
#include "plan/tracker.h"

typedef struct ti_allocation {
    uint64_t id;
    ti_box box;
} ti_allocation;

typedef struct ti_buffer_memory {
    int device;              /* that serves this memory */
    ti_region_map allocated; /* box to allocation id */
    ti_allocation latest;    /* the one found last: loops ask for it again */
    ti_tracker tracker;
} ti_buffer_memory;

/* What appends to a batch needs: the instruction graph's moving parts. */
typedef struct ti_emitter {
    ti_arena_ring arenas;
    TI_VEC(const ti_instruction *) batch;
    uint64_t next_id, next_allocation;
    uint64_t reallocations;
    ti_deps deps;
    ti_era era;
    ti_region_entries scratch;
} ti_emitter;

/* A zeroed instruction with its id, whose dependencies are collected in emitter->deps until ti_emit. */
ti_instruction *ti_emit_start(ti_emitter *emitter, ti_instruction_kind kind, const ti_task *task);
void ti_emit(ti_emitter *emitter, ti_instruction *instruction);

void ti_buffer_memory_init(ti_buffer_memory *memory, int device, ti_emitter *emitter);
void ti_buffer_memory_fini(ti_buffer_memory *memory);

/* Make sure that one allocation covers `box`. */
void ti_buffer_memory_ensure(ti_buffer_memory *memory, ti_emitter *emitter, const ti_task *task,
                             const ti_buffer_info *buffer, const ti_box *box);
/* The place of `box`, which an allocation covers. */
ti_place ti_buffer_memory_place(ti_buffer_memory *memory, const ti_box *box);
/* Free everything, when its last users are done. */
void ti_buffer_memory_release(ti_buffer_memory *memory, ti_emitter *emitter, const ti_task *task,
                              const ti_buffer_info *buffer);

/* Staging memory outside buffers. Its users depend on the returned instruction; `out` gets the allocation. */
uint64_t ti_emit_staging(ti_emitter *emitter, const ti_task *task, int device, size_t bytes, uint64_t *out);

#endif
