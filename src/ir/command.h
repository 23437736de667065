/* A command: this node's share of a task, or a transfer. Plain data, immutable once the command graph has returned it:
 * any thread.
 *
 * Lives in the command graph's arena until the horizon after it has been executed. */
#ifndef TI_COMMAND_H
#define TI_COMMAND_H

#include "ir/block_tree.h"
#include "ir/collective.h"
#include "ir/task.h"

typedef enum ti_command_kind {
    TI_COMMAND_EXECUTE,
    TI_COMMAND_SEND,
    TI_COMMAND_RECEIVE,
    TI_COMMAND_COLLECTIVE, /* all nodes exchange one region */
    TI_COMMAND_REDUCE,     /* combine partial results of this node, and with those of others */
    TI_COMMAND_FENCE,
    TI_COMMAND_EPOCH, /* epochs and horizons */
    TI_COMMAND_CREATE,
    TI_COMMAND_DESTROY
} ti_command_kind;

/* One box of items of a task with its footprints, one per access. A command may execute several. */
typedef struct ti_piece {
    ti_box chunk;
    const ti_footprint *footprint;
} ti_piece;

/* One node's place in a reduction tree: it combines its own partials with those of its children, in order, and
 * sends the result to its parent; the root keeps it. */
enum { TI_TREE_CHILDREN = 32 };
typedef struct ti_tree_place {
    int parent; /* -1: root */
    uint64_t parent_counter;
    int children;
    int child[TI_TREE_CHILDREN];
    uint64_t child_counter[TI_TREE_CHILDREN];
} ti_tree_place;

/* Partial results that travel together: all those that one node has for another, ascending. */
typedef struct ti_block_message {
    int peer;
    uint32_t spans;
    uint64_t counter;
    ti_block_span span[TI_BLOCK_BITS];
} ti_block_message;

/* One node's place in the tree over blocks: it combines its own blocks with what it receives, sends what others
 * combine further, and keeps the rest: the result of all blocks, if it has block 0, or nothing. What is received
 * belongs to the last subtree that begins here, which is in the last message, so the messages before it wait for
 * nobody. */
typedef struct ti_block_place {
    ti_block_span own;
    uint32_t blocks; /* of the range */
    int receives, sends;
    ti_block_message receive[TI_BLOCK_BITS], send[TI_BLOCK_BITS];
} ti_block_place;

/* What a window of tasks sends another node in one message: the transfers of several tasks and buffers, in order. Each
 * is a command in its place. It is packed there, or unpacked. The message leaves when the last part has been packed,
 * and no part may wait for what its receiver sends. */
typedef struct ti_bundle_part {
    const ti_buffer_info *buffer;
    const ti_box *box;
    uint32_t boxes;
} ti_bundle_part;
typedef struct ti_bundle {
    const ti_bundle_part *part;
    uint32_t parts;
} ti_bundle;

/* An element of what a task has written that several nodes compute, to be compared between them. */
typedef struct ti_sample {
    uint64_t key; /* among those of a task, on all nodes alike */
    int64_t item[3], element[3];
    uint32_t access;
    int32_t others; /* that compute it beside this node, whose part it is; -1: it is another node's */
} ti_sample;
typedef struct ti_samples {
    uint64_t number; /* of the task among those of which there may be samples, on all nodes alike */
    const ti_sample *sample;
    uint32_t count;
} ti_samples;

typedef struct ti_command {
    ti_command_kind kind;
    uint32_t deps;
    uint64_t id;
    const ti_task *task;
    const uint64_t *dep; /* ids of earlier commands; only if ti_system::record */
    uint64_t again;      /* not 0: commands of this number are alike, but for ids, tasks and the numbers of messages */
    bool joined;         /* with the task before: its memory may not be moved in between */
    union {
        struct {
            const ti_piece *piece;
            uint32_t pieces;
            uint32_t ahead;            /* of these, the first: others wait for what they write */
            const ti_piece *whole;     /* that they are parts of, whose memory is wanted in one place; or NULL */
            const ti_samples *samples; /* of what it writes; or NULL */
            uint32_t window;           /* that it may be tiled in, with its neighbours that have the same; 0: none */
        } execute;
        struct {
            const ti_buffer_info *buffer;
            int peer; /* destination, or origin */
            uint32_t boxes;
            uint64_t counter;        /* of the pair (origin, destination) */
            const ti_box *box;       /* in message order */
            const ti_bundle *bundle; /* that it is a part of, if that has several; else NULL */
            uint32_t part;
            bool planned; /* in a planned multicast */
        } transfer;
        struct {
            const ti_buffer_info *buffer;
            const ti_collective *what;
            uint64_t sequence;        /* all nodes start their collectives in this order */
            const ti_box *give, *get; /* what this node gives to others, and gets from them */
            uint32_t gives, gets;
        } collective;
        struct {
            uint32_t access; /* index in the task */
            bool alone;      /* this node has no chunk of the task, and takes part with the identity */
            bool takes_old;  /* it combines what the buffer holds, too */
            /* One of three: */
            const ti_tree_place *tree;    /* messages along a tree of nodes */
            const ti_block_place *blocks; /* the tree over blocks, of a task in blocks */
            const ti_collective *what;    /* a collective */
            bool gets;                    /* of which this node gets the result */
            uint64_t sequence;            /* as in a collective */
        } reduce;
    } as;
} ti_command;

/* Whether this node writes the result of a reduction. */
static inline bool ti_command_is_root(const ti_command *reduce)
{
    return reduce->as.reduce.what   ? reduce->as.reduce.gets
           : reduce->as.reduce.tree ? reduce->as.reduce.tree->parent < 0
                                    : reduce->as.reduce.blocks->own.first == 0;
}

/* The commands of a batch, in an order that respects all dependencies. */
typedef struct ti_command_batch {
    const ti_command *const *command;
    size_t count;
    const ti_task *const *task; /* that were planned, in order: the commands of each follow each other */
    size_t tasks;
} ti_command_batch;

#endif
