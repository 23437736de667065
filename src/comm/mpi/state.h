/* What a communicator over MPI knows, for the sources that make it up: comm.c, which carries out operations, message.c,
 * which sends and receives, create.c, which creates it, relays.c, which carries broadcasts, and failure.c. Called by
 * one thread at a time. */
#ifndef TI_MPI_STATE_H
#define TI_MPI_STATE_H

#include "base/shared.h"
#include "comm/combining.h"
#include "comm/early.h"
#include "comm/exchange.h"
#include "comm/mpi/collective.h"
#include "comm/mpi/note.h"
#include "comm/near.h"
#include "comm/parcel.h"
#include "comm/relay.h"

enum { TI_MPI_PORTION = 64 /* requests tested by one poll */, TI_MPI_ERROR_TEXT = 640 };

typedef enum ti_mpi_op_kind {
    TI_MPI_OP_SEND,
    TI_MPI_OP_SYNC_SEND,
    TI_MPI_OP_SYNC_POINT,
    TI_MPI_OP_RECEIVE,
    TI_MPI_OP_FRAME, /* of a relay, sent */
    TI_MPI_OP_FRAME_RECEIVE,
    TI_MPI_OP_BARRIER,
    TI_MPI_OP_COLLECTIVE
} ti_mpi_op_kind;

/* Which communicator a message travels on. */
typedef enum ti_mpi_route { TI_MPI_ROUTE_MESSAGES, TI_MPI_ROUTE_PARTS, TI_MPI_ROUTE_RELAYS } ti_mpi_route;

/* What a pending request means. */
typedef struct ti_mpi_op {
    ti_mpi_op_kind kind;
    ti_mpi_route route;
    int peer;
    uint64_t counter, token;
    size_t bytes;
    ti_parcel *packed; /* or NULL */
    ti_parcel *blocks; /* of a receive that a broadcast may replace; or NULL */
    ti_mpi_operation collective;
} ti_mpi_op;

static inline bool ti_mpi_is_received(ti_mpi_op_kind kind)
{
    return kind == TI_MPI_OP_RECEIVE || kind == TI_MPI_OP_FRAME_RECEIVE;
}

/* A node that was sent to. */
typedef struct ti_mpi_peer {
    int node;
    ti_early early;
    ti_parcel_heap held; /* empty unless a sync point is under way */
} ti_mpi_peer;

typedef struct ti_mpi_state {
    ti_comm comm;
    MPI_Comm mpi;
    MPI_Comm collectives;                        /* for collectives and their parts */
    MPI_Comm kernels;                            /* for kernels of tasks on every node */
    MPI_Comm group[TACIT_MAX_COLLECTIVE_GROUPS]; /* for those of groups, by their numbers; MPI_COMM_NULL: none yet */
    MPI_Comm relays;                             /* for frames and segments of broadcasts; with few nodes: none */
    bool finalizes;
    uint64_t tags;
    size_t early_bytes;
    TI_VEC(MPI_Request) request;
    TI_VEC(ti_mpi_op) op;  /* of the request with the same index */
    size_t cursor;         /* where the next portion starts */
    TI_VEC(uint64_t) sent; /* tokens of messages that had left when their calls returned, for the next poll */
    TI_VEC(uint64_t) done; /* tokens; [0, reported) is past */
    size_t reported;
    ti_map peers; /* node -> ti_mpi_peer */
    ti_mpi_types types;
    ti_parcel_pool parcels;
    ti_mpi_notes notes;
    ti_groups groups;
    ti_direct direct;
    ti_combining combining;
    ti_relay relay;
    ti_near near;             /* nodes of this machine that get short messages without MPI */
    TI_VEC(ti_shared) memory; /* in which their mailboxes and this node's are */
    ti_parcel *withdrawn;     /* the blocks of the receive that was taken back last; or NULL */
    TI_VEC(struct ti_mpi_frame {
        int from;
        ti_parcel *parcel;
    })
    frames; /* that have come; looked at when no request is being looked at */
    ti_mpi_collectives shared;
    MPI_Status status[TI_MPI_PORTION];
    int index[TI_MPI_PORTION];
    char error[TI_MPI_ERROR_TEXT];
} ti_mpi_state;

/* The peer to which a message of so many bytes goes by no network, or NULL. Both sides say the same. */
static inline ti_near_peer *ti_mpi_near_peer(const ti_mpi_state *self, int node, size_t bytes)
{
    return bytes <= self->near.limit && !self->comm.never_packs ? ti_near_find(&self->near, node) : NULL;
}

static inline void ti_mpi_count_received(ti_mpi_state *self, ti_mpi_route route, size_t bytes)
{
    self->comm.stats.messages_received += route == TI_MPI_ROUTE_MESSAGES;
    self->comm.stats.bytes_received += route == TI_MPI_ROUTE_MESSAGES ? bytes : 0;
}

/* ---- failure.c */

/* The first one stays; poll reports it. */
void ti_mpi_fail(ti_mpi_state *self, const char *format, ...) TI_PRINTF(2, 3);
/* Whether a call of MPI went well; else it is named. */
bool ti_mpi_succeeded(ti_mpi_state *self, int code, const char *what);
#define TI_MPI_CALLED(self, function, ...) ti_mpi_succeeded(self, function(__VA_ARGS__), #function)
void ti_mpi_fail_op(ti_mpi_state *self, const ti_mpi_op *op, const char *call, int code);
void ti_mpi_length_differs(ti_mpi_state *self, int node, size_t bytes, size_t expected);

/* ---- comm.c */

/* Messages of collectives. */
void ti_mpi_send_part(void *comm, int to, const ti_exchange *x, const ti_payload *payload, uint64_t token);
void ti_mpi_receive_part(void *comm, int origin, const ti_exchange *x, const ti_payload *payload, uint64_t token);
void ti_mpi_send_combining(void *comm, const ti_combining_message *message);
void ti_mpi_receive_combining(void *comm, const ti_combining_message *message);
bool ti_mpi_send_combining_at_once(void *comm, const ti_combining_message *message);
bool ti_mpi_receive_combining_at_once(void *comm, const ti_combining_message *message, int *looks);
void ti_mpi_destroy(ti_comm *comm);
extern const ti_comm_ops ti_mpi_ops;

/* ---- message.c: operations of ti_comm_ops, and */

/* The tag is the operation's counter. */
void ti_mpi_start_op(ti_mpi_state *self, ti_mpi_op op, const ti_payload *payload);
/* A message that the early limit applies to. */
void ti_mpi_send_early(ti_mpi_state *self, int node, uint64_t counter, const ti_payload *payload, uint64_t token);
void ti_mpi_sync_point_passed(ti_mpi_state *self, int node);
void ti_mpi_send(ti_comm *comm, int node, uint64_t counter, const ti_payload *payload, uint64_t token);
void ti_mpi_receive(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, uint64_t token);
bool ti_mpi_send_at_once(ti_comm *comm, int node, uint64_t counter, const ti_payload *payload);
bool ti_mpi_receive_at_once(ti_comm *comm, int origin, uint64_t counter, const ti_payload *payload, int looks);

/* ---- relays.c */

extern const ti_relay_ops ti_mpi_relay_ops;

#endif
