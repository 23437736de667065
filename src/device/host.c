/* The host device: see host.h.
 *
 * A job is a kernel or a large copy; it is cut into parts, and every part is an entry in the queue of one worker.
 * Queues are rings under a lock that is held for a few instructions; an atomic count beside it lets an empty queue be
 * passed by without the lock. An entry may be stolen only when all parts of its job are queued, and a thief looks at
 * its own queue once more before it steals, so that a worker that was idle when the job came always takes its own part.
 * Of a job that a worker starts while nothing waits in its queue, its own part does not go there: it is what that
 * worker does next, without a lock. It is on its way to it, so others steal it only when they have seen it for a while.
 * The worker that finishes the last part pushes the job on a stack of completions, which poll takes as a whole. A job
 * that follows another one (`then`) is started by that worker at once, who does not call `idle` before. Its completion
 * is pushed later, so they are reported in order.
 * Invariants: a job leaves the pool in copy or launch and returns to it in poll, so the pool needs no lock (executor
 * role); `left` of a job counts its parts that are not finished; `count` of a queue changes under its lock only.
 * Threads: create, destroy and stop: one; alloc, free, copy, launch, poll, room: the executor role; all else: any
 * worker. */
#include "device/host.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/vec.h"
#include "device/bounds/check.h"
#include "device/host_memory.h"
#include "device/length.h"
#include "device/parts.h"
#include "grid/split.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below this a copy is done at once by the caller: cheaper than waking anybody. */
enum { INLINE_COPY_BYTES = 256 * 1024 };
/* Longer kernels follow nothing: they are worth a look at all else before. So are several in a row, to who is lent. */
enum { SHORT_NS = 50 * 1000, IN_A_ROW = 8 };
enum { PATIENCE = 64 }; /* looks, of 0.1 us and more each */

typedef struct job {
    struct job *next;         /* in the pool, or in the stack of completions */
    ti_device_kernel *kernel; /* NULL: a copy */
    ti_block to, from;
    uint64_t token;
    int parts;
    _Atomic int left;
    atomic_bool stealable;      /* all parts are queued */
    atomic_bool told;           /* somebody else waits for it, too */
    _Atomic(struct job *) then; /* what follows it, or NULL; itself: it has ended */
    ti_length_name length;      /* if that is measured: */
    _Atomic uint64_t ns;        /* that its parts have taken */
} job;

typedef struct entry {
    job *job;
    int part;
} entry;

typedef struct queue {
    _Alignas(TI_CACHE_LINE) ti_lock lock;
    _Atomic uint32_t count;
    uint32_t first, capacity; /* capacity: a power of two */
    entry *slot;
    _Atomic(job *) next; /* the worker's part of it is older than all that is queued; or NULL */
    const job *eyed;     /* what this worker has seen there of another one, `looks` times; the worker's own */
    uint32_t looks;
} queue;

/* What a worker does, for those who look for kernels that never end. */
typedef struct desk {
    _Alignas(TI_CACHE_LINE) _Atomic(const ti_device_kernel *) kernel; /* NULL: none */
    _Atomic uint32_t begun;                                           /* kernels */
    uint32_t seen;        /* `begun` at the last look; this and the rest: executor role */
    uint64_t since, told; /* when it was seen first; after how many nanoseconds it was told last */
} desk;

typedef struct host {
    ti_device base;
    ti_host_desc desc;
    queue *queues; /* one per worker */
    desk *desks;   /* the same */
    struct worker_thread {
        pthread_t id;
        struct host *host;
        int worker;
        bool is_bound;
        ti_cores cores; /* where, if so */
    } * threads;
    int running; /* threads started and not joined */
    atomic_bool stop;
    _Atomic int queued_kernels; /* not begun */
    _Atomic int following;      /* kernels that wait for the end of another one, and are not queued */
    /* Completions: `done` is pushed by workers, newest first; `taken` is what poll took off it and has not reported,
     * oldest first. */
    _Atomic(job *) done;
    _Atomic(job *) taken; /* changed by the executor role alone */
    job *pool;
    int next_worker; /* for jobs of one part that no worker started */
    ti_lengths lengths;
} host;

/* Which worker of which device this thread is, or was last: only a hint for where to queue. */
static _Thread_local struct {
    const host *host;
    int worker;
} me;

/* ---------------------------------------------------------------- queues */

static void queue_push(queue *q, job *j, int part)
{
    ti_lock_take(&q->lock);
    uint32_t count = atomic_load_explicit(&q->count, memory_order_relaxed);
    TI_ASSERT(count <= q->capacity && (q->capacity & (q->capacity - 1)) == 0);
    if (count == q->capacity) {
        entry *grown = TI_NEW_ARRAY(entry, q->capacity * 2);
        for (uint32_t i = 0; i < count; i++) {
            grown[i] = q->slot[(q->first + i) & (q->capacity - 1)];
        }
        ti_free(q->slot, q->capacity * sizeof(entry));
        q->slot = grown;
        q->first = 0;
        q->capacity *= 2;
    }
    q->slot[(q->first + count) & (q->capacity - 1)] = (entry){ j, part };
    atomic_store_explicit(&q->count, count + 1, memory_order_release);
    ti_lock_drop(&q->lock);
}

static bool queue_is_empty(queue *q)
{
    return atomic_load_explicit(&q->count, memory_order_acquire) == 0;
}

static bool has_next(queue *q)
{
    return atomic_load_explicit(&q->next, memory_order_relaxed) != NULL;
}

/* Which part of a job is a worker's own; as many as there are parts: none. */
static int own_part(const job *j, int workers, int worker)
{
    int part = (int)(((int64_t)worker * j->parts + workers - 1) / workers);
    return part < j->parts && (int)((int64_t)part * workers / j->parts) == worker ? part : j->parts;
}

static bool take_next(host *h, int worker, entry *out)
{
    queue *q = &h->queues[worker];
    job *j = has_next(q) ? atomic_exchange_explicit(&q->next, NULL, memory_order_acquire) : NULL;
    if (!j) {
        return false;
    }
    *out = (entry){ j, j->parts == 1 ? 0 : own_part(j, h->base.workers, worker) };
    return true;
}

/* What another worker should have taken long ago: the system has taken its core away, or it plans. */
static bool steal_next(host *h, queue *thief, int worker, entry *out)
{
    const job *j = atomic_load_explicit(&h->queues[worker].next, memory_order_relaxed);
    thief->looks = j && j == thief->eyed ? thief->looks + 1 : 0;
    thief->eyed = j;
    return thief->looks > PATIENCE && take_next(h, worker, out);
}

/* Takes the oldest entry. A thief says what its own queue is, and gives way if that has work by now: entries that it
 * sees were queued before `stealable` was set, so its own part of the same job is visible too. */
static bool queue_take(queue *q, queue *thief, entry *out)
{
    if (queue_is_empty(q)) {
        return false;
    }
    ti_lock_take(&q->lock);
    uint32_t count = atomic_load_explicit(&q->count, memory_order_relaxed);
    bool got = count > 0;
    if (got && thief) {
        const job *oldest = q->slot[q->first].job;
        got = atomic_load_explicit(&oldest->stealable, memory_order_acquire) && queue_is_empty(thief);
    }
    if (got) {
        *out = q->slot[q->first];
        q->first = (q->first + 1) & (q->capacity - 1);
        atomic_store_explicit(&q->count, count - 1, memory_order_release);
    }
    ti_lock_drop(&q->lock);
    return got;
}

static bool find_entry(host *h, int worker, entry *out)
{
    int workers = h->base.workers;
    queue *own = &h->queues[worker];
    if (take_next(h, worker, out) || queue_take(own, NULL, out)) {
        return true;
    }
    for (int i = 1; i < workers; i++) {
        int other = (worker + i) % workers;
        if (queue_take(&h->queues[other], own, out) || steal_next(h, own, other, out)) {
            return true;
        }
    }
    return queue_take(own, NULL, out); /* it may have come while we looked elsewhere */
}

/* Leaves its own part of a job to a worker, who is the caller. Whether others should be woken, since it had to be
 * queued: who is lent may be two threads. */
static bool leave_next(host *h, int worker, job *j, int part)
{
    queue *q = &h->queues[worker];
    job *none = NULL;
    if (queue_is_empty(q) &&
        atomic_compare_exchange_strong_explicit(&q->next, &none, j, memory_order_release, memory_order_relaxed)) {
        return false;
    }
    queue_push(q, j, part);
    return true;
}

/* Once the last part is queued that this thread does not keep, the job may be done, and another one. */
static int queue_parts(host *h, job *j, int self)
{
    const int workers = h->base.workers, parts = j->parts, own = self >= 0 ? own_part(j, workers, self) : parts;
    int wake = 0;
    for (int i = 0; i < parts; i++) {
        int target = (int)((int64_t)i * workers / parts);
        if (target != self) {
            queue_push(&h->queues[target], j, i);
            wake++;
        }
    }
    if (own < parts) {
        leave_next(h, self, j, own);
    }
    return wake;
}

static void wake_workers(host *h, int count)
{
    ti_lot_wake_able(h->desc.lot, h->desc.wakes_all ? INT_MAX : count, h->desc.runs ? h->desc.runs : TI_CAN_ANYTHING);
}

/* Queues all parts and wakes as many workers as there are parts that the caller will not take itself. */
static void enqueue(host *h, job *j)
{
    int workers = h->base.workers, wake;
    int self = me.host == h && me.worker < workers ? me.worker : -1;
    if (j->parts > 1 && atomic_load_explicit(&j->stealable, memory_order_relaxed)) {
        wake = queue_parts(h, j, self); /* by now it may be done, and another job */
    } else if (j->parts > 1) {
        wake = queue_parts(h, j, self);
        atomic_store_explicit(&j->stealable, true, memory_order_release);
    } else if (self >= 0) {
        wake = leave_next(h, self, j, 0);
    } else {
        queue_push(&h->queues[h->next_worker++ % workers], j, 0);
        h->next_worker %= workers;
        wake = 1;
    }
    if (wake) {
        wake_workers(h, wake);
    }
}

/* ---------------------------------------------------------------- parts */

/* The bits of a reduction depend on its parts: these are always as many as there can be. */
static int kernel_parts(host *h, const ti_device_kernel *k, ti_length_name *length)
{
    int workers = h->base.workers;
    *length = (ti_length_name){ .is_measured = false };
    if (workers == 1) {
        return 1;
    }
    int most = ti_parts_most(k, workers);
    return k->run || k->bounds
               ? most
               : ti_lengths_parts(&h->lengths, (uintptr_t)k->host, ti_parts_items(k, &k->launch.chunk), most, length);
}

static void run_kernel(host *h, job *j, int part, int worker)
{
    desk *d = &h->desks[worker];
    ti_device_kernel *k = j->kernel;
    tacit_launch launch = k->launch;
    if (part == 0) {
        atomic_fetch_sub_explicit(&h->queued_kernels, 1, memory_order_relaxed);
    }
    if (j->parts > 1) {
        ti_parts_cut(k, j->parts, part, &launch.chunk);
    }
    launch.worker = h->desc.first + worker;
    launch.num_workers = h->desc.all ? h->desc.all : h->base.workers;
    atomic_store_explicit(&d->begun, atomic_load_explicit(&d->begun, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&d->kernel, k, memory_order_release);
    if (h->desc.failure && ti_failure_get(h->desc.failure) != TACIT_OK) {
        /* nothing: what it would read may be wrong */
    } else if (k->run) {
        k->run(k, part, j->parts, &launch);
    } else {
        ti_kernel_call(k, &launch);
    }
    atomic_store_explicit(&d->kernel, NULL, memory_order_release); /* before the job is complete, and its memory gone */
}

/* Parts of a copy are whole runs where there are enough of them, else whole cache lines, dealt like rows of a
 * kernel. */
static size_t copy_unit(const job *j)
{
    size_t run = TI_MIN(j->to.run, j->from.run), bytes = ti_block_bytes(&j->to);
    return bytes / run >= (size_t)j->parts ? run : TI_CACHE_LINE;
}

static void run_copy(const job *j, int part)
{
    size_t bytes = ti_block_bytes(&j->to), unit = copy_unit(j);
    int64_t units = (int64_t)(bytes / unit);
    size_t begin = (size_t)ti_split_share(units, j->parts, part) * unit;
    size_t end = part + 1 < j->parts ? (size_t)ti_split_share(units, j->parts, part + 1) * unit : bytes;
    ti_layout_copy_bytes(&j->to, &j->from, begin, end);
}

/* ---------------------------------------------------------------- completions */

static job *job_create(host *h, uint64_t token, int parts)
{
    TI_ASSERT(parts >= 1 && parts <= h->base.workers);
    job *j = h->pool;
    if (j) {
        h->pool = j->next;
    } else {
        j = TI_NEW(job);
    }
    j->token = token;
    j->parts = parts;
    j->length.is_measured = false;
    atomic_store_explicit(&j->ns, 0, memory_order_relaxed);
    atomic_store_explicit(&j->left, parts, memory_order_relaxed);
    atomic_store_explicit(&j->stealable, parts == 1, memory_order_relaxed);
    atomic_store_explicit(&j->told, false, memory_order_relaxed);
    atomic_store_explicit(&j->then, NULL, memory_order_relaxed);
    return j;
}

static void complete(host *h, job *j)
{
    TI_ASSERT(!j->kernel || atomic_load_explicit(&j->left, memory_order_relaxed) == 0);
    job *top = atomic_load_explicit(&h->done, memory_order_relaxed);
    do {
        j->next = top;
    } while (!atomic_compare_exchange_weak_explicit(&h->done, &top, j, memory_order_release, memory_order_relaxed));
}

/* What was pushed, oldest first. */
static job *take_completions(host *h)
{
    job *oldest = NULL;
    for (job *j = atomic_exchange_explicit(&h->done, NULL, memory_order_acquire), *older; j; j = older) {
        older = j->next;
        j->next = oldest;
        oldest = j;
    }
    return oldest;
}

static int host_poll(ti_device *device, uint64_t *tokens, int max)
{
    host *h = (host *)device;
    job *taken = atomic_load_explicit(&h->taken, memory_order_relaxed);
    int n = 0;
    while (n < max) {
        if (!taken) {
            if (!atomic_load_explicit(&h->done, memory_order_relaxed)) {
                break;
            }
            taken = take_completions(h);
        }
        job *j = taken;
        taken = j->next;
        tokens[n++] = j->token;
        j->next = h->pool;
        h->pool = j;
    }
    if (n > 0) {
        atomic_store_explicit(&h->taken, taken, memory_order_relaxed);
    }
    return n;
}

bool ti_device_host_has_ended(const ti_device *device)
{
    const host *h = (const host *)device;
    return atomic_load_explicit(&h->done, memory_order_relaxed) ||
           atomic_load_explicit(&h->taken, memory_order_relaxed);
}

/* ---------------------------------------------------------------- workers */

static uint64_t items_of(const entry *e)
{
    if (!e->job->kernel) {
        return 0;
    }
    tacit_box chunk = e->job->kernel->launch.chunk;
    if (e->job->parts > 1) {
        ti_parts_cut(e->job->kernel, e->job->parts, e->part, &chunk);
    }
    return ti_parts_items(e->job->kernel, &chunk);
}

/* The last part of a job has run: whether somebody should look for what that lets go. Not if the only such job is
 * started here. Until the completion is pushed, the job is not used again. */
static bool finish(host *h, job *j)
{
    job *then = atomic_exchange_explicit(&j->then, j, memory_order_acq_rel);
    bool told = atomic_load_explicit(&j->told, memory_order_relaxed);
    complete(h, j);
    if (!then) {
        return true;
    }
    atomic_fetch_sub_explicit(&h->following, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->queued_kernels, 1, memory_order_relaxed);
    enqueue(h, then);
    return told;
}

/* Runs one part; `completed` says whether it was the last one of its job, and others may wait for that. */
static bool run_one(host *h, int worker, bool *completed)
{
    entry e;
    *completed = false;
    if (!find_entry(h, worker, &e)) {
        return false;
    }
    bool is_measured = e.job->length.is_measured;
    uint64_t start = TI_UNLIKELY(h->desc.ran != NULL || is_measured) ? ti_clock_ns() : 0;
    if (e.job->kernel) {
        run_kernel(h, e.job, e.part, worker);
    } else {
        run_copy(e.job, e.part);
    }
    if (TI_UNLIKELY(h->desc.ran != NULL)) {
        h->desc.ran(h->desc.listener, &(ti_host_part){ .worker = h->desc.first + worker,
                                                       .part = e.part,
                                                       .parts = e.job->parts,
                                                       .token = e.job->token,
                                                       .items = items_of(&e),
                                                       .start = start,
                                                       .task = e.job->kernel ? e.job->kernel->task : NULL });
    }
    if (TI_UNLIKELY(is_measured)) {
        atomic_fetch_add_explicit(&e.job->ns, ti_clock_ns() - start, memory_order_relaxed);
    }
    if (atomic_fetch_sub_explicit(&e.job->left, 1, memory_order_acq_rel) == 1) {
        if (TI_UNLIKELY(is_measured)) {
            ti_lengths_note(&h->lengths, &e.job->length, atomic_load_explicit(&e.job->ns, memory_order_relaxed));
        }
        *completed = finish(h, e.job);
    }
    return true;
}

bool ti_device_host_work(ti_device *device, int worker)
{
    host *h = (host *)device;
    bool completed;
    TI_ASSERT(worker >= 0 && worker < device->workers);
    me.host = h;
    me.worker = worker;
    if (!run_one(h, worker, &completed)) {
        return false;
    }
    for (int i = 1; i < IN_A_ROW && !completed && has_next(&h->queues[worker]); i++) {
        run_one(h, worker, &completed);
    }
    return true;
}

static bool has_work(host *h)
{
    bool any = false;
    for (int i = 0; i < h->base.workers; i++) {
        any |= !queue_is_empty(&h->queues[i]) || has_next(&h->queues[i]);
    }
    return any;
}

/* Of what is in its own queue nobody has heard; and it may have been woken for a part that it has not run. */
void ti_device_host_leave(ti_device *device)
{
    host *h = (host *)device;
    entry e;
    bool left = false;
    if (me.host == h) {
        if (take_next(h, me.worker, &e)) {
            queue_push(&h->queues[me.worker], e.job, e.part);
        }
        left = !queue_is_empty(&h->queues[me.worker]);
        me.host = NULL;
    }
    if (left || (ti_lot_has_runners(h->desc.lot) && has_work(h))) {
        wake_workers(h, 1);
    }
}

/* One look around: a job, or whatever the runtime has to do. */
static bool work_or_idle(host *h, int worker)
{
    bool completed;
    bool busy = run_one(h, worker, &completed);
    if (completed && h->desc.told) {
        ti_lot_wake_able(h->desc.told, INT_MAX, h->desc.told_can ? h->desc.told_can : TI_CAN_ANYTHING);
    }
    if ((!busy || completed) && h->desc.idle) {
        busy |= h->desc.idle(h->desc.user, completed);
        me.host = h; /* it may have worked for another device */
        me.worker = worker;
    }
    return busy;
}

static void *worker_main(void *arg)
{
    const struct worker_thread *self = arg;
    host *h = self->host;
    ti_waiter waiter = { 0, 0, h->desc.runs ? h->desc.runs | h->desc.can : TI_CAN_ANYTHING };
    if (self->is_bound) {
        ti_cores_bind(0, &self->cores);
    }
    me.host = h;
    me.worker = self->worker;
    for (;;) {
        uint32_t ticket = ti_lot_ticket(h->desc.lot); /* before looking for work: see park.h */
        if (atomic_load_explicit(&h->stop, memory_order_acquire)) {
            return NULL;
        }
        if (work_or_idle(h, self->worker)) {
            waiter.round = 0;
        } else {
            ti_backoff(&waiter, h->desc.lot, ticket, h->desc.polling && h->desc.polling(h->desc.user));
        }
    }
}

static void choose_cores(const ti_host_desc *desc, struct worker_thread *t)
{
    t->is_bound = desc->cpus || desc->cores;
    if (desc->cpus) {
        ti_cores_add(&t->cores, desc->cpus[t->worker]);
    } else if (desc->cores) {
        t->cores = *desc->cores;
    }
}

/* Signals are for the threads of the program. */
static bool start_threads(host *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < h->desc.threads; i++) {
        struct worker_thread *t = &h->threads[i];
        char name[16];
        *t = (struct worker_thread){ .host = h, .worker = i };
        choose_cores(&h->desc, t);
        if (pthread_create(&t->id, NULL, worker_main, t) != 0) {
            break;
        }
        h->running++;
        snprintf(name, sizeof(name), "tacit-%d", (h->desc.first + i) % 10000);
        pthread_setname_np(t->id, h->desc.name ? h->desc.name : name);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return h->running == h->desc.threads;
}

void ti_device_host_stop(ti_device *device)
{
    host *h = (host *)device;
    atomic_store_explicit(&h->stop, true, memory_order_release);
    ti_lot_wake(h->desc.lot, INT_MAX);
    for (; h->running > 0; h->running--) {
        pthread_join(h->threads[h->running - 1].id, NULL);
    }
}

/* A kernel that a worker shows is not complete, and stays where it is while the caller has the executor role. */
const char *ti_device_host_long_kernel(ti_device *device, uint64_t now, uint64_t limit, uint64_t *ns)
{
    host *h = (host *)device;
    for (int i = 0; i < device->workers; i++) {
        desk *d = &h->desks[i];
        const ti_device_kernel *k = atomic_load_explicit(&d->kernel, memory_order_acquire);
        uint32_t begun = atomic_load_explicit(&d->begun, memory_order_relaxed);
        if (!k || begun != d->seen) {
            d->seen = begun;
            d->since = now;
            d->told = 0;
        } else if (now - d->since >= limit && now - d->since >= 2 * d->told) {
            d->told = *ns = now - d->since;
            return k->launch.name;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- operations */

static job *kernel_job(host *h, ti_device_kernel *kernel, int parts, const ti_length_name *length)
{
    job *j = job_create(h, kernel->token, parts);
    TI_ASSERT(kernel->run || kernel->host);
    j->kernel = kernel;
    j->length = *length;
    kernel->at = j;
    return j;
}

static void host_launch(ti_device *device, int lane, ti_device_kernel *kernel)
{
    host *h = (host *)device;
    ti_length_name length;
    (void)lane;
    int parts = kernel_parts(h, kernel, &length);
    atomic_fetch_add_explicit(&h->queued_kernels, 1, memory_order_relaxed);
    enqueue(h, kernel_job(h, kernel, parts, &length));
}

static bool host_may_be_followed(ti_device *device, const ti_device_kernel *first)
{
    host *h = (host *)device;
    job *before = first->at;
    return device->workers > 1 && !atomic_load_explicit(&before->then, memory_order_relaxed) &&
           atomic_load_explicit(&h->following, memory_order_relaxed) < 2 * device->workers;
}

static bool host_follow(ti_device *device, ti_device_kernel *first, ti_device_kernel *kernel)
{
    host *h = (host *)device;
    job *before = first->at, *none = NULL;
    ti_length_name length;
    int parts = kernel_parts(h, kernel, &length);
    if (length.ns == 0 || length.ns >= SHORT_NS) {
        ti_lengths_drop(&h->lengths, &length);
        return false;
    }
    job *j = kernel_job(h, kernel, parts, &length);
    atomic_store_explicit(&j->stealable, true, memory_order_relaxed); /* who starts it has no role */
    atomic_fetch_add_explicit(&h->following, 1, memory_order_relaxed);
    if (atomic_compare_exchange_strong_explicit(&before->then, &none, j, memory_order_release, memory_order_relaxed)) {
        return true;
    }
    atomic_fetch_sub_explicit(&h->following, 1, memory_order_relaxed);
    ti_lengths_drop(&h->lengths, &length);
    j->next = h->pool;
    h->pool = j;
    return false;
}

/* It has not been reported, so it is not used for anything else yet. If this comes too late, what waits is started when
 * somebody looks next, at the latest when what follows has ended. */
static void host_tell(ti_device *device, ti_device_kernel *first)
{
    job *before = first->at;
    (void)device;
    atomic_store_explicit(&before->told, true, memory_order_relaxed);
}

static void host_copy(ti_device *device, int lane, const ti_block *to, const ti_block *from, uint64_t token)
{
    host *h = (host *)device;
    (void)lane;
    TI_ASSERT(ti_block_bytes(to) == ti_block_bytes(from));
    job *j = job_create(h, token, device->workers);
    j->kernel = NULL;
    j->to = *to;
    j->from = *from;
    if (ti_block_bytes(to) < INLINE_COPY_BYTES) {
        ti_layout_copy(to, from);
        complete(h, j);
    } else {
        enqueue(h, j);
    }
}

/* A worker that is lent by who starts kernels takes the next one by itself, so it can still be the most urgent. */
static int host_room(ti_device *device)
{
    host *h = (host *)device;
    const int most = h->desc.threads || device->workers > 1 ? 2 * device->workers : 1;
    return TI_MAX(0, most - atomic_load_explicit(&h->queued_kernels, memory_order_relaxed));
}

static void free_jobs(job *list)
{
    while (list) {
        job *next = list->next;
        TI_DELETE(list);
        list = next;
    }
}

static void drop_job(host *h, job *j)
{
    for (job *then; j; j = then) {
        then = atomic_load_explicit(&j->then, memory_order_relaxed);
        j->next = h->pool;
        h->pool = j;
    }
}

/* What a run that failed has left in the queues: nobody will run it. */
static void drop_queued(host *h, int worker)
{
    entry e;
    while (take_next(h, worker, &e) || queue_take(&h->queues[worker], NULL, &e)) {
        if (atomic_fetch_sub_explicit(&e.job->left, 1, memory_order_acq_rel) == 1) {
            drop_job(h, e.job);
        }
    }
}

static void host_destroy(ti_device *device)
{
    host *h = (host *)device;
    ti_device_host_stop(device);
    for (int i = 0; i < device->workers; i++) {
        drop_queued(h, i);
        ti_free(h->queues[i].slot, h->queues[i].capacity * sizeof(entry));
    }
    if (me.host == h) {
        me.host = NULL;
    }
    free_jobs(atomic_load_explicit(&h->done, memory_order_acquire));
    free_jobs(atomic_load_explicit(&h->taken, memory_order_relaxed));
    free_jobs(h->pool);
    ti_free(h->queues, sizeof(queue) * (size_t)device->workers);
    ti_free(h->desks, sizeof(desk) * (size_t)device->workers);
    ti_free(h->threads, (size_t)h->desc.threads * sizeof(*h->threads));
    TI_DELETE(h);
}

static const ti_device_ops host_ops = {
    .name = "host",
    .destroy = host_destroy,
    .stop = ti_device_host_stop,
    .alloc = ti_host_alloc,
    .free = ti_host_free,
    .grow = ti_host_grow,
    .copy = host_copy,
    .launch = host_launch,
    .poll = host_poll,
    .room = host_room,
    .may_be_followed = host_may_be_followed,
    .follow = host_follow,
    .tell = host_tell,
};

static void init_queues(host *h, int workers)
{
    enum { FIRST_CAPACITY = 16 };
    h->queues = ti_alloc_aligned(sizeof(queue) * (size_t)workers);
    h->desks = ti_alloc_aligned(sizeof(desk) * (size_t)workers);
    for (int i = 0; i < workers; i++) {
        h->queues[i].slot = TI_NEW_ARRAY(entry, FIRST_CAPACITY);
        h->queues[i].capacity = FIRST_CAPACITY;
    }
}

ti_device *ti_device_host_create(const ti_host_desc *desc)
{
    host *h = TI_NEW(host);
    TI_ASSERT(desc->workers >= 1 && desc->threads >= 0 && desc->threads <= desc->workers && desc->lot);
    h->base = (ti_device){ .ops = &host_ops, .workers = desc->workers };
    h->desc = *desc;
    init_queues(h, desc->workers);
    h->threads = ti_alloc_zero((size_t)desc->threads * sizeof(*h->threads));
    bool started = start_threads(h);
    h->desc.cpus = NULL; /* the caller's */
    h->desc.cores = NULL;
    if (!started) {
        host_destroy(&h->base);
        return NULL;
    }
    return &h->base;
}
