/* Weights of items: see weights.h. */
#include "grid/weights.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <string.h>

static size_t bytes_of(int64_t count)
{
    return ((size_t)count + 1) * sizeof(uint64_t);
}

ti_weights_status ti_weights_init(ti_weights *out, const uint64_t *weight, size_t count)
{
    const uint64_t most = (uint64_t)1 << TI_WEIGHTS_BITS;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (weight[i] > most - sum) {
            return TI_WEIGHTS_TOO_MUCH;
        }
        sum += weight[i];
    }
    uint64_t *sums = ti_try_alloc(bytes_of((int64_t)count));
    if (!sums) {
        return TI_WEIGHTS_NO_MEMORY;
    }
    sums[0] = 0;
    for (size_t i = 0; i < count; i++) {
        sums[i + 1] = sums[i] + weight[i];
    }
    *out = (ti_weights){ (int64_t)count, ti_hash_bytes(sums, bytes_of((int64_t)count)), sums };
    return TI_WEIGHTS_OK;
}

void ti_weights_fini(ti_weights *w)
{
    ti_free((void *)(uintptr_t)w->sum, w->sum ? bytes_of(w->count) : 0);
    *w = (ti_weights){ 0, 0, NULL };
}

bool ti_weights_equal(const ti_weights *a, const ti_weights *b)
{
    return a->hash == b->hash && a->count == b->count && memcmp(a->sum, b->sum, bytes_of(a->count)) == 0;
}

/* ---- cutting */

/* Where the parts so far end, in granules, and the shares of those that are left. */
typedef struct cutter {
    const ti_weights *weights;
    const ti_weights_cut *cut;
    int64_t granules, part, at;
    uint64_t shares;
} cutter;

static uint64_t share_of(const ti_weights_cut *c, int64_t part)
{
    return c->share && c->share[part / c->per] ? c->share[part / c->per] : 1;
}

static cutter cutter_begin(const ti_weights *w, const ti_weights_cut *c)
{
    cutter k = { w, c, (c->hi - c->lo + c->gran - 1) / c->gran, 0, 0, 0 };
    TI_ASSERT(c->lo >= 0 && c->lo < c->hi && c->hi <= w->count && c->parts >= 1 && c->parts <= k.granules);
    for (int64_t i = 0; i < c->parts; i++) {
        k.shares += share_of(c, i);
    }
    return k;
}

static int64_t item_at(const cutter *k, int64_t granule)
{
    int64_t item = k->cut->lo + granule * k->cut->gran;
    return granule == k->granules ? k->cut->hi : item;
}

/* The sum of the granules from where the cutter is. */
static uint64_t sum_to(const cutter *k, int64_t granule)
{
    return k->weights->sum[item_at(k, granule)] - k->weights->sum[item_at(k, k->at)];
}

/* The granule in [least, most] up to which the sum is nearest to `wanted`; the first of several. */
static int64_t nearest(const cutter *k, uint64_t wanted, int64_t least, int64_t most)
{
    int64_t low = least, high = most;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (sum_to(k, mid) < wanted) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    uint64_t over = sum_to(k, low);
    bool is_before = low > least && over > wanted && wanted - sum_to(k, low - 1) <= over - wanted;
    return is_before ? low - 1 : low;
}

/* The end of the next part. */
static void cut_next(cutter *k)
{
    int64_t behind = k->cut->parts - ++k->part;
    uint64_t share = share_of(k->cut, k->part - 1), left = sum_to(k, k->granules);
    if (behind == 0) {
        k->at = k->granules;
    } else if (left == 0) {
        int64_t by_count = (int64_t)((unsigned __int128)(k->granules - k->at) * share / k->shares);
        int64_t most = k->granules - k->at - behind;
        k->at += by_count < 1 ? 1 : by_count < most ? by_count : most;
    } else {
        uint64_t wanted = (uint64_t)(((unsigned __int128)left * share + k->shares / 2) / k->shares);
        k->at = nearest(k, wanted, k->at + 1, k->granules - behind);
    }
    k->shares -= share;
}

void ti_weights_borders(const ti_weights *weights, const ti_weights_cut *cut, int64_t *border)
{
    cutter k = cutter_begin(weights, cut);
    border[0] = cut->lo;
    while (k.part < cut->parts) {
        cut_next(&k);
        border[k.part] = item_at(&k, k.at);
    }
}

void ti_weights_part(const ti_weights *weights, const ti_weights_cut *cut, int64_t part, int64_t out[2])
{
    cutter k = cutter_begin(weights, cut);
    TI_ASSERT(part >= 0 && part < cut->parts);
    while (k.part < part) {
        cut_next(&k);
    }
    out[0] = item_at(&k, k.at);
    cut_next(&k);
    out[1] = item_at(&k, k.at);
}
