/* tacit/config.h: the settings of a run.
 *
 * Each setting comes from the environment (a variable TACIT_...), from the program (a field of
 * tacit_config, given to tacit_init), or it has its default. The first of these wins. A variable that
 * begins with TACIT_ and is no setting, and a value that means nothing, are refused with
 * TACIT_ERROR_CONFIG, and the sentence names the nearest setting or the values allowed: a misspelled
 * setting is never ignored. Settings are read once, when the context is created, and should be the
 * same on all nodes. Those that must be (TACIT_BALANCE, TACIT_BROADCAST, TACIT_CHECK_PURE, TACIT_COLLECTIVES,
 * TACIT_COLLECTIVE_SCHEDULE, TACIT_DRY_RUN, TACIT_HORIZON_STEP, TACIT_HORIZON_FRONT, TACIT_LATENCY,
 * TACIT_LATENCY_TILE, TACIT_MULTICAST, TACIT_NCCL, TACIT_OVERLAP, TACIT_REPRODUCIBLE, TACIT_TRACE) are compared when
 * nodes start: if one differs, a node says which, and the job ends.
 *
 * doc/configuration.md and `tacit help settings` list all variables; `tacit info` shows what each of
 * them is here and now, and where its value comes from. */
#ifndef TACIT_CONFIG_H
#define TACIT_CONFIG_H

#include <tacit/base.h>

TACIT_C_BEGIN_

/* Whether tacit has threads: tacit_config.threads. */
enum {
    TACIT_THREADS_DEFAULT = 0, /* on, but off if the node has one core */
    TACIT_THREADS_INLINE = -1, /* everything runs in the calling thread, inside the calls of tacit */
    TACIT_THREADS_ON = 1       /* workers are threads */
};

/* Who plans and executes: tacit_config.progress. */
enum {
    TACIT_PROGRESS_DEFAULT = 0, /* shared up to 7 cores, threads from 8 on */
    TACIT_PROGRESS_SHARED = 1,  /* idle workers, and the program's thread while it waits */
    TACIT_PROGRESS_THREAD = 2   /* two threads of their own */
};

/* Whether allocations wait until the next tasks are known: tacit_config.lookahead. */
enum {
    TACIT_LOOKAHEAD_DEFAULT = 0, /* on */
    TACIT_LOOKAHEAD_OFF = 1,     /* allocate for each task by itself */
    TACIT_LOOKAHEAD_ON = 2,      /* wait for 0.2 ms at most */
    TACIT_LOOKAHEAD_FULL = 3     /* wait until a fence, a wait or the second horizon: the same plans in every run */
};

/* What becomes of transfers in which all nodes, or rows or columns of them, take part:
 * tacit_config.collectives. */
enum {
    TACIT_COLLECTIVES_DEFAULT = 0,  /* lookahead */
    TACIT_COLLECTIVES_OFF = 1,      /* messages between pairs of nodes */
    TACIT_COLLECTIVES_DISCOVER = 2, /* collectives, found for each task by itself */
    TACIT_COLLECTIVES_LOOKAHEAD = 3 /* collectives, found for a window of tasks together */
};

/* How a payload that several nodes wait for travels: tacit_config.broadcast. */
enum {
    TACIT_BROADCAST_DEFAULT = 0,  /* auto */
    TACIT_BROADCAST_AUTO = 1,     /* by size: binomial, binary or chain; flat if all nodes are on one machine */
    TACIT_BROADCAST_FLAT = 2,     /* a message from the sender to each: no relays */
    TACIT_BROADCAST_BINOMIAL = 3, /* whoever has the data sends it on in every step: the fewest steps */
    TACIT_BROADCAST_BINARY = 4,   /* nobody sends more than twice */
    TACIT_BROADCAST_CHAIN = 5     /* nobody sends more than once */
};

/* Who finds that several nodes want the same payload: tacit_config.multicast. */
enum {
    TACIT_MULTICAST_DEFAULT = 0, /* auto */
    TACIT_MULTICAST_AUTO = 1,    /* dynamic on one machine; between several by bytes and recipients: planned if short */
    TACIT_MULTICAST_DYNAMIC = 2, /* its sender, when the payload is ready: the sends that are planned by then */
    TACIT_MULTICAST_PLANNED = 3, /* the planners, from the next tasks: all nodes plan the same tree */
    TACIT_MULTICAST_OFF = 4      /* nobody: a message to each */
};

/* Whether the part of a chunk that needs nothing of other nodes is executed while messages travel:
 * tacit_config.overlap. */
enum {
    TACIT_OVERLAP_DEFAULT = 0, /* auto */
    TACIT_OVERLAP_AUTO = 1,    /* where it is worth two more launches of kernels */
    TACIT_OVERLAP_ON = 2,      /* wherever tasks may be cut */
    TACIT_OVERLAP_OFF = 3      /* all of a chunk waits */
};

/* Whether messages leave from and arrive in the memory of CUDA devices: tacit_config.device_mpi. */
enum {
    TACIT_DEVICE_MPI_DEFAULT = 0, /* auto */
    TACIT_DEVICE_MPI_AUTO = 1,    /* if the MPI says that it takes their addresses (MPIX_Query_cuda_support) */
    TACIT_DEVICE_MPI_ON = 2,      /* it does, whatever it says */
    TACIT_DEVICE_MPI_OFF = 3      /* all go by way of the host's memory */
};

/* Whether NCCL carries out collectives in the memory of CUDA devices: tacit_config.nccl. */
enum {
    TACIT_NCCL_DEFAULT = 0, /* auto */
    TACIT_NCCL_AUTO = 1,    /* where it can, on all nodes */
    TACIT_NCCL_ON = 2,      /* where it cannot, tacit_init fails and says why */
    TACIT_NCCL_OFF = 3      /* MPI does */
};

/* Who carries out collectives: tacit_config.collective_schedule. */
enum {
    TACIT_COLLECTIVE_SCHEDULE_DEFAULT = 0, /* auto */
    TACIT_COLLECTIVE_SCHEDULE_AUTO = 1,    /* what is usually faster */
    TACIT_COLLECTIVE_SCHEDULE_MPI = 2,     /* MPI, where a collective is one that it knows */
    TACIT_COLLECTIVE_SCHEDULE_DIRECT = 3,  /* messages between pairs of nodes */
    TACIT_COLLECTIVE_SCHEDULE_MEASURE = 4, /* what is faster, measured when tacit starts */
    TACIT_COLLECTIVE_SCHEDULE_PACKED = 5   /* MPI, and transpositions of small equal pieces are packed */
};

/* By which way short messages go between nodes of one machine: tacit_config.local_messages. */
enum {
    TACIT_LOCAL_MESSAGES_DEFAULT = 0, /* auto */
    TACIT_LOCAL_MESSAGES_AUTO = 1,    /* through memory that they share, if they can */
    TACIT_LOCAL_MESSAGES_MPI = 2      /* by MPI */
};

/* Whether the program's thread carries out steady loops of short tasks itself: tacit_config.rounds. */
enum {
    TACIT_ROUNDS_DEFAULT = 0, /* auto */
    TACIT_ROUNDS_AUTO = 1,    /* where kernels are short, and it has little else to do */
    TACIT_ROUNDS_ON = 2,      /* of whatever length kernels are */
    TACIT_ROUNDS_OFF = 3      /* no */
};

/* Whether nodes compare what they submit: tacit_config.divergence. */
enum {
    TACIT_DIVERGENCE_DEFAULT = 0, /* on */
    TACIT_DIVERGENCE_OFF = -1,    /* they do not; for programs that are known to be right */
    TACIT_DIVERGENCE_ON = 1       /* they do, and the first difference ends the job */
};

/* Whether tacit says at the end of a run what has cost time in it: tacit_config.advice. */
enum {
    TACIT_ADVICE_DEFAULT = 0, /* on a terminal */
    TACIT_ADVICE_OFF = -1,    /* never */
    TACIT_ADVICE_ON = 1       /* always */
};

/* The settings. Zero-initialise it; zero is the default of each field.
 *
 *     const tacit_config config = { .workers = 4, .reproducible = 1 };
 *     tacit_status status = tacit_init(&config, &ctx);
 *
 * The struct and its strings are copied: both may go out of scope when tacit_init returns. Behind each
 * field stands its variable, and what values mean. */
typedef struct tacit_config {
    /* How many threads of this node run kernels, all devices together, the program's own while it waits
     * included; each host device has at least one worker, and all have equally many. Default: the cores that the
     * process may use (its share of them, if several nodes run on one machine), less two from 8 on,
     * which plan and execute. */
    int workers; /* TACIT_WORKERS: 1 to 4096 */
    /* Whether there are threads at all. Without them everything happens inside the program's calls:
     * for debugging, and for nodes with one core. */
    int threads; /* TACIT_THREADS (0 or 1): TACIT_THREADS_...; default: on, but off on one core */
    /* Who plans and executes. */
    int progress; /* TACIT_PROGRESS (shared or thread): TACIT_PROGRESS_... */
    /* The devices of this node: "auto" (its part of the GPUs of the machine, or "host"), or a list such
     * as "opencl:0,opencl:1,host". "host" is the cores, one device in the host's memory; "host:2" divides the
     * workers among two, and with "host:2:discrete" each has a memory of its own, as GPUs do: to test what such
     * machines would do. "opencl:0" is the first device that OpenCL has (`tacit info` lists them), "opencl:0/2"
     * its two halves, "cuda:0" the first that CUDA's driver has. A node's accelerators are all of OpenCL or all
     * of CUDA. Where the list does not name the host, its cores run host tasks, and tasks that have a kernel for
     * them only. Nodes may differ. */
    const char *devices; /* TACIT_DEVICES: at most 32 devices; NULL: what host_devices says, or "auto" */
    /* The older way to say "host:2" or "host:2:discrete". */
    const char *host_devices; /* TACIT_HOST_DEVICES: "2" or "2:discrete"; NULL: "1" */
    /* How many horizons submission may be ahead of execution. More lets a program with short tasks
     * run further ahead, and takes more memory. Of a horizon whose tasks are placed on many nodes, each
     * node counts the share that concerns it: up to 65 536 tasks of all nodes may be ahead then. */
    int run_ahead; /* TACIT_RUN_AHEAD: 1 to 100000; default: 8 */
    /* A horizon comes when the critical path has grown by so many tasks: the step S of Thoman,
     * Salzmann: Balancing Tracking Granularity and Parallelism in Many-Task Systems: The Horizons
     * Approach, 2024. */
    int horizon_step; /* TACIT_HORIZON_STEP: 1 to 1000000; default: 4 */
    /* A horizon comes when so many tasks have no successor: the breadth M_E of the same paper. In loops
     * one comes at the same task of each pass, too, once this has made one there.
     * Default: 32 for each worker of all nodes, at least 64 and at most 1024. */
    int horizon_front; /* TACIT_HORIZON_FRONT: 1 to 100000000 */
    /* How many bytes may be on the way to one node that no receive is known for; later messages wait
     * here. Bounds the memory for messages that come early. */
    size_t early_bytes; /* TACIT_EARLY_BYTES: bytes, with k, M, G or T in the variable; default: 1 MiB */
    /* After so many seconds without progress a node says on stderr what it waits for, and a kernel that
     * has run for as long is named there. */
    int watchdog; /* TACIT_WATCHDOG: seconds; -1: never; default: 60 */
    /* Whether nodes compare what they submit. Costs a hash per call, and a note to a neighbour at
     * every 64th; nothing on one node. */
    int divergence; /* TACIT_DIVERGENCE (on or off): TACIT_DIVERGENCE_...; default: on */
    /* A path prefix: tacit_finalize writes the graphs of the run for Graphviz, to PREFIX.task.dot,
     * PREFIX.command.NODE.dot and PREFIX.instruction.NODE.dot. */
    const char *graph; /* TACIT_GRAPH: NULL: none */
    /* Which tasks they show: "first:last", the last not included. */
    const char *graph_tasks; /* TACIT_GRAPH_TASKS: NULL: all */
    /* How much tacit says on stderr. For the process, not the context. */
    int log; /* TACIT_LOG: 1 error, 2 warning (the default), 3 info, 4 debug */
    /* "NODES" or "NODES:NODE": plan as node NODE (default 0) of NODES, and execute nothing; see
     * tacit_is_dry_run. */
    const char *dry_run; /* TACIT_DRY_RUN: NULL: a live run */
    /* A path, where the report of a dry run goes as JSON besides. */
    const char *dry_run_report; /* TACIT_DRY_RUN_REPORT: NULL: none */
    /* "1" (stderr) or a path: tacit_finalize writes a table of what tasks read of what others wrote,
     * how it got there, and why it was no collective; as JSON if the path ends in .json. Node 0
     * writes it. doc/collectives.md explains it. */
    const char *explain; /* TACIT_EXPLAIN: NULL or "0": none */
    /* 1: the bits of reductions depend neither on workers, nor on devices, nor on nodes; see
     * tacit_reduce. */
    int reproducible; /* TACIT_REPRODUCIBLE: 0 or 1; default: 0 */
    /* 1 finds kernels that touch what their accesses do not declare. Kernels on devices then run
     * twice, on guarded copies. */
    int bounds_check; /* TACIT_BOUNDS_CHECK: 0 or 1; default: 0 */
    /* What this node may allocate for buffers and results of fences: bytes, with k, M, G or T, or
     * "1%" to "100%" of the machine's memory, of which the nodes of one machine get equal shares. */
    const char *memory_limit; /* TACIT_MEMORY_LIMIT: NULL: "100%" */
    /* Whether allocations wait until the next tasks are known. Waiting makes one allocation where a
     * buffer would grow in steps, with copies. */
    int lookahead; /* TACIT_LOOKAHEAD (off, on or full): TACIT_LOOKAHEAD_...; default: on */
    /* Whether communication of all nodes is found and travels by collectives. After Knorr, Salzmann,
     * Thoman, Fahringer: Automatic Discovery of Collective Communication Patterns in Parallelized
     * Task Graphs, 2024 (algorithm 1 and table 2); the window of several tasks is tacit's own. */
    int collectives; /* TACIT_COLLECTIVES (off, discover or lookahead): TACIT_COLLECTIVES_... */
    /* Who carries out collectives; the same on all nodes. */
    int collective_schedule; /* TACIT_COLLECTIVE_SCHEDULE (auto, mpi, direct, measure or packed): likewise */
    /* Files that describe a network and its nodes, with colons between them: a dry run then also tells how
     * long the program would take there; doc/simulation.md. */
    const char *simulate; /* TACIT_SIMULATE: NULL: no simulation */
    /* A path, where that goes as JSON; NULL: to stderr. */
    const char *simulate_report; /* TACIT_SIMULATE_REPORT */
    /* A path prefix: the run is traced, to PREFIX.NODE.tacit-trace, which `tacit trace` makes a report of
     * (doc/tracing.md). The same on all nodes. Ignored in dry runs. */
    const char *trace; /* TACIT_TRACE: NULL: it is not */
    /* How a payload that several placed tasks wait for travels to their nodes: by which tree; doc/broadcasts.md. */
    int broadcast; /* TACIT_BROADCAST (auto, flat, binomial, binary or chain): TACIT_BROADCAST_... */
    /* How much memory a node lends to payloads that it forwards, or that come before their receive is known.
     * What finds no room comes from its sender directly. */
    size_t relay_bytes; /* TACIT_RELAY_BYTES: bytes, with k, M, G or T in the variable; default: 64 MiB */
    /* Who finds that a payload has several recipients; doc/broadcasts.md. */
    int multicast; /* TACIT_MULTICAST (auto, dynamic, planned or off): TACIT_MULTICAST_... */
    /* "halo" or "halo:TASKS": tasks with the hint `pure` are planned in windows of so many (2 to 64; 4). Each node
     * computes a little of its neighbours' parts, too, so that only the first task of a window needs messages. "staged"
     * or "staged:TASKS": less of them, since what neighbours can compute of several tasks by themselves comes in one
     * message for each window. After Eijkhout: Task Graph Transformations for Latency Tolerance, 2022; doc/latency.md.
     * The same on all nodes. */
    /* "auto": windows of as many, and of the strategy, as the cost model says to be best, if they pay, from what is
     * measured: see tacit_retune. "auto:off,8,staged:16": what was chosen in another run, which said so in its log
     * (TACIT_LOG=info). Without windows tasks may still overlap with their own messages: see `overlap`. */
    const char *latency; /* TACIT_LATENCY: NULL or "off": no windows */
    /* Every message, part of a broadcast and collective is delivered so much later, and nobody computes less for it:
     * how a program would run on a network of a larger latency. For trials; results are the same. doc/latency.md. */
    int comm_delay; /* TACIT_COMM_DELAY: microseconds, up to 1000000; 0: none */
    /* What threads are bound to. "auto": if the workers (and threads that plan) are just as many as the cores that the
     * process may use, or its equal share of them where nodes of one machine may use the same, each has a core of
     * its own; if they are fewer, all have the share; nothing is bound if they are more, or if another process or
     * context has the cores. A list of cores, "0-3,8": these instead, one each. The program's thread is one of those
     * that are bound, where it runs kernels while it waits: threads that the program starts after tacit_init inherit
     * what it is bound to until tacit_finalize. "off": nothing is bound. */
    const char *pin; /* TACIT_PIN: NULL: "auto" */
    /* Whether tacit_finalize says on stderr, on node 0, what has cost time in the run: workers without kernels, a node
     * that is late, memory that grew again and again or is mostly idle, messages that a collective would replace,
     * windows of pure tasks that closed early; each with the cure and where the documents say more, and nothing where
     * all is well. Workers then read the clock twice for each part of a kernel. Default: if stderr of node 0 is a
     * terminal, or that of `tacit run` is. That accesses were checked is said in any case but for TACIT_ADVICE_OFF.
     * Node 0's setting counts for all. */
    int advice; /* TACIT_ADVICE (0 or 1): TACIT_ADVICE_... */
    /* Where compiled kernels of OpenCL and CUDA devices are kept for later runs: a directory, which nodes and programs
     * may share, or "off"; doc/devices.md. */
    const char *kernel_cache; /* TACIT_KERNEL_CACHE: NULL: "tacit" in the user's directory for caches */
    /* What each device with a memory of its own may allocate there: bytes ("8G"), or a part of what it has
     * ("80%"). Where that is short, what the next task does not need is copied to the host's memory and freed;
     * doc/devices.md. */
    const char *device_memory; /* TACIT_DEVICE_MEMORY: NULL: "100%" */
    /* 1 finds kernels that are marked pure (.hint.pure) and are not: where windows (`latency`) compute elements on
     * several nodes, samples of them are compared between these, bit by bit, in every tacit_wait, tacit_retune and
     * tacit_finalize, which all nodes then wait for each other in. What differs is TACIT_ERROR_KERNEL there.
     * doc/latency.md. The same on all nodes. */
    int check_pure; /* TACIT_CHECK_PURE: 0 or 1; default: 0 */
    /* Where windows (`latency`) are executed tile by tile: a small part of a node's chunks goes through all tasks
     * of the window before the next begins, so that it stays in the cache. "auto": where they touch more than the
     * last-level cache holds, by tiles of an eighth of that. Bytes ("8M"): by tiles of so many. On one node there
     * are windows then, too. Results are the same; no item is executed twice. doc/latency.md. The same on all
     * nodes. */
    const char *latency_tile; /* TACIT_LATENCY_TILE: NULL: "off" */
    /* Whether a task that receives something is executed in parts: those items of a node's chunk that need nothing of
     * other nodes at once, while messages travel, the others when these have come. Nothing is computed twice, and
     * results are the same to the last bit. Tasks are not cut that reduce, that run on the host, whose kernel gets each
     * chunk in one call (.whole_chunk), or that have several chunks for a node. By default those are cut that are worth
     * two more launches of kernels: three quarters of the chunk do not wait, and it takes 50 us, by .cost of the task,
     * or else with 1 ns for an item, on all workers of a node. It does not depend on what is measured. doc/latency.md.
     * The same on all nodes. */
    int overlap; /* TACIT_OVERLAP (auto, on or off): TACIT_OVERLAP_... */
    /* How large the nodes' shares are, of tasks that are split along dimension 0 and have no .hint.weights, and those
     * of the devices of each node. "auto": equal ones at first, then in proportion to how fast nodes and devices have
     * computed, which is measured and taken over where all nodes wait for each other: at some waits, and in
     * tacit_retune. "2,1,1": these. "2=8+1,1,1": these for devices of the first node, too. "16:2,1,1/64:3,1,1": these
     * after so many of such tasks, at the next wait; in this form the log (TACIT_LOG=info) says what was chosen, so
     * that another run can repeat it. Results are the same, but for the last bits of reductions of floating-point
     * numbers, as with all hints. doc/balance.md. The same on all nodes. */
    const char *balance; /* TACIT_BALANCE: NULL or "off": equal shares */
    /* Whether messages leave from the memory of CUDA devices, and arrive there on nodes where one device executes what
     * needs them, as are collectives. Reductions and what placed tasks need go by way of the host's memory.
     * doc/devices.md. Nodes may differ. */
    int device_mpi; /* TACIT_DEVICE_MPI (auto, on or off): TACIT_DEVICE_MPI_... */
    /* Whether NCCL carries out collectives in the memory of CUDA devices. It can where each node has one, and all of
     * them different ones. Reductions, and tasks without a kernel for them, are MPI's. doc/devices.md. The same on all
     * nodes. */
    int nccl; /* TACIT_NCCL (auto, on or off): TACIT_NCCL_... */
    /* By which way short messages go, up to 64 KiB, between nodes of one machine: through memory that their processes
     * share, or by MPI as all others. Each node has up to 512 KiB for each of the others, of which it mostly uses
     * 16 KiB and the longest message. Where memory cannot be shared (nodes in different containers), and where the
     * setting of one node says so, MPI carries all messages of that machine. doc/mpi.md. Nodes may differ. */
    int local_messages; /* TACIT_LOCAL_MESSAGES (auto or mpi): TACIT_LOCAL_MESSAGES_... */
    /* Whether the program's thread carries out the tasks of a steady loop itself as it submits them, and shares each
     * kernel with the workers: then short kernels cost little more than they take. Loops are steady when the same tasks
     * come again and again, whatever their arguments. On one node with the host's cores as one device, and on nodes of
     * one machine that are inline; others are as with off. Results are the same. doc/guide/slow.md. Nodes may
     * differ. */
    int rounds; /* TACIT_ROUNDS (auto, on or off): TACIT_ROUNDS_... */
} tacit_config;

TACIT_C_END_
#endif
