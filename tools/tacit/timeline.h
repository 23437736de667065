/* A run as its trace files tell it (src/trace/record.h): all nodes on one clock, and what follows from that.
 *
 * timeline_read.c reads the files, timeline_share.c says where time went, timeline_matrix.c how many bytes went from
 * node to node, timeline_path.c which tasks and messages the run took as long as they did, timeline_json.c and
 * timeline_page.c write it down. Times are nanoseconds since the first node began, on the clock of node 0. Nothing here
 * knows whether the files come from a run or from a simulation. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/read.h"

typedef struct tl_event {
    int64_t start, end;
    int64_t ready; /* of instructions: kernels may have to wait for a worker then */
    uint64_t bytes;
    uint64_t items; /* of parts; of members how many there are */
    uint32_t task, id, by, number;
    uint32_t name;   /* of the task */
    uint32_t buffer; /* its name; 0: none */
    uint32_t where;
    uint8_t kind; /* ti_trace_kind */
    bool unfinished;
    bool on_lane; /* of copies: there is an event of a device's lane for it */
} tl_event;

/* What a worker does, or waits for, and the program's thread, too. In the order of reports. */
typedef enum tl_cause {
    TL_BUSY,     /* kernels, copies and reductions that workers run */
    TL_MESSAGE,  /* a message from another node, or a collective */
    TL_KERNEL,   /* a kernel of another worker: there is nothing else to do */
    TL_COPY,     /* a copy, a reduction, memory */
    TL_START,    /* what is ready has not been started yet */
    TL_PLANNING, /* tasks that were submitted and are not planned yet */
    TL_WINDOW,   /* a window of allocations is open */
    TL_PRESSURE, /* the program may not run further ahead */
    TL_RESULT,   /* the program waits for a result, or for the end */
    TL_PROGRAM,  /* the program computes, and submits nothing */
    TL_CAUSES
} tl_cause;

typedef TI_VEC(tl_event) tl_events;

typedef struct tl_node {
    bool there, complete; /* there is a file, and it has its end */
    int workers;
    bool alone;     /* the program's thread does everything: TACIT_PROGRESS does not apply */
    uint64_t clock; /* when it began, on its own clock */
    uint64_t dropped;
    int64_t begin, end;
    int64_t clock_error;   /* how far its clock may be off; -1: not known */
    tl_events event;       /* sorted by start */
    uint32_t *instruction; /* of each id: index of its event, plus one */
    uint32_t instructions;
    ti_map submitted, planned;               /* of a task: index of the events of its first two stages, plus one */
    TI_VEC(uint32_t) waits, windows, points; /* events: of the program's thread; windows; fences, epochs and horizons */
    int64_t spent[TL_CAUSES];                /* nanoseconds of all workers together */
    ti_strbuf facts;                         /* "key=value" and NUL, one after the other */
} tl_node;

/* Where workers of `node` waited for messages of a buffer, from a peer, so that tasks called `name` could go on. */
typedef struct tl_blame {
    uint32_t node, peer, buffer, name; /* of a collective: the peer that came last */
    bool collective;
    int64_t ns;
    uint64_t times;
} tl_blame;

/* One stretch of the critical path. */
typedef struct tl_step {
    int64_t start, end;
    uint32_t node, peer; /* of messages: from `peer` to `node` */
    uint32_t name;       /* of the task; of messages the buffer */
    uint8_t kind;        /* ti_trace_kind of the instruction, or TI_TRACE_NONE and: */
    uint8_t cause;       /* tl_cause */
} tl_step;

/* All parts of one task's name on one node. */
typedef struct tl_load {
    uint64_t parts;
    int64_t ns;
} tl_load;

typedef struct timeline {
    int nodes;
    tl_node *node;
    TI_VEC(char *) names; /* of tasks and buffers; 0: "" */
    ti_map name_index;
    ti_map task_name, buffer_name; /* of a task, of a buffer's number */
    ti_map sends;                  /* timeline_send */
    ti_map last;                   /* of a collective: the node that began last */
    int64_t begin, end;
    uint64_t records, dropped, bytes_sent, messages;
    tl_load *load;           /* [node * names + name], once shares are known */
    TI_VEC(tl_blame) blames; /* longest first */
    uint64_t *sent;          /* in messages: [node * nodes + peer], up to TL_MATRIX nodes; or NULL */
    uint64_t *collected;     /* likewise in collectives: timeline_matrix.c */
    uint64_t *passed;        /* likewise by relays, which are in `sent` of whose message it is */
    uint64_t relayed, bytes_relayed, bytes_collected;
    TI_VEC(tl_step) path; /* from the end to the beginning */
} timeline;
enum { TL_MATRIX = 512 };

/* Reads PREFIX.N.tacit-trace of all nodes. False and a sentence in `why` if there is no trace. */
bool timeline_read(timeline *t, const char *prefix, ti_strbuf *why);
void timeline_fini(timeline *t);
const char *timeline_name(const timeline *t, uint32_t name);
/* The number of a name. */
uint32_t timeline_intern(timeline *t, const char *text, size_t length);
/* The value of a fact, or NULL. */
const char *timeline_fact(const tl_node *node, const char *key);

/* Fills in what nodes spent, loads, blames and what was sent. */
void timeline_share(timeline *t);
/* Fills in what nodes got by collectives. */
void timeline_matrix(timeline *t);
void timeline_path(timeline *t);
/* The send of the message that this relay passed on; NULL: it is not known. */
const tl_event *timeline_relayed_send(const timeline *t, const tl_event *relay);
/* The event of an instruction; NULL: it was dropped, or there is none. */
const tl_event *timeline_instruction(const tl_node *node, uint32_t id);
/* What a receive waited for, NULL: it is not known; and who began a collective last (`node`, if that is not known). */
const tl_event *timeline_send_of(const timeline *t, uint32_t node, const tl_event *receive);
uint32_t timeline_last_of(const timeline *t, uint32_t node, const tl_event *collective);
/* How many events of the node begin before `time`. */
size_t timeline_count_before(const tl_node *node, int64_t time);
/* The last fence, epoch or horizon that ended in [begin, end]; NULL: none. */
const tl_event *timeline_point(const tl_node *node, int64_t begin, int64_t end, bool horizons);
/* The last wait of the program's thread that began before `time`; NULL: none. */
const tl_event *timeline_wait(const tl_node *node, int64_t time);
/* Calls `found` for every stretch of [begin, end) of a node in which something that led to `e` was waited for. */
typedef void tl_found(void *user, tl_cause cause, int64_t begin, int64_t end, const tl_event *culprit);
void timeline_explain_gap(const tl_node *node, const tl_event *e, int64_t begin, int64_t end, tl_found *found,
                          void *user);
const char *timeline_cause_name(tl_cause cause);

/* Lanes: what is drawn in one row, in which nothing overlaps but in the last row of messages. */
typedef enum tl_lane_kind {
    TL_LANE_PROGRAM,
    TL_LANE_PLANNER,
    TL_LANE_WORKER,
    TL_LANE_DEVICE, /* one of each lane of each device */
    TL_LANE_MEMORY,
    TL_LANE_MESSAGES
} tl_lane_kind;
typedef struct tl_lane {
    uint32_t node;
    tl_lane_kind kind;
    int index;              /* of the worker, of the row of messages; TL_LANES times a device, and its lane */
    TI_VEC(uint32_t) event; /* indices, by where they are drawn from */
    int64_t end;            /* of the last one */
} tl_lane;
typedef TI_VEC(tl_lane) tl_lanes;
enum { TL_LANES = 256 }; /* more than a device has */
/* Where it is drawn from: a receive that was begun before its send, from then on. */
int64_t timeline_drawn_from(const timeline *t, uint32_t node, const tl_event *e);
void timeline_lanes(const timeline *t, uint32_t node, int message_rows, tl_lanes *out);
void timeline_lanes_fini(tl_lanes *lanes);
/* What is drawn as one span: an event, or several neighbours that are short, by the longest of them. */
typedef struct tl_span {
    int64_t start, end;
    uint64_t count;
    const tl_event *most;
} tl_span;
/* Calls `found` for each span of a lane. Events shorter than `width` may be merged, 0: none is. */
typedef void tl_spanned(void *user, const tl_span *span);
void timeline_spans(const timeline *t, const tl_lane *lane, int64_t width, tl_spanned *found, void *user);
/* So short events of a lane may be merged that lanes of `events` events in all have at most `most` spans, or little
 * more; 0: there are not so many. `fewest`: spans that each lane may have in any case. */
int64_t timeline_width(const timeline *t, size_t lanes, size_t events, size_t most, size_t fewest);
/* "worker 2" */
void timeline_lane_name(const tl_lane *lane, ti_strbuf *out);
/* What an event is called: its task, what it waits for, its buffer. */
void timeline_event_name(const timeline *t, const tl_event *e, ti_strbuf *out);

/* Each writes a file; false, with errno set, if not every byte got there. `merged`: spans that are in others. */
bool timeline_write_json(const timeline *t, const char *path, uint64_t *merged);
bool timeline_write_page(const timeline *t, const char *path, const char *explain);
/* Time by cause, and the first piece of advice. */
void timeline_summary(const timeline *t, ti_strbuf *out);
void timeline_advice(const timeline *t, ti_strbuf *out);

static inline bool tl_is_instruction(uint8_t kind)
{
    return kind >= TI_TRACE_ALLOC && kind <= TI_TRACE_HORIZON;
}
/* What shows an instruction where it ran: a part of it on a worker, or all of it on a lane of a device. */
static inline bool tl_is_part(uint8_t kind)
{
    return kind == TI_TRACE_PART || kind == TI_TRACE_LANE_KERNEL || kind == TI_TRACE_LANE_COPY;
}
static inline bool tl_is_kernel(uint8_t kind)
{
    return kind >= TI_TRACE_KERNEL && kind <= TI_TRACE_COLLECTIVE_HOST;
}

#endif
