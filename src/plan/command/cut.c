/* The command graph, overlap in windows of pure tasks: see pure.h. What waits for messages is executed by itself, so
 * that the rest need not wait (the sets L2 and L3 of doc/internals.md, "Windows of pure tasks", of this node).
 *
 * The chunk of a task is cut into pieces that are late (late.c) and pieces that are not, if the latter are most of it.
 * The trackers of the instruction graph see what depends on what, so cuts change nothing else, and need not be the same
 * on all nodes. In windows in stages they are the same, and must be made. What is found is kept with the shape, since a
 * loop of windows finds it again; pieces that others wait for, in this window or the next one, come first. Scheduler
 * thread. */
#include "plan/command/impl.h"
#include "plan/tolerance/items.h"

enum { MAX_PIECES = 8, MAX_LATE = 64 }; /* of a chunk; boxes of which more are not worth the search */

/* The task writes all of these items, and `blocked` of them late. */
static void write_late(ti_command_graph *graph, const ti_task *task, const ti_boxes *items, const ti_boxes *blocked)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        ti_boxes written = { 0 }, late = { 0 };
        if (!ti_access_writes(a)) {
            continue;
        }
        for (size_t k = 0; k < items->count; k++) {
            ti_access_image(a, &items->data[k], &written);
        }
        ti_command_take_late(graph, a->buffer, &written, &late);
        for (size_t k = 0; k < blocked->count; k++) {
            ti_access_image(a, &blocked->data[k], &late);
        }
        ti_boxes_normalize(&late);
        ti_command_note_late(graph, a->buffer, late.data, (uint32_t)late.count);
        ti_vec_fini(&written);
        ti_vec_fini(&late);
    }
}

/* In a chunk where a custom mapper has to be asked, so many pieces along a dimension are told from each other at most:
 * what cannot be told waits. */
enum { MAX_STEPS = 64 };

static void coarsen(const ti_split *s, const ti_box *chunk, int64_t gran[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t granules = ti_ceil_div(chunk->max[d] - chunk->min[d], s->gran[d]);
        gran[d] = s->gran[d] * ti_ceil_div(granules, MAX_STEPS);
    }
}

/* Append the items of the chunk that read something late. */
static void find_blocked(ti_command_graph *graph, const ti_task *task, const ti_split *split, const ti_box *chunk,
                         ti_boxes *out)
{
    const ti_command_pure *p = &graph->pure;
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        int64_t coarse[3];
        coarsen(split, chunk, coarse);
        for (size_t k = 0; ti_access_reads(a) && k < p->late.count; k++) {
            if (p->late.data[k].buffer == a->buffer) {
                ti_items_touching(task->shape, a, a->custom ? coarse : split->gran, chunk, &p->late.data[k].box, out);
            }
        }
    }
    ti_items_take_rows(split, &task->shape->range, out);
}

static bool is_worth_it(const ti_task *task, const ti_boxes *items, const ti_boxes *inner, const ti_boxes *blocked)
{
    const ti_shape *shape = task->shape;
    size_t most = items->count - 1 + MAX_PIECES;
    return inner->count && blocked->count && inner->count + blocked->count <= most && !shape->whole_chunk &&
           ti_window_admits(shape) == TI_WINDOW_FITS && !ti_items_are_diagonal(shape) &&
           4 * ti_boxes_volume(inner->data, inner->count) >= 3 * ti_boxes_volume(items->data, items->count);
}

/* What the node executes of the task: the boxes of its pieces. */
static void find_items(const ti_command_shape *known, ti_boxes *out)
{
    for (uint32_t i = 0; i < known->own_pieces; i++) {
        ti_vec_push(out, known->piece[i].chunk);
    }
}

static void take_away(ti_boxes *from, const ti_boxes *what)
{
    for (size_t i = 0; i < what->count; i++) {
        ti_boxes_subtract(from, &what->data[i]);
    }
}

static const ti_piece *make_pieces(ti_arena *arena, const ti_task *task, const ti_boxes *const list[], size_t lists,
                                   uint32_t *pieces)
{
    size_t count = 0, n = 0;
    for (size_t i = 0; i < lists; i++) {
        count += list[i]->count;
    }
    ti_piece *cut = TI_ARENA_ARRAY(arena, ti_piece, count);
    for (size_t i = 0; i < lists; i++) {
        for (size_t k = 0; k < list[i]->count; k++) {
            ti_command_fill_piece(task->shape, &list[i]->data[k], &cut[n++], arena);
        }
    }
    *pieces = (uint32_t)count;
    return cut;
}

/* Afterwards late is what comes of it. */
static ti_command_cut_in cut(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known,
                             ti_arena *arena)
{
    ti_command_cut_in out = { .piece = known->piece, .pieces = known->own_pieces };
    ti_boxes items = { 0 }, inner = { 0 }, blocked = { 0 };
    find_items(known, &items);
    for (size_t i = 0; i < items.count; i++) {
        find_blocked(graph, task, &known->split->split, &items.data[i], &blocked);
        ti_vec_push(&inner, items.data[i]);
    }
    ti_boxes_normalize(&blocked);
    take_away(&inner, &blocked);
    ti_boxes_normalize(&inner);
    TI_ASSERT(ti_boxes_volume(inner.data, inner.count) <= ti_boxes_volume(items.data, items.count));
    if (is_worth_it(task, &items, &inner, &blocked)) {
        const ti_boxes *const all[] = { &blocked, &inner };
        out.piece = make_pieces(arena, task, all, TI_COUNT(all), &out.pieces);
        out.ahead = (uint32_t)blocked.count; /* the next window sends it */
    }
    write_late(graph, task, &items, out.piece != known->piece || !blocked.count ? &blocked : &items);
    ti_vec_fini(&items);
    ti_vec_fini(&inner);
    ti_vec_fini(&blocked);
    return out;
}

static const struct ti_command_late *keep_late(const ti_command_pure *p, ti_arena *arena, size_t *count)
{
    *count = p->late.count;
    return ti_arena_copy(arena, p->late.data, p->late.count * sizeof(*p->late.data));
}

/* Where that is kept: made when the shape is in a window for the first time. NULL: it comes once. */
static ti_command_parts *window_parts(ti_command_shape *known)
{
    if (known->serial && !known->overlap.in_windows) {
        known->overlap.in_windows = TI_ARENA_NEW(&known->pieces, ti_command_parts);
        known->overlap.in_windows->arena = &known->pieces;
    }
    return known->overlap.in_windows;
}

static ti_command_stage_parts *stage_parts(ti_command_shape *known)
{
    if (known->serial && !known->overlap.in_stages) {
        known->overlap.in_stages = TI_ARENA_NEW(&known->pieces, ti_command_stage_parts);
    }
    return known->overlap.in_stages;
}

/* A loop of windows cuts the same again. */
static ti_command_cut_in find_cut(ti_command_graph *graph, const ti_task *task, ti_command_shape *known)
{
    ti_command_pure *p = &graph->pure;
    ti_command_parts *parts = window_parts(known);
    const ti_command_cut_in *kept = parts ? ti_command_find_cut(graph, parts) : NULL;
    if (kept) {
        ti_vec_clear(&p->late);
        for (size_t i = 0; i < kept->afters; i++) {
            ti_vec_push(&p->late, kept->after[i]);
        }
        return *kept;
    }
    if (!parts || parts->count == TI_CUTS_KEPT) {
        return cut(graph, task, known, ti_command_arena(graph));
    }
    size_t lates, afters;
    const struct ti_command_late *late = keep_late(p, parts->arena, &lates);
    ti_command_cut_in *fresh = &parts->kept[parts->count++];
    *fresh = cut(graph, task, known, parts->arena);
    fresh->late = late;
    fresh->lates = lates;
    fresh->after = keep_late(p, parts->arena, &afters);
    fresh->afters = afters;
    return *fresh;
}

const ti_piece *ti_command_cut(ti_command_graph *graph, const ti_task *task, ti_command_shape *known, uint32_t *pieces,
                               uint32_t *ahead)
{
    *pieces = known->own_pieces;
    if (!graph->pure.cuts || known->split->own_count != 1 || graph->pure.late.count > MAX_LATE) {
        graph->pure.cuts = false;
        return known->piece;
    }
    const ti_command_cut_in how = find_cut(graph, task, known);
    TI_ASSERT(how.piece && how.ahead <= how.pieces);
    *pieces = how.pieces;
    *ahead = how.ahead;
    return how.piece;
}

/* ---- windows in stages: what needs no message is always apart, since others may wait for it */

/* What a node computes ahead, if there is enough besides for that to gain anything. */
static void find_ahead(const ti_stage *stage, const ti_split *split, const ti_box *chunk, const ti_box *early,
                       ti_boxes *ahead)
{
    TI_ASSERT(ti_box_covers(chunk, early));
    ti_box rest = *early;
    for (int d = 0; d < 3; d++) {
        rest.min[d] = chunk->min[d] > split->lo[d] ? TI_MAX(chunk->min[d] + stage->ahead.lo[d], early->min[d])
                                                   : early->min[d];
        rest.max[d] = chunk->max[d] < split->hi[d] ? TI_MIN(chunk->max[d] - stage->ahead.hi[d], early->max[d])
                                                   : early->max[d];
    }
    if (!ti_box_is_empty(&rest) && 2 * ti_box_volume(&rest) >= ti_box_volume(early)) {
        ti_vec_push(ahead, *early);
        ti_boxes_subtract(ahead, &rest);
    }
}

/* The same of a window without depths: the node's lists say what is early, and what of that comes ahead. */
static void find_alone(const ti_alone *alone, ti_boxes *ahead, ti_boxes *rest)
{
    const int64_t all = ti_boxes_volume(alone->early.data, alone->early.count);
    bool gains = 2 * ti_boxes_volume(alone->ahead.data, alone->ahead.count) <= all;
    for (size_t i = 0; i < alone->ahead.count && gains; i++) {
        ti_vec_push(ahead, alone->ahead.data[i]);
    }
    for (size_t i = 0; i < alone->early.count; i++) {
        ti_vec_push(rest, alone->early.data[i]);
    }
    take_away(rest, ahead);
    TI_ASSERT(ti_boxes_volume(ahead->data, ahead->count) + ti_boxes_volume(rest->data, rest->count) == all);
}

/* First what others wait for, of this window, or of the next one; then the rest. */
static const ti_piece *cut_stage(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known,
                                 ti_arena *arena, uint32_t *pieces, uint32_t *ahead)
{
    const ti_command_pure *p = &graph->pure;
    const size_t number = (size_t)p->staging - 1;
    TI_ASSERT(number < p->task.count && (p->alone || p->stage.count == p->task.count));
    const ti_split *split = &known->split->split;
    ti_box own = ti_split_chunk(split, known->split->own_first);
    ti_boxes first = { 0 }, second = { 0 }, late = { 0 };
    find_items(known, &late);
    if (p->alone) {
        find_alone(&p->alone[number], &first, &second);
        take_away(&late, &p->alone[number].early);
    } else {
        const ti_stage *stage = &p->stage.data[number];
        ti_box early = ti_stage_early(stage, split, &own);
        if (!ti_box_is_empty(&early)) {
            find_ahead(stage, split, &own, &early, &first);
            ti_vec_push(&second, early);
            take_away(&second, &first);
            ti_boxes_subtract(&late, &early);
        }
    }
    TI_ASSERT(first.count + second.count + late.count > 0);
    *ahead = (uint32_t)(first.count + late.count);
    const ti_boxes *const all[] = { &first, &late, &second };
    const ti_piece *cut = make_pieces(arena, task, all, TI_COUNT(all), pieces);
    ti_vec_fini(&first);
    ti_vec_fini(&second);
    ti_vec_fini(&late);
    return cut;
}

/* What is found by depths is kept with the shape. */
const ti_piece *ti_command_cut_stages(ti_command_graph *graph, const ti_task *task, ti_command_shape *known,
                                      uint32_t *pieces, uint32_t *ahead)
{
    const ti_command_pure *p = &graph->pure;
    TI_ASSERT(p->staging > 0 && (size_t)p->staging <= p->task.count);
    const ti_stage *stage = p->alone ? NULL : &p->stage.data[p->staging - 1];
    ti_command_stage_parts *parts = stage ? stage_parts(known) : NULL;
    TI_ASSERT(known->split->own_count == 1);
    for (int i = 0; parts && i < parts->count; i++) {
        const ti_command_stage_cut *k = &parts->kept[i];
        if (ti_margin_equal(&k->depth, &stage->depth) && ti_margin_equal(&k->first, &stage->ahead)) {
            *pieces = k->pieces;
            *ahead = k->ahead;
            return k->piece;
        }
    }
    if (!parts || parts->count == TI_CUTS_KEPT) {
        return cut_stage(graph, task, known, ti_command_arena(graph), pieces, ahead);
    }
    ti_command_stage_cut *fresh = &parts->kept[parts->count++];
    fresh->depth = stage->depth;
    fresh->first = stage->ahead;
    fresh->piece = cut_stage(graph, task, known, &known->pieces, &fresh->pieces, &fresh->ahead);
    *pieces = fresh->pieces;
    *ahead = fresh->ahead;
    return fresh->piece;
}
