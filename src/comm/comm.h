/* The communicator: one table of operations, implemented for MPI (mpi/) and for one process (self.c); the tests have
 * one more, many nodes in one process (tests/support/local_comm.h).
 *
 * A message is identified by (origin node, destination node, counter): the origin's n-th message for that destination,
 * counted at planning time on both sides. No message announces another. The communicator delivers to this *receive
 * identity* and not to a request of the network library, so that a message that came through a relay can satisfy a
 * receive too.
 *
 * Rules for implementations. Calls are made by one thread at a time (the executor role), never block, and may come in
 * any order of counters. A send may complete before its receive is known (eager), but the bytes under way to one peer
 * for which no receive is known are bounded (`early_bytes`): beyond that, messages with higher counters wait, older
 * ones never do, so there is no deadlock. Tags are counters modulo what the network allows; at most that many are in
 * flight. Payloads may exceed 2 GiB and hold many blocks. Payload blocks are copied by send and receive; the memory
 * they address stays valid until completion. Tokens are the caller's, below 2^60. A network error is stored
 * (ti_comm_stats::error) and reported by poll as -1; the executor ends the job.
 *
 * Between nodes of one machine an implementation may carry short messages by itself (near.h); the rules are the same.
 *
 * Notes are a channel of their own beside the messages: short, at most TI_NOTE_BYTES, without counters and in the order
 * of their sending per pair of nodes. They change neither `pending` nor the statistics. Their number under way is
 * bounded: note_send says no when there are too many, and the sender tries again later. */
#ifndef TI_COMM_H
#define TI_COMM_H

#include "grid/layout.h"
#include "ir/collective.h"
#include "tacit/tacit.h"

typedef struct ti_comm ti_comm;
typedef struct ti_exchange ti_exchange; /* comm/exchange.h */

/* Which threads may call the network's library, and when. */
typedef enum ti_comm_threads {
    TI_COMM_THREADS_ALL,        /* any thread, while others do: MPI_THREAD_MULTIPLE, or no such library */
    TI_COMM_THREADS_ONE_BY_ONE, /* any thread, while no other does, and the application does not call it */
    /* The same, and the application calls it too: so only inside the application's calls of tacit. */
    TI_COMM_THREADS_INSIDE_CALLS,
    TI_COMM_THREADS_CREATOR /* only the thread that created the communicator */
} ti_comm_threads;
enum { TI_NOTE_BYTES = 512 };

typedef struct ti_payload {
    const ti_block *block;
    uint32_t count;
    size_t bytes; /* the sum over the blocks */
} ti_payload;

/* Of a broadcast: who gets it, as which of its messages from the sender. */
typedef struct ti_recipient {
    uint64_t counter, token; /* the token is reported when this recipient needs the payload no more */
    int32_t node, priority;
} ti_recipient;

typedef struct ti_relay_stats {
    uint64_t broadcasts, recipients;     /* started here, and for how many */
    uint64_t refused;                    /* recipients that got an ordinary message after all, being not ready */
    uint64_t forwarded, forwarded_bytes; /* for others */
    uint64_t carried;                    /* offers that came with the payload */
    uint64_t memory_peak;                /* bytes */
} ti_relay_stats;

/* A message that a relay has passed on: the origin's n-th for node `to`. */
typedef struct ti_relayed {
    int origin, to;
    uint64_t counter, bytes;
    uint64_t start, end; /* by the clock of who looks on */
} ti_relayed;

/* Who looks on: traced runs. Zeroed: nobody. */
typedef struct ti_relay_tap {
    void *user;
    uint64_t (*now)(void *user);
    void (*relayed)(void *user, const ti_relayed *what);
} ti_relay_tap;

typedef struct ti_comm_stats {
    uint64_t messages_sent, bytes_sent, messages_received, bytes_received;
    uint64_t early_bytes_peak; /* most bytes to one peer for which no receive was known to be posted */
    uint64_t held_back;        /* sends that waited for the early_bytes limit */
    uint64_t messages_near; /* of those received: by memory that nodes of one machine share, parts of collectives too */
    uint64_t collectives, collective_bytes_out, collective_bytes_in; /* started; what this node gave and got by them */
    uint64_t carried[TI_PATTERN_KINDS][TI_CARRIERS]; /* of them, by pattern; those of devices by their caller */
    ti_relay_stats relay;
    const char *error; /* a sentence, or NULL */
    /* The error is a message of another length than expected: nodes may have submitted different tasks. */
    bool length_mismatch;
} ti_comm_stats;

typedef struct ti_comm_ops {
    const char *name;
    void (*destroy)(ti_comm *comm);
    void (*send)(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token);
    void (*receive)(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token);
    /* The same of a message that is complete by that: no token is reported. False: nothing was done. NULL: never. One
     * that has not come yet is looked for so often again. */
    bool (*send_at_once)(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload);
    bool (*receive_at_once)(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, int looks);
    /* The same payload to several nodes: as a send to each, but perhaps by way of each other (relay.h). The list is
     * scratch. Only with `relays`. */
    void (*broadcast)(ti_comm *comm, ti_recipient *list, uint32_t count, const ti_payload *payload);
    /* All nodes poll from now on whatever their kernels do, so that each may be a relay; sets `relays`. Before the
     * first message, on all nodes or none. */
    void (*open_relays)(ti_comm *comm);
    struct ti_relay *(*relay)(ti_comm *comm); /* which is open; for communicators over this one (delay.h) */
    /* A collective, which all nodes start in the same order. What the exchange names besides x->what is read before
     * this returns. */
    void (*collective)(ti_comm *comm, const ti_exchange *x, uint64_t token);
    /* The same; true: it is complete by that, and no token is reported. NULL: never. Else what is missing may be looked
     * for, so often again, until the next collective or poll, with the same result. */
    bool (*collective_at_once)(ti_comm *comm, const ti_exchange *x, uint64_t token);
    bool (*collective_look)(ti_comm *comm, int looks);
    void (*barrier)(ti_comm *comm, uint64_t token); /* completes when all nodes have started theirs */
    /* Over all nodes, which all call it; waits: at start and end only, and where all nodes wait for each other anyway,
     * after a barrier. */
    int64_t (*sum)(ti_comm *comm, int64_t value);
    int (*poll)(ti_comm *comm, uint64_t *tokens, int max); /* tokens of completed operations: their number, or -1 */
    /* Of the network's library, for kernels; NULL if it is another library than the caller's. Operation NULL: there is
     * none. Any thread. */
    const void *(*communicator)(const ti_comm *comm, const tacit_mpi_comm *like, int group);
    /* All nodes, at the same point of the program, when nothing is under way: there is a communicator for this group of
     * kernels, too (1 to TACIT_MAX_COLLECTIVE_GROUPS). Waits. False: an error, which is stored. NULL: nothing to do. */
    bool (*open_group)(ti_comm *comm, int group);
    /* Ends the job: the process, or where nodes share one, every poll with -1. `why` has been printed. */
    void (*abort)(ti_comm *comm, const char *why);
    /* Notes. NULL: there are none. */
    bool (*note_open)(ti_comm *comm); /* all nodes, once, before all others; waits. False: there are none */
    bool (*note_send)(ti_comm *comm, int peer, const void *note, size_t bytes); /* copies; false: not now */
    int (*note_poll)(ti_comm *comm, int *origin, void *note); /* bytes of the next one, 0: none, -1: as poll */
} ti_comm_ops;

/* Implementations embed this as their first member. */
struct ti_comm {
    const ti_comm_ops *ops;
    int node, num_nodes;
    int local_nodes; /* how many nodes run on this machine and share its cores */
    int local_node;  /* which of them this is */
    /* Of them, those whose processes may use the same cores as this one: how many, and how many of them come before it.
     * 0: other nodes may use some of its cores. */
    int sharing, sharing_before;
    uint64_t pending;  /* operations started and not reported yet: poll has nothing to do at 0, unless it listens */
    bool relays;       /* there are broadcasts, and others may need this node */
    bool reaches_cuda; /* the network's library takes addresses of CUDA devices */
    bool never_packs;  /* some node has such, which nobody else may read: set by the caller, before the first message */
    /* For that, poll even if nothing is pending. The caller sets it at the same task on all nodes, and only then starts
     * broadcasts: so a node that has nothing left to do listens to those of nodes that have. */
    bool listens;
    ti_relay_tap tap;       /* the caller's, at any time */
    uint64_t notes_pending; /* notes sent that have not arrived */
    /* Set by the caller: it polls in time whatever kernels and the program do, so what is complete for it may still be
     * under way. */
    bool attended;
    uint64_t due;      /* on the clock, when the next thing happens that this node knows of; 0: unknown */
    uint64_t delay_ns; /* by which all of it is late on purpose (delay.h) */
    uint64_t nap_ns;   /* how long a thread that waits for others may sleep at a time; 0: nothing is known */
    size_t segment;    /* into which relays cut payloads; 0: TI_TREE_SEGMENT */
    ti_comm_threads threads;
    const char *thread_level; /* its name, if it forbids something */
    ti_comm_stats stats;
};

/* One process. */
ti_comm *ti_comm_self_create(void);
/* One node of many that do not exist, for dry runs: it has a number and meets itself in barriers, and nothing is
 * sent. */
ti_comm *ti_comm_dry_create(int node, int num_nodes);

typedef struct ti_comm_settings {
    size_t early_bytes;
    size_t relay_bytes; /* of memory for broadcasts (relay.h) */
    int broadcast;      /* TACIT_BROADCAST_*; the same on all nodes */
    int schedule;       /* of collectives: TACIT_COLLECTIVE_SCHEDULE_*; the same on all nodes */
    bool no_near;       /* short messages between nodes of one machine go by MPI, too */
    /* For tests: of the nodes of one machine, those are near each other whose numbers there are equal modulo this. 0:
     * all of them. The same on all nodes. */
    int near_groups;
    const char *text; /* ti_config_shared, which nodes compare before anything else; NULL: nothing is compared */
} ti_comm_settings;

/* MPI: initialises it unless somebody has. NULL and a sentence in `why` on failure. In builds without MPI: always. */
ti_comm *ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size);
/* MPI, on a duplicate of a communicator of the application's, which has initialised MPI and will finalise it. On
 * failure a sentence in `why`. */
tacit_status ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out, char *why,
                               size_t why_size);
/* Whether this process was started by an MPI launcher (from its environment, without initialising MPI). */
bool ti_comm_mpi_is_launched(void);
/* And whether it is one of several. */
bool ti_comm_mpi_has_others(void);
/* Whether MPI runs and knows of no other process; always in builds without MPI. */
bool ti_comm_mpi_is_alone(void);
/* Name and version of the MPI library, or "none". */
const char *ti_comm_mpi_library(void);

#endif
