/* Short messages between nodes of one machine, through mailboxes in memory that they share (mailbox.h): what a
 * network's library would do for them, without its calls.
 *
 * Which messages travel so follows from what both sides know: the node and the number of bytes. The sender copies the
 * payload into the mailbox, so a send is complete when there was room for it; those that find none wait in their order.
 * Whoever polls takes out all that has come: into the receives that wait for it, or, where there is none yet, into
 * memory of its own, until there is (bounded as comm.h has it: of a message that is a *point* the sender learns when
 * its receive is there). Receives are found by their counter, or if there are several, in the order in which they were
 * started.
 *
 * Nearly always there is room, and where a node is behind another, the message is there when its receive is started.
 * Such messages may be done with at once.
 *
 * One thread at a time. */
#ifndef TI_NEAR_H
#define TI_NEAR_H

#include "base/vec.h"
#include "comm/mailbox.h"
#include "comm/parcel.h"

/* Messages of collectives are counted by themselves. */
enum { TI_NEAR_ROUTES = 2, TI_NEAR_BYTES = 16 * 1024 /* the longest message */ };

typedef struct ti_near_message {
    int route; /* below TI_NEAR_ROUTES */
    uint64_t counter, token;
    size_t bytes;
} ti_near_message;

/* A receive that waits for its message, or a message that waits for its receive. */
typedef struct ti_near_waiting {
    ti_near_message what;
    bool asks;         /* the message, for an answer */
    char *run;         /* where the payload goes, if it is one run of bytes */
    ti_parcel *parcel; /* its blocks, or the bytes that have come; or NULL */
} ti_near_waiting;

/* By counter, [begin, count). */
typedef struct ti_near_list {
    TI_VEC(ti_near_waiting) at;
    size_t begin;
} ti_near_list;

typedef struct ti_near_peer {
    int node;
    ti_mailbox in, out;
    ti_near_list receives[TI_NEAR_ROUTES], arrived[TI_NEAR_ROUTES];
    ti_near_list held;       /* sends for which there was no room, in their order */
    uint64_t points, passed; /* how many there were, and of how many the receive is there: of all, or all but one */
} ti_near_peer;

/* What has happened: of a point that its receive is there, which does not concern the send. */
typedef enum ti_near_end { TI_NEAR_SENT, TI_NEAR_POINT, TI_NEAR_RECEIVED } ti_near_end;
typedef struct ti_near_event {
    ti_near_end end;
    int node, route;
    uint64_t token;         /* of a message that is complete */
    size_t bytes, expected; /* they differ: the nodes do not agree */
} ti_near_event;

typedef struct ti_near {
    TI_VEC(ti_near_peer) peer; /* by node; all are there before the first message. None: no node is near */
    size_t limit;              /* bytes of the longest message that goes this way */
    ti_parcel_pool *parcels;
    TI_VEC(ti_near_event) ended; /* the caller clears it */
    size_t turn;                 /* whose mailbox is looked into although nothing is expected from there */
    uint64_t *messages;          /* are counted here when they are received */
    ti_mailbox_draft draft;
} ti_near;

ti_near_peer *ti_near_find(const ti_near *near, int node); /* NULL: it is on another machine */

/* Returns true if it is complete: it found room. Of at most one point per peer the receive is not known to be there. */
bool ti_near_send(ti_near *near, ti_near_peer *peer, const ti_near_message *what, bool point,
                  const ti_payload *payload);
/* `blocks` holds the payload's blocks, and is the receive's then; or NULL. */
void ti_near_receive(ti_near *near, ti_near_peer *peer, const ti_near_message *what, const ti_payload *payload,
                     ti_parcel *blocks);
/* If there is room; if the message has come, or is what its sender's mailbox has next, now or soon: it is looked for so
 * often again, which is counted down. False: nothing was done, and one of the above does it. Not for points, and
 * messages of the route have counters of their own. */
bool ti_near_send_at_once(ti_near *near, ti_near_peer *peer, const ti_near_message *what, const ti_payload *payload);
bool ti_near_receive_at_once(ti_near *near, ti_near_peer *peer, const ti_near_message *what, const ti_payload *payload,
                             int *looks);
/* Takes back a receive, and hands out its blocks. False: there is none. */
bool ti_near_withdraw(ti_near_peer *peer, int route, uint64_t counter, uint64_t *token, ti_parcel **blocks);
void ti_near_poll(ti_near *near);
void ti_near_fini(ti_near *near); /* what waits is dropped */

#endif
