/* Kernels that all workers share: see host_fork.h. */
#include "device/host_fork.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "device/bounds/check.h"
#include "device/parts.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

/* Looks until a part that has not begun is run by who waits for it. Of more workers than MAX_LOOKED_AT each would look
 * at too many others: then who posts waits for all of them before. */
enum { PATIENCE = 256, MAX_LOOKED_AT = 8 };

void ti_host_fork_init(ti_host_fork *f, const ti_host_desc *desc, ti_host_desk *desks, int workers)
{
    *f = (ti_host_fork){ .desc = desc, .desks = desks, .workers = workers };
    f->post = ti_alloc_aligned(2 * (size_t)workers * sizeof(*f->post));
    f->mark = ti_alloc_aligned((size_t)workers * sizeof(*f->mark));
}

void ti_host_fork_fini(ti_host_fork *f)
{
    ti_free(f->post, 2 * (size_t)f->workers * sizeof(*f->post));
    ti_free(f->mark, (size_t)f->workers * sizeof(*f->mark));
}

static ti_host_post *post_of(ti_host_fork *f, int worker, uint32_t number)
{
    return &f->post[2 * worker + (int)(number & 1)];
}

static bool has_ended(const ti_host_fork *f, int worker, uint32_t number)
{
    return (int32_t)(atomic_load_explicit(&f->mark[worker].ended, memory_order_acquire) - number) >= 0;
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

/* When all of the kernel before has ended; by the worker, or by another one for it. */
static void run(ti_host_fork *f, const ti_host_post *p, uint32_t number, int worker, int by)
{
    for (int w = 0; w < f->workers && f->workers <= MAX_LOOKED_AT; w++) {
        for (uint32_t round = 0; w != f->self && !has_ended(f, w, number - 1); round++) {
            round < PATIENCE ? ti_cpu_relax() : (void)sched_yield();
        }
    }
    call(f, p->kernel, p->args ? p->args : p->few, f->workers, worker, by);
    atomic_store_explicit(&f->mark[worker].ended, number, memory_order_release);
}

bool ti_host_fork_work_now(ti_host_fork *f, int worker, uint32_t number, int by)
{
    const ti_host_post *p = post_of(f, worker, number);
    uint32_t before = number - 1;
    if (atomic_load_explicit(&p->number, memory_order_acquire) != number ||
        !atomic_compare_exchange_strong_explicit(&f->mark[worker].begun, &before, number, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        return false;
    }
    run(f, p, number, worker, by);
    return true;
}

/* ---- who posts */

static void meet(ti_host_fork *f, uint32_t number)
{
    for (int w = 0; w < f->workers; w++) {
        for (uint32_t round = 1; w != f->self && !has_ended(f, w, number); round++) {
            if (round % PATIENCE == 0 && f->self >= 0 && ti_host_fork_work_now(f, w, number, f->self)) {
                break;
            }
            round < PATIENCE ? ti_cpu_relax() : (void)sched_yield();
        }
    }
}

void ti_host_fork_meet(ti_host_fork *f)
{
    meet(f, f->number);
}

static void post(ti_host_fork *f, ti_device_kernel *kernel, const void *args, size_t bytes)
{
    const uint32_t number = ++f->number;
    const bool few = bytes <= TI_HOST_FEW_BYTES;
    for (int w = 0; w < f->workers; w++) {
        ti_host_post *p = post_of(f, w, number);
        TI_ASSERT(w == f->self || has_ended(f, w, number - 2));
        if (w == f->self) {
            continue;
        }
        p->kernel = kernel;
        p->args = few ? NULL : args;
        if (few && bytes) {
            memcpy(p->few, args, bytes);
        }
        atomic_store_explicit(&p->number, number, memory_order_release);
    }
    ti_lot_wake_able(f->desc->lot, f->desc->wakes_all ? INT_MAX : f->workers - (f->self >= 0),
                     f->desc->runs ? f->desc->runs : TI_CAN_ANYTHING);
}

void ti_host_fork_run(ti_host_fork *f, int self, ti_device_kernel *kernel, int parts, const void *args, size_t bytes)
{
    TI_ASSERT(f->number == 0 || f->self == self);
    if (f->self != self) {
        f->self = self;
    }
    if (parts > 1) {
        TI_ASSERT(parts == f->workers);
        if (f->workers > MAX_LOOKED_AT) {
            meet(f, f->number);
        }
        post(f, kernel, args, bytes);
        meet(f, f->number - 1);
        if (self >= 0) {
            call(f, kernel, args, parts, self, self);
        }
        return;
    }
    /* The bits of a reduction depend on how it is cut. */
    const int cuts = kernel->run ? ti_parts_most(kernel, f->workers) : 1;
    meet(f, f->number);
    for (int i = 0; i < cuts; i++) {
        call(f, kernel, args, cuts, i, TI_MAX(self, 0)); /* they all have nothing to do */
    }
}
