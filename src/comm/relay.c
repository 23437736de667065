/* Broadcasts through relays: see relay.h. */
#include "comm/relay.h"

#include "base/check.h"
#include "comm/payload.h"

#include <stdlib.h>
#include <string.h>

/* Segments under way to one child, and those that a receiver waits for. More than one, so that the next travels while
 * the last is forwarded. */
enum { WINDOW = 4 };
enum { CHANNEL_BITS = 20, CHILD_BITS = 16, RECEIVE = (1 << CHILD_BITS) - 1 };
enum { COUNTER_BITS = 40 };

typedef enum frame_kind { FRAME_OFFER, FRAME_ANSWER, FRAME_SETTLED } frame_kind;

/* A recipient as it travels. */
typedef struct stop {
    uint64_t counter;
    int32_t node, priority;
} stop;

typedef struct frame {
    uint32_t kind;
    uint32_t stops;    /* offer: who gets it, the receiver first; settled: who could not take it */
    uint32_t transfer; /* offer: the sender's number; else: the receiver's, as the offer had it */
    uint32_t child;    /* of that transfer */
    int32_t origin;
    uint32_t tree;
    uint32_t channel; /* answer: for the segments; offer: bytes of the payload behind the list, all or none */
    uint32_t taken;   /* answer: TAKEN, and SETTLED if no other frame follows */
    uint64_t bytes, segment;
    stop stop[];
} frame;

enum { MAX_STOPS = (TI_RELAY_FRAME_BYTES - (int)sizeof(frame)) / (int)sizeof(stop) };

enum { TAKEN = 1, SETTLED = 2 };

typedef struct child {
    int node;
    uint32_t channel;
    bool answered, taken, settled;
    uint32_t next, finished; /* segments: to be sent, and done */
    uint64_t since;          /* of a traced run: when the first one left */
    TI_VEC(stop) stops;      /* the child first */
} child;

struct ti_relay_transfer {
    uint32_t number;
    bool used, is_root, settled, delivered;
    int origin;
    uint64_t counter; /* of this node's message */
    ti_tree tree;
    int parent;
    uint32_t parent_transfer, parent_child;
    size_t bytes, segment;
    uint32_t segments;
    char *data;           /* all bytes in one run */
    bool owned;           /* by the transfer: counted as the relay's memory */
    size_t unpacked;      /* bytes that are where the receive wants them */
    uint32_t wanted, got; /* segments: receives started, and all before are here */
    uint64_t here;        /* bit i: segment got + i */
    TI_VEC(child) children;
    uint32_t open;        /* children that have not settled or still get segments */
    TI_VEC(stop) refused; /* in the subtree */
    /* The receive of this node, once it is posted; of the root, what is sent. */
    bool claimed;
    uint64_t token;
    ti_payload payload;
    TI_VEC(ti_block) block;
    TI_VEC(ti_recipient) waiting; /* root: all of them */
};

typedef struct ti_relay_transfer transfer;

static uint64_t identity(int origin, uint64_t counter)
{
    TI_ASSERT(counter < (uint64_t)1 << COUNTER_BITS);
    return (uint64_t)origin << COUNTER_BITS | counter;
}

static uint64_t token_of(const transfer *t, uint32_t who, uint32_t index)
{
    TI_ASSERT(index < 1u << (61 - CHANNEL_BITS - CHILD_BITS));
    return TI_RELAY_TOKEN | (uint64_t)index << (CHANNEL_BITS + CHILD_BITS) | (uint64_t)who << CHANNEL_BITS | t->number;
}

/* ---- transfers */

static transfer *open_transfer(ti_relay *r)
{
    if (!r->unused.count) {
        if (r->transfer.count == TI_RELAY_CHANNELS) {
            return NULL;
        }
        transfer *fresh = TI_NEW(transfer);
        fresh->number = (uint32_t)r->transfer.count;
        ti_vec_push(&r->transfer, fresh);
        ti_vec_push(&r->unused, fresh->number);
    }
    transfer *t = r->transfer.data[r->unused.data[--r->unused.count]];
    TI_ASSERT(!t->used);
    *t = (transfer){ .number = t->number, .used = true };
    return t;
}

static void free_lists(transfer *t)
{
    for (size_t i = 0; i < t->children.count; i++) {
        ti_vec_fini(&t->children.data[i].stops);
    }
    ti_vec_fini(&t->children);
    ti_vec_fini(&t->refused);
    ti_vec_fini(&t->block);
    ti_vec_fini(&t->waiting);
}

static size_t room_of(const ti_relay *r, const transfer *t)
{
    return r->ops->copy ? 1 : t->bytes;
}

static void drop_data(ti_relay *r, transfer *t)
{
    if (t->owned) {
        ti_free(t->data, room_of(r, t));
        r->memory -= t->bytes;
        t->owned = false;
    }
}

static void close_transfer(ti_relay *r, transfer *t)
{
    drop_data(r, t);
    free_lists(t);
    t->used = false;
    ti_vec_push(&r->unused, t->number);
}

/* Memory for the whole payload, if the limit allows it. */
static bool own_data(ti_relay *r, transfer *t)
{
    if (t->bytes > r->limit || r->memory > r->limit - t->bytes) {
        return false;
    }
    t->data = ti_alloc(room_of(r, t));
    t->owned = true;
    r->memory += t->bytes;
    r->stats->memory_peak = TI_MAX(r->stats->memory_peak, r->memory);
    return true;
}

static void pack(const ti_relay *r, const transfer *t)
{
    if (r->ops->copy) {
        r->ops->copy(r->comm, t->bytes);
    } else {
        ti_payload_pack(t->data, &t->payload);
    }
}

/* From the relay's memory to where the receive wants it: if that is one run of bytes, what is here goes there while the
 * rest is on its way. To copy all in the end would keep the children waiting. */
static void unpack(const ti_relay *r, transfer *t)
{
    char *run = ti_payload_run(&t->payload);
    size_t here = TI_MIN(t->got * t->segment, t->bytes), more = here - t->unpacked;
    if (more == 0 || (!run && here < t->bytes)) {
        return;
    }
    if (r->ops->copy) {
        r->ops->copy(r->comm, more);
    } else if (run) {
        memcpy(run + t->unpacked, t->data + t->unpacked, more);
    } else {
        ti_payload_unpack(&t->payload, t->data);
    }
    t->unpacked = here;
}

static void set_size(transfer *t, size_t bytes, size_t segment)
{
    t->bytes = bytes;
    t->segment = segment;
    t->segments = (uint32_t)((bytes + segment - 1) / segment);
    TI_ASSERT(bytes > 0 && segment > 0);
}

static void keep_payload(transfer *t, const ti_payload *payload)
{
    ti_vec_clear(&t->block);
    for (uint32_t i = 0; i < payload->count; i++) {
        ti_vec_push(&t->block, payload->block[i]);
    }
    t->payload = (ti_payload){ t->block.data, payload->count, payload->bytes };
}

static ti_relay_message segment_of(const transfer *t, uint32_t index)
{
    size_t begin = (size_t)index * t->segment;
    return (ti_relay_message){ .index = index, .at = t->data + begin, .bytes = TI_MIN(t->segment, t->bytes - begin) };
}

/* ---- frames */

static void send_frame_with(ti_relay *r, int to, const frame *head, const stop *stops, const void *data, size_t size)
{
    _Alignas(frame) char bytes[TI_RELAY_FRAME_BYTES];
    size_t list = head->stops * sizeof(stop);
    TI_ASSERT(sizeof(*head) + list + size <= sizeof(bytes));
    memcpy(bytes, head, sizeof(*head));
    if (list) {
        memcpy(bytes + sizeof(*head), stops, list);
    }
    if (size && r->ops->copy) { /* payloads have no bytes */
        memset(bytes + sizeof(*head) + list, 0, size);
    } else if (size) {
        memcpy(bytes + sizeof(*head) + list, data, size);
    }
    r->ops->frame(r->comm, to, bytes, sizeof(*head) + list + size);
}

static void send_frame(ti_relay *r, int to, const frame *head, const stop *stops)
{
    send_frame_with(r, to, head, stops, NULL, 0);
}

/* What is small travels with the offer, which then is all that anybody waits for. */
static size_t carried_by_offer(const transfer *t, const child *c)
{
    size_t room = TI_RELAY_FRAME_BYTES - sizeof(frame) - c->stops.count * sizeof(stop);
    return t->got == t->segments && t->bytes <= TI_MIN((size_t)TI_RELAY_CARRIED, room) ? t->bytes : 0;
}

static bool is_seen(const ti_relay *r, const transfer *t)
{
    return r->tap->relayed && !t->is_root;
}

static void note_forwarded(ti_relay *r, const transfer *t, child *c, size_t bytes)
{
    r->stats->forwarded += !t->is_root;
    r->stats->forwarded_bytes += t->is_root ? 0 : bytes;
    if (TI_UNLIKELY(is_seen(r, t)) && c->since == 0) {
        c->since = r->tap->now(r->tap->user);
    }
}

/* The child has all segments, or has refused what came with the offer. */
static void note_relayed(ti_relay *r, const transfer *t, child *c)
{
    if (TI_UNLIKELY(is_seen(r, t)) && c->since && c->finished == t->segments) {
        r->tap->relayed(r->tap->user, &(ti_relayed){ .origin = t->origin,
                                                     .to = c->node,
                                                     .counter = c->stops.data[0].counter,
                                                     .bytes = t->bytes,
                                                     .start = c->since,
                                                     .end = r->tap->now(r->tap->user) });
        c->since = 0;
    }
}

static void send_offer(ti_relay *r, transfer *t, uint32_t index)
{
    child *c = &t->children.data[index];
    size_t carried = carried_by_offer(t, c);
    const frame offer = { .kind = FRAME_OFFER,
                          .stops = (uint32_t)c->stops.count,
                          .transfer = t->number,
                          .child = index,
                          .origin = t->origin,
                          .tree = t->tree,
                          .channel = (uint32_t)carried,
                          .bytes = t->bytes,
                          .segment = t->segment };
    if (carried) {
        c->next = c->finished = t->segments;
        note_forwarded(r, t, c, carried);
        r->stats->carried++;
    }
    send_frame_with(r, c->node, &offer, c->stops.data, t->data, carried);
}

/* Now, or when earlier offers have been answered. */
static void offer(ti_relay *r, transfer *t, uint32_t index)
{
    uint64_t *offers = ti_map_at(&r->offers, (uint64_t)t->children.data[index].node);
    if (*offers == TI_RELAY_OFFERS) {
        ti_vec_push(&r->held, (uint64_t)t->number << 32 | index);
        return;
    }
    ++*offers;
    send_offer(r, t, index);
}

/* An offer to `node` has been answered: the next that waits may go. */
static void let_go(ti_relay *r, int node)
{
    uint64_t *offers = ti_map_at(&r->offers, (uint64_t)node);
    TI_ASSERT(*offers > 0);
    --*offers;
    for (size_t i = 0; i < r->held.count; i++) {
        transfer *t = r->transfer.data[r->held.data[i] >> 32];
        uint32_t index = (uint32_t)r->held.data[i];
        if (t->children.data[index].node == node) {
            memmove(&r->held.data[i], &r->held.data[i + 1], (--r->held.count - i) * sizeof(uint64_t));
            ++*offers;
            send_offer(r, t, index);
            return;
        }
    }
}

/* ---- children */

/* For a list of `count`, which add_stop then gets in turn. */
static void open_children(transfer *t, uint32_t count)
{
    t->open = ti_tree_children(t->tree, count);
    for (uint32_t c = 0; c < t->open; c++) {
        ti_vec_push(&t->children, (child){ .node = -1 });
    }
}

static void add_stop(transfer *t, uint32_t i, stop s)
{
    child *c = &t->children.data[ti_tree_child_of(t->tree, i)];
    c->node = c->node < 0 ? s.node : c->node;
    ti_vec_push(&c->stops, s);
}

static void refuse(transfer *t, const stop *stops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ti_vec_push(&t->refused, stops[i]);
    }
}

static bool has_all(const transfer *t, const child *c)
{
    return c->answered && c->settled && (!c->taken || c->finished == t->segments);
}

static void feed(ti_relay *r, transfer *t, uint32_t index)
{
    child *c = &t->children.data[index];
    while (c->taken && c->next < t->got && c->next - c->finished < WINDOW) {
        ti_relay_message m = segment_of(t, c->next++);
        m.peer = c->node;
        m.channel = c->channel;
        m.token = token_of(t, index, m.index);
        note_forwarded(r, t, c, m.bytes);
        r->ops->send(r->comm, &m);
    }
}

static void feed_all(ti_relay *r, transfer *t)
{
    for (uint32_t i = 0; i < t->children.count; i++) {
        feed(r, t, i);
    }
}

/* ---- the end of a transfer */

static uint64_t *token_at(transfer *t, const stop *s)
{
    uint32_t i = 0;
    while (t->waiting.data[i].node != s->node || t->waiting.data[i].counter != s->counter) {
        i++;
        TI_ASSERT(i < t->waiting.count);
    }
    return &t->waiting.data[i].token;
}

/* Who took the offer needs the root no more. Each of the others becomes an ordinary send, which nobody waits for but
 * who would have waited for it anyway. */
static void finish_root(ti_relay *r, transfer *t)
{
    if (t->open) {
        return;
    }
    r->stats->refused += t->refused.count;
    for (size_t i = 0; i < t->refused.count; i++) {
        const stop *s = &t->refused.data[i];
        uint64_t *token = token_at(t, s);
        r->ops->direct(r->comm, s->node, s->counter, &t->payload, *token);
        *token = UINT64_MAX;
    }
    for (size_t i = 0; i < t->waiting.count; i++) {
        if (t->waiting.data[i].token != UINT64_MAX) {
            r->ops->sent(r->comm, t->waiting.data[i].token);
        }
    }
    close_transfer(r, t);
}

static void deliver(ti_relay *r, transfer *t)
{
    TI_ASSERT(!t->delivered && t->got == t->segments);
    t->delivered = true;
    r->ops->received(r->comm, t->token, t->bytes);
}

/* What may end now: this node's message, the subtree's answer, the transfer. */
static void finish(ti_relay *r, transfer *t)
{
    if (t->is_root) {
        finish_root(r, t);
        return;
    }
    if (t->claimed && t->owned) {
        unpack(r, t);
    }
    if (t->claimed && !t->delivered && t->got == t->segments) {
        deliver(r, t);
    }
    bool all_settled = true;
    for (size_t i = 0; i < t->children.count && all_settled; i++) {
        all_settled = t->children.data[i].settled;
    }
    if (all_settled && !t->settled) {
        t->settled = true;
        const frame head = { .kind = FRAME_SETTLED,
                             .stops = (uint32_t)t->refused.count,
                             .transfer = t->parent_transfer,
                             .child = t->parent_child };
        send_frame(r, t->parent, &head, t->refused.data);
    }
    if (t->settled && t->delivered && t->open == 0) {
        close_transfer(r, t);
    }
}

/* ---- what comes */

static void want_segments(ti_relay *r, transfer *t)
{
    while (t->wanted < t->segments && t->wanted - t->got < WINDOW) {
        ti_relay_message m = segment_of(t, t->wanted++);
        m.peer = t->parent;
        m.channel = t->number;
        m.token = token_of(t, RECEIVE, m.index);
        r->ops->receive(r->comm, &m);
    }
}

static void answer(ti_relay *r, int to, const frame *offered, uint32_t channel, uint32_t taken)
{
    const frame head = {
        .kind = FRAME_ANSWER, .transfer = offered->transfer, .child = offered->child, .channel = channel, .taken = taken
    };
    send_frame(r, to, &head, NULL);
}

/* Finds a home for the bytes: where the receive wants them, if they need not be forwarded, or memory of the relay's. */
static bool find_home(ti_relay *r, transfer *t, const frame *f)
{
    ti_payload payload;
    t->claimed = r->ops->withdraw(r->comm, f->origin, t->counter, &payload, &t->token);
    char *run = NULL;
    if (t->claimed) {
        keep_payload(t, &payload);
        run = ti_payload_run(&t->payload);
    }
    if (run && f->stops == 1) {
        t->data = run;
        return true;
    }
    if (own_data(r, t)) {
        open_children(t, f->stops - 1);
        for (uint32_t i = 1; i < f->stops; i++) {
            add_stop(t, i - 1, f->stop[i]);
        }
        return true;
    }
    t->data = run;
    refuse(t, &f->stop[1], run ? f->stops - 1 : 0);
    return run != NULL;
}

static void take_offer(ti_relay *r, int from, const frame *f)
{
    transfer *t = open_transfer(r);
    if (!t) {
        answer(r, from, f, 0, SETTLED);
        return;
    }
    t->origin = f->origin;
    t->counter = f->stop[0].counter;
    t->tree = (ti_tree)f->tree;
    t->parent = from;
    t->parent_transfer = f->transfer;
    t->parent_child = f->child;
    set_size(t, f->bytes, f->segment);
    TI_ASSERT(f->stop[0].node == r->node && f->tree < TI_TREE_KINDS);
    if (!find_home(r, t, f)) {
        answer(r, from, f, 0, SETTLED);
        if (t->claimed) { /* the ordinary message will come */
            r->ops->repost(r->comm, t->origin, t->counter, &t->payload, t->token);
        }
        close_transfer(r, t);
        return;
    }
    if (t->claimed && t->payload.bytes != t->bytes) {
        r->ops->mismatch(r->comm, t->origin, t->bytes, t->payload.bytes);
        return;
    }
    if (!t->claimed) {
        *ti_map_at(&r->early, identity(t->origin, t->counter)) = t->number + 1;
    }
    if (f->channel) {
        TI_ASSERT(f->channel == t->bytes);
        if (!r->ops->copy) {
            memcpy(t->data, &f->stop[f->stops], t->bytes);
        }
        t->wanted = t->got = t->segments;
    }
    want_segments(r, t);
    t->settled = !t->children.count && !t->refused.count;
    answer(r, from, f, t->number, TAKEN | (t->settled ? SETTLED : 0));
    for (uint32_t i = 0; i < t->children.count; i++) {
        offer(r, t, i);
    }
    finish(r, t);
}

static void close_child(transfer *t, const child *c)
{
    if (has_all(t, c)) {
        TI_ASSERT(t->open > 0);
        t->open--;
    }
}

static void take_answer(ti_relay *r, transfer *t, const frame *f)
{
    child *c = &t->children.data[f->child];
    int node = c->node;
    TI_ASSERT(!c->answered);
    c->answered = true;
    c->taken = (f->taken & TAKEN) != 0;
    c->settled |= (f->taken & SETTLED) != 0;
    c->channel = f->channel;
    if (!c->taken) {
        refuse(t, c->stops.data, c->stops.count);
    }
    note_relayed(r, t, c);
    feed(r, t, f->child);
    close_child(t, &t->children.data[f->child]);
    finish(r, t);
    let_go(r, node);
}

static void take_settled(ti_relay *r, transfer *t, const frame *f)
{
    child *c = &t->children.data[f->child];
    TI_ASSERT(!c->settled);
    c->settled = true;
    refuse(t, f->stop, f->stops);
    close_child(t, c);
    finish(r, t);
}

void ti_relay_take_frame(ti_relay *r, int from, const void *bytes)
{
    const frame *f = bytes;
    if (f->kind == FRAME_OFFER) {
        take_offer(r, from, f);
        return;
    }
    TI_ASSERT(f->transfer < r->transfer.count && r->transfer.data[f->transfer]->used);
    transfer *t = r->transfer.data[f->transfer];
    TI_ASSERT(f->child < t->children.count && t->children.data[f->child].node == from);
    if (f->kind == FRAME_ANSWER) {
        take_answer(r, t, f);
    } else {
        take_settled(r, t, f);
    }
}

static void segment_came(ti_relay *r, transfer *t, uint32_t index)
{
    TI_ASSERT(index >= t->got && index - t->got < WINDOW);
    t->here |= (uint64_t)1 << (index - t->got);
    while (t->here & 1) {
        t->here >>= 1;
        t->got++;
    }
    want_segments(r, t);
    feed_all(r, t);
    finish(r, t);
}

void ti_relay_message_done(ti_relay *r, uint64_t token)
{
    uint32_t number = (uint32_t)(token & ((1u << CHANNEL_BITS) - 1));
    uint32_t index = (uint32_t)((token & ~TI_RELAY_TOKEN) >> (CHANNEL_BITS + CHILD_BITS));
    uint32_t who = (uint32_t)(token >> CHANNEL_BITS) & ((1u << CHILD_BITS) - 1);
    transfer *t = r->transfer.data[number];
    TI_ASSERT(t->used);
    if (who == RECEIVE) {
        segment_came(r, t, index);
    } else {
        t->children.data[who].finished++;
        note_relayed(r, t, &t->children.data[who]);
        feed(r, t, who);
        close_child(t, &t->children.data[who]);
        finish(r, t);
    }
}

bool ti_relay_claim(ti_relay *r, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    uint64_t found;
    if (!r->early.count || !ti_map_remove(&r->early, identity(origin, counter), &found)) {
        return false;
    }
    transfer *t = r->transfer.data[found - 1];
    TI_ASSERT(t->used && !t->claimed);
    if (payload->bytes != t->bytes) {
        r->ops->mismatch(r->comm, origin, t->bytes, payload->bytes);
        return true;
    }
    t->claimed = true;
    t->token = token;
    keep_payload(t, payload);
    finish(r, t);
    return true;
}

/* ---- the root */

static int by_priority(const void *a, const void *b)
{
    const ti_recipient *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return (x->node > y->node) - (x->node < y->node);
}

/* Where there is no tree, or no memory. */
static void send_directly(ti_relay *r, const ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    for (uint32_t i = 0; i < count; i++) {
        r->ops->direct(r->comm, list[i].node, list[i].counter, payload, list[i].token);
    }
}

static bool find_root_data(ti_relay *r, transfer *t)
{
    t->data = ti_payload_run(&t->payload);
    if (!t->data && own_data(r, t)) {
        pack(r, t);
    }
    return t->data != NULL;
}

static transfer *open_root(ti_relay *r, ti_tree tree, const ti_payload *payload)
{
    transfer *t = open_transfer(r);
    if (!t) {
        return NULL;
    }
    t->is_root = true;
    t->origin = r->node;
    t->tree = tree;
    set_size(t, payload->bytes, r->segment);
    t->got = t->segments;
    keep_payload(t, payload);
    if (!find_root_data(r, t)) {
        close_transfer(r, t);
        return NULL;
    }
    return t;
}

static void start_root(ti_relay *r, transfer *t, const ti_recipient *list, uint32_t count)
{
    open_children(t, count);
    for (uint32_t i = 0; i < count; i++) {
        add_stop(t, i, (stop){ list[i].counter, list[i].node, list[i].priority });
        ti_vec_push(&t->waiting, list[i]);
    }
    for (uint32_t i = 0; i < t->children.count; i++) {
        offer(r, t, i);
    }
}

static void broadcast_some(ti_relay *r, const ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    uint64_t segments = (payload->bytes + r->segment - 1) / r->segment;
    ti_tree tree = r->tree == TI_TREE_BY_SIZE ? ti_tree_by_size(count, segments) : r->tree;
    transfer *t = ti_tree_children(tree, count) < count ? open_root(r, tree, payload) : NULL;
    if (!t) {
        send_directly(r, list, count, payload);
        return;
    }
    r->stats->broadcasts++;
    r->stats->recipients += count;
    start_root(r, t, list, count);
    TI_ASSERT(t->open > 0);
}

void ti_relay_broadcast(ti_relay *r, ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    qsort(list, count, sizeof(*list), by_priority);
    for (uint32_t done = 0; done < count;) {
        uint32_t some = TI_MIN(count - done, (uint32_t)MAX_STOPS);
        broadcast_some(r, list + done, some, payload);
        done += some;
    }
}

bool ti_relay_is_idle(const ti_relay *r)
{
    return r->transfer.count == r->unused.count;
}

void ti_relay_fini(ti_relay *r, bool with_pending)
{
    for (size_t i = 0; i < r->transfer.count; i++) {
        transfer *t = r->transfer.data[i];
        if (t->used && !with_pending) {
            continue;
        }
        if (t->used) {
            drop_data(r, t);
            free_lists(t);
        }
        TI_DELETE(t);
    }
    ti_vec_fini(&r->transfer);
    ti_vec_fini(&r->unused);
    ti_vec_fini(&r->held);
    ti_map_fini(&r->early);
    ti_map_fini(&r->offers);
}
