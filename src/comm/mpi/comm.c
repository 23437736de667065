/* The communicator over MPI.
 *
 * A message is one MPI_Isend and one MPI_Irecv with exact source, and its counter as tag, on a duplicate of
 * MPI_COMM_WORLD or of the application's communicator (start.c). Payloads travel in place where they can (wire.c).
 * Pending operations lie in two dense arrays, requests and what they mean; poll tests a portion of them and never
 * blocks. What has come of reductions is combined by the poll that finds it.
 *
 * Early bytes. MPI takes small messages before their receive is there, and keeps them in memory that nobody limits. So
 * this side counts, per peer, what it sent since the last *sync point*: a message sent by MPI_Issend, which completes
 * only when its receive has started. The message that crosses half the limit becomes the sync point; when it completes,
 * everything sent up to it counts as received. Until then, messages with higher counters that would cross the limit
 * wait, in the order of their counters. Those with lower counters never wait: the receive of the sync point may hang on
 * them, and only on them, so there is no deadlock. Messages of half the limit or more are always sent by MPI_Issend and
 * are not counted.
 *
 * Called by one thread at a time. */
#include "base/check.h"
#include "base/log.h"
#include "comm/combining.h"
#include "comm/exchange.h"
#include "comm/mpi/collective.h"
#include "comm/mpi/guard.h"
#include "comm/mpi/note.h"
#include "comm/mpi/parcel.h"
#include "comm/mpi/settings.h"
#include "comm/mpi/start.h"
#include "comm/mpi/wire.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PORTION = 64,        /* requests tested by one poll */
    SYNC_MESSAGES = 512, /* so many messages make a sync point, however small they are */
    EARLY_MESSAGES = 2 * SYNC_MESSAGES,
    ERROR_TEXT = 640
};

/* MPI_Testsome of Open MPI looks, and takes in what has come if it found nothing, but does not look again. So messages
 * are found one poll late, which doubles the latency of 8 bytes where every poll is followed by a yield. Where pollers
 * spin first, a second look took 0.83 to 0.95 of the time, with intervals that reach beyond 1 in half of the cases. For
 * MPICH and spinning pollers results were mixed, from 0.95 to a loss of 1.5 on busy cores. */
#if defined(OPEN_MPI)
enum { LOOKS = 2 };
#else
enum { LOOKS = 1 };
#endif

/* Of reductions as messages (comm/combining.h): what comes from all nodes for one step, the least from one of them, and
 * what is sent to everybody. */
enum { SEGMENTS = 1 << 20, SEGMENT = 64 * 1024, WHOLE = 32 * 1024 };

typedef enum op_kind { OP_SEND, OP_SYNC_SEND, OP_SYNC_POINT, OP_RECEIVE, OP_BARRIER, OP_COLLECTIVE } op_kind;

/* What a pending request means. */
typedef struct op {
    op_kind kind;
    int peer;
    uint64_t token;
    size_t bytes;
    ti_parcel *packed; /* or NULL */
    ti_mpi_operation collective;
} op;

typedef struct peer {
    int node;
    bool syncing; /* a sync point is under way */
    uint64_t early_bytes, early_messages;
    uint64_t sync_counter, sync_bytes, sync_messages; /* counted up to the sync point and with it */
    ti_parcel_heap held;                              /* empty unless syncing */
} peer;

typedef struct mpi_comm {
    ti_comm comm;
    MPI_Comm mpi;
    MPI_Comm collectives; /* for collectives and their parts */
    MPI_Comm kernels;     /* for kernels of tasks on every node */
    bool finalizes;
    uint64_t tags;
    size_t early_bytes;
    TI_VEC(MPI_Request) request;
    TI_VEC(op) op;         /* of the request with the same index */
    size_t cursor;         /* where the next portion starts */
    TI_VEC(uint64_t) done; /* tokens; [0, reported) is past */
    size_t reported;
    ti_map peers; /* node -> peer, of those that were sent to */
    ti_mpi_types types;
    ti_parcel_pool parcels;
    ti_mpi_notes notes;
    ti_groups groups;
    ti_direct direct;
    ti_combining combining;
    ti_mpi_collectives shared;
    MPI_Status status[PORTION];
    int index[PORTION];
    char error[ERROR_TEXT];
} mpi_comm;

/* ---- errors */

/* The first one stays; poll reports it. */
static void fail(mpi_comm *self, const char *format, ...) TI_PRINTF(2, 3);
static void fail(mpi_comm *self, const char *format, ...)
{
    if (self->comm.stats.error) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(self->error, sizeof(self->error), format, args);
    va_end(args);
    self->comm.stats.error = self->error;
}

static bool succeeded(mpi_comm *self, int code, const char *what)
{
    if (TI_LIKELY(code == MPI_SUCCESS)) {
        return true;
    }
    char text[MPI_MAX_ERROR_STRING];
    fail(self, "%s failed: %s", what, ti_mpi_error_text(code, text));
    return false;
}

/* A call of MPI, which is named if it fails. */
#define CALLED(self, function, ...) succeeded(self, function(__VA_ARGS__), #function)

static void fail_op(mpi_comm *self, const op *o, const char *call, int code)
{
    static const char *const what[] = { "sending", "sending", "sending", "receiving" };
    char text[MPI_MAX_ERROR_STRING];
    int class = code;
    self->comm.stats.length_mismatch |= MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
    if (o->kind == OP_BARRIER || o->kind == OP_COLLECTIVE) {
        fail(self, "%s (of a %s) failed: %s", call, o->kind == OP_BARRIER ? "barrier" : "collective",
             ti_mpi_error_text(code, text));
        return;
    }
    fail(self, "%s (%s %zu bytes %s node %d) failed: %s", call, what[o->kind], o->bytes,
         o->kind == OP_RECEIVE ? "from" : "to", o->peer, ti_mpi_error_text(code, text));
}

/* ---- starting operations */

static bool is_part(const op *o)
{
    return (o->token & (TI_GROUP_TOKEN | TI_COMBINING_TOKEN)) != 0;
}

static int start_on_wire(mpi_comm *self, const op *o, int tag, const ti_mpi_wire *w, MPI_Request *request)
{
    MPI_Comm mpi = is_part(o) ? self->collectives : self->mpi;
    switch (o->kind) {
    case OP_SEND:
        return MPI_Isend(w->address, w->count, w->type, o->peer, tag, mpi, request);
    case OP_SYNC_SEND:
    case OP_SYNC_POINT:
        return MPI_Issend(w->address, w->count, w->type, o->peer, tag, mpi, request);
    case OP_RECEIVE:
        return MPI_Irecv(w->address, w->count, w->type, o->peer, tag, mpi, request);
    case OP_BARRIER:
        return MPI_Ibarrier(self->mpi, request);
    case OP_COLLECTIVE:
        break;
    }
    TI_UNREACHABLE();
}

static void complete(mpi_comm *self, uint64_t token)
{
    if (token & TI_COMBINING_TOKEN) {
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

static void start(mpi_comm *self, op o, uint64_t counter, const ti_payload *payload)
{
    static const char *const names[] = { "MPI_Isend", "MPI_Issend",   "MPI_Issend",
                                         "MPI_Irecv", "MPI_Ibarrier", "a collective" };
    ti_mpi_wire w;
    TI_ASSERT(o.peer >= 0 && o.peer < self->comm.num_nodes && self->request.count == self->op.count);
    MPI_Request request = MPI_REQUEST_NULL;
    const char *call;
    ti_mpi_guard_inside = true;
    int code = ti_mpi_wire_of(&self->types, &self->parcels, payload, o.kind == OP_RECEIVE, &w, &call);
    o.packed = w.packed;
    if (!code) {
        call = names[o.kind];
        code = start_on_wire(self, &o, (int)(counter % self->tags), &w, &request);
    }
    if (!code && w.temporary && (code = MPI_Type_free(&w.type))) {
        call = "MPI_Type_free";
    }
    ti_mpi_guard_inside = false;
    if (TI_UNLIKELY(code)) {
        fail_op(self, &o, call, code);
    }
    if (TI_UNLIKELY(request == MPI_REQUEST_NULL)) { /* failed, or a barrier of one node */
        complete(self, o.token);
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
        *slot = (uint64_t)(uintptr_t)p;
    }
    TI_ASSERT(((peer *)(uintptr_t)*slot)->node == node);
    return (peer *)(uintptr_t)*slot;
}

static bool has_room(const mpi_comm *self, const peer *p, size_t bytes)
{
    return p->early_bytes + bytes <= self->early_bytes && p->early_messages < EARLY_MESSAGES;
}

/* A message behind one that waits also waits, so that small ones do not use up the room again and again. */
static bool must_wait(const mpi_comm *self, const peer *p, uint64_t counter, size_t bytes)
{
    return p->syncing && counter > p->sync_counter && (p->held.count || !has_room(self, p, bytes));
}

static void send_counted(mpi_comm *self, peer *p, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    TI_ASSERT(payload->bytes < self->early_bytes / 2 &&
              (!p->syncing || p->early_messages < EARLY_MESSAGES || counter < p->sync_counter));
    op o = { .kind = OP_SEND, .peer = p->node, .token = token, .bytes = payload->bytes };
    p->early_bytes += payload->bytes;
    p->early_messages++;
    if (!p->syncing && (p->early_bytes > self->early_bytes / 2 || p->early_messages >= SYNC_MESSAGES)) {
        o.kind = OP_SYNC_POINT;
        p->syncing = true;
        p->sync_counter = counter;
        p->sync_bytes = p->early_bytes;
        p->sync_messages = p->early_messages;
    }
    ti_comm_stats *stats = &self->comm.stats;
    stats->early_bytes_peak = TI_MAX(stats->early_bytes_peak, p->early_bytes);
    start(self, o, counter, payload);
}

/* Lets those go that waited. The first finds no sync point under way, so it goes in any case, and may become the next
 * one. */
static void sync_point_passed(mpi_comm *self, peer *p)
{
    TI_ASSERT(p->syncing && p->early_bytes >= p->sync_bytes && p->early_messages >= p->sync_messages);
    p->syncing = false;
    p->early_bytes -= p->sync_bytes;
    p->early_messages -= p->sync_messages;
    while (p->held.count) {
        ti_parcel *next = p->held.data[0];
        if (p->syncing && !has_room(self, p, next->payload.bytes)) {
            return;
        }
        ti_parcel_heap_pop(&p->held);
        send_counted(self, p, next->counter, &next->payload, next->token);
        ti_parcel_destroy(&self->parcels, next);
    }
}

static void mpi_send(ti_comm *comm, int node, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    mpi_comm *self = (mpi_comm *)comm;
    comm->pending++;
    comm->stats.messages_sent++;
    comm->stats.bytes_sent += payload->bytes;
    if (payload->bytes >= self->early_bytes / 2) {
        op o = { .kind = OP_SYNC_SEND, .peer = node, .token = token, .bytes = payload->bytes };
        start(self, o, counter, payload);
        return;
    }
    peer *p = peer_of(self, node);
    TI_ASSERT(p->syncing || !p->held.count);
    if (!must_wait(self, p, counter, payload->bytes)) {
        send_counted(self, p, counter, payload, token);
        return;
    }
    ti_parcel *item = ti_parcel_create(&self->parcels, payload, true, false);
    item->counter = counter;
    item->token = token;
    ti_parcel_heap_push(&p->held, item);
    comm->stats.held_back++;
}

static void mpi_receive(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    op o = { .kind = OP_RECEIVE, .peer = origin, .token = token, .bytes = payload->bytes };
    comm->pending++;
    start((mpi_comm *)comm, o, counter, payload);
}

/* Parts of collectives have the tag of their collective: reductions have two, one for each phase. */
enum { PHASES = 2 };

static void send_part(void *comm, int to, const ti_exchange *x, const ti_payload *payload, uint64_t token)
{
    start(comm, (op){ .kind = OP_SEND, .peer = to, .token = token, .bytes = payload->bytes }, PHASES * x->sequence,
          payload);
}

static void receive_part(void *comm, int origin, const ti_exchange *x, const ti_payload *payload, uint64_t token)
{
    start(comm, (op){ .kind = OP_RECEIVE, .peer = origin, .token = token, .bytes = payload->bytes },
          PHASES * x->sequence, payload);
}

static void start_combining(mpi_comm *self, op_kind kind, const ti_combining_message *m)
{
    ti_block block = { .base = m->at, .run = m->bytes, .count = { 1, 1 } };
    start(self, (op){ .kind = kind, .peer = m->peer, .token = m->token, .bytes = m->bytes },
          PHASES * m->sequence + (uint64_t)m->phase, &(ti_payload){ &block, 1, m->bytes });
}

static void send_combining(void *comm, const ti_combining_message *m)
{
    start_combining(comm, OP_SEND, m);
}

static void receive_combining(void *comm, const ti_combining_message *m)
{
    start_combining(comm, OP_RECEIVE, m);
}

static void mpi_collective(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    mpi_comm *self = (mpi_comm *)comm;
    comm->pending++;
    comm->stats.collectives++;
    comm->stats.collective_bytes_out += x->bytes_out;
    comm->stats.collective_bytes_in += x->bytes_in;
    MPI_Request request = MPI_REQUEST_NULL;
    op o = { .kind = OP_COLLECTIVE, .peer = comm->node, .token = token, .bytes = x->bytes_in };
    ti_mpi_guard_inside = true;
    int code = ti_mpi_collectives_start(&self->shared, x, &o.collective, &request);
    ti_mpi_guard_inside = false;
    if (TI_UNLIKELY(code)) {
        fail_op(self, &o, self->shared.call, code);
    } else if (o.collective.share) {
        comm->stats.carried[x->what->pattern][1]++;
        ti_vec_push(&self->request, request);
        ti_vec_push(&self->op, o);
    } else {
        comm->stats.carried[x->what->pattern][0]++;
        if (ti_pattern_combines(x->what->pattern)) {
            ti_combining_start(&self->combining, x, token);
            combine(self);
        } else if (!ti_direct_start(&self->direct, comm, &self->groups, x, token)) {
            ti_vec_push(&self->done, token);
        }
    }
}

static void mpi_barrier(ti_comm *comm, uint64_t token)
{
    static const ti_payload nothing = { 0 };
    comm->pending++;
    start((mpi_comm *)comm, (op){ .kind = OP_BARRIER, .peer = comm->node, .token = token }, 0, &nothing);
}

/* Waits as everything here does: by asking and giving up the core. */
static int64_t mpi_sum(ti_comm *comm, int64_t value)
{
    mpi_comm *self = (mpi_comm *)comm;
    long long mine = value, all = value;
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    ti_mpi_guard_inside = true;
    bool going = CALLED(self, MPI_Iallreduce, &mine, &all, 1, MPI_LONG_LONG, MPI_SUM, self->mpi, &request);
    while (going && !done) {
        going = CALLED(self, MPI_Test, &request, &done, MPI_STATUS_IGNORE);
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
    if (CALLED(self, MPI_Get_elements_x, status, MPI_BYTE, &bytes) && (size_t)bytes != o->bytes) {
        self->comm.stats.length_mismatch = true;
        fail(self, "node %d sent %lld bytes where %zu were expected", o->peer, (long long)bytes, o->bytes);
    }
}

static void finish(mpi_comm *self, const op *o, const MPI_Status *status)
{
    complete(self, o->token);
    switch (o->kind) {
    case OP_SEND:
    case OP_SYNC_SEND:
    case OP_BARRIER:
        break;
    case OP_COLLECTIVE:
        ti_mpi_collectives_done(&self->shared, &o->collective);
        break;
    case OP_SYNC_POINT:
        sync_point_passed(self, peer_of(self, o->peer));
        break;
    case OP_RECEIVE:
        check_length(self, o, status);
        if (o->packed) {
            ti_mpi_unpack(&o->packed->payload, o->packed->packed);
        }
        self->comm.stats.messages_received += !is_part(o);
        self->comm.stats.bytes_received += is_part(o) ? 0 : o->bytes;
        break;
    }
    ti_parcel_destroy(&self->parcels, o->packed);
}

static void finish_or_fail(mpi_comm *self, const op *o, const char *call, int code, const MPI_Status *status)
{
    if (TI_LIKELY(code == MPI_SUCCESS)) {
        finish(self, o, status);
        return;
    }
    fail_op(self, o, call, code);
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
    TI_ASSERT(begin < end && end - begin <= PORTION);
    ti_mpi_guard_inside = true;
    for (int look = 0; look < LOOKS && !code && !count; look++) {
        code = MPI_Testsome((int)(end - begin), &self->request.data[begin], &count, self->index, self->status);
    }
    ti_mpi_guard_inside = false;
    if (TI_UNLIKELY(code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) {
        succeeded(self, code, "MPI_Testsome");
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

static void progress(mpi_comm *self)
{
    size_t pending = self->request.count;
    if (pending == 1) {
        test_one(self);
    } else if (pending) {
        size_t begin = pending <= PORTION || self->cursor >= pending ? 0 : self->cursor;
        size_t end = TI_MIN(begin + PORTION, pending);
        self->cursor = end;
        test_portion(self, begin, end);
    }
}

static int mpi_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    mpi_comm *self = (mpi_comm *)comm;
    if (self->reported == self->done.count) {
        self->reported = 0;
        ti_vec_clear(&self->done);
        if (!comm->stats.error) {
            progress(self);
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
    return succeeded(self, code, self->notes.call);
}

static bool mpi_note_send(ti_comm *comm, int node, const void *note, size_t bytes)
{
    mpi_comm *self = (mpi_comm *)comm;
    bool sent = false;
    ti_mpi_guard_inside = true;
    int code = ti_mpi_notes_send(&self->notes, node, note, bytes, &sent);
    ti_mpi_guard_inside = false;
    (void)succeeded(self, code, self->notes.call); /* the next poll says so */
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
    return succeeded(self, code, self->notes.call) ? bytes : -1;
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
        op_kind kind = self->op.data[i].kind;
        MPI_Request *request = &self->request.data[i];
        if (kind == OP_BARRIER || kind == OP_COLLECTIVE || *request == MPI_REQUEST_NULL) {
            continue; /* requests of collectives may not be freed */
        }
        if (kind == OP_RECEIVE) {
            (void)MPI_Cancel(request);
        }
        (void)MPI_Request_free(request);
    }
}

static void peers_fini(mpi_comm *self)
{
    for (size_t i = 0; i < self->peers.capacity; i++) {
        if (self->peers.used[i]) {
            peer *p = (peer *)(uintptr_t)self->peers.slot[i].value;
            while (p->held.count) {
                ti_parcel_destroy(&self->parcels, ti_parcel_heap_pop(&p->held));
            }
            ti_vec_fini(&p->held);
            TI_DELETE(p);
        }
    }
    ti_map_fini(&self->peers);
}

static bool close_communicator(mpi_comm *self, MPI_Comm *comm)
{
    return *comm == MPI_COMM_NULL || CALLED(self, MPI_Comm_free, comm);
}

/* False if MPI reports an error, which is kept. */
static bool leave_mpi(mpi_comm *self)
{
    int finalized = 0;
    bool asked = CALLED(self, MPI_Finalized, &finalized);
    int code = ti_mpi_types_fini(&self->types, asked && !finalized);
    int shared = ti_mpi_collectives_fini(&self->shared, asked && !finalized);
    if (!asked || finalized) {
        return asked;
    }
    drop_pending(self);
    int closed = ti_mpi_notes_close(&self->notes);
    return succeeded(self, code, "MPI_Type_free") && succeeded(self, shared, self->shared.call) &&
           succeeded(self, closed, self->notes.call) && close_communicator(self, &self->kernels) &&
           close_communicator(self, &self->collectives) && close_communicator(self, &self->mpi) &&
           (!self->finalizes || succeeded(self, MPI_Finalize(), "MPI_Finalize"));
}

/* Where tacit_init has failed, other nodes may wait in a call that this one does not make: MPI stays as it is, and the
 * exit handler ends the job. Where MPI fails now, nothing is left to return, and the job ends at once. */
static void mpi_destroy(ti_comm *comm)
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
            mpi_abort(comm, self->error);
        }
        ti_mpi_guard_disarm();
    }
    peers_fini(self);
    ti_parcel_pool_fini(&self->parcels);
    ti_vec_fini(&self->request);
    ti_vec_fini(&self->op);
    ti_vec_fini(&self->done);
    ti_groups_fini(&self->groups);
    ti_direct_fini(&self->direct);
    ti_combining_fini(&self->combining, false);
    TI_DELETE(self);
}

static const void *mpi_communicator(const ti_comm *comm, const tacit_mpi_comm *like)
{
    const mpi_comm *self = (const mpi_comm *)comm;
    return ti_mpi_is_same(like) ? &self->kernels : NULL;
}

static const ti_comm_ops mpi_ops = {
    .name = "mpi",
    .destroy = mpi_destroy,
    .send = mpi_send,
    .receive = mpi_receive,
    .collective = mpi_collective,
    .barrier = mpi_barrier,
    .sum = mpi_sum,
    .poll = mpi_poll,
    .communicator = mpi_communicator,
    .abort = mpi_abort,
    .note_open = mpi_note_open,
    .note_send = mpi_note_send,
    .note_poll = mpi_note_poll,
};

/* ---- creation */

static bool open_communicator(mpi_comm *self, MPI_Comm parent)
{
    ti_comm *comm = &self->comm;
    MPI_Comm machine = MPI_COMM_NULL;
    int *largest = NULL, has_largest = 0;
    if (!CALLED(self, MPI_Comm_dup, parent, &self->mpi) ||
        !CALLED(self, MPI_Comm_set_errhandler, self->mpi, MPI_ERRORS_RETURN) ||
        !CALLED(self, MPI_Comm_rank, self->mpi, &comm->node) ||
        !CALLED(self, MPI_Comm_size, self->mpi, &comm->num_nodes) ||
        !CALLED(self, MPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &largest, &has_largest) ||
        !CALLED(self, MPI_Comm_split_type, self->mpi, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) ||
        !CALLED(self, MPI_Comm_size, machine, &comm->local_nodes)) {
        return false;
    }
    TI_ASSERT(comm->local_nodes >= 1 && comm->local_nodes <= comm->num_nodes);
    self->tags = (has_largest ? (uint64_t)*largest : 32767u) + 1; /* what the standard guarantees */
    return CALLED(self, MPI_Comm_free, &machine);
}

/* Now, since all nodes are here. Errors are the kernels' business: reported as the application has it, or as MPI does
 * if nobody says. */
static bool open_kernels_communicator(mpi_comm *self, MPI_Comm parent)
{
    return CALLED(self, MPI_Comm_dup, parent, &self->kernels) &&
           (!self->finalizes || CALLED(self, MPI_Comm_set_errhandler, self->kernels, MPI_ERRORS_ARE_FATAL));
}

static bool open_collectives(mpi_comm *self, int schedule)
{
    ti_mpi_collectives *shared = &self->shared;
    if (!CALLED(self, MPI_Comm_dup, self->mpi, &self->collectives)) {
        return false;
    }
    self->combining =
        (ti_combining){ .send = send_combining,
                        .receive = receive_combining,
                        .comm = self,
                        .node = self->comm.node,
                        .segment = TI_MAX(SEGMENTS / (size_t)TI_MAX(self->comm.num_nodes - 1, 1), (size_t)SEGMENT),
                        .whole = WHOLE };
    int code = ti_mpi_collectives_init(shared, self->collectives, self->comm.node, self->comm.num_nodes, schedule);
    bool measures = schedule == TACIT_COLLECTIVE_SCHEDULE_MEASURE && self->comm.num_nodes > 1;
    return succeeded(self, code, shared->call) && (!measures || ti_mpi_measure(&self->comm, &shared->choice));
}

static bool compare_settings(mpi_comm *self, const char *text)
{
    const char *call = "";
    if (self->comm.num_nodes == 1 || !text) {
        return true;
    }
    int code = ti_mpi_compare_settings(self->mpi, self->comm.node, text, &call);
    return succeeded(self, code, call);
}

static tacit_status create(const ti_mpi_start *start, const ti_comm_settings *settings, ti_comm **out, char *why,
                           size_t why_size)
{
    mpi_comm *self = TI_NEW(mpi_comm);
    self->comm.ops = &mpi_ops;
    self->comm.threads = start->threads;
    self->comm.thread_level = start->level;
    self->mpi = self->kernels = self->collectives = MPI_COMM_NULL;
    self->direct = (ti_direct){ .send = send_part, .receive = receive_part };
    self->finalizes = start->finalizes;
    self->early_bytes = settings->early_bytes;
    ti_mpi_types_init(&self->types);
    bool ok = open_communicator(self, start->parent) && compare_settings(self, settings->text) &&
              open_kernels_communicator(self, start->parent) && open_collectives(self, settings->schedule);
    ti_mpi_guard_arm(self->comm.node);
    *out = ok ? &self->comm : NULL;
    if (!ok) {
        snprintf(why, why_size, "%s", self->error);
        mpi_destroy(&self->comm);
    }
    return ok ? TACIT_OK : TACIT_ERROR_NETWORK;
}

ti_comm *ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size)
{
    ti_mpi_start start;
    ti_comm *comm = NULL;
    if (ti_mpi_start_world(&start, why, why_size)) {
        (void)create(&start, settings, &comm, why, why_size);
    } else if (!start.over) {
        ti_mpi_guard_arm(-1); /* others may wait for this process */
    }
    return comm;
}

tacit_status ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out, char *why,
                               size_t why_size)
{
    ti_mpi_start start;
    tacit_status status = ti_mpi_start_on(given, &start, why, why_size);
    *out = NULL;
    return status == TACIT_OK ? create(&start, settings, out, why, why_size) : status;
}
