/* Where wide loops begin: see anchor.h. */
#include "plan/task/anchor.h"

#include "base/check.h"
#include "base/map.h"

enum { PATIENCE = 256 }; /* horizons by width without the anchor */

static bool may_be(const ti_task *task, int nodes)
{
    return task->kind == TI_TASK_EXECUTE && task->shape->accesses > 0 && (nodes == 1 || task->shape->place < 0) &&
           !ti_box_is_empty(&task->shape->range);
}

/* Of all but the first buffer and what is touched of it. */
static uint64_t hash_of(const ti_shape *shape)
{
    uint64_t hash = ti_hash_words(&shape->range, sizeof(shape->range), shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        hash = ti_hash64(hash ^ (a->buffer->serial << 8 | (uint64_t)a->mode));
        hash = ti_hash_words(&shape->footprint[i].bounding, sizeof(ti_box), hash);
    }
    return hash;
}

bool ti_anchor_is_met(ti_anchor *a, const ti_task *task, uint64_t least, int nodes)
{
    TI_ASSERT(a->id < task->id);
    if (!a->id || task->id - a->id < least || !may_be(task, nodes)) {
        return false;
    }
    const ti_shape *shape = task->shape;
    if (shape->access[0].buffer->serial != a->buffer || !ti_box_equal(&shape->footprint[0].bounding, &a->touched) ||
        hash_of(shape) != a->others) {
        return false;
    }
    a->id = task->id;
    a->missed = 0;
    return true;
}

void ti_anchor_note_width(ti_anchor *a, const ti_task *task, int nodes)
{
    const bool wanted = !a->id || ++a->missed > PATIENCE;
    if (wanted && may_be(task, nodes)) {
        const ti_shape *shape = task->shape;
        *a = (ti_anchor){ .id = task->id,
                          .buffer = shape->access[0].buffer->serial,
                          .others = hash_of(shape),
                          .touched = shape->footprint[0].bounding };
    }
}

void ti_anchor_describe(const ti_anchor *a, uint64_t next, uint64_t least, uint64_t word[TI_ANCHOR_WORDS])
{
    TI_ASSERT(a->id < next);
    word[0] = a->others;
    word[1] = a->missed;
    word[2] = a->id ? TI_MIN(next - a->id, least) : 0;
}
