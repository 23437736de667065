/* Tiles of a window: see tiles.h.
 *
 * The skew, by how much later tasks fall behind the first one, is not derived from mappers but tried: half of the first
 * task along a dimension counts as done, and the others go as far as they can. A tile, without what the skew adds to
 * it, has to be at least as long as the skew. If it would be shorter, there are no tiles; a window of fewer tasks may
 * have some. */
#include "plan/tolerance/tiles.h"

#include "base/check.h"
#include "plan/tolerance/items.h"

#include <string.h>

enum { MAX_KERNELS = 1 << 14 };

/* ---- which tasks */

bool ti_tile_order_admits(const ti_shape *shape)
{
    bool good = !shape->on_host && !shape->whole_chunk && !shape->in_blocks && !shape->orders &&
                shape->place == TI_PLACE_SPLIT && !ti_items_are_diagonal(shape);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        good &= !a->custom && !a->in_parts && a->mode != TACIT_REDUCE;
    }
    return good;
}

/* Whether what items write along dimension `d` on both sides of a granule's end has nothing in common. */
static bool writes_apart(const ti_shape *shape, const ti_mapper *m, int d)
{
    bool apart = false;
    for (int k = 0; k < m->dims; k++) {
        const tacit_component *c = &m->c[k];
        apart |= ti_component_follows(c) && c->dim == d && !ti_component_is_irregular(c) && c->lo + c->hi <= 0 &&
                 shape->gran[d] * c->mul % c->div == 0 && shape->range.min[d] * c->mul % c->div == 0;
    }
    return apart;
}

/* Whether the task may be cut along dimension `d`. */
static bool is_cut_along(const ti_shape *shape, int d)
{
    bool cut = d == 0 || (d == 1 && shape->two_dimensional);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        for (uint32_t m = 0; ti_access_writes(&shape->access[i]) && m < shape->access[i].mappers; m++) {
            cut &= writes_apart(shape, &shape->access[i].mapper[m], d);
        }
    }
    return cut;
}

/* ---- as far as it can */

/* What the rest of earlier tasks will touch of a buffer. */
typedef struct touched {
    const ti_buffer_info *buffer;
    ti_boxes written, read;
} touched;

typedef struct sweep {
    const ti_tile_request *is;
    const uint32_t *first; /* piece of each task, and one more */
    ti_boxes *rest;        /* items of each piece that are not in the list yet */
    TI_VEC(touched) buffer;
    ti_boxes blocked, free, image;
} sweep;

static touched *touched_of(sweep *s, const ti_buffer_info *buffer)
{
    for (size_t i = 0; i < s->buffer.count; i++) {
        if (s->buffer.data[i].buffer == buffer) {
            return &s->buffer.data[i];
        }
    }
    ti_vec_push(&s->buffer, ((touched){ .buffer = buffer }));
    return &s->buffer.data[s->buffer.count - 1];
}

/* All items, and nothing in the list. */
static void begin(sweep *s)
{
    for (uint32_t p = 0; p < s->is->pieces; p++) {
        ti_vec_clear(&s->rest[p]);
        ti_vec_push(&s->rest[p], s->is->piece[p].items);
    }
}

static void fini(sweep *s)
{
    for (uint32_t p = 0; p < s->is->pieces; p++) {
        ti_vec_fini(&s->rest[p]);
    }
    for (size_t i = 0; i < s->buffer.count; i++) {
        ti_vec_fini(&s->buffer.data[i].written);
        ti_vec_fini(&s->buffer.data[i].read);
    }
    ti_vec_fini(&s->buffer);
    ti_vec_fini(&s->blocked);
    ti_vec_fini(&s->free);
    ti_vec_fini(&s->image);
}

static ti_box rest_of(const sweep *s, uint32_t t)
{
    ti_box all = { { 0 }, { 0 } };
    for (uint32_t p = s->first[t]; p < s->first[t + 1]; p++) {
        for (size_t i = 0; i < s->rest[p].count; i++) {
            all = ti_box_is_empty(&all) ? s->rest[p].data[i] : ti_box_bounding(&all, &s->rest[p].data[i]);
        }
    }
    return all;
}

/* Note what the rest of the task will touch. */
static void note_rest(sweep *s, uint32_t t)
{
    const ti_shape *shape = s->is->shape[t];
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        touched *b = touched_of(s, a->buffer);
        ti_boxes *list = ti_access_writes(a) ? &b->written : &b->read;
        for (uint32_t p = s->first[t]; p < s->first[t + 1]; p++) {
            for (size_t k = 0; k < s->rest[p].count; k++) {
                ti_access_image(a, &s->rest[p].data[k], list);
            }
        }
        ti_boxes_normalize(list);
    }
}

/* Tasks that have nothing to do with those before go with the first one, as far as it has come. */
static void follow_first(sweep *s, uint32_t t)
{
    const ti_shape *a = s->is->shape[0], *b = s->is->shape[t];
    bool alike = ti_box_equal(&a->range, &b->range) && memcmp(a->gran, b->gran, sizeof(a->gran)) == 0;
    for (uint32_t p = 0; alike && p < s->first[1]; p++) {
        for (size_t i = 0; i < s->rest[p].count; i++) {
            ti_vec_push(&s->blocked, s->rest[p].data[i]);
        }
    }
}

/* The items of the task that have to wait, within a box around all that are left. */
static void find_blocked(sweep *s, uint32_t t)
{
    const ti_shape *shape = s->is->shape[t];
    const ti_box around = rest_of(s, t);
    ti_vec_clear(&s->blocked);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        const ti_access *a = &shape->access[i];
        const touched *b = touched_of(s, a->buffer);
        for (size_t k = 0; k < b->written.count; k++) {
            ti_items_touching(shape, a, shape->gran, &around, &b->written.data[k], &s->blocked);
        }
        for (size_t k = 0; ti_access_writes(a) && k < b->read.count; k++) {
            ti_items_touching(shape, a, shape->gran, &around, &b->read.data[k], &s->blocked);
        }
    }
    follow_first(s, t);
    for (int d = 0; d < 3; d++) {
        for (size_t i = 0; !is_cut_along(shape, d) && i < s->blocked.count; i++) {
            s->blocked.data[i].min[d] = shape->range.min[d];
            s->blocked.data[i].max[d] = shape->range.max[d];
        }
    }
    ti_boxes_normalize(&s->blocked);
}

static void take_away(ti_boxes *from, const ti_boxes *what)
{
    for (size_t i = 0; i < what->count; i++) {
        ti_boxes_subtract(from, &what->data[i]);
    }
}

/* Put those items of the piece that need not wait (`free`) into the list. */
static void emit(sweep *s, uint32_t p, ti_tile_order *out)
{
    ti_boxes_normalize(&s->free);
    take_away(&s->rest[p], &s->free);
    ti_boxes_normalize(&s->rest[p]);
    for (size_t i = 0; i < s->free.count; i++) {
        ti_vec_push(&out->kernel, ((ti_tile_kernel){ .piece = p, .after = -1, .items = s->free.data[i] }));
    }
}

static void begin_tile(sweep *s, const ti_box *tile, int device, ti_tile_order *out)
{
    for (uint32_t p = 0; p < s->first[1]; p++) {
        ti_vec_clear(&s->free);
        for (size_t i = 0; s->is->piece[p].device == device && i < s->rest[p].count; i++) {
            ti_boxes_push_common(&s->rest[p].data[i], tile, &s->free);
        }
        emit(s, p, out);
    }
}

/* Put the device's part of the tile of the first task into the list; then all other tasks, as far as they can go. */
static void advance(sweep *s, const ti_box *tile, int device, ti_tile_order *out)
{
    for (size_t i = 0; i < s->buffer.count; i++) {
        ti_vec_clear(&s->buffer.data[i].written);
        ti_vec_clear(&s->buffer.data[i].read);
    }
    begin_tile(s, tile, device, out);
    note_rest(s, 0);
    for (uint32_t t = 1; t < s->is->tasks; t++) {
        find_blocked(s, t);
        for (uint32_t p = s->first[t]; p < s->first[t + 1]; p++) {
            ti_vec_clear(&s->free);
            for (size_t i = 0; i < s->rest[p].count; i++) {
                ti_vec_push(&s->free, s->rest[p].data[i]);
            }
            take_away(&s->free, &s->blocked);
            emit(s, p, out);
        }
        note_rest(s, t);
    }
}

/* ---- how large tiles are */

/* All pieces of a task, or those on one device. */
static ti_box pieces_of(const sweep *s, uint32_t t, int device)
{
    ti_box all = { { 0 }, { 0 } };
    for (uint32_t p = s->first[t]; p < s->first[t + 1]; p++) {
        const ti_tile_piece *piece = &s->is->piece[p];
        if (device < 0 || piece->device == device) {
            all = ti_box_is_empty(&all) ? piece->items : ti_box_bounding(&all, &piece->items);
        }
    }
    return all;
}

/* Bytes that all tasks touch: of boxes around it, one for each buffer. */
static uint64_t bytes_of(sweep *s)
{
    uint64_t bytes = 0;
    begin(s);
    for (uint32_t t = 0; t < s->is->tasks; t++) {
        note_rest(s, t);
    }
    for (size_t i = 0; i < s->buffer.count; i++) {
        touched *b = &s->buffer.data[i];
        for (size_t k = 0; k < b->read.count; k++) {
            ti_vec_push(&b->written, b->read.data[k]);
        }
        const ti_box all = ti_boxes_bounding(b->written.data, b->written.count);
        bytes += (uint64_t)ti_box_volume(&all) * b->buffer->elem_size;
    }
    return bytes;
}

/* Do half of the first task along dimension `d`: by how much others fall behind, in items of the first. Less than 0:
 * one of them cannot begin. */
static int64_t skew_along(sweep *s, int d)
{
    const ti_box all = pieces_of(s, 0, -1);
    const int64_t length = all.max[d] - all.min[d], gran = s->is->shape[0]->gran[d];
    ti_box half = all;
    ti_tile_order tried = { .tiles = 0 };
    int64_t skew = 0;
    half.max[d] = all.min[d] + length / 2 / gran * gran;
    begin(s);
    for (uint32_t p = 0; p < s->first[1]; p++) { /* on all devices */
        ti_boxes_subtract(&s->rest[p], &half);
    }
    advance(s, &(ti_box){ { 0 }, { 0 } }, -1, &tried);
    for (uint32_t t = 1; t < s->is->tasks && skew >= 0; t++) {
        const ti_box mine = pieces_of(s, t, -1), rest = rest_of(s, t);
        TI_ASSERT(!ti_box_is_empty(&mine));
        const int64_t come = ti_box_is_empty(&rest) ? mine.max[d] - mine.min[d] : rest.min[d] - mine.min[d];
        const int64_t behind = half.max[d] - all.min[d] - come * length / (mine.max[d] - mine.min[d]);
        skew = come > 0 ? TI_MAX(skew, behind) : -1;
    }
    ti_tile_order_fini(&tried);
    return skew;
}

/* The largest r whose square is not larger. */
static int64_t root_of(int64_t n)
{
    int64_t r = 0;
    for (int64_t bit = (int64_t)1 << 30; bit > 0; bit >>= 1) {
        r += (r + bit) * (r + bit) <= n ? bit : 0;
    }
    TI_ASSERT(n < 0 || (r * r <= n && n < (r + 1) * (r + 1)));
    return r;
}

/* Tiles of about the same length, whole granules. */
static int64_t even(int64_t length, int64_t tile, int64_t gran)
{
    TI_ASSERT(length > 0 && gran > 0);
    const int64_t tiles = ti_ceil_div(length, TI_MAX(tile, gran));
    return ti_ceil_div(ti_ceil_div(length, tiles), gran) * gran;
}

/* Choose the extent of tiles, so that one together with its skew has at most `items` items. False: a tile would be
 * shorter than its skew. */
static bool choose_extent(sweep *s, int64_t items, int64_t extent[3])
{
    const ti_shape *shape = s->is->shape[0];
    const ti_box all = pieces_of(s, 0, -1);
    bool cut[2] = { true, true };
    for (uint32_t t = 0; t < s->is->tasks; t++) {
        cut[0] &= is_cut_along(s->is->shape[t], 0);
        cut[1] &= is_cut_along(s->is->shape[t], 1);
    }
    for (int d = 0; d < 3; d++) {
        extent[d] = all.max[d] - all.min[d];
    }
    const int64_t skew = cut[0] ? skew_along(s, 0) : -1, rows = items / (extent[1] * extent[2]) - skew;
    if (skew < 0) {
        return false;
    }
    if (rows >= TI_MAX(skew, shape->gran[0])) {
        extent[0] = even(extent[0], rows / shape->gran[0] * shape->gran[0], shape->gran[0]);
        return true;
    }
    const int64_t other = cut[1] ? skew_along(s, 1) : -1, more = TI_MAX(skew, other);
    const int64_t side = root_of(items / extent[2]) - more;
    if (other < 0 || side < TI_MAX(more, TI_MAX(shape->gran[0], shape->gran[1]))) {
        return false;
    }
    for (int d = 0; d < 2; d++) {
        extent[d] = even(extent[d], side / shape->gran[d] * shape->gran[d], shape->gran[d]);
    }
    return true;
}

/* ---- the list */

/* The tiles of one device: where they are, and when each is done. */
typedef struct device_tiles {
    int device;
    ti_box all;
    int64_t count[3], tiles;
    TI_VEC(int32_t) end; /* by tile: a kernel of the last task that has any */
} device_tiles;

static ti_box tile_at(const device_tiles *d, const int64_t extent[3], int64_t number)
{
    ti_box tile;
    const int64_t at[3] = { number / d->count[2] / d->count[1], number / d->count[2] % d->count[1],
                            number % d->count[2] };
    for (int k = 0; k < 3; k++) {
        tile.min[k] = d->all.min[k] + at[k] * extent[k];
        tile.max[k] = TI_MIN(tile.min[k] + extent[k], d->all.max[k]);
    }
    TI_ASSERT(number >= 0 && number < d->tiles && !ti_box_is_empty(&tile));
    return tile;
}

/* Among the device's kernels from `from` on: the largest one of the last task. */
static int32_t end_of(const sweep *s, const ti_tile_order *out, size_t from, int device)
{
    int32_t end = -1;
    for (size_t i = from; i < out->kernel.count; i++) {
        const ti_tile_piece *piece = &s->is->piece[out->kernel.data[i].piece];
        const ti_tile_piece *best = end < 0 ? NULL : &s->is->piece[out->kernel.data[end].piece];
        if (piece->device == device &&
            (!best || piece->task > best->task ||
             (piece->task == best->task &&
              ti_box_volume(&out->kernel.data[i].items) > ti_box_volume(&out->kernel.data[end].items)))) {
            end = (int32_t)i;
        }
    }
    return end;
}

static void add_tile(sweep *s, device_tiles *d, int64_t number, ti_tile_order *out)
{
    const ti_box tile = tile_at(d, out->extent, number);
    const size_t from = out->kernel.count;
    TI_ASSERT((int64_t)d->end.count == number); /* one after the other */
    advance(s, &tile, d->device, out);
    for (size_t i = from; number >= s->is->ahead && i < out->kernel.count; i++) {
        const ti_tile_piece *piece = &s->is->piece[out->kernel.data[i].piece];
        if (piece->task == 0) {
            TI_ASSERT(d->end.data[number - s->is->ahead] < (int32_t)from);
            out->kernel.data[i].after = d->end.data[number - s->is->ahead];
        }
    }
    ti_vec_push(&d->end, end_of(s, out, from, d->device));
    out->tiles++;
}

/* All devices that have some of the first task; if one has not, others have. */
static void find_devices(const sweep *s, const int64_t extent[3], device_tiles *list, uint32_t *count)
{
    *count = 0;
    for (uint32_t p = 0; p < s->first[1]; p++) {
        bool is_new = true;
        for (uint32_t i = 0; i < *count; i++) {
            is_new &= list[i].device != s->is->piece[p].device;
        }
        if (is_new) {
            device_tiles *d = &list[(*count)++];
            *d = (device_tiles){ .device = s->is->piece[p].device, .tiles = 1 };
            d->all = pieces_of(s, 0, d->device);
            for (int k = 0; k < 3; k++) {
                d->count[k] = ti_ceil_div(d->all.max[k] - d->all.min[k], extent[k]);
                d->tiles *= d->count[k];
            }
        }
    }
}

/* Devices take turns. */
static ti_tile_verdict list_tiles(sweep *s, ti_tile_order *out)
{
    device_tiles *list = TI_NEW_ARRAY(device_tiles, s->first[1]);
    uint32_t devices;
    int64_t most = 0, all = 0;
    find_devices(s, out->extent, list, &devices);
    for (uint32_t i = 0; i < devices; i++) {
        most = TI_MAX(most, list[i].tiles);
        all += list[i].tiles;
    }
    const bool good = all > 1 && all * s->is->tasks <= MAX_KERNELS;
    begin(s);
    for (int64_t n = 0; good && n < most; n++) {
        for (uint32_t i = 0; i < devices; i++) {
            if (n < list[i].tiles) {
                add_tile(s, &list[i], n, out);
            }
        }
    }
    for (uint32_t p = 0; good && p < s->is->pieces; p++) {
        TI_ASSERT(s->rest[p].count == 0); /* all items are in the list */
    }
    for (uint32_t i = 0; i < devices; i++) {
        ti_vec_fini(&list[i].end);
    }
    ti_free(list, s->first[1] * sizeof(*list));
    return good ? TI_TILES_MADE : all > 1 ? TI_TILES_MANY : TI_TILES_SMALL;
}

static ti_tile_verdict make(sweep *s, ti_tile_order *out)
{
    const ti_box first = pieces_of(s, 0, -1);
    out->bytes = bytes_of(s);
    out->tiles = 0;
    if (out->bytes <= s->is->least || out->bytes <= s->is->bytes) {
        return TI_TILES_SMALL;
    }
    TI_ASSERT(!ti_box_is_empty(&first) && out->bytes > 0);
    const double share = (double)s->is->bytes / s->is->ahead / (double)out->bytes;
    if (!choose_extent(s, (int64_t)(share * (double)ti_box_volume(&first)), out->extent)) {
        return TI_TILES_SKEW;
    }
    return list_tiles(s, out);
}

ti_tile_verdict ti_tile_order_make(const ti_tile_request *request, ti_tile_order *out)
{
    uint32_t *first = TI_NEW_ARRAY(uint32_t, request->tasks + 1);
    sweep s = { .is = request, .first = first, .rest = TI_NEW_ARRAY(ti_boxes, request->pieces) };
    TI_ASSERT(request->tasks > 0 && request->ahead > 0);
    for (uint32_t p = 0; p < request->pieces; p++) {
        TI_ASSERT(p == 0 || request->piece[p].task >= request->piece[p - 1].task);
        TI_ASSERT(request->piece[p].task < request->tasks && !ti_box_is_empty(&request->piece[p].items));
        first[request->piece[p].task + 1] = p + 1;
    }
    bool all = true;
    for (uint32_t t = 0; t < request->tasks; t++) {
        all &= first[t + 1] > first[t];
    }
    const ti_tile_verdict verdict = !all ? TI_TILES_FIXED : request->tasks == 1 ? TI_TILES_ONE : make(&s, out);
    fini(&s);
    ti_free(s.rest, request->pieces * sizeof(*s.rest));
    ti_free(first, (request->tasks + 1) * sizeof(*first));
    return verdict;
}

void ti_tile_order_fini(ti_tile_order *tiles)
{
    ti_vec_fini(&tiles->kernel);
}
