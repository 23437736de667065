/* Broadcasts through relays (paper: Denis, Jeannot, Swartvagher, Thibault: Using Dynamic Broadcasts to improve
 * Task-Based Runtime Performances, 2020): one payload for several nodes travels down a tree whose relays and leaves
 * know nothing of it before it comes.
 *
 * Every recipient waits for its message as for any other, by (origin, counter). The root cuts its list of recipients
 * into one list per child (tree.h). A child is *offered* the payload together with its list, in a *frame*. (Also one
 * that is alone in its list: an ordinary message to it would leave before the bytes for the others, who are more
 * urgent.) It *answers* at once, whatever its tasks do: it takes the offer if its receive is posted or if it has memory
 * for it; then the parent sends the bytes, in segments, and the child offers them to its own children and forwards each
 * segment as soon as it is there. Few bytes come with the offer. When all its children have *settled*, it settles with
 * its parent, and names those who could not take the offer. In the end the root sends the ordinary message to each of
 * these.
 *
 * So nothing here waits for a task, and a node that is not ready costs the root a message as without broadcasts: no
 * deadlock comes from here. The memory for what is forwarded or came too early is bounded per node (`limit`); so is the
 * number of offers without an answer per pair of nodes, by TI_RELAY_OFFERS.
 *
 * A communicator carries frames and segments, and tells the relay what has come. Owned by it, touched by its thread
 * only. */
#ifndef TI_RELAY_H
#define TI_RELAY_H

#include "base/map.h"
#include "base/vec.h"
#include "comm/comm.h"
#include "comm/tree.h"

#define TI_RELAY_TOKEN ((uint64_t)1 << 61)

enum {
    TI_RELAY_FRAME_BYTES = 16 << 10,
    TI_RELAY_CARRIED = 4 << 10, /* a payload of at most so many bytes is in the offer, if it has room for it */
    TI_RELAY_OFFERS = 16,       /* without an answer, to one node */
    TI_RELAY_SEGMENT = TI_TREE_SEGMENT,
    TI_RELAY_CHANNELS = 1 << 14 /* transfers of one node at the same time */
};

/* A piece of a payload between two nodes. Those of one channel and pair are started in the order of their index. */
typedef struct ti_relay_message {
    int peer;
    uint32_t channel; /* of the receiver */
    uint32_t index;
    char *at;
    size_t bytes;
    uint64_t token;
} ti_relay_message;

/* What a communicator does for its relay. Nothing of this reports that a message is done before it returns. */
typedef struct ti_relay_ops {
    void (*frame)(void *comm, int peer, const void *frame, size_t bytes); /* copies */
    void (*send)(void *comm, const ti_relay_message *message);
    void (*receive)(void *comm, const ti_relay_message *message);
    /* The ordinary message, without counting it as sent; its token is reported. */
    void (*direct)(void *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token);
    /* Take back an ordinary receive that is posted. False: it is not. The payload is valid until the next call. */
    bool (*withdraw)(void *comm, int origin, uint64_t counter, ti_payload *payload, uint64_t *token);
    void (*repost)(void *comm, int origin, uint64_t counter, const ti_payload *payload,
                   uint64_t token);           /* after that */
    void (*sent)(void *comm, uint64_t token); /* of a recipient */
    void (*received)(void *comm, uint64_t token, size_t bytes);
    void (*mismatch)(void *comm, int origin, size_t sent, size_t expected);
    /* Of a simulation, where payloads are no more than a length: so much would be copied now. NULL: there are bytes. */
    void (*copy)(void *comm, size_t bytes);
} ti_relay_ops;

typedef struct ti_relay_transfer ti_relay_transfer;

typedef struct ti_relay {
    const ti_relay_ops *ops;
    void *comm;
    int node;
    ti_tree tree;
    size_t limit;   /* of `memory` */
    size_t segment; /* bytes */
    size_t memory;
    TI_VEC(ti_relay_transfer *) transfer; /* all there are, by number */
    TI_VEC(uint32_t) unused;              /* numbers */
    ti_map early;          /* (origin, counter) -> number + 1, of transfers whose receive is not posted */
    ti_map offers;         /* node -> offers without an answer */
    TI_VEC(uint64_t) held; /* offers that wait for answers: number << 32 | child */
    ti_relay_stats *stats;
    const ti_relay_tap *tap; /* told what this node passes on for others */
} ti_relay;

/* The same payload to all; its memory stays valid until all recipients' tokens have been reported. The list is sorted
 * in place: higher priorities first. */
void ti_relay_broadcast(ti_relay *relay, ti_recipient *list, uint32_t count, const ti_payload *payload);
/* Before an ordinary receive is posted. True: the message came or comes this way, and the relay will report it. */
bool ti_relay_claim(ti_relay *relay, int origin, uint64_t counter, const ti_payload *payload, uint64_t token);
void ti_relay_take_frame(ti_relay *relay, int from, const void *frame);
/* A message is done. */
void ti_relay_message_done(ti_relay *relay, uint64_t message_token);
bool ti_relay_is_idle(const ti_relay *relay);
/* What is under way is left alone, with its memory, if messages may still touch that. */
void ti_relay_fini(ti_relay *relay, bool with_pending);

#endif
