/* Replay: a task that meets a buffer in a state that it has met before does the same to it as then.
 *
 * Loops come back to the same versions (plan/version/version.h), with the same tasks. So the contents that a buffer's
 * version map has had are numbered, and a *step* says what a task did when it met one of them: its messages, its
 * collectives, and which contents it left. A task whose step is known is planned without looking at versions at all.
 * The map lags: the holders of the steps since are applied only when somebody wants to see it (ti_replay_settle).
 * Contents are compared as wholes, so a step that is found is what planning would give. Tasks are known by the serial
 * of their shape (ir/shape.h), and forwards by their boxes. Where the result of a reduction goes depends on who read
 * the results of earlier ones. The map does not show that: it is the *manner*, a number of the caller's, and a step is
 * good for one manner only.
 *
 * The tasks of a long loop each meet other contents, as those of a wavefront do. So what is kept grows with the number
 * of different tasks, up to a bound, and is found by hashes; a map that lags far behind gets its entries from the
 * contents, instead of the steps one by one. Where steps do not come again, or are too large, recording backs off, and
 * is tried again later. All of it depends on this node's plan only. Scheduler thread. */
#ifndef TI_REPLAY_H
#define TI_REPLAY_H

#include "base/check.h"
#include "base/map.h"
#include "plan/version/discovery.h"
#include "plan/version/transfer.h"

/* What a task does to a buffer. */
typedef struct ti_replay_effect {
    ti_holders reads, writes;
    ti_holders copies;   /* of what is written, beside each writer; or none at all */
    ti_node_range given; /* after these all of the buffer has new contents, on these nodes alone; empty: no */
    ti_collective *const *collective;
    size_t collectives;
    ti_messages outgoing, incoming;
    bool moved;     /* a part of a forward was on other nodes already, and all nodes want it */
    bool passes;    /* lookahead has nothing to wait for */
    uint8_t missed; /* a ti_verdict: why messages go where a collective could; TI_VERDICT_FREE: they do not */
    uint32_t left;  /* a multicast: recipients of what this node owns, if it was left to its broadcasts */
} ti_replay_effect;

typedef struct ti_replay_step {
    uint64_t serial;   /* of what is done: the task's shape, unless chunks have margins; 0: nothing is recorded yet */
    int before, after; /* contents */
    int next, alike;   /* 1 + another step of the same task from the same contents, or 0; how many follow */
    uint64_t manner;
    ti_replay_effect effect; /* in this step's memory; holders referenced */
    ti_forward *forward;     /* those of the task on the buffer */
    uint32_t forwards;
    ti_arena memory;
} ti_replay_step;

typedef struct ti_replay_content {
    ti_version_state *entry;
    size_t count;
    int next; /* 1 + another one of the same hash, or 0 */
} ti_replay_content;

/* What is kept of one buffer: so many steps and contents, and more for every task that has been recorded, up to
 * TI_REPLAY_TASKS of them. */
enum { TI_REPLAY_STEPS = 96, TI_REPLAY_CONTENTS = 16, TI_REPLAY_TASKS = 1 << 15, TI_REPLAY_LAG = 32 };
enum { TI_REPLAY_ENTRIES = 64 }; /* of maps whose contents are kept */

/* Of one buffer. A zeroed one knows nothing. */
typedef struct ti_replay {
    TI_VEC(ti_replay_step *) step; /* the first `steps` are in use */
    TI_VEC(ti_replay_content) content;
    int steps, used;                        /* how many steps there are, and how often they have been of use */
    ti_map by_task;                         /* from the contents met and the task: 1 + step */
    ti_map by_content;                      /* from the hash of contents: 1 + their number */
    ti_map tasks;                           /* serials that have been recorded */
    uint64_t manner;                        /* what else effects follow from: the caller's, a number */
    uint64_t serial;                        /* of the task at hand */
    int at;                                 /* 1 + which contents there are now; 0: not known */
    int base;                               /* the same of the map */
    const ti_replay_step *now;              /* of the task at hand */
    ti_replay_step *recording;              /* the step that the task at hand becomes, or NULL */
    TI_VEC(const ti_replay_step *) lagging; /* what the map does not show yet; at most TI_REPLAY_LAG */
    bool far;                               /* these were more: the map is made from contents */
    uint32_t lives;                         /* how often all of it has been forgotten */
    uint64_t forgotten;                     /* as in ti_discovery_cache, when steps were last known to be good */
    int unused;                             /* recordings of tasks that had been recorded before, to no use */
    uint32_t back_off;                      /* tasks that pass before the next recording */
    uint32_t length;                        /* of the latest back-off */
    uint32_t bytes;                         /* of memory of steps and contents */
} ti_replay;

/* With the map that it belongs to, before that is gone. */
void ti_replay_fini(ti_replay *r);

/* Bring the map up to date. */
void ti_replay_catch_up(ti_replay *r, ti_version_map *map);
static inline void ti_replay_settle(ti_replay *r, ti_version_map *map)
{
    if (TI_UNLIKELY(r->lagging.count > 0 || r->far)) {
        ti_replay_catch_up(r, map);
    }
    r->base = r->at;
}
/* The map, which is up to date, is changed by somebody else. */
static inline void ti_replay_lose(ti_replay *r)
{
    r->at = r->base = 0;
}

/* The number of the contents that there are now; 0: they have none. It is good while `lives` is the same. */
int ti_replay_number(ti_replay *r, ti_version_map *map);
/* Other tasks have left the contents of this number, which the map does not show. */
static inline void ti_replay_jump(ti_replay *r, int at)
{
    TI_ASSERT(r->base);
    r->at = at;
    r->far = r->at != r->base;
    ti_vec_clear(&r->lagging);
}

/* What `task` will do to the buffer of the map, or NULL. Changes nothing. */
const ti_replay_step *ti_replay_find(const ti_replay *r, const ti_task *task, const ti_buffer_info *buffer,
                                     uint64_t serial);

/* The task comes next. True: its step is known, and `now`. False: the map is up to date, and if there is a `recording`
 * it is wanted. `serial` 0: the task must not be replayed, nor recorded. */
bool ti_replay_begin(ti_replay *r, ti_version_map *map, const ti_discovery_cache *cache, const ti_task *task,
                     const ti_buffer_info *buffer, uint64_t serial);
/* What the task does, once all of it is known: fills the recording. */
void ti_replay_record(ti_replay *r, const ti_task *task, const ti_buffer_info *buffer, const ti_replay_effect *effect);
/* The task has been planned; if it was not replayed, the map shows what it left. */
void ti_replay_end(ti_replay *r, ti_version_map *map);

#endif
