/* How often the program has gone through its loop since it waited last (tacit_wait). On several nodes a wait after many
 * passes is no point (run/round.h), and one after few is: then it is part of what the planners see come again.
 *
 * One task is looked for again: the first one, and as long as it does not come, the second, the fourth and so on, so
 * that tasks before the loop do not matter. All nodes must count alike. So nothing of a task counts that could lie
 * elsewhere on another node, and tasks that differ in the rest are taken for the same. Application thread. */
#ifndef TI_PASSES_H
#define TI_PASSES_H

#include "tacit/task.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ti_passes {
    bool on;
    uint64_t tasks, passes; /* since the last wait */
    uint64_t prepared;      /* the serial of the one that is looked for, if it is prepared; */
    tacit_range range;      /* else what it is like */
    size_t offset[TACIT_MAX_DIMS], args_size;
    tacit_place place;
} ti_passes;

enum { TI_PASSES_MANY = 16 };

static inline void ti_passes_begin(ti_passes *p)
{
    p->tasks = p->passes = 0;
}

static inline bool ti_passes_are_many(const ti_passes *p)
{
    return p->passes >= TI_PASSES_MANY;
}

/* Whether the task is one that may be looked for from now on. */
static inline bool ti_passes_count(ti_passes *p, bool is_same)
{
    const uint64_t before = p->tasks++;
    if (is_same && before > 0) {
        p->passes++;
        return false;
    }
    return p->passes == 0 && (before & (before + 1)) == 0;
}

static inline void ti_passes_started(ti_passes *p, uint64_t serial)
{
    if (p->on && ti_passes_count(p, p->prepared == serial)) {
        p->prepared = serial;
    }
}

static inline bool ti_passes_is_like(const ti_passes *p, const tacit_task *t)
{
    bool is_like = p->prepared == 0 && p->args_size == t->args_size && p->place.kind == t->place.kind &&
                   p->place.arg == t->place.arg && p->range.dims == t->range.dims;
    for (int d = 0; d < t->range.dims && d < TACIT_MAX_DIMS && is_like; d++) {
        is_like = p->offset[d] == t->offset[d] && p->range.size[d] == t->range.size[d];
    }
    return is_like;
}

static inline void ti_passes_submitted(ti_passes *p, const tacit_task *t)
{
    if (p->on && ti_passes_count(p, ti_passes_is_like(p, t))) {
        p->prepared = 0;
        p->range = t->range;
        p->place = t->place;
        p->args_size = t->args_size;
        for (int d = 0; d < TACIT_MAX_DIMS; d++) {
            p->offset[d] = t->offset[d];
        }
    }
}

#endif
