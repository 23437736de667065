/* Stages of a window: see stages.h. */
#include "plan/tolerance/stages.h"

#include "base/check.h"

static const ti_margin none = { { 0 }, { 0 } };

/* ---- two accesses to a buffer, by chunks of the same split */

/* By how much, along a dimension of the split, what chunks touch by one access reaches beyond what they write by the
 * other. */
typedef struct reach {
    int64_t lo, hi;
} reach;

static bool is_plain(const tacit_component *c)
{
    return c->mul == c->div && !ti_component_is_irregular(c);
}

/* The reach along dimension k of the split. False: it is not the same for all chunks. */
static bool reach_along(int k, const ti_mapper *writes, const ti_mapper *touches, reach *out)
{
    for (int d = 0; d < writes->dims; d++) {
        const tacit_component *to = &writes->c[d], *from = &touches->c[d];
        if (ti_component_follows(to) && to->dim == k) {
            *out = (reach){ from->lo - to->lo, from->hi + to->lo };
            return is_plain(to) && ti_component_follows(from) && from->dim == k && is_plain(from);
        }
    }
    return false;
}

/* Raise `value` to `to` + `by`. */
static void raise(int64_t *value, int64_t to, int64_t by)
{
    *value = TI_MAX(*value, to + by);
}

/* The depth of a reader, raised to that of what it reads plus the reach. False for a read of elements that are only
 * shifted: it may become a collective, for which all nodes wait. */
static bool follow(const ti_split *s, const ti_mapper *writes, const ti_margin *of, const ti_mapper *reads,
                   ti_margin *depth)
{
    for (int k = 0; k < 3; k++) {
        reach r;
        if (s->parts[k] == 1) {
            continue;
        }
        if (!reach_along(k, writes, reads, &r) || (r.lo + r.hi <= 0 && (r.lo || r.hi))) {
            return false;
        }
        raise(&depth->lo[k], of->lo[k], r.lo);
        raise(&depth->hi[k], of->hi[k], r.hi);
    }
    return true;
}

/* The depth of a task that overwrites, raised to that of what touched the buffer before it; -1: nothing there waits for
 * messages. */
static bool wait_for(const ti_split *s, const ti_mapper *writes, const ti_margin *of, const ti_mapper *touches,
                     ti_margin *depth)
{
    for (int k = 0; k < 3; k++) {
        reach r;
        if (s->parts[k] == 1 || (of->lo[k] < 0 && of->hi[k] < 0)) {
            continue;
        }
        if (!reach_along(k, writes, touches, &r)) {
            return false;
        }
        depth->lo[k] = of->lo[k] >= 0 ? TI_MAX(depth->lo[k], of->lo[k] + r.hi) : depth->lo[k];
        depth->hi[k] = of->hi[k] >= 0 ? TI_MAX(depth->hi[k], of->hi[k] + r.lo) : depth->hi[k];
    }
    return true;
}

/* ---- pairs of accesses */

typedef bool pair_fn(const ti_split *s, const ti_mapper *writes, const ti_margin *of, const ti_mapper *touches,
                     ti_margin *out);

/* For all mappers of two accesses to a buffer. */
static bool each_pair(const ti_split *s, const ti_access *writes, const ti_margin *of, const ti_access *touches,
                      pair_fn *fn, ti_margin *out)
{
    if (writes->custom || touches->custom) {
        return false;
    }
    for (uint32_t i = 0; i < writes->mappers; i++) {
        for (uint32_t k = 0; k < touches->mappers; k++) {
            if (!fn(s, &writes->mapper[i], of, &touches->mapper[k], out)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- depths, forwards */

typedef struct search {
    const ti_windowed *task;
    size_t count;
    const ti_margin *halo;
    const ti_split *split; /* of all of them */
    ti_lies_fn *lies;
    void *user;
    ti_stage *stage;
    ti_lyings lying;
} search;

/* Some of what the reader reads was written before the window. */
static ti_stage_verdict follow_before(search *s, size_t r, const ti_access *from, const ti_boxes *boxes)
{
    ti_margin *depth = &s->stage[r].depth;
    ti_vec_clear(&s->lying);
    for (size_t i = 0; i < boxes->count; i++) {
        if (!s->lies(s->user, &s->task[r], from, &boxes->data[i], &s->lying)) {
            return TI_STAGE_BEFORE;
        }
    }
    for (size_t i = 0; i < s->lying.count; i++) {
        const ti_lying *l = &s->lying.data[i];
        for (uint32_t m = 0; m < from->mappers; m++) {
            if (from->custom) {
                return TI_STAGE_CUSTOM;
            }
            if (!ti_split_equal(l->split, s->split) || !follow(s->split, l->mapper, &none, &from->mapper[m], depth)) {
                return TI_STAGE_BEFORE;
            }
        }
    }
    return TI_STAGE_FITS;
}

/* Whether two tasks have a part of a buffer in common, by these accesses. */
static bool meet(const ti_footprint *a, const ti_boxes *b)
{
    bool any = false;
    for (uint32_t i = 0; i < a->boxes; i++) {
        any |= ti_boxes_meet(b, &a->box[i]);
    }
    return any;
}

static bool writes(const ti_access *a, const ti_buffer_info *buffer)
{
    return a->buffer == buffer && ti_access_writes(a);
}

/* Of what task `r` reads by one access, `left` is written by task `w` or before it: which then goes out of `left`. */
static bool find_source(search *s, size_t r, const ti_access *from, size_t w, ti_boxes *left)
{
    const ti_shape *writer = s->task[w].shape;
    for (uint32_t i = 0; i < writer->accesses; i++) {
        const ti_access *to = &writer->access[i];
        if (writes(to, from->buffer) && meet(&writer->footprint[i], left) &&
            !each_pair(s->split, to, &s->stage[w].depth, from, follow, &s->stage[r].depth)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < writer->accesses; i++) {
        for (uint32_t b = 0; writes(&writer->access[i], from->buffer) && b < writer->footprint[i].boxes; b++) {
            ti_boxes_subtract(left, &writer->footprint[i].box[b]);
        }
    }
    return true;
}

/* What the task reads by one access: of tasks of the window, from the last on, and of before. */
static ti_stage_verdict find_read(search *s, size_t r, uint32_t access)
{
    const ti_shape *reader = s->task[r].shape;
    const ti_access *from = &reader->access[access];
    ti_boxes left = { 0 };
    ti_stage_verdict verdict = TI_STAGE_FITS;
    for (uint32_t i = 0; i < reader->footprint[access].boxes; i++) {
        ti_vec_push(&left, reader->footprint[access].box[i]);
    }
    for (size_t w = r; w > 0 && verdict == TI_STAGE_FITS && left.count; w--) {
        verdict = find_source(s, r, from, w - 1, &left) ? TI_STAGE_FITS
                  : from->custom                        ? TI_STAGE_CUSTOM
                                                        : TI_STAGE_SPLITS;
    }
    if (verdict == TI_STAGE_FITS && left.count) {
        verdict = follow_before(s, r, from, &left);
    }
    ti_vec_fini(&left);
    return verdict;
}

/* How deep items of the task wait for messages; -1: along this side none do. Items of its margin always wait, even
 * where no item of the chunk does, if the task waits at all. */
static ti_margin late_of(const search *s, size_t t)
{
    ti_margin late = s->stage[t].depth;
    bool waits = !ti_margin_is_none(&late);
    for (int d = 0; d < 3; d++) {
        bool lo = s->stage[t].depth.lo[d] || (s->halo[t].lo[d] && waits);
        bool hi = s->stage[t].depth.hi[d] || (s->halo[t].hi[d] && waits);
        late.lo[d] = lo ? late.lo[d] : -1;
        late.hi[d] = hi ? late.hi[d] : -1;
    }
    return late;
}

/* What the task overwrites: whatever touches it before. */
static bool find_write(search *s, size_t t, uint32_t access)
{
    const ti_shape *writer = s->task[t].shape;
    const ti_access *to = &writer->access[access];
    ti_boxes boxes = { .data = (ti_box *)(uintptr_t)writer->footprint[access].box,
                       .count = writer->footprint[access].boxes };
    for (size_t e = 0; e < t; e++) {
        const ti_shape *earlier = s->task[e].shape;
        const ti_margin late = late_of(s, e);
        for (uint32_t i = 0; i < earlier->accesses; i++) {
            if (earlier->access[i].buffer == to->buffer && meet(&earlier->footprint[i], &boxes) &&
                !each_pair(s->split, to, &late, &earlier->access[i], wait_for, &s->stage[t].depth)) {
                return false;
            }
        }
    }
    return true;
}

static void round_up(const ti_split *split, ti_margin *margin)
{
    for (int d = 0; d < 3; d++) {
        TI_ASSERT(split->gran[d] > 0 && margin->lo[d] >= 0 && margin->hi[d] >= 0);
        margin->lo[d] = ti_ceil_div(margin->lo[d], split->gran[d]) * split->gran[d];
        margin->hi[d] = ti_ceil_div(margin->hi[d], split->gran[d]) * split->gran[d];
    }
}

static ti_stage_verdict find_depth(search *s, size_t t)
{
    const ti_shape *shape = s->task[t].shape;
    ti_stage_verdict verdict = TI_STAGE_FITS;
    for (uint32_t i = 0; i < shape->accesses && verdict == TI_STAGE_FITS; i++) {
        if (ti_access_reads(&shape->access[i])) {
            verdict = find_read(s, t, i);
        }
    }
    for (uint32_t i = 0; i < shape->accesses && verdict == TI_STAGE_FITS; i++) {
        if (ti_access_writes(&shape->access[i]) && !find_write(s, t, i)) {
            verdict = TI_STAGE_SPLITS;
        }
    }
    round_up(s->split, &s->stage[t].depth);
    return verdict;
}

/* ---- what is done ahead, backwards: it needs nothing but what is done ahead, and waits for nothing else */

static bool need_ahead(const ti_split *s, const ti_mapper *writes, const ti_margin *of, const ti_mapper *reads,
                       ti_margin *ahead)
{
    for (int k = 0; k < 3; k++) {
        reach r;
        if (s->parts[k] > 1 && (of->lo[k] || of->hi[k]) && reach_along(k, writes, reads, &r)) {
            ahead->lo[k] = of->lo[k] ? TI_MAX(ahead->lo[k], of->lo[k] + r.hi) : ahead->lo[k];
            ahead->hi[k] = of->hi[k] ? TI_MAX(ahead->hi[k], of->hi[k] + r.lo) : ahead->hi[k];
        }
    }
    return true;
}

static bool clear_ahead(const ti_split *s, const ti_mapper *writes, const ti_margin *of, const ti_mapper *touches,
                        ti_margin *ahead)
{
    for (int k = 0; k < 3; k++) {
        reach r;
        if (s->parts[k] > 1 && (of->lo[k] || of->hi[k]) && reach_along(k, writes, touches, &r)) {
            ahead->lo[k] = of->lo[k] ? TI_MAX(ahead->lo[k], of->lo[k] + r.lo) : ahead->lo[k];
            ahead->hi[k] = of->hi[k] ? TI_MAX(ahead->hi[k], of->hi[k] + r.hi) : ahead->hi[k];
        }
    }
    return true;
}

static void find_ahead(const search *s, size_t t, const ti_margin *halo)
{
    const ti_shape *shape = s->task[t].shape;
    ti_margin *ahead = &s->stage[t].ahead;
    for (int d = 0; d < 3; d++) { /* what the neighbour on the other side needs */
        ahead->lo[d] = halo->hi[d];
        ahead->hi[d] = halo->lo[d];
    }
    for (size_t l = t + 1; l < s->count; l++) {
        const ti_shape *later = s->task[l].shape;
        for (uint32_t i = 0; i < shape->accesses; i++) {
            for (uint32_t k = 0; k < later->accesses; k++) {
                const ti_access *mine = &shape->access[i], *other = &later->access[k];
                if (mine->buffer != other->buffer) {
                    continue;
                }
                if (ti_access_writes(mine) && ti_access_reads(other)) {
                    each_pair(s->split, mine, &s->stage[l].ahead, other, need_ahead, ahead);
                }
                if (ti_access_writes(other)) {
                    each_pair(s->split, other, &s->stage[l].ahead, mine, clear_ahead, ahead);
                }
            }
        }
    }
    round_up(s->split, ahead);
}

/* ---- all of it */

/* Whether two dimensions of a buffer follow one of items: what items touch is no box then. */
static bool is_diagonal(const ti_mapper *m)
{
    bool follows[3] = { false, false, false }, diagonal = false;
    for (int d = 0; d < m->dims; d++) {
        const tacit_component *c = &m->c[d];
        diagonal |= ti_component_follows(c) && follows[c->dim];
        follows[c->dim] |= ti_component_follows(c);
    }
    return diagonal;
}

static bool can_cut(const ti_shape *shape)
{
    bool can = !shape->whole_chunk;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        for (uint32_t m = 0; !shape->access[i].custom && m < shape->access[i].mappers; m++) {
            can &= !is_diagonal(&shape->access[i].mapper[m]);
        }
    }
    return can;
}

static int64_t shortest_part(const ti_split *s, int d)
{
    int64_t shortest = INT64_MAX;
    for (int64_t p = 0; d == 0 && s->table && p < s->parts[d]; p++) {
        shortest = TI_MIN(shortest, s->table[p + 1] - s->table[p]);
    }
    return d == 0 && s->table ? shortest
                              : TI_MIN(s->quot[d] * s->gran[d], s->hi[d] - ti_split_border(s, d, s->parts[d] - 1));
}

static bool are_long_enough(const search *s, const ti_margin *halo)
{
    for (int d = 0; d < 3; d++) {
        for (size_t t = 0; t < s->count && s->split->parts[d] > 1; t++) {
            const ti_margin *depth = &s->stage[t].depth;
            int64_t deep = TI_MAX(depth->lo[d], depth->hi[d]), wide = TI_MAX(halo[t].lo[d], halo[t].hi[d]);
            TI_ASSERT(deep >= 0 && wide >= 0);
            if (TI_MAX(deep, wide) + deep > shortest_part(s->split, d)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether what chunks need of others lies along several dimensions. */
static bool borders_along_several(const search *s)
{
    int along = 0;
    for (int d = 0; d < 3; d++) {
        bool any = false;
        for (size_t t = 0; t < s->count; t++) {
            any |= s->stage[t].depth.lo[d] || s->stage[t].depth.hi[d];
        }
        along += any;
    }
    return along > 1;
}

static ti_stage_verdict find_depths(search *s, const ti_margin *halo)
{
    for (size_t t = 0; t < s->count; t++) {
        s->stage[t] = (ti_stage){ none, none, none, false };
        if (!ti_split_equal(s->task[t].split, s->split)) {
            return TI_STAGE_SPLITS;
        }
        if (!can_cut(s->task[t].shape)) {
            return TI_STAGE_WHOLE;
        }
        ti_stage_verdict verdict = find_depth(s, t);
        if (verdict != TI_STAGE_FITS) {
            return verdict;
        }
    }
    return are_long_enough(s, halo) ? TI_STAGE_FITS : TI_STAGE_SHORT;
}

ti_stage_verdict ti_window_stages(const ti_windowed *task, size_t count, const ti_margin *halo, ti_lies_fn *lies,
                                  void *user, ti_stage *stage)
{
    TI_ASSERT(count > 0);
    search s = { task, count, halo, task[0].split, lies, user, stage, { 0 } };
    ti_stage_verdict verdict = find_depths(&s, halo);
    ti_vec_fini(&s.lying);
    bool around = verdict == TI_STAGE_FITS && borders_along_several(&s);
    for (size_t t = count; t > 0 && verdict == TI_STAGE_FITS; t--) {
        ti_stage *at = &stage[t - 1];
        find_ahead(&s, t - 1, &halo[t - 1]);
        at->margin = halo[t - 1];
        at->around = around && !ti_margin_is_none(&at->margin);
        for (int d = 0; d < 3 && !around; d++) { /* what lies further out, neighbours compute alone */
            at->margin.lo[d] = TI_MIN(halo[t - 1].lo[d], at->depth.hi[d]);
            at->margin.hi[d] = TI_MIN(halo[t - 1].hi[d], at->depth.lo[d]);
        }
    }
    return verdict;
}

ti_box ti_stage_early(const ti_stage *stage, const ti_split *split, const ti_box *chunk)
{
    const ti_box early = ti_split_inside(split, &stage->depth, chunk);
    TI_ASSERT(ti_box_is_empty(&early) || ti_box_covers(chunk, &early));
    return early;
}
