/* Which places hold the newest contents: see coherence.h. */
#include "plan/memory/coherence.h"

#include "base/check.h"

void ti_coherence_init(ti_coherence *c)
{
    *c = (ti_coherence){ 0 };
    ti_region_map_init(&c->fresh);
}

void ti_coherence_fini(ti_coherence *c)
{
    ti_region_map_fini(&c->fresh);
    ti_vec_fini(&c->found);
}

/* Take all found entries out of the map, and put back what lies outside `box`. All of them leave first, since what
 * comes back may join. */
static void carve_found(ti_coherence *c, const ti_box *box)
{
    for (size_t i = 0; i < c->found.count; i++) {
        ti_region_map_remove(&c->fresh, &c->found.data[i].box, c->found.data[i].value);
    }
    for (size_t i = 0; i < c->found.count; i++) {
        const ti_region_entry *e = &c->found.data[i];
        ti_box piece[6];
        int n = ti_box_covers(box, &e->box) ? 0 : ti_box_subtract(&e->box, box, piece);
        for (int k = 0; k < n; k++) {
            ti_region_map_insert_joined(&c->fresh, &piece[k], e->value);
        }
    }
}

void ti_coherence_write(ti_coherence *c, const ti_box *box, int place)
{
    uint64_t set = (uint64_t)1 << place;
    TI_ASSERT(place >= 0 && place < TI_MAX_PLACES && !ti_box_is_empty(box));
    ti_vec_clear(&c->found);
    ti_region_map_query(&c->fresh, box, &c->found);
    if (c->found.count == 1 && c->found.data[0].value == set && ti_box_covers(&c->found.data[0].box, box)) {
        return;
    }
    carve_found(c, box);
    ti_region_map_insert_joined(&c->fresh, box, set);
}

void ti_coherence_describe(ti_coherence *c, ti_tracker_state *state)
{
    const ti_box everything = ti_box_everything();
    ti_vec_clear(&c->found);
    ti_region_map_query(&c->fresh, &everything, &c->found);
    const uint64_t count = c->found.count;
    ti_tracker_state_add(state, &count, sizeof(count));
    for (size_t i = 0; i < c->found.count; i++) {
        ti_tracker_state_add(state, &c->found.data[i].box, sizeof(c->found.data[i].box));
        ti_tracker_state_add(state, &c->found.data[i].value, sizeof(c->found.data[i].value));
    }
}

/* From now on, the place has the newest contents of `box`, or it has them no more. */
static void mark(ti_coherence *c, const ti_box *box, int place, bool fresh)
{
    uint64_t bit = (uint64_t)1 << place;
    TI_ASSERT(place >= 0 && place < TI_MAX_PLACES);
    ti_vec_clear(&c->found);
    ti_region_map_query(&c->fresh, box, &c->found);
    carve_found(c, box);
    for (size_t i = 0; i < c->found.count; i++) {
        ti_box common = ti_box_intersect(&c->found.data[i].box, box);
        uint64_t set = c->found.data[i].value;
        TI_ASSERT(fresh || set != bit);
        ti_region_map_insert_joined(&c->fresh, &common, fresh ? set | bit : set & ~bit);
    }
}

void ti_coherence_copy(ti_coherence *c, const ti_box *box, int place)
{
    mark(c, box, place, true);
}

void ti_coherence_forget(ti_coherence *c, const ti_box *box, int place)
{
    mark(c, box, place, false);
}

void ti_coherence_lacking(ti_coherence *c, const ti_box *box, int place, ti_region_entries *out)
{
    ti_vec_clear(&c->found);
    ti_region_map_query(&c->fresh, box, &c->found);
    for (size_t i = 0; i < c->found.count; i++) {
        if (!(c->found.data[i].value >> place & 1)) {
            ti_region_entry e = { ti_box_intersect(&c->found.data[i].box, box), c->found.data[i].value };
            ti_vec_push(out, e);
        }
    }
}

int ti_coherence_source(uint64_t set, uint64_t near)
{
    TI_ASSERT(set != 0);
    return __builtin_ctzll(set & near ? set & near : set); /* the host is place 0 */
}

bool ti_coherence_is_valid(ti_coherence *c)
{
    ti_region_entries all = { 0 };
    ti_box everything = { { INT64_MIN / 2, INT64_MIN / 2, INT64_MIN / 2 },
                          { INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2 } };
    ti_region_map_query(&c->fresh, &everything, &all);
    bool valid = ti_region_map_is_valid(&c->fresh);
    for (size_t i = 0; i < all.count && valid; i++) {
        valid = all.data[i].value != 0;
        for (size_t j = i + 1; j < all.count && valid; j++) {
            valid = !ti_box_meets(&all.data[i].box, &all.data[j].box);
        }
    }
    ti_vec_fini(&all);
    return valid;
}
