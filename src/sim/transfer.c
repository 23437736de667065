/* Messages of a simulated node's instructions: see network.h.
 *
 * They do what the executor and the network of a run do: sends that are ready together leave by the executor's own
 * outbox, and those of one payload as a broadcast by the network's own relay (comm/relay.h). Here is what the relay
 * needs of a network: its frames and segments are messages that take their time, and payloads have no bytes. */
#include "sim/network.h"

#include "base/check.h"

#include <string.h>

/* Valid until the next call. Nobody touches the addresses, but whether they are one run counts. */
static ti_payload payload_of(ti_cluster *c, const ti_instruction *i)
{
    ti_payload payload = { .count = i->as.transfer.boxes };
    ti_vec_clear(&c->block);
    for (uint32_t k = 0; k < payload.count; k++) {
        const ti_instruction_box *b = &i->as.transfer.box[k];
        ti_block block = ti_layout_block((char *)c, &b->place.whole, &b->box, i->as.transfer.elem_size);
        ti_vec_push(&c->block, block);
        payload.bytes += ti_block_bytes(&block);
    }
    payload.block = c->block.data;
    return payload;
}

static void send(ti_cluster *c, node *n, const ti_instruction *i)
{
    int me = n->system.node;
    ti_payload payload = payload_of(c, i);
    ti_sim_count(c, me, i->as.transfer.peer, (double)payload.bytes, true);
    ti_sim_send_early(c, n, i->as.transfer.peer, i->as.transfer.counter, (double)payload.bytes, i->id);
}

void ti_sim_start_send(ti_cluster *c, node *n, const ti_instruction *i)
{
    if (n->listens || i->as.transfer.version) {
        ti_outbox_add(&n->outbox, i);
    } else {
        send(c, n, i);
    }
}

void ti_sim_start_receive(ti_cluster *c, node *n, const ti_instruction *i)
{
    n->waiting++;
    if (c->relays) {
        ti_payload payload = payload_of(c, i);
        if (ti_relay_claim(&n->relay, i->as.transfer.peer, i->as.transfer.counter, &payload, i->id)) {
            return;
        }
    }
    ti_sim_receive(c, n->system.node, ti_sim_key(i->as.transfer.peer, i->as.transfer.counter), i->id, false);
}

void ti_sim_empty_outbox(ti_cluster *c, node *n)
{
    ti_outbox_sort(&n->outbox);
    for (size_t g = 0; g < n->outbox.group.count; g++) {
        const ti_outbox_group *group = &n->outbox.group.data[g];
        bool is_broadcast = n->listens && ti_outbox_is_broadcast(&n->outbox, group);
        for (uint32_t i = 0; i < group->count && !is_broadcast; i++) {
            send(c, n, n->outbox.send.data[group->first + i]);
        }
        if (!is_broadcast) {
            continue;
        }
        ti_recipient *list = ti_outbox_recipients(&n->outbox, group);
        ti_payload payload = payload_of(c, ti_outbox_first(&n->outbox, group));
        for (uint32_t i = 0; i < group->count; i++) {
            ti_sim_count(c, n->system.node, list[i].node, (double)payload.bytes, true);
        }
        ti_relay_broadcast(&n->relay, list, group->count, &payload);
    }
    ti_outbox_clear(&n->outbox);
}

/* ---- what a relay asks of the network */

typedef struct endpoint {
    ti_cluster *cluster;
    node *node;
    ti_relay_tap tap;
} endpoint;

static uint32_t keep_frame(ti_cluster *c, int from, const void *text, size_t bytes)
{
    sim_frame frame = { .from = from, .text = ti_alloc(bytes), .bytes = bytes };
    memcpy(frame.text, text, bytes);
    if (c->free_frames.count == 0) {
        ti_vec_push(&c->frames, frame);
        return (uint32_t)c->frames.count - 1;
    }
    uint32_t index = c->free_frames.data[--c->free_frames.count];
    c->frames.data[index] = frame;
    return index;
}

/* There is always a receive for it. */
static void send_frame(void *comm, int peer, const void *frame, size_t bytes)
{
    const endpoint *e = comm;
    int me = e->node->system.node;
    uint64_t token = TI_OF_FRAME | keep_frame(e->cluster, me, frame, bytes);
    ti_sim_receive(e->cluster, peer, token, token, false);
    ti_sim_send(e->cluster, me, peer, token, (double)bytes, 0);
}

static uint64_t segment_key(const ti_relay_message *m)
{
    return TI_RELAY_TOKEN | (uint64_t)m->channel << 32 | m->index;
}

static void send_segment(void *comm, const ti_relay_message *m)
{
    const endpoint *e = comm;
    ti_sim_send(e->cluster, e->node->system.node, m->peer, segment_key(m), (double)m->bytes, m->token);
}

static void receive_segment(void *comm, const ti_relay_message *m)
{
    const endpoint *e = comm;
    ti_sim_receive(e->cluster, e->node->system.node, segment_key(m), m->token, false);
}

static void send_message(void *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    const endpoint *e = comm;
    ti_sim_send_early(e->cluster, e->node, peer, counter, (double)payload->bytes, token);
}

static bool withdraw(void *comm, int origin, uint64_t counter, ti_payload *payload, uint64_t *token)
{
    const endpoint *e = comm;
    if (!ti_sim_withdraw(e->cluster, e->node->system.node, ti_sim_key(origin, counter), token)) {
        return false;
    }
    *payload = payload_of(e->cluster, ti_engine_slot_of(&e->node->engine, *token)->instruction);
    return true;
}

static void repost(void *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    const endpoint *e = comm;
    (void)payload;
    ti_sim_receive(e->cluster, e->node->system.node, ti_sim_key(origin, counter), token, false);
}

static void sent(void *comm, uint64_t token)
{
    const endpoint *e = comm;
    ti_sim_complete(e->cluster, e->node, token);
}

static void received(void *comm, uint64_t token, size_t bytes)
{
    const endpoint *e = comm;
    ti_cluster *c = e->cluster;
    (void)bytes;
    if (e->node->copied > c->now) {
        ti_sim_later(c, e->node->copied, e->node->system.node, EVENT_DONE, token, TI_PATH_COPIES);
    } else {
        ti_sim_complete(c, e->node, token);
    }
}

/* All nodes have the same program. */
static void mismatch(void *comm, int origin, size_t bytes, size_t expected)
{
    (void)comm;
    (void)origin;
    (void)bytes;
    (void)expected;
    TI_UNREACHABLE();
}

/* What follows in this event waits for it, too, since that needs the same thread. */
static void copy(void *comm, size_t bytes)
{
    const endpoint *e = comm;
    const ti_platform *p = &e->cluster->platform;
    e->node->copied = ti_sim_use_executor(e->cluster, e->node, p->copy + (double)bytes * p->copy_byte);
}

static uint64_t clock_of(void *user)
{
    const endpoint *e = user;
    return ti_sim_note_clock(e->cluster);
}

static void note_relayed(void *user, const ti_relayed *what)
{
    const endpoint *e = user;
    ti_sim_note_relayed(e->node, what);
}

static const ti_relay_ops relay_ops = {
    .frame = send_frame,
    .send = send_segment,
    .receive = receive_segment,
    .direct = send_message,
    .withdraw = withdraw,
    .repost = repost,
    .sent = sent,
    .received = received,
    .mismatch = mismatch,
    .copy = copy,
};

void ti_sim_open_relay(ti_cluster *c, node *n, const ti_cluster_desc *desc)
{
    endpoint *e = TI_NEW(endpoint);
    *e = (endpoint){ .cluster = c, .node = n };
    if (n->recorder) {
        e->tap = (ti_relay_tap){ e, clock_of, note_relayed };
    }
    n->relay = (ti_relay){ .ops = &relay_ops,
                           .comm = e,
                           .node = n->system.node,
                           .tree = desc->tree,
                           .limit = desc->relay_bytes,
                           .segment = TI_RELAY_SEGMENT,
                           .stats = &n->relay_stats,
                           .tap = &e->tap };
}

void ti_sim_free_frames(ti_cluster *c)
{
    for (size_t i = 0; i < c->frames.count; i++) {
        if (c->frames.data[i].text) { /* the simulation has not come to its end */
            ti_free(c->frames.data[i].text, c->frames.data[i].bytes);
        }
    }
    ti_vec_fini(&c->frames);
    ti_vec_fini(&c->free_frames);
    ti_vec_fini(&c->block);
}

void ti_sim_fini_relay(node *n)
{
    ti_relay_fini(&n->relay, true);
    TI_DELETE((endpoint *)n->relay.comm);
    ti_outbox_fini(&n->outbox);
}

void ti_sim_relay_message(ti_cluster *c, node *n, uint64_t token)
{
    if (!(token & TI_OF_FRAME)) {
        ti_relay_message_done(&n->relay, token);
        return;
    }
    uint32_t index = (uint32_t)token;
    sim_frame frame = c->frames.data[index];
    c->frames.data[index].text = NULL;
    ti_vec_push(&c->free_frames, index);
    ti_relay_take_frame(&n->relay, frame.from, frame.text);
    ti_free(frame.text, frame.bytes);
}
