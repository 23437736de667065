/* Windows of pure tasks: the state that belongs to them, and what is done for them in this folder: larger chunks
 * (wide.c), late data (late.c), cuts (cut.c), bundles (bundle.c), counts for the report (seen.c). plan/lookahead/pure.c
 * says what windows are, and plans them. Included by impl.h only. Scheduler thread. */
#ifndef TI_COMMAND_PURE_H
#define TI_COMMAND_PURE_H

#include "base/map.h"
#include "grid/spread.h"
#include "ir/command.h"
#include "plan/command/graph.h"
#include "plan/command/overlap.h"
#include "plan/holder/holder.h"
#include "plan/tolerance/alone.h"
#include "plan/version/transfer.h"
#include "trace/explain_window.h"

struct ti_command_graph;
struct ti_command_shape;

/* What has been found of the beginning of a window. */
typedef struct ti_pure_state {
    int before;      /* 1 + the state without the last task; 0: that was the first */
    uint64_t serial; /* of the last task's shape */
    ti_window_verdict verdict;
    ti_margin *margin;  /* of each of `tasks`; NULL unless they fit */
    ti_spread **spread; /* the same; referenced */
    size_t tasks;
} ti_pure_state;

typedef TI_VEC(ti_margin) ti_margins;
typedef TI_VEC(ti_spread *) ti_spreads;

/* What has been found of a window in stages without depths. */
typedef struct ti_pure_alone {
    int at; /* 1 + the state of the window; -1: it comes once */
    TI_VEC(struct ti_pure_before {
        size_t task;
        uint32_t access;
        ti_box box;
        bool held; /* by all nodes that read it */
        ti_mapper mapper;
        ti_split_ref *split; /* referenced; NULL: held */
    })
    before; /* what it follows from */
    ti_stage_verdict verdict;
    ti_alone *task;
    size_t tasks;
} ti_pure_alone;

/* By how much the chunks of a task are larger than its split says: by one of the two. */
typedef struct ti_widening {
    ti_margin margin;
    ti_spread *spread; /* or NULL */
} ti_widening;

static inline bool ti_widening_is_none(const ti_widening *w)
{
    return !w->spread && ti_margin_is_none(&w->margin);
}

/* Pure tasks that are planned together: see pure.c. */
typedef struct ti_command_pure {
    TI_VEC(const ti_task *) held; /* pure ones, and horizons between them, in order */
    TI_VEC(ti_windowed) task;     /* the pure ones */
    TI_VEC(ti_split_ref *) split; /* of these; referenced */
    ti_margins margin, trial;     /* of these, if the window closes now; scratch */
    ti_spreads spread, attempt;   /* the same; referenced */
    int horizons;                 /* held */
    TI_VEC(ti_stage) stage;       /* of these, if the window is staged by depths */
    const ti_alone *alone;        /* of these, if it is staged without; else NULL */
    int staging;                  /* 1 + the task of a staged window that is being planned; 0: none is */
    TI_VEC(struct ti_command_bundle {
        int peer;
        bool send;
        uint64_t counter;
        TI_VEC(ti_bundle_part) part;
        TI_VEC(ti_command *) command;
    })
    bundle;                   /* of the staged window; the first `bundles` */
    size_t bundles;           /* others keep their memory */
    uint32_t tilings, tiling; /* windows so far that may be tiled; the one that is being planned, or 0 */
    bool cuts;                /* a window is being planned, and its chunks are cut: see cut.c */
    TI_VEC(struct ti_command_late {
        const ti_buffer_info *buffer;
        ti_box box;
    })
    late;
    TI_VEC(struct ti_command_widened {
        uint64_t task;    /* its id: when it has been executed, another one may lie where it was */
        ti_widening wide; /* referenced */
    })
    given;                                  /* tasks that have left the window, and are not planned yet */
    TI_VEC(struct ti_command_shape *) wide; /* what is known of shapes with larger chunks */
    uint64_t serials;                       /* that these have got */
    TI_VEC(struct ti_pure_state) state;     /* windows that there have been, and their beginnings */
    TI_VEC(ti_pure_alone *) alones;         /* of some of these; the next that is found takes the place of the oldest */
    size_t next_alone;
    ti_map by_last;   /* from the beginning and the last task: 1 + state */
    uint64_t sampled; /* tasks that have had margins, if samples are wanted */
    int at;           /* 1 + state of the window; 0: it is empty; -1: not known */
    ti_window_counts counts;
    TI_VEC(struct ti_command_seen {
        ti_explain_window window;
        uint64_t first; /* ids of its tasks */
        uint64_t last;
        int left; /* of them that are not planned yet */
    })
    seen; /* for the report: windows that have closed, while lookahead may hold their tasks */
    TI_VEC(struct ti_command_seen_read {
        const ti_task *task;
        const ti_buffer_info *buffer;
    })
    seen_read; /* the same: which of their tasks, not planned yet, would receive what was there before the window */
    TI_VEC(struct ti_command_seen_piece {
        const ti_buffer_info *buffer;
        ti_message_piece piece;
    })
    seen_piece; /* what the one that is being planned would receive of it, unless collectives bring it */
} ti_command_pure;

/* wide.c: tasks whose chunks are larger. */
/* What the task has got from its window, or NULL. */
const ti_widening *ti_command_widening_of(const struct ti_command_graph *graph, const ti_task *task);
/* Where what follows from a shape with larger chunks is kept: known already if its serial is not 0. NULL: nowhere. */
struct ti_command_shape *ti_command_wide_of(struct ti_command_graph *graph, const ti_task *task,
                                            const ti_widening *wide);
void ti_command_widen(struct ti_command_graph *graph, const ti_task *task, const ti_margin *margin, ti_spread *spread);
/* Tasks that have been planned need theirs no more. */
void ti_command_drop_widenings(struct ti_command_graph *graph);
void ti_command_widenings_fini(ti_command_pure *pure);

/* What nodes should compare of the task, which is being planned on all of them; NULL: nothing on this one. */
const ti_samples *ti_command_samples_of(struct ti_command_graph *graph, const ti_task *task,
                                        const struct ti_command_shape *known);

/* late.c: these boxes are late from now on. */
void ti_command_note_late(struct ti_command_graph *graph, const ti_buffer_info *buffer, const ti_box *box,
                          uint32_t count);
/* What is late of a buffer goes out of the list; append it to `out`, which then loses what `without` covers. */
void ti_command_take_late(struct ti_command_graph *graph, const ti_buffer_info *buffer, const ti_boxes *without,
                          ti_boxes *out);

/* cut.c: the pieces of the task, which comes next, of which the first `ahead` come first as soon as they can.
 * Cuts that come again are kept with the shape. */
const ti_piece *ti_command_cut(struct ti_command_graph *graph, const ti_task *task, struct ti_command_shape *known,
                               uint32_t *pieces, uint32_t *ahead);
const ti_piece *ti_command_cut_stages(struct ti_command_graph *graph, const ti_task *task,
                                      struct ti_command_shape *known, uint32_t *pieces, uint32_t *ahead);

/* bundle.c: what staged windows send. */
/* The transfer is a part of a bundle: gives it its number. */
void ti_command_bundle_add(struct ti_command_graph *graph, ti_command *transfer);
/* The window has been planned. */
void ti_command_bundles_end(struct ti_command_graph *graph);
void ti_command_bundles_fini(ti_command_pure *pure);

/* seen.c. The window of the task, if it is still of interest, or NULL. It is known what collectives bring the task,
 * which is being planned, of the buffer; it receives a message; windows all of whose tasks are planned are told. */
struct ti_command_seen *ti_command_seen_of(struct ti_command_graph *graph, const ti_task *task);
void ti_command_look_at_rest(struct ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer);
void ti_command_look_at_message(struct ti_command_graph *graph, const ti_task *task);
void ti_command_tell_windows(struct ti_command_graph *graph);

#endif
