/* Sorting lists of boxes by their minimum corners. Any thread. */
#ifndef TI_BOX_SORT_H
#define TI_BOX_SORT_H

#include "base/arena.h"
#include "grid/box.h"

/* Sort by minimum corner; the order among equal corners is not specified. Scratch memory comes from `arena`. */
void ti_box_sort(ti_arena *arena, ti_box *box, size_t n);

#endif
