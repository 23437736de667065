/* Where loops begin that are wide: for horizons.
 *
 * A horizon comes as soon as more tasks are ready at once than the limit. A loop of 1 000 such tasks and a limit of 64
 * has horizons at other places in every pass, and so looks different each time to whoever repeats what it has seen
 * (plan/track/loop.h). So a task that brought about a horizon by the width of the front becomes the *anchor*: whenever
 * the same task comes again, a horizon follows it, too. So all passes have their horizons at the same places, at the
 * price of one more in each pass. An anchor that does not come again gives way to another task.
 *
 * Tasks count as the same if they touch the same, which all nodes see alike. Tasks that are placed on one of several
 * nodes are never anchors, since other nodes see less of these. Application thread. */
#ifndef TI_ANCHOR_H
#define TI_ANCHOR_H

#include "ir/task.h"

typedef struct ti_anchor {
    uint64_t id;             /* of the latest task that was the anchor; 0: there is none */
    uint64_t buffer, others; /* what it touches first: the serial; a hash of all else */
    ti_box touched;
    uint64_t missed; /* horizons by width since */
} ti_anchor;         /* a zeroed one is fresh */

/* Whether it is time for a horizon since the task is the anchor, and at least `least` tasks have come since it was. */
bool ti_anchor_is_met(ti_anchor *anchor, const ti_task *task, uint64_t least, int nodes);
/* A horizon follows the task since the front is wide. */
void ti_anchor_note_width(ti_anchor *anchor, const ti_task *task, int nodes);
/* What horizons to come depend on, before task `next`, as words. */
enum { TI_ANCHOR_WORDS = 3 };
void ti_anchor_describe(const ti_anchor *anchor, uint64_t next, uint64_t least, uint64_t word[TI_ANCHOR_WORDS]);

#endif
