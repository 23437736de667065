/* Evaluating custom mappers: the user's function, its output clamped to the buffer and brought to normal form.
 * Any thread. */
#ifndef TI_CUSTOM_H
#define TI_CUSTOM_H

#include "ir/task.h"

/* What a custom mapper function adds its boxes to. */
struct tacit_region {
    ti_region region;
    ti_box extent;
};

/* The boxes that `items` touch of a buffer, appended to `out`. */
void ti_custom_image(const ti_custom_mapper *m, const ti_box *items, const ti_box *extent, int dims, ti_boxes *out);

#endif
