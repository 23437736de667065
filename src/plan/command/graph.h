/* Stage 2, the command graph: who does it and who sends. This node's part of every task.
 *
 * A pure function of the tasks, the number of nodes and this node's number; no node waits for another one's plan. Takes
 * a window of tasks and returns one batch of commands, in an order that respects all dependencies: per task its sends,
 * its receives, its execution, its reductions. Commands live in an arena that is recycled when the horizon after them
 * has been executed; a batch is valid until the next add. Scheduler thread. */
#ifndef TI_COMMAND_GRAPH_H
#define TI_COMMAND_GRAPH_H

#include "ir/collective.h"
#include "ir/command.h"
#include "ir/system.h"

typedef struct ti_command_graph ti_command_graph;

ti_command_graph *ti_command_graph_create(const ti_system *system);
void ti_command_graph_destroy(ti_command_graph *graph);

ti_command_batch ti_command_graph_add(ti_command_graph *graph, const ti_task *const *task, size_t count);
/* This task comes so many later: what a brief touches is brought into the caches. */
enum { TI_COMMAND_EXPECTED = 6 };
void ti_command_graph_expect(const ti_command_graph *graph, const ti_task *task);
/* Rounds that others carry out (run/round.h): whether the round with this number begins with the next task; so many
 * tasks and horizons have come in whole rounds, with so many commands. */
bool ti_command_graph_is_at_round(const ti_command_graph *graph, uint64_t number);
/* The same, when that task is about to be added: the round before it may be the recorded one. */
bool ti_command_graph_comes_to_round(ti_command_graph *graph, uint64_t number);
/* Whether tasks have come that are not planned before others come. Those that concern several nodes are held by all of
 * these. */
bool ti_command_graph_holds(const ti_command_graph *graph);
/* Plan them now, and nothing else: on all nodes after the same task, if they are held there. */
ti_command_batch ti_command_graph_flush(ti_command_graph *graph);
/* The numbers of the next message to or from a node, and of the next collective. */
uint64_t ti_command_graph_next_message(const ti_command_graph *graph, int peer, bool is_send);
uint64_t ti_command_graph_next_collective(const ti_command_graph *graph);
void ti_command_graph_pass(ti_command_graph *graph, uint64_t tasks, uint64_t commands);
void ti_command_graph_release(ti_command_graph *graph, uint64_t executed);

/* Planned multicasts. */
typedef struct ti_multicast_counts {
    uint64_t multicasts, recipients; /* of what this node owns */
    uint64_t left, left_recipients;  /* likewise: not planned, but left to this node's broadcasts */
    uint64_t forwards;               /* messages that this node sends on for others */
    uint32_t depth;                  /* of the highest tree of its own */
} ti_multicast_counts;

/* Windows of pure tasks. */
typedef struct ti_window_counts {
    uint64_t windows, early; /* of these: closed with fewer tasks than they might have */
    const char *why;         /* most of the early ones, if they are more than half; constant */
    bool by_task;            /* says something about the task that came then */
    uint64_t votes;          /* for this reason against all others */
} ti_window_counts;

/* What tasks read of a buffer by messages, where the program could have a collective: on this node. */
typedef struct ti_missed_counts {
    uint64_t times;
    ti_verdict first;
} ti_missed_counts;

typedef struct ti_command_counts {
    uint64_t commands, chunks_evaluated, entries, arena_bytes;
    uint64_t repeated; /* tasks and horizons that were: plan/lookahead/cycle.c */
    uint64_t replayed; /* buffers of tasks that were replayed: plan/version/replay.h */
    ti_multicast_counts multicast;
    ti_window_counts window;
    ti_missed_counts missed;
    uint64_t overlapped; /* tasks whose chunk on this node was executed in parts, for messages of their own */
} ti_command_counts;
ti_command_counts ti_command_graph_counts(const ti_command_graph *graph);

/* How many tasks have had a number for their samples (ti_samples); the same on all nodes. */
uint64_t ti_command_graph_sampled(const ti_command_graph *graph);

/* Equal on all nodes that were given the same tasks (checks and tests). */
uint64_t ti_command_graph_digest(ti_command_graph *graph);
bool ti_command_graph_is_valid(ti_command_graph *graph);

#endif
