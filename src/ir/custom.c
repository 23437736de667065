/* Evaluating custom mappers: see custom.h. */
#include "ir/custom.h"

void ti_custom_image(const ti_custom_mapper *m, const ti_box *items, const ti_box *extent, int dims, ti_boxes *out)
{
    tacit_region collected = { .extent = *extent };
    tacit_box chunk;
    tacit_range range = { .dims = dims };
    for (int d = 0; d < 3; d++) {
        chunk.min[d] = (size_t)items->min[d];
        chunk.max[d] = (size_t)items->max[d];
        range.size[d] = (size_t)extent->max[d];
    }
    m->fn(&chunk, &range, m->user, &collected);
    ti_region_settle(&collected.region);
    for (size_t i = 0; i < collected.region.boxes.count; i++) {
        ti_vec_push(out, collected.region.boxes.data[i]);
    }
    ti_region_fini(&collected.region);
}

/* Appends the other arms of a star to the first one, unless they are clamped to what that one has: how many boxes
 * there are then. */
static TI_NOINLINE uint32_t add_arms(const ti_access *access, const ti_box *items, uint32_t boxes, ti_box *box)
{
    for (uint32_t i = 1; i < access->mappers; i++) {
        int some = ti_mapper_image(&access->mapper[i], &access->buffer->extent, items, &box[boxes]);
        bool known = boxes && some == 1 && ti_box_covers(box, &box[boxes]);
        boxes += known ? 0 : (uint32_t)some;
    }
    return boxes;
}

static void fill_many(ti_footprint *out, const ti_access *access, const ti_box *items, ti_arena *arena)
{
    ti_boxes boxes = { 0 };
    ti_custom_image(access->custom, items, &access->buffer->extent, access->buffer->dims, &boxes);
    out->boxes = (uint32_t)boxes.count;
    out->box = ti_arena_copy(arena, boxes.data, boxes.count * sizeof(ti_box));
    ti_vec_fini(&boxes);
}

void ti_footprint_fill(ti_footprint *out, const ti_access *access, const ti_box *items, ti_arena *arena)
{
    *out = (ti_footprint){ .box = NULL };
    if (TI_UNLIKELY(access->custom != NULL)) {
        fill_many(out, access, items, arena);
    } else if (access->mode == TACIT_REDUCE) {
        out->box = &access->buffer->extent;
        out->boxes = 1;
    } else {
        ti_box box[TI_MAPPER_BOXES];
        uint32_t boxes = (uint32_t)ti_mapper_image(access->mapper, &access->buffer->extent, items, box);
        if (access->mappers > 1) {
            boxes = add_arms(access, items, boxes, box);
        }
        ti_box *kept = TI_ARENA_ARRAY(arena, ti_box, boxes);
        for (uint32_t i = 0; i < boxes; i++) {
            kept[i] = box[i];
        }
        out->box = kept;
        out->boxes = boxes;
    }
    for (uint32_t i = 0; i < out->boxes; i++) {
        out->bounding = i ? ti_box_bounding(&out->bounding, &out->box[i]) : out->box[i];
    }
}

void ti_shape_fill_footprints(ti_shape *shape, ti_arena *arena)
{
    ti_footprint *footprint = TI_ARENA_ARRAY(arena, ti_footprint, shape->accesses);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        ti_footprint_fill(&footprint[i], &shape->access[i], &shape->range, arena);
    }
    shape->footprint = footprint;
}

void ti_access_image(const ti_access *access, const ti_box *items, ti_boxes *out)
{
    if (access->custom) {
        ti_custom_image(access->custom, items, &access->buffer->extent, access->buffer->dims, out);
        return;
    }
    if (access->mode == TACIT_REDUCE) {
        ti_vec_push(out, access->buffer->extent);
        return;
    }
    for (uint32_t i = 0; i < access->mappers; i++) {
        ti_box image[TI_MAPPER_BOXES];
        int boxes = ti_mapper_image(&access->mapper[i], &access->buffer->extent, items, image);
        for (int k = 0; k < boxes; k++) {
            ti_vec_push(out, image[k]);
        }
    }
}
