/* Dependencies: see deps.h. */
#include "plan/track/deps.h"

#include "base/map.h"

enum { MAX_LISTED = 32, FIRST_SLOTS = 128 };

/* Whether the set lacked `id`, which is in it now. There is a free slot. */
static bool add_to_set(ti_deps *deps, uint64_t id)
{
    TI_ASSERT(deps->in_set < deps->slots && (deps->slots & (deps->slots - 1)) == 0);
    for (uint64_t at = ti_hash64(id);; at++) {
        struct ti_deps_slot *slot = &deps->slot[at & (deps->slots - 1)];
        if (slot->round != deps->round) {
            *slot = (struct ti_deps_slot){ id, deps->round };
            return true;
        }
        if (slot->id == id) {
            return false;
        }
    }
}

/* Give the set all of the list, and room for one more. */
static void fill_set(ti_deps *deps)
{
    if (2 * deps->ids.count >= deps->slots) {
        ti_free(deps->slot, deps->slots * sizeof(*deps->slot));
        while (2 * deps->ids.count >= deps->slots) {
            deps->slots = TI_MAX(2 * deps->slots, (size_t)FIRST_SLOTS);
        }
        deps->slot = TI_NEW_ARRAY(struct ti_deps_slot, deps->slots);
        deps->round = TI_MAX(deps->round, 1);
        deps->in_set = 0;
    }
    while (deps->in_set < deps->ids.count) {
        add_to_set(deps, deps->ids.data[deps->in_set++]);
    }
}

static bool is_new(ti_deps *deps, uint64_t id)
{
    if (TI_UNLIKELY(deps->ids.count >= MAX_LISTED)) {
        fill_set(deps);
        deps->in_set += add_to_set(deps, id);
        return deps->in_set > deps->ids.count;
    }
    for (size_t i = deps->ids.count; i-- > 0;) {
        if (deps->ids.data[i] == id) {
            return false;
        }
    }
    return true;
}

void ti_deps_add(ti_deps *deps, uint64_t id)
{
    if (id == 0 || id == deps->self) {
        return;
    }
    if (id > deps->last && id < deps->ceiling) {
        deps->low = TI_MIN(deps->low, id); /* of the first */
        deps->last = id;
    } else if (id < deps->low) {
        deps->ceiling = deps->low;
        deps->low = deps->last = id;
    } else if (!is_new(deps, id)) {
        return;
    }
    ti_vec_push(&deps->ids, id);
}

void ti_deps_fini(ti_deps *deps)
{
    ti_vec_fini(&deps->ids);
    ti_free(deps->slot, deps->slots * sizeof(*deps->slot));
}
