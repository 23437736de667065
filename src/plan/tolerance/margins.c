/* Margins of a window: see margins.h. */
#include "plan/tolerance/margins.h"

#include "base/check.h"

/* ---- which tasks */

static bool writes_by_components(const ti_access *a)
{
    for (uint32_t m = 0; m < a->mappers; m++) {
        for (int d = 0; d < a->mapper[m].dims; d++) {
            if (a->custom || ti_component_is_irregular(&a->mapper[m].c[d])) {
                return false;
            }
        }
    }
    return !a->custom;
}

ti_window_verdict ti_window_admits(const ti_shape *shape)
{
    if (!shape->pure) {
        return TI_WINDOW_NOT_PURE;
    }
    if (shape->place != TI_PLACE_SPLIT || shape->oversubscribe > 1 || shape->orders || ti_box_is_empty(&shape->range)) {
        return TI_WINDOW_NOT_SPLIT;
    }
    for (uint32_t i = 0; i < shape->accesses; i++) {
        if (shape->access[i].mode == TACIT_REDUCE) {
            return TI_WINDOW_REDUCES;
        }
        if (ti_access_writes(&shape->access[i]) && !writes_by_components(&shape->access[i])) {
            return TI_WINDOW_NO_INVERSE;
        }
    }
    return TI_WINDOW_FITS;
}

/* ---- who reads what of whom */

/* Whether anything of what task `w` writes by one access reaches a read of task `r`: tasks between them may have
 * overwritten it. */
static bool reaches(const ti_windowed *task, size_t w, const ti_footprint *written, size_t r, const ti_access *access,
                    const ti_footprint *read)
{
    ti_boxes left = { 0 };
    for (uint32_t i = 0; i < written->boxes; i++) {
        for (uint32_t k = 0; k < read->boxes; k++) {
            ti_boxes_push_common(&written->box[i], &read->box[k], &left);
        }
    }
    for (size_t t = w + 1; t < r; t++) {
        const ti_shape *between = task[t].shape;
        for (uint32_t i = 0; i < between->accesses; i++) {
            const ti_footprint *f = &between->footprint[i];
            bool hides = between->access[i].buffer == access->buffer && ti_access_writes(&between->access[i]);
            for (uint32_t b = 0; hides && b < f->boxes; b++) {
                ti_boxes_subtract(&left, &f->box[b]);
            }
        }
    }
    bool any = left.count > 0;
    ti_vec_fini(&left);
    return any;
}

/* ---- what a read asks of the margin of who wrote it */

/* A write and a read of the same dimension of a buffer. */
typedef struct flow {
    const ti_split *writes, *reads; /* splits */
    const tacit_component *to, *from;
    const ti_margin *reader; /* known */
    int64_t length;          /* of the buffer's dimension */
} flow;

/* Part `p` of the reader, with its margin, touches elements [lo,hi); they come from items of the writer, which its part
 * p must cover. */
static void ask_of_part(const flow *l, int64_t p, ti_margin *margin)
{
    const tacit_component *to = l->to, *from = l->from;
    int k = to->dim, d = from->dim;
    TI_ASSERT(to->mul > 0 && to->div > 0 && from->mul > 0 && from->div > 0 && p < l->reads->parts[d]);
    int64_t a = TI_MAX(ti_split_border(l->reads, d, p) - l->reader->lo[d], l->reads->lo[d]);
    int64_t b = TI_MIN(ti_split_border(l->reads, d, p + 1) + l->reader->hi[d], l->reads->hi[d]);
    int64_t lo = TI_MAX(ti_floor_div(a * from->mul, from->div) - from->lo, 0);
    int64_t hi = TI_MIN(ti_ceil_div(b * from->mul, from->div) + from->hi, l->length);
    int64_t first = ti_floor_div((lo + to->lo) * to->div, to->mul);
    int64_t end = ti_ceil_div((hi + to->lo) * to->div, to->mul);
    first = TI_MAX(first, l->writes->lo[k]);
    end = TI_MIN(end, l->writes->hi[k]);
    if (first < end) {
        margin->lo[k] = TI_MAX(margin->lo[k], ti_split_border(l->writes, k, p) - first);
        margin->hi[k] = TI_MAX(margin->hi[k], end - ti_split_border(l->writes, k, p + 1));
    }
}

/* Where chunks are the same and nothing is scaled, all parts ask for the same, but for those at the ends of the range,
 * which ask for less: any number of nodes is as good as one. */
static bool ask_of_all(const flow *l, ti_margin *margin)
{
    const tacit_component *to = l->to, *from = l->from;
    int k = to->dim;
    if (to->mul != to->div || from->mul != from->div || !ti_split_equal(l->writes, l->reads)) {
        return false;
    }
    margin->lo[k] = TI_MAX(margin->lo[k], l->reader->lo[k] + from->lo - to->lo);
    margin->hi[k] = TI_MAX(margin->hi[k], l->reader->hi[k] + from->hi + to->lo);
    return true;
}

/* Whether both have chunk number c on the same node, for the same part along every dimension. */
static bool same_grid(const ti_split *a, const ti_split *b)
{
    return a->parts[0] == b->parts[0] && a->parts[1] == b->parts[1] && a->parts[2] == b->parts[2] &&
           a->per_node == b->per_node;
}

static ti_window_verdict ask_along(const flow *l, ti_margin *margin)
{
    if (!ti_component_follows(l->to) || l->writes->parts[l->to->dim] == 1) {
        return TI_WINDOW_FITS; /* every node writes all along here */
    }
    if (!ti_component_follows(l->from)) {
        return TI_WINDOW_READS_ALL;
    }
    if (ti_component_is_irregular(l->from)) {
        return TI_WINDOW_GOES_AROUND;
    }
    if (!same_grid(l->writes, l->reads) || l->to->dim != l->from->dim) {
        return TI_WINDOW_SPLITS;
    }
    bool asked = ask_of_all(l, margin);
    for (int64_t p = 0; !asked && p < l->writes->parts[l->to->dim]; p++) {
        ask_of_part(l, p, margin);
    }
    return TI_WINDOW_FITS;
}

/* The margin of who writes grows to what the read, with the reader's margin, asks for. */
static ti_window_verdict ask(const ti_windowed *w, const ti_access *to, const ti_windowed *r, const ti_access *from,
                             const ti_margin *reader, ti_margin *margin)
{
    ti_window_verdict verdict = from->custom ? TI_WINDOW_CUSTOM : TI_WINDOW_FITS;
    for (uint32_t m = 0; m < to->mappers; m++) {
        for (uint32_t n = 0; n < from->mappers; n++) {
            for (int d = 0; d < to->buffer->dims && verdict == TI_WINDOW_FITS; d++) {
                const flow l = {
                    w->split, r->split, &to->mapper[m].c[d], &from->mapper[n].c[d], reader, to->buffer->extent.max[d]
                };
                verdict = ask_along(&l, margin);
            }
        }
    }
    return verdict;
}

/* ---- one task */

/* Of parts without a table only the last may be cut. */
static int64_t shortest_part(const ti_split *s, int d)
{
    int64_t shortest = s->hi[d] - ti_split_border(s, d, s->parts[d] - 1);
    for (int64_t p = 0; d == 0 && s->table && p < s->parts[d]; p++) {
        shortest = TI_MIN(shortest, s->table[p + 1] - s->table[p]);
    }
    shortest = s->parts[d] > 1 && !(d == 0 && s->table) ? TI_MIN(shortest, s->quot[d] * s->gran[d]) : shortest;
    TI_ASSERT(shortest > 0); /* no chunk is empty */
    return shortest;
}

/* Margins end where borders of chunks may lie, and where all mappers can be widened. False: one is longer than a
 * chunk. */
static bool round_up(const ti_windowed *t, ti_margin *margin)
{
    for (int d = 0; d < 3; d++) {
        int64_t unit = t->split->gran[d];
        for (uint32_t i = 0; i < t->shape->accesses; i++) {
            for (uint32_t m = 0; m < t->shape->access[i].mappers; m++) {
                ti_margin_unit(&t->shape->access[i].mapper[m], d, &unit);
            }
        }
        TI_ASSERT(unit > 0 && margin->lo[d] >= 0 && margin->hi[d] >= 0);
        margin->lo[d] = ti_ceil_div(margin->lo[d], unit) * unit;
        margin->hi[d] = ti_ceil_div(margin->hi[d], unit) * unit;
        if (TI_MAX(margin->lo[d], margin->hi[d]) > shortest_part(t->split, d)) {
            return false;
        }
    }
    return true;
}

/* Whether the margin is along a dimension that the mapper goes around: the chunk ends at the range, and what the mapper
 * touches of the other end would not. */
static bool goes_around(const ti_mapper *m, const ti_margin *margin)
{
    bool around = false;
    for (int d = 0; d < m->dims; d++) {
        int k = m->c[d].dim;
        around |= ti_component_is_irregular(&m->c[d]) && (margin->lo[k] || margin->hi[k]);
    }
    return around;
}

/* Whether what the task reads can be said of chunks with this margin. */
static ti_window_verdict can_widen(const ti_shape *shape, const ti_margin *margin)
{
    for (uint32_t i = 0; i < shape->accesses && !ti_margin_is_none(margin); i++) {
        if (shape->access[i].custom) {
            return TI_WINDOW_CUSTOM;
        }
        for (uint32_t m = 0; m < shape->access[i].mappers; m++) {
            if (goes_around(&shape->access[i].mapper[m], margin)) {
                return TI_WINDOW_GOES_AROUND;
            }
        }
    }
    return TI_WINDOW_FITS;
}

/* Task `w`, when all later ones have theirs. */
static ti_window_verdict find_margin(const ti_windowed *task, size_t count, size_t w, ti_margin *margin)
{
    const ti_shape *writer = task[w].shape;
    margin[w] = (ti_margin){ { 0 }, { 0 } };
    for (size_t r = w + 1; r < count; r++) {
        const ti_shape *reader = task[r].shape;
        for (uint32_t i = 0; i < writer->accesses; i++) {
            const ti_access *to = &writer->access[i];
            for (uint32_t k = 0; ti_access_writes(to) && k < reader->accesses; k++) {
                const ti_access *from = &reader->access[k];
                if (from->buffer != to->buffer || !ti_access_reads(from) ||
                    !reaches(task, w, &writer->footprint[i], r, from, &reader->footprint[k])) {
                    continue;
                }
                ti_window_verdict verdict = ask(&task[w], to, &task[r], from, &margin[r], &margin[w]);
                if (verdict != TI_WINDOW_FITS) {
                    return verdict;
                }
            }
        }
    }
    if (!round_up(&task[w], &margin[w])) {
        return TI_WINDOW_TOO_WIDE;
    }
    TI_ASSERT(w + 1 < count || ti_margin_is_none(&margin[w])); /* nothing comes after the last */
    return can_widen(writer, &margin[w]);
}

ti_window_verdict ti_window_margins(const ti_windowed *task, size_t count, ti_margin *margin)
{
    ti_window_verdict verdict = TI_WINDOW_FITS;
    TI_ASSERT(count > 0);
    for (size_t w = count; w > 0 && verdict == TI_WINDOW_FITS; w--) {
        verdict = find_margin(task, count, w - 1, margin);
    }
    return verdict;
}
