/* Weights of items, and how a range is cut so that its parts have about equal sums of them.
 *
 * A table of sums, so that the sum of any run of items takes O(1) and a part O(log items). Each part gets what is
 * nearest to its share of what is left, so that one heavy item does not starve the parts behind it. With the average A
 * of the sums of P parts and W of the heaviest granule, no part has more than A + W (1 + ln P). Where nothing is left
 * to share, items count alike. Immutable; any thread. */
#ifndef TI_WEIGHTS_H
#define TI_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums are at most 2^TI_WEIGHTS_BITS. */
enum { TI_WEIGHTS_BITS = 62 };

typedef struct ti_weights {
    int64_t count;       /* of items, from 0 */
    uint64_t hash;       /* of all weights */
    const uint64_t *sum; /* count + 1: of the weights of the items before i */
} ti_weights;

typedef enum ti_weights_status { TI_WEIGHTS_OK, TI_WEIGHTS_TOO_MUCH, TI_WEIGHTS_NO_MEMORY } ti_weights_status;

/* Copies the weights. If it is not OK, there is nothing to free. */
ti_weights_status ti_weights_init(ti_weights *out, const uint64_t *weight, size_t count);
void ti_weights_fini(ti_weights *weights);
bool ti_weights_equal(const ti_weights *a, const ti_weights *b);

/* What is cut: the items [lo, hi), which have weights, into parts whose borders lie on lo + multiples of gran. */
typedef struct ti_weights_cut {
    int64_t lo, hi, gran;
    int64_t parts;         /* at least 1, and at most as many as there are granules */
    const uint32_t *share; /* part i gets share[i / per], 0 as 1, of all shares; NULL: all alike */
    int64_t per;
} ti_weights_cut;

/* The borders of the parts: parts + 1 of them. No part is empty. */
void ti_weights_borders(const ti_weights *weights, const ti_weights_cut *cut, int64_t *border);
/* The same of one part. */
void ti_weights_part(const ti_weights *weights, const ti_weights_cut *cut, int64_t part, int64_t out[2]);

#endif
