/* A mailbox: short messages from one process to another one of the same machine, in memory that both have.
 *
 * It is a ring of bytes, in which each message begins on a cache line. The reader waits for the state of the message
 * that is next, and the writer sets it last. The line behind a message is where the next begins, so the writer has
 * cleared the state there. Of short messages it has done so in the lines ahead, while the message before was under way,
 * by which it also has these lines when it fills them. The first line of a message moves between the two cores, since
 * the reader looks at it. So that it does once, a short message is made in memory of the writer's own, and its first
 * line is written last, at a stroke. What lies inside a long message is not cleared. The reader says now and then how
 * far it is; the writer looks there when it finds no room.
 *
 * The writer goes back to the beginning as soon as there is room: so only a short part of the ring is used, which stays
 * in the caches, until more comes than the reader takes out.
 *
 * A message may ask for an answer: that somebody has received it, not only taken it out. Answers are counted.
 *
 * One reader and one writer; each has a ti_mailbox of its own, on the same memory. */
#ifndef TI_MAILBOX_H
#define TI_MAILBOX_H

#include "base/macro.h"

#include <stdatomic.h>
#include <string.h>

enum {
    TI_MAILBOX_BYTES = 512 * 1024, /* of the ring: a power of two */
    TI_MAILBOX_LAP = 16 * 1024,    /* of which so much is used at least */
    TI_MAILBOX_STEP = 4 * 1024,    /* after which the reader says how far it is */
    TI_MAILBOX_AHEAD = 1024        /* which the writer clears ahead; longer messages are long */
};

typedef enum ti_mailbox_state {
    TI_MAILBOX_EMPTY,
    TI_MAILBOX_FULL,
    TI_MAILBOX_TURNS /* what comes next begins where the ring does */
} ti_mailbox_state;

typedef struct ti_mailbox_message {
    _Atomic uint32_t state; /* ti_mailbox_state */
    uint32_t bytes;
    uint64_t counter;
    uint16_t route;
    bool asks; /* for an answer */
    _Alignas(8) char data[];
} ti_mailbox_message;

/* Where the writer makes a short message. */
typedef struct ti_mailbox_draft {
    _Alignas(TI_CACHE_LINE) char bytes[TI_MAILBOX_AHEAD];
} ti_mailbox_draft;

/* What both see. All 0 is a mailbox that is empty. */
typedef struct ti_mailbox_memory {
    _Alignas(TI_CACHE_LINE) _Atomic uint64_t taken; /* bytes; by the reader */
    _Atomic uint64_t answers;                       /* by the reader */
    _Alignas(TI_CACHE_LINE) char ring[TI_MAILBOX_BYTES];
} ti_mailbox_memory;

/* One end. */
typedef struct ti_mailbox {
    ti_mailbox_memory *memory;
    uint64_t at; /* in bytes, from the beginning: of the next message */
    /* The writer: */
    uint64_t limit;   /* as far as it knows, what lies before this is free */
    uint64_t cleared; /* and there is no state before this, up to the limit at most */
    uint64_t asked;   /* answers that it has asked for */
} ti_mailbox;

static inline ti_mailbox ti_mailbox_on(ti_mailbox_memory *memory)
{
    return (ti_mailbox){ .memory = memory, .limit = TI_MAILBOX_BYTES, .cleared = TI_MAILBOX_BYTES };
}

static inline size_t ti_mailbox_length(size_t bytes)
{
    return TI_ALIGN_UP(offsetof(ti_mailbox_message, data) + bytes, (size_t)TI_CACHE_LINE);
}

static inline ti_mailbox_message *ti_mailbox_at(const ti_mailbox *box, uint64_t at)
{
    return (ti_mailbox_message *)(void *)(box->memory->ring + at % TI_MAILBOX_BYTES);
}

/* ---- the writer */

static inline void ti_mailbox_clear(ti_mailbox *box, uint64_t end)
{
    for (; box->cleared < end; box->cleared += TI_CACHE_LINE) {
        atomic_store_explicit(&ti_mailbox_at(box, box->cleared)->state, TI_MAILBOX_EMPTY, memory_order_relaxed);
    }
}

/* What is at `at` is complete, and is so long. */
static inline void ti_mailbox_set(ti_mailbox *box, size_t length, ti_mailbox_state state)
{
    atomic_store_explicit(&ti_mailbox_at(box, box->at)->state, state, memory_order_release);
    box->at += length;
}

/* Whether there is room for that, and for the state behind it. */
static inline bool ti_mailbox_has_room(ti_mailbox *box, size_t length)
{
    const uint64_t end = box->at + length + TI_CACHE_LINE;
    if (TI_UNLIKELY(end > box->limit)) {
        box->limit = atomic_load_explicit(&box->memory->taken, memory_order_acquire) + TI_MAILBOX_BYTES;
    }
    return end <= box->limit;
}

/* How much to skip so that there is room for so many bytes. False: there is none. */
static inline bool ti_mailbox_find_room(ti_mailbox *box, size_t length, size_t *skipped)
{
    const size_t from = box->at % TI_MAILBOX_BYTES, left = TI_MAILBOX_BYTES - from;
    *skipped = from >= TI_MAILBOX_LAP ? left : 0;
    if (ti_mailbox_has_room(box, *skipped + length)) {
        return true;
    }
    *skipped = 0;
    return length <= left && ti_mailbox_has_room(box, length);
}

/* A message to fill, for at most an eighth of the ring; or NULL: there is no room. */
static inline ti_mailbox_message *ti_mailbox_room(ti_mailbox *box, size_t bytes, ti_mailbox_draft *draft)
{
    const size_t length = ti_mailbox_length(bytes);
    size_t skipped;
    if (!ti_mailbox_find_room(box, length, &skipped)) {
        return NULL;
    }
    if (skipped) {
        box->cleared = TI_MAX(box->cleared, box->at + skipped);
        ti_mailbox_clear(box, box->at + skipped + TI_CACHE_LINE);
        ti_mailbox_set(box, skipped, TI_MAILBOX_TURNS);
    }
    const bool is_short = length <= TI_MAILBOX_AHEAD;
    if (!is_short) {
        box->cleared = TI_MAX(box->cleared, box->at + length); /* which is written over */
    }
    ti_mailbox_clear(box, box->at + length + TI_CACHE_LINE);
    ti_mailbox_message *message = is_short ? (ti_mailbox_message *)(void *)draft : ti_mailbox_at(box, box->at);
    message->bytes = (uint32_t)bytes;
    return message;
}

/* A draft goes to its place, but for its state: the first line last. */
static inline void ti_mailbox_copy(ti_mailbox_message *to, const ti_mailbox_message *draft, size_t length)
{
    enum { STATE = sizeof(draft->state) };
    char *bytes = (char *)to;
    if (length > TI_CACHE_LINE) {
        memcpy(bytes + TI_CACHE_LINE, (const char *)draft + TI_CACHE_LINE, length - TI_CACHE_LINE);
    }
    atomic_signal_fence(memory_order_seq_cst); /* in this order */
    memcpy(bytes + STATE, (const char *)draft + STATE, TI_CACHE_LINE - STATE);
}

static inline void ti_mailbox_post(ti_mailbox *box, const ti_mailbox_message *message)
{
    const size_t length = ti_mailbox_length(message->bytes);
    ti_mailbox_message *to = ti_mailbox_at(box, box->at);
    box->asked += message->asks;
    if (to != message) {
        ti_mailbox_copy(to, message, length);
    }
    ti_mailbox_set(box, length, TI_MAILBOX_FULL);
    const size_t ahead = TI_MIN(length, (size_t)TI_MAILBOX_AHEAD);
    ti_mailbox_clear(box, TI_MIN(box->at + ahead + TI_CACHE_LINE, box->limit)); /* for one more of this length */
}

/* Whether all that was asked for has been answered. */
static inline bool ti_mailbox_is_answered(const ti_mailbox *box)
{
    return atomic_load_explicit(&box->memory->answers, memory_order_acquire) == box->asked;
}

/* ---- the reader */

/* What was at `at` has been read. The writer does not hear of each: its cache line stays where it is until then. */
static inline void ti_mailbox_go_on(ti_mailbox *box, size_t length)
{
    const uint64_t before = box->at;
    box->at += length;
    if (before / TI_MAILBOX_STEP != box->at / TI_MAILBOX_STEP) {
        atomic_store_explicit(&box->memory->taken, box->at, memory_order_release);
    }
}

/* The next message, or NULL. */
static inline const ti_mailbox_message *ti_mailbox_look(ti_mailbox *box)
{
    const ti_mailbox_message *message = ti_mailbox_at(box, box->at);
    uint32_t state = atomic_load_explicit(&message->state, memory_order_acquire);
    if (TI_UNLIKELY(state == TI_MAILBOX_TURNS)) {
        ti_mailbox_go_on(box, TI_MAILBOX_BYTES - box->at % TI_MAILBOX_BYTES);
        message = ti_mailbox_at(box, box->at);
        state = atomic_load_explicit(&message->state, memory_order_acquire);
    }
    return state == TI_MAILBOX_FULL ? message : NULL;
}

static inline void ti_mailbox_take(ti_mailbox *box, const ti_mailbox_message *message)
{
    ti_mailbox_go_on(box, ti_mailbox_length(message->bytes));
}

static inline void ti_mailbox_answer(const ti_mailbox *box)
{
    atomic_fetch_add_explicit(&box->memory->answers, 1, memory_order_release);
}

#endif
