/* Sets of elements, as the model of planners keeps them: see sim.h.
 *
 * A mark per element says which set it was added to last, so that starting a new set costs nothing. */
#include "sim.h"

#include <string.h>

void sim_new_set(sim *s)
{
    s->token++;
}

void sim_add_box(sim *s, int buffer, const gen_box *box, sim_list *out)
{
    gen_box extent = gen_extent(&s->program->buffer.data[buffer]);
    int64_t at[3];
    GEN_FOR_EACH(at, box)
    {
        size_t e = s->base[buffer] + gen_element(&extent, at);
        if (s->mark[e] != s->token) {
            s->mark[e] = s->token;
            ti_vec_push(out, (uint32_t)e);
        }
    }
}

bool sim_add_boxes(sim *s, int buffer, const ti_box *box, size_t count, sim_list *out)
{
    const ti_box *extent = &s->lowering.info[buffer].extent;
    for (size_t i = 0; i < count; i++) {
        SIM_CHECK(s, !ti_box_is_empty(&box[i]) && ti_box_covers(extent, &box[i]), "a box is empty or leaves buffer %d",
                  buffer);
        gen_box b;
        memcpy(b.min, box[i].min, sizeof(b.min));
        memcpy(b.max, box[i].max, sizeof(b.max));
        sim_add_box(s, buffer, &b, out);
    }
    return true;
}

sim_elements sim_keep(sim *s, sim_list *list)
{
    sim_elements kept = { ti_arena_copy(&s->arena, list->data, list->count * sizeof(uint32_t)), list->count };
    ti_vec_clear(list);
    return kept;
}

const uint32_t *sim_stamps(sim *s, const sim_elements *elements)
{
    uint32_t *stamp = TI_ARENA_ARRAY(&s->arena, uint32_t, elements->count);
    for (size_t i = 0; i < elements->count; i++) {
        stamp[i] = s->newest[elements->data[i]];
    }
    return stamp;
}
