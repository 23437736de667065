/* What nodes compute alone: see alone.h. */
#include "plan/tolerance/alone.h"

#include "base/check.h"
#include "plan/tolerance/closure.h"
#include "plan/tolerance/items.h"

/* Boxes of a chunk's early items: of more, nothing is early. In a chunk where a custom mapper has to be asked, so many
 * pieces along a dimension are told from each other. A part of so many of a chunk's items has to be early. */
enum { MAX_BOXES = 16, MAX_STEPS = 256, MIN_EARLY = 4 };

typedef struct search {
    const ti_windowed *task;
    size_t count;
    int64_t chunks;
    ti_spread *const *halo;
    const ti_befores *before;
    ti_boxes *early; /* of chunk c of task t: early[t * chunks + c] */
    ti_boxes **late; /* what the late items of the chunk at hand touch, by task and access */
    ti_boxes image, part, blocked;
} search;

/* ---- regions */

static void add(ti_boxes *to, const ti_boxes *from)
{
    for (size_t i = 0; i < from->count; i++) {
        ti_vec_push(to, from->data[i]);
    }
}

static void take_away(ti_boxes *from, const ti_boxes *what)
{
    for (size_t i = 0; i < what->count; i++) {
        ti_boxes_subtract(from, &what->data[i]);
    }
}

static ti_boxes *early_of(const search *s, size_t t, int64_t c)
{
    TI_ASSERT(t < s->count && 0 <= c && c < s->chunks);
    return &s->early[t * (size_t)s->chunks + (size_t)c];
}

/* Append what the items touch by the access. */
static void add_image(const ti_access *access, const ti_boxes *items, ti_boxes *out)
{
    for (size_t i = 0; i < items->count; i++) {
        ti_access_image(access, &items->data[i], out);
    }
}

/* ---- forwards: one chunk */

/* Which items of the chunk touch any of the boxes by the access: they wait. */
static void block(search *s, size_t t, const ti_access *access, const ti_box *chunk, const ti_boxes *boxes)
{
    const ti_split *split = s->task[t].split;
    int64_t gran[3];
    for (int d = 0; d < 3; d++) {
        int64_t granules = ti_ceil_div(chunk->max[d] - chunk->min[d], split->gran[d]);
        gran[d] = split->gran[d] * (access->custom ? ti_ceil_div(granules, MAX_STEPS) : 1);
    }
    for (size_t i = 0; i < boxes->count; i++) {
        ti_items_touching(s->task[t].shape, access, gran, chunk, &boxes->data[i], &s->blocked);
    }
}

/* Of `image`, what task `w` writes goes; what of that the node of chunk c has not written early becomes `part`. */
static void find_made(search *s, size_t w, int64_t c, const ti_access *access)
{
    const ti_shape *writer = s->task[w].shape;
    ti_boxes made = { 0 };
    ti_vec_clear(&s->part);
    for (uint32_t i = 0; i < writer->accesses; i++) {
        const ti_access *to = &writer->access[i];
        if (to->buffer != access->buffer || !ti_access_writes(to)) {
            continue;
        }
        for (uint32_t f = 0; f < writer->footprint[i].boxes; f++) {
            for (size_t k = 0; k < s->image.count; k++) {
                ti_boxes_push_common(&s->image.data[k], &writer->footprint[i].box[f], &s->part);
            }
            ti_boxes_subtract(&s->image, &writer->footprint[i].box[f]);
        }
        add_image(to, early_of(s, w, c), &made);
    }
    take_away(&s->part, &made);
    ti_vec_fini(&made);
}

/* The same of what was there before the window, as one of `before` says. */
static void find_held(search *s, const ti_before *b, const ti_box *extent, int64_t c)
{
    ti_boxes held = { 0 };
    ti_box image[TI_MAPPER_BOXES];
    TI_ASSERT(!b->mapper == !b->split);
    int64_t first, count = b->mapper ? ti_split_chunks_of(b->split, (int)c, &first) : 0;
    ti_vec_clear(&s->part);
    for (size_t k = 0; k < s->image.count && b->mapper; k++) {
        ti_boxes_push_common(&s->image.data[k], &b->box, &s->part);
    }
    for (int64_t k = 0; k < count; k++) {
        ti_box chunk = ti_split_chunk(b->split, first + k);
        int boxes = ti_mapper_image(b->mapper, extent, &chunk, image);
        for (int i = 0; i < boxes; i++) {
            ti_vec_push(&held, image[i]);
        }
    }
    take_away(&s->part, &held);
    ti_vec_fini(&held);
}

/* What waits of chunk c of task t since it reads by the access what is not there. */
static void block_read(search *s, size_t t, int64_t c, uint32_t index, const ti_box *chunk)
{
    const ti_access *access = &s->task[t].shape->access[index];
    ti_vec_clear(&s->image);
    ti_access_image(access, chunk, &s->image);
    ti_boxes_normalize(&s->image);
    for (size_t w = t; w > 0 && s->image.count; w--) {
        find_made(s, w - 1, c, access);
        block(s, t, access, chunk, &s->part);
    }
    for (size_t i = 0; i < s->before->count && s->image.count; i++) {
        const ti_before *b = &s->before->data[i];
        if (b->task == t && b->access == index) {
            find_held(s, b, &access->buffer->extent, c);
            block(s, t, access, chunk, &s->part);
        }
    }
}

/* What waits since it overwrites by the access what earlier tasks touch late. */
static void block_write(search *s, size_t t, const ti_access *access, const ti_box *chunk)
{
    for (size_t e = 0; e < t; e++) {
        for (uint32_t i = 0; i < s->task[e].shape->accesses; i++) {
            if (s->task[e].shape->access[i].buffer == access->buffer) {
                block(s, t, access, chunk, &s->late[e][i]);
            }
        }
    }
}

/* What the chunk's late items touch, and those that it may execute besides. */
static void find_late(search *s, size_t t, int64_t c, const ti_box *chunk)
{
    ti_boxes items = { 0 };
    if (s->halo[t]) {
        ti_spread_items(s->halo[t], s->task[t].split, c, &items);
    } else {
        ti_vec_push(&items, *chunk);
    }
    take_away(&items, early_of(s, t, c));
    for (uint32_t i = 0; i < s->task[t].shape->accesses; i++) {
        ti_vec_clear(&s->late[t][i]);
        add_image(&s->task[t].shape->access[i], &items, &s->late[t][i]);
        ti_boxes_normalize(&s->late[t][i]);
    }
    ti_vec_fini(&items);
}

/* Whether enough of the chunk is early. */
static bool find_early(search *s, size_t t, int64_t c)
{
    const ti_shape *shape = s->task[t].shape;
    const ti_box chunk = ti_split_chunk(s->task[t].split, c);
    ti_boxes *early = early_of(s, t, c);
    ti_vec_clear(&s->blocked);
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (ti_access_reads(&shape->access[i])) {
            block_read(s, t, c, i, &chunk);
        }
        if (ti_access_writes(&shape->access[i])) {
            block_write(s, t, &shape->access[i], &chunk);
        }
    }
    ti_items_take_rows(s->task[t].split, &shape->range, &s->blocked);
    ti_boxes_normalize(&s->blocked);
    TI_ASSERT(early->count == 0); /* a chunk is looked at once */
    ti_vec_push(early, chunk);
    take_away(early, &s->blocked);
    ti_boxes_normalize(early);
    find_late(s, t, c, &chunk);
    return early->count <= MAX_BOXES && MIN_EARLY * ti_boxes_volume(early->data, early->count) >= ti_box_volume(&chunk);
}

/* ---- backwards: what of the own chunk is ahead */

/* Which early items of task t the ones ahead of a later task come of, or would overwrite something of. */
static void need_ahead(const search *s, size_t t, size_t later, const ti_boxes *ahead, const ti_box *chunk,
                       ti_boxes *out)
{
    const ti_shape *mine = s->task[t].shape, *other = s->task[later].shape;
    for (uint32_t i = 0; i < mine->accesses; i++) {
        for (uint32_t k = 0; k < other->accesses; k++) {
            const bool flows = ti_access_writes(&mine->access[i]) && ti_access_reads(&other->access[k]);
            ti_boxes image = { 0 };
            if (mine->access[i].buffer == other->access[k].buffer && !mine->access[i].custom &&
                (flows || ti_access_writes(&other->access[k]))) {
                add_image(&other->access[k], ahead, &image);
            }
            for (size_t b = 0; b < image.count; b++) {
                ti_items_touching(mine, &mine->access[i], s->task[t].split->gran, chunk, &image.data[b], out);
            }
            ti_vec_fini(&image);
        }
    }
}

/* `wanted`: what others leave to this chunk, of each task. */
static void find_ahead(const search *s, int64_t own, const ti_boxes *wanted, ti_alone *out)
{
    for (size_t t = s->count; t > 0; t--) {
        ti_alone *at = &out[t - 1];
        const ti_split *split = s->task[t - 1].split;
        const ti_box chunk = ti_split_chunk(split, own);
        ti_boxes items = { 0 };
        add(&items, &wanted[t - 1]);
        for (size_t later = t; later < s->count; later++) {
            need_ahead(s, t - 1, later, &out[later].ahead, &chunk, &items);
        }
        ti_items_take_rows(split, &s->task[t - 1].shape->range, &items);
        ti_boxes_normalize(&items);
        add(&at->early, early_of(s, t - 1, own));
        for (size_t i = 0; i < at->early.count; i++) {
            for (size_t k = 0; k < items.count; k++) {
                ti_boxes_push_common(&at->early.data[i], &items.data[k], &at->ahead);
            }
        }
        TI_ASSERT(ti_boxes_volume(at->ahead.data, at->ahead.count) <= ti_boxes_volume(at->early.data, at->early.count));
        ti_vec_fini(&items);
    }
}

/* ---- all of it */

static bool can_cut(const ti_shape *shape)
{
    return !shape->whole_chunk && !ti_items_are_diagonal(shape);
}

static ti_stage_verdict find_all_early(search *s)
{
    for (size_t t = 0; t < s->count; t++) {
        if (!can_cut(s->task[t].shape)) {
            return TI_STAGE_WHOLE;
        }
    }
    for (int64_t c = 0; c < s->chunks; c++) {
        for (size_t t = 0; t < s->count; t++) {
            if (!find_early(s, t, c)) {
                return TI_STAGE_SHORT;
            }
        }
    }
    return TI_STAGE_FITS;
}

static void begin(search *s)
{
    s->early = ti_alloc_zero(s->count * (size_t)s->chunks * sizeof(*s->early));
    s->late = TI_NEW_ARRAY(ti_boxes *, s->count);
    for (size_t t = 0; t < s->count; t++) {
        TI_ASSERT(s->task[t].split->chunks == s->chunks && s->task[t].split->per_node == 1);
        s->late[t] = TI_NEW_ARRAY(ti_boxes, s->task[t].shape->accesses);
    }
}

static void end(search *s)
{
    for (size_t i = 0; i < s->count * (size_t)s->chunks; i++) {
        ti_vec_fini(&s->early[i]);
    }
    ti_free(s->early, s->count * (size_t)s->chunks * sizeof(*s->early));
    for (size_t t = 0; t < s->count; t++) {
        const uint32_t accesses = s->task[t].shape->accesses;
        for (uint32_t i = 0; i < accesses; i++) {
            ti_vec_fini(&s->late[t][i]);
        }
        ti_free(s->late[t], accesses * sizeof(ti_boxes));
    }
    ti_free(s->late, s->count * sizeof(*s->late));
    ti_vec_fini(&s->image);
    ti_vec_fini(&s->part);
    ti_vec_fini(&s->blocked);
}

void ti_window_alone_drop(ti_alone *of, size_t count)
{
    for (size_t t = 0; t < count; t++) {
        ti_spread_unref(of[t].spread);
        ti_vec_fini(&of[t].early);
        ti_vec_fini(&of[t].ahead);
    }
}

ti_stage_verdict ti_window_alone(const ti_windowed *task, size_t count, ti_spread *const *halo,
                                 const ti_befores *before, int64_t own, ti_alone *out)
{
    search s = { .task = task, .count = count, .chunks = task[0].split->chunks, .halo = halo, .before = before };
    ti_boxes *wanted = TI_NEW_ARRAY(ti_boxes, count);
    ti_spread **spread = TI_NEW_ARRAY(ti_spread *, count);
    TI_ASSERT(0 <= own && own < s.chunks);
    begin(&s);
    ti_stage_verdict verdict = find_all_early(&s);
    const ti_closure_less less = { s.early, s.chunks, own, wanted };
    if (verdict == TI_STAGE_FITS && ti_window_closure_less(task, count, &less, spread) != TI_WINDOW_FITS) {
        verdict = TI_STAGE_SCATTERED;
    }
    for (size_t t = 0; t < count; t++) {
        out[t] = (ti_alone){ .spread = spread[t] };
    }
    if (verdict == TI_STAGE_FITS) {
        find_ahead(&s, own, wanted, out);
    }
    end(&s);
    for (size_t t = 0; t < count; t++) {
        ti_vec_fini(&wanted[t]);
    }
    ti_free(wanted, count * sizeof(*wanted));
    ti_free(spread, count * sizeof(ti_spread *));
    return verdict;
}
