/* TACIT_LATENCY=auto: whether pure tasks have windows, of which strategy, and of how many tasks, from what was measured
 * (doc/latency.md, "auto").
 *
 * The latency of a message is measured by barriers when tacit starts, and again whenever it chooses; the cost of an
 * item by all kernels in between; what a window saves and costs by the pure tasks that were submitted. Nothing of it
 * enters planning but in ti_tune_choose, where all nodes wait for each other and nothing is planned: they take the mean
 * of all of them, so all choose the same. Choices are logged in the form in which the setting repeats them.
 *
 * The cost model is that of Eijkhout: Task Graph Transformations for Latency Tolerance, 2022, less what computing
 * hides. A window of b tasks has N b + R items on a node, R of them redundant. E of all do not wait for messages, A of
 * these come before what is sent. With the latency a and the time g of an item on the whole node, a task takes
 *
 *     T(b) = (max(a + A g, E g) + (N b + R - E) g) / b + c,
 *
 * or (a + (N b + R) g) / b if chunks are not cut. Here w items are in a row (of one index of the first dimension), and
 * stencils reach one row: for `halo`, R = w b (b - 1), E = N b - w b (b + 1), and A = 0; for `staged`, R = w b^2 / 2, A
 * = w (b^2 / 2 - b); without windows b is 1, R = A = 0. c is what more launches and copies take: TI_TUNE_LAUNCHES,
 * TI_TUNE_COPIES. What travels is the same for all b, and not in it. The best of 2, 4, 8 and 16 is chosen, if chunks
 * have twice as many rows (four times for `staged`), and if that saves a tenth: else there are no windows.
 *
 * The application thread, but for ti_tune_note_part. */
#ifndef TI_TUNE_H
#define TI_TUNE_H

#include "base/park.h"
#include "base/strbuf.h"
#include "comm/comm.h"
#include "device/host.h"
#include "ir/system.h"
#include "ir/task.h"

enum { TI_TUNE_MOST_TASKS = 16 };
/* In ns for each task: of two more launches if its chunk is cut, of copies to and from messages of several parts. */
enum { TI_TUNE_LAUNCHES = 3000, TI_TUNE_COPIES = 2000 };

typedef struct ti_tune {
    bool on;
    ti_comm *comm;
    ti_system *system;
    ti_lock *lock[2];      /* of planners and executor, so that nobody looks on */
    const char *list;      /* choices to repeat, as in the setting behind "auto:"; NULL: what is measured counts */
    double latency;        /* ns */
    double messages;       /* a node receives for a pure task, without windows */
    uint64_t tasks, due;   /* pure ones so far; when a wait chooses */
    uint64_t seen;         /* of these, at the last choice */
    uint64_t received;     /* messages, at the last choice */
    double items, row;     /* of these tasks since then, in sum, on all nodes */
    uint64_t cut;          /* of these that overlap with their messages without windows */
    int64_t rows;          /* the fewest that one of them has */
    _Atomic uint64_t ns;   /* of host kernels since then */
    _Atomic uint64_t done; /* items of these */
    ti_strbuf said;        /* choices so far, as in the setting */
} ti_tune;

/* What was measured, of all nodes. */
typedef struct ti_tune_costs {
    double latency, item;    /* ns */
    double items, row;       /* of a task on a node; in a row */
    double messages;         /* that a node receives for a task: less than one if some need none */
    double cut;              /* the share of tasks that overlap with their messages without windows */
    double launches, copies; /* ns: TI_TUNE_LAUNCHES, TI_TUNE_COPIES */
    int64_t rows;            /* of the shortest chunk; TI_TUNE_MOST_TASKS bounds windows, too */
} ti_tune_costs;

/* Windows of how many tasks, 0: none; of which strategy. */
typedef struct ti_tune_choice {
    int tasks;
    bool staged;
} ti_tune_choice;

/* What T says of one, in ns for a task. */
double ti_tune_time(const ti_tune_costs *costs, ti_tune_choice choice);
/* The choice that should be made; `fastest`: the windows with the least time, though they may not pay; 0 tasks if none
 * are possible. */
ti_tune_choice ti_tune_best(const ti_tune_costs *costs, ti_tune_choice *fastest);

/* Whether a text is auto, or auto:LIST. False and nothing else if it is neither; `list` behind the colon, or NULL. */
bool ti_tune_parse(const char *text, const char **list);

/* All nodes, before there are threads. Measures the latency, where there is one. */
void ti_tune_init(ti_tune *tune, const char *setting, ti_comm *comm, ti_system *system, ti_lock *const locks[2]);
void ti_tune_fini(ti_tune *tune);
/* A task is submitted. */
void ti_tune_note(ti_tune *tune, const ti_task *task);
/* A part of a kernel has run; `user` is the ti_tune. Any thread. */
void ti_tune_note_part(void *user, const ti_host_part *part);
/* Whether the program's next wait should choose; the same on all nodes. */
static inline bool ti_tune_is_due(const ti_tune *tune)
{
    return tune->on && tune->tasks >= tune->due;
}
/* All nodes wait for each other here, and nothing is under way. Sets system->latency_tasks and latency_staged, if the
 * setting is auto. */
void ti_tune_choose(ti_tune *tune);

#endif
