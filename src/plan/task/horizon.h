/* When to insert a horizon: a pure function of the task graph, the same on every node.
 *
 * Three triggers. Depth: the critical path has grown by `step` since the last horizon, which itself adds nothing to it.
 * Breadth: the execution front (vertices without successors) is wider than `limit`. Length: there are TI_HORIZON_LENGTH
 * vertices since the last horizon, or `limit` if that is more: what is kept of them lives until they have been
 * executed. Wide loops have one more (anchor.h). A horizon depends on the whole front without an edge per vertex; when
 * it is created, the one before it is applied: ids below it read as it. Paper: Thoman and Salzmann, doi
 * 10.1007/s42979-024-02749-w. Application thread. */
#ifndef TI_HORIZON_H
#define TI_HORIZON_H

#include "base/alloc.h"
#include "plan/track/tracker.h"

enum { TI_HORIZON_LENGTH = 1024 };

typedef struct ti_horizon {
    int64_t step, limit;
    uint64_t length;
    struct ti_horizon_vertex {
        int64_t path; /* length of the longest path that ends here */
        bool has_successor;
    } * vertex; /* of the ids [oldest, next), at id & (capacity - 1) */
    uint64_t oldest, next, capacity;
    uint64_t newest; /* last horizon or epoch; 0: none */
    int64_t newest_path, applied_path, longest;
    int64_t front;
} ti_horizon;

void ti_horizon_init(ti_horizon *h, int64_t step, int64_t limit, uint64_t first_id);
void ti_horizon_fini(ti_horizon *h);

/* Vertex `id` (ids come without gaps) depends on `dep`. */
void ti_horizon_note(ti_horizon *h, uint64_t id, const uint64_t *dep, size_t deps);
/* Whether a horizon is due now, by depth or by breadth or length. */
static inline bool ti_horizon_is_deep(const ti_horizon *h)
{
    return h->longest - h->newest_path >= h->step;
}
static inline bool ti_horizon_is_wide(const ti_horizon *h)
{
    return h->front > h->limit || h->next - h->newest > h->length;
}
static inline bool ti_horizon_is_due(const ti_horizon *h)
{
    return ti_horizon_is_deep(h) || ti_horizon_is_wide(h);
}
/* So many tasks lie between two places where the same loop begins, at least: the horizons there are not many then. */
static inline uint64_t ti_horizon_least(const ti_horizon *h)
{
    return (uint64_t)h->limit / 2;
}
/* `id` is a horizon or an epoch: it follows the whole front. Returns the one before it (0: none). */
uint64_t ti_horizon_insert(ti_horizon *h, uint64_t id);
/* Everything below `id` reads as `id`: forget it. */
void ti_horizon_apply(ti_horizon *h, uint64_t id);
/* The vertices of the front, for drawing: calls `emit` with each id. */
void ti_horizon_each_front(const ti_horizon *h, void (*emit)(void *user, uint64_t id), void *user);

/* For cycles (plan/task/cycle.h). Append all on which later horizons depend, but for the length of paths up to the
 * applied one, which is returned. Let ids and paths grow. */
int64_t ti_horizon_describe(const ti_horizon *h, ti_tracker_state *state);
void ti_horizon_shift(ti_horizon *h, uint64_t by, int64_t path);

#endif
