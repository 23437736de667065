/* One node's share of a collective, as a communicator is asked for it; and collectives carried out as messages between
 * pairs.
 *
 * Any communicator can carry out a collective directly: what travels from node r to node q is one message, whose
 * identity is (r, q, sequence number of the collective), apart from all other messages. Its parts have tokens of their
 * own, which a group turns into the collective's token when all parts are done. Owned by the communicator, touched by
 * its thread only. */
#ifndef TI_EXCHANGE_H
#define TI_EXCHANGE_H

#include "base/vec.h"
#include "comm/comm.h"
#include "ir/collective.h"

struct ti_exchange {
    const ti_collective *what;
    size_t elem_size;
    uint64_t sequence; /* all nodes start collectives in this order, without gaps */
    /* With what->serial: where the bytes lie relative to `base`. 0: not from one base, which is NULL. */
    uint64_t layout;
    char *base;
    /* Where boxes of the buffer lie in this node's memory; valid until the next call. Each lies within a box that this
     * node gives or gets, or where a region comes together here (all-gather, broadcast, the root of a gather or
     * scatter; in groups the group's part of it), within that. */
    ti_payload (*locate)(void *user, const ti_boxes *boxes);
    void *user;
    bool gives, gets;           /* this node, anything */
    size_t bytes_out, bytes_in; /* what it gives and gets */
};

/* ---- groups of parts */

#define TI_GROUP_TOKEN ((uint64_t)1 << 63)

typedef struct ti_group {
    uint64_t token;
    uint32_t left, next_free;
} ti_group;

typedef struct ti_groups {
    TI_VEC(ti_group) group;
    uint32_t free; /* + 1 */
} ti_groups;

/* One part is done. Whether all are: then *token is the group's. */
bool ti_groups_part_done(ti_groups *groups, uint64_t part, uint64_t *token);
void ti_groups_fini(ti_groups *groups);

/* ---- the direct schedule */

enum { TI_DIRECT_PLANS = 32 };

typedef TI_VEC(ti_block) ti_blocks;

/* This node's messages of a collective, made once per (collective, layout): those used longest ago are dropped. */
typedef struct ti_direct_plan {
    uint64_t serial, layout; /* serial 0: is not found again */
    uint64_t last_use;
    TI_VEC(struct ti_direct_message {
        int peer;
        uint32_t blocks;
        size_t first; /* of the plan's blocks */
        size_t bytes;
    })
    message; /* those that are sent come first */
    size_t sends;
    ti_blocks block; /* of all messages in turn; from the exchange's base */
} ti_direct_plan;

typedef struct ti_direct {
    void (*send)(void *comm, int peer, const ti_exchange *x, const ti_payload *payload, uint64_t token);
    void (*receive)(void *comm, int origin, const ti_exchange *x, const ti_payload *payload, uint64_t token);
    ti_direct_plan plan[TI_DIRECT_PLANS];
    uint64_t clock;
    ti_boxes boxes[2]; /* scratch */
    ti_blocks block;   /* of the message that is being started */
} ti_direct;

/* What `node` sends and receives; boxes are scratch. Replaces what the plan was. */
void ti_direct_plan_make(ti_direct_plan *plan, const ti_exchange *x, int node, ti_boxes boxes[2]);
/* The payload of the i-th message, from `base`; valid until `blocks` change. */
ti_payload ti_direct_plan_payload(const ti_direct_plan *plan, size_t i, const char *base, ti_blocks *blocks);
void ti_direct_plan_fini(ti_direct_plan *plan);

/* The messages of `node`, made anew if they are not among those that are kept; valid until the next call. */
ti_direct_plan *ti_direct_plan_of(ti_direct *direct, const ti_exchange *x, int node);

/* Start all parts. Returns false if there are none: then the collective is done. */
bool ti_direct_start(ti_direct *direct, ti_comm *comm, ti_groups *groups, const ti_exchange *x, uint64_t token);
void ti_direct_fini(ti_direct *direct);

#endif
