/* The allocations of buffers: per buffer and place a set of disjoint boxes that are allocated, and their last users.
 *
 * A memory has one place for a buffer, or several, whose allocations may overlap (plan/instruction/places.c). A
 * footprint (the box that a kernel or message needs contiguously) must lie in one allocation. First everything that a
 * window of tasks needs is noted (`want`). Then one allocation is made for what belongs together: the bounding box of
 * footprints that overlap, and of the allocations that meet it, whose contents are copied over. Tiles that nobody needs
 * together stay separate, and what grows inside a window is allocated once. What grows again and again gets room for
 * half as much more, so that copies stay in proportion.
 *
 * Invariant: wanted boxes do not meet each other, and an allocation that meets one lies inside it.
 * Part of the instruction graph: functions append instructions to its batch. Scheduler thread. */
#ifndef TI_MEMORY_H
#define TI_MEMORY_H

#include "base/arena.h"
#include "ir/instruction.h"
#include "ir/system.h"
#include "plan/memory/budget.h"

typedef struct ti_allocation {
    uint64_t id;
    ti_box box;
} ti_allocation;

/* Why a box is needed: an access of a task, or (access -1) a message, a fence, or what a buffer is created with. */
typedef struct ti_need {
    const ti_task *task;
    int access;
} ti_need;

typedef struct ti_buffer_memory {
    int memory, device;      /* of the system; the device that serves it */
    bool foreign;            /* an accelerator's: the host cannot address it */
    uint16_t appends;        /* allocations that began where the one before ends */
    uint32_t growths;        /* allocations that replaced others */
    ti_region_map allocated; /* box to allocation id */
    ti_region_map wanted;    /* box to the index of a ti_want */
    ti_allocation latest;    /* the one found last: loops ask for it again */
    uint64_t changed;        /* instructions up to this one have allocated it, and moved what it holds */
    ti_tracker tracker;
} ti_buffer_memory;

/* A box that is to be allocated, for the needs that it joins. */
typedef struct ti_want {
    ti_buffer_memory *memory;
    const ti_buffer_info *buffer;
    const ti_task *task; /* the first that needs it */
    ti_box box;          /* empty: another want has taken it over */
    ti_need largest;     /* who needs most of it at once */
    ti_box footprint;    /* and what that is */
    bool grows;          /* replaces allocations */
} ti_want;

/* What the commands of a window need, noted where a device's memory is short: plan/stream/spill.c. */
typedef struct ti_mark {
    const ti_buffer_memory *place;
    ti_box box;
} ti_mark;

/* An allocation of a buffer that makes room on a device. */
typedef struct ti_spilled {
    uint32_t slot; /* the buffer's */
    int place;
    ti_region_entry at;
} ti_spilled;
typedef TI_VEC(ti_spilled) ti_spills;

/* What appends to a batch needs: the instruction graph's moving parts. */
typedef struct ti_emitter {
    ti_arena_ring arenas;
    TI_VEC(const ti_instruction *) batch;
    uint64_t next_id, next_allocation;
    uint64_t reallocations, reallocated_bytes;
    uint32_t growths; /* of one buffer in one place, at most */
    ti_deps deps;
    ti_era era;
    ti_region_entries scratch, overlapping;
    ti_budget budget;
    ti_budget *own; /* by memory, of those that devices have to themselves, without staging; not of the host's */
    bool is_marking;
    TI_VEC(ti_mark) marks;
    ti_spills spills; /* chosen by a window that closes */
    uint64_t spilled; /* bytes of allocations that made room */
    TI_VEC(ti_want) wants;
    TI_VEC(size_t) order;  /* of those that are to be allocated */
    uint64_t wanted_bytes; /* of all wants; with a limit only */
    uint64_t changes;      /* of allocations of buffers, so far */
    bool new_want;         /* set when something is wanted that was not */
    bool follows_horizon;  /* whatever comes waits for the applied horizon too */
} ti_emitter;

/* A zeroed instruction with its id, whose dependencies are collected in emitter->deps until ti_emit. */
ti_instruction *ti_emit_start(ti_emitter *emitter, ti_instruction_kind kind, const ti_task *task);
void ti_emit(ti_emitter *emitter, ti_instruction *instruction);
/* The same start for one that is filled already but for its id and task. */
void ti_emit_begin(ti_emitter *emitter, ti_instruction *instruction, const ti_task *task);
void ti_emit_deps(ti_emitter *emitter, ti_instruction *instruction); /* it gets them, and is not emitted yet */

void ti_buffer_memory_init(ti_buffer_memory *memory, const ti_system *system, int of, ti_emitter *emitter);
void ti_buffer_memory_fini(ti_buffer_memory *memory);

/* Whether the allocation that was found last covers `box`: nearly always, in loops. */
static inline bool ti_buffer_memory_has(const ti_buffer_memory *memory, const ti_box *box)
{
    return memory->latest.id && ti_box_covers(&memory->latest.box, box);
}
/* How much would be allocated for `box`, in elements (no allocation has it), and how much of that is used:
 * the box itself, and what is allocated and wanted where it meets that. */
typedef struct ti_growth {
    int64_t whole, used;
} ti_growth;
ti_growth ti_buffer_memory_growth(ti_buffer_memory *memory, ti_emitter *emitter, const ti_box *box);
/* Somebody needs `box` in one allocation: it is wanted from now on, unless there is one. Returns what is wanted. */
ti_box ti_buffer_memory_want(ti_buffer_memory *memory, ti_emitter *emitter, ti_need need, const ti_buffer_info *buffer,
                             const ti_box *box);
/* Whether an allocation covers `box`, or will, since somebody else wants that. */
bool ti_buffer_memory_provides(ti_buffer_memory *memory, const ti_box *box);
/* Forget what is wanted inside of `box` but for what grows: another place has got the box. */
void ti_buffer_memory_yield(ti_buffer_memory *memory, ti_emitter *emitter, const ti_box *box);
/* Bytes of the allocations that meet `box`. */
uint64_t ti_allocated_bytes(ti_emitter *emitter, ti_buffer_memory *memory, const ti_buffer_info *buffer,
                            const ti_box *box);
/* Bytes in use at most while all wants are allocated, one after the other, and then `staging` bytes more. */
uint64_t ti_wants_peak(ti_emitter *emitter, uint64_t staging);
/* The same of one memory that is a device's own. */
uint64_t ti_wants_peak_in(ti_emitter *emitter, int memory);
/* Allocate what is wanted in the host's memory, or all of it; forget that. */
void ti_wants_allocate_on_host(ti_emitter *emitter);
void ti_wants_allocate(ti_emitter *emitter);
void ti_wants_drop(ti_emitter *emitter);

/* Make sure that one allocation covers `box`, at once. */
void ti_buffer_memory_ensure(ti_buffer_memory *memory, ti_emitter *emitter, const ti_task *task,
                             const ti_buffer_info *buffer, const ti_box *box);
/* Whether an allocation covers `box`: it is the latest now. */
bool ti_buffer_memory_find(ti_buffer_memory *memory, const ti_box *box);
/* The place of `box`, which an allocation covers. */
static inline ti_place ti_buffer_memory_place(ti_buffer_memory *memory, const ti_box *box)
{
    bool covered = TI_LIKELY(ti_buffer_memory_has(memory, box)) || ti_buffer_memory_find(memory, box);
    TI_ASSERT(covered);
    return (ti_place){ .allocation = memory->latest.id, .whole = memory->latest.box };
}
/* Free one allocation, when its last users are done: it is as if it had never been. */
void ti_buffer_memory_evict(ti_buffer_memory *memory, ti_emitter *emitter, const ti_task *task,
                            const ti_buffer_info *buffer, const ti_region_entry *at);
/* Free everything, when its last users are done. */
void ti_buffer_memory_release(ti_buffer_memory *memory, ti_emitter *emitter, const ti_task *task,
                              const ti_buffer_info *buffer);

/* Staging memory outside buffers. Its users depend on the returned instruction; `out` gets the allocation. */
uint64_t ti_emit_staging(ti_emitter *emitter, const ti_task *task, int device, size_t bytes, uint64_t *out);
/* Free it after `count` instructions. */
void ti_emit_unstaging(ti_emitter *emitter, const ti_task *task, int device, size_t bytes, uint64_t allocation,
                       const uint64_t *after, size_t count);

static inline uint64_t ti_bytes_of(const ti_buffer_info *buffer, const ti_box *box)
{
    return (uint64_t)ti_box_volume(box) * buffer->elem_size;
}

#endif
