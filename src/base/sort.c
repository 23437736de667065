/* Sorting: see sort.h. A merge sort that leaves runs alone which are in order already, as they often are. */
#include "base/sort.h"

#include <string.h>

static void merge(char *data, size_t half, size_t n, size_t size, ti_compare *compare, char *left)
{
    char *right = data + half * size, *put = data;
    const char *left_end = left + half * size, *end = data + n * size;
    memcpy(left, data, half * size);
    while (left < left_end && right < end) {
        bool take_left = compare(left, right) <= 0;
        memcpy(put, take_left ? left : right, size);
        left += take_left ? size : 0;
        right += take_left ? 0 : size;
        put += size;
    }
    memcpy(put, left, (size_t)(left_end - left));
}

void ti_sort(void *data, size_t n, size_t size, ti_compare *compare, void *scratch)
{
    if (n < 2) {
        return;
    }
    size_t half = n / 2;
    char *right = (char *)data + half * size;
    ti_sort(data, half, size, compare, scratch);
    ti_sort(right, n - half, size, compare, scratch);
    if (compare(right - size, right) > 0) {
        merge(data, half, n, size, compare, scratch);
    }
}
