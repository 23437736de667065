/* The command graph, overlap of a task with its own messages (TACIT_OVERLAP): see overlap.h. A task's chunk on this
 * node is cut into what waits for something that the task receives, and what does not, which is executed while messages
 * travel. Nothing is computed twice, and nothing changes but the pieces of a command: what they wait for is found by
 * the trackers of the instruction graph. So nodes need not agree on it, and each cuts by its own messages.
 *
 * Which tasks may be cut follows from their shapes (plan/tolerance/overlap.h). What one receives is gathered while its
 * transfers are planned, or replayed; a loop receives the same again and again, so what was found for that is kept with
 * the shape. In windows of pure tasks chunks are cut for all of the window's messages instead: cut.c. Scheduler thread.
 */
#include "plan/command/impl.h"
#include "plan/tolerance/items.h"

enum { MAX_PIECES = 8, MAX_LATE = 64 };

/* ---- items that wait */

/* Whether rows [a,b) of the chunk, counted in granules, read nothing late by the access. */
static bool are_free(const ti_command_pure *p, const ti_access *access, ti_box chunk, int64_t gran, int64_t a,
                     int64_t b)
{
    ti_boxes image = { 0 };
    bool free = true;
    int64_t end = chunk.max[0];
    chunk.max[0] = TI_MIN(chunk.min[0] + b * gran, end);
    chunk.min[0] += a * gran;
    ti_access_image(access, &chunk, &image);
    for (size_t k = 0; k < p->late.count; k++) {
        free &= p->late.data[k].buffer != access->buffer || !ti_boxes_meet(&image, &p->late.data[k].box);
    }
    ti_vec_fini(&image);
    return free;
}

/* A custom mapper has no inverse. What it says of more rows has all that it says of fewer, so the longest run of free
 * rows around the middle is found in few steps; all others are taken to wait. */
static void block_by_custom(const ti_command_pure *p, const ti_access *access, int64_t gran, const ti_box *chunk,
                            ti_boxes *out)
{
    int64_t rows = ti_ceil_div(chunk->max[0] - chunk->min[0], gran), middle = rows / 2, first = middle, end = middle;
    int64_t step = 1;
    while (2 * step <= rows) {
        step *= 2;
    }
    for (; step > 0; step /= 2) {
        end += end + step <= rows && are_free(p, access, *chunk, gran, middle, end + step) ? step : 0;
        first -= first >= step && are_free(p, access, *chunk, gran, first - step, middle) ? step : 0;
    }
    TI_ASSERT(0 <= first && first <= middle && middle <= end && end <= rows);
    ti_box before = *chunk, after = *chunk;
    before.max[0] = TI_MIN(chunk->min[0] + first * gran, chunk->max[0]);
    after.min[0] = TI_MIN(chunk->min[0] + end * gran, chunk->max[0]);
    ti_vec_push(out, before);
    ti_vec_push(out, after);
}

static bool receives(const ti_command_pure *p, const ti_buffer_info *buffer)
{
    bool any = false;
    for (size_t k = 0; k < p->late.count; k++) {
        any |= p->late.data[k].buffer == buffer;
    }
    return any;
}

/* The items of the chunk that read something late, in normal form. What comes once is not asked of custom mappers,
 * which may take long to answer. */
static void find_blocked(const ti_command_pure *p, const ti_task *task, const ti_split *split, const ti_box *chunk,
                         ti_boxes *out)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        if (!ti_access_reads(a) || !receives(p, a->buffer)) {
            continue;
        }
        if (a->custom && !task->shape->serial) {
            ti_vec_push(out, *chunk);
            continue;
        }
        if (a->custom) {
            block_by_custom(p, a, split->gran[0], chunk, out);
            continue;
        }
        for (size_t k = 0; k < p->late.count; k++) {
            if (p->late.data[k].buffer == a->buffer) {
                ti_items_touching(task->shape, a, split->gran, chunk, &p->late.data[k].box, out);
            }
        }
    }
    ti_items_take_rows(split, chunk, out);
    ti_boxes_normalize(out);
}

/* ---- parts */

static void fill(const ti_task *task, const ti_boxes *blocked, const ti_boxes *inner, ti_arena *arena,
                 ti_command_cut_in *out)
{
    const size_t count = blocked->count + inner->count;
    ti_piece *piece = TI_ARENA_ARRAY(arena, ti_piece, count);
    for (size_t i = 0; i < count; i++) {
        const ti_box *box = i < blocked->count ? &blocked->data[i] : &inner->data[i - blocked->count];
        ti_command_fill_piece(task->shape, box, &piece[i], arena);
    }
    out->piece = piece;
    out->pieces = (uint32_t)count;
    out->ahead = (uint32_t)blocked->count;
}

static bool is_worth_it(const ti_command_graph *graph, const ti_box *chunk, const ti_boxes *blocked,
                        const ti_boxes *inner)
{
    return inner->count && blocked->count && inner->count + blocked->count <= MAX_PIECES &&
           ti_overlap_is_enough(graph->system, ti_boxes_volume(inner->data, inner->count), ti_box_volume(chunk));
}

static ti_command_cut_in cut(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known,
                             ti_arena *arena)
{
    const ti_command_pure *p = &graph->pure;
    const ti_box *chunk = &known->piece->chunk;
    ti_command_cut_in out = { .lates = p->late.count };
    ti_boxes blocked = { 0 }, inner = { 0 };
    find_blocked(p, task, &known->split->split, chunk, &blocked);
    ti_vec_push(&inner, *chunk);
    for (size_t i = 0; i < blocked.count; i++) {
        ti_boxes_subtract(&inner, &blocked.data[i]);
    }
    ti_boxes_normalize(&inner);
    out.at_once = ti_boxes_volume(inner.data, inner.count);
    TI_ASSERT(out.at_once + ti_boxes_volume(blocked.data, blocked.count) == ti_box_volume(chunk));
    if (is_worth_it(graph, chunk, &blocked, &inner)) {
        fill(task, &blocked, &inner, arena, &out);
    }
    ti_vec_fini(&blocked);
    ti_vec_fini(&inner);
    return out;
}

/* How the chunk is cut for what is late, known from the last time if there was one. */
static ti_command_cut_in find_cut(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known)
{
    const ti_command_pure *p = &graph->pure;
    ti_command_parts *parts = known->overlap.parts;
    TI_ASSERT(parts && known->own_pieces == 1);
    const ti_command_cut_in *kept = ti_command_find_cut(graph, parts);
    if (kept) {
        return *kept;
    }
    if (parts->count == TI_CUTS_KEPT) {
        return cut(graph, task, known, ti_command_arena(graph));
    }
    ti_command_cut_in *fresh = &parts->kept[parts->count++];
    *fresh = cut(graph, task, known, parts->arena);
    fresh->late = ti_arena_copy(parts->arena, p->late.data, p->late.count * sizeof(*p->late.data));
    return *fresh;
}

/* ---- the report */

static const char *const reasons[TI_OVERLAP_VERDICTS] = {
    [TI_OVERLAP_OFF] = "TACIT_OVERLAP is off",
    [TI_OVERLAP_CHUNKS] = "it is not split into one chunk for each node",
    [TI_OVERLAP_WHOLE] = "its kernel gets each chunk in one call, or takes turns by host objects",
    [TI_OVERLAP_REDUCES] = "it reduces",
    [TI_OVERLAP_WRITES] = "by a mapper that follows a dimension twice, or by one for writing that follows none or goes "
                          "around, parts of a chunk need not touch what it does",
    [TI_OVERLAP_MEMORIES] = "devices of the node have memories of their own (for one accelerator set TACIT_OVERLAP=on)",
    [TI_OVERLAP_LITTLE] = "it takes too little time to be worth more launches (items of 1 ns, if .cost is not given)",
    [TI_OVERLAP_BORDERS] = "too much of the chunk waits, or it would be cut into too many parts",
};

static void tell(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known, ti_overlap verdict,
                 const ti_command_cut_in *how)
{
    TI_ASSERT((verdict == TI_OVERLAP_FITS) == !reasons[verdict]);
    const ti_explain_overlap what = {
        .task = task->shape->name,
        .why = reasons[verdict],
        .items = (uint64_t)ti_box_volume(&known->piece->chunk),
        .at_once = verdict == TI_OVERLAP_FITS ? (uint64_t)how->at_once : 0,
        .parts = verdict == TI_OVERLAP_FITS ? (int)how->pieces : 1,
    };
    ti_explain_note_overlap(graph->system->explain, &what);
}

/* ---- */

bool ti_command_overlap_begin(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known)
{
    ti_command_pure *p = &graph->pure;
    bool fits = known->overlap.verdict == TI_OVERLAP_FITS && known->own_pieces == 1;
    bool wanted = fits || (graph->system->explain && known->overlap.verdict != TI_OVERLAP_FITS);
    if (!wanted || p->cuts || p->staging || task->kind != TI_TASK_EXECUTE || known->own_pieces < 1) {
        return false;
    }
    ti_vec_clear(&p->late);
    p->cuts = true; /* what comes from now on is noted */
    return true;
}

const ti_piece *ti_command_overlap_end(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known,
                                       uint32_t *pieces, uint32_t *ahead)
{
    ti_command_pure *p = &graph->pure;
    ti_command_cut_in how = { .piece = NULL };
    ti_overlap verdict = known->overlap.verdict;
    TI_ASSERT(p->cuts && !p->staging); /* as the beginning has left it */
    *pieces = known->own_pieces;
    *ahead = 0;
    p->cuts = false;
    if (verdict == TI_OVERLAP_FITS && p->late.count) {
        how = p->late.count <= MAX_LATE ? find_cut(graph, task, known) : how;
        verdict = how.piece ? verdict : TI_OVERLAP_BORDERS;
        graph->overlapped += how.piece != NULL;
    }
    if (graph->system->explain && p->late.count) {
        tell(graph, task, known, verdict, &how);
    }
    ti_vec_clear(&p->late);
    if (!how.piece) {
        return known->piece;
    }
    TI_ASSERT(0 < how.ahead && how.ahead < how.pieces && how.pieces <= MAX_PIECES);
    *pieces = how.pieces;
    *ahead = how.ahead;
    return how.piece;
}
