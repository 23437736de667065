/* Late delivery: see delay.h.
 *
 * What waits here is in one queue, by when it is due. Everything has the same delay, but messages that say when they
 * were sent have had a part of it when they come. An operation whose end is changed here runs in the inner communicator
 * with a token of this one's, a slot; all others have their caller's. Called by one thread at a time, like the inner
 * one. */
#include "comm/delay.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/vec.h"
#include "comm/exchange.h"
#include "comm/payload.h"
#include "comm/relay.h"

#include <string.h>

#define SLOT_TOKEN ((uint64_t)1 << 60)

typedef enum late_kind {
    LATE_SEND,    /* of the caller's token */
    LATE_COPY,    /* complete already */
    LATE_DIRECT,  /* of the relay */
    LATE_FRAME,   /* the same */
    LATE_SEGMENT, /* the same */
    LATE_REPORT   /* the end of a collective, barrier, or stamped message */
} late_kind;

/* What waits. Memory: blocks and bytes behind each other. */
typedef struct late {
    late_kind kind;
    int peer;
    uint64_t due, counter, token;
    ti_payload payload; /* in `memory` */
    void *memory;
    size_t size;
    ti_relay_message segment;
} late;

/* A message that says when it was sent: the caller's blocks, and one for that. */
typedef struct stamped {
    uint64_t sent;
    ti_block block[];
} stamped;

typedef enum slot_kind {
    SLOT_COPY,    /* of a message, whose sender knows nothing of it any more */
    SLOT_LATER,   /* its end is reported so much later */
    SLOT_SENT,    /* a stamped message */
    SLOT_RECEIVED /* a stamped message: reported when it is due */
} slot_kind;

/* What runs in the inner communicator, where that is not just as the caller said. */
typedef struct slot {
    slot_kind kind;
    uint64_t token;
    void *memory;
    size_t size;
    uint32_t next_free; /* + 1 */
} slot;

typedef struct delayed {
    ti_comm comm;
    ti_comm_ops ops;
    ti_comm *inner;
    uint64_t delay;
    ti_delay_clock clock;
    TI_VEC(late) queue; /* [0, past) is past */
    size_t past;
    TI_VEC(uint64_t) done; /* tokens; [0, reported) is past */
    size_t reported;
    TI_VEC(slot) slots;
    uint32_t free_slot; /* + 1 */
    size_t copied;      /* bytes */
    uint64_t waiting_messages, waiting_bytes;
    uint64_t stamps_sent, stamps_received; /* bytes */
    const ti_relay_ops *relay_ops;         /* of the inner relay, for itself */
    void *relay_comm;
} delayed;

static uint64_t now(const delayed *self)
{
    return self->clock.now ? self->clock.now(self->clock.user) : ti_clock_ns();
}

/* What others read of a communicator. Messages count when the caller sends them. */
static void mirror(delayed *self)
{
    ti_comm *comm = &self->comm;
    const ti_comm *inner = self->inner;
    comm->stats = inner->stats;
    comm->stats.messages_sent += self->waiting_messages;
    comm->stats.bytes_sent += self->waiting_bytes - self->stamps_sent;
    comm->stats.bytes_received -= self->stamps_received;
    comm->relays = inner->relays;
    comm->notes_pending = inner->notes_pending;
    comm->due = self->past < self->queue.count ? self->queue.data[self->past].due : 0;
}

/* ---- slots */

static uint64_t slot_take(delayed *self, const slot *content)
{
    uint32_t at = self->free_slot;
    if (at) {
        self->free_slot = self->slots.data[at - 1].next_free;
        self->slots.data[at - 1] = *content;
    } else {
        ti_vec_push(&self->slots, *content);
        at = (uint32_t)self->slots.count;
    }
    return SLOT_TOKEN | (at - 1);
}

static slot slot_drop(delayed *self, uint64_t token)
{
    size_t at = token & ~SLOT_TOKEN;
    TI_ASSERT(at < self->slots.count);
    slot content = self->slots.data[at];
    self->slots.data[at] = (slot){ .next_free = self->free_slot };
    self->free_slot = (uint32_t)at + 1;
    return content;
}

/* ---- the queue */

/* What has been late by a part of the delay already goes before others that have come sooner. */
static void wait_since(delayed *self, late item, uint64_t since)
{
    item.due = since + self->delay;
    ti_vec_push(&self->queue, item);
    for (size_t at = self->queue.count - 1; at > self->past && self->queue.data[at - 1].due > item.due; at--) {
        self->queue.data[at] = self->queue.data[at - 1];
        self->queue.data[at - 1] = item;
    }
    self->comm.pending++; /* so that somebody polls */
    mirror(self);
}

static void wait_until_due(delayed *self, late item)
{
    wait_since(self, item, now(self));
}

static late keep_blocks(late_kind kind, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    late item = { .kind = kind, .peer = peer, .counter = counter, .token = token, .payload = *payload };
    item.size = payload->count * sizeof(ti_block);
    item.memory = item.size ? ti_alloc(item.size) : NULL;
    if (item.size) {
        memcpy(item.memory, payload->block, item.size);
    }
    item.payload.block = item.memory;
    return item;
}

/* A block, and the bytes behind it, with room for `more`. */
static ti_block *copy_bytes(const ti_payload *payload, size_t more)
{
    ti_block *block = ti_alloc(sizeof(ti_block) + payload->bytes + more);
    *block = ti_block_of(block + 1, payload->bytes + more);
    ti_payload_pack(block->base, payload);
    return block;
}

static late keep_bytes(int peer, uint64_t counter, const ti_payload *payload)
{
    late item = { .kind = LATE_COPY, .peer = peer, .counter = counter, .size = sizeof(ti_block) + payload->bytes };
    item.memory = copy_bytes(payload, 0);
    item.payload = (ti_payload){ item.memory, 1, payload->bytes };
    return item;
}

/* Whether the message is complete for its sender at once. */
static bool is_copied(const delayed *self, const ti_payload *payload)
{
    return self->comm.attended && payload->bytes <= TI_DELAY_COPIED && self->copied + payload->bytes <= TI_DELAY_COPIES;
}

static void send_late(delayed *self, late *item)
{
    uint64_t token = item->token;
    self->waiting_messages--;
    self->waiting_bytes -= item->payload.bytes;
    if (item->kind == LATE_COPY) {
        token = slot_take(self, &(slot){ .kind = SLOT_COPY, .memory = item->memory, .size = item->size });
        self->comm.pending++; /* the caller knows nothing of it */
    }
    self->inner->ops->send(self->inner, item->peer, item->counter, &item->payload, token);
    item->memory = item->kind == LATE_COPY ? NULL : item->memory;
}

static void hand_over(delayed *self, late *item)
{
    switch (item->kind) {
    case LATE_SEND:
    case LATE_COPY:
        send_late(self, item);
        break;
    case LATE_DIRECT:
        self->relay_ops->direct(self->relay_comm, item->peer, item->counter, &item->payload, item->token);
        break;
    case LATE_FRAME:
        self->relay_ops->frame(self->relay_comm, item->peer, item->memory, item->size);
        break;
    case LATE_SEGMENT:
        self->relay_ops->send(self->relay_comm, &item->segment);
        break;
    case LATE_REPORT:
        ti_vec_push(&self->done, item->token);
        break;
    }
    ti_free(item->memory, item->size);
}

/* What is handed over may make more: the queue may move. */
static void hand_over_due(delayed *self)
{
    uint64_t at = self->past < self->queue.count ? now(self) : 0;
    while (self->past < self->queue.count && self->queue.data[self->past].due <= at) {
        late item = self->queue.data[self->past++];
        self->comm.pending--;
        hand_over(self, &item);
    }
    if (self->past == self->queue.count) {
        self->past = 0;
        ti_vec_clear(&self->queue);
    }
}

/* ---- stamped messages */

/* Both ends say the same of a message. What relays may bring has no stamp. */
static bool is_stamped(const delayed *self, const ti_payload *payload)
{
    return self->comm.local_nodes == self->comm.num_nodes && !self->inner->relays && payload->bytes <= TI_DELAY_COPIED;
}

static stamped *stamp(const delayed *self, const ti_payload *payload, size_t *size, ti_payload *out)
{
    *size = sizeof(stamped) + (payload->count + 1) * sizeof(ti_block);
    stamped *s = ti_alloc(*size);
    s->sent = now(self);
    memcpy(s->block, payload->block, payload->count * sizeof(ti_block));
    s->block[payload->count] = ti_block_of(&s->sent, sizeof(s->sent));
    *out = (ti_payload){ s->block, payload->count + 1, payload->bytes + sizeof(s->sent) };
    return s;
}

static void send_stamped(delayed *self, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    slot s = { SLOT_SENT, .token = token };
    ti_payload message;
    if (is_copied(self, payload)) {
        const uint64_t sent = now(self);
        ti_block *block = copy_bytes(payload, sizeof(sent));
        memcpy(block->base + payload->bytes, &sent, sizeof(sent));
        s = (slot){ SLOT_COPY, .memory = block, .size = sizeof(ti_block) + block->run };
        message = (ti_payload){ block, 1, block->run };
        self->copied += block->run;
        self->comm.pending++; /* the caller knows nothing of it */
        ti_vec_push(&self->done, token);
    } else {
        s.memory = stamp(self, payload, &s.size, &message);
    }
    self->stamps_sent += sizeof(uint64_t);
    self->inner->ops->send(self->inner, peer, counter, &message, slot_take(self, &s));
}

static void receive_stamped(delayed *self, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    slot s = { SLOT_RECEIVED, .token = token };
    ti_payload message;
    s.memory = stamp(self, payload, &s.size, &message);
    self->inner->ops->receive(self->inner, origin, counter, &message, slot_take(self, &s));
}

/* ---- operations */

static void delayed_send(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    delayed *self = (delayed *)comm;
    TI_ASSERT(token < SLOT_TOKEN);
    if (is_stamped(self, payload)) {
        comm->pending++;
        send_stamped(self, peer, counter, payload, token);
        mirror(self);
        return;
    }
    bool copies = is_copied(self, payload);
    late item = copies ? keep_bytes(peer, counter, payload) : keep_blocks(LATE_SEND, peer, counter, payload, token);
    comm->pending++;
    self->waiting_messages++;
    self->waiting_bytes += payload->bytes;
    if (copies) {
        self->copied += payload->bytes;
        ti_vec_push(&self->done, token);
    }
    wait_until_due(self, item);
}

static void delayed_receive(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    delayed *self = (delayed *)comm;
    TI_ASSERT(token < SLOT_TOKEN);
    comm->pending++;
    if (is_stamped(self, payload)) {
        receive_stamped(self, origin, counter, payload, token);
    } else {
        self->inner->ops->receive(self->inner, origin, counter, payload, token);
    }
    mirror(self);
}

static void delayed_broadcast(ti_comm *comm, ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    delayed *self = (delayed *)comm;
    comm->pending += count;
    self->inner->ops->broadcast(self->inner, list, count, payload);
    mirror(self);
}

static void delayed_collective(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    delayed *self = (delayed *)comm;
    comm->pending++;
    self->inner->ops->collective(self->inner, x, slot_take(self, &(slot){ SLOT_LATER, .token = token }));
    mirror(self);
}

static void delayed_barrier(ti_comm *comm, uint64_t token)
{
    delayed *self = (delayed *)comm;
    comm->pending++;
    self->inner->ops->barrier(self->inner, slot_take(self, &(slot){ SLOT_LATER, .token = token }));
    mirror(self);
}

static int64_t delayed_sum(ti_comm *comm, int64_t value)
{
    delayed *self = (delayed *)comm;
    int64_t sum = self->inner->ops->sum(self->inner, value);
    mirror(self);
    return sum;
}

static void take_received(delayed *self, const slot *s)
{
    const uint64_t sent = ((const stamped *)s->memory)->sent;
    self->stamps_received += sizeof(sent);
    if (sent + self->delay <= now(self)) {
        ti_vec_push(&self->done, s->token);
    } else {
        wait_since(self, (late){ .kind = LATE_REPORT, .token = s->token }, sent);
    }
}

/* What the inner communicator has done, which is the caller's, a copy's end, or the beginning of a delay. */
static void take_done(delayed *self, uint64_t token)
{
    if (!(token & SLOT_TOKEN)) {
        ti_vec_push(&self->done, token);
        return;
    }
    slot s = slot_drop(self, token);
    switch (s.kind) {
    case SLOT_COPY:
        self->copied -= s.size - sizeof(ti_block);
        self->comm.pending--;
        break;
    case SLOT_LATER:
        wait_until_due(self, (late){ .kind = LATE_REPORT, .token = s.token });
        break;
    case SLOT_SENT:
        ti_vec_push(&self->done, s.token);
        break;
    case SLOT_RECEIVED:
        take_received(self, &s);
        break;
    }
    ti_free(s.memory, s.size);
}

static int delayed_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    enum { AT_ONCE = 64 };
    delayed *self = (delayed *)comm;
    uint64_t inner[AT_ONCE];
    self->inner->listens = comm->listens;
    self->inner->tap = comm->tap;
    hand_over_due(self);
    int n = 0;
    if (self->inner->pending || self->inner->listens) {
        n = self->inner->ops->poll(self->inner, inner, AT_ONCE);
    }
    for (int i = 0; i < n; i++) {
        take_done(self, inner[i]);
    }
    mirror(self);
    if (n < 0) {
        return -1;
    }
    size_t count = TI_MIN(self->done.count - self->reported, (size_t)max);
    for (size_t i = 0; i < count; i++) {
        tokens[i] = self->done.data[self->reported++];
    }
    if (self->reported == self->done.count) {
        self->reported = 0;
        ti_vec_clear(&self->done);
    }
    comm->pending -= count;
    return (int)count;
}

static const void *delayed_communicator(const ti_comm *comm, const tacit_mpi_comm *like, int group)
{
    const ti_comm *inner = ((const delayed *)comm)->inner;
    return inner->ops->communicator(inner, like, group);
}

static bool delayed_open_group(ti_comm *comm, int group)
{
    ti_comm *inner = ((delayed *)comm)->inner;
    bool good = inner->ops->open_group(inner, group);
    comm->stats.error = inner->stats.error;
    return good;
}

static void delayed_abort(ti_comm *comm, const char *why)
{
    ti_comm *inner = ((delayed *)comm)->inner;
    inner->ops->abort(inner, why);
}

static bool delayed_note_open(ti_comm *comm)
{
    delayed *self = (delayed *)comm;
    bool good = self->inner->ops->note_open(self->inner);
    mirror(self);
    return good;
}

static bool delayed_note_send(ti_comm *comm, int peer, const void *note, size_t bytes)
{
    delayed *self = (delayed *)comm;
    bool sent = self->inner->ops->note_send(self->inner, peer, note, bytes);
    mirror(self);
    return sent;
}

static int delayed_note_poll(ti_comm *comm, int *origin, void *note)
{
    delayed *self = (delayed *)comm;
    int bytes = self->inner->ops->note_poll(self->inner, origin, note);
    mirror(self);
    return bytes;
}

/* What relays still have to say, others wait for as they end: it goes without a delay. After an error things may be
 * left; whoever would have been sent them has heard of it. */
static void end_queue(delayed *self)
{
    if (self->relay_ops) {
        ti_relay *relay = self->inner->ops->relay(self->inner);
        relay->ops = self->relay_ops;
        relay->comm = self->relay_comm;
    }
    while (!self->comm.stats.error && self->past < self->queue.count) {
        late item = self->queue.data[self->past++];
        hand_over(self, &item);
    }
}

static void delayed_destroy(ti_comm *comm)
{
    delayed *self = (delayed *)comm;
    self->inner->stats.error = comm->stats.error;
    end_queue(self);
    self->inner->ops->destroy(self->inner);
    for (size_t i = self->past; i < self->queue.count; i++) {
        ti_free(self->queue.data[i].memory, self->queue.data[i].size);
    }
    for (size_t i = 0; i < self->slots.count; i++) {
        ti_free(self->slots.data[i].memory, self->slots.data[i].size);
    }
    ti_vec_fini(&self->queue);
    ti_vec_fini(&self->done);
    ti_vec_fini(&self->slots);
    TI_DELETE(self);
}

/* ---- what relays send */

static void relay_frame(void *comm, int peer, const void *frame, size_t bytes)
{
    late item = { .kind = LATE_FRAME, .peer = peer, .memory = ti_alloc(bytes), .size = bytes };
    memcpy(item.memory, frame, bytes);
    wait_until_due(comm, item);
}

static void relay_send(void *comm, const ti_relay_message *message)
{
    wait_until_due(comm, (late){ .kind = LATE_SEGMENT, .segment = *message });
}

static void relay_direct(void *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    wait_until_due(comm, keep_blocks(LATE_DIRECT, peer, counter, payload, token));
}

static void relay_receive(void *comm, const ti_relay_message *message)
{
    delayed *self = comm;
    self->relay_ops->receive(self->relay_comm, message);
}

static bool relay_withdraw(void *comm, int origin, uint64_t counter, ti_payload *payload, uint64_t *token)
{
    delayed *self = comm;
    return self->relay_ops->withdraw(self->relay_comm, origin, counter, payload, token);
}

static void relay_repost(void *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    delayed *self = comm;
    self->relay_ops->repost(self->relay_comm, origin, counter, payload, token);
}

static void relay_sent(void *comm, uint64_t token)
{
    delayed *self = comm;
    self->relay_ops->sent(self->relay_comm, token);
}

static void relay_received(void *comm, uint64_t token, size_t bytes)
{
    delayed *self = comm;
    self->relay_ops->received(self->relay_comm, token, bytes);
}

static void relay_mismatch(void *comm, int origin, size_t sent, size_t expected)
{
    delayed *self = comm;
    self->relay_ops->mismatch(self->relay_comm, origin, sent, expected);
}

static const ti_relay_ops relay_ops = {
    .frame = relay_frame,
    .send = relay_send,
    .receive = relay_receive,
    .direct = relay_direct,
    .withdraw = relay_withdraw,
    .repost = relay_repost,
    .sent = relay_sent,
    .received = relay_received,
    .mismatch = relay_mismatch,
};

static void delayed_open_relays(ti_comm *comm)
{
    delayed *self = (delayed *)comm;
    self->inner->ops->open_relays(self->inner);
    ti_relay *relay = self->inner->ops->relay(self->inner);
    self->relay_ops = relay->ops;
    self->relay_comm = relay->comm;
    relay->ops = &relay_ops;
    relay->comm = self;
    mirror(self);
}

static const ti_comm_ops delayed_ops = {
    .name = "delayed",
    .destroy = delayed_destroy,
    .send = delayed_send,
    .receive = delayed_receive,
    .broadcast = delayed_broadcast,
    .open_relays = delayed_open_relays,
    .collective = delayed_collective,
    .barrier = delayed_barrier,
    .sum = delayed_sum,
    .poll = delayed_poll,
    .communicator = delayed_communicator,
    .open_group = delayed_open_group,
    .abort = delayed_abort,
    .note_open = delayed_note_open,
    .note_send = delayed_note_send,
    .note_poll = delayed_note_poll,
};

/* Who waits for what others send looks again after an eighth of the delay. */
enum { LOOKS_PER_DELAY = 8, MIN_NAP_NS = 10000, MAX_NAP_NS = 100000 };

ti_comm *ti_comm_delay_create(ti_comm *inner, uint64_t delay_ns, ti_delay_clock clock)
{
    delayed *self = TI_NEW(delayed);
    self->comm = *inner;
    self->ops = delayed_ops;
    if (!inner->ops->communicator) { /* kernels of a network without a library have none, with a delay as without */
        self->ops.communicator = NULL;
        self->ops.open_group = NULL;
    }
    self->comm.ops = &self->ops;
    self->comm.nap_ns = TI_MIN(TI_MAX(delay_ns / LOOKS_PER_DELAY, (uint64_t)MIN_NAP_NS), (uint64_t)MAX_NAP_NS);
    self->comm.delay_ns = delay_ns;
    self->inner = inner;
    self->delay = delay_ns;
    self->clock = clock;
    mirror(self);
    return &self->comm;
}
