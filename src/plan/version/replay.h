/* Replay: what a task did to a buffer the last time that as much was known of it.
 *
 * Loops come back to the same versions (plan/version/version.h), with the same tasks. So the contents that a buffer's version map has had are numbered, and a
 * *step* says what a task did when it met one of them: its messages, its collectives, and which contents it left. A task whose step is known is
 * planned without looking at versions at all, and the map is left behind: the holders of the steps since are applied only when
 * somebody wants to see it (ti_replay_settle). Contents are compared as wholes, so a step that is found is what planning
 * would give. Tasks are known by their `row` (ir/task.h), and forwards by their boxes.
 *
 * What is kept is bounded: a buffer whose steps do not come again, or are too large, is not learnt, and after a while tried again.
 * All of it depends on this node's plan only. Scheduler thread. */
#ifndef TI_REPLAY_H
#define TI_REPLAY_H

#include "plan/version/discovery.h"
#include "plan/version/transfer.h"

typedef struct ti_replay_step {
    uint64_t row;
    int before, after; /* contents */
    bool moved;        /* a part of a forward was on other nodes already, and all nodes want it */
    bool passes;       /* lookahead has nothing to wait for */
    uint32_t forwards, forward_boxes, reads, writes;
    ti_box *box;        /* of the forwards, one after the other */
    uint32_t *boxes;    /* of each forward: their number, and what else there is to know */
    ti_holder **holder; /* that read, then that write; referenced */
    ti_collective **collective;
    size_t collectives;
    ti_messages outgoing, incoming; /* in this step's memory */
    char *memory;
    size_t size; /* of the memory */
} ti_replay_step;

typedef struct ti_replay_content {
    uint64_t hash;
    TI_VEC(ti_version) entry; /* holders referenced */
} ti_replay_content;

enum { TI_REPLAY_STEPS = 32, TI_REPLAY_CONTENTS = 16, TI_REPLAY_BEHIND = 32 };

/* Of one buffer. A zeroed one knows nothing. */
typedef struct ti_replay {
    ti_replay_step *step; /* room for all, once there is one */
    ti_replay_content *content;
    int steps, contents;
    int at;                                         /* 1 + which contents there are now; 0: not known */
    int base;                                       /* the same of the map */
    int latest;                                     /* step that was found last */
    const ti_replay_step *now;                      /* of the task at hand */
    ti_replay_step *lesson;                         /* that the task at hand teaches, or NULL */
    const ti_replay_step *behind[TI_REPLAY_BEHIND]; /* what the map does not show yet */
    int behinds;
    size_t bytes; /* of memory of steps */
    uint64_t forgotten;
    int spent;              /* lessons that have not been of use */
    uint32_t pause, length; /* tasks that pass before the next lesson; how many they were the last time */
} ti_replay;

/* With the map that it belongs to, before that is gone. */
void ti_replay_fini(ti_replay *r);

/* Bring the map up to date. */
void ti_replay_settle(ti_replay *r, ti_version_map *map);

/* What `task` will do to the buffer of the map, or NULL. Changes nothing. */
const ti_replay_step *ti_replay_find(const ti_replay *r, const ti_task *task, const ti_buffer_info *buffer);

/* The task comes next. True: its step is known, and `now`. False: the map is up to date, and if there is a `lesson` it is wanted. `can`: the task may be
 * replayed, and learnt. */
bool ti_replay_begin(ti_replay *r, ti_version_map *map, const ti_discovery_cache *cache, const ti_task *task,
                     const ti_buffer_info *buffer, bool can);

/* What the task does, once all of it is known: fills the lesson. */
typedef struct ti_replay_lesson {
    const ti_task *task;
    const ti_buffer_info *buffer;
    ti_holder *const *holder; /* of the task's accesses, one per mapper */
    ti_collective *const *collective;
    size_t collectives;
    const ti_messages *outgoing, *incoming;
    bool moved, passes;
} ti_replay_lesson;
void ti_replay_learn(ti_replay *r, const ti_replay_lesson *lesson);

/* The task has been planned; if it was not replayed, the map shows what it left. */
void ti_replay_end(ti_replay *r, ti_version_map *map);

#endif
