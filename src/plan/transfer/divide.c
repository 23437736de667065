/* The command graph, questions: see impl.h. What a forward asks of collective discovery (plan/version/discovery.h).
 *
 * A forward with a producer is one question. One without (plan/task/forward.h) is of several tasks, all of which have
 * been planned: windows close at horizons. So the versions show who has what, and what each source has is a question by
 * itself. Scheduler thread. */
#include "plan/transfer/impl.h"

/* Sources that are told apart. What others have is asked for as if it were the last one's, and goes by messages. */
enum { MAX_PARTS = 64 };

ti_discovery_question ti_command_question(const ti_task *task, const ti_command_use *use, const ti_forward *forward)
{
    TI_ASSERT(forward->buffer == use->state->info && forward->boxes > 0);
    return (ti_discovery_question){ .map = &use->state->versions,
                                    .reads = use->reads,
                                    .box = forward->box,
                                    .boxes = forward->boxes,
                                    .task = task->id };
}

bool ti_command_is_all(const ti_forward *f, const ti_boxes *wanted)
{
    TI_ASSERT(ti_boxes_volume(wanted->data, wanted->count) <= ti_boxes_volume(f->box, f->boxes));
    return f->whole && ti_boxes_volume(wanted->data, wanted->count) == ti_boxes_volume(f->box, f->boxes);
}

bool ti_command_all_want_all(ti_command_graph *graph, const ti_discovery_question *question, const ti_forward *f)
{
    return ti_command_is_all(f, ti_discovery_wanted_by_all(&graph->collectives, question));
}

/* ---- forwards without a producer */

/* A number for who has an entry, equal on all nodes, and no task's id. */
static uint64_t source_of(const ti_version *v)
{
    uint64_t nodes = (uint64_t)v->a << 32 | (uint32_t)v->b;
    return (v->kind == TI_WRITER_SPLIT ? v->writer->interned.hash : ti_hash64(nodes)) | (uint64_t)1 << 63;
}

/* What stays is not counted: only nodes that explain look at it. */
static uint32_t part_of(ti_command_graph *graph, const ti_buffer_info *buffer, uint64_t source, bool stays)
{
    size_t count = graph->parts.count, last = 0, moving = 0;
    for (size_t i = 0; i < count; i++) {
        const ti_command_part *p = &graph->parts.data[i];
        if (p->stays == stays && p->forward.producer == source) {
            return (uint32_t)i;
        }
        last = p->stays ? last : i;
        moving += !p->stays;
    }
    if (!stays && moving == MAX_PARTS) {
        return (uint32_t)last;
    }
    ti_command_part part = { .stays = stays };
    part.forward = (ti_forward){ .buffer = buffer, .producer = source, .whole = !stays };
    ti_vec_push(&graph->parts, part);
    return (uint32_t)count;
}

/* Note what the forward has in common with an entry. */
static void divide_entry(ti_command_graph *graph, ti_holders reads, const ti_forward *f, const ti_version *v)
{
    bool stays = ti_version_is_free(v, reads);
    if (stays && !graph->system->explain) {
        return;
    }
    uint32_t part = part_of(graph, f->buffer, stays ? 0 : source_of(v), stays);
    int64_t volume = 0;
    for (uint32_t i = 0; i < f->boxes; i++) {
        ti_box common = ti_box_intersect(&f->box[i], &v->box);
        if (!ti_box_is_empty(&common)) {
            volume += ti_box_volume(&common);
            graph->parts.data[part].forward.boxes++;
            ti_vec_push(&graph->pieces, ((ti_command_piece){ part, common }));
        }
    }
    TI_ASSERT(volume <= ti_box_volume(&v->box)); /* boxes of a forward are disjoint */
    graph->parts.data[part].forward.whole &= volume == ti_box_volume(&v->box);
}

static void give_boxes(ti_command_graph *graph)
{
    ti_box *all = TI_ARENA_ARRAY(ti_command_arena(graph), ti_box, graph->pieces.count);
    for (size_t i = 0; i < graph->parts.count; i++) {
        ti_forward *f = &graph->parts.data[i].forward;
        f->box = all;
        for (size_t k = 0; k < graph->pieces.count; k++) {
            if (graph->pieces.data[k].part == i) {
                *all++ = graph->pieces.data[k].box;
            }
        }
        TI_ASSERT(f->boxes > 0 && all == f->box + f->boxes);
    }
}

void ti_command_divide(ti_command_graph *graph, const ti_command_use *use, const ti_forward *forward)
{
    ti_vec_clear(&graph->parts);
    if (forward->producer) {
        ti_vec_push(&graph->parts, ((ti_command_part){ .forward = *forward }));
        return;
    }
    ti_replay_settle(&use->state->replay, &use->state->versions);
    ti_vec_clear(&graph->pieces);
    ti_vec_clear(&graph->asked);
    for (uint32_t i = 0; i < forward->boxes; i++) {
        ti_vec_push(&graph->asked, forward->box[i]);
    }
    TI_ASSERT(graph->asked.count > 0);
    const ti_versions *hit = ti_version_map_query_any(&use->state->versions, &graph->asked);
    for (size_t i = 0; i < hit->count; i++) {
        divide_entry(graph, use->reads, forward, hit->data[i]);
    }
    give_boxes(graph);
}
