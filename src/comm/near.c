/* Short messages between nodes of one machine: see near.h. */
#include "comm/near.h"

#include "base/check.h"
#include "base/park.h"
#include "comm/payload.h"

#include <string.h>

static ti_near_peer *peer_at(const ti_near *near, int64_t at, int node)
{
    bool good = at >= 0 && (size_t)at < near->peer.count && near->peer.data[at].node == node;
    return good ? &near->peer.data[at] : NULL;
}

/* Most machines have nodes with consecutive numbers, of which this one is left out. */
ti_near_peer *ti_near_find(const ti_near *near, int node)
{
    const int64_t guess = near->peer.count ? (int64_t)node - near->peer.data[0].node : -1;
    ti_near_peer *peer = peer_at(near, guess, node);
    peer = peer ? peer : peer_at(near, guess - 1, node);
    size_t begin = 0, end = near->peer.count;
    while (!peer && begin < end) {
        size_t middle = (begin + end) / 2;
        bool is_behind = near->peer.data[middle].node < node;
        begin = is_behind ? middle + 1 : begin;
        end = is_behind ? end : middle;
    }
    return peer ? peer : peer_at(near, (int64_t)begin, node);
}

/* ---- what waits */

/* The first with this counter or a higher one. Most are found where they are looked for first. */
static size_t place_of(const ti_near_list *list, uint64_t counter)
{
    size_t begin = list->begin, end = list->at.count;
    if (begin < end && list->at.data[begin].what.counter == counter) {
        return begin;
    }
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (list->at.data[middle].what.counter < counter) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

/* Behind those with the same counter. */
static void insert(ti_near_list *list, const ti_near_waiting *w)
{
    size_t at = list->at.count;
    ti_vec_push(&list->at, *w);
    for (; at > list->begin && list->at.data[at - 1].what.counter > w->what.counter; at--) {
        list->at.data[at] = list->at.data[at - 1];
    }
    list->at.data[at] = *w;
}

static void take_out(ti_near_list *list, size_t at)
{
    TI_ASSERT(at >= list->begin && at < list->at.count);
    if (at == list->begin) {
        list->begin++;
    } else {
        list->at.count--;
        memmove(&list->at.data[at], &list->at.data[at + 1], (list->at.count - at) * sizeof(*list->at.data));
    }
    size_t left = list->at.count - list->begin;
    if (left <= list->begin) { /* so it is moved half as often as messages come, at most */
        memmove(list->at.data, &list->at.data[list->begin], left * sizeof(*list->at.data));
        list->at.count = left;
        list->begin = 0;
    }
}

static bool is_empty(const ti_near_list *list)
{
    return list->begin == list->at.count;
}

static bool find(const ti_near_list *list, uint64_t counter, size_t *at)
{
    *at = place_of(list, counter);
    return *at < list->at.count && list->at.data[*at].what.counter == counter;
}

/* ---- sending */

/* The payload is there. */
static void post(ti_near_peer *peer, ti_mailbox_message *message, const ti_near_message *what, bool point)
{
    message->counter = what->counter;
    message->route = (uint16_t)what->route;
    message->asks = point;
    ti_mailbox_post(&peer->out, message);
}

/* If there is room, and nothing waits for it. */
static bool send_now(ti_near *near, ti_near_peer *peer, const ti_near_message *what, bool point,
                     const ti_payload *payload)
{
    TI_ASSERT(payload->bytes == what->bytes && what->bytes <= near->limit);
    ti_mailbox_message *message = is_empty(&peer->held) ? ti_mailbox_room(&peer->out, what->bytes, &near->draft) : NULL;
    if (message) {
        ti_payload_pack(message->data, payload);
        post(peer, message, what, point);
    }
    return message;
}

bool ti_near_send_at_once(ti_near *near, ti_near_peer *peer, const ti_near_message *what, const ti_payload *payload)
{
    return send_now(near, peer, what, false, payload);
}

bool ti_near_send(ti_near *near, ti_near_peer *peer, const ti_near_message *what, bool point, const ti_payload *payload)
{
    TI_ASSERT(!(point && peer->points > peer->passed));
    peer->points += point;
    if (send_now(near, peer, what, point, payload)) {
        return true;
    }
    ti_near_waiting w = { .what = *what, .asks = point };
    w.parcel = ti_parcel_create(near->parcels, payload, false, true);
    ti_payload_pack(w.parcel->packed, payload);
    ti_vec_push(&peer->held.at, w);
    return false;
}

/* The payload was copied when the send was held. */
static void send_held(ti_near *near, ti_near_peer *peer)
{
    while (!is_empty(&peer->held)) {
        const ti_near_waiting w = peer->held.at.data[peer->held.begin];
        ti_mailbox_message *message = ti_mailbox_room(&peer->out, w.what.bytes, &near->draft);
        if (!message) {
            return;
        }
        take_out(&peer->held, peer->held.begin);
        memcpy(message->data, w.parcel->packed, w.what.bytes);
        post(peer, message, &w.what, w.asks);
        ti_parcel_destroy(near->parcels, w.parcel);
        ti_vec_push(&near->ended, ((ti_near_event){ .end = TI_NEAR_SENT, .token = w.what.token }));
    }
}

/* ---- receiving */

static void count_received(ti_near *near, const ti_near_peer *peer, bool asks)
{
    ++*near->messages;
    if (asks) {
        ti_mailbox_answer(&peer->in);
    }
}

static void received(ti_near *near, const ti_near_peer *peer, const ti_near_message *expected, size_t bytes, bool asks)
{
    count_received(near, peer, asks);
    ti_vec_push(&near->ended, ((ti_near_event){ .end = TI_NEAR_RECEIVED,
                                                .node = peer->node,
                                                .route = expected->route,
                                                .token = expected->token,
                                                .bytes = bytes,
                                                .expected = expected->bytes }));
}

static bool has_arrived(const ti_near_peer *peer, const ti_near_message *what, size_t *at)
{
    const ti_near_list *arrived = &peer->arrived[what->route];
    return !is_empty(arrived) && find(arrived, what->counter, at);
}

/* Returns it without its parcel. */
static ti_near_waiting take_arrived(ti_near *near, ti_near_peer *peer, const ti_near_message *what, size_t at,
                                    const ti_payload *payload)
{
    ti_near_list *arrived = &peer->arrived[what->route];
    ti_near_waiting m = arrived->at.data[at];
    take_out(arrived, at);
    if (m.what.bytes == what->bytes) {
        ti_payload_unpack(payload, m.parcel->packed);
    }
    ti_parcel_destroy(near->parcels, m.parcel);
    m.parcel = NULL;
    return m;
}

void ti_near_receive(ti_near *near, ti_near_peer *peer, const ti_near_message *what, const ti_payload *payload,
                     ti_parcel *blocks)
{
    size_t at;
    if (has_arrived(peer, what, &at)) {
        const ti_near_waiting m = take_arrived(near, peer, what, at, payload);
        received(near, peer, what, m.what.bytes, m.asks);
        ti_parcel_destroy(near->parcels, blocks);
        return;
    }
    ti_near_waiting w = { .what = *what, .run = ti_payload_run(payload), .parcel = blocks };
    if (!w.run && !blocks) {
        w.parcel = ti_parcel_create(near->parcels, payload, true, false);
    }
    insert(&peer->receives[what->route], &w);
}

bool ti_near_withdraw(ti_near_peer *peer, int route, uint64_t counter, uint64_t *token, ti_parcel **blocks)
{
    size_t at;
    if (!find(&peer->receives[route], counter, &at)) {
        return false;
    }
    *token = peer->receives[route].at.data[at].what.token;
    *blocks = peer->receives[route].at.data[at].parcel;
    take_out(&peer->receives[route], at);
    return true;
}

static void keep(ti_near *near, ti_near_peer *peer, const ti_mailbox_message *m)
{
    const ti_payload bytes = { .bytes = m->bytes };
    ti_near_waiting w = { .what = { m->route, m->counter, 0, m->bytes }, .asks = m->asks };
    w.parcel = ti_parcel_create(near->parcels, &bytes, false, true);
    memcpy(w.parcel->packed, m->data, m->bytes);
    insert(&peer->arrived[m->route], &w);
}

static void take(ti_near *near, ti_near_peer *peer, const ti_mailbox_message *m)
{
    ti_near_list *receives = &peer->receives[m->route];
    size_t at;
    if (!find(receives, m->counter, &at)) {
        keep(near, peer, m);
        return;
    }
    const ti_near_waiting w = receives->at.data[at];
    take_out(receives, at);
    if (w.what.bytes == m->bytes && w.run) {
        memcpy(w.run, m->data, m->bytes);
    } else if (w.what.bytes == m->bytes) {
        ti_payload_unpack(&w.parcel->payload, m->data);
    }
    received(near, peer, &w.what, m->bytes, m->asks);
    ti_parcel_destroy(near->parcels, w.parcel);
}

/* The lines behind the first one. */
static void prefetch(const ti_mailbox_message *m)
{
    const size_t length = ti_mailbox_length(m->bytes);
    ti_prefetch((const char *)m + TI_CACHE_LINE, TI_MIN(length, (size_t)TI_MAILBOX_AHEAD) - TI_CACHE_LINE);
}

static void take_all(ti_near *near, ti_near_peer *peer)
{
    for (const ti_mailbox_message *m; (m = ti_mailbox_look(&peer->in)); ti_mailbox_take(&peer->in, m)) {
        TI_ASSERT(m->route < TI_NEAR_ROUTES && m->bytes <= near->limit);
        prefetch(m);
        take(near, peer, m);
    }
}

/* What the mailbox has next, which may come while it is looked for; or NULL. */
static const ti_mailbox_message *await(ti_near_peer *peer, int *looks)
{
    const ti_mailbox_message *m;
    while (!(m = ti_mailbox_look(&peer->in)) && *looks > 0) {
        --*looks;
        ti_cpu_relax();
    }
    return m;
}

bool ti_near_receive_at_once(ti_near *near, ti_near_peer *peer, const ti_near_message *what, const ti_payload *payload,
                             int *looks)
{
    size_t at;
    if (has_arrived(peer, what, &at)) {
        const bool fits = peer->arrived[what->route].at.data[at].what.bytes == what->bytes;
        if (fits) {
            count_received(near, peer, take_arrived(near, peer, what, at, payload).asks);
        }
        return fits;
    }
    const ti_mailbox_message *m = await(peer, looks);
    if (!m || m->route != what->route || m->counter != what->counter || m->bytes != what->bytes) {
        return false;
    }
    prefetch(m);
    ti_payload_unpack(payload, m->data);
    count_received(near, peer, m->asks);
    ti_mailbox_take(&peer->in, m);
    return true;
}

static bool expects(const ti_near_peer *peer)
{
    return !is_empty(&peer->receives[0]) || !is_empty(&peer->receives[1]);
}

void ti_near_poll(ti_near *near)
{
    near->turn = near->turn + 1 < near->peer.count ? near->turn + 1 : 0;
    for (size_t i = 0; i < near->peer.count; i++) {
        ti_near_peer *peer = &near->peer.data[i];
        if (i == near->turn || expects(peer)) {
            take_all(near, peer);
        }
        if (!is_empty(&peer->held)) {
            send_held(near, peer);
        }
        if (peer->points > peer->passed && peer->out.asked == peer->points && ti_mailbox_is_answered(&peer->out)) {
            peer->passed++;
            ti_vec_push(&near->ended, ((ti_near_event){ .end = TI_NEAR_POINT, .node = peer->node }));
        }
    }
}

static void list_fini(ti_near *near, ti_near_list *list)
{
    for (size_t i = list->begin; i < list->at.count; i++) {
        ti_parcel_destroy(near->parcels, list->at.data[i].parcel);
    }
    ti_vec_fini(&list->at);
}

void ti_near_fini(ti_near *near)
{
    for (size_t i = 0; i < near->peer.count; i++) {
        for (int route = 0; route < TI_NEAR_ROUTES; route++) {
            list_fini(near, &near->peer.data[i].receives[route]);
            list_fini(near, &near->peer.data[i].arrived[route]);
        }
        list_fini(near, &near->peer.data[i].held);
    }
    ti_vec_fini(&near->peer);
    ti_vec_fini(&near->ended);
}
