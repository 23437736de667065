/* From elements back to items: which items of a task touch a box of a buffer. Exact, but for components that only
 * grid/mapper.c knows: of these all items count. A pure function. Any thread. */
#ifndef TI_ITEMS_H
#define TI_ITEMS_H

#include "ir/shape.h"

/* Append the granules of `items`, a box whose ends are those of granules, of which any item touches `box` by the
 * access. A granule has `gran` items per dimension, counted from the begin of the task's range, which cuts the last;
 * for a custom mapper, which is asked again and again, from the begin of `items`. Boxes may overlap. */
void ti_items_touching(const ti_shape *shape, const ti_access *access, const int64_t gran[3], const ti_box *items,
                       const ti_box *box, ti_boxes *out);

/* Along dimensions that a task is not split in, parts are as long as `all`, its range or a chunk: kernels may rely on
 * whole rows, and several items of a row may write one element. */
void ti_items_take_rows(const ti_split *split, const ti_box *all, ti_boxes *items);

/* Whether items touch less of a buffer than the smallest box of items around them: two of its dimensions follow one. */
bool ti_items_are_diagonal(const ti_shape *shape);

#endif
