/* Sorting boxes: see box_sort.h.
 *
 * The minimum corner and the index of a box are packed into one word, and the words are sorted. Only coordinates that
 * are too far apart for one word are compared the plain way. Any thread. */
#include "grid/box_sort.h"

static int bits_of(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}

/* The plain way: merge sort by ti_box_compare. */
static void sort_by_compare(ti_box *box, size_t n, ti_box *other)
{
    if (n < 2) {
        return;
    }
    size_t half = n / 2;
    sort_by_compare(box, half, other);
    sort_by_compare(box + half, n - half, other);
    memcpy(other, box, half * sizeof(ti_box));
    for (size_t i = 0, j = half, put = 0; i < half; put++) {
        box[put] = j == n || ti_box_compare(&other[i], &box[j]) <= 0 ? other[i++] : box[j++];
    }
}

static void sort_few_keys(uint64_t *key, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t k = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
        }
        key[j] = k;
    }
}

/* Sort by the bits from `low` to `high`, a byte at a time. Returns the sorted array, which is `key` or `other`. */
static uint64_t *sort_keys(uint64_t *key, uint64_t *other, size_t n, int low, int high)
{
    for (int shift = low; shift < high; shift += 8) {
        uint32_t start[257] = { 0 };
        for (size_t i = 0; i < n; i++) {
            start[(key[i] >> shift & 255) + 1]++;
        }
        for (int v = 0; v < 256; v++) {
            start[v + 1] += start[v];
        }
        for (size_t i = 0; i < n; i++) {
            other[start[key[i] >> shift & 255]++] = key[i];
        }
        uint64_t *sorted = other;
        other = key;
        key = sorted;
    }
    return key;
}

void ti_box_sort(ti_arena *arena, ti_box *box, size_t n)
{
    ti_box range = { { INT64_MAX, INT64_MAX, INT64_MAX }, { INT64_MIN, INT64_MIN, INT64_MIN } };
    int bits[3], index_bits = bits_of(n), total = index_bits;
    for (size_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            range.min[d] = TI_MIN(range.min[d], box[i].min[d]);
            range.max[d] = TI_MAX(range.max[d], box[i].min[d]);
        }
    }
    for (int d = 0; d < 3; d++) {
        bits[d] = bits_of((uint64_t)range.max[d] - (uint64_t)range.min[d]);
        total += bits[d];
    }
    if (total > 63) {
        sort_by_compare(box, n, TI_ARENA_ARRAY(arena, ti_box, n));
        return;
    }
    uint64_t *key = TI_ARENA_ARRAY(arena, uint64_t, n);
    for (size_t i = 0; i < n; i++) {
        key[i] = 0;
        for (int d = 0; d < 3; d++) {
            key[i] = key[i] << bits[d] | ((uint64_t)box[i].min[d] - (uint64_t)range.min[d]);
        }
        key[i] = key[i] << index_bits | i;
    }
    if (n <= 48) {
        sort_few_keys(key, n);
    } else {
        key = sort_keys(key, TI_ARENA_ARRAY(arena, uint64_t, n), n, index_bits, total);
    }
    const ti_box *old = ti_arena_copy(arena, box, n * sizeof(ti_box));
    for (size_t i = 0; i < n; i++) {
        box[i] = old[key[i] & (((uint64_t)1 << index_bits) - 1)];
    }
}
