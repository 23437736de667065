/* A recorded run (trace/record.h) as the simulator needs it: what each node did, how long each thing took, in which
 * order, and what was recorded of each task's submission and planning. Times are nanoseconds since the first node's
 * first task, on one clock. All of it is kept in memory. One thread. */
#ifndef TI_RECORDED_H
#define TI_RECORDED_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/record.h"

typedef struct ti_recorded_instruction {
    ti_trace_record record; /* kind 0: there is none; its times are not changed */
    int64_t start, end;     /* start of kernels: when a worker began */
    uint32_t first_part, parts;
    bool ready, over;    /* in the simulation: it may start; it may end */
    double began, ended; /* there */
} ti_recorded_instruction;

typedef struct ti_recorded_part {
    int64_t start, end;
    uint64_t items;
    uint32_t id;
} ti_recorded_part;

typedef struct ti_recorded_task {
    uint32_t task, name;
    int64_t start, end, gap;        /* of its submission; gap: what the program computed before */
    int64_t commands, instructions; /* duration of the stages of planning */
    int64_t planned;                /* when the last one ended */
    int64_t closes;                 /* how long after that a window was closed since nothing came; -1: it was not */
} ti_recorded_task;

/* An instruction starts, or ends. */
typedef struct ti_recorded_event {
    int64_t time;
    uint32_t id;
    bool is_end;
} ti_recorded_event;

typedef struct ti_recorded_node {
    TI_VEC(ti_recorded_instruction) instruction; /* at its id */
    TI_VEC(ti_recorded_part) part;               /* by instruction, then by start */
    TI_VEC(ti_recorded_task) task;
    ti_map task_at;                  /* of an id: index, plus one */
    TI_VEC(ti_recorded_event) order; /* as they came */
    size_t turn;                     /* how many of those have come in the simulation */
    uint64_t planned;                /* instructions that the simulator has planned */
    TI_VEC(char *) name;             /* of tasks, at their number */
    int workers;                     /* of all devices */
    bool alone;                      /* one thread does everything */
    uint64_t clock;                  /* its clock when it began */
    char *command;
} ti_recorded_node;

/* What the program of node 0 got from a fence. */
typedef struct ti_recorded_value {
    char *data;
    size_t bytes;
} ti_recorded_value;

typedef struct ti_recorded {
    char *prefix;
    int nodes;
    ti_recorded_node *node;
    ti_map sends, receives; /* by ti_recorded_message: the instruction of that side */
    ti_map meetings;        /* by ti_recorded_meeting: the instruction of that node */
    ti_map value_at;        /* of a fence: index in `values`, plus one */
    TI_VEC(ti_recorded_value) values;
    int64_t ns; /* from the first task to the last instruction */
    uint64_t instructions;
} ti_recorded;

/* NULL and a sentence if the trace is not there, not complete, or of another number of nodes. */
ti_recorded *ti_recorded_open(const char *prefix, int nodes, ti_strbuf *why);
void ti_recorded_close(ti_recorded *r);

/* NULL: there is none. */
ti_recorded_instruction *ti_recorded_at(const ti_recorded *r, int node, uint64_t id);
const ti_recorded_task *ti_recorded_task_of(const ti_recorded *r, int node, uint64_t task);
/* Copies what the program got from its n-th fence. False: that was not recorded, or had another length. */
bool ti_recorded_values(const ti_recorded *r, uint64_t fence, void *data, size_t bytes);
/* "" if it is not known. */
const char *ti_recorded_task_name(const ti_recorded *r, int node, uint64_t task);
/* Keys: of a message, by its number between two nodes; of what a node does for a collective (by its sequence number) or
 * for an epoch (by its task). */
uint64_t ti_recorded_message(int from, int to, uint64_t number);
uint64_t ti_recorded_meeting(int node, ti_trace_kind kind, uint64_t number);

#endif
