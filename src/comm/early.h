/* Early bytes: what was sent to one peer without knowing that its receive is there (comm.h has the rule).
 *
 * Networks take small messages before their receive is posted, and keep them in memory that nobody limits. So a sender
 * counts, per peer, what it sent since the last *sync point*: a message of which it learns when its receive has started
 * (over MPI by its completion, near by by an answer). The message that crosses half the limit becomes the sync point;
 * when its receive has started, everything sent up to it counts as received. Until then, messages with higher counters
 * that would cross the limit wait, in the order of their counters. Those with lower counters never wait: the receive of
 * the sync point may depend on them, and only on them, so there is no deadlock. Messages of half the limit or more are
 * always sent in that way and are not counted.
 *
 * Counting only: comm/mpi/message.c sends, and keeps what waits; sim/early.c does the same in simulations. Owned by one
 * communicator, touched by its thread only. */
#ifndef TI_EARLY_H
#define TI_EARLY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TI_EARLY_SYNC_MESSAGES = 512, /* so many messages make a sync point, however small they are */
    TI_EARLY_MESSAGES = 2 * TI_EARLY_SYNC_MESSAGES
};

typedef struct ti_early {
    uint64_t limit;
    bool syncing; /* a sync point is under way */
    uint64_t bytes, messages;
    uint64_t sync_counter, sync_bytes, sync_messages; /* counted up to the sync point and with it */
} ti_early;

static inline bool ti_early_is_counted(uint64_t limit, uint64_t bytes)
{
    return bytes < limit / 2;
}

static inline bool ti_early_has_room(const ti_early *e, uint64_t bytes)
{
    return e->bytes + bytes <= e->limit && e->messages < TI_EARLY_MESSAGES;
}

/* A message behind one that waits also waits, so that small ones do not use up the room again and again. */
static inline bool ti_early_must_wait(const ti_early *e, uint64_t counter, uint64_t bytes, bool others_wait)
{
    return e->syncing && counter > e->sync_counter && (others_wait || !ti_early_has_room(e, bytes));
}

/* Whether a message that is sent now is the next sync point. */
static inline bool ti_early_makes_point(const ti_early *e, uint64_t bytes)
{
    return !e->syncing && (e->bytes + bytes > e->limit / 2 || e->messages + 1 >= TI_EARLY_SYNC_MESSAGES);
}

/* Counts a message that is sent now. Returns whether it is the next sync point. */
static inline bool ti_early_count(ti_early *e, uint64_t counter, uint64_t bytes)
{
    const bool is_point = ti_early_makes_point(e, bytes);
    e->bytes += bytes;
    e->messages++;
    if (!is_point) {
        return false;
    }
    e->syncing = true;
    e->sync_counter = counter;
    e->sync_bytes = e->bytes;
    e->sync_messages = e->messages;
    return true;
}

/* The receive of the sync point has started. Then those that wait may go, each as long as this says so. The first finds
 * no sync point under way, so it goes in any case, and may become the next one. */
static inline void ti_early_passed(ti_early *e)
{
    e->syncing = false;
    e->bytes -= e->sync_bytes;
    e->messages -= e->sync_messages;
}

static inline bool ti_early_may_go(const ti_early *e, uint64_t bytes)
{
    return !e->syncing || ti_early_has_room(e, bytes);
}

#endif
