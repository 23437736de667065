/* Parts of kernels: see parts.h. */
#include "device/parts.h"

#include "base/check.h"
#include "grid/split.h"
#include "ir/task.h"

/* The slowest dimension that can be cut at all. */
static int cut_dim(const ti_device_kernel *k)
{
    const tacit_box *c = &k->launch.chunk;
    int d = 0;
    while (d + 1 < k->launch.dims && c->max[d] - c->min[d] == 1) {
        d++;
    }
    return d;
}

static int64_t granules_along(const ti_device_kernel *k, int d, int64_t *granule)
{
    int64_t extent = (int64_t)(k->launch.chunk.max[d] - k->launch.chunk.min[d]);
    *granule = d == 0 && k->granule > 0 ? k->granule : 1;
    return ti_ceil_div(extent, *granule);
}

uint64_t ti_parts_items(const ti_device_kernel *k, const tacit_box *chunk)
{
    uint64_t items = 1;
    for (int d = 0; d < k->launch.dims; d++) {
        items *= (uint64_t)(chunk->max[d] - chunk->min[d]);
    }
    return items;
}

int ti_parts_most(const ti_device_kernel *k, int workers)
{
    int64_t granule;
    int64_t granules = k->whole || k->launch.dims == 0 ? 1 : granules_along(k, cut_dim(k), &granule);
    return (int)TI_MAX(1, TI_MIN((int64_t)workers, granules));
}

/* Parts along dimension 0 have about equal sums of these; NULL: they are of equal size, as runs of blocks are. */
static const ti_weights *weights_of(const ti_device_kernel *k)
{
    const ti_shape *shape = k->task ? k->task->shape : NULL;
    return shape && !shape->in_blocks ? shape->items : NULL;
}

static void cut_by_weights(const ti_weights *weights, int parts, int part, int64_t granule, tacit_box *chunk)
{
    const ti_weights_cut how = {
        .lo = (int64_t)chunk->min[0], .hi = (int64_t)chunk->max[0], .gran = granule, .parts = parts
    };
    int64_t out[2];
    ti_weights_part(weights, &how, part, out);
    chunk->min[0] = (size_t)out[0];
    chunk->max[0] = (size_t)out[1];
    TI_ASSERT(chunk->min[0] < chunk->max[0]);
}

void ti_parts_cut(const ti_device_kernel *k, int parts, int part, tacit_box *chunk)
{
    int64_t granule;
    int d = cut_dim(k);
    int64_t granules = granules_along(k, d, &granule);
    TI_ASSERT(part >= 0 && part < parts && parts <= granules);
    const ti_weights *weights = weights_of(k);
    if (weights && d == 0) {
        cut_by_weights(weights, parts, part, granule, chunk);
        return;
    }
    size_t begin = chunk->min[d], end = chunk->max[d];
    chunk->min[d] = begin + (size_t)(ti_split_share(granules, parts, part) * granule);
    if (part + 1 < parts) {
        end = begin + (size_t)(ti_split_share(granules, parts, part + 1) * granule);
    }
    chunk->max[d] = end;
    TI_ASSERT(chunk->min[d] < end);
}
