/* The command graph, stages: see impl.h. Windows whose nodes exchange values of several steps
 * (plan/tolerance/stages.h).
 *
 * All messages of such a window between two nodes are one (plan/command/bundle.c), and leave when the last of what they
 * bring has been computed. So nothing that is sent may wait for what the window receives. Therefore items that need no
 * message are always executed in kernels of their own, and a window is in stages only if the versions say that each
 * node has what these items read; if not, it is planned like one of strategy `halo`. All nodes decide the same.
 *
 * With strategy `halo` a window whose tasks read several buffers which no earlier task of it has written is planned in
 * stages, too, for the sake of one message: nothing is sent of what it computes, so margins stay as they are, and
 * nothing comes ahead. Scheduler thread. */
#include "plan/lookahead/impl.h"

#include "plan/tolerance/closure.h"

/* Whether the nodes whose chunks read some of the entry by the access are among those that hold it. */
static bool readers_hold(ti_command_graph *graph, const ti_windowed *reader, const ti_access *access,
                         const ti_version *v, const ti_box *box)
{
    const size_t number = (size_t)(reader - graph->pure.task.data);
    TI_ASSERT(number < graph->pure.task.count && graph->pure.split.count == graph->pure.task.count);
    ti_split_ref *split = graph->pure.split.data[number];
    ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
    bool hold = true;
    for (uint32_t m = 0; m < TI_MAX(access->mappers, 1); m++) {
        int a, b;
        const ti_holder *h = ti_holder_get(&state->versions.holders, access, m, split);
        hold &= !ti_holder_candidate_nodes(h, box, &a, &b) || (v->a <= a && b < v->b);
    }
    return hold;
}

static bool lies(void *user, const ti_windowed *reader, const ti_access *access, const ti_box *box, ti_lyings *out)
{
    ti_command_graph *graph = user;
    ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
    const ti_versions *found = ti_version_map_query(&state->versions, box);
    for (size_t i = 0; i < found->count; i++) {
        const ti_version *v = found->data[i];
        ti_box common = ti_box_intersect(&v->box, box);
        switch (v->kind) {
        case TI_WRITER_UNDEFINED:
            break;
        case TI_WRITER_NODES:
            if (!readers_hold(graph, reader, access, v, &common)) {
                return false;
            }
            break;
        case TI_WRITER_SPLIT:
            if (v->writer->custom) {
                return false;
            }
            ti_vec_push(out, ((ti_lying){ &v->writer->mapper, &v->writer->split->split }));
            break;
        }
    }
    return true;
}

/* Bring the versions up to date of what the window reads. */
static void settle(ti_command_graph *graph)
{
    const ti_command_pure *p = &graph->pure;
    for (size_t t = 0; t < p->task.count; t++) {
        const ti_shape *shape = p->task.data[t].shape;
        for (uint32_t i = 0; i < shape->accesses; i++) {
            ti_command_buffer *state = ti_command_buffer_of(graph, shape->access[i].buffer);
            ti_replay_settle(&state->replay, &state->versions);
        }
    }
}

/* ---- windows without depths: what is found is kept, with what it follows from */

enum { MAX_ALONE = 16 };

static const ti_margin none = { { 0 }, { 0 } };

/* Whether what nodes execute are lists of items (closure.h). */
static bool is_listed(const ti_command_pure *p)
{
    bool listed = false;
    for (size_t t = 0; t < p->task.count; t++) {
        listed |= p->spread.data[t] != NULL;
    }
    return listed;
}

static ti_pure_alone *new_alone(ti_command_pure *p)
{
    ti_pure_alone *of = TI_NEW(ti_pure_alone);
    of->at = p->at;
    of->tasks = p->task.count;
    return of;
}

static void drop_alone(ti_pure_alone *of)
{
    for (size_t i = 0; i < of->before.count; i++) {
        if (of->before.data[i].split) {
            of->before.data[i].split->interned.refs--;
        }
    }
    ti_vec_fini(&of->before);
    if (of->task) {
        ti_window_alone_drop(of->task, of->tasks);
        ti_free(of->task, of->tasks * sizeof(*of->task));
    }
    TI_DELETE(of);
}

void ti_command_forget_alone(ti_command_pure *p)
{
    for (size_t i = 0; i < p->alones.count; i++) {
        drop_alone(p->alones.data[i]);
    }
    ti_vec_clear(&p->alones);
    p->next_alone = 0;
    p->alone = NULL;
}

/* What task `t` reads by the access of before the window, `box` of the buffer, and where it lies. False: elsewhere than
 * its chunks. */
static bool note_before(ti_command_graph *graph, size_t t, uint32_t access, const ti_box *box, ti_pure_alone *of)
{
    const ti_command_pure *p = &graph->pure;
    const ti_access *a = &p->task.data[t].shape->access[access];
    ti_command_buffer *state = ti_command_buffer_of(graph, a->buffer);
    const ti_versions *found = ti_version_map_query(&state->versions, box);
    bool good = true;
    for (size_t i = 0; i < found->count && good; i++) {
        const ti_version *v = found->data[i];
        struct ti_pure_before b = { .task = t, .access = access, .box = ti_box_intersect(&v->box, box), .held = true };
        TI_ASSERT(!ti_box_is_empty(&b.box));
        switch (v->kind) {
        case TI_WRITER_UNDEFINED:
            break;
        case TI_WRITER_NODES:
            good = readers_hold(graph, &p->task.data[t], a, v, &b.box);
            break;
        case TI_WRITER_SPLIT:
            good = !v->writer->custom && !v->writer->spread;
            b.held = false;
            b.mapper = v->writer->mapper;
            b.split = v->writer->split;
            b.split->interned.refs++;
            break;
        }
        ti_vec_push(&of->before, b);
    }
    return good;
}

/* What no task of the window before number `t` writes of what it reads by the access. */
static void find_unwritten(const ti_command_pure *p, size_t t, uint32_t access, ti_boxes *out)
{
    const ti_shape *reader = p->task.data[t].shape;
    TI_ASSERT(t < p->task.count && access < reader->accesses && out->count == 0);
    for (uint32_t i = 0; i < reader->footprint[access].boxes; i++) {
        ti_vec_push(out, reader->footprint[access].box[i]);
    }
    for (size_t w = 0; w < t; w++) {
        const ti_shape *writer = p->task.data[w].shape;
        for (uint32_t i = 0; i < writer->accesses; i++) {
            bool hides = writer->access[i].buffer == reader->access[access].buffer &&
                         ti_access_writes(&writer->access[i]);
            for (uint32_t b = 0; hides && b < writer->footprint[i].boxes; b++) {
                ti_boxes_subtract(out, &writer->footprint[i].box[b]);
            }
        }
    }
}

/* A read that is neither of what the node wrote itself nor such that no pattern fits it may become a collective, for
 * which all nodes wait. */
static bool may_be_collective(ti_command_graph *graph, size_t t, uint32_t access, const ti_pure_alone *of)
{
    const ti_command_pure *p = &graph->pure;
    const ti_access *a = &p->task.data[t].shape->access[access];
    ti_command_buffer *state = ti_command_buffer_of(graph, a->buffer);
    bool may = false;
    for (uint32_t m = 0; m < TI_MAX(a->mappers, 1) && !may; m++) {
        const ti_holder *h = ti_holder_get(&state->versions.holders, a, m, p->split.data[t]);
        if (!h->observed_constant && !h->observed_disjoint && !h->members) {
            continue;
        }
        const ti_mapper mapper = h->mapper;
        for (size_t i = 0; i < of->before.count; i++) {
            const struct ti_pure_before *b = &of->before.data[i];
            may |= b->task == t && b->access == access && !b->held &&
                   (a->custom || b->split != p->split.data[t] || !ti_mapper_equal(&b->mapper, &mapper));
        }
        for (size_t w = 0; w < t; w++) {
            const ti_shape *writer = p->task.data[w].shape;
            for (uint32_t i = 0; i < writer->accesses; i++) {
                const ti_access *to = &writer->access[i];
                for (uint32_t k = 0; to->buffer == a->buffer && ti_access_writes(to) && k < to->mappers; k++) {
                    may |= a->custom || p->split.data[w] != p->split.data[t] ||
                           !ti_mapper_equal(&to->mapper[k], &mapper);
                }
            }
        }
    }
    return may;
}

static ti_stage_verdict note_all_before(ti_command_graph *graph, ti_pure_alone *of)
{
    const ti_command_pure *p = &graph->pure;
    bool lies_right = true, may = false;
    for (size_t t = 0; t < p->task.count && lies_right && !may; t++) {
        const ti_windowed *task = &p->task.data[t];
        if (task->split->chunks != graph->system->num_nodes) {
            return TI_STAGE_SHORT;
        }
        for (uint32_t i = 0; i < task->shape->accesses && lies_right && !may; i++) {
            ti_boxes boxes = { 0 };
            if (!ti_access_reads(&task->shape->access[i])) {
                continue;
            }
            find_unwritten(p, t, i, &boxes);
            for (size_t b = 0; b < boxes.count && lies_right; b++) {
                lies_right = note_before(graph, t, i, &boxes.data[b], of);
            }
            may = lies_right && may_be_collective(graph, t, i, of);
            ti_vec_fini(&boxes);
        }
    }
    return !lies_right ? TI_STAGE_BEFORE : may ? TI_STAGE_SPLITS : TI_STAGE_FITS;
}

static bool same_before(const ti_pure_alone *a, const ti_pure_alone *b)
{
    bool same = a->at > 0 && a->at == b->at && a->before.count == b->before.count;
    for (size_t i = 0; same && i < a->before.count; i++) {
        const struct ti_pure_before *x = &a->before.data[i], *y = &b->before.data[i];
        same = x->task == y->task && x->access == y->access && ti_box_equal(&x->box, &y->box) && x->held == y->held &&
               x->split == y->split && (x->held || ti_mapper_equal(&x->mapper, &y->mapper));
    }
    return same;
}

/* What nodes execute without stages is a list, or becomes one: of a window with margins. */
static ti_stage_verdict look_for_alone(ti_command_graph *graph, ti_pure_alone *of, const ti_befores *before)
{
    const ti_command_pure *p = &graph->pure;
    const bool listed = is_listed(p);
    ti_spread **halo = TI_NEW_ARRAY(ti_spread *, of->tasks);
    ti_stage_verdict verdict = TI_STAGE_SCATTERED;
    for (size_t t = 0; t < of->tasks && listed; t++) {
        halo[t] = ti_spread_ref(p->spread.data[t]);
    }
    if (listed || ti_window_closure(p->task.data, of->tasks, halo) == TI_WINDOW_FITS) {
        verdict = ti_window_alone(p->task.data, of->tasks, halo, before, graph->system->node, of->task);
    }
    for (size_t t = 0; t < of->tasks; t++) {
        ti_spread_unref(halo[t]);
    }
    ti_free(halo, of->tasks * sizeof(ti_spread *));
    return verdict;
}

/* The same as before, or found now. */
static const ti_pure_alone *find_alone(ti_command_graph *graph, ti_pure_alone *of)
{
    ti_command_pure *p = &graph->pure;
    for (size_t i = 0; i < p->alones.count; i++) {
        if (same_before(p->alones.data[i], of)) {
            drop_alone(of);
            return p->alones.data[i];
        }
    }
    ti_befores before = { 0 };
    for (size_t i = 0; i < of->before.count; i++) {
        const struct ti_pure_before *b = &of->before.data[i];
        ti_vec_push(&before, ((ti_before){ b->task, b->access, b->box, b->held ? NULL : &b->mapper,
                                           b->held ? NULL : &b->split->split }));
    }
    of->task = TI_NEW_ARRAY(ti_alone, of->tasks);
    of->verdict = look_for_alone(graph, of, &before);
    ti_vec_fini(&before);
    if (p->alones.count < MAX_ALONE) {
        ti_vec_push(&p->alones, of);
    } else {
        drop_alone(p->alones.data[p->next_alone]);
        p->alones.data[p->next_alone++] = of;
        p->next_alone %= MAX_ALONE;
    }
    return of;
}

static ti_stage_verdict stage_alone(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    ti_pure_alone *of = new_alone(p);
    ti_stage_verdict verdict = note_all_before(graph, of);
    if (verdict != TI_STAGE_FITS) {
        drop_alone(of);
        return verdict;
    }
    const ti_pure_alone *found = find_alone(graph, of);
    TI_ASSERT(found->tasks == p->task.count && p->spread.count == found->tasks);
    p->alone = found->verdict == TI_STAGE_FITS ? found->task : NULL;
    for (size_t t = 0; t < p->task.count && p->alone; t++) {
        ti_spread_unref(p->spread.data[t]);
        p->spread.data[t] = ti_spread_ref(found->task[t].spread);
        p->margin.data[t] = none;
    }
    return found->verdict;
}

/* ---- all windows */

static ti_stage_verdict stage_by_depths(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    TI_ASSERT(p->stage.count == p->task.count && p->margin.count == p->task.count);
    ti_stage_verdict verdict = ti_window_stages(p->task.data, p->task.count, p->margin.data, lies, graph,
                                                p->stage.data);
    for (size_t t = 0; t < p->task.count && verdict == TI_STAGE_FITS; t++) {
        ti_stage *stage = &p->stage.data[t];
        if (!graph->system->latency_staged) { /* nodes compute all that is there of the window for themselves */
            stage->ahead = none;
            continue;
        }
        TI_ASSERT(!p->spread.data[t]); /* lists have no depths */
        ti_spread_unref(p->spread.data[t]);
        p->margin.data[t] = stage->around ? none : stage->margin;
        p->spread.data[t] = stage->around ? ti_spread_around(&stage->margin, &stage->depth) : NULL;
    }
    return verdict;
}

static bool writes(const ti_shape *shape, const ti_buffer_info *buffer)
{
    bool any = false;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        any |= shape->access[i].buffer == buffer && ti_access_writes(&shape->access[i]);
    }
    return any;
}

/* Of so many buffers a task of the window reads what no earlier one has written. */
static size_t count_read_first(const ti_command_pure *p)
{
    const ti_buffer_info *read[TACIT_MAX_ACCESSES];
    size_t count = 0;
    for (size_t t = 0; t < p->task.count; t++) {
        const ti_shape *shape = p->task.data[t].shape;
        for (uint32_t i = 0; i < shape->accesses && count < TI_COUNT(read); i++) {
            const ti_buffer_info *buffer = shape->access[i].buffer;
            bool known = !ti_access_reads(&shape->access[i]);
            for (size_t k = 0; k < count && !known; k++) {
                known = read[k] == buffer;
            }
            for (size_t w = 0; w < t && !known; w++) {
                known = writes(p->task.data[w].shape, buffer);
            }
            if (!known) {
                read[count++] = buffer;
            }
        }
    }
    return count;
}

/* What comes of one buffer is one message for each neighbour by itself, and need not be packed. Nothing is held, so
 * that lookahead finds what it would find. */
bool ti_command_has_common_messages(const ti_command_graph *graph)
{
    return !graph->system->latency_tiles && graph->window.held.count == 0 && count_read_first(&graph->pure) > 1;
}

ti_stage_verdict ti_command_find_stages(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    ti_command_window_flush(graph);
    p->alone = NULL;
    if (graph->multicast.starting.count) {
        return TI_STAGE_FORWARDS;
    }
    settle(graph);
    ti_vec_reserve(&p->stage, p->task.count);
    p->stage.count = p->task.count;
    if (is_listed(p)) { /* nodes need no margins, but lists of items */
        return graph->system->latency_staged ? stage_alone(graph) : TI_STAGE_CUSTOM;
    }
    ti_stage_verdict verdict = stage_by_depths(graph);
    const bool lists = verdict == TI_STAGE_SPLITS || verdict == TI_STAGE_CUSTOM;
    return lists && graph->system->latency_staged && p->task.count > 1 ? stage_alone(graph) : verdict;
}
