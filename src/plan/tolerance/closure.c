/* Closures of a window: see closure.h. */
#include "plan/tolerance/closure.h"

#include "base/check.h"
#include "plan/tolerance/items.h"

enum { MAX_PLACES = 64, MAX_WORK = 3 }; /* boxes of a node's items of a task; items for each of its chunk */

typedef struct search {
    const ti_windowed *task;
    size_t count;
    const ti_closure_less *less; /* or NULL */
    ti_boxes *items;             /* of each task, on the node at hand */
    ti_boxes image, part;
} search;

/* ---- one node */

/* The items of task `w` that made any of `left`, elements of a buffer, join those that the node executes; then `left`
 * loses what the task made. */
static void find_makers(search *s, size_t w, const ti_buffer_info *buffer, ti_boxes *left)
{
    const ti_shape *writer = s->task[w].shape;
    for (uint32_t i = 0; i < writer->accesses; i++) {
        const ti_access *to = &writer->access[i];
        ti_vec_clear(&s->part);
        for (uint32_t f = 0; to->buffer == buffer && ti_access_writes(to) && f < writer->footprint[i].boxes; f++) {
            for (size_t k = 0; k < left->count; k++) {
                ti_boxes_push_common(&left->data[k], &writer->footprint[i].box[f], &s->part);
            }
        }
        for (size_t k = 0; k < s->part.count; k++) {
            ti_items_touching(writer, to, s->task[w].split->gran, &writer->range, &s->part.data[k], &s->items[w]);
        }
    }
    ti_items_take_rows(s->task[w].split, &writer->range, &s->items[w]);
    for (uint32_t i = 0; i < writer->accesses; i++) {
        const ti_access *to = &writer->access[i];
        for (uint32_t f = 0; to->buffer == buffer && ti_access_writes(to) && f < writer->footprint[i].boxes; f++) {
            ti_boxes_subtract(left, &writer->footprint[i].box[f]);
        }
    }
}

/* What the node's items of task `r` read was made by tasks before it, the latest one that wrote it. */
static void find_sources(search *s, size_t r)
{
    const ti_shape *reader = s->task[r].shape;
    for (uint32_t i = 0; i < reader->accesses; i++) {
        const ti_access *from = &reader->access[i];
        ti_vec_clear(&s->image);
        for (size_t k = 0; ti_access_reads(from) && k < s->items[r].count; k++) {
            ti_access_image(from, &s->items[r].data[k], &s->image);
        }
        ti_boxes_normalize(&s->image);
        for (size_t w = r; w > 0 && s->image.count; w--) {
            find_makers(s, w - 1, from->buffer, &s->image);
        }
    }
}

/* Chunk `q` has some of `box`, which chunk c needs of task t: what it computes alone comes from there. */
static void leave_to(const search *s, size_t t, int64_t c, int64_t q, const ti_box *box)
{
    TI_ASSERT(0 <= q && q < s->less->chunks && c < s->less->chunks);
    const ti_boxes *early = &s->less->early[t * (size_t)s->less->chunks + (size_t)q];
    for (size_t i = 0; i < early->count; i++) {
        if (q == s->less->own && q != c) {
            ti_boxes_push_common(box, &early->data[i], &s->less->wanted[t]);
        }
        ti_boxes_subtract(&s->items[t], &early->data[i]);
    }
}

/* What other nodes compute alone is not for this one to execute. */
static void leave_to_others(search *s, size_t t, int64_t c)
{
    const ti_split *split = s->task[t].split;
    ti_vec_clear(&s->part);
    for (size_t i = 0; i < s->items[t].count; i++) {
        ti_vec_push(&s->part, s->items[t].data[i]);
    }
    for (size_t i = 0; i < s->part.count; i++) {
        const ti_box box = s->part.data[i];
        int64_t a[3], b[3], p[3];
        for (int d = 0; d < 3; d++) {
            a[d] = ti_split_part(split, d, box.min[d]);
            b[d] = ti_split_part(split, d, box.max[d] - 1);
        }
        for (p[0] = a[0]; p[0] <= b[0]; p[0]++) {
            for (p[1] = a[1]; p[1] <= b[1]; p[1]++) {
                for (p[2] = a[2]; p[2] <= b[2]; p[2]++) {
                    leave_to(s, t, c, (p[0] * split->parts[1] + p[1]) * split->parts[2] + p[2], &box);
                }
            }
        }
    }
}

/* The node's chunk and what it needs besides become its items of the task; nothing, if it has no chunk. */
static ti_window_verdict settle(search *s, size_t at, int64_t c)
{
    const ti_windowed *t = &s->task[at];
    const ti_shape *shape = t->shape;
    ti_boxes *items = &s->items[at];
    ti_box own = ti_split_chunk(t->split, c);
    if (ti_box_is_empty(&own)) {
        ti_vec_clear(items);
        return TI_WINDOW_FITS;
    }
    ti_boxes_normalize(items);
    if (s->less) {
        leave_to_others(s, at, c);
    }
    ti_vec_push(items, own);
    ti_boxes_normalize(items);
    int64_t all = ti_box_volume(&shape->range), mine = ti_box_volume(&own);
    int64_t volume = ti_boxes_volume(items->data, items->count);
    TI_ASSERT(mine <= volume && volume <= all);
    if (volume > mine && (volume == all || volume > MAX_WORK * mine)) {
        return TI_WINDOW_TOO_WIDE;
    }
    bool one = shape->whole_chunk;
    return items->count > (one ? 1 : MAX_PLACES) ? TI_WINDOW_SCATTERED : TI_WINDOW_FITS;
}

/* Chunk c of every task that has so many, on the same node. */
static ti_window_verdict close_chunk(search *s, int64_t c)
{
    ti_window_verdict verdict = TI_WINDOW_FITS;
    for (size_t t = 0; t < s->count; t++) {
        ti_vec_clear(&s->items[t]);
    }
    for (size_t t = s->count; t > 0 && verdict == TI_WINDOW_FITS; t--) {
        if (c < s->task[t - 1].split->chunks) {
            verdict = settle(s, t - 1, c);
            find_sources(s, t - 1);
        }
    }
    return verdict;
}

/* ---- all of them */

/* The items of every chunk, by task. */
typedef struct found {
    ti_boxes *chunk;
    bool beyond; /* any has more than itself */
} found;

static void keep(const search *s, int64_t c, found *to)
{
    for (size_t t = 0; t < s->count; t++) {
        if (c < s->task[t].split->chunks) {
            ti_box own = ti_split_chunk(s->task[t].split, c);
            ti_boxes *kept = &to[t].chunk[c];
            TI_ASSERT(kept->count == 0);
            for (size_t i = 0; i < s->items[t].count; i++) {
                ti_vec_push(kept, s->items[t].data[i]);
            }
            to[t].beyond |= kept->count > 1 || (kept->count == 1 && !ti_box_equal(&kept->data[0], &own));
        }
    }
}

static void end_search(search *s)
{
    for (size_t t = 0; t < s->count; t++) {
        ti_vec_fini(&s->items[t]);
    }
    ti_free(s->items, s->count * sizeof(*s->items));
    ti_vec_fini(&s->image);
    ti_vec_fini(&s->part);
}

static void end_found(found *f, const ti_windowed *task)
{
    for (int64_t c = 0; c < task->split->chunks; c++) {
        ti_vec_fini(&f->chunk[c]);
    }
    ti_free(f->chunk, (size_t)task->split->chunks * sizeof(*f->chunk));
}

ti_window_verdict ti_window_closure(const ti_windowed *task, size_t count, ti_spread **spread)
{
    return ti_window_closure_less(task, count, NULL, spread);
}

ti_window_verdict ti_window_closure_less(const ti_windowed *task, size_t count, const ti_closure_less *less,
                                         ti_spread **spread)
{
    search s = { .task = task, .count = count, .less = less, .items = TI_NEW_ARRAY(ti_boxes, count) };
    found *all = TI_NEW_ARRAY(found, count);
    ti_window_verdict verdict = TI_WINDOW_FITS;
    int64_t chunks = 0;
    for (size_t t = 0; t < count; t++) {
        TI_ASSERT(task[t].split->per_node == 1 && (!less || task[t].split->chunks == less->chunks));
        all[t].chunk = TI_NEW_ARRAY(ti_boxes, (size_t)task[t].split->chunks);
        chunks = TI_MAX(chunks, task[t].split->chunks);
    }
    for (int64_t c = 0; c < chunks && verdict == TI_WINDOW_FITS; c++) {
        verdict = close_chunk(&s, c);
        keep(&s, c, all);
    }
    for (size_t t = 0; t < count; t++) {
        bool wanted = verdict == TI_WINDOW_FITS && all[t].beyond;
        spread[t] = wanted ? ti_spread_list(all[t].chunk, task[t].split->chunks) : NULL;
        end_found(&all[t], &task[t]);
    }
    ti_free(all, count * sizeof(*all));
    end_search(&s);
    return verdict;
}
