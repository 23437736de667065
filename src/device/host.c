/* The host device: see host.h.
 *
 * A job is a kernel or a large copy; it is cut into parts, and every part is an entry in the queue of one worker
 * (host_queue.h). The worker that finishes the last part pushes the job on a stack of completions, which poll takes as
 * a whole. A job of one part that follows another one (`then`) is started by that worker at once, who does not call
 * `idle` before. One of several parts has been queued before, and workers see for themselves when it may begin, so it
 * may be reported first.
 * Invariants: a job leaves the pool in copy or launch and returns to it in poll, so the pool needs no lock (executor
 * role); `left` of a job counts its parts that are not finished.
 * Threads: create, destroy and stop: one; alloc, free, copy, launch, poll, room: the executor role; all else: any
 * worker. */
#include "device/host.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/vec.h"
#include "device/bounds/check.h"
#include "device/host_desk.h"
#include "device/host_fork.h"
#include "device/host_memory.h"
#include "device/host_queue.h"
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
/* Longer kernels follow nothing: they are worth a look at all else before. So are several in a row, to who is lent; and
 * more than so many that follow each other, or two for each worker, since the first thing that happens when the last
 * one has ended is to find those that follow next. */
enum { SHORT_NS = 50 * 1000, IN_A_ROW = 8, MANY_FOLLOWING = 16 };
/* Where others look, one of so many looks is at more than the worker's own queue; else see host.h. */
enum { LOOKS_PER_ROUND = 64 };

typedef struct host {
    ti_device base;
    ti_host_desc desc;
    ti_host_queue *queues; /* one per worker */
    ti_host_desk *desks;   /* the same */
    struct worker_thread {
        pthread_t id;
        struct host *host;
        int worker;
        bool is_bound;
        ti_cores cores; /* where, if so */
    } * threads;
    int running; /* threads started and not joined */
    atomic_bool stop;
    _Alignas(TI_CACHE_LINE) _Atomic int queued_kernels; /* launched and not begun */
    int following;                                      /* kernels that were to follow others, and are not reported */
    /* Completions: `done` is pushed by workers, newest first; `taken` is what poll took off it and has not reported,
     * oldest first. */
    _Atomic(ti_host_job *) done;
    _Atomic(ti_host_job *) taken; /* changed by the executor role alone */
    ti_host_job *pool;
    int next_worker; /* for jobs of one part that no worker started */
    ti_lengths lengths;
    ti_host_fork fork;
} host;

/* Which worker of which device this thread is, or was last: only a hint for where to queue. */
static _Thread_local struct {
    const host *host;
    int worker;
} me;

/* ---------------------------------------------------------------- queues */

/* What the worker finds in its own queue. */
static bool find_own(ti_host_queue *own, ti_host_entry *out)
{
    return ti_host_queue_take_next(own, out) || ti_host_queue_take_gated(own, out) || ti_host_queue_take(own, out);
}

/* A look at the queues of others takes their cache lines away from them, so it stands for so many looks; 0: there is
 * none. */
static bool find_entry(host *h, int worker, uint32_t looks, ti_host_entry *out)
{
    int workers = h->base.workers;
    ti_host_queue *own = &h->queues[worker];
    if (find_own(own, out)) {
        return true;
    }
    for (int i = 1; i < workers && looks > 0; i++) {
        if (ti_host_queue_steal(&h->queues[(worker + i) % workers], own, looks, out)) {
            return true;
        }
    }
    return looks > 0 && find_own(own, out); /* it may have come while we looked elsewhere */
}

/* Once the last part is queued that this thread does not keep, the job may be done. */
static int queue_parts(host *h, ti_host_job *j, int self)
{
    const int workers = h->base.workers, parts = j->parts,
              own = self >= 0 ? ti_host_queue_own_part(&h->queues[self], parts) : parts;
    int wake = 0;
    for (int i = 0; i < parts; i++) {
        int target = (int)((int64_t)i * workers / parts);
        if (target != self) {
            ti_host_queue_push(&h->queues[target], j, i);
            wake++;
        }
    }
    if (own < parts) {
        ti_host_queue_put_next(&h->queues[self], j, own);
    }
    return wake;
}

static void wake_workers(host *h, int count)
{
    ti_lot_wake_able(h->desc.lot, h->desc.wakes_all ? INT_MAX : count, h->desc.runs ? h->desc.runs : TI_CAN_ANYTHING);
}

/* A worker that has nothing to do, as far as can be seen; or none. */
static int find_idle(host *h, int self)
{
    for (int i = 1; i < h->base.workers; i++) {
        const int other = (self + i) % h->base.workers;
        if (!ti_host_queue_has_any(&h->queues[other]) && !ti_host_desk_is_busy(&h->desks[other])) {
            return other;
        }
    }
    return -1;
}

/* A job of one part that a worker starts: the first one is its own. What takes longer than handing it over goes to who
 * has nothing to do. */
static int queue_whole(host *h, ti_host_job *j, int self)
{
    const bool is_short = j->length.ns > 0 && j->length.ns < TI_PART_NS;
    const int other = !is_short && ti_host_queue_has_next(&h->queues[self]) ? find_idle(h, self) : -1;
    if (other < 0) {
        return !ti_host_queue_put_next(&h->queues[self], j, 0) && !is_short;
    }
    ti_host_queue_push(&h->queues[other], j, 0);
    return 1;
}

/* Queues all parts and wakes as many workers as there are parts that the caller will not take itself. */
static void enqueue(host *h, ti_host_job *j)
{
    int workers = h->base.workers, wake;
    int self = me.host == h && me.worker < workers ? me.worker : -1;
    if (j->parts > 1) {
        wake = queue_parts(h, j, self);
        atomic_store_explicit(&j->stealable, true, memory_order_release);
    } else if (self >= 0) {
        wake = queue_whole(h, j, self);
    } else {
        ti_host_queue_push(&h->queues[h->next_worker++ % workers], j, 0);
        h->next_worker %= workers;
        wake = 1;
    }
    if (wake) {
        wake_workers(h, wake);
    }
}

/* ---------------------------------------------------------------- parts */

/* How a kernel is run: `cuts` pieces, which make so many parts. The bits of a reduction depend on the pieces: these are
 * always as many as there can be. If they are short, one worker runs several of them, one after the other. */
typedef struct plan {
    int parts, cuts;
    ti_length_name length;
} plan;

static plan plan_kernel(host *h, const ti_device_kernel *k)
{
    if (k->brief) {
        return (plan){ .parts = 1, .cuts = 1, .length.ns = 1 };
    }
    const int most = h->base.workers == 1 ? 1 : ti_parts_most(k, h->base.workers);
    plan p = { .parts = most, .cuts = most };
    if (h->base.workers > 1 && !k->bounds) {
        const uintptr_t function = k->host ? (uintptr_t)k->host : (uintptr_t)k->run;
        p.parts = ti_lengths_parts(&h->lengths, function, ti_parts_items(k, &k->launch.chunk), most, &p.length);
        p.cuts = k->run ? most : p.parts;
    }
    return p;
}

/* The cuts of a part are [first, the result). */
static int end_of_part(const ti_host_job *j, int part, int *first)
{
    *first = (int)ti_split_share(j->cuts, j->parts, part);
    return part + 1 < j->parts ? (int)ti_split_share(j->cuts, j->parts, part + 1) : j->cuts;
}

/* All of its cuts one after the other. */
static void call_kernel(ti_host_job *j, int part, tacit_launch *launch)
{
    ti_device_kernel *k = j->kernel;
    const tacit_view *view = launch->view;
    int first, end = end_of_part(j, part, &first);
    for (int i = first; i < end; i++) {
        launch->chunk = k->launch.chunk;
        launch->view = view; /* pieces of reductions have their own */
        if (j->cuts > 1) {
            ti_parts_cut(k, j->cuts, i, &launch->chunk);
        }
        if (k->run) {
            k->run(k, i, j->cuts, launch);
        } else {
            ti_kernel_call(k, launch);
        }
    }
}

static void run_kernel(host *h, ti_host_job *j, int part, int worker)
{
    ti_host_desk *d = &h->desks[worker];
    ti_device_kernel *k = j->kernel;
    tacit_launch launch = k->launch;
    if (part == 0 && !j->follows) {
        atomic_fetch_sub_explicit(&h->queued_kernels, 1, memory_order_relaxed);
    }
    launch.worker = h->desc.first + worker;
    launch.num_workers = h->desc.all ? h->desc.all : h->base.workers;
    ti_host_desk_begin(d, k);
    if (!h->desc.failure || ti_failure_get(h->desc.failure) == TACIT_OK) { /* else what it would read may be wrong */
        call_kernel(j, part, &launch);
    }
    ti_host_desk_end(d);
}

/* Parts of a copy are whole runs where there are enough of them, else whole cache lines, dealt like rows of a
 * kernel. */
static size_t copy_unit(const ti_host_job *j)
{
    size_t run = TI_MIN(j->to.run, j->from.run), bytes = ti_block_bytes(&j->to);
    return bytes / run >= (size_t)j->parts ? run : TI_CACHE_LINE;
}

static void run_copy(const ti_host_job *j, int part)
{
    size_t bytes = ti_block_bytes(&j->to), unit = copy_unit(j);
    int64_t units = (int64_t)(bytes / unit);
    size_t begin = (size_t)ti_split_share(units, j->parts, part) * unit;
    size_t end = part + 1 < j->parts ? (size_t)ti_split_share(units, j->parts, part + 1) * unit : bytes;
    TI_ASSERT(begin <= end && end <= bytes);
    ti_layout_copy_bytes(&j->to, &j->from, begin, end);
}

/* ---------------------------------------------------------------- completions */

static ti_host_job *job_create(host *h, uint64_t token, int parts)
{
    TI_ASSERT(parts >= 1 && parts <= h->base.workers);
    ti_host_job *j = h->pool;
    if (j) {
        h->pool = j->next;
    } else {
        j = TI_NEW(ti_host_job);
    }
    j->token = token;
    j->parts = j->cuts = parts;
    j->length = (ti_length_name){ .ns = 0 };
    j->opens = 0;
    j->follows = false;
    atomic_store_explicit(&j->before, NULL, memory_order_relaxed);
    atomic_store_explicit(&j->ns, 0, memory_order_relaxed);
    /* Who still waits for the end of the job before sees that it has ended, or another use. */
    atomic_fetch_add_explicit(&j->use, 1, memory_order_release);
    atomic_store_explicit(&j->left, parts, memory_order_release);
    atomic_store_explicit(&j->stealable, parts == 1, memory_order_relaxed);
    atomic_store_explicit(&j->told, false, memory_order_relaxed);
    atomic_store_explicit(&j->then, NULL, memory_order_relaxed);
    return j;
}

static void complete(host *h, ti_host_job *j)
{
    TI_ASSERT(!j->kernel || atomic_load_explicit(&j->left, memory_order_relaxed) == 0);
    ti_host_job *top = atomic_load_explicit(&h->done, memory_order_relaxed);
    do {
        j->next = top;
    } while (!atomic_compare_exchange_weak_explicit(&h->done, &top, j, memory_order_acq_rel, memory_order_relaxed));
}

/* What was pushed, oldest first. */
static ti_host_job *take_completions(host *h)
{
    ti_host_job *oldest = NULL;
    for (ti_host_job *j = atomic_exchange_explicit(&h->done, NULL, memory_order_acquire), *older; j; j = older) {
        older = j->next;
        j->next = oldest;
        oldest = j;
    }
    return oldest;
}

static int host_poll(ti_device *device, uint64_t *tokens, int max)
{
    host *h = (host *)device;
    ti_host_job *taken = atomic_load_explicit(&h->taken, memory_order_relaxed);
    int n = 0;
    while (n < max) {
        if (!taken) {
            if (!atomic_load_explicit(&h->done, memory_order_relaxed)) {
                break;
            }
            taken = take_completions(h);
        }
        ti_host_job *j = taken;
        taken = j->next;
        tokens[n++] = j->token;
        h->following -= j->follows;
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

static uint64_t items_of(const ti_host_entry *e)
{
    const ti_host_job *j = e->job;
    uint64_t items = 0;
    int first = 0, end = j->kernel ? end_of_part(j, e->part, &first) : 0;
    for (int i = first; i < end; i++) {
        tacit_box chunk = j->kernel->launch.chunk;
        if (j->cuts > 1) {
            ti_parts_cut(j->kernel, j->cuts, i, &chunk);
        }
        items += ti_parts_items(j->kernel, &chunk);
    }
    return items;
}

/* Whether the job has ended that was this use of it. */
static bool has_ended(const ti_host_job *j, uint32_t use)
{
    return atomic_load_explicit(&j->left, memory_order_acquire) == 0 ||
           atomic_load_explicit(&j->use, memory_order_acquire) != use;
}

/* The last part of a job has run: whether somebody should look for what that lets go. Not if the only such job is
 * started here, or by each worker; but if that one has ended already, who was told of it may have looked before this
 * one's completion was there. Until that is pushed, the job is not used again. */
static bool finish(host *h, ti_host_job *j, int worker)
{
    ti_host_job *then = atomic_exchange_explicit(&j->then, j, memory_order_acq_rel);
    const bool told = atomic_load_explicit(&j->told, memory_order_relaxed);
    const int opens = then ? j->opens : 0;
    const uint32_t then_use = then ? j->then_use : 0;
    complete(h, j);
    if (opens > 0) {
        const bool has_own = ti_host_queue_own_part(&h->queues[worker], opens) < opens;
        wake_workers(h, opens - has_own);
        return told || has_ended(then, then_use);
    }
    if (then) {
        enqueue(h, then);
    }
    return !then || told;
}

/* What follows a job was written by who executes; it comes while this worker runs its part of the job. */
static void fetch_next(const ti_host_job *j)
{
    const ti_host_job *then = atomic_load_explicit(&j->then, memory_order_acquire);
    if (then) {
        ti_prefetch(then->kernel, sizeof(ti_device_kernel));
        ti_prefetch(then->kernel->launch.args, 1);
    }
}

/* Runs one part; `completed` says whether it was the last one of its job, and others may wait for that. */
static bool run_one(host *h, int worker, uint32_t looks, bool *completed)
{
    ti_host_entry e;
    *completed = false;
    if (ti_host_fork_work(&h->fork, worker)) {
        return true;
    }
    if (!find_entry(h, worker, looks, &e)) {
        return false;
    }
    bool is_measured = e.job->length.is_measured;
    fetch_next(e.job);
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
    const uint64_t end = TI_UNLIKELY(is_measured) ? ti_clock_ns() : 0;
    if (TI_UNLIKELY(is_measured)) {
        atomic_fetch_add_explicit(&e.job->ns, end - start, memory_order_relaxed);
    }
    if (atomic_fetch_sub_explicit(&e.job->left, 1, memory_order_acq_rel) == 1) {
        if (TI_UNLIKELY(is_measured)) {
            ti_lengths_note(&h->lengths, &e.job->length, atomic_load_explicit(&e.job->ns, memory_order_relaxed), end);
        }
        *completed = finish(h, e.job, worker);
    }
    return true;
}

bool ti_device_host_all_compute(const ti_device *device)
{
    const host *h = (const host *)device;
    bool all = true;
    for (int i = 0; i < h->desc.threads && all; i++) {
        all = ti_host_desk_is_busy(&h->desks[i]);
    }
    return all;
}

void ti_device_host_join(ti_device *device, int worker)
{
    TI_ASSERT(worker >= 0 && worker < device->workers);
    me.host = (host *)device;
    me.worker = worker;
}

bool ti_device_host_work(ti_device *device, int worker, uint32_t looks)
{
    host *h = (host *)device;
    bool completed;
    ti_device_host_join(device, worker);
    if (!run_one(h, worker, looks, &completed)) {
        return false;
    }
    for (int i = 1; i < IN_A_ROW && !completed && ti_host_queue_has_any(&h->queues[worker]); i++) {
        run_one(h, worker, 0, &completed);
    }
    return true;
}

static bool has_work(host *h)
{
    bool any = false;
    for (int i = 0; i < h->base.workers; i++) {
        any |= ti_host_queue_has_work(&h->queues[i]);
    }
    return any;
}

/* Of what is in its own queue nobody has heard; and it may have been woken for a part that it has not run. */
void ti_device_host_leave(ti_device *device)
{
    host *h = (host *)device;
    ti_host_entry e;
    bool left = false;
    if (me.host == h) {
        if (ti_host_queue_take_next(&h->queues[me.worker], &e)) {
            ti_host_queue_push(&h->queues[me.worker], e.job, e.part);
        }
        left = !ti_host_queue_is_empty(&h->queues[me.worker]) || ti_host_queue_has_open(&h->queues[me.worker]);
        me.host = NULL;
    }
    if (left || (ti_lot_has_runners(h->desc.lot) && has_work(h))) {
        wake_workers(h, 1);
    }
}

/* One look: for a job, and for whatever the runtime has to do. */
static bool work_or_idle(host *h, const ti_waiter *waiter, int worker, bool spins, bool *others_look)
{
    const uint32_t per_round = *others_look ? LOOKS_PER_ROUND : TI_HOST_LOOKS_PER_IDLE,
                   per_steal = TI_MAX(per_round, TI_HOST_LOOKS_PER_STEAL);
    bool completed;
    bool busy = run_one(h, worker,
                        !spins                           ? TI_HOST_LOOKS_AT_REST
                        : waiter->round % per_steal == 0 ? per_steal
                                                         : 0,
                        &completed);
    if (completed && h->desc.told) {
        ti_lot_wake_able(h->desc.told, INT_MAX, h->desc.told_can ? h->desc.told_can : TI_CAN_ANYTHING);
    }
    if ((!busy || completed) && h->desc.idle && (completed || !spins || waiter->round % per_round == 0)) {
        const ti_host_found found = h->desc.idle(h->desc.user, completed ? TI_HOST_COMPLETED
                                                               : spins   ? TI_HOST_SPINS
                                                                         : TI_HOST_RESTS);
        busy |= found == TI_HOST_SOMETHING;
        *others_look = found == TI_HOST_OTHERS_LOOK;
        me.host = h; /* it may have worked for another device */
        me.worker = worker;
    }
    return busy;
}

static void *worker_main(void *arg)
{
    const struct worker_thread *self = arg;
    host *h = self->host;
    ti_waiter waiter = { .can = h->desc.runs ? h->desc.runs | h->desc.can : TI_CAN_ANYTHING };
    bool others_look = false;
    if (self->is_bound) {
        ti_cores_bind(0, &self->cores);
    }
    me.host = h;
    me.worker = self->worker;
    for (;;) {
        const bool spins = ti_spins(&waiter, h->desc.lot);
        const uint32_t ticket = spins ? 0 : ti_lot_ticket(h->desc.lot); /* before looking for work: see park.h */
        if (atomic_load_explicit(&h->stop, memory_order_acquire)) {
            return NULL;
        }
        if (work_or_idle(h, &waiter, self->worker, spins, &others_look)) {
            waiter.round = 0;
        } else {
            ti_backoff(&waiter, h->desc.lot, ticket, !spins && h->desc.polling && h->desc.polling(h->desc.user));
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

const char *ti_device_host_long_kernel(ti_device *device, uint64_t now, uint64_t limit, uint64_t *ns)
{
    return ti_host_desk_long_kernel(((host *)device)->desks, device->workers, now, limit, ns);
}

/* ---------------------------------------------------------------- operations */

static ti_host_job *kernel_job(host *h, ti_device_kernel *kernel, const plan *how)
{
    ti_host_job *j = job_create(h, kernel->token, how->parts);
    TI_ASSERT(kernel->run || kernel->host);
    j->kernel = kernel;
    j->cuts = how->cuts;
    j->length = how->length;
    kernel->at = j;
    return j;
}

static void host_launch(ti_device *device, int lane, ti_device_kernel *kernel)
{
    host *h = (host *)device;
    const plan how = plan_kernel(h, kernel);
    (void)lane;
    atomic_fetch_add_explicit(&h->queued_kernels, 1, memory_order_relaxed);
    enqueue(h, kernel_job(h, kernel, &how));
}

static bool host_may_be_followed(ti_device *device, const ti_device_kernel *first)
{
    host *h = (host *)device;
    ti_host_job *before = first->at;
    return device->workers > 1 && !atomic_load_explicit(&before->then, memory_order_relaxed) &&
           h->following < TI_MAX(MANY_FOLLOWING, 2 * device->workers);
}

/* Each worker has its part before it can start. */
static void queue_gated(host *h, ti_host_job *j)
{
    const int parts = j->parts;
    for (int i = 0; i < parts; i++) { /* after the last one it may be done */
        ti_host_queue_push_gated(&h->queues[(int64_t)i * h->base.workers / parts], j, i);
    }
}

static bool host_follow(ti_device *device, ti_device_kernel *first, ti_device_kernel *kernel)
{
    host *h = (host *)device;
    ti_host_job *before = first->at, *none = NULL;
    const plan how = plan_kernel(h, kernel);
    if (how.length.ns == 0 || how.length.ns >= SHORT_NS) {
        ti_lengths_drop(&h->lengths, &how.length);
        return false;
    }
    ti_host_job *j = kernel_job(h, kernel, &how);
    const int parts = j->parts;
    atomic_store_explicit(&j->stealable, true, memory_order_relaxed); /* who starts it has no role */
    j->follows = true;
    before->opens = parts > 1 ? parts : 0;
    before->then_use = atomic_load_explicit(&j->use, memory_order_relaxed);
    if (parts > 1) {
        atomic_store_explicit(&j->use_before, atomic_load_explicit(&before->use, memory_order_relaxed),
                              memory_order_relaxed);
        atomic_store_explicit(&j->before, before, memory_order_relaxed);
    }
    if (!atomic_compare_exchange_strong_explicit(&before->then, &none, j, memory_order_release, memory_order_relaxed)) {
        if (!kernel->brief) {
            ti_lengths_drop(&h->lengths, &how.length);
        }
        j->next = h->pool;
        h->pool = j;
        return false;
    }
    h->following++;
    if (parts > 1) {
        queue_gated(h, j);
        /* Who has ended it by now may have woken workers too soon; whoever ends it later has seen what is queued. */
        if (atomic_fetch_add_explicit(&before->left, 0, memory_order_acq_rel) == 0) {
            wake_workers(h, parts);
        }
    }
    return true;
}

/* It has not been reported, so it is not used for anything else yet. If this comes too late, what waits is started when
 * somebody looks next, at the latest when what follows has ended. */
static void host_tell(ti_device *device, ti_device_kernel *first)
{
    ti_host_job *before = first->at;
    (void)device;
    atomic_store_explicit(&before->told, true, memory_order_relaxed);
}

static void host_copy(ti_device *device, int lane, const ti_block *to, const ti_block *from, uint64_t token)
{
    host *h = (host *)device;
    (void)lane;
    TI_ASSERT(ti_block_bytes(to) == ti_block_bytes(from));
    ti_host_job *j = job_create(h, token, device->workers);
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

uint64_t ti_device_host_ns(ti_device *device, const ti_device_kernel *k)
{
    const uintptr_t function = k->host ? (uintptr_t)k->host : (uintptr_t)k->run;
    return ti_lengths_ns(&((host *)device)->lengths, function, ti_parts_items(k, &k->launch.chunk));
}

ti_host_fork *ti_device_host_fork(ti_device *device)
{
    return &((host *)device)->fork;
}

static void free_jobs(ti_host_job *list)
{
    while (list) {
        ti_host_job *next = list->next;
        TI_DELETE(list);
        list = next;
    }
}

static void drop_job(host *h, ti_host_job *j)
{
    for (ti_host_job *then; j; j = then) { /* what is queued by itself is dropped by itself */
        then = j->opens > 0 ? NULL : atomic_load_explicit(&j->then, memory_order_relaxed);
        j->next = h->pool;
        h->pool = j;
    }
}

/* What a run that failed has left in the queues: nobody will run it. */
static void drop_queued(host *h, int worker)
{
    ti_host_entry e;
    while (ti_host_queue_drop(&h->queues[worker], &e)) {
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
        ti_host_queue_fini(&h->queues[i]);
    }
    if (me.host == h) {
        me.host = NULL;
    }
    free_jobs(atomic_load_explicit(&h->done, memory_order_acquire));
    free_jobs(atomic_load_explicit(&h->taken, memory_order_relaxed));
    free_jobs(h->pool);
    ti_host_fork_fini(&h->fork);
    ti_free(h->queues, sizeof(ti_host_queue) * (size_t)device->workers);
    ti_free(h->desks, sizeof(ti_host_desk) * (size_t)device->workers);
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
    h->queues = ti_alloc_aligned(sizeof(ti_host_queue) * (size_t)workers);
    h->desks = ti_alloc_aligned(sizeof(ti_host_desk) * (size_t)workers);
    for (int i = 0; i < workers; i++) {
        ti_host_queue_init(&h->queues[i], i, workers);
    }
    ti_host_fork_init(&h->fork, &h->desc, h->desks, workers);
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
