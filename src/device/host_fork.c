/* Kernels that are handed to workers in order: see host_fork.h. */
#include "device/host_fork.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "device/bounds/check.h"
#include "device/parts.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

/* Looks until a post that has not begun is run by who waits for it. Of more workers than MAX_LOOKED_AT each would look
 * at too many others: then who posts waits for all of them before. */
enum { PATIENCE = 256, MAX_LOOKED_AT = 8 };

void ti_host_fork_init(ti_host_fork *f, const ti_host_desc *desc, ti_host_desk *desks, int workers)
{
    *f = (ti_host_fork){ .desc = desc, .desks = desks, .workers = workers, .self = -1 };
    f->post = ti_alloc_aligned(TI_HOST_POSTS * (size_t)workers * sizeof(*f->post));
    f->mark = ti_alloc_aligned((size_t)workers * sizeof(*f->mark));
    f->told = TI_NEW_ARRAY(ti_host_told, (size_t)workers);
}

void ti_host_fork_fini(ti_host_fork *f)
{
    ti_free(f->post, TI_HOST_POSTS * (size_t)f->workers * sizeof(*f->post));
    ti_free(f->mark, (size_t)f->workers * sizeof(*f->mark));
    ti_free(f->told, (size_t)f->workers * sizeof(*f->told));
}

void ti_host_fork_begin(ti_host_fork *f, int self, int idle)
{
    TI_ASSERT(self < f->workers && (f->self == self || f->shared == 0));
    f->self = self;
    f->idle = idle;
    for (int w = 0; w < f->workers; w++) {
        f->told[w].before = f->told[w].at_point = f->told[w].count;
    }
}

static ti_host_post *post_of(ti_host_fork *f, int worker, uint32_t count)
{
    return &f->post[TI_HOST_POSTS * worker + (int)(count % TI_HOST_POSTS)];
}

static bool is_so_far(const _Atomic uint32_t *count, uint32_t wanted)
{
    return (int32_t)(atomic_load_explicit(count, memory_order_acquire) - wanted) >= 0;
}

/* ---- a part */

static void call(const ti_host_fork *f, ti_device_kernel *k, const void *args, int parts, int part, int worker)
{
    const ti_host_desc *is = f->desc;
    ti_host_desk *d = &f->desks[worker];
    tacit_launch launch = k->launch;
    launch.args = args;
    launch.worker = is->first + worker;
    launch.num_workers = is->all ? is->all : f->workers;
    if (parts > 1) {
        ti_parts_cut(k, parts, part, &launch.chunk);
    }
    const uint64_t start = TI_UNLIKELY(is->ran != NULL) ? ti_clock_ns() : 0;
    ti_host_desk_begin(d, k);
    if (is->failure && ti_failure_get(is->failure) != TACIT_OK) {
        /* what it would read may be wrong */
    } else if (k->run) {
        k->run(k, part, parts, &launch);
    } else {
        ti_kernel_call(k, &launch);
    }
    ti_host_desk_end(d);
    if (TI_UNLIKELY(is->ran != NULL)) {
        is->ran(is->listener, &(ti_host_part){ is->first + worker, part, parts, k->token, 1, start, NULL });
    }
}

static void wait_for(const _Atomic uint32_t *count, uint32_t wanted)
{
    for (uint32_t round = 0; !is_so_far(count, wanted); round++) {
        round < PATIENCE ? ti_cpu_relax() : (void)sched_yield();
    }
}

/* Who posts has run its parts before it posts what comes after them. */
static void wait_until(ti_host_fork *f, const ti_host_wait *wait)
{
    for (int w = 0; w < f->workers && wait->worker == TI_HOST_ALL; w++) {
        if (w != f->self) {
            wait_for(&f->mark[w].shared, wait->count);
        }
    }
    if (wait->worker >= 0) {
        wait_for(&f->mark[wait->worker].ended, wait->count);
    }
}

/* If that is there already. */
static void fetch_next(ti_host_fork *f, int worker, uint32_t count)
{
    enum { JOB_BYTES = 512 };
    const ti_host_post *p = post_of(f, worker, count);
    if (atomic_load_explicit(&p->count, memory_order_acquire) == count) {
        ti_prefetch(p->kernel, JOB_BYTES);
    }
}

/* By the worker, or by another one for it. */
static void run(ti_host_fork *f, const ti_host_post *p, uint32_t count, int worker, int by)
{
    ti_host_mark *m = &f->mark[worker];
    fetch_next(f, worker, count + 1);
    for (int i = 0; i < p->waits; i++) {
        wait_until(f, &p->wait[i]);
    }
    wait_for(&m->ended, count - 1); /* another one may be running that */
    call(f, p->kernel, p->is_few ? p->with.few : p->with.args, p->is_shared ? f->workers : 1, p->is_shared ? worker : 0,
         by);
    if (p->is_shared) {
        atomic_store_explicit(&m->shared, atomic_load_explicit(&m->shared, memory_order_relaxed) + 1,
                              memory_order_release);
    }
    atomic_store_explicit(&m->ended, count, memory_order_release);
}

bool ti_host_fork_work_now(ti_host_fork *f, int worker, uint32_t count, int by)
{
    const ti_host_post *p = post_of(f, worker, count);
    uint32_t before = count - 1;
    if (atomic_load_explicit(&p->count, memory_order_acquire) != count ||
        !atomic_compare_exchange_strong_explicit(&f->mark[worker].begun, &before, count, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        return false;
    }
    run(f, p, count, worker, by);
    return true;
}

/* ---- who posts waits */

/* Workers that sleep, if these are more than need not be woken. Without a fence one is missed that is about to: the
 * next post wakes it, or who waits for it. */
static void wake(ti_host_fork *f, int idle)
{
    ti_lot *lot = f->desc->lot;
    if (TI_UNLIKELY(atomic_load_explicit(&lot->sleepers[2], memory_order_relaxed) > (uint32_t)idle)) {
        ti_lot_move(lot);
        ti_lot_wake_slow(lot, INT_MAX, f->desc->runs ? f->desc->runs : TI_CAN_ANYTHING);
    }
}

static bool has_ended(const ti_host_fork *f, const ti_host_wait *wait)
{
    bool has = wait->worker < 0 || is_so_far(&f->mark[wait->worker].ended, wait->count);
    for (int w = 0; w < f->workers && wait->worker == TI_HOST_ALL && has; w++) {
        has = w == f->self || is_so_far(&f->mark[w].shared, wait->count);
    }
    return has;
}

/* Its next post, if that could begin now. */
static bool help_worker(ti_host_fork *f, int worker)
{
    const uint32_t next = atomic_load_explicit(&f->mark[worker].begun, memory_order_relaxed) + 1;
    const ti_host_post *p = post_of(f, worker, next);
    bool can = f->self >= 0 && atomic_load_explicit(&p->count, memory_order_relaxed) == next &&
               is_so_far(&f->mark[worker].ended, next - 1);
    for (int i = 0; can && i < p->waits; i++) {
        can = has_ended(f, &p->wait[i]);
    }
    return can && ti_host_fork_work_now(f, worker, next, f->self);
}

/* Of any worker, since the one that is awaited may wait for others. Of all posts that have not begun the earliest one
 * can begin. */
static void help(ti_host_fork *f, int worker)
{
    bool helped = help_worker(f, worker);
    for (int w = 0; w < f->workers && !helped; w++) {
        helped = w != f->self && help_worker(f, w);
    }
    if (!helped) {
        sched_yield();
    }
}

static void await_count(ti_host_fork *f, int worker, const _Atomic uint32_t *count, uint32_t wanted)
{
    for (uint32_t round = 1; !is_so_far(count, wanted); round++) {
        if (round < PATIENCE) {
            ti_cpu_relax();
        } else {
            atomic_thread_fence(memory_order_seq_cst);
            wake(f, 0);
            help(f, worker);
        }
    }
}

static void await_worker(ti_host_fork *f, int worker, uint32_t wanted)
{
    ti_host_told *t = &f->told[worker];
    if (worker != f->self && (int32_t)(t->ended - wanted) < 0) {
        await_count(f, worker, &f->mark[worker].ended, wanted);
        t->ended = atomic_load_explicit(&f->mark[worker].ended, memory_order_acquire);
    }
}

static void await_shared(ti_host_fork *f, uint32_t wanted)
{
    if ((int32_t)(f->shared_ended - wanted) < 0) {
        for (int w = 0; w < f->workers; w++) {
            if (w != f->self) {
                await_count(f, w, &f->mark[w].shared, wanted);
            }
        }
        f->shared_ended = wanted;
    }
}

void ti_host_fork_await(ti_host_fork *f, const ti_host_wait *wait)
{
    if (wait->worker == TI_HOST_ALL) {
        await_shared(f, wait->count);
    } else if (wait->worker != TI_HOST_NOBODY) {
        await_worker(f, wait->worker, wait->count);
    }
}

void ti_host_fork_meet(ti_host_fork *f)
{
    for (int w = 0; w < f->workers; w++) {
        await_worker(f, w, f->told[w].count);
    }
    f->is_quiet = true;
}

void ti_host_fork_note_point(ti_host_fork *f)
{
    for (int w = 0; w < f->workers; w++) {
        f->told[w].before = f->told[w].at_point;
        f->told[w].at_point = f->told[w].count;
        ti_prefetch(&f->mark[w].ended, 1);
    }
}

void ti_host_fork_need_point(ti_host_fork *f, int worker)
{
    for (int w = 0; w < f->workers; w++) {
        if (w != worker) {
            await_worker(f, w, f->told[w].before);
        }
    }
}

/* ---- who posts */

static void put(ti_host_fork *f, int worker, const ti_host_post *what, const void *args, size_t bytes)
{
    const uint32_t count = ++f->told[worker].count;
    f->is_quiet = false;
    ti_host_post *p = post_of(f, worker, count);
    await_worker(f, worker, count - TI_HOST_POSTS);
    p->waits = what->waits;
    p->is_shared = what->is_shared;
    p->is_few = bytes <= TI_HOST_FEW_BYTES;
    p->kernel = what->kernel;
    memcpy(p->wait, what->wait, sizeof(p->wait));
    if (!p->is_few) {
        p->with.args = args;
    } else if (bytes) {
        memcpy(p->with.few, args, bytes);
    }
    atomic_store_explicit(&p->count, count, memory_order_release);
    __builtin_prefetch(post_of(f, worker, count + 2), 1); /* the worker looks at the next one at most */
}

ti_host_wait ti_host_fork_share(ti_host_fork *f, ti_device_kernel *kernel, const void *args, size_t bytes)
{
    const ti_host_wait before = { TI_HOST_ALL, f->shared };
    ti_host_post p = { .kernel = kernel, .is_shared = true, .wait = { before } };
    if (!f->is_shared || f->workers > MAX_LOOKED_AT) {
        ti_host_fork_meet(f);
    } else {
        p.waits = 1;
    }
    f->shared++;
    f->is_shared = true;
    for (int w = 0; w < f->workers; w++) {
        if (w != f->self) {
            put(f, w, &p, args, bytes);
        }
    }
    wake(f, 0);
    ti_host_fork_await(f, &before);
    if (f->self >= 0) {
        call(f, kernel, args, f->workers, f->self, f->self);
    }
    return (ti_host_wait){ TI_HOST_ALL, f->shared };
}

/* The bits of a reduction depend on how it is cut. If the caller is no worker, they all have nothing to do. */
static TI_NOINLINE void meet_and_run(ti_host_fork *f, ti_device_kernel *kernel, const void *args)
{
    const int cuts = kernel->run ? ti_parts_most(kernel, f->workers) : 1;
    ti_host_fork_meet(f);
    for (int i = 0; i < cuts; i++) {
        call(f, kernel, args, cuts, i, TI_MAX(f->self, 0));
    }
}

void ti_host_fork_run(ti_host_fork *f, ti_device_kernel *kernel, const void *args)
{
    f->is_shared = false;
    if (f->is_quiet && !kernel->run) {
        call(f, kernel, args, 1, 0, TI_MAX(f->self, 0));
    } else {
        meet_and_run(f, kernel, args);
    }
}

/* ---- one worker */

/* Whether it is known to have ended, or will have when the worker comes to its next post. */
static bool is_past(const ti_host_fork *f, const ti_host_wait *wait, int worker)
{
    return wait->worker == TI_HOST_NOBODY ||
           (wait->worker >= 0 && (wait->worker == worker || (int32_t)(f->told[wait->worker].ended - wait->count) >= 0));
}

void ti_host_fork_need(ti_host_fork *f, int worker, const ti_host_wait *wait)
{
    ti_host_post *p = &f->needing;
    const bool is_many = wait->worker == TI_HOST_ALL && f->workers > MAX_LOOKED_AT;
    if (is_past(f, wait, worker)) {
        return;
    }
    if (worker == f->self || is_many || p->waits == TI_HOST_WAITS) {
        ti_host_fork_await(f, wait);
    } else {
        p->wait[p->waits++] = *wait;
    }
}

ti_host_wait ti_host_fork_hand(ti_host_fork *f, int worker, ti_device_kernel *kernel, const void *args, size_t bytes)
{
    TI_ASSERT(!kernel->run);
    f->is_shared = false;
    if (worker == f->self) {
        call(f, kernel, args, 1, 0, worker);
        return (ti_host_wait){ TI_HOST_NOBODY, 0 };
    }
    f->needing.kernel = kernel;
    put(f, worker, &f->needing, args, bytes);
    f->needing.waits = 0;
    wake(f, f->idle);
    return (ti_host_wait){ worker, f->told[worker].count };
}
