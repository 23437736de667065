/* Samples of a window: see samples.h. */
#include "plan/tolerance/samples.h"

#include "base/check.h"
#include "base/hash.h"

enum { ITEMS = 4 /* drawn of a chunk and task */, MAX_SIDES = 6 };

/* A strip of a chunk, along one dimension, that a neighbour executes too. */
typedef struct side {
    int dim;
    int64_t first, end;
} side;

static void find_part(const ti_split *s, int64_t chunk, int64_t part[3])
{
    TI_ASSERT(0 <= chunk && chunk < s->chunks);
    part[2] = chunk % s->parts[2];
    part[1] = chunk / s->parts[2] % s->parts[1];
    part[0] = chunk / s->parts[2] / s->parts[1];
}

static int find_sides(const ti_split *s, const ti_margin *m, const int64_t part[3], side out[MAX_SIDES])
{
    int sides = 0;
    for (int d = 0; d < 3; d++) {
        int64_t a = ti_split_border(s, d, part[d]), b = ti_split_border(s, d, part[d] + 1);
        if (part[d] > 0 && m->hi[d] > 0) {
            out[sides++] = (side){ d, a, TI_MIN(a + m->hi[d], b) };
        }
        if (part[d] + 1 < s->parts[d] && m->lo[d] > 0) {
            out[sides++] = (side){ d, TI_MAX(b - m->lo[d], a), b };
        }
    }
    return sides;
}

static int64_t draw(uint64_t *state, int64_t first, int64_t end)
{
    TI_ASSERT(first < end);
    *state = ti_hash_mix(*state, 1);
    return first + (int64_t)(*state % (uint64_t)(end - first));
}

/* An item of the chunk that others execute too; there are sides. */
static ti_box draw_item(const ti_split *s, const int64_t part[3], const side *sides, int count, uint64_t *state)
{
    const side *at = &sides[draw(state, 0, count)];
    ti_box item;
    for (int d = 0; d < 3; d++) {
        int64_t first = d == at->dim ? at->first : ti_split_border(s, d, part[d]);
        int64_t end = d == at->dim ? at->end : ti_split_border(s, d, part[d] + 1);
        item.min[d] = draw(state, first, end);
        item.max[d] = item.min[d] + 1;
    }
    return item;
}

/* How many chunks with their margins have the item of this part. No margin is longer than a chunk. */
static int32_t count_holders(const ti_split *s, const ti_margin *m, const int64_t part[3], const ti_box *item)
{
    int32_t holders = 1;
    for (int d = 0; d < 3; d++) {
        int32_t along = 0;
        for (int64_t p = TI_MAX(part[d] - 1, 0); p < TI_MIN(part[d] + 2, s->parts[d]); p++) {
            along += item->min[d] >= ti_split_border(s, d, p) - m->lo[d] &&
                     item->min[d] < ti_split_border(s, d, p + 1) + m->hi[d];
        }
        holders *= along;
    }
    TI_ASSERT(holders > 1); /* it has been drawn of what others execute, too */
    return holders;
}

/* Whether every item writes elements of its own, as far as any piece of a chunk can tell. */
static bool writes_apart(const ti_shape *shape, const ti_access *access)
{
    bool apart = ti_access_writes(access) && !access->custom && !access->in_parts;
    for (uint32_t m = 0; m < access->mappers && apart; m++) {
        bool follows[3] = { false, false, false };
        for (int d = 0; d < access->mapper[m].dims; d++) {
            const tacit_component *c = &access->mapper[m].c[d];
            follows[c->dim] |= ti_component_follows(c);
        }
        for (int d = 0; d < 3; d++) {
            apart &= follows[d] || shape->range.max[d] - shape->range.min[d] == 1;
        }
    }
    return apart;
}

/* One element of what the item writes by the access, if it writes any. */
static void sample_access(const ti_shape *shape, uint32_t access, const ti_box *item, ti_sample *sample,
                          ti_sample_list *out)
{
    ti_boxes image = { 0 };
    ti_access_image(&shape->access[access], item, &image);
    uint64_t state = sample->key = ti_hash_mix(sample->key, access);
    const ti_box *box = image.count ? &image.data[draw(&state, 0, (int64_t)image.count)] : NULL;
    if (box && !ti_box_is_empty(box)) {
        sample->access = access;
        for (int d = 0; d < 3; d++) {
            sample->item[d] = item->min[d];
            sample->element[d] = draw(&state, box->min[d], box->max[d]);
        }
        ti_vec_push(out, *sample);
    }
    ti_vec_fini(&image);
}

/* What the item writes; `others` execute it beside its owner, which this node is, or it is -1. */
static void sample_item(const ti_windowed *task, const ti_box *item, uint64_t key, int32_t others, ti_sample_list *out)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        if (writes_apart(task->shape, &task->shape->access[i])) {
            ti_sample sample = { .key = key, .others = others };
            sample_access(task->shape, i, item, &sample, out);
        }
    }
}

/* What of the samples of chunk `c` is this node's, whose chunk with its margin is `here`. */
static void sample_chunk(const ti_windowed *task, const ti_margin *margin, int64_t c, const ti_box *here, bool own,
                         uint64_t number, ti_sample_list *out)
{
    int64_t part[3];
    side sides[MAX_SIDES];
    find_part(task->split, c, part);
    int count = find_sides(task->split, margin, part, sides);
    for (int k = 0; k < ITEMS && count; k++) {
        uint64_t key = ti_hash_mix(ti_hash_mix(number, (uint64_t)c), (uint64_t)k), state = key;
        ti_box item = draw_item(task->split, part, sides, count, &state);
        if (ti_box_covers(here, &item)) {
            sample_item(task, &item, key, own ? count_holders(task->split, margin, part, &item) - 1 : -1, out);
        }
    }
}

/* Chunks that may execute items of another one, or the other way round, that one among them. */
typedef TI_VEC(int64_t) chunk_list;

static void find_near(const ti_split *s, const ti_spread *spread, int64_t chunk, chunk_list *out)
{
    int64_t part[3], p[3];
    find_part(s, chunk, part);
    for (int64_t c = 0; c < s->chunks && spread->start; c++) {
        ti_vec_push(out, c);
    }
    if (spread->start) {
        return;
    }
    for (p[0] = TI_MAX(part[0] - 1, 0); p[0] < TI_MIN(part[0] + 2, s->parts[0]); p[0]++) {
        for (p[1] = TI_MAX(part[1] - 1, 0); p[1] < TI_MIN(part[1] + 2, s->parts[1]); p[1]++) {
            for (p[2] = TI_MAX(part[2] - 1, 0); p[2] < TI_MIN(part[2] + 2, s->parts[2]); p[2]++) {
                ti_vec_push(out, (p[0] * s->parts[1] + p[1]) * s->parts[2] + p[2]);
            }
        }
    }
}

/* What others execute of chunk c, node by node: an item may be in several boxes. */
static void find_shared(const ti_split *s, const ti_spread *spread, int64_t c, ti_boxes *out)
{
    ti_box own = ti_split_chunk(s, c);
    ti_boxes items = { 0 };
    chunk_list near = { 0 };
    find_near(s, spread, c, &near);
    for (size_t i = 0; i < near.count; i++) {
        if (near.data[i] != c) {
            ti_spread_items(spread, s, near.data[i], &items);
        }
    }
    for (size_t i = 0; i < items.count; i++) {
        ti_boxes_push_common(&items.data[i], &own, out);
    }
    ti_vec_fini(&items);
    ti_vec_fini(&near);
}

static ti_box draw_from(const ti_boxes *boxes, uint64_t *state)
{
    const ti_box *box = &boxes->data[draw(state, 0, (int64_t)boxes->count)];
    ti_box item;
    for (int d = 0; d < 3; d++) {
        item.min[d] = draw(state, box->min[d], box->max[d]);
        item.max[d] = item.min[d] + 1;
    }
    return item;
}

static int32_t count_covering(const ti_boxes *boxes, const ti_box *item)
{
    int32_t count = 0;
    for (size_t i = 0; i < boxes->count; i++) {
        count += ti_box_covers(&boxes->data[i], item);
    }
    return count;
}

void ti_window_sample_spread(const ti_windowed *task, const ti_spread *spread, int64_t chunk, uint64_t number,
                             ti_sample_list *out)
{
    ti_boxes here = { 0 }, shared = { 0 };
    chunk_list near = { 0 };
    ti_spread_items(spread, task->split, chunk, &here);
    find_near(task->split, spread, chunk, &near);
    for (size_t i = 0; i < near.count; i++) {
        int64_t c = near.data[i];
        ti_box of = ti_split_chunk(task->split, c);
        ti_vec_clear(&shared);
        if (ti_boxes_meet(&here, &of)) {
            find_shared(task->split, spread, c, &shared);
        }
        for (int k = 0; k < ITEMS && shared.count; k++) {
            uint64_t key = ti_hash_mix(ti_hash_mix(number, (uint64_t)c), (uint64_t)k), state = key;
            ti_box item = draw_from(&shared, &state);
            TI_ASSERT(count_covering(&shared, &item) > 0);
            if (count_covering(&here, &item)) {
                sample_item(task, &item, key, c == chunk ? count_covering(&shared, &item) : -1, out);
            }
        }
    }
    ti_vec_fini(&here);
    ti_vec_fini(&shared);
    ti_vec_fini(&near);
}

void ti_window_sample(const ti_windowed *task, const ti_margin *margin, int64_t chunk, uint64_t number,
                      ti_sample_list *out)
{
    const ti_split *s = task->split;
    ti_box here = ti_split_chunk(s, chunk);
    int64_t part[3], p[3];
    here = ti_margin_enlarge(margin, &here, &task->shape->range);
    find_part(s, chunk, part);
    for (p[0] = TI_MAX(part[0] - 1, 0); p[0] < TI_MIN(part[0] + 2, s->parts[0]); p[0]++) {
        for (p[1] = TI_MAX(part[1] - 1, 0); p[1] < TI_MIN(part[1] + 2, s->parts[1]); p[1]++) {
            for (p[2] = TI_MAX(part[2] - 1, 0); p[2] < TI_MIN(part[2] + 2, s->parts[2]); p[2]++) {
                int64_t c = (p[0] * s->parts[1] + p[1]) * s->parts[2] + p[2];
                sample_chunk(task, margin, c, &here, c == chunk, number, out);
            }
        }
    }
}
