/* What a communicator over MPI does for broadcasts: the operations that comm/relay.h asks for. Declared in state.h.
 *
 * Frames and segments travel on an MPI communicator of their own, frames with tag 0 and received from anybody, segments
 * with the channel of their receiver as tag. A receive that is posted and whose message comes through a relay is
 * cancelled. */
#include "base/check.h"
#include "comm/mpi/guard.h"
#include "comm/mpi/state.h"

#include <string.h>

static void send_frame(void *comm, int peer, const void *frame, size_t bytes)
{
    ti_mpi_state *self = comm;
    ti_payload payload = { .bytes = bytes };
    ti_parcel *copy = ti_parcel_create(&self->parcels, &payload, false, true);
    memcpy(copy->packed, frame, bytes);
    const ti_block block = ti_block_of(copy->packed, bytes);
    ti_mpi_op op = { .kind = TI_MPI_OP_FRAME, .route = TI_MPI_ROUTE_RELAYS, .peer = peer, .bytes = bytes };
    op.blocks = copy;
    ti_mpi_start_op(self, op, &(ti_payload){ &block, 1, bytes });
}

static void start_segment(ti_mpi_state *self, ti_mpi_op_kind kind, const ti_relay_message *m)
{
    const ti_block block = ti_block_of(m->at, m->bytes);
    ti_mpi_op op = { .kind = kind,
                     .route = TI_MPI_ROUTE_RELAYS,
                     .peer = m->peer,
                     .counter = 1 + m->channel,
                     .token = m->token,
                     .bytes = m->bytes };
    ti_mpi_start_op(self, op, &(ti_payload){ &block, 1, m->bytes });
}

static void send_segment(void *comm, const ti_relay_message *m)
{
    start_segment(comm, TI_MPI_OP_SEND, m);
}

static void receive_segment(void *comm, const ti_relay_message *m)
{
    start_segment(comm, TI_MPI_OP_RECEIVE, m);
}

static void send_message(void *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    ti_mpi_send_early(comm, peer, counter, payload, token);
}

static bool withdraw_near(ti_mpi_state *self, int origin, uint64_t counter, ti_parcel **blocks, uint64_t *token)
{
    ti_near_peer *peer = ti_near_find(&self->near, origin);
    return peer && ti_near_withdraw(peer, TI_MPI_ROUTE_MESSAGES, counter, token, blocks);
}

static bool find_receive(const ti_mpi_state *self, int origin, uint64_t counter, size_t *at)
{
    for (*at = 0; *at < self->op.count; ++*at) {
        const ti_mpi_op *o = &self->op.data[*at];
        if (o->kind == TI_MPI_OP_RECEIVE && o->route == TI_MPI_ROUTE_MESSAGES && o->counter == counter &&
            o->peer == origin) {
            return true;
        }
    }
    return false;
}

/* No message can have met the receive: it comes by the relay instead, so MPI_Wait returns at once. */
static bool withdraw_far(ti_mpi_state *self, int origin, uint64_t counter, ti_parcel **blocks, uint64_t *token)
{
    size_t at;
    if (!find_receive(self, origin, counter, &at)) {
        return false;
    }
    ti_mpi_op *o = &self->op.data[at];
    MPI_Request *request = &self->request.data[at];
    ti_mpi_guard_inside = true;
    (void)(TI_MPI_CALLED(self, MPI_Cancel, request) && TI_MPI_CALLED(self, MPI_Wait, request, MPI_STATUS_IGNORE));
    ti_mpi_guard_inside = false;
    *token = o->token;
    *blocks = o->blocks;
    ti_parcel_destroy(&self->parcels, o->packed);
    *request = self->request.data[--self->request.count];
    *o = self->op.data[--self->op.count];
    return true;
}

static bool withdraw(void *comm, int origin, uint64_t counter, ti_payload *payload, uint64_t *token)
{
    ti_mpi_state *self = comm;
    ti_parcel *blocks = NULL;
    if (!withdraw_near(self, origin, counter, &blocks, token) && !withdraw_far(self, origin, counter, &blocks, token)) {
        return false;
    }
    TI_ASSERT(blocks);
    *payload = blocks->payload;
    ti_parcel_destroy(&self->parcels, self->withdrawn);
    self->withdrawn = blocks;
    return true;
}

static void repost(void *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    ti_mpi_state *self = comm;
    ti_mpi_op o = { .kind = TI_MPI_OP_RECEIVE, .peer = origin, .counter = counter, .token = token };
    o.bytes = payload->bytes;
    o.blocks = ti_parcel_create(&self->parcels, payload, true, false);
    ti_mpi_start_op(self, o, payload);
}

static void sent(void *comm, uint64_t token)
{
    ti_mpi_state *self = comm;
    ti_vec_push(&self->done, token);
}

static void received(void *comm, uint64_t token, size_t bytes)
{
    ti_mpi_state *self = comm;
    self->comm.stats.messages_received++;
    self->comm.stats.bytes_received += bytes;
    ti_vec_push(&self->done, token);
}

static void mismatch(void *comm, int origin, size_t bytes, size_t expected)
{
    ti_mpi_state *self = comm;
    self->comm.stats.length_mismatch = true;
    ti_mpi_fail(self, "node %d sent %zu bytes where %zu were expected", origin, bytes, expected);
}

const ti_relay_ops ti_mpi_relay_ops = {
    .frame = send_frame,
    .send = send_segment,
    .receive = receive_segment,
    .direct = send_message,
    .withdraw = withdraw,
    .repost = repost,
    .sent = sent,
    .received = received,
    .mismatch = mismatch,
};
