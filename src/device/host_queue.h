/* The queues of a host device's workers: parts of jobs.
 *
 * A queue is a ring under a lock that is held for a few instructions; an atomic count beside it lets an empty queue be
 * passed by without the lock. An entry may be stolen only when all parts of its job are queued, and a thief looks at
 * its own queue once more before it steals, so that a worker that was idle when the job came always takes its own part.
 *
 * Of a job that a worker starts while nothing waits in its queue, its own part does not go there: it is what that
 * worker does next, without a lock. It is on its way to it, so others steal it only when they have seen it for a while.
 *
 * Invariant: `count` changes under the lock only. Any thread, but as said. */
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
    atomic_bool stealable; /* all parts are queued */
    atomic_bool told;      /* somebody else waits for it, too */
    uint64_t token;
    ti_length_name length;
    ti_block to, from;
} ti_host_job;

typedef struct ti_host_entry {
    ti_host_job *job;
    int part;
    uint32_t ns; /* that it is expected to take; of what is not queued: 0 */
} ti_host_entry;

typedef struct ti_host_queue {
    _Alignas(TI_CACHE_LINE) ti_lock lock;
    _Atomic uint32_t count;
    _Atomic uint32_t ns;      /* of its entries together */
    _Atomic uint32_t taken;   /* entries so far */
    uint32_t first, capacity; /* capacity: a power of two */
    ti_host_entry *slot;
    _Atomic(ti_host_job *) next; /* the worker's part of it is older than all that is queued; or NULL */
    const ti_host_job *eyed;     /* what this worker has seen there of another one, for so many looks: the worker's */
    uint32_t looks;
    uint32_t seen, still; /* `taken` of another one, and for so many looks: the worker's, too */
    int worker, workers;  /* which one of how many */
} ti_host_queue;

/* In zeroed memory. */
void ti_host_queue_init(ti_host_queue *queue, int worker, int workers);
void ti_host_queue_fini(ti_host_queue *queue);

static inline bool ti_host_queue_is_empty(ti_host_queue *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_acquire) == 0;
}
static inline bool ti_host_queue_has_next(ti_host_queue *queue)
{
    return atomic_load_explicit(&queue->next, memory_order_relaxed) != NULL;
}

void ti_host_queue_push(ti_host_queue *queue, ti_host_job *job, int part);
/* By the worker itself: it is what it does next. False: it had to be queued, so others should be woken; who is lent may
 * be two threads. */
bool ti_host_queue_put_next(ti_host_queue *queue, ti_host_job *job, int part);

/* Which part of a job is the worker's own; as many as there are parts: none. */
int ti_host_queue_own_part(const ti_host_queue *queue, const ti_host_job *job);
/* The oldest entry. A thief says what its own queue is, and gives way if that has work by now: entries that it sees
 * were queued before `stealable` was set, so its own part of the same job is visible too. It also gives way if all that
 * is queued takes less than bringing it over, unless it has seen it for a while; this look stands for so many. */
bool ti_host_queue_take(ti_host_queue *queue, ti_host_queue *thief, uint32_t looks, ti_host_entry *out);
bool ti_host_queue_take_next(ti_host_queue *queue, ti_host_entry *out);
/* What another worker should have taken long ago: the system has taken its core away, or it plans. This look stands for
 * so many. */
bool ti_host_queue_steal_next(ti_host_queue *queue, ti_host_queue *thief, uint32_t looks, ti_host_entry *out);

#endif
