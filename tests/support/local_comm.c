/* Many nodes in one process: see local_comm.h.
 *
 * Everything that travels or waits is a *note*: an eager message (its one block is the copy behind the note), a late
 * message (its blocks are the sender's memory), or a wanted one (its blocks are the receiver's memory). A message and
 * a wanted note of one identity are matched by the receiver, who copies from the one's blocks to the other's; late
 * notes then go back to their sender as acknowledgements.
 *
 * Who may touch what: the hub owns one mailbox per ordered pair of nodes, behind a lock that is held for a few
 * instructions and never while bytes are copied. All else belongs to an endpoint and its thread. A note has one owner
 * at a time: sender, mailbox, receiver. After a change of a mailbox the changer sets its own bit in the news of the
 * other side, so that polling without news reads one word per 64 nodes.
 *
 * The early limit cannot deadlock: an eager message that would exceed it becomes a late one, which holds up nobody
 * else. */
#include "local_comm.h"

#include "base/check.h"
#include "base/map.h"
#include "base/park.h"
#include "base/vec.h"
#include "comm/combining.h"
#include "comm/exchange.h"
#include "comm/relay.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_PER_LINE = TI_CACHE_LINE / sizeof(uint64_t), MAX_MEMOS = 16 };

typedef enum note_kind { NOTE_EAGER, NOTE_LATE, NOTE_WANTED } note_kind;

typedef struct note {
    struct note *next;
    note_kind kind;
    int origin;
    uint64_t counter, token;
    size_t bytes;
    size_t size; /* of the note itself with all that lies behind it */
    uint32_t count;
    ti_block block[];
} note;

/* A note of comm.h on its way (called a memo here). */
typedef struct memo {
    int origin;
    size_t bytes;
    char text[TI_NOTE_BYTES];
} memo;

/* A frame of a relay on its way. */
typedef struct local_frame {
    int from;
    size_t bytes;
    _Alignas(uint64_t) char text[];
} local_frame;

typedef struct inbox {
    ti_lock lock;
    TI_VEC(memo *) memos;
    TI_VEC(local_frame *) frames;
    _Atomic size_t has_frames;
} inbox;

typedef struct mailbox {
    ti_lock lock;
    note *first, *last;   /* on the way to the receiver, oldest first */
    note *acknowledged;   /* on the way back to the sender */
    uint64_t early_bytes; /* eager bytes that were not matched yet */
} mailbox;

struct local_hub {
    int num_nodes;
    size_t eager, early_bytes;
    uint64_t seed;
    mailbox *boxes;         /* [origin * num_nodes + destination] */
    inbox *inboxes;         /* of memos, one per node */
    _Atomic uint64_t *news; /* [node * words + peer / 64], bit peer % 64 */
    size_t words;
    ti_lock barrier_lock;
    _Atomic bool aborted;
    char why[400];     /* published by `aborted`, written under the barrier lock */
    uint64_t *entered; /* barriers that each node has started */
    _Atomic uint64_t barriers_passed;
    _Atomic int relays; /* nodes that can be one */
    struct {
        int entered; /* nodes that have called since the last one, and what they add up to: under the barrier lock */
        uint64_t value;
        _Atomic uint64_t rounds, result;
    } sum;
    bool threaded; /* every endpoint has a thread of its own from the start */
};

typedef struct endpoint {
    ti_comm comm;
    local_hub *hub;
    ti_map *unmatched;      /* per origin: counter -> note */
    TI_VEC(note *) arrived; /* taken out of mailboxes and not delivered yet; [0, delivered) is past */
    size_t delivered;
    TI_VEC(uint64_t) done; /* completed tokens; [0, reported) is past */
    size_t reported;
    TI_VEC(uint64_t) barriers; /* tokens; [0, barriers_left) is past */
    size_t barriers_left;
    uint64_t barriers_passed;
    ti_groups groups;
    ti_direct direct;
    ti_combining combining;
    ti_relay relay;
    TI_VEC(uint64_t) relay_done;  /* tokens that the relay has not been told of */
    TI_VEC(local_frame *) frames; /* taken out of the inbox; [0, frames_taken) is past */
    size_t frames_taken;
    note *withdrawn; /* the receive that was taken back last; or NULL */
    uint64_t random; /* 0: no shaking */
    char error[200]; /* of a mismatch */
} endpoint;

/* ---- blocks */

typedef struct cursor {
    const ti_block *block;
    size_t outer, inner, offset;
} cursor;

static char *cursor_address(const cursor *c)
{
    return c->block->base + c->outer * c->block->stride[0] + c->inner * c->block->stride[1] + c->offset;
}

static void cursor_advance(cursor *c, size_t bytes)
{
    c->offset += bytes;
    if (c->offset < c->block->run) {
        return;
    }
    c->offset = 0;
    if (++c->inner < c->block->count[1]) {
        return;
    }
    c->inner = 0;
    if (++c->outer < c->block->count[0]) {
        return;
    }
    c->outer = 0;
    c->block++;
}

/* The two sides agree on the order of the bytes, not on the blocks: an allocation may be wider on one node than on the
 * other. */
static void copy_blocks(const ti_block *to, const ti_block *from, size_t bytes)
{
    cursor t = { .block = to }, f = { .block = from };
    while (bytes) {
        size_t n = TI_MIN(t.block->run - t.offset, f.block->run - f.offset);
        memcpy(cursor_address(&t), cursor_address(&f), n);
        cursor_advance(&t, n);
        cursor_advance(&f, n);
        bytes -= n;
    }
}

/* ---- notes */

static note *note_create(note_kind kind, int origin, uint64_t counter, uint64_t token, const ti_payload *payload)
{
    uint32_t count = kind == NOTE_EAGER ? 1 : payload->count;
    size_t header = sizeof(note) + count * sizeof(ti_block);
    size_t size = header + (kind == NOTE_EAGER ? payload->bytes : 0);
    note *n = ti_alloc(size);
    *n = (note){ .kind = kind, .origin = origin, .counter = counter, .token = token };
    n->bytes = payload->bytes;
    n->size = size;
    n->count = count;
    if (kind == NOTE_EAGER) {
        n->block[0] = (ti_block){ .base = (char *)n + header, .run = payload->bytes, .count = { 1, 1 } };
        copy_blocks(n->block, payload->block, payload->bytes);
    } else if (count) {
        memcpy(n->block, payload->block, count * sizeof(ti_block));
    }
    return n;
}

static void note_destroy_list(note *n)
{
    while (n) {
        note *next = n->next;
        ti_free(n, n->size);
        n = next;
    }
}

static void frame_destroy(local_frame *f)
{
    ti_free(f, sizeof(*f) + f->bytes);
}

/* ---- the hub */

static mailbox *mailbox_of(local_hub *hub, int origin, int destination)
{
    return &hub->boxes[(size_t)origin * (size_t)hub->num_nodes + (size_t)destination];
}

/* After the mailbox has changed, so that whoever takes the news finds the change. */
static void tell(local_hub *hub, int node, int peer)
{
    _Atomic uint64_t *word = &hub->news[(size_t)node * hub->words + (size_t)peer / 64];
    atomic_fetch_or_explicit(word, (uint64_t)1 << (peer % 64), memory_order_release);
}

local_hub *local_hub_create(int num_nodes, size_t eager, size_t early_bytes, uint64_t shake_seed)
{
    TI_ASSERT(num_nodes > 0);
    size_t n = (size_t)num_nodes;
    local_hub *hub = TI_NEW(local_hub);
    hub->num_nodes = num_nodes;
    hub->eager = eager;
    hub->early_bytes = early_bytes;
    hub->seed = shake_seed;
    hub->words = TI_ALIGN_UP((n + 63) / 64, WORDS_PER_LINE);
    hub->boxes = TI_NEW_ARRAY(mailbox, n * n);
    hub->inboxes = TI_NEW_ARRAY(inbox, n);
    hub->news = TI_NEW_ARRAY(_Atomic uint64_t, n * hub->words);
    hub->entered = TI_NEW_ARRAY(uint64_t, n);
    return hub;
}

void local_hub_destroy(local_hub *hub)
{
    size_t n = (size_t)hub->num_nodes;
    for (size_t i = 0; i < n * n; i++) {
        note_destroy_list(hub->boxes[i].first);
        note_destroy_list(hub->boxes[i].acknowledged);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < hub->inboxes[i].memos.count; k++) {
            TI_DELETE(hub->inboxes[i].memos.data[k]);
        }
        ti_vec_fini(&hub->inboxes[i].memos);
        for (size_t k = 0; k < hub->inboxes[i].frames.count; k++) {
            frame_destroy(hub->inboxes[i].frames.data[k]);
        }
        ti_vec_fini(&hub->inboxes[i].frames);
    }
    ti_free(hub->inboxes, n * sizeof(inbox));
    ti_free(hub->boxes, n * n * sizeof(mailbox));
    ti_free(hub->news, n * hub->words * sizeof(*hub->news));
    ti_free(hub->entered, n * sizeof(uint64_t));
    TI_DELETE(hub);
}

/* ---- shaking */

static uint64_t next_random(endpoint *self)
{
    uint64_t x = self->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return self->random = x;
}

/* Whether item `i` of `count` may go now; *pick is the one that goes in its place. */
static bool shake(endpoint *self, size_t i, size_t count, size_t *pick)
{
    *pick = i;
    if (!self->random) {
        return true;
    }
    uint64_t r = next_random(self);
    *pick = i + (size_t)((r >> 8) % (count - i));
    return (r & 3) != 0;
}

/* ---- completion */

static void complete(endpoint *self, uint64_t token)
{
    if (token & TI_RELAY_TOKEN) {
        ti_vec_push(&self->relay_done, token); /* not within a call of the relay's */
    } else if (token & TI_COMBINING_TOKEN) {
        ti_combining_message_done(&self->combining, token);
    } else if (!(token & TI_GROUP_TOKEN) || ti_groups_part_done(&self->groups, token, &token)) {
        ti_vec_push(&self->done, token);
    }
}

static void combine(endpoint *self)
{
    uint64_t token;
    while (ti_combining_advance(&self->combining, &token)) {
        ti_vec_push(&self->done, token);
    }
}

/* ---- matching, on the receiver's side */

/* Neither side is completed; from now on every poll reports the error. */
static void mismatch(endpoint *self, note *message, note *wanted)
{
    if (!self->comm.stats.error) {
        snprintf(self->error, sizeof(self->error), "node %d sent %zu bytes where %zu were expected", message->origin,
                 message->bytes, wanted->bytes);
        self->comm.stats.error = self->error;
        self->comm.stats.length_mismatch = true;
    }
    ti_free(message, message->size);
    ti_free(wanted, wanted->size);
}

static void end_eager(endpoint *self, note *message)
{
    mailbox *box = mailbox_of(self->hub, message->origin, self->comm.node);
    ti_lock_take(&box->lock);
    box->early_bytes -= message->bytes;
    ti_lock_drop(&box->lock);
    ti_free(message, message->size);
}

static void count_received(endpoint *self, size_t bytes)
{
    self->comm.stats.messages_received++;
    self->comm.stats.bytes_received += bytes;
}

static void finish(endpoint *self, note *message, note *wanted)
{
    if (message->bytes != wanted->bytes) {
        mismatch(self, message, wanted);
        return;
    }
    copy_blocks(wanted->block, message->block, message->bytes);
    complete(self, wanted->token);
    if (!(wanted->token & (TI_GROUP_TOKEN | TI_COMBINING_TOKEN | TI_RELAY_TOKEN))) {
        count_received(self, message->bytes);
    }
    ti_free(wanted, wanted->size);
    if (message->kind == NOTE_EAGER) {
        end_eager(self, message);
        return;
    }
    int origin = message->origin;
    mailbox *box = mailbox_of(self->hub, origin, self->comm.node);
    ti_lock_take(&box->lock);
    message->next = box->acknowledged;
    box->acknowledged = message;
    ti_lock_drop(&box->lock);
    tell(self->hub, origin, self->comm.node);
}

/* Completes `n` with its counterpart, or keeps it until that comes. */
static void match(endpoint *self, note *n)
{
    uint64_t found = 0;
    ti_map *map = &self->unmatched[n->origin];
    if (!ti_map_remove(map, n->counter, &found)) {
        *ti_map_at(map, n->counter) = (uint64_t)(uintptr_t)n;
        return;
    }
    note *other = (note *)(uintptr_t)found;
    if ((n->kind == NOTE_WANTED) == (other->kind == NOTE_WANTED)) {
        TI_PANIC("message %llu from node %d to node %d was %s twice", (unsigned long long)n->counter, n->origin,
                 self->comm.node, n->kind == NOTE_WANTED ? "expected" : "sent");
    }
    if (n->kind == NOTE_WANTED) {
        finish(self, other, n);
    } else {
        finish(self, n, other);
    }
}

/* ---- polling */

static void take_acknowledgements(endpoint *self, int peer)
{
    mailbox *box = mailbox_of(self->hub, self->comm.node, peer);
    ti_lock_take(&box->lock);
    note *list = box->acknowledged;
    box->acknowledged = NULL;
    ti_lock_drop(&box->lock);
    for (note *n = list; n; n = n->next) {
        complete(self, n->token);
    }
    note_destroy_list(list);
}

static void take_messages(endpoint *self, int peer)
{
    mailbox *box = mailbox_of(self->hub, peer, self->comm.node);
    ti_lock_take(&box->lock);
    note *list = box->first;
    box->first = box->last = NULL;
    ti_lock_drop(&box->lock);
    for (; list; list = list->next) {
        ti_vec_push(&self->arrived, list);
    }
}

static void take_news(endpoint *self)
{
    _Atomic uint64_t *news = &self->hub->news[(size_t)self->comm.node * self->hub->words];
    for (int first = 0; first < self->comm.num_nodes; first += 64, news++) {
        if (!atomic_load_explicit(news, memory_order_relaxed)) {
            continue;
        }
        uint64_t bits = atomic_exchange_explicit(news, 0, memory_order_acquire);
        for (; bits; bits &= bits - 1) {
            int peer = first + __builtin_ctzll(bits);
            take_acknowledgements(self, peer);
            take_messages(self, peer);
        }
    }
}

static void deliver(endpoint *self)
{
    size_t pick;
    while (self->delivered < self->arrived.count && shake(self, self->delivered, self->arrived.count, &pick)) {
        note *n = self->arrived.data[pick];
        self->arrived.data[pick] = self->arrived.data[self->delivered++];
        match(self, n);
    }
    if (self->delivered == self->arrived.count) {
        self->delivered = 0;
        ti_vec_clear(&self->arrived);
    }
}

static void pass_barriers(endpoint *self)
{
    uint64_t passed = atomic_load_explicit(&self->hub->barriers_passed, memory_order_acquire);
    while (self->barriers_left < self->barriers.count && self->barriers_passed < passed) {
        ti_vec_push(&self->done, self->barriers.data[self->barriers_left++]);
        self->barriers_passed++;
    }
    if (self->barriers_left == self->barriers.count) {
        self->barriers_left = 0;
        ti_vec_clear(&self->barriers);
    }
}

static int report(endpoint *self, uint64_t *tokens, int max)
{
    int n = 0;
    size_t pick;
    while (n < max && self->reported < self->done.count && shake(self, self->reported, self->done.count, &pick)) {
        tokens[n++] = self->done.data[pick];
        self->done.data[pick] = self->done.data[self->reported++];
    }
    if (self->reported == self->done.count) {
        self->reported = 0;
        ti_vec_clear(&self->done);
    }
    self->comm.pending -= (uint64_t)n;
    return n;
}

/* ---- the operations */

static void take_frames(endpoint *self)
{
    inbox *own = &self->hub->inboxes[self->comm.node];
    if (atomic_load_explicit(&own->has_frames, memory_order_relaxed)) {
        ti_lock_take(&own->lock);
        for (size_t i = 0; i < own->frames.count; i++) {
            ti_vec_push(&self->frames, own->frames.data[i]);
        }
        ti_vec_clear(&own->frames);
        atomic_store_explicit(&own->has_frames, 0, memory_order_relaxed);
        ti_lock_drop(&own->lock);
    }
    size_t pick;
    while (self->frames_taken < self->frames.count && shake(self, self->frames_taken, self->frames.count, &pick)) {
        local_frame *f = self->frames.data[pick];
        self->frames.data[pick] = self->frames.data[self->frames_taken++];
        ti_relay_take_frame(&self->relay, f->from, f->text);
        frame_destroy(f);
    }
    if (self->frames_taken == self->frames.count) {
        self->frames_taken = 0;
        ti_vec_clear(&self->frames);
    }
}

static void relay(endpoint *self)
{
    take_frames(self);
    while (self->relay_done.count) {
        ti_relay_message_done(&self->relay, self->relay_done.data[--self->relay_done.count]);
    }
}

static int local_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    endpoint *self = (endpoint *)comm;
    if (TI_UNLIKELY(atomic_load_explicit(&self->hub->aborted, memory_order_acquire))) {
        comm->stats.error = self->hub->why;
        return -1;
    }
    ti_combining_close(&self->combining);
    take_news(self);
    if (self->arrived.count) {
        deliver(self);
    }
    if (self->barriers.count) {
        pass_barriers(self);
    }
    relay(self);
    combine(self);
    if (TI_UNLIKELY(comm->stats.error != NULL)) {
        return -1;
    }
    return self->done.count ? report(self, tokens, max) : 0;
}

/* Reserves room for an eager message; false if it has to be a late one. */
static bool reserve_early(endpoint *self, mailbox *box, size_t bytes)
{
    if (bytes > self->hub->eager) {
        return false;
    }
    ti_lock_take(&box->lock);
    uint64_t early = box->early_bytes + bytes;
    bool fits = early <= self->hub->early_bytes;
    if (fits) {
        box->early_bytes = early;
    }
    ti_lock_drop(&box->lock);
    ti_comm_stats *stats = &self->comm.stats;
    if (fits) {
        stats->early_bytes_peak = TI_MAX(stats->early_bytes_peak, early);
    } else {
        stats->held_back++;
    }
    return fits;
}

static void post(endpoint *self, int peer, note *n)
{
    mailbox *box = mailbox_of(self->hub, self->comm.node, peer);
    ti_lock_take(&box->lock);
    if (box->last) {
        box->last->next = n;
    } else {
        box->first = n;
    }
    box->last = n;
    ti_lock_drop(&box->lock);
    tell(self->hub, peer, self->comm.node);
}

static void send(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    endpoint *self = (endpoint *)comm;
    TI_ASSERT(peer >= 0 && peer < comm->num_nodes);
    bool eager = reserve_early(self, mailbox_of(self->hub, comm->node, peer), payload->bytes);
    post(self, peer, note_create(eager ? NOTE_EAGER : NOTE_LATE, comm->node, counter, token, payload));
    if (eager) {
        complete(self, token);
    }
}

static void local_send(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    comm->pending++;
    comm->stats.messages_sent++;
    comm->stats.bytes_sent += payload->bytes;
    send(comm, peer, counter, payload, token);
}

static void local_receive(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    TI_ASSERT(origin >= 0 && origin < comm->num_nodes);
    comm->pending++;
    if (ti_relay_claim(&((endpoint *)comm)->relay, origin, counter, payload, token)) {
        return;
    }
    match((endpoint *)comm, note_create(NOTE_WANTED, origin, counter, token, payload));
}

/* ---- at once: eager messages, and with shaking, some of them */

static bool may_be_at_once(endpoint *self)
{
    size_t pick;
    return !self->comm.relays && (!self->random || (shake(self, 0, 2, &pick) && pick == 0));
}

static bool send_at_once(endpoint *self, int peer, uint64_t counter, const ti_payload *payload)
{
    const int node = self->comm.node;
    if (!may_be_at_once(self) || !reserve_early(self, mailbox_of(self->hub, node, peer), payload->bytes)) {
        return false;
    }
    post(self, peer, note_create(NOTE_EAGER, node, counter, 0, payload));
    return true;
}

static bool local_send_at_once(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload)
{
    if (!send_at_once((endpoint *)comm, peer, counter, payload)) {
        return false;
    }
    comm->stats.messages_sent++;
    comm->stats.bytes_sent += payload->bytes;
    return true;
}

static bool take_at_once(endpoint *self, int origin, uint64_t counter, const ti_payload *payload)
{
    if (!may_be_at_once(self)) {
        return false;
    }
    take_news(self);
    deliver(self);
    uint64_t found = 0;
    const uint64_t *slot = ti_map_find(&self->unmatched[origin], counter);
    note *message = slot ? (note *)(uintptr_t)*slot : NULL;
    if (!message || message->kind != NOTE_EAGER || message->bytes != payload->bytes) {
        return false;
    }
    ti_map_remove(&self->unmatched[origin], counter, &found);
    copy_blocks(payload->block, message->block, message->bytes);
    end_eager(self, message);
    return true;
}

static bool receive_at_once(endpoint *self, int origin, uint64_t counter, const ti_payload *payload, int *looks)
{
    bool is_here = false;
    for (bool again = true; again && !is_here; again = (*looks)-- > 0) {
        is_here = take_at_once(self, origin, counter, payload);
    }
    return is_here;
}

static bool local_receive_at_once(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, int looks)
{
    const bool is_there = receive_at_once((endpoint *)comm, origin, counter, payload, &looks);
    if (is_there) {
        count_received((endpoint *)comm, payload->bytes);
    }
    return is_there;
}

/* ---- broadcasts: segments are messages whose counters have another mark */

#define SEGMENT_COUNTER ((uint64_t)1 << 62)

enum { SEGMENT_BITS = 32 };

static uint64_t segment_counter(const ti_relay_message *m)
{
    return SEGMENT_COUNTER | (uint64_t)m->channel << SEGMENT_BITS | m->index;
}

static void send_frame(void *comm, int peer, const void *frame, size_t bytes)
{
    endpoint *self = comm;
    inbox *to = &self->hub->inboxes[peer];
    local_frame *f = ti_alloc(sizeof(*f) + bytes);
    f->from = self->comm.node;
    f->bytes = bytes;
    memcpy(f->text, frame, bytes);
    ti_lock_take(&to->lock);
    ti_vec_push(&to->frames, f);
    atomic_store_explicit(&to->has_frames, 1, memory_order_relaxed);
    ti_lock_drop(&to->lock);
}

static void send_segment(void *comm, const ti_relay_message *m)
{
    ti_block block = { .base = m->at, .run = m->bytes, .count = { 1, 1 } };
    send(comm, m->peer, segment_counter(m), &(ti_payload){ &block, 1, m->bytes }, m->token);
}

static void receive_segment(void *comm, const ti_relay_message *m)
{
    ti_block block = { .base = m->at, .run = m->bytes, .count = { 1, 1 } };
    match(comm, note_create(NOTE_WANTED, m->peer, segment_counter(m), m->token, &(ti_payload){ &block, 1, m->bytes }));
}

static void send_message(void *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    send(comm, peer, counter, payload, token);
}

static bool withdraw(void *comm, int origin, uint64_t counter, ti_payload *payload, uint64_t *token)
{
    endpoint *self = comm;
    uint64_t found;
    if (!ti_map_remove(&self->unmatched[origin], counter, &found)) {
        return false;
    }
    note *n = (note *)(uintptr_t)found;
    if (n->kind != NOTE_WANTED) {
        TI_PANIC("message %llu from node %d came twice", (unsigned long long)counter, origin);
    }
    ti_free(self->withdrawn, self->withdrawn ? self->withdrawn->size : 0);
    self->withdrawn = n;
    *payload = (ti_payload){ n->block, n->count, n->bytes };
    *token = n->token;
    return true;
}

static void repost(void *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    match(comm, note_create(NOTE_WANTED, origin, counter, token, payload));
}

static void sent(void *comm, uint64_t token)
{
    ti_vec_push(&((endpoint *)comm)->done, token);
}

static void received(void *comm, uint64_t token, size_t bytes)
{
    endpoint *self = comm;
    self->comm.stats.messages_received++;
    self->comm.stats.bytes_received += bytes;
    ti_vec_push(&self->done, token);
}

static void relay_mismatch(void *comm, int origin, size_t bytes, size_t expected)
{
    endpoint *self = comm;
    snprintf(self->error, sizeof(self->error), "node %d sent %zu bytes where %zu were expected", origin, bytes,
             expected);
    self->comm.stats.error = self->error;
    self->comm.stats.length_mismatch = true;
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
    .mismatch = relay_mismatch,
};

static void local_broadcast(ti_comm *comm, ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    comm->pending += count;
    comm->stats.messages_sent += count;
    comm->stats.bytes_sent += count * payload->bytes;
    endpoint *self = (endpoint *)comm;
    if (atomic_load_explicit(&self->hub->relays, memory_order_relaxed) == comm->num_nodes) {
        ti_relay_broadcast(&self->relay, list, count, payload);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        self->relay.ops->direct(self->relay.comm, list[i].node, list[i].counter, payload, list[i].token);
    }
}

/* Since nobody can wait for the others at the start (local_sum), they are counted here: broadcasts begin when all are
 * there, and never if one cannot be a relay. */
static void local_open_relays(ti_comm *comm)
{
    comm->relays = true;
    atomic_fetch_add_explicit(&((endpoint *)comm)->hub->relays, 1, memory_order_relaxed);
}

static ti_relay *local_relay(ti_comm *comm)
{
    return &((endpoint *)comm)->relay;
}

/* ---- collectives: parts are messages whose counters have a mark */

#define COLLECTIVE_COUNTER ((uint64_t)1 << 63)

enum { INDEX_BITS = 24 };

static uint64_t counter_of(uint64_t sequence, int phase, uint64_t index)
{
    TI_ASSERT(index < 1 << INDEX_BITS);
    return COLLECTIVE_COUNTER | (2 * sequence + (uint64_t)phase) << INDEX_BITS | index;
}

static void send_part(void *comm, int peer, const ti_exchange *x, const ti_payload *payload, uint64_t token)
{
    send(comm, peer, counter_of(x->sequence, 0, 0), payload, token);
}

static void receive_part(void *comm, int origin, const ti_exchange *x, const ti_payload *payload, uint64_t token)
{
    match(comm, note_create(NOTE_WANTED, origin, counter_of(x->sequence, 0, 0), token, payload));
}

static uint64_t number_of(const ti_combining_message *m)
{
    return counter_of(m->sequence, m->phase, m->index);
}

static void send_combining(void *comm, const ti_combining_message *m)
{
    const ti_block block = ti_block_of(m->at, m->bytes);
    send(comm, m->peer, number_of(m), &(ti_payload){ &block, 1, m->bytes }, m->token);
}

static void receive_combining(void *comm, const ti_combining_message *m)
{
    const ti_block block = ti_block_of(m->at, m->bytes);
    match(comm, note_create(NOTE_WANTED, m->peer, number_of(m), m->token, &(ti_payload){ &block, 1, m->bytes }));
}

static bool send_combining_at_once(void *comm, const ti_combining_message *m)
{
    const ti_block block = ti_block_of(m->at, m->bytes);
    return send_at_once(comm, m->peer, number_of(m), &(ti_payload){ &block, 1, m->bytes });
}

static bool receive_combining_at_once(void *comm, const ti_combining_message *m, int *looks)
{
    const ti_block block = ti_block_of(m->at, m->bytes);
    return receive_at_once(comm, m->peer, number_of(m), &(ti_payload){ &block, 1, m->bytes }, looks);
}

/* MPI would match collectives by their order; here they have numbers, and must have that order all the same. */
static void expect_order(const ti_comm *comm, const ti_exchange *x)
{
    if (x->sequence != comm->stats.collectives) {
        fprintf(stderr, "node %d starts collective %llu as its number %llu\n", comm->node,
                (unsigned long long)x->sequence, (unsigned long long)comm->stats.collectives);
        abort();
    }
}

static bool local_collective_at_once(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    endpoint *self = (endpoint *)comm;
    bool is_done;
    expect_order(comm, x);
    comm->stats.collectives++;
    comm->stats.carried[x->what->pattern][0]++;
    comm->stats.collective_bytes_out += x->bytes_out;
    comm->stats.collective_bytes_in += x->bytes_in;
    comm->pending++;
    if (ti_pattern_combines(x->what->pattern)) {
        is_done = ti_combining_start(&self->combining, x, token);
        combine(self);
    } else {
        is_done = !ti_direct_start(&self->direct, comm, &self->groups, x, token);
    }
    comm->pending -= is_done;
    return is_done;
}

static void local_collective(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    if (local_collective_at_once(comm, x, token)) {
        comm->pending++;
        ti_vec_push(&((endpoint *)comm)->done, token);
    }
}

static bool local_collective_look(ti_comm *comm, int looks)
{
    const bool is_done = ti_combining_look(&((endpoint *)comm)->combining, looks);
    comm->pending -= is_done;
    return is_done;
}

/* A barrier has passed when the node that is furthest behind has started it. */
static void local_barrier(ti_comm *comm, uint64_t token)
{
    endpoint *self = (endpoint *)comm;
    local_hub *hub = self->hub;
    comm->pending++;
    ti_vec_push(&self->barriers, token);
    ti_lock_take(&hub->barrier_lock);
    uint64_t least = ++hub->entered[comm->node];
    for (int node = 0; node < hub->num_nodes; node++) {
        least = TI_MIN(least, hub->entered[node]);
    }
    atomic_store_explicit(&hub->barriers_passed, least, memory_order_release);
    ti_lock_drop(&hub->barrier_lock);
}

static void local_destroy(ti_comm *comm)
{
    endpoint *self = (endpoint *)comm;
    for (size_t i = self->delivered; i < self->arrived.count; i++) {
        ti_free(self->arrived.data[i], self->arrived.data[i]->size);
    }
    for (int origin = 0; origin < comm->num_nodes; origin++) {
        ti_map *map = &self->unmatched[origin];
        for (size_t i = 0; i < map->capacity; i++) {
            note *n = map->used[i] ? (note *)(uintptr_t)map->slot[i].value : NULL;
            ti_free(n, n ? n->size : 0);
        }
        ti_map_fini(map);
    }
    ti_free(self->unmatched, (size_t)comm->num_nodes * sizeof(ti_map));
    ti_vec_fini(&self->arrived);
    ti_vec_fini(&self->done);
    ti_vec_fini(&self->barriers);
    ti_groups_fini(&self->groups);
    ti_direct_fini(&self->direct);
    ti_combining_fini(&self->combining, true);
    ti_relay_fini(&self->relay, true);
    for (size_t i = self->frames_taken; i < self->frames.count; i++) {
        frame_destroy(self->frames.data[i]);
    }
    ti_vec_fini(&self->frames);
    ti_vec_fini(&self->relay_done);
    ti_free(self->withdrawn, self->withdrawn ? self->withdrawn->size : 0);
    TI_DELETE(self);
}

/* The nodes share the process, so it goes on: from now on every poll of every node reports the error. */
static void local_abort(ti_comm *comm, const char *why)
{
    local_hub *hub = ((endpoint *)comm)->hub;
    ti_lock_take(&hub->barrier_lock);
    if (!atomic_load_explicit(&hub->aborted, memory_order_relaxed)) {
        snprintf(hub->why, sizeof(hub->why), "node %d ended the job: %s", comm->node, why);
        atomic_store_explicit(&hub->aborted, true, memory_order_release);
    }
    ti_lock_drop(&hub->barrier_lock);
}

void local_hub_set_threaded(local_hub *hub)
{
    hub->threaded = true;
}

/* One thread may create all endpoints, so nobody can wait for the others then: nodes of one process are set up alike.
 * Whoever has started a barrier has a thread of its own. */
static int64_t local_sum(ti_comm *comm, int64_t value)
{
    local_hub *hub = ((endpoint *)comm)->hub;
    ti_lock_take(&hub->barrier_lock);
    bool waits = hub->threaded || hub->entered[comm->node] > 0;
    uint64_t round = atomic_load_explicit(&hub->sum.rounds, memory_order_relaxed);
    if (waits) {
        hub->sum.value += (uint64_t)value;
        if (++hub->sum.entered == hub->num_nodes) {
            atomic_store_explicit(&hub->sum.result, hub->sum.value, memory_order_relaxed);
            hub->sum.value = 0;
            hub->sum.entered = 0;
            atomic_store_explicit(&hub->sum.rounds, round + 1, memory_order_release);
        }
    }
    ti_lock_drop(&hub->barrier_lock);
    if (!waits) {
        return value * comm->num_nodes;
    }
    while (atomic_load_explicit(&hub->sum.rounds, memory_order_acquire) == round &&
           !atomic_load_explicit(&hub->aborted, memory_order_acquire)) {
        sched_yield();
    }
    return (int64_t)atomic_load_explicit(&hub->sum.result, memory_order_relaxed);
}

/* ---- notes, called memos here */

static bool local_note_open(ti_comm *comm)
{
    (void)comm;
    return true;
}

static bool local_note_send(ti_comm *comm, int peer, const void *text, size_t bytes)
{
    inbox *to = &((endpoint *)comm)->hub->inboxes[peer];
    TI_ASSERT(bytes <= TI_NOTE_BYTES);
    ti_lock_take(&to->lock);
    bool room = to->memos.count < MAX_MEMOS;
    if (room) {
        memo *m = TI_NEW(memo);
        m->origin = comm->node;
        m->bytes = bytes;
        memcpy(m->text, text, bytes);
        ti_vec_push(&to->memos, m);
    }
    ti_lock_drop(&to->lock);
    return room;
}

static int local_note_poll(ti_comm *comm, int *origin, void *text)
{
    endpoint *self = (endpoint *)comm;
    inbox *own = &self->hub->inboxes[comm->node];
    if (atomic_load_explicit(&self->hub->aborted, memory_order_acquire)) {
        comm->stats.error = self->hub->why;
        return -1;
    }
    memo *m = NULL;
    ti_lock_take(&own->lock);
    if (own->memos.count) {
        m = own->memos.data[0];
        memmove(own->memos.data, own->memos.data + 1, --own->memos.count * sizeof(m));
    }
    ti_lock_drop(&own->lock);
    if (!m) {
        return 0;
    }
    int bytes = (int)m->bytes;
    *origin = m->origin;
    memcpy(text, m->text, m->bytes);
    TI_DELETE(m);
    return bytes;
}

static const ti_comm_ops local_ops = {
    .name = "local",
    .destroy = local_destroy,
    .send = local_send,
    .receive = local_receive,
    .send_at_once = local_send_at_once,
    .receive_at_once = local_receive_at_once,
    .broadcast = local_broadcast,
    .open_relays = local_open_relays,
    .relay = local_relay,
    .collective = local_collective,
    .collective_at_once = local_collective_at_once,
    .collective_look = local_collective_look,
    .barrier = local_barrier,
    .sum = local_sum,
    .poll = local_poll,
    .abort = local_abort,
    .note_open = local_note_open,
    .note_send = local_note_send,
    .note_poll = local_note_poll,
};

ti_comm *local_comm_create(local_hub *hub, int node)
{
    TI_ASSERT(node >= 0 && node < hub->num_nodes);
    endpoint *self = TI_NEW(endpoint);
    self->comm.ops = &local_ops;
    self->comm.node = node;
    self->comm.num_nodes = hub->num_nodes;
    self->comm.local_nodes = hub->num_nodes;
    self->comm.local_node = node;
    self->comm.sharing = hub->num_nodes;
    self->comm.sharing_before = node;
    self->hub = hub;
    self->unmatched = TI_NEW_ARRAY(ti_map, (size_t)hub->num_nodes);
    self->direct = (ti_direct){ .send = send_part, .receive = receive_part };
    /* All nodes alike; with shaking, so little that small arrays are cut too. */
    self->combining = (ti_combining){ .send = send_combining,
                                      .receive = receive_combining,
                                      .send_at_once = send_combining_at_once,
                                      .receive_at_once = receive_combining_at_once,
                                      .comm = self,
                                      .node = node,
                                      .segment = hub->seed ? (size_t)8 << hub->seed % 11 : 65536,
                                      .whole = hub->seed % 3 * 64 };
    /* With shaking: any tree, small segments, and now and then too little memory. */
    self->relay = (ti_relay){ .ops = &relay_ops,
                              .comm = self,
                              .node = node,
                              .tree = hub->seed ? (ti_tree)(hub->seed / 5 % (TI_TREE_BY_SIZE + 1)) : TI_TREE_BINOMIAL,
                              .limit = hub->seed % 5 == 1   ? 4096
                                       : hub->seed % 5 == 2 ? 0
                                                            : (size_t)64 << 20,
                              .segment = hub->seed ? (size_t)8 << hub->seed % 13 : 65536,
                              .stats = &self->comm.stats.relay,
                              .tap = &self->comm.tap };
    self->comm.segment = self->relay.segment;
    if (hub->seed) {
        self->random = ti_hash64(hub->seed * 0x9e3779b97f4a7c15u + (uint64_t)node + 1) | 1;
    }
    return &self->comm;
}
