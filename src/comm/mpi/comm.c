/* The communicator over MPI, its operations: see comm/comm.h, and state.h for what it knows. How one is created:
 * create.c; errors: failure.c.
 *
 * What has been started (message.c) lies in two dense arrays, requests and what they mean; poll tests a portion of them
 * and never blocks. What has come of reductions is combined by the poll that finds it.
 *
 * Called by one thread at a time. */
#include "base/check.h"
#include "base/log.h"
#include "comm/mpi/guard.h"
#include "comm/mpi/machine.h"
#include "comm/mpi/start.h"
#include "comm/mpi/state.h"
#include "comm/payload.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* MPI_Testsome of Open MPI looks, and takes in what has come if it found nothing, but does not look again. So messages
 * are found one poll late, which doubles the latency of 8 bytes where every poll is followed by a yield. Where pollers
 * spin first, a second look took 0.83 to 0.95 of the time, with intervals that reach beyond 1 in half of the cases. For
 * MPICH and spinning pollers results were mixed, from 0.95 to a loss of 1.5 on busy cores. */
#if defined(OPEN_MPI)
enum { LOOKS = 2 };
#else
enum { LOOKS = 1 };
#endif

typedef ti_mpi_op op;
typedef ti_mpi_state mpi_comm;

/* ---- completion */

static void complete(mpi_comm *self, uint64_t token)
{
    if (token & TI_RELAY_TOKEN) {
        ti_relay_message_done(&self->relay, token);
    } else if (token & TI_COMBINING_TOKEN) {
        ti_combining_message_done(&self->combining, token);
    } else if (!(token & TI_GROUP_TOKEN) || ti_groups_part_done(&self->groups, token, &token)) {
        ti_vec_push(&self->done, token);
    }
}

static void combine(mpi_comm *self)
{
    uint64_t token;
    while (ti_combining_advance(&self->combining, &token)) {
        ti_vec_push(&self->done, token);
    }
}

/* ---- parts of collectives */

/* Parts of collectives have the tag of their collective: reductions have two, one for each phase. */
enum { PHASES = 2 };

static void start_part(mpi_comm *self, ti_mpi_op_kind kind, int node, uint64_t counter, const ti_payload *payload,
                       uint64_t token)
{
    ti_mpi_start_op(self,
                    (op){ .kind = kind,
                          .route = TI_MPI_ROUTE_PARTS,
                          .peer = node,
                          .counter = counter,
                          .token = token,
                          .bytes = payload->bytes },
                    payload);
}

void ti_mpi_send_part(void *comm, int to, const ti_exchange *x, const ti_payload *payload, uint64_t token)
{
    start_part(comm, TI_MPI_OP_SEND, to, PHASES * x->sequence, payload, token);
}

void ti_mpi_receive_part(void *comm, int origin, const ti_exchange *x, const ti_payload *payload, uint64_t token)
{
    start_part(comm, TI_MPI_OP_RECEIVE, origin, PHASES * x->sequence, payload, token);
}

static uint64_t counter_of(const ti_combining_message *m)
{
    return PHASES * m->sequence + (uint64_t)m->phase;
}

static void start_combining(mpi_comm *self, ti_mpi_op_kind kind, const ti_combining_message *m)
{
    const ti_block block = ti_block_of(m->at, m->bytes);
    start_part(self, kind, m->peer, counter_of(m), &(ti_payload){ &block, 1, m->bytes }, m->token);
}

void ti_mpi_send_combining(void *comm, const ti_combining_message *m)
{
    start_combining(comm, TI_MPI_OP_SEND, m);
}

void ti_mpi_receive_combining(void *comm, const ti_combining_message *m)
{
    start_combining(comm, TI_MPI_OP_RECEIVE, m);
}

/* At once, between nodes of one machine. */
static ti_near_message near_part(const ti_combining_message *m)
{
    return (ti_near_message){ TI_MPI_ROUTE_PARTS, counter_of(m), m->token, m->bytes };
}

bool ti_mpi_send_combining_at_once(void *comm, const ti_combining_message *m)
{
    mpi_comm *self = comm;
    ti_near_peer *near = ti_mpi_near_peer(self, m->peer, m->bytes);
    const ti_near_message what = near_part(m);
    const ti_block block = ti_block_of(m->at, m->bytes);
    return near && ti_near_send_at_once(&self->near, near, &what, &(ti_payload){ &block, 1, m->bytes });
}

bool ti_mpi_receive_combining_at_once(void *comm, const ti_combining_message *m, int *looks)
{
    mpi_comm *self = comm;
    ti_near_peer *near = ti_mpi_near_peer(self, m->peer, m->bytes);
    const ti_near_message what = near_part(m);
    const ti_block block = ti_block_of(m->at, m->bytes);
    return near && ti_near_receive_at_once(&self->near, near, &what, &(ti_payload){ &block, 1, m->bytes }, looks);
}

/* By messages between pairs. True: it is complete, and its token is not reported. */
static bool start_messages(mpi_comm *self, const ti_exchange *x, uint64_t token)
{
    bool is_done;
    self->comm.stats.carried[x->what->pattern][TI_BY_MESSAGES]++;
    if (ti_pattern_combines(x->what->pattern)) {
        is_done = ti_combining_start(&self->combining, x, token);
        combine(self);
    } else {
        is_done = !ti_direct_start(&self->direct, &self->comm, &self->groups, x, token);
    }
    return is_done;
}

static bool mpi_collective_at_once(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    mpi_comm *self = (mpi_comm *)comm;
    comm->pending++;
    comm->stats.collectives++;
    comm->stats.collective_bytes_out += x->bytes_out;
    comm->stats.collective_bytes_in += x->bytes_in;
    MPI_Request request = MPI_REQUEST_NULL;
    op o = { .kind = TI_MPI_OP_COLLECTIVE, .peer = comm->node, .token = token, .bytes = x->bytes_in };
    ti_mpi_guard_inside = true;
    self->shared.never_packs = self->comm.never_packs;
    int code = ti_mpi_collectives_start(&self->shared, x, &o.collective, &request);
    ti_mpi_guard_inside = false;
    if (TI_UNLIKELY(code)) {
        ti_mpi_fail_op(self, &o, self->shared.call, code);
    } else if (o.collective.share) {
        comm->stats.carried[x->what->pattern][TI_BY_LIBRARY]++;
        ti_vec_push(&self->request, request);
        ti_vec_push(&self->op, o);
    } else {
        const bool is_done = start_messages(self, x, token);
        comm->pending -= is_done;
        return is_done;
    }
    return false;
}

static void mpi_collective(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    mpi_comm *self = (mpi_comm *)comm;
    if (mpi_collective_at_once(comm, x, token)) {
        comm->pending++;
        ti_vec_push(&self->done, token);
    }
}

static bool mpi_collective_look(ti_comm *comm, int looks)
{
    const bool is_done = ti_combining_look(&((mpi_comm *)comm)->combining, looks);
    comm->pending -= is_done;
    return is_done;
}

static void mpi_barrier(ti_comm *comm, uint64_t token)
{
    static const ti_payload nothing = { 0 };
    comm->pending++;
    ti_mpi_start_op((mpi_comm *)comm, (op){ .kind = TI_MPI_OP_BARRIER, .peer = comm->node, .token = token }, &nothing);
}

/* Waits as everything here does: by asking and giving up the core. */
static int64_t mpi_sum(ti_comm *comm, int64_t value)
{
    mpi_comm *self = (mpi_comm *)comm;
    long long mine = value, all = value;
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    ti_mpi_guard_inside = true;
    bool going = TI_MPI_CALLED(self, MPI_Iallreduce, &mine, &all, 1, MPI_LONG_LONG, MPI_SUM, self->mpi, &request);
    while (going && !done) {
        going = TI_MPI_CALLED(self, MPI_Test, &request, &done, MPI_STATUS_IGNORE);
        sched_yield();
    }
    ti_mpi_guard_inside = false;
    return all;
}

/* ---- polling */

/* A message that is too long is an error of MPI itself, but Open MPI 4.1 cuts it in silence if its receive was posted
 * first. */
static void check_length(mpi_comm *self, const op *o, const MPI_Status *status)
{
    MPI_Count bytes = 0;
    if (TI_MPI_CALLED(self, MPI_Get_elements_x, status, MPI_BYTE, &bytes) && (size_t)bytes != o->bytes) {
        ti_mpi_length_differs(self, o->peer, (size_t)bytes, o->bytes);
    }
}

static void finish(mpi_comm *self, const op *o, const MPI_Status *status)
{
    if (o->kind == TI_MPI_OP_FRAME_RECEIVE) {
        ti_vec_push(&self->frames, ((struct ti_mpi_frame){ status->MPI_SOURCE, o->packed }));
        return;
    }
    if (o->kind != TI_MPI_OP_FRAME) {
        complete(self, o->token);
    }
    switch (o->kind) {
    case TI_MPI_OP_SEND:
    case TI_MPI_OP_SYNC_SEND:
    case TI_MPI_OP_FRAME:
    case TI_MPI_OP_FRAME_RECEIVE:
    case TI_MPI_OP_BARRIER:
        break;
    case TI_MPI_OP_COLLECTIVE:
        ti_mpi_collectives_done(&self->shared, &o->collective);
        break;
    case TI_MPI_OP_SYNC_POINT:
        ti_mpi_sync_point_passed(self, o->peer);
        break;
    case TI_MPI_OP_RECEIVE:
        check_length(self, o, status);
        if (o->packed) {
            ti_payload_unpack(&o->packed->payload, o->packed->packed);
        }
        ti_mpi_count_received(self, o->route, o->bytes);
        break;
    }
    ti_parcel_destroy(&self->parcels, o->packed);
    ti_parcel_destroy(&self->parcels, o->blocks);
}

static void finish_or_fail(mpi_comm *self, const op *o, const char *call, int code, const MPI_Status *status)
{
    if (TI_LIKELY(code == MPI_SUCCESS)) {
        finish(self, o, status);
        return;
    }
    ti_mpi_fail_op(self, o, call, code);
    ti_parcel_destroy(&self->parcels, o->packed);
}

/* Takes out the requests in [begin, end) that have completed, which MPI has set to null; from the end, so that what
 * fills the gaps has been looked at. */
static void compact(mpi_comm *self, size_t begin, size_t end)
{
    TI_ASSERT(begin <= end && end <= self->request.count && self->request.count == self->op.count);
    for (size_t i = end; i-- > begin;) {
        if (self->request.data[i] == MPI_REQUEST_NULL) {
            self->request.data[i] = self->request.data[--self->request.count];
            self->op.data[i] = self->op.data[--self->op.count];
        }
    }
}

static void test_one(mpi_comm *self)
{
    int flag = 0;
    ti_mpi_guard_inside = true;
    int code = MPI_Test(&self->request.data[0], &flag, &self->status[0]);
    ti_mpi_guard_inside = false;
    if (!flag && !code) {
        return;
    }
    op o = self->op.data[0];
    self->request.count = self->op.count = 0; /* before finish, which may start others */
    finish_or_fail(self, &o, "MPI_Test", code, &self->status[0]);
}

static void test_portion(mpi_comm *self, size_t begin, size_t end)
{
    int code = MPI_SUCCESS, count = 0;
    TI_ASSERT(begin < end && end - begin <= TI_MPI_PORTION);
    ti_mpi_guard_inside = true;
    for (int look = 0; look < LOOKS && !code && !count; look++) {
        code = MPI_Testsome((int)(end - begin), &self->request.data[begin], &count, self->index, self->status);
    }
    ti_mpi_guard_inside = false;
    if (TI_UNLIKELY(code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) {
        ti_mpi_succeeded(self, code, "MPI_Testsome");
        return;
    }
    if (count == 0 || count == MPI_UNDEFINED) {
        return;
    }
    for (int i = 0; i < count; i++) {
        /* A copy: finish may start others, and the array may move. */
        op o = self->op.data[begin + (size_t)self->index[i]];
        finish_or_fail(self, &o, "MPI_Testsome", code ? self->status[i].MPI_ERROR : MPI_SUCCESS, &self->status[i]);
    }
    compact(self, begin, end);
}

static void look_near(mpi_comm *self)
{
    ti_near *near = &self->near;
    ti_near_poll(near);
    for (size_t i = 0; i < near->ended.count; i++) {
        const ti_near_event e = near->ended.data[i]; /* a copy: what completes may start others */
        if (e.end == TI_NEAR_RECEIVED) {
            if (e.bytes != e.expected) {
                ti_mpi_length_differs(self, e.node, e.bytes, e.expected);
            }
            ti_mpi_count_received(self, e.route, e.expected);
        }
        if (e.end == TI_NEAR_POINT) {
            ti_mpi_sync_point_passed(self, e.node);
        } else {
            complete(self, e.token);
        }
    }
    ti_vec_clear(&near->ended);
}

static void progress(mpi_comm *self)
{
    for (size_t i = 0; i < self->sent.count; i++) {
        complete(self, self->sent.data[i]); /* which may send more */
    }
    ti_vec_clear(&self->sent);
    if (self->near.peer.count) {
        look_near(self);
    }
    size_t pending = self->request.count;
    if (pending == 1) {
        test_one(self);
    } else if (pending) {
        size_t begin = pending <= TI_MPI_PORTION || self->cursor >= pending ? 0 : self->cursor;
        size_t end = TI_MIN(begin + TI_MPI_PORTION, pending);
        self->cursor = end;
        test_portion(self, begin, end);
    }
}

static void await_frame(mpi_comm *self, ti_parcel *parcel)
{
    MPI_Request request = MPI_REQUEST_NULL;
    ti_mpi_guard_inside = true;
    (void)TI_MPI_CALLED(self, MPI_Irecv, parcel->packed, TI_RELAY_FRAME_BYTES, MPI_BYTE, MPI_ANY_SOURCE, 0,
                        self->relays, &request);
    ti_mpi_guard_inside = false;
    ti_vec_push(&self->request, request);
    ti_vec_push(&self->op, ((op){ .kind = TI_MPI_OP_FRAME_RECEIVE, .packed = parcel }));
}

static void take_frames(mpi_comm *self)
{
    for (size_t i = 0; i < self->frames.count; i++) {
        ti_relay_take_frame(&self->relay, self->frames.data[i].from, self->frames.data[i].parcel->packed);
        await_frame(self, self->frames.data[i].parcel);
    }
    ti_vec_clear(&self->frames);
}

static void look(mpi_comm *self)
{
    progress(self);
    take_frames(self);
}

enum { FRAME_RECEIVES = 2 };

static void mpi_open_relays(ti_comm *comm)
{
    mpi_comm *self = (mpi_comm *)comm;
    if (self->relays == MPI_COMM_NULL) {
        return;
    }
    comm->relays = true;
    for (int i = 0; i < FRAME_RECEIVES; i++) {
        ti_payload payload = { .bytes = TI_RELAY_FRAME_BYTES };
        await_frame(self, ti_parcel_create(&self->parcels, &payload, false, true));
    }
}

static ti_relay *mpi_relay(ti_comm *comm)
{
    return &((mpi_comm *)comm)->relay;
}

static void mpi_broadcast(ti_comm *comm, ti_recipient *list, uint32_t count, const ti_payload *payload)
{
    comm->pending += count;
    comm->stats.messages_sent += count;
    comm->stats.bytes_sent += count * payload->bytes;
    ti_relay_broadcast(&((mpi_comm *)comm)->relay, list, count, payload);
}

static int mpi_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    mpi_comm *self = (mpi_comm *)comm;
    if (self->reported == self->done.count) {
        self->reported = 0;
        ti_vec_clear(&self->done);
        if (!comm->stats.error) {
            ti_combining_close(&self->combining);
            look(self);
            combine(self);
        }
    }
    if (TI_UNLIKELY(comm->stats.error != NULL)) {
        return -1;
    }
    size_t n = TI_MIN(self->done.count - self->reported, (size_t)max);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = self->done.data[self->reported++];
    }
    TI_ASSERT(n <= comm->pending);
    comm->pending -= n;
    return (int)n;
}

/* ---- notes */

static bool mpi_note_open(ti_comm *comm)
{
    mpi_comm *self = (mpi_comm *)comm;
    ti_mpi_guard_inside = true;
    int code = ti_mpi_notes_open(&self->notes, self->mpi);
    ti_mpi_guard_inside = false;
    return ti_mpi_succeeded(self, code, self->notes.call);
}

static bool mpi_note_send(ti_comm *comm, int node, const void *note, size_t bytes)
{
    mpi_comm *self = (mpi_comm *)comm;
    bool sent = false;
    ti_mpi_guard_inside = true;
    int code = ti_mpi_notes_send(&self->notes, node, note, bytes, &sent);
    ti_mpi_guard_inside = false;
    (void)ti_mpi_succeeded(self, code, self->notes.call); /* the next poll says so */
    comm->notes_pending += sent;
    return sent;
}

static int mpi_note_poll(ti_comm *comm, int *origin, void *note)
{
    mpi_comm *self = (mpi_comm *)comm;
    int bytes = 0;
    if (comm->stats.error && !comm->stats.length_mismatch) {
        return -1;
    }
    ti_mpi_guard_inside = true;
    int code = ti_mpi_notes_poll(&self->notes, origin, note, &bytes, &comm->notes_pending);
    ti_mpi_guard_inside = false;
    return ti_mpi_succeeded(self, code, self->notes.call) ? bytes : -1;
}

/* ---- the end of a job */

static void mpi_abort(ti_comm *comm, const char *why)
{
    (void)comm, (void)why;
    ti_mpi_guard_end();
}

/* After an error operations may still be pending. Receives are cancelled; memory of packed sends that MPI may still
 * read is left to the process. */
static void drop_pending(mpi_comm *self)
{
    for (size_t i = 0; i < self->request.count; i++) {
        ti_mpi_op_kind kind = self->op.data[i].kind;
        MPI_Request *request = &self->request.data[i];
        if (kind == TI_MPI_OP_BARRIER || kind == TI_MPI_OP_COLLECTIVE || *request == MPI_REQUEST_NULL) {
            continue; /* requests of collectives may not be freed */
        }
        if (ti_mpi_is_received(kind)) {
            (void)MPI_Cancel(request);
        }
        (void)MPI_Request_free(request);
    }
}

static void peers_fini(mpi_comm *self)
{
    for (size_t i = 0; i < self->peers.capacity; i++) {
        if (self->peers.used[i]) {
            ti_mpi_peer *p = (ti_mpi_peer *)(uintptr_t)self->peers.slot[i].value;
            while (p->held.count) {
                ti_parcel_destroy(&self->parcels, ti_parcel_heap_pop(&p->held));
            }
            ti_vec_fini(&p->held);
            TI_DELETE(p);
        }
    }
    ti_map_fini(&self->peers);
}

/* All nodes have what they want, so all that relays have sent has come, and MPI will say so. */
static bool end_relays(mpi_comm *self)
{
    size_t left = 1;
    while (self->comm.relays && left && !self->comm.stats.error) {
        look(self);
        left = !ti_relay_is_idle(&self->relay) + self->sent.count;
        for (size_t i = 0; i < self->op.count; i++) {
            left += self->op.data[i].kind != TI_MPI_OP_FRAME_RECEIVE;
        }
        sched_yield();
    }
    for (size_t i = self->op.count; i-- > 0;) {
        if (self->op.data[i].kind == TI_MPI_OP_FRAME_RECEIVE && !self->comm.stats.error) {
            if (!TI_MPI_CALLED(self, MPI_Cancel, &self->request.data[i]) ||
                !TI_MPI_CALLED(self, MPI_Wait, &self->request.data[i], MPI_STATUS_IGNORE)) {
                self->request.data[i] = MPI_REQUEST_NULL; /* MPI's memory, and its receive's, are left to the process */
                return false;
            }
            ti_parcel_destroy(&self->parcels, self->op.data[i].packed);
        }
    }
    return self->comm.stats.error == NULL;
}

static bool close_communicator(mpi_comm *self, MPI_Comm *comm)
{
    return *comm == MPI_COMM_NULL || TI_MPI_CALLED(self, MPI_Comm_free, comm);
}

static bool close_groups(mpi_comm *self)
{
    bool good = true;
    for (int i = 0; i < TACIT_MAX_COLLECTIVE_GROUPS && good; i++) {
        good = close_communicator(self, &self->group[i]);
    }
    return good;
}

/* False if MPI reports an error, which is kept. */
static bool leave_mpi(mpi_comm *self)
{
    int finalized = 0;
    bool asked = TI_MPI_CALLED(self, MPI_Finalized, &finalized);
    int code = ti_mpi_types_fini(&self->types, asked && !finalized);
    int shared = ti_mpi_collectives_fini(&self->shared, asked && !finalized);
    if (!asked || finalized) {
        return asked;
    }
    bool ended = self->comm.stats.error || end_relays(self);
    drop_pending(self);
    int closed = ti_mpi_notes_close(&self->notes);
    return ended && ti_mpi_succeeded(self, code, "MPI_Type_free") &&
           ti_mpi_succeeded(self, shared, self->shared.call) && ti_mpi_succeeded(self, closed, self->notes.call) &&
           close_groups(self) && close_communicator(self, &self->kernels) && close_communicator(self, &self->relays) &&
           close_communicator(self, &self->collectives) && close_communicator(self, &self->mpi) &&
           (!self->finalizes || ti_mpi_succeeded(self, MPI_Finalize(), "MPI_Finalize"));
}

/* Where tacit_init has failed, other nodes may wait in a call that this one does not make: MPI stays as it is, and the
 * exit handler ends the job. Where MPI fails now, nothing is left to return, and the job ends at once. */
void ti_mpi_destroy(ti_comm *comm)
{
    mpi_comm *self = (mpi_comm *)comm;
    if (comm->stats.error && comm->num_nodes != 1) {
        ti_mpi_guard_set_node(-1);
        (void)ti_mpi_types_fini(&self->types, false);
        (void)ti_mpi_collectives_fini(&self->shared, false);
    } else {
        bool had_error = comm->stats.error != NULL;
        if (!leave_mpi(self) && !had_error) {
            ti_log(TI_LOG_ERROR, "%s", self->error);
            ti_mpi_guard_end();
        }
        ti_mpi_guard_disarm();
    }
    peers_fini(self);
    ti_mpi_machine_close(self);
    ti_parcel_pool_fini(&self->parcels);
    ti_vec_fini(&self->request);
    ti_vec_fini(&self->op);
    ti_vec_fini(&self->sent);
    ti_vec_fini(&self->done);
    ti_groups_fini(&self->groups);
    ti_direct_fini(&self->direct);
    ti_combining_fini(&self->combining, false);
    ti_relay_fini(&self->relay, false);
    ti_parcel_destroy(&self->parcels, self->withdrawn);
    ti_vec_fini(&self->frames);
    TI_DELETE(self);
}

static const void *mpi_communicator(const ti_comm *comm, const tacit_mpi_comm *like, int group)
{
    const mpi_comm *self = (const mpi_comm *)comm;
    const MPI_Comm *kernels = group ? &self->group[group - 1] : &self->kernels;
    return ti_mpi_is_same(like) ? kernels : NULL;
}

/* With the same error handler. */
static bool mpi_open_group(ti_comm *comm, int group)
{
    mpi_comm *self = (mpi_comm *)comm;
    TI_ASSERT(group >= 1 && group <= TACIT_MAX_COLLECTIVE_GROUPS && self->group[group - 1] == MPI_COMM_NULL);
    return TI_MPI_CALLED(self, MPI_Comm_dup, self->kernels, &self->group[group - 1]);
}

const ti_comm_ops ti_mpi_ops = {
    .name = "mpi",
    .destroy = ti_mpi_destroy,
    .send = ti_mpi_send,
    .receive = ti_mpi_receive,
    .send_at_once = ti_mpi_send_at_once,
    .receive_at_once = ti_mpi_receive_at_once,
    .broadcast = mpi_broadcast,
    .open_relays = mpi_open_relays,
    .relay = mpi_relay,
    .collective = mpi_collective,
    .collective_at_once = mpi_collective_at_once,
    .collective_look = mpi_collective_look,
    .barrier = mpi_barrier,
    .sum = mpi_sum,
    .poll = mpi_poll,
    .communicator = mpi_communicator,
    .open_group = mpi_open_group,
    .abort = mpi_abort,
    .note_open = mpi_note_open,
    .note_send = mpi_note_send,
    .note_poll = mpi_note_poll,
};
