/* Ids that something depends on, without repetition: a list, and once it is long also a set.
 *
 * Ids often come in ascending order, once or a few times over. Then the borders of what has come tell that an id is
 * new: all ids lie in [low, last] or from `ceiling` on. The set is filled when somebody asks for another id in a long
 * list. Owned by one thread. */
#ifndef TI_DEPS_H
#define TI_DEPS_H

#include "base/check.h"
#include "base/vec.h"

typedef struct ti_deps {
    TI_VEC(uint64_t) ids;
    uint64_t low, last, ceiling;
    size_t in_set;  /* this many of the list */
    uint64_t self;  /* whose dependencies these are: never added */
    uint64_t round; /* of the set's slots, those of this round are in use */
    struct ti_deps_slot {
        uint64_t id, round;
    } * slot;
    size_t slots; /* a power of two */
} ti_deps;

static inline void ti_deps_start(ti_deps *deps, uint64_t self)
{
    deps->ids.count = 0;
    deps->low = deps->ceiling = UINT64_MAX;
    deps->last = 0;
    deps->in_set = 0;
    deps->self = self;
    deps->round++;
}
void ti_deps_fini(ti_deps *deps);

void ti_deps_add(ti_deps *deps, uint64_t id); /* 0 is nobody */
/* The same, faster for ids that go on in ascending order: they are new. */
static inline void ti_deps_push(ti_deps *deps, uint64_t id)
{
    if (id > deps->last && id < deps->ceiling && id != deps->self && deps->ids.count < deps->ids.capacity) {
        deps->low = TI_MIN(deps->low, id);
        deps->last = id;
        deps->ids.data[deps->ids.count++] = id;
    } else if (id != deps->last) {
        ti_deps_add(deps, id);
    }
}

static inline void ti_deps_add_all(ti_deps *deps, const uint64_t *id, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ti_deps_add(deps, id[i]);
    }
}

#endif
