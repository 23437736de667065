/* Spreads: see spread.h. */
#include "grid/spread.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <string.h>

/* ---- values */

static size_t start_size(const ti_spread *s)
{
    return s->start ? (size_t)(s->chunks + 1) * sizeof(size_t) : 0;
}

static size_t box_size(const ti_spread *s)
{
    return s->start ? s->start[s->chunks] * sizeof(ti_box) : 0;
}

ti_spread *ti_spread_list(const ti_boxes *chunk, int64_t chunks)
{
    ti_spread *s = TI_NEW(ti_spread);
    TI_ASSERT(chunks > 0);
    s->refs = 1;
    s->chunks = chunks;
    s->start = TI_NEW_ARRAY(size_t, (size_t)chunks + 1);
    for (int64_t c = 0; c < chunks; c++) {
        TI_ASSERT(ti_boxes_are_normal(&chunk[c]));
        s->start[c + 1] = s->start[c] + chunk[c].count;
    }
    s->box = ti_alloc(box_size(s));
    for (int64_t c = 0; c < chunks; c++) {
        for (size_t i = 0; i < chunk[c].count; i++) {
            s->box[s->start[c] + i] = chunk[c].data[i];
        }
    }
    s->hash = ti_hash_mix(ti_hash_bytes(s->box, box_size(s)), ti_hash_bytes(s->start, start_size(s)));
    return s;
}

ti_spread *ti_spread_around(const ti_margin *margin, const ti_margin *depth)
{
    ti_spread *s = TI_NEW(ti_spread);
    s->refs = 1;
    s->margin = *margin;
    s->depth = *depth;
    s->hash = ti_hash_mix(ti_hash_bytes(margin, sizeof(*margin)), ti_hash_bytes(depth, sizeof(*depth)));
    return s;
}

void ti_spread_unref(ti_spread *s)
{
    TI_ASSERT(!s || s->refs > 0);
    if (s && --s->refs == 0) {
        ti_free(s->box, box_size(s));
        ti_free(s->start, start_size(s));
        TI_DELETE(s);
    }
}

static bool same_list(const ti_spread *a, const ti_spread *b)
{
    if (!a->start || !b->start) {
        return !a->start && !b->start;
    }
    return a->chunks == b->chunks && memcmp(a->start, b->start, start_size(a)) == 0 &&
           (box_size(a) == 0 || memcmp(a->box, b->box, box_size(a)) == 0);
}

bool ti_spread_equal(const ti_spread *a, const ti_spread *b)
{
    return a == b || (a && b && a->hash == b->hash && same_list(a, b) && ti_margin_equal(&a->margin, &b->margin) &&
                      ti_margin_equal(&a->depth, &b->depth));
}

/* ---- items */

/* Chunks at the end of the range have no neighbour there. */
ti_box ti_split_inside(const ti_split *split, const ti_margin *depth, const ti_box *chunk)
{
    ti_box inside = *chunk;
    for (int d = 0; d < 3; d++) {
        inside.min[d] += chunk->min[d] > split->lo[d] ? depth->lo[d] : 0;
        inside.max[d] -= chunk->max[d] < split->hi[d] ? depth->hi[d] : 0;
        inside.max[d] = TI_MAX(inside.max[d], inside.min[d]);
    }
    return inside;
}

/* What chunk `c`, a neighbour of another one or that itself, has far inside is not that one's to execute. */
static void take_inside(const ti_spread *s, const ti_split *split, int64_t c, ti_boxes *items)
{
    ti_box chunk = ti_split_chunk(split, c), inside = ti_split_inside(split, &s->depth, &chunk);
    if (!ti_box_is_empty(&inside)) {
        ti_boxes_subtract(items, &inside);
    }
}

static void add_around(const ti_spread *s, const ti_split *split, int64_t c, ti_boxes *out)
{
    const int64_t *parts = split->parts;
    const int64_t part[3] = { c / parts[2] / parts[1], c / parts[2] % parts[1], c % parts[2] };
    ti_box own = ti_split_chunk(split, c), range = ti_split_range(split);
    ti_boxes items = { 0 };
    int64_t p[3];
    ti_vec_push(&items, ti_margin_enlarge(&s->margin, &own, &range));
    ti_boxes_subtract(&items, &own);
    for (p[0] = TI_MAX(part[0] - 1, 0); p[0] < TI_MIN(part[0] + 2, parts[0]); p[0]++) {
        for (p[1] = TI_MAX(part[1] - 1, 0); p[1] < TI_MIN(part[1] + 2, parts[1]); p[1]++) {
            for (p[2] = TI_MAX(part[2] - 1, 0); p[2] < TI_MIN(part[2] + 2, parts[2]); p[2]++) {
                take_inside(s, split, (p[0] * parts[1] + p[1]) * parts[2] + p[2], &items);
            }
        }
    }
    ti_vec_push(&items, own);
    ti_boxes_normalize(&items);
    for (size_t i = 0; i < items.count; i++) {
        ti_vec_push(out, items.data[i]);
    }
    ti_vec_fini(&items);
}

void ti_spread_items(const ti_spread *s, const ti_split *split, int64_t c, ti_boxes *out)
{
    TI_ASSERT(c >= 0 && c < split->chunks && (!s->start || s->chunks == split->chunks));
    if (!s->start) {
        add_around(s, split, c, out);
        return;
    }
    for (size_t i = s->start[c]; i < s->start[c + 1]; i++) {
        ti_vec_push(out, s->box[i]);
    }
}
