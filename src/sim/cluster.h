/* A simulated cluster: tacit's own plans, executed by a machine that is only numbers (sim/platform.h).
 *
 * One program submits; every simulated node has a command graph and an instruction graph of its own and plans each task
 * when its simulated application thread submits it. A node has an application thread, a thread that plans, one that
 * starts instructions and sends and receives, workers, and ports of the network. Instructions start when their
 * dependencies are complete, in the order of the real engine (exec/engine.h). Nothing is computed, fences give zeros.
 * What is kept is bounded by horizons, as in a run. The same program gives the same figures every time. One thread. */
#ifndef TI_CLUSTER_H
#define TI_CLUSTER_H

#include "comm/tree.h"
#include "ir/system.h"
#include "ir/task.h"
#include "sim/path.h"
#include "sim/platform.h"
#include "sim/replay.h"
#include "trace/recorder.h"

typedef struct ti_cluster ti_cluster;

typedef struct ti_cluster_desc {
    const ti_system *system; /* of any node; has their number */
    const ti_platform *platform;
    uint64_t run_ahead;     /* horizons and epochs that a program may be ahead */
    ti_tree tree;           /* of broadcasts; TI_TREE_FLAT: there are none */
    size_t relay_bytes;     /* that a node lends to them */
    uint64_t early_bytes;   /* comm/early.h */
    bool attended;          /* somebody looks after messages even if all threads are in kernels */
    ti_recorder **recorder; /* of each node, or NULL: no trace */
    ti_replay *replay;      /* a recorded run to follow, or NULL */
} ti_cluster_desc;

ti_cluster *ti_cluster_create(const ti_cluster_desc *desc);
void ti_cluster_destroy(ti_cluster *cluster);

/* The next task of the program, on all nodes. Simulates as far as what comes later cannot matter. */
void ti_cluster_submit(ti_cluster *cluster, const ti_task *task);
/* The program waits, on each node by itself, for all points that it has submitted, or for all values. */
typedef enum ti_cluster_event { TI_CLUSTER_POINTS, TI_CLUSTER_VALUES, TI_CLUSTER_EVENTS } ti_cluster_event;
void ti_cluster_wait(ti_cluster *cluster, ti_cluster_event what);
/* Pure tasks are planned as this system says from here on, where all nodes have just met. */
void ti_cluster_choose(ti_cluster *cluster, const ti_system *system);
/* Simulate the rest. False and a sentence if something waits for ever. */
bool ti_cluster_finish(ti_cluster *cluster, ti_strbuf *why);
/* The last point that all nodes have executed: what is before it is not looked at any more. */
uint64_t ti_cluster_executed(const ti_cluster *cluster);

/* What a node's workers did with their time: AHEAD: waited since the program may not run further ahead. */
typedef enum ti_cluster_use {
    TI_USE_KERNELS,
    TI_USE_MESSAGES,
    TI_USE_PLANNING,
    TI_USE_AHEAD,
    TI_USE_IDLE,
    TI_USES
} ti_cluster_use;

/* Messages from one node to another, without those of collectives and barriers. */
enum { TI_CLUSTER_PAIRS = 64 }; /* nodes, up to which they are counted */
typedef struct ti_cluster_pair {
    uint64_t messages, bytes;
} ti_cluster_pair;

typedef struct ti_cluster_result {
    double ns;                    /* from the beginning to the last event */
    double use[TI_USES];          /* of all workers and accelerators, summed */
    double least_busy, most_busy; /* of a node: its workers in kernels */
    int idle_nodes;               /* that run no kernel */
    uint64_t tasks, instructions, messages, bytes, collectives, events;
    uint64_t held_back;                                      /* messages that waited for the limit on early bytes */
    uint64_t broadcasts, recipients, refused, relayed_bytes; /* as comm/relay.h counts them; each is a message, too */
    uint64_t held_peak;           /* instructions and messages that were kept at once, at most */
    double path[TI_PATH_SLOTS];   /* the critical one: ns by slot of `paths` */
    const ti_paths *paths;        /* valid as long as the cluster, as is: */
    const ti_cluster_pair *pairs; /* [from * nodes + to]; NULL: there are too many nodes */
    ti_replay_result replay;      /* if a recorded run was followed */
} ti_cluster_result;
/* What computes on a node: workers, and accelerators, each of which counts as one. Where the host is not in the list of
 * devices, its workers do not count. */
int ti_cluster_units(const ti_system *system);
ti_cluster_result ti_cluster_result_of(const ti_cluster *cluster);

#endif
