/* Sorting without malloc, which the C library's qsort calls for arrays above a kilobyte. Any thread. */
#ifndef TI_SORT_H
#define TI_SORT_H

#include "base/vec.h"

typedef int ti_compare(const void *a, const void *b);

/* Sort `n` elements of `size` bytes; equal ones keep their order. `scratch` has room for n / 2 elements. */
void ti_sort(void *data, size_t n, size_t size, ti_compare *compare, void *scratch);

/* The same for vectors of one type; the contents of `other` are lost. */
#define ti_vec_sort(v, other, compare)                                                                                 \
    (ti_vec_reserve((other), (v)->count / 2),                                                                          \
     ti_sort((v)->data, (v)->count, sizeof(*(v)->data), (compare), (other)->data))

#endif
