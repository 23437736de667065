/* A cluster as numbers: what the simulator knows of its network and of one node.
 *
 * Times are nanoseconds. The network is LogGP's (Alexandrov et al., doi 10.1145/215399.215427): a message of k bytes
 * takes `send_overhead` of its sender, enters the network by one of the node's ports, which it keeps for
 * max(gap, k byte_time), needs `latency` to the other side, and takes `receive_overhead` there. Messages above `eager`
 * bytes first ask the receiver whether it is ready, whom they cost `rendezvous` more.
 *
 * Text files, "key = value unit" in lines, '#' begins a comment; doc/simulation.md has all keys. One thread. */
#ifndef TI_PLATFORM_H
#define TI_PLATFORM_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "sim/schedule.h"

#include <stdbool.h>

typedef struct ti_platform_kernel {
    char *task;  /* its name */
    double item; /* time per item */
    bool met;    /* it was asked for */
} ti_platform_kernel;

typedef TI_VEC(ti_platform_kernel) ti_platform_kernels;

/* A thread of its own; those that run kernels, between these, and an attendant, which looks now and then while all are
 * in kernels; the only thread there is. */
typedef enum ti_platform_progress { TI_PROGRESS_THREAD, TI_PROGRESS_SHARED, TI_PROGRESS_INLINE } ti_platform_progress;

typedef struct ti_platform {
    /* the network */
    double latency, send_overhead, receive_overhead, gap, byte_time;
    double eager, rendezvous;
    double ports;          /* of a node, each way */
    double stripe;         /* longer messages take all ports, a part each; 0: none does */
    double bisection_byte; /* of all messages from one half of the nodes to the other, each way; 0: there is no limit */
    ti_algorithm algorithm; /* of collectives, where it fits */
    /* a node */
    double workers;
    double item;            /* of kernels that are not named */
    double start;           /* of a kernel, on each worker */
    double handling;        /* of an instruction, by the thread that starts them: what depends on it, looking on */
    double copy, copy_byte; /* a copy in memory */
    double combine_byte;    /* of reductions */
    /* a device with a memory of its own and lanes */
    double launch;                                /* from the start of a kernel until it computes */
    double device_item;                           /* of kernels that are not named; 0: as long as on all workers */
    double device_lanes;                          /* kernels under way at once; they compute one after the other */
    double device_copy;                           /* of each copy, besides its bytes */
    double to_device, from_device, among_devices; /* per byte of a copy */
    double device_memory;                         /* bytes; 0: no limit */
    double task, command, instruction;            /* planning of one task by each stage */
    bool measured;                                /* the last two: what they take here */
    ti_platform_progress progress;                /* who looks after messages */
    ti_platform_kernels kernels;
    ti_platform_kernels device_kernels; /* times on a whole device */
    char *replay;                       /* where the trace of a run lies that is followed, or NULL */
    bool in_order;                      /* as it was recorded, messages, too */
    uint64_t given;                     /* which keys some file had; platform.c */
} ti_platform;

void ti_platform_init(ti_platform *p);
void ti_platform_fini(ti_platform *p);

/* Add what a file says; files may follow each other, each with some of the keys. False and a sentence in `why` if it
 * cannot be read or says something that makes no sense, with the line. */
bool ti_platform_read(ti_platform *p, const char *path, ti_strbuf *why);
/* Whether all keys without a default were in some file. `files`: what was read, for the sentence. */
bool ti_platform_is_complete(const ti_platform *p, const char *files, ti_strbuf *why);

/* A time with its unit, such as "2.5 us". False if it is not one. */
bool ti_platform_time(const char *text, double *ns);
/* Time per item of a kernel of tasks with this name: what a file says of it, or what the program does (0: nothing),
 * or that of any kernel. */
double ti_platform_item(const ti_platform *p, const char *task, double cost);
/* On a whole device: what a file says of it, or of any kernel, or what all workers of a node take. */
double ti_platform_device_item(const ti_platform *p, const char *task, double cost);

#endif
