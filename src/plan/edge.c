/* Edges for the report: see edge.h. */
#include "plan/edge.h"

#include "base/map.h"

static uint64_t volume_of(const ti_box *box, size_t count)
{
    uint64_t volume = 0;
    for (size_t i = 0; i < count; i++) {
        volume += (uint64_t)ti_box_volume(&box[i]);
    }
    return volume;
}

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
    *received += volume_of(boxes.data, boxes.count);
    ti_vec_clear(&boxes);
    ti_vec_clear(&own);
    ti_collective_given(what, node, &boxes);
    if (what->to.kind != TI_PARTS_ALL && !what->members) {
        for (size_t i = 0; i < boxes.count; i++) {
            ti_parts_of(&what->to, node, &boxes.data[i], &own);
        }
    }
    *sent += volume_of(boxes.data, boxes.count) - volume_of(own.data, own.count);
    ti_vec_fini(&boxes);
    ti_vec_fini(&own);
}

static void note(ti_explain *explain, int node, const ti_edge *edge, const ti_edge_fate *fate,
                 const ti_transfer_planner *transfer)
{
    ti_map peers = { 0 };
    char region[TI_BOX_TEXT];
    uint64_t size = edge->buffer->elem_size, given = 0, got = 0;
    ti_explain_edge e = { .producer = edge->producer,
                          .consumer = edge->consumer,
                          .buffer = edge->name,
                          .verdict = fate->verdict,
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
        given = volume_of(edge->box, edge->boxes);
        got = e.pattern == TI_PATTERN_ALL_REDUCE ? given : 0;
    }
    e.region = ti_box_format(example, TI_MAX(edge->buffer->dims, 1), region);
    e.bytes = size * volume_of(edge->box, edge->boxes);
    e.sent = messages_of(edge, &transfer->outgoing, &peers, &e.messages);
    e.received = messages_of(edge, &transfer->incoming, &peers, &e.messages);
    e.peers = (int)peers.count;
    if (fate->what) {
        collective_of(fate->what, node, &given, &got);
    }
    if (fate->hoisted) {
        collective_of(fate->hoisted, node, &given, &got);
    }
    e.sent = size * (e.sent + given);
    e.received = size * (e.received + got);
    ti_explain_note(explain, &e);
    ti_map_fini(&peers);
}

void ti_edges_note(ti_explain *explain, int node, const ti_task *task, const ti_buffer_info *buffer,
                   const ti_edge_fates *fates, const ti_transfer_planner *transfer)
{
    for (uint32_t i = 0; i < task->edges; i++) {
        const ti_edge *edge = &task->edge[i];
        if (edge->buffer == buffer) {
            ti_edge_fate own = { .verdict = edge->verdict };
            note(explain, node, edge, edge->forward < 0 ? &own : &fates->data[edge->forward], transfer);
        }
    }
}
