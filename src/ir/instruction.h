/* An instruction: one step of one node in its memories and on its lanes. Plain data, immutable once the instruction
 * graph has returned it: any thread.
 *
 * Lives in the instruction graph's arena until the horizon after it has been executed. Dependencies are ids of earlier
 * instructions; a horizon or epoch waits for all instructions before it without naming them. */
#ifndef TI_INSTRUCTION_H
#define TI_INSTRUCTION_H

#include "ir/command.h"

typedef enum ti_instruction_kind {
    TI_INSTRUCTION_ALLOC,
    TI_INSTRUCTION_FREE,
    TI_INSTRUCTION_COPY,
    TI_INSTRUCTION_KERNEL,          /* on a device */
    TI_INSTRUCTION_HOST,            /* host task */
    TI_INSTRUCTION_COLLECTIVE_HOST, /* collective host task: on every node, may wait for the other nodes */
    TI_INSTRUCTION_SEND,
    TI_INSTRUCTION_RECEIVE,
    TI_INSTRUCTION_COLLECTIVE,
    TI_INSTRUCTION_REDUCE, /* combine slots of staging memory */
    TI_INSTRUCTION_FENCE,
    TI_INSTRUCTION_EPOCH
} ti_instruction_kind;

/* Where a box of elements lies: in an allocation that holds `whole`, or at an address of the user's. */
typedef struct ti_place {
    uint64_t allocation; /* 0: user memory */
    void *user;
    ti_box whole;
} ti_place;

typedef struct ti_instruction_box {
    ti_place place;
    ti_box box;
} ti_instruction_box;

typedef struct ti_instruction_view {
    ti_place place;
    ti_box box;
    const ti_instruction_box *part; /* of an access in parts, which has no `place`; else NULL */
    uint32_t parts;
    const ti_buffer_info *buffer;
    int mode;
    ti_reducer reducer; /* mode TACIT_REDUCE: `place` is staging with one slot per part */
    uint32_t first_slot;
} ti_instruction_view;

/* Combine slot `from` into slot `into`. */
typedef struct ti_slot_pair {
    uint32_t into, from;
} ti_slot_pair;

/* Slots of staging memory, which have a value each, become one. */
typedef struct ti_combination {
    uint64_t staging; /* slots of slot_bytes: own parts first, then children; combined in order */
    uint32_t slots;
    uint32_t pairs;           /* in blocks: what to combine instead, in order */
    const ti_slot_pair *pair; /* NULL: not in blocks */
    size_t elements;
    ti_reducer reducer;
    ti_place to; /* the root's result */
    ti_box box;
    bool is_identity; /* there are no slots: the identity */
    bool is_root;     /* otherwise the result stays in slot 0; in blocks: where the pairs have left it */
    bool include_old; /* the root combines into what is there */
    const ti_buffer_info *buffer;
} ti_combination;

typedef struct ti_instruction {
    ti_instruction_kind kind;
    uint32_t deps;
    uint64_t id; /* ascending without gaps */
    const uint64_t *dep;
    const ti_task *task; /* that it belongs to */
    int priority;
    int device; /* that runs the kernel or the copy, or whose memory it is; 0 for the host */
    union {
        struct {
            uint64_t allocation;
            size_t bytes;
            const ti_buffer_info *buffer; /* NULL: staging */
            ti_box box;
            uint64_t grown; /* the allocation that becomes this one, with its contents; 0: none */
            ti_box grown_box;
            size_t grown_bytes;
        } memory; /* alloc and free */
        struct {
            ti_place from, to;
            ti_box box;
            size_t elem_size;
            uint32_t apart; /* dependencies, the last ones, that are for memory that is not of a buffer */
        } copy;
        struct {
            ti_box chunk;
            const ti_instruction_view *view;
            const uint64_t *results; /* staging memory of each reduced access, by access; NULL: views say so */
            uint32_t views;
            uint32_t slots;            /* of each reduced access, one for each part of the kernel; not in blocks */
            uint32_t runs;             /* parts of a task in blocks; 0: not in blocks */
            const uint32_t *run_slot;  /* first slot of each part, from the views' first_slot on */
            const ti_samples *samples; /* of the task, not of this chunk alone; or NULL */
            /* Kernels with the same number have the same views in the same memory, but for results of reductions; 0:
             * none has. */
            uint64_t made;
        } kernel;
        struct {
            int peer;
            uint32_t boxes;
            uint64_t counter;
            const ti_instruction_box *box;
            size_t elem_size;
            const ti_buffer_info *buffer;
            /* Sends: equal for those of the same contents, and for no others; 0: not known. How many of these came
             * before. */
            uint64_t version;
            uint32_t again;
            bool planned; /* in a planned multicast: it leaves by itself, since its receiver expects it so */
        } transfer;
        struct {
            const ti_collective *what;
            uint64_t sequence;
            const ti_instruction_box *place; /* that hold what this node gives and gets */
            uint32_t places;
            const ti_box *give, *get;
            uint32_t gives, gets;
            size_t elem_size;
            const ti_buffer_info *buffer;
            const ti_combination *first; /* a small reduction: what is to be combined before; else NULL */
        } collective;
        ti_combination reduce;
        struct {
            struct ti_signal *signal;
        } fence;
        struct {
            bool is_horizon, barrier;
        } epoch;
    } as;
} ti_instruction;

typedef struct ti_instruction_batch {
    const ti_instruction *const *instruction;
    size_t count;
} ti_instruction_batch;

/* The allocation in which a kernel has an access, if that is not in parts. */
static inline uint64_t ti_instruction_allocation(const ti_instruction *kernel, uint32_t access)
{
    const ti_instruction_view *view = &kernel->as.kernel.view[access];
    return view->mode == TACIT_REDUCE && kernel->as.kernel.results ? kernel->as.kernel.results[access]
                                                                   : view->place.allocation;
}

#endif
