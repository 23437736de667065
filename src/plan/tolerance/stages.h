/* Stages of a window: which part of every chunk needs nothing of other nodes, which part of that others need, and by
 * how much chunks have to be enlarged if what others can compute by themselves comes in messages.
 *
 * Strategy `staged` of Eijkhout: Task Graph Transformations for Latency Tolerance, 2022, section 3. Forwards through
 * the window the *depth* of each task is found: only items that are at most so far from the border of their chunk can
 * depend on what other nodes have. Items further inside are the set L4 (doc/internals.md). Their neighbours need not
 * compute them, and so the margin of a task is the smaller of its depth and of what strategy `halo` would give it
 * (margins.h). What lies between the two is computed by its owner *ahead*, before the rest of L4 (the set L1), and
 * sent.
 *
 * Buffers are used again: an item that overwrites what a deep item reads, or writes, has to wait for it. Such items
 * count as deep, too, or else two nodes would wait for each other. The paper has no such items, as it writes each value
 * once.
 *
 * Where chunks border others along several dimensions, two neighbours of a node border each other, too, and neither can
 * compute alone what lies there. So what a node executes besides its chunk is what strategy `halo` says, less what its
 * neighbours have of that further inside than the depth (grid/spread.h).
 *
 * All of it is the same for all nodes. It is found for windows whose tasks have the same chunks, and touch elements as
 * many as items; for others see alone.h. A pure function of the tasks, and of where data lies before. Any thread. */
#ifndef TI_STAGES_H
#define TI_STAGES_H

#include "base/vec.h"
#include "grid/region.h"
#include "grid/spread.h"
#include "plan/tolerance/margins.h"

typedef enum ti_stage_verdict {
    TI_STAGE_FITS,
    TI_STAGE_SPLITS,    /* tasks have different chunks, or read what is not around an element for each of their items */
    TI_STAGE_CUSTOM,    /* a task reads by a custom mapper what is not the same on all nodes */
    TI_STAGE_WHOLE,     /* a task's chunks may not be cut */
    TI_STAGE_SHORT,     /* chunks are shorter than what is sent, and what waits for messages */
    TI_STAGE_BEFORE,    /* what a task reads of before the window lies elsewhere than where its chunks are */
    TI_STAGE_FORWARDS,  /* a broadcast may be under way */
    TI_STAGE_SCATTERED, /* what nodes would execute lies in too many places (alone.h) */
    TI_STAGE_VERDICTS
} ti_stage_verdict;

/* Of one task. All in items, from the borders of chunks that border others: outwards, inwards, inwards. */
typedef struct ti_stage {
    ti_margin margin, depth, ahead;
    bool around; /* several dimensions: what a node executes is ti_spread_around of the margin and the depth */
} ti_stage;

/* Who wrote what the window finds. */
typedef struct ti_lying {
    const ti_mapper *mapper;
    const ti_split *split;
} ti_lying;
typedef TI_VEC(ti_lying) ti_lyings;

/* Who wrote `box` of the access's buffer, which chunks of the task read, but for what nodes hold that read it. False:
 * it lies elsewhere. Appends to `out`; what that points to lives until the stages are found. */
typedef bool ti_lies_fn(void *user, const ti_windowed *reader, const ti_access *access, const ti_box *box,
                        ti_lyings *out);

/* The stages of a window that has margins `halo`. Not to be used unless they fit. */
ti_stage_verdict ti_window_stages(const ti_windowed *task, size_t count, const ti_margin *halo, ti_lies_fn *lies,
                                  void *user, ti_stage *stage);

/* What a node that has `chunk` of the split executes without messages; empty if there is nothing. */
ti_box ti_stage_early(const ti_stage *stage, const ti_split *split, const ti_box *chunk);

#endif
