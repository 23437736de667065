/* What the files of the instruction graph share: its state. Included by instruction_*.c only. */
#ifndef TI_INSTRUCTION_IMPL_H
#define TI_INSTRUCTION_IMPL_H

#include "plan/coherence.h"
#include "plan/instruction_graph.h"
#include "plan/memory.h"

/* A piece of a command on the device that will run it. */
typedef struct ti_device_piece {
    const ti_piece *piece;
    int device;
    int memory; /* that the kernel works in */
} ti_device_piece;

/* Partial results of one reduced access: slots of one value each, first those of the pieces' parts, then those of children. Devices with a
 * memory of their own fill slots there, which are copied over. */
typedef struct ti_staging {
    const ti_task *task;
    uint32_t access;
    uint64_t allocation, alloc_id;
    uint32_t own_slots;
    size_t elements, slot_bytes;
} ti_staging;

typedef struct ti_buffer_state {
    const ti_buffer_info *info;
    ti_coherence coherence;    /* with several memories */
    ti_buffer_memory memory[]; /* one per memory of the system */
} ti_buffer_state;

struct ti_instruction_graph {
    const ti_system *system;
    ti_emitter emit;
    uint64_t newest_point;            /* last horizon or epoch */
    TI_VEC(ti_buffer_state *) buffer; /* by slot */
    TI_VEC(ti_device_piece) piece;    /* of all commands of the segment that is compiled */
    TI_VEC(size_t) first_piece;       /* of each command of the segment; one more at the end */
    TI_VEC(ti_staging) staged;        /* of the reductions in progress */
    TI_VEC(uint64_t) partial;         /* instructions that the next reductions combine */
    TI_VEC(uint64_t) copies;          /* to or from the program's memory, by one task */
    ti_region_entries lacking;
    ti_boxes boxes;
};

ti_buffer_state *ti_instruction_buffer(ti_instruction_graph *graph, const ti_buffer_info *buffer);
static inline ti_buffer_memory *ti_instruction_memory(ti_instruction_graph *graph, const ti_buffer_info *buffer,
                                                      int memory)
{
    return &ti_instruction_buffer(graph, buffer)->memory[memory];
}

/* instruction_kernel.c */
void ti_instruction_place_pieces(ti_instruction_graph *graph, const ti_command *command); /* onto devices */
void ti_instruction_foresee_pieces(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end);
void ti_instruction_compile_pieces(ti_instruction_graph *graph, const ti_command *command, size_t first, size_t end);

/* instruction_coherence.c: bring the newest contents of `box` into a memory that has room for it; note that it was written there. */
void ti_instruction_make_fresh(ti_instruction_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                               const ti_box *box, int memory);
void ti_instruction_note_write(ti_instruction_graph *graph, const ti_buffer_info *buffer, const ti_box *box,
                               int memory);

/* instruction_reduce.c */
void ti_instruction_stage(ti_instruction_graph *graph, const ti_command *reduce, size_t pieces);
void ti_instruction_stage_view(ti_instruction_graph *graph, const ti_command *execute, uint32_t access,
                               const ti_device_piece *at, uint32_t piece, ti_instruction_view *view);
void ti_instruction_unstage(ti_instruction_graph *graph, const ti_command *execute, const ti_device_piece *at,
                            uint32_t piece, const ti_instruction *kernel);
void ti_instruction_compile_reduce(ti_instruction_graph *graph, const ti_command *command);

#endif
