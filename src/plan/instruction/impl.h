/* The state of the instruction graph, what one command becomes, and who calls whom.
 *
 * graph.h is the outside. plan/stream takes commands in, and compiles them one after the other. It calls, by the kind
 * of the command, kernel.c (executions), transfer.c (messages), collective.c and reduce.c. kernel.c asks follow.c for
 * dependencies where that is possible. reduce.c calls reduce_blocks.c for tasks in blocks; both stand on staging.c,
 * which stands on blocks.c and keep.c. All of them call places.c for where data is to lie, coherent_copies.c for what
 * is read and written, and memory.h for allocations. Only this folder and plan/stream include it; staging.h has more
 * for reductions. Scheduler thread. */
#ifndef TI_INSTRUCTION_IMPL_H
#define TI_INSTRUCTION_IMPL_H

#include "base/check.h"
#include "plan/instruction/bundle.h"
#include "plan/instruction/cycle.h"
#include "plan/instruction/follow.h"
#include "plan/instruction/keep.h"
#include "plan/instruction/tile.h"
#include "plan/memory/coherence.h"
#include "plan/memory/memory.h"
#include "plan/track/order.h"
#include "plan/track/sent.h"

/* A piece of a command on the device that will run it. */
typedef struct ti_device_piece {
    const ti_piece *piece;
    int device;
    int memory; /* that the kernel works in */
} ti_device_piece;

/* Partial results of one reduced access: slots of one value each, first those of the pieces' parts, then those of
 * children. Devices with a memory of their own fill slots there, which are copied over. */
typedef struct ti_staging {
    const ti_task *task;
    uint32_t access;
    bool in_place; /* there is none: the only slot is the buffer itself */
    uint64_t allocation;
    const uint64_t *after; /* instructions that its first users wait for */
    size_t afters;
    size_t first;              /* of its pieces in the window */
    uint32_t piece_slots;      /* of each piece on a host device; 0: in blocks */
    uint32_t own_slots, slots; /* slots: with those of received results */
    size_t elements, slot_bytes;
} ti_staging;

/* The slots of a piece within a staging allocation. */
typedef struct ti_slot_range {
    uint32_t first, count;
} ti_slot_range;

/* A piece of a task in blocks: what each part of its kernel computes, and where from on in the piece's slots. */
typedef struct ti_block_piece {
    ti_slot_range slots;
    uint32_t runs;
    const ti_block_span *run;
    const uint32_t *run_slot;
} ti_block_piece;

/* Commands that were not compiled yet, in order: usually those of one task. */
typedef struct ti_window {
    TI_VEC(const ti_command *) command;
    TI_VEC(ti_device_piece) piece; /* of all of them */
    TI_VEC(size_t) first_piece;    /* of each */
    int horizons, calm_horizons;   /* in the window; since the last new need */
    size_t newest;                 /* first command of the newest task, or of those that are joined with it */
    uint64_t bundled;              /* bytes of parts of messages */
    uint64_t staging;              /* bytes of partial results of the task that has most */
    uint64_t newest_staging;       /* and of the newest task */
} ti_window;

typedef struct ti_buffer_state {
    const ti_buffer_info *info;
    ti_coherence *coherence;          /* with several places; else NULL */
    TI_VEC(ti_buffer_memory *) place; /* one per memory of the system, and then others: places.c */
} ti_buffer_state;

struct ti_instruction_graph {
    const ti_system *system;
    ti_emitter emit;
    uint64_t newest_point;            /* last horizon or epoch */
    ti_sents sent;                    /* by the buffer's slot */
    uint64_t newest_version;          /* of these */
    TI_VEC(ti_buffer_state *) buffer; /* by slot */
    ti_window window;
    TI_VEC(ti_staging) staged; /* of the reductions in progress */
    TI_VEC(uint64_t) awaited;  /* by the kernel that is compiled: whoever has its staging memory */
    ti_keeper keeper;
    TI_VEC(struct ti_open_bundle *) bundle; /* not sent yet, or not all unpacked */
    TI_VEC(ti_unbundled) unbundled;         /* not used any more */
    struct {
        uint64_t task;
        size_t first, end;
        uint32_t most;
    } parts;                          /* the latest answer of most_parts in staging.c */
    TI_VEC(uint64_t) partial;         /* instructions that the next reductions combine */
    TI_VEC(uint64_t) copies;          /* to or from the program's memory, by one task */
    TI_VEC(ti_block_piece) in_blocks; /* the pieces of the task, if it is in blocks */
    TI_VEC(ti_slot_pair) pairs;
    ti_orders orders;
    ti_follow follow;
    ti_templates templates;
    ti_tilings tiles;
    ti_cycle cycle;
    struct {
        uint64_t id;
        uint32_t deps;
    } newest_tracked; /* a kernel, and how many of its dependencies, the first, are not for staging memory */
    ti_region_entries lacking;
    ti_boxes boxes;
    bool coherent; /* some buffer has several places: there are copies between them */
    bool refused;
    ti_refusal refusal;
};

static inline ti_buffer_state *ti_instruction_buffer(ti_instruction_graph *graph, const ti_buffer_info *buffer)
{
    TI_ASSERT(buffer->slot < graph->buffer.count && graph->buffer.data[buffer->slot]);
    return graph->buffer.data[buffer->slot];
}
static inline ti_buffer_memory *ti_instruction_memory(ti_instruction_graph *graph, const ti_buffer_info *buffer,
                                                      int place)
{
    return ti_instruction_buffer(graph, buffer)->place.data[place];
}

/* ---- places.c: called by all who emit instructions */

/* Somebody needs `box` in one allocation of a memory. */
void ti_instruction_want(ti_instruction_graph *graph, ti_need need, const ti_buffer_info *buffer, const ti_box *box,
                         int memory);
void ti_instruction_add_place(ti_instruction_graph *graph, ti_buffer_state *state, int memory);
/* The place of a memory in which an allocation has all of `box`; if there are several, one with the newest contents. */
int ti_instruction_place_in(ti_instruction_graph *graph, const ti_buffer_info *buffer, const ti_box *box, int memory);

/* Whether the buffer has one place in each memory: then places are memories. */
static inline bool ti_instruction_is_simple(const ti_instruction_graph *graph, const ti_buffer_state *state)
{
    return !graph->coherent || state->place.count == (size_t)graph->system->memories;
}

/* Where `box` lies in a place. */
static inline ti_place ti_instruction_place(ti_instruction_graph *graph, const ti_buffer_info *buffer,
                                            const ti_box *box, int place)
{
    return ti_buffer_memory_place(ti_instruction_memory(graph, buffer, place), box);
}

/* The cycle that is recorded, if one is, learns what an instruction tells a tracker. */
void ti_instruction_record_touch(ti_instruction_graph *graph, const ti_cycle_touch *touch);
static inline void ti_instruction_note_touch(ti_instruction_graph *graph, uint64_t id, const ti_buffer_info *buffer,
                                             const ti_box *box, int place, ti_touch_kind how)
{
    if (TI_UNLIKELY(graph->cycle.loop.phase == TI_LOOP_RECORDS)) {
        const ti_cycle_touch touch = { id, buffer->slot, place, how, *box };
        ti_instruction_record_touch(graph, &touch);
    }
}

/* The instruction that was started last reads `box` in a place, or writes it: its dependencies. */
static inline void ti_instruction_touch(ti_instruction_graph *graph, const ti_buffer_info *buffer, const ti_box *box,
                                        int place, bool write)
{
    ti_buffer_state *state = ti_instruction_buffer(graph, buffer);
    ti_deps *deps = &graph->emit.deps;
    TI_ASSERT(deps->self > 0 && !ti_box_is_empty(box) && ti_box_covers(&buffer->extent, box));
    ti_sent_write(write ? ti_sent_of(&graph->sent, buffer->slot) : NULL, box);
    (write ? ti_tracker_write : ti_tracker_read)(&state->place.data[place]->tracker, box, deps->self, deps);
    ti_instruction_note_touch(graph, deps->self, buffer, box, place, write ? TI_TOUCH_WRITES : TI_TOUCH_READS);
    if (write && graph->coherent && state->place.count > 1) {
        ti_coherence_write(state->coherence, box, place);
    }
}

/* ---- kernel.c: called by window.c and graph.c */

void ti_instruction_place_pieces(ti_instruction_graph *graph, const ti_command *command); /* onto devices */
void ti_instruction_foresee_pieces(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end);
/* The memory that the messages for a task of this node come to: the host's, or that of the only accelerator that
 * executes it, if the network reaches it. Called by graph.c and transfer.c, too. */
int ti_instruction_receiver(const ti_instruction_graph *graph, const ti_task *task);
/* The device that carries out collectives for a task with those of the other nodes, the same everywhere; 0: the network
 * does. */
int ti_instruction_collector(const ti_instruction_graph *graph, const ti_task *task);
/* Place an execution of one piece if all that it needs but partial results has been allocated; whether it has. */
bool ti_instruction_place_at_once(ti_instruction_graph *graph, const ti_command *command);
/* Compile one if all that it needs has been allocated; whether it has. */
bool ti_instruction_compile_at_once(ti_instruction_graph *graph, const ti_command *command);
void ti_instruction_compile_pieces(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end);

/* ---- transfer.c: called by window.c and graph.c */

void ti_instruction_want_transfer(ti_instruction_graph *graph, const ti_command *command);
/* How many of `left` commands are messages of one task and buffer that need nothing but the allocation found last. */
size_t ti_instruction_count_allocated(ti_instruction_graph *graph, const ti_command *const *command, size_t left);
/* Compile some messages from `index` in the window on, and say how many. */
size_t ti_instruction_compile_transfers(ti_instruction_graph *graph, size_t index);

/* ---- collective.c: called by graph.c */

void ti_instruction_want_collective(ti_instruction_graph *graph, const ti_command *command);
void ti_instruction_compile_collective(ti_instruction_graph *graph, const ti_command *command);
/* Called by reduce.c: the collective end of a reduction, after these instructions, and after what is to be combined
 * `first` or NULL. It works in place in the buffer's memory, or in the staging allocation where the result does not
 * come. Returns its id. */
uint64_t ti_instruction_compile_combining(ti_instruction_graph *graph, const ti_command *reduce, uint64_t staging,
                                          const ti_combination *first, const uint64_t *after, size_t afters);

/* ---- reduce.c: called by graph.c */

void ti_instruction_compile_reduce(ti_instruction_graph *graph, const ti_command *command);

/* ---- staging.c: called by window.c (bytes), graph.c (stage), kernel.c (views, unstage), and by reduce.c and
 * reduce_blocks.c, for which staging.h has more */

uint64_t ti_instruction_staging_bytes(ti_instruction_graph *graph, const ti_command *reduce, size_t first, size_t end);
void ti_instruction_stage(ti_instruction_graph *graph, const ti_command *reduce, size_t first, size_t end);
void ti_instruction_stage_view(ti_instruction_graph *graph, const ti_command *execute, uint32_t access,
                               const ti_device_piece *at, uint32_t piece, ti_instruction_view *view);
/* The kernel that was started last writes results in place. */
void ti_instruction_touch_results(ti_instruction_graph *graph);
void ti_instruction_unstage(ti_instruction_graph *graph, const ti_command *execute, const ti_device_piece *at,
                            uint32_t piece, const ti_instruction *kernel);
/* Slots of each reduction that piece `piece` fills; 0: there are none, or they are in blocks. */
uint32_t ti_instruction_piece_slots(const ti_instruction_graph *graph, uint32_t piece);
const ti_staging *ti_instruction_staging_of(ti_instruction_graph *graph, const ti_task *task, uint32_t access);

/* ---- coherent_copies.c: called by all who emit instructions */

/* Bring the newest contents of `box` into a place that has room for it. */
void ti_instruction_make_fresh(ti_instruction_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                               const ti_box *box, int place);

#endif
