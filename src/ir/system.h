/* What the planners may know of the machine: numbers, and where to report what they find. The same on all nodes but for
 * `node`, devices and memories.
 *
 * Constant while anything is planned: any thread. Only where all nodes wait for each other and nothing is planned do
 * `latency_tasks`, `latency_staged` (run/tune.h) and what `shares` points to (run/shares.h) change.
 *
 * Memory 0 is the host's. Devices either all share it (memories is 1), or the first `sharing` do and each other has one
 * of its own. Host devices come first; device 0 is one of them, and serves the host's memory. */
#ifndef TI_SYSTEM_H
#define TI_SYSTEM_H

#include <stdio.h>

#include "base/macro.h"

enum { TI_HOST_MEMORY = 0, TI_MAX_MEMORIES = 64, TI_DEVICE_NAME = 32 };
enum { TI_COLLECTIVES_OFF, TI_COLLECTIVES_DISCOVER, TI_COLLECTIVES_LOOKAHEAD };
/* Who finds that several nodes read a version: its sender, or from TI_MULTICAST_TREES on the planners, where the number
 * is TI_MULTICAST_TREES + a ti_tree. */
enum { TI_MULTICAST_NONE, TI_MULTICAST_DYNAMIC, TI_MULTICAST_TREES };

/* Whether tasks are cut into what waits for messages and what does not: where that pays, or wherever it can be. */
enum { TI_CUTS_OFF, TI_CUTS_AUTO, TI_CUTS_ON };

/* Kinds of accelerators. */
enum { TI_OPENCL = 1, TI_CUDA = 2 };

struct ti_explain;

typedef struct ti_system {
    int node, num_nodes;
    int devices;      /* of this node */
    int accelerators; /* of these, the last: they run no host kernels, and the host cannot address their memory */
    int accelerator;  /* which kind all of them are; 0: there are none */
    int sharing;      /* of these, the first: they compute in the host's memory; not looked at if memories is 1 */
    bool weighted;    /* devices get parts of a node's work in proportion to `weight`; else equal ones */
    /* Those that hold instead, by node, TI_MAX_MEMORIES for each: of the devices that share its work, in their order;
     * the first is 0: none do. NULL: none on any node. They change where nothing is planned, and nowhere else. */
    const uint32_t *shares;
    bool direct;    /* the network reads and writes the memory of accelerators itself */
    bool nccl;      /* the only device of each node reaches those of all others: collectives are in their memory */
    bool idle_host; /* device 0, the only host device, gets those kernels only that no accelerator can run */
    const char (*device_name)[TI_DEVICE_NAME]; /* by device, for sentences; NULL: they have numbers */
    uint32_t weight[TI_MAX_MEMORIES];          /* by device, at least 1; not looked at if not `weighted` */
    int memories;                              /* host memory and device memories */
    int workers;                               /* of each device: parts of a kernel that run at once */
    int64_t total_workers;                     /* of all nodes */
    int64_t horizon_step;
    int64_t horizon_front;
    int lookahead;   /* horizons that a window of allocations may hold; 0: every batch is a window */
    int local_nodes; /* nodes on this machine */
    uint64_t memory; /* bytes that this node may allocate for the program's data; 0: no limit */
    uint64_t device_memory[TI_MAX_MEMORIES]; /* by memory: bytes that a device may allocate there; 0: no limit */
    uint64_t machine;                        /* bytes of memory that this machine has; 0: not known */
    int collectives;                         /* TI_COLLECTIVES_OFF ... */
    int multicast;                           /* TI_MULTICAST_NONE ... */
    int found_tree;             /* beside planned trees, a ti_tree: that of broadcasts that senders find, to which what
                                   travels sooner by it is left; 0 (TI_TREE_FLAT): nothing is */
    uint64_t segment;           /* bytes into which these cut payloads; 0: TI_TREE_SEGMENT */
    int old_producers;          /* that a task reads from before a horizon, at most, before they become one; 0: 4 */
    int latency_tasks;          /* pure tasks of a window that saves messages; 0 or 1: there are none */
    int latency_horizons;       /* at which such a window closes */
    bool latency_staged;        /* windows exchange values of several steps, where they can */
    bool latency_tiles;         /* and are executed tile by tile, where that pays; there are windows on one node, too */
    uint64_t tile_bytes;        /* that a tile may touch, on a device; 0: not known, so there are none */
    uint64_t tile_least;        /* that a window touches there in sum, or it has no tiles */
    int overlap;                /* TI_CUTS_OFF ... */
    bool check_pure;            /* and say what of it nodes should compare: ti_samples */
    bool derive_always;         /* instructions of steady loops, too: for tests */
    bool record;                /* derive the dependencies of commands too: only graphs and tests look at them */
    struct ti_explain *explain; /* who wants to know what becomes of edges between tasks, or NULL: trace/explain.h */
} ti_system;

static inline int ti_system_memory(const ti_system *system, int device)
{
    return system->memories > 1 && device >= system->sharing ? device + 1 - system->sharing : TI_HOST_MEMORY;
}

/* The device that allocates in a memory. */
static inline int ti_system_server(const ti_system *system, int memory)
{
    return memory == TI_HOST_MEMORY ? 0 : memory - 1 + system->sharing;
}

/* What a sentence calls a device: "cuda:0". */
static inline const char *ti_system_device_name(const ti_system *system, int device, char text[TI_DEVICE_NAME])
{
    if (system->device_name) {
        return system->device_name[device];
    }
    snprintf(text, TI_DEVICE_NAME, "%d", device);
    return text;
}

static inline int ti_system_hosts(const ti_system *system)
{
    return system->devices - system->accelerators;
}

static inline bool ti_system_is_accelerator(const ti_system *system, int device)
{
    return device >= ti_system_hosts(system);
}

/* The first of the devices that share a node's work. */
static inline int ti_system_first_sharer(const ti_system *system)
{
    return system->idle_host ? ti_system_hosts(system) : 0;
}

/* Weights of those from device `first` on; NULL: they get equal parts. */
static inline const uint32_t *ti_system_weights(const ti_system *system, int first)
{
    const uint32_t *row = system->shares ? &system->shares[(size_t)system->node * TI_MAX_MEMORIES] : NULL;
    if (row && row[0]) {
        return &row[first - ti_system_first_sharer(system)];
    }
    return system->weighted ? &system->weight[first] : NULL;
}

/* Threads of this node that run kernels. */
static inline int ti_system_workers(const ti_system *system)
{
    return ti_system_hosts(system) * system->workers;
}

#endif
