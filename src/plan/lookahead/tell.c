/* The command graph, what the report (TACIT_EXPLAIN) says of windows of pure tasks: why each closed, what it cost, and
 * what it would have received without. See impl.h; what is counted when tasks are planned: plan/command/seen.c. Called
 * only if there is a report. Scheduler thread. */
#include "plan/lookahead/impl.h"

/* ---- what closed it */

static const char *const reasons[TI_WINDOW_VERDICTS] = {
    [TI_WINDOW_FITS] = "it has as many tasks as TACIT_LATENCY says",
    [TI_WINDOW_NOT_PURE] = "has no hint pure",
    [TI_WINDOW_NOT_SPLIT] = "is not split into one chunk for each node",
    [TI_WINDOW_REDUCES] = "reduces",
    [TI_WINDOW_NO_INVERSE] = "writes by a mapper that has no inverse",
    [TI_WINDOW_SPLITS] = "and a task before it have different chunks",
    [TI_WINDOW_READS_ALL] = "reads all along a dimension that the window writes in parts",
    [TI_WINDOW_GOES_AROUND] = "would make a task read around the end of a dimension of more than chunks",
    [TI_WINDOW_CUSTOM] = "reads by a custom mapper what nodes would have to compute for each other",
    [TI_WINDOW_TOO_WIDE] = "would need margins that are longer than chunks",
    [TI_WINDOW_SCATTERED] = "would make nodes compute items of each other in too many places",
};

/* Why strategy `staged` plans a window like `halo`. */
static const char *const stage_reasons[TI_STAGE_VERDICTS] = {
    [TI_STAGE_FITS] = NULL,
    [TI_STAGE_SPLITS] = "tasks have different chunks, or one reads what is not around an element for each item",
    [TI_STAGE_CUSTOM] = "a task reads by a custom mapper",
    [TI_STAGE_WHOLE] = "a task's chunks may not be cut",
    [TI_STAGE_SHORT] = "chunks are too short",
    [TI_STAGE_BEFORE] = "what a task reads lies elsewhere than its chunks",
    [TI_STAGE_SCATTERED] = "nodes would execute items in too many places",
    [TI_STAGE_FORWARDS] = "a broadcast of what placed tasks have written may be under way",
};

/* Of what is no task of the program, or does not end windows by itself. */
static const char *other_reason(const ti_task *closer)
{
    switch (closer->kind) {
    case TI_TASK_FENCE:
        return "at a fence";
    case TI_TASK_EPOCH:
        return "the program waits";
    case TI_TASK_HORIZON:
        return "it has as many horizons as it may have";
    case TI_TASK_CREATE:
        return "a buffer is created";
    case TI_TASK_DESTROY:
        return "a buffer is destroyed";
    case TI_TASK_EXECUTE:
    case TI_TASK_BRIEF:
        break;
    }
    return NULL;
}

const char *ti_command_window_reason(ti_window_verdict verdict, const ti_task *closer, bool *by_task)
{
    const char *other = other_reason(closer);
    *by_task = !other && verdict != TI_WINDOW_FITS;
    TI_ASSERT(other || reasons[verdict]);
    return other ? other : reasons[verdict];
}

/* ---- what it saved */

/* The nodes that own what `box` of a buffer was written by: into `peers`. */
static void add_owners(ti_command_graph *graph, const ti_windowed *writer, ti_split_ref *split, const ti_access *access,
                       const ti_box *box, ti_chunk_list *peers)
{
    ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
    ti_chunk_list chunks = { 0 };
    for (uint32_t i = 0; i < writer->shape->accesses; i++) {
        const ti_access *a = &writer->shape->access[i];
        for (uint32_t m = 0; a->buffer == access->buffer && ti_access_writes(a) && m < a->mappers; m++) {
            ti_holder_candidates(ti_holder_get(&state->versions.holders, a, m, split), box, &chunks);
            for (size_t k = 0; k < chunks.count; k++) {
                int64_t node = ti_split_node(writer->split, chunks.data[k]);
                if (node != graph->system->node) {
                    ti_vec_push(peers, node);
                }
            }
        }
    }
    ti_vec_fini(&chunks);
}

static bool writes(const ti_shape *shape, const ti_buffer_info *buffer)
{
    bool any = false;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        any |= shape->access[i].buffer == buffer && ti_access_writes(&shape->access[i]);
    }
    return any;
}

/* The task of the window before task `r` that writes the buffer: 1 + its number, or 0. */
static size_t writer_of(const ti_command_pure *p, size_t r, const ti_buffer_info *buffer)
{
    while (r > 0 && !writes(p->task.data[r - 1].shape, buffer)) {
        r--;
    }
    return r;
}

/* Messages that task `r` of the window would receive, planned by itself, of what another one writes. */
static uint64_t count_inside(ti_command_graph *graph, size_t r, size_t w, const ti_access *a)
{
    const ti_command_pure *p = &graph->pure;
    const ti_split_ref *split = p->split.data[r];
    ti_boxes image = { 0 };
    ti_chunk_list peers = { 0 }, other = { 0 };
    for (int64_t c = split->own_first; c < split->own_first + split->own_count; c++) {
        ti_box chunk = ti_split_chunk(&split->split, c);
        ti_access_image(a, &chunk, &image);
    }
    for (size_t i = 0; i < image.count; i++) {
        add_owners(graph, &p->task.data[w], p->split.data[w], a, &image.data[i], &peers);
    }
    ti_chunks_settle(&peers, &other);
    uint64_t count = peers.count;
    ti_vec_fini(&image);
    ti_vec_fini(&peers);
    ti_vec_fini(&other);
    return count;
}

/* What the task would receive of what is there before the window. */
static void find_before(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer)
{
    const ti_command_use *use = ti_command_use_of(graph, task, buffer);
    const ti_messages *in = &graph->transfer.incoming;
    ti_replay_settle(&use->state->replay, &use->state->versions);
    ti_vec_clear(&graph->transfer.covered);
    ti_transfer_plan(&graph->transfer, &use->state->versions, use->reads);
    for (size_t i = 0; i < in->count; i++) {
        ti_vec_push(&graph->pure.seen_piece, ((struct ti_command_seen_piece){ buffer, in->data[i] }));
    }
}

static bool reads_before(const ti_command_pure *p, size_t r, const ti_buffer_info *buffer)
{
    bool any = false;
    for (size_t t = 0; t < r; t++) {
        for (uint32_t i = 0; i < p->task.data[t].shape->accesses; i++) {
            const ti_access *a = &p->task.data[t].shape->access[i];
            any |= a->buffer == buffer && ti_access_reads(a);
        }
    }
    return any;
}

/* Messages that task `r` of the window would receive: those of what the window writes are returned, those of what is
 * there before are counted when it is planned, for what is there depends on tasks that lookahead may still hold. */
static uint64_t count_messages(ti_command_graph *graph, const ti_task *task, size_t r)
{
    ti_command_pure *p = &graph->pure;
    uint64_t count = 0;
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        size_t w = writer_of(p, r, a->buffer);
        if (!ti_access_reads(a) || !ti_shape_is_first_read(task->shape, i)) {
            continue;
        }
        if (w > 0) {
            count += count_inside(graph, r, w - 1, a);
        } else if (!reads_before(p, r, a->buffer)) {
            ti_vec_push(&p->seen_read, ((struct ti_command_seen_read){ task, a->buffer }));
        }
    }
    return count;
}

static void count_items(const ti_command_pure *p, size_t t, ti_explain_window *out)
{
    const ti_split_ref *split = p->split.data[t];
    ti_boxes items = { 0 };
    for (int64_t c = split->own_first; c < split->own_first + split->own_count; c++) {
        ti_box chunk = ti_split_chunk(&split->split, c);
        ti_vec_clear(&items);
        if (p->spread.data[t]) {
            ti_spread_items(p->spread.data[t], &split->split, c, &items);
        } else {
            ti_vec_push(&items, ti_margin_enlarge(&p->margin.data[t], &chunk, &p->task.data[t].shape->range));
        }
        TI_ASSERT(ti_boxes_volume(items.data, items.count) >= ti_box_volume(&chunk));
        out->items += (uint64_t)ti_box_volume(&chunk);
        out->redundant += (uint64_t)(ti_boxes_volume(items.data, items.count) - ti_box_volume(&chunk));
    }
    ti_vec_fini(&items);
}

void ti_command_look_at_window(ti_command_graph *graph, ti_window_verdict verdict, const ti_task *closer,
                               ti_stage_verdict stages)
{
    ti_command_pure *p = &graph->pure;
    bool by_task;
    const char *why = ti_command_window_reason(verdict, closer, &by_task);
    size_t t = 0;
    TI_ASSERT(stages == TI_STAGE_FITS || stage_reasons[stages]);
    struct ti_command_seen seen = { .left = (int)p->task.count };
    ti_explain_window *window = &seen.window;
    *window = (ti_explain_window){ .first = p->task.data[0].shape->name,
                                   .last = p->task.data[p->task.count - 1].shape->name,
                                   .tasks = (int)p->task.count,
                                   .why = why,
                                   .stages = graph->system->latency_staged ? stage_reasons[stages] : NULL,
                                   .closer = by_task ? closer->shape->name : NULL };
    for (size_t i = 0; i < p->held.count; i++) {
        if (p->held.data[i]->kind == TI_TASK_EXECUTE) {
            count_items(p, t, window);
            window->saved += ti_command_is_distributed(graph) ? (int64_t)count_messages(graph, p->held.data[i], t) : 0;
            seen.first = t == 0 ? p->held.data[i]->id : seen.first;
            seen.last = p->held.data[i]->id;
            t++;
        }
    }
    TI_ASSERT(t == p->task.count && seen.first <= seen.last);
    graph->single_task = 0;
    ti_vec_push(&p->seen, seen);
}

/* As if it had no larger chunks. */
void ti_command_look_at_planned(ti_command_graph *graph, const ti_task *task)
{
    ti_command_pure *p = &graph->pure;
    struct ti_command_seen *seen = ti_command_seen_of(graph, task);
    const size_t given = p->given.count;
    size_t kept = 0;
    if (!seen) {
        return;
    }
    TI_ASSERT(seen->left > 0);
    seen->left--;
    ti_vec_clear(&p->seen_piece);
    p->given.count = 0;
    graph->single_task = 0;
    for (size_t i = 0; i < p->seen_read.count; i++) {
        if (p->seen_read.data[i].task == task) {
            find_before(graph, task, p->seen_read.data[i].buffer);
        } else {
            p->seen_read.data[kept++] = p->seen_read.data[i];
        }
    }
    p->seen_read.count = kept;
    p->given.count = given;
    graph->single_task = 0;
}

void ti_command_tell_no_tiles(ti_command_graph *graph)
{
    const ti_command_pure *p = &graph->pure;
    const ti_explain_tiles row = { .first = p->task.data[0].shape->name,
                                   .last = p->task.data[p->task.count - 1].shape->name,
                                   .tasks = (int)p->task.count,
                                   .why = "messages lie between tasks of a window in stages" };
    ti_explain_note_tiles(graph->system->explain, &row);
}
