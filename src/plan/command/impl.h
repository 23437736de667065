/* The state of the command graph, and the part of planning that calls no other: what follows from a task's shape, the
 * pieces of this node's chunk, and how commands are emitted. graph.h is the outside. plan/transfer (how data gets to a
 * task) and plan/lookahead (which tasks are planned together) call this folder; only these three include this file.
 * Scheduler thread. */
#ifndef TI_COMMAND_IMPL_H
#define TI_COMMAND_IMPL_H

#include "base/arena.h"
#include "base/check.h"
#include "plan/command/cycle.h"
#include "plan/command/graph.h"
#include "plan/command/multicast.h"
#include "plan/command/peer_counters.h"
#include "plan/command/pure.h"
#include "plan/track/order.h"
#include "plan/version/discovery.h"
#include "plan/version/replay.h"
#include "plan/version/transfer.h"
#include "trace/explain.h"

typedef struct ti_command_buffer {
    const ti_buffer_info *info;
    ti_reduced reduced;
    /* On one node nothing from here on is there. */
    ti_version_map versions; /* settle the replay before you look */
    ti_replay replay;
    ti_discovery_cache collectives;
    int fruitless;      /* windows in a row that were held open for this buffer and gained nothing by it */
    ti_tracker tracker; /* if recording */
} ti_command_buffer;

/* What a held task wants on all nodes alike: the next one for the same producer may bring it sooner. */
typedef struct ti_anticipated {
    size_t task; /* index of the held task */
    const ti_buffer_info *buffer;
    uint64_t producer;
    const ti_box *box;
    uint32_t boxes;
} ti_anticipated;

/* A forward whose best decision may depend on tasks to come. */
typedef struct ti_open_forward {
    const ti_buffer_info *buffer;
    uint64_t producer;
} ti_open_forward;

/* A forward, or of one without a producer what one source has of it. */
typedef struct ti_command_part {
    ti_forward forward; /* `producer`: a task, or a number that stands for the source */
    bool stays;         /* nothing of it moves: only for the report */
} ti_command_part;

typedef struct ti_command_piece {
    uint32_t part;
    ti_box box;
} ti_command_piece;

/* What became of a forward, or of the part of one that one source has. */
typedef struct ti_edge_fate {
    uint32_t forward; /* index */
    const ti_box *box;
    uint32_t boxes;
    ti_verdict verdict;
    const ti_collective *what;    /* or NULL */
    const ti_collective *hoisted; /* for this task and later ones, or NULL */
    ti_pattern combined;          /* of the reduction that brought it when the producer ran, or none */
    ti_verdict rest;              /* on what the collective leaves to messages */
    const ti_command_told *told;  /* a multicast, or NULL */
    bool more;                    /* another collective of the same part, with which messages are counted */
} ti_edge_fate;

/* What a task does to one buffer. */
typedef struct ti_command_use {
    ti_command_buffer *state;
    ti_holders reads, writes; /* of accesses that need old contents, and of those that write; one per mapper */
    ti_holders copies; /* what nodes compute of others' writes, beside each writer; none if chunks are as split */
    bool reduces;      /* its only access is a reduction */
} ti_command_use;

/* What follows from a task's shape alone: see shape.c. */
typedef struct ti_command_shape {
    uint64_t serial;   /* of the shape, or with larger chunks one of its own; 0: nothing is known, or it comes once */
    ti_widening wide;  /* of the chunks; referenced */
    uint64_t of, last; /* with larger chunks: the serial of the shape; the latest task, or 0 */
    ti_split_ref *split;
    TI_VEC(ti_command_use) use; /* of each buffer, with more than one node: first those that are read */
    TI_VEC(ti_holder *) holder; /* of all uses; referenced */
    const ti_piece *piece;      /* this node's: of each chunk one, or of a spread as many as it has boxes */
    uint32_t own_pieces;        /* so many */
    ti_arena pieces;            /* where they lie */
    ti_command_overlap overlap; /* with more than one node */
} ti_command_shape;

/* Tasks that wait for a decision: see window.c. */
typedef struct ti_command_window {
    TI_VEC(const ti_task *) held; /* in order */
    TI_VEC(ti_open_forward) open;
    TI_VEC(ti_anticipated) anticipated;
    size_t at; /* the held task that is being planned */
    ti_boxes boxes, rest;
} ti_command_window;

struct ti_command_graph {
    const ti_system *system;
    ti_arena_ring arenas;
    ti_era era;
    ti_orders orders;                   /* if recording */
    uint64_t newest_point;              /* command of the last horizon or epoch */
    TI_VEC(ti_command_buffer *) buffer; /* by slot */
    TI_VEC(const ti_command *) batch;
    TI_VEC(const ti_task *) planned;
    ti_split_cache splits;
    ti_transfer_planner transfer;
    ti_discovery collectives;
    ti_command_window window;
    ti_command_multicasts multicast;
    ti_command_pure pure;
    ti_command_cycle cycle;
    ti_peer_counters sent, received; /* messages planned so far */
    uint64_t next_id, evaluated, replayed, overlapped;
    uint64_t executed, looked_at; /* all tasks up to it; the latest of which it is known whether it passes by */
    ti_deps deps;
    TI_VEC(ti_command_shape *) shape; /* by number */
    ti_command_shape single;          /* of task `single_task`, whose shape comes once */
    uint64_t single_task;
    TI_VEC(ti_command_part) parts; /* of the forward at hand */
    TI_VEC(ti_command_piece) pieces;
    ti_boxes asked;
    TI_VEC(ti_edge_fate) fates; /* of the task's forwards on one buffer, if somebody wants to know */
    struct {                    /* what the task's forwards on one buffer became */
        TI_VEC(ti_collective *) collective;
        bool moved, passes; /* this and the next: as in ti_replay_step */
        ti_verdict missed;
    } became;
    ti_missed_counts missed;
};

/* Each of these files calls those before it only: late, seen, bundle, emit, wide, shape, cut, overlap. */

/* With one node there is nothing to send, so no versions are kept. */
static inline bool ti_command_is_distributed(const ti_command_graph *graph)
{
    return graph->system->num_nodes > 1;
}

/* emit.c */
static inline ti_arena *ti_command_arena(ti_command_graph *graph)
{
    return ti_arena_ring_top(&graph->arenas);
}
ti_command_buffer *ti_command_buffer_of(ti_command_graph *graph, const ti_buffer_info *buffer);
/* A command of the task, whose dependencies are gathered until it is emitted. */
ti_command *ti_command_new(ti_command_graph *graph, ti_command_kind kind, const ti_task *task);
/* It reads or writes these boxes. */
void ti_command_track(ti_command_graph *graph, const ti_buffer_info *buffer, const ti_box *box, uint32_t count,
                      bool write);
void ti_command_emit(ti_command_graph *graph, ti_command *command);
/* The number of the next message to or from a peer. */
static inline uint64_t ti_command_count_message(ti_command_graph *graph, int peer, bool send)
{
    return ti_peer_count(send ? &graph->sent : &graph->received, peer, graph->system->num_nodes);
}
/* The same has been counted twice. */
static inline void ti_command_count_message_back(ti_command_graph *graph, int peer, bool send)
{
    ti_peer_count_back(send ? &graph->sent : &graph->received, peer);
}
void ti_command_emit_collective(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                                const ti_collective *what);
void ti_command_emit_messages(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer,
                              const ti_messages *pieces, bool send);

/* shape.c */
/* What is known of the task's shape: valid until the next task, or longer. */
ti_command_shape *ti_command_shape_of(ti_command_graph *graph, const ti_task *task);
const ti_command_use *ti_command_use_of(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer);
/* A piece of the task with its footprints, which go into the arena. */
void ti_command_fill_piece(const ti_shape *shape, const ti_box *chunk, ti_piece *piece, ti_arena *arena);
/* The buffer in this slot is about to go. */
void ti_command_shapes_forget(ti_command_graph *graph, uint32_t slot);
void ti_command_shapes_fini(ti_command_graph *graph);

#endif
