/* The command graph, edges: see impl.h. What became of the edges between tasks, for the report (trace/explain.h), and
 * only if there is one.
 *
 * The task graph has listed the edges of a task (ti_task::edge). Here they meet the verdicts of their forwards, and the
 * messages that their bytes need on this node. Scheduler thread. */
#include "plan/transfer/impl.h"

/* What the pieces have in common with the edge, in elements; peers that have some are noted. */
static uint64_t messages_of(const ti_edge *edge, const ti_messages *pieces, ti_map *peers, uint64_t *messages)
{
    uint64_t volume = 0;
    int last = -1;
    for (size_t i = 0; i < pieces->count; i++) {
        const ti_message_piece *p = &pieces->data[i];
        for (uint32_t k = 0; k < edge->boxes; k++) {
            ti_box common = ti_box_intersect(&edge->box[k], &p->box);
            if (!ti_box_is_empty(&common)) {
                volume += (uint64_t)ti_box_volume(&common);
                ti_map_at(peers, (uint64_t)p->peer);
                *messages += p->peer != last; /* pieces of one peer are neighbours */
                last = p->peer;
            }
        }
    }
    return volume;
}

/* Add what this node gives to others and gets from them, in elements. Its own part of what changes hands stays here. */
static void collective_of(const ti_collective *what, int node, uint64_t *sent, uint64_t *received)
{
    ti_boxes boxes = { 0 }, own = { 0 };
    ti_collective_got(what, node, &boxes, &own);
    *received += (uint64_t)ti_boxes_volume(boxes.data, boxes.count);
    ti_vec_clear(&boxes);
    ti_vec_clear(&own);
    ti_collective_given(what, node, &boxes);
    if (what->to.kind != TI_PARTS_ALL && !what->members) {
        for (size_t i = 0; i < boxes.count; i++) {
            ti_parts_of(&what->to, node, &boxes.data[i], &own);
        }
    }
    TI_ASSERT(ti_boxes_volume(own.data, own.count) <= ti_boxes_volume(boxes.data, boxes.count));
    *sent += (uint64_t)ti_boxes_volume(boxes.data, boxes.count) - (uint64_t)ti_boxes_volume(own.data, own.count);
    ti_vec_fini(&boxes);
    ti_vec_fini(&own);
}

static void note(ti_command_graph *graph, const ti_edge *edge, const ti_edge_fate *fate)
{
    int node = graph->system->node;
    ti_map peers = { 0 };
    char region[TI_BOX_TEXT];
    uint64_t size = edge->buffer->elem_size, given = 0, got = 0;
    ti_explain_edge e = { .producer = edge->producer,
                          .consumer = edge->consumer,
                          .buffer = edge->name,
                          .verdict = fate->verdict,
                          .rest = fate->rest,
                          .merged = fate->hoisted != NULL };
    const ti_collective *what = fate->hoisted ? fate->hoisted : fate->what;
    const ti_box *example = what ? what->region : edge->box;
    if (what) {
        e.pattern = what->pattern;
        e.groups = what->members ? ti_collective_groups(what) : 0;
        e.members = what->members;
        e.verdict = TI_VERDICT_COLLECTIVE;
    }
    if (fate->combined != TI_PATTERN_NONE) {
        e.pattern = fate->combined;
        e.verdict = TI_VERDICT_COLLECTIVE;
        given = (uint64_t)ti_boxes_volume(edge->box, edge->boxes);
        got = e.pattern == TI_PATTERN_ALL_REDUCE ? given : 0;
    }
    e.region = ti_box_format(example, TI_MAX(edge->buffer->dims, 1), region);
    e.bytes = size * (uint64_t)ti_boxes_volume(edge->box, edge->boxes);
    if (fate->told) {
        e.recipients = fate->told->recipients;
        e.depth = fate->told->depth;
    }
    if (!fate->more) {
        const bool planned = fate->told && !fate->told->left;
        e.sent = messages_of(edge, planned ? &fate->told->to : &graph->transfer.outgoing, &peers, &e.messages);
        e.received = messages_of(edge, planned ? &fate->told->from : &graph->transfer.incoming, &peers, &e.messages);
    }
    e.peers = (int)peers.count;
    if (fate->what) {
        collective_of(fate->what, node, &given, &got);
    }
    if (fate->hoisted) {
        collective_of(fate->hoisted, node, &given, &got);
    }
    e.sent = size * (e.sent + given);
    e.received = size * (e.received + got);
    ti_explain_note(graph->system->explain, &e);
    ti_map_fini(&peers);
}

/* Whether the reads find all of the edge where they are. */
static bool stays(const ti_command_use *use, const ti_edge *edge)
{
    for (uint32_t k = 0; k < edge->boxes; k++) {
        const ti_versions *hit = ti_version_map_query(&use->state->versions, &edge->box[k]);
        for (size_t i = 0; i < hit->count; i++) {
            if (!ti_version_is_free(hit->data[i], use->reads)) {
                return false;
            }
        }
    }
    return true;
}

/* The multicast that has brought the edge with this task, or NULL. */
static const ti_command_told *told_of(const ti_command_graph *graph, const ti_task *task, const ti_edge *edge)
{
    for (size_t i = 0; i < graph->multicast.told.count; i++) {
        const ti_command_told *told = &graph->multicast.told.data[i];
        if (told->task == task->id && told->buffer == edge->buffer && edge->boxes == 1 &&
            ti_box_covers(told->box, edge->box)) {
            return told;
        }
    }
    return NULL;
}

static void note_alone(ti_command_graph *graph, const ti_task *task, const ti_command_use *use, const ti_edge *edge)
{
    bool guessed = edge->merged && (edge->verdict == TI_VERDICT_OFF || edge->verdict == TI_VERDICT_HINT);
    bool may_have_come = graph->multicast.trees && edge->verdict == TI_VERDICT_ONE_TO_ONE;
    ti_edge_fate fate = { .verdict = edge->verdict, .told = told_of(graph, task, edge) };
    if (fate.told) {
        fate.verdict = fate.told->left ? TI_VERDICT_BROADCAST : TI_VERDICT_MULTICAST;
    } else if ((guessed || may_have_come) && stays(use, edge)) {
        fate.verdict = guessed ? TI_VERDICT_FREE : TI_VERDICT_CAME;
    }
    note(graph, edge, &fate);
}

/* The part of an edge that has this fate. */
static void note_part(ti_command_graph *graph, const ti_edge *edge, const ti_edge_fate *fate)
{
    ti_boxes common = { 0 };
    for (uint32_t i = 0; i < edge->boxes; i++) {
        for (uint32_t k = 0; k < fate->boxes; k++) {
            ti_boxes_push_common(&edge->box[i], &fate->box[k], &common);
        }
    }
    TI_ASSERT(ti_boxes_volume(common.data, common.count) <= ti_boxes_volume(edge->box, edge->boxes));
    ti_edge part = *edge;
    part.box = common.data;
    part.boxes = (uint32_t)common.count;
    if (part.boxes) {
        note(graph, &part, fate);
    }
    ti_vec_fini(&common);
}

void ti_command_note_edges(ti_command_graph *graph, const ti_task *task, const ti_command_use *use)
{
    for (uint32_t i = 0; i < task->edges; i++) {
        const ti_edge *edge = &task->edge[i];
        if (edge->buffer != use->state->info) {
            continue;
        }
        TI_ASSERT(edge->forward < (int)task->forwards);
        if (edge->forward < 0) {
            note_alone(graph, task, use, edge);
        }
        for (size_t k = 0; edge->forward >= 0 && k < graph->fates.count; k++) {
            const ti_edge_fate *fate = &graph->fates.data[k];
            if (fate->forward == (uint32_t)edge->forward) {
                (edge->merged ? note_part : note)(graph, edge, fate);
            }
        }
    }
}
