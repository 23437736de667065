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
    for (size_t i = 0; i < collected.region.boxes.count; i++) {
        ti_vec_push(out, collected.region.boxes.data[i]);
    }
    ti_region_fini(&collected.region);
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
        ti_box image;
        if (ti_mapper_image(&access->mapper[i], &access->buffer->extent, items, &image)) {
            ti_vec_push(out, image);
        }
    }
}
