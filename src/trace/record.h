/* What a traced run notes: records of fixed size, in one ring per role, and the file that they are written to.
 *
 * A ring has one writer at a time (who has the role: the program's thread, the planner, the executor, one worker) and
 * one reader, the recorder (trace/recorder.h), which empties it behind the program's back. A full ring drops records
 * and counts them. In a run that is not traced there are no rings: a NULL pointer is all that is looked at.
 *
 * A file is a header and blocks, each with its length, so one whose writer died can be read up to there. All numbers
 * are those of the machine that wrote them. Times are nanoseconds of the node's monotonic clock; blocks of clocks,
 * which node 0 writes, say how far those of other nodes are off. Simulations write the same files. */
#ifndef TI_RECORD_H
#define TI_RECORD_H

#include "base/macro.h"

#include <stdatomic.h>

/* Who notes it: the number of the ring. Worker w: TI_TRACE_WORKER + w. */
enum { TI_TRACE_PROGRAM, TI_TRACE_PLANNER, TI_TRACE_EXECUTOR, TI_TRACE_WORKER };

typedef enum ti_trace_kind {
    TI_TRACE_NONE,
    /* The program's thread. */
    TI_TRACE_TASK, /* the task stage; number: ti_task_kind, name: what it is called */
    TI_TRACE_WAIT, /* number: ti_trace_cause */
    /* The planner. */
    TI_TRACE_COMMANDS,     /* the command stage of a task; number: commands */
    TI_TRACE_INSTRUCTIONS, /* the instruction stage; number: instructions */
    TI_TRACE_WINDOW,       /* a window of allocations is open: instructions are held back */
    /* The executor: one per instruction, from its start to its end. `ready` and `by` say what it waited for. */
    TI_TRACE_ALLOC, /* value: bytes, as of all that follow but kernels */
    TI_TRACE_FREE,
    TI_TRACE_COPY,
    TI_TRACE_KERNEL, /* value: when it was ready, whatever it had to wait for then */
    TI_TRACE_HOST,   /* the same */
    TI_TRACE_COLLECTIVE_HOST,
    TI_TRACE_SEND, /* number: which message of the pair of nodes; where: the peer */
    TI_TRACE_RECEIVE,
    TI_TRACE_COLLECTIVE, /* number: its sequence number; where: ti_pattern */
    TI_TRACE_REDUCE,
    TI_TRACE_FENCE,
    TI_TRACE_EPOCH,
    TI_TRACE_HORIZON,
    /* A worker. */
    TI_TRACE_PART, /* of instruction `id`; number: which part; where: the worker; value: items, 0: a copy */
    /* The executor, beside a collective (`id`, number: as there): value: bytes that this node gets, of those in that
     * record; by: the first node of its group, name: how many there are, where: nodes from one to the next. */
    TI_TRACE_MEMBERS,
    /* The executor: this node has passed a message on. by: whose message it is; where, number: to whom, and which of
     * the messages between these two; value: bytes. */
    TI_TRACE_RELAY,
    /* The executor, beside a kernel or copy (`id`) that a device with lanes has carried out: from when it could begin
     * in its lane to when its end was seen. where: the device, without those of the host; number: its lane. */
    TI_TRACE_LANE_KERNEL,
    TI_TRACE_LANE_COPY,
    TI_TRACE_KINDS
} ti_trace_kind;

/* Why the program's thread waits. */
typedef enum ti_trace_cause {
    TI_CAUSE_NEAR,    /* it is too many horizons ahead: back-pressure */
    TI_CAUSE_ROOM,    /* the channel of tasks is full: the same */
    TI_CAUSE_SIGNAL,  /* the result of a fence */
    TI_CAUSE_POINTS,  /* tacit_wait, the end */
    TI_CAUSE_SETTLED, /* the other nodes, at the end */
    /* Not in traces: messages of a round that the program's thread carries out; all that it has submitted. */
    TI_CAUSE_ROUND,
    TI_CAUSE_ALL,
    TI_CAUSES
} ti_trace_cause;

enum { TI_TRACE_UNFINISHED = 0x80 }; /* with a kind: under way when the run failed */

typedef struct ti_trace_record {
    uint64_t start, end;
    uint64_t value;
    uint32_t task;   /* low half of its id; 0: it belongs to none */
    uint32_t id, by; /* of instructions, low halves: its own, and the one whose end made it ready (0: none) */
    uint32_t number;
    uint32_t name;       /* of tasks: a text; of messages and memory: the buffer's serial number plus one, 0: none */
    uint32_t kind : 8;   /* ti_trace_kind */
    uint32_t where : 24; /* the peer, the worker, the pattern */
} ti_trace_record;
_Static_assert(sizeof(ti_trace_record) == 48, "the format of files");

typedef struct ti_trace_ring {
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t tail; /* next to fill */
    uint64_t seen_head;                            /* the writer's copy of head */
    _Atomic uint64_t dropped;
    ti_trace_record *record;
    uint64_t capacity;         /* a power of two */
    void (*hurry)(void *user); /* called when another quarter is full */
    void *user;
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t head; /* next to take: the recorder's */
} ti_trace_ring;

/* The writer of the ring. Callers ask first whether there is one, before they read the clock. */
static inline void ti_trace_add(ti_trace_ring *ring, const ti_trace_record *record)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (TI_UNLIKELY(tail - ring->seen_head == ring->capacity)) {
        ring->seen_head = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (tail - ring->seen_head == ring->capacity) {
            atomic_store_explicit(&ring->dropped, atomic_load_explicit(&ring->dropped, memory_order_relaxed) + 1,
                                  memory_order_relaxed);
            return;
        }
    }
    ring->record[tail & (ring->capacity - 1)] = *record;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    if (TI_UNLIKELY(((tail + 1) & (ring->capacity / 4 - 1)) == 0)) {
        ring->hurry(ring->user);
    }
}

/* ---- files */

#define TI_TRACE_MAGIC "tacit-trace"
enum { TI_TRACE_VERSION = 1 };

typedef struct ti_trace_header {
    char magic[12];
    uint32_t version;
    uint32_t node, nodes;
    uint32_t record_bytes, rings;
    uint64_t start; /* the node's clock when it began */
} ti_trace_header;

typedef enum ti_trace_block_kind {
    TI_BLOCK_RECORDS = 1, /* id: the ring */
    TI_BLOCK_NAME,        /* id: as in records of tasks; the text, without its end */
    TI_BLOCK_BUFFER,      /* id: serial number plus one */
    TI_BLOCK_FACT,        /* "key=value": versions, settings, the machine */
    TI_BLOCK_CLOCKS,      /* ti_trace_clock */
    TI_BLOCK_END,         /* ti_trace_end: the file is complete */
    TI_BLOCK_VALUES       /* what the program got from a fence; id: which one of its fences, from 1 */
} ti_trace_block_kind;

typedef struct ti_trace_block {
    uint32_t kind, id;
    uint64_t bytes; /* that follow */
} ti_trace_block;

/* At `time` of node 0 the clock of `node` showed `time + offset`, give or take `error`. */
typedef struct ti_trace_clock {
    uint64_t time;
    int64_t offset;
    uint64_t error;
    uint32_t node, unused;
} ti_trace_clock;

typedef struct ti_trace_end {
    uint64_t time, records, dropped; /* time 0: simulated */
} ti_trace_end;

#endif
