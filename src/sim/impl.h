/* The state of a simulated cluster and of its nodes, and the functions by which the sources of sim/ call each other.
 * Those of messages are in network.h. Not for others; the outside is cluster.h. One thread. */
#ifndef TI_SIM_IMPL_H
#define TI_SIM_IMPL_H

#include "comm/early.h"
#include "comm/relay.h"
#include "exec/ahead.h"
#include "exec/engine.h"
#include "exec/outbox.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "sim/begun.h"
#include "sim/cluster.h"
#include "sim/events.h"
#include "sim/replay.h"

enum { TI_WORKER_SHIFT = 32 };

/* What a message is to its two sides: an instruction, the step of a collective, a frame of a relay, or what a relay
 * calls a segment (TI_RELAY_TOKEN). Keys of messages begin in the same way. */
#define TI_OF_COLLECTIVE ((uint64_t)1 << 63)
#define TI_OF_FRAME ((uint64_t)1 << 62)
/* Of a sender: a sync point of early.h, of the node's peer with this index. */
#define TI_OF_POINT ((uint64_t)1 << 60)

typedef struct wire {
    int from, to;
    double bytes;
    uint64_t key; /* at the receiver, until both sides have said what they know */
    uint64_t sender, receiver;
    bool begun, posted, arrived, asked, combines, sent, received;
    bool crossed; /* the middle of the network */
} wire;

/* A frame of a relay on its way. */
typedef struct sim_frame {
    int from;
    char *text;
    size_t bytes;
} sim_frame;

/* One node's share of a collective under way. */
typedef struct share {
    uint64_t instruction; /* 0: not under way */
    struct known_schedule *known;
    int rank, step, pending;
    uint64_t sequence;
    int first_node, stride; /* node of rank 0, and from one to the next */
} share;

/* A kernel of which parts are left to start. */
typedef struct running {
    uint64_t instruction; /* 0: free */
    int parts, to_start, to_end;
    double part_ns;
    int slot; /* of its name */
} running;

/* Where a copy of an accelerator goes. */
typedef enum copy_way { TO_DEVICE, FROM_DEVICE, AMONG_DEVICES, COPY_WAYS } copy_way;

typedef struct device {
    int idle;                 /* workers; of an accelerator lanes, of which each has one kernel */
    int first, slots;         /* numbers of these: `first` of the node's, and how many */
    int current;              /* of node.running, whose parts are being started; -1: none */
    double computes;          /* when an accelerator is free, whose kernels compute one after the other */
    double copies[COPY_WAYS]; /* when what copies to and from its memory is free; of host devices the first one */
    ti_begun begun;           /* its kernels */
} device;

typedef struct early_message {
    uint64_t counter, token;
    double bytes;
} early_message;

/* What one node has sent early to another, and what waits, by counter. */
typedef struct early_peer {
    int node;
    ti_early early;
    uint64_t point; /* the instruction whose message is the sync point */
    TI_VEC(early_message) held;
} early_peer;

typedef struct node {
    ti_system system;
    ti_command_graph *commands;
    ti_instruction_graph *instructions;
    ti_engine engine;
    TI_VEC(const ti_instruction *) planned; /* not visible to the executor yet */
    size_t planned_head;
    uint64_t next_step;              /* of the program */
    bool starved, blocked, is_ahead; /* is_ahead: what may block it is that the program is too far ahead */
    ti_chain chain;                  /* starved: what led to that */
    ti_ahead ahead;
    ti_cluster_event waits_for; /* unless is_ahead */
    uint64_t until;             /* so many of those are executed */
    uint64_t submitted[TI_CLUSTER_EVENTS], executed[TI_CLUSTER_EVENTS];
    uint64_t point, released;              /* the last task executed that is a point, and what was released */
    double application, planner, executor; /* when each thread is free */
    double commands_ns, instructions_ns;   /* that the planner has taken for the last task, by stage */
    double *out, *in;                      /* and each port */
    device *device;
    TI_VEC(running) running;
    int busy;      /* workers */
    bool has_run;  /* a kernel */
    int slots;     /* workers, and lanes of accelerators */
    ti_map memory; /* device of an allocation, plus 1; only if there are accelerators */
    ti_behind behind;
    bool may_start;                             /* something may be ready */
    ti_map expected;                            /* messages that one side knows of, by key */
    TI_VEC(const ti_instruction *) collectives; /* ready, but not in their turn */
    uint64_t next_collective, next_barrier;
    TI_VEC(share) share;
    uint64_t waiting; /* receives and collectives under way */
    ti_outbox outbox; /* sends that are ready, where there are broadcasts */
    ti_relay relay;
    ti_relay_stats relay_stats;
    TI_VEC(early_peer) peers;
    ti_map peer;  /* node -> index in `peers`, + 1 */
    bool listens; /* the program has placed tasks: there may be broadcasts */
    /* Where messages and kernels share threads: sim/progress.c. */
    TI_VEC(ti_event) put_off; /* of messages, until somebody looks */
    bool looks;               /* the attendant does */
    bool will_look;           /* it has an event for that */
    double attendant;         /* when it is free */
    double awake, used;       /* since when it naps, beginning with short naps; when there was a message last */
    double starts;            /* inline: when kernels will be looked at again */
    double copied;            /* when the relay's copies are done */
    double noted;             /* until when `use` says what happened */
    double use[TI_USES];
    ti_recorder *recorder; /* or NULL: no trace */
    uint64_t *began;       /* traced: when each worker, each lane began its part; 0: it is idle */
    uint64_t blocked_since, window_since;
} node;

/* Of one group of a collective; the same for all its nodes. */
typedef struct known_schedule {
    uint64_t serial; /* of the collective; 0: a barrier */
    int first;       /* node of the group */
    int stride;      /* and from one node to the next */
    int users;       /* nodes that are in it */
    ti_schedule schedule;
    struct {
        uint64_t sequence;
        bool apart;      /* of this sequence number: its ranks do not begin at the same time */
        int step, count; /* ranks that begin this step now */
        uint32_t *share; /* of each rank: index + 1 */
        ti_chain *chain;
    } meeting;
    double *between; /* bytes by (from, to) of an all-to-all, or NULL */
    struct known_schedule *next;
} known_schedule;

/* What the program does next: submit a task, choose how pure tasks are planned from here on, or wait. */
typedef struct step {
    const ti_task *task; /* or NULL */
    bool chooses;
    int latency_tasks; /* as in ti_system */
    bool latency_staged;
    ti_cluster_event wait;
} step;

struct ti_cluster {
    ti_platform platform;
    uint64_t run_ahead;
    bool relays, attended; /* relays: there may be broadcasts */
    ti_platform_progress progress;
    uint64_t early_bytes;
    double middle[2]; /* when the middle of the network is free: upwards, downwards */
    int nodes, starved;
    node *node;
    TI_VEC(step) steps;
    uint64_t first_step;
    ti_events events;
    ti_paths paths;
    double now;
    ti_chain chain; /* of the event at hand */
    ti_chain last;  /* of the instruction that ended last */
    TI_VEC(wire) wires;
    TI_VEC(uint32_t) free_wires;
    TI_VEC(sim_frame) frames;
    TI_VEC(uint32_t) free_frames;
    TI_VEC(ti_block) block; /* of the payload at hand */
    ti_map schedules;
    size_t known; /* schedules that are kept */
    ti_schedule_ops ops;
    ti_cluster_result result;
    ti_cluster_pair *pairs; /* [from * nodes + to], or NULL: too many nodes */
    uint64_t held;
    const ti_refusal *refusal; /* of the first node whose memory is too small, or NULL */
    int refusing;              /* that node */
    ti_replay *replay;         /* or NULL: the platform says how long things take */
};

static inline bool ti_sim_is_accelerator(const node *n, int d)
{
    return d >= ti_system_hosts(&n->system);
}

#include "sim/note_impl.h"

/* Time and ends: sim/node.c.
 * An event for later; until then the chain of events spends its time in `slot`. */
void ti_sim_later(ti_cluster *c, double time, int at, event_kind kind, uint64_t what, int slot);
/* This thread of a node is used for `ns` from now on, or from when it is free. Returns the end. */
double ti_sim_use(const ti_cluster *c, double *free_at, double ns);
/* The next event of the application thread, once it need not wait any more. */
void ti_sim_go_on(ti_cluster *c, node *n);
/* An instruction is complete now. */
void ti_sim_complete(ti_cluster *c, node *n, uint64_t instruction);

/* Steps that all ranks begin now, taken at once: sim/together.c. `first` is the share of any. Fills in when each is
 * through and which rank's chain of events led to that, and returns the next step; nothing if that is the same. */
int ti_sim_step_together(ti_cluster *c, const share *first, double *end, int *origin);
/* How many bytes of a message one port passes. */
double ti_sim_port_bytes(const ti_platform *p, double bytes);
/* A port passes this message from `time` on, or from when one is free, or all of them are; returns the beginning. */
double ti_sim_pass(const ti_platform *p, double *ports, double time, double bytes);

/* Collectives: sim/share.c. */
void ti_sim_collective(ti_cluster *c, node *n, const ti_instruction *instruction);
void ti_sim_barrier(ti_cluster *c, node *n, const ti_instruction *instruction);
void ti_sim_part_done(ti_cluster *c, node *n, uint64_t token);
void ti_sim_meet(ti_cluster *c, uint64_t meeting);
void ti_sim_free_schedules(ti_cluster *c);

#include "sim/replay_impl.h"

/* Start what can start on this node: sim/start.c. */
void ti_sim_pump(ti_cluster *c, node *n);

#endif
