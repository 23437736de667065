/* Evaluating custom mappers: the user's function, its output clamped to the buffer and brought to normal form.
 *
 * The function is pure, so what it said for some items and an extent is kept, for all tasks: a program that submits one
 * again and again, or several with the same mapper, pays for each chunk once. What is kept is bounded; when there is no
 * room, all of it goes. Any thread. */
#ifndef TI_CUSTOM_H
#define TI_CUSTOM_H

#include "ir/task.h"

/* What a custom mapper function adds its boxes to. */
struct tacit_region {
    ti_region region;
    ti_box extent;
};

typedef struct ti_custom_answers ti_custom_answers;

ti_custom_answers *ti_custom_answers_create(void);
void ti_custom_answers_destroy(ti_custom_answers *answers); /* NULL is allowed */

/* The boxes that `items` touch of a buffer, appended to `out`. */
void ti_custom_image(const ti_custom_mapper *m, const ti_box *items, const ti_box *extent, int dims, ti_boxes *out);

#endif
