/* The queues of a host device's workers: parts of jobs.
 *
 * A queue is a ring under a lock that is held for a few instructions; an atomic count beside it lets an empty queue be
 * passed by without the lock. An entry may be stolen only when all parts of its job are queued, and a thief looks at
 * its own queue once more before it steals, so that a worker that was idle when the job came always takes its own part.
 *
 * Of a job that a worker starts while nothing waits in its queue, its own part does not go there: it is what that
 * worker does next, without a lock. It is on its way to it, so others steal it only when they have seen it for a while.
 *
 * A job that follows another one may be queued before that has ended: each worker finds its part, and sees for itself
 * when all parts of the job before have ended. So nobody has to hand anything over in between. Such parts lie in a ring
 * of their own, and pass those that are queued.
 *
 * Invariants: `count` of a ring changes under the lock only; a job is used again only after all of its parts have been
 * taken and have ended. Any thread, but as said. */
#ifndef TI_HOST_QUEUE_H
#define TI_HOST_QUEUE_H

#include "base/park.h"
#include "device/device.h"
#include "device/length.h"

/* The first cache line is what a worker needs to run a part. */
typedef struct ti_host_job {
    _Alignas(TI_CACHE_LINE) ti_device_kernel *kernel; /* NULL: a copy */
    struct ti_host_job *next;                         /* in the pool, or in the stack of completions */
    _Atomic(struct ti_host_job *) then;               /* what follows it, or NULL; itself: it has ended */
    _Atomic uint64_t ns;                              /* that its parts have taken, if that is measured */
    int parts, cuts; /* `cuts` of a kernel make the parts: as many, or each part has several */
    _Atomic int left;
    atomic_bool stealable;                      /* all parts are queued */
    atomic_bool told;                           /* somebody else waits for it, too */
    _Atomic uint32_t use;                       /* which one of this structure, which jobs use in turns */
    _Atomic uint32_t use_before;                /* of `before` */
    _Atomic(const struct ti_host_job *) before; /* queued before that has ended; NULL: afterwards */
    int opens;                                  /* parts of `then`, if that was queued before this has ended; */
    uint32_t then_use;                          /* and which use of its structure that is */
    bool follows;                               /* another one */
    uint64_t token;
    ti_length_name length;
    ti_block to, from;
} ti_host_job;

typedef struct ti_host_entry {
    ti_host_job *job;
    int part;
    uint32_t ns; /* that it is expected to take; of what is not queued: 0 */
} ti_host_entry;

typedef struct ti_host_ring {
    ti_host_entry *slot;
    uint32_t first, capacity; /* capacity: a power of two */
    _Atomic uint32_t count;
} ti_host_ring;

/* What a worker has seen of the queue of another one: for so many looks nothing has been taken. */
typedef struct ti_host_sight {
    uint32_t taken, looks;
} ti_host_sight;

typedef struct ti_host_queue {
    _Alignas(TI_CACHE_LINE) ti_lock lock;
    _Atomic uint32_t ns;    /* of what is queued, together */
    _Atomic uint32_t taken; /* entries so far */
    ti_host_ring queued, gated;
    _Atomic(ti_host_job *) next; /* the worker's part of it is older than all that is queued; or NULL */
    _Atomic(ti_host_job *) gate; /* the oldest gated entry is of this job; NULL: there is none */
    ti_host_sight *sight;        /* of each worker's queue: the worker's own */
    int worker, workers;         /* which one of how many */
} ti_host_queue;

/* In zeroed memory. */
void ti_host_queue_init(ti_host_queue *queue, int worker, int workers);
void ti_host_queue_fini(ti_host_queue *queue);

static inline bool ti_host_queue_is_empty(ti_host_queue *queue)
{
    return atomic_load_explicit(&queue->queued.count, memory_order_acquire) == 0;
}
static inline bool ti_host_queue_has_next(ti_host_queue *queue)
{
    return atomic_load_explicit(&queue->next, memory_order_relaxed) != NULL;
}

/* Whether the job waits for none that was before it. Of a job that may have been taken, and be another one by now, this
 * is a guess. */
static inline bool ti_host_job_is_open(const ti_host_job *job)
{
    const ti_host_job *before = atomic_load_explicit(&job->before, memory_order_acquire);
    return !before || atomic_load_explicit(&before->left, memory_order_acquire) == 0 ||
           atomic_load_explicit(&before->use, memory_order_acquire) !=
               atomic_load_explicit(&job->use_before, memory_order_relaxed);
}
/* Whether a part waits here for the end of another job; whether one has waited for that, and may begin. */
static inline bool ti_host_queue_has_gated(ti_host_queue *queue)
{
    return atomic_load_explicit(&queue->gate, memory_order_relaxed) != NULL;
}
static inline bool ti_host_queue_has_open(ti_host_queue *queue)
{
    const ti_host_job *gate = atomic_load_explicit(&queue->gate, memory_order_acquire);
    return gate && ti_host_job_is_open(gate);
}
/* Whether there is anything to run; or will be soon. */
static inline bool ti_host_queue_has_work(ti_host_queue *queue)
{
    return !ti_host_queue_is_empty(queue) || ti_host_queue_has_next(queue) || ti_host_queue_has_open(queue);
}
static inline bool ti_host_queue_has_any(ti_host_queue *queue)
{
    return !ti_host_queue_is_empty(queue) || ti_host_queue_has_next(queue) || ti_host_queue_has_gated(queue);
}

void ti_host_queue_push(ti_host_queue *queue, ti_host_job *job, int part);
/* A part of a job that has `before`. By one thread at a time. */
void ti_host_queue_push_gated(ti_host_queue *queue, ti_host_job *job, int part);
/* By the worker itself: it is what it does next. False: it had to be queued, so others should be woken; who is lent may
 * be two threads. */
bool ti_host_queue_put_next(ti_host_queue *queue, ti_host_job *job, int part);

/* Which one of so many parts is the worker's own; as many as there are: none. */
int ti_host_queue_own_part(const ti_host_queue *queue, int parts);
/* The worker itself: the oldest gated entry, if it waits no more; what it does next; the oldest entry. */
bool ti_host_queue_take_gated(ti_host_queue *queue, ti_host_entry *out);
bool ti_host_queue_take_next(ti_host_queue *queue, ti_host_entry *out);
bool ti_host_queue_take(ti_host_queue *queue, ti_host_entry *out);
/* The oldest entry of `queue` for a thief, which gives way if its own queue has work by now: entries that it sees were
 * queued before `stealable` was set, so its own part of the same job is visible too. It also gives way if all that is
 * queued takes less than bringing it over, unless it has seen it for a while; this look stands for so many. Then it
 * also takes what the worker should have done next, or at once when it might begin: the system has taken its core away,
 * or it plans. Who is about to sleep takes all but what the worker does next. */
bool ti_host_queue_steal(ti_host_queue *queue, ti_host_queue *thief, uint32_t looks, ti_host_entry *out);
/* The oldest entry, whatever it waits for. After all threads have ended. */
bool ti_host_queue_drop(ti_host_queue *queue, ti_host_entry *out);

#endif
