/* What a tracker knows without regard to who it was: see tracker.h. Values of entries are not looked at. */
#include "plan/track/tracker.h"

static void find(ti_tracker *t, const ti_box *box)
{
    ti_vec_clear(&t->scratch);
    ti_region_map_query(&t->map, box, &t->scratch);
}

bool ti_tracker_is_written(ti_tracker *t, const ti_box *box, ti_box *hole)
{
    find(t, box);
    if (t->scratch.count == 1 && ti_box_covers(&t->scratch.data[0].box, box)) {
        return true;
    }
    ti_vec_clear(&t->rest);
    ti_vec_push(&t->rest, *box);
    for (size_t i = 0; i < t->scratch.count; i++) {
        ti_boxes_subtract(&t->rest, &t->scratch.data[i].box);
    }
    if (t->rest.count > 0) {
        *hole = t->rest.data[0];
    }
    return t->rest.count == 0;
}
