/* Briefs: short records of tasks on tiles that run on another node.
 *
 * Nearly all tasks of a tiled program run elsewhere, and all that this node has to know of them is who reads and who
 * writes which tiles. As a task with a shape of its own, one with three accesses takes 700 bytes, which have left the
 * caches when the next stage reads them; a brief takes 208. A brief is the beginning of a ti_task, of kind
 * TI_TASK_BRIEF. Its shape is a form (api/tile.h), which has all but node, tiles and arguments; these lie behind it. A
 * stage that has to know more makes a task of it. Lives as long as a task, immutable. Any thread. */
#ifndef TI_BRIEF_H
#define TI_BRIEF_H

#include "ir/task.h"

typedef struct ti_brief {
    uint64_t full;         /* as in ti_shape */
    const int64_t *corner; /* of the tile of each access: minima, then maxima, of `tile_dims` dimensions */
    int place;
    uint32_t spare;  /* so that the corners lie well */
    uint32_t tile[]; /* their numbers; room for a multiple of TI_BRIEF_TILES */
} ti_brief;

enum { TI_BRIEF_AT = offsetof(ti_task, forwards), TI_BRIEF_TILES = 4 };
_Static_assert((TI_BRIEF_AT + offsetof(ti_brief, tile)) % sizeof(int64_t) == 0, "what follows lies well");

static inline const ti_brief *ti_brief_of(const ti_task *task)
{
    return (const ti_brief *)(const void *)((const char *)task + TI_BRIEF_AT);
}

/* What a brief is made of. */
typedef struct ti_brief_desc {
    const ti_shape *form;
    const uint32_t *tile; /* as in a brief, with as much room */
    const int64_t *corner;
    uint64_t full;
    int place;
    const void *args;
} ti_brief_desc;

/* The box of a tile from its corners. */
static inline ti_box ti_brief_box(const int64_t *corner, int dims, uint32_t access)
{
    const int64_t *min = &corner[(size_t)2 * (size_t)dims * access], *max = min + dims;
    ti_box box = { { 0, 0, 0 }, { 1, 1, 1 } };
    for (int d = 0; d < dims; d++) {
        box.min[d] = min[d];
        box.max[d] = max[d];
    }
    return box;
}

/* With copies of what it has; lies in the arena. */
const ti_task *ti_brief_new(const ti_brief_desc *what, uint64_t id, const uint64_t *dep, size_t deps, ti_arena *arena);
/* The task, with a shape without mappers; it uses the brief's dependencies and arguments. */
const ti_task *ti_brief_task(const ti_task *brief, ti_arena *arena);

#endif
