/* Distributions: see distribution.h. */
#include "grid/distribution.h"

#include "base/check.h"

#include <string.h>

ti_split_request ti_distribution_split(const ti_distribution *d, int nodes)
{
    return (ti_split_request){ .range = d->extent,
                               .gran = { d->block[0], d->block[1], d->block[2] },
                               .grid = { d->grid[0], d->grid[1], d->grid[2] },
                               .nodes = nodes,
                               .place = -1,
                               .oversubscribe = 1 };
}

/* Blocks that are dealt out once are a block distribution, which has an inverse that costs nothing. */
static bool deals_once(const ti_distribution *d)
{
    bool once = ti_ceil_div(d->extent.max[0], d->block[0]) <= d->grid[0];
    for (int k = 1; k < 3; k++) {
        once = once && ti_ceil_div(d->extent.max[k], d->block[k]) == d->grid[k];
    }
    return once;
}

ti_distribution ti_distribution_make(const tacit_distribution *from, const ti_box *extent, int nodes)
{
    ti_distribution d;
    TI_ASSERT(nodes >= 1);
    memset(&d, 0, sizeof(d));
    d.extent = *extent;
    for (int k = 0; k < 3; k++) {
        TI_ASSERT(extent->min[k] == 0 && extent->max[k] > 0);
        d.grid[k] = TI_MAX(from->grid[k], 1);
        d.block[k] = (int64_t)TI_MIN(TI_MAX(from->block[k], (size_t)1),
                                     (size_t)extent->max[k]); /* one block is one block */
    }
    if (!from->grid[0] && !from->grid[1] && !from->grid[2]) {
        d.grid[0] = nodes;
    }
    d.cyclic = from->kind == TACIT_DISTRIBUTE_CYCLIC && !deals_once(&d);
    for (int k = 0; d.cyclic && k < 3; k++) {
        d.most[k] = ti_ceil_div(ti_ceil_div(extent->max[k], d.block[k]), d.grid[k]);
    }
    if (!d.cyclic) {
        ti_split_request request = ti_distribution_split(&d, nodes);
        d.split = ti_split_make(&request, NULL);
    }
    return d;
}

int ti_distribution_owner(const ti_distribution *d, const int64_t index[3])
{
    int64_t at[3];
    const int64_t *width = d->cyclic ? d->grid : d->split.parts;
    for (int k = 0; k < 3; k++) {
        TI_ASSERT(index[k] >= 0 && index[k] < d->extent.max[k]);
        at[k] = d->cyclic ? index[k] / d->block[k] % d->grid[k] : ti_split_part(&d->split, k, index[k]);
    }
    return (int)((at[0] * width[1] + at[1]) * width[2] + at[2]);
}

/* The node's place in the grid; false if it has none. */
static bool place_of(const ti_distribution *d, int node, int64_t at[3])
{
    TI_ASSERT(node >= 0);
    const int64_t *width = d->cyclic ? d->grid : d->split.parts;
    at[2] = node % width[2];
    at[1] = node / width[2] % width[1];
    at[0] = node / width[2] / width[1];
    return at[0] < width[0];
}

/* How many of the indices [0, n) the node at place `at` of `grid` has, if blocks are dealt out in turn. */
static int64_t dealt(int64_t n, int64_t block, int64_t grid, int64_t at)
{
    int64_t full = n / block, rest = n % block, rounds = full / grid, left = full % grid;
    return rounds * block + (at < left ? block : at == left ? rest : 0);
}

void ti_distribution_local(const ti_distribution *d, int node, int64_t size[3])
{
    int64_t at[3];
    bool owns = place_of(d, node, at);
    for (int k = 0; k < 3 && owns; k++) {
        size[k] = d->cyclic ? dealt(d->extent.max[k], d->block[k], d->grid[k], at[k])
                            : ti_split_border(&d->split, k, at[k] + 1) - ti_split_border(&d->split, k, at[k]);
        owns = size[k] > 0;
    }
    if (!owns) {
        size[0] = size[1] = size[2] = 0;
    }
}

int64_t ti_distribution_places(const ti_distribution *d)
{
    return d->most[0] * d->most[1] * d->most[2];
}

/* The box of the node's block (i, j, k), counted among its own. */
static ti_box block_box(const ti_distribution *d, const int64_t at[3], const int64_t own[3])
{
    ti_box box;
    for (int k = 0; k < 3; k++) {
        box.min[k] = (own[k] * d->grid[k] + at[k]) * d->block[k];
        box.max[k] = TI_MIN(box.min[k] + d->block[k], d->extent.max[k]);
    }
    return box;
}

static void own_block(const ti_distribution *d, int64_t b, int64_t own[3])
{
    TI_ASSERT(d->cyclic && b >= 0 && b < ti_distribution_places(d));
    own[2] = b % d->most[2];
    own[1] = b / d->most[2] % d->most[1];
    own[0] = b / d->most[2] / d->most[1];
}

ti_box ti_distribution_block(const ti_distribution *d, int node, int64_t b)
{
    int64_t at[3], own[3];
    own_block(d, b, own);
    return place_of(d, node, at) ? block_box(d, at, own) : (ti_box){ { 0, 0, 0 }, { 0, 0, 0 } };
}

/* Where the local array lies if its element `local` has the index `index`. */
static ti_box array_at(const int64_t size[3], const int64_t index[3], const int64_t local[3])
{
    ti_box whole;
    for (int k = 0; k < 3; k++) {
        whole.min[k] = index[k] - local[k];
        whole.max[k] = whole.min[k] + size[k];
    }
    return whole;
}

void ti_distribution_pieces(const ti_distribution *d, int node, ti_local_pieces *out)
{
    int64_t size[3], at[3];
    ti_distribution_local(d, node, size);
    if (size[0] == 0 || !place_of(d, node, at)) {
        return;
    }
    if (!d->cyclic) {
        ti_box box = ti_split_chunk(&d->split, node);
        ti_vec_push(out, ((ti_local_piece){ box, box }));
        return;
    }
    for (int64_t b = 0; b < ti_distribution_places(d); b++) {
        int64_t own[3], local[3];
        own_block(d, b, own);
        ti_box box = block_box(d, at, own);
        for (int k = 0; k < 3; k++) {
            local[k] = own[k] * d->block[k];
        }
        if (!ti_box_is_empty(&box)) {
            ti_vec_push(out, ((ti_local_piece){ box, array_at(size, box.min, local) }));
        }
    }
}
