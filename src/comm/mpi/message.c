/* Messages between two nodes over MPI: see comm/comm.h, and state.h for what a communicator knows.
 *
 * A message is one MPI_Isend and one MPI_Irecv with exact source, and its counter as tag, on a duplicate of
 * MPI_COMM_WORLD or of the application's communicator (start.c). Payloads travel in place where they can (wire.c).
 * Short messages to nodes of the same machine do not go by MPI (comm/near.h): ti_mpi_near_peer says which.
 *
 * Early bytes (early.h): a sync point is a message sent by MPI_Issend, and so is every message that is not counted. To
 * a node of the same machine it leaves as others do, and is passed when it is answered.
 *
 * Called by one thread at a time. */
#include "base/check.h"
#include "comm/mpi/guard.h"
#include "comm/mpi/state.h"
#include "comm/mpi/wire.h"

/* Short messages leave at once, most of the time, and MPI says so without being polled. */
enum { SHORT_BYTES = 1024 };

typedef ti_mpi_op op;
typedef ti_mpi_state mpi_comm;
typedef ti_mpi_peer peer;

/* ---- starting operations */

static int start_on_wire(mpi_comm *self, const op *o, int tag, const ti_mpi_wire *w, MPI_Request *request)
{
    const MPI_Comm routes[] = { self->mpi, self->collectives, self->relays }, mpi = routes[o->route];
    switch (o->kind) {
    case TI_MPI_OP_SEND:
    case TI_MPI_OP_FRAME:
        return MPI_Isend(w->address, w->count, w->type, o->peer, tag, mpi, request);
    case TI_MPI_OP_SYNC_SEND:
    case TI_MPI_OP_SYNC_POINT:
        return MPI_Issend(w->address, w->count, w->type, o->peer, tag, mpi, request);
    case TI_MPI_OP_RECEIVE:
        return MPI_Irecv(w->address, w->count, w->type, o->peer, tag, mpi, request);
    case TI_MPI_OP_BARRIER:
        return MPI_Ibarrier(self->mpi, request);
    case TI_MPI_OP_FRAME_RECEIVE:
    case TI_MPI_OP_COLLECTIVE:
        break;
    }
    TI_UNREACHABLE();
}

static ti_near_peer *near_peer(const mpi_comm *self, const op *o)
{
    bool is_message = o->kind == TI_MPI_OP_SEND || o->kind == TI_MPI_OP_SYNC_POINT || o->kind == TI_MPI_OP_RECEIVE;
    return is_message && o->route != TI_MPI_ROUTE_RELAYS ? ti_mpi_near_peer(self, o->peer, o->bytes) : NULL;
}

static void start_near(mpi_comm *self, ti_near_peer *to, const op *o, const ti_payload *payload)
{
    const ti_near_message what = { (int)o->route, o->counter, o->token, o->bytes };
    if (o->kind == TI_MPI_OP_RECEIVE) {
        ti_near_receive(&self->near, to, &what, payload, o->blocks);
    } else if (ti_near_send(&self->near, to, &what, o->kind == TI_MPI_OP_SYNC_POINT, payload)) {
        ti_vec_push(&self->sent, o->token);
    }
}

void ti_mpi_start_op(mpi_comm *self, op o, const ti_payload *payload)
{
    static const char *const names[] = { "MPI_Isend", "MPI_Issend", "MPI_Issend",   "MPI_Irecv",
                                         "MPI_Isend", "MPI_Irecv",  "MPI_Ibarrier", "a collective" };
    ti_near_peer *near = near_peer(self, &o);
    if (near) {
        start_near(self, near, &o, payload);
        return;
    }
    ti_mpi_wire w;
    TI_ASSERT(o.peer >= 0 && o.peer < self->comm.num_nodes && self->request.count == self->op.count);
    MPI_Request request = MPI_REQUEST_NULL;
    const char *call;
    ti_mpi_guard_inside = true;
    ti_parcel_pool *parcels = self->comm.never_packs ? NULL : &self->parcels;
    int code = ti_mpi_wire_of(&self->types, parcels, payload, o.kind == TI_MPI_OP_RECEIVE, &w, &call);
    o.packed = w.packed;
    if (!code) {
        call = names[o.kind];
        code = start_on_wire(self, &o, (int)(o.counter % self->tags), &w, &request);
    }
    if (!code && w.temporary && (code = MPI_Type_free(&w.type))) {
        call = "MPI_Type_free";
    }
    int sent = 0;
    if (!code && o.kind == TI_MPI_OP_SEND && o.bytes <= SHORT_BYTES) {
        call = "MPI_Test";
        code = MPI_Test(&request, &sent, MPI_STATUS_IGNORE);
    }
    ti_mpi_guard_inside = false;
    if (TI_UNLIKELY(code)) {
        ti_mpi_fail_op(self, &o, call, code);
    }
    if (sent) {
        ti_parcel_destroy(&self->parcels, o.packed);
        ti_vec_push(&self->sent, o.token);
        return;
    }
    if (TI_UNLIKELY(request == MPI_REQUEST_NULL)) { /* failed, or a barrier of one node */
        if (o.route != TI_MPI_ROUTE_RELAYS) {
            ti_vec_push(&self->sent, o.token);
        }
        ti_parcel_destroy(&self->parcels, o.packed);
        return;
    }
    ti_vec_push(&self->request, request);
    ti_vec_push(&self->op, o);
}

/* ---- early bytes */

static peer *peer_of(mpi_comm *self, int node)
{
    uint64_t *slot = ti_map_at(&self->peers, (uint64_t)node);
    if (!*slot) {
        peer *p = TI_NEW(peer);
        p->node = node;
        p->early.limit = self->early_bytes;
        *slot = (uint64_t)(uintptr_t)p;
    }
    TI_ASSERT(((peer *)(uintptr_t)*slot)->node == node);
    return (peer *)(uintptr_t)*slot;
}

/* Returns whether the message becomes a sync point. */
static bool count_early(mpi_comm *self, peer *p, uint64_t counter, size_t bytes)
{
    TI_ASSERT(ti_early_is_counted(self->early_bytes, bytes) &&
              (!p->early.syncing || p->early.messages < TI_EARLY_MESSAGES || counter < p->early.sync_counter));
    const bool is_point = ti_early_count(&p->early, counter, bytes);
    self->comm.stats.early_bytes_peak = TI_MAX(self->comm.stats.early_bytes_peak, p->early.bytes);
    return is_point;
}

static void send_counted(mpi_comm *self, peer *p, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    const bool is_point = count_early(self, p, counter, payload->bytes);
    ti_mpi_start_op(self,
                    (op){ .kind = is_point ? TI_MPI_OP_SYNC_POINT : TI_MPI_OP_SEND,
                          .peer = p->node,
                          .counter = counter,
                          .token = token,
                          .bytes = payload->bytes },
                    payload);
}

void ti_mpi_sync_point_passed(mpi_comm *self, int node)
{
    peer *p = peer_of(self, node);
    TI_ASSERT(p->early.syncing && p->early.bytes >= p->early.sync_bytes && p->early.messages >= p->early.sync_messages);
    ti_early_passed(&p->early);
    while (p->held.count && ti_early_may_go(&p->early, p->held.data[0]->payload.bytes)) {
        ti_parcel *next = p->held.data[0];
        ti_parcel_heap_pop(&p->held);
        send_counted(self, p, next->counter, &next->payload, next->token);
        ti_parcel_destroy(&self->parcels, next);
    }
}

void ti_mpi_send_early(mpi_comm *self, int node, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    if (!ti_early_is_counted(self->early_bytes, payload->bytes)) {
        op o = { .kind = TI_MPI_OP_SYNC_SEND, .peer = node, .counter = counter, .token = token };
        o.bytes = payload->bytes;
        ti_mpi_start_op(self, o, payload);
        return;
    }
    peer *p = peer_of(self, node);
    TI_ASSERT(p->early.syncing || !p->held.count);
    if (!ti_early_must_wait(&p->early, counter, payload->bytes, p->held.count > 0)) {
        send_counted(self, p, counter, payload, token);
        return;
    }
    ti_parcel *item = ti_parcel_create(&self->parcels, payload, true, false);
    item->counter = counter;
    item->token = token;
    ti_parcel_heap_push(&p->held, item);
    self->comm.stats.held_back++;
}

static void count_sent(ti_comm *comm, size_t bytes)
{
    comm->stats.messages_sent++;
    comm->stats.bytes_sent += bytes;
}

void ti_mpi_send(ti_comm *comm, int node, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    comm->pending++;
    count_sent(comm, payload->bytes);
    ti_mpi_send_early((mpi_comm *)comm, node, counter, payload, token);
}

void ti_mpi_receive(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    mpi_comm *self = (mpi_comm *)comm;
    op o = { .kind = TI_MPI_OP_RECEIVE, .peer = origin, .counter = counter, .token = token, .bytes = payload->bytes };
    comm->pending++;
    if (comm->relays) {
        if (ti_relay_claim(&self->relay, origin, counter, payload, token)) {
            return;
        }
        o.blocks = ti_parcel_create(&self->parcels, payload, true, false);
    }
    ti_mpi_start_op(self, o, payload);
}

/* ---- at once, between nodes of one machine */

/* A message that would wait, or be a sync point, takes the other way. */
bool ti_mpi_send_at_once(ti_comm *comm, int node, uint64_t counter, const ti_payload *payload)
{
    mpi_comm *self = (mpi_comm *)comm;
    ti_near_peer *near = ti_mpi_near_peer(self, node, payload->bytes);
    if (!near || !ti_early_is_counted(self->early_bytes, payload->bytes)) {
        return false;
    }
    peer *p = peer_of(self, node);
    const ti_near_message what = { TI_MPI_ROUTE_MESSAGES, counter, 0, payload->bytes };
    if (ti_early_must_wait(&p->early, counter, payload->bytes, p->held.count > 0) ||
        ti_early_makes_point(&p->early, payload->bytes) || !ti_near_send_at_once(&self->near, near, &what, payload)) {
        return false;
    }
    (void)count_early(self, p, counter, payload->bytes);
    count_sent(comm, payload->bytes);
    return true;
}

bool ti_mpi_receive_at_once(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, int looks)
{
    mpi_comm *self = (mpi_comm *)comm;
    ti_near_peer *near = comm->relays ? NULL : ti_mpi_near_peer(self, origin, payload->bytes);
    const ti_near_message what = { TI_MPI_ROUTE_MESSAGES, counter, 0, payload->bytes };
    if (!near || !ti_near_receive_at_once(&self->near, near, &what, payload, &looks)) {
        return false;
    }
    ti_mpi_count_received(self, TI_MPI_ROUTE_MESSAGES, payload->bytes);
    return true;
}
