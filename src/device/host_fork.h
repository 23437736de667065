/* Kernels that one thread, mostly a worker itself, shares with all other workers: it runs its own part, and the next
 * one can be there before the last one has ended. For rounds that are carried out in order (exec/round.h).
 *
 * Kernels have numbers. Each worker has two posts, in turns, where it finds its part of the next kernel, and two marks:
 * the last kernel that it has begun, and the last one whose part has ended. So one cache line goes to a worker for each
 * kernel, and one comes back. A worker begins when all of the kernel before has ended. Who posts runs its own part
 * first, and that begins when all of the kernel before has ended, so no more than two are under way. A part that has
 * not begun may be run by who waits for it, if that is a worker: the other one's core may have been taken away.
 *
 * One thread posts and meets at a time. Workers look for posts before anything else. */
#ifndef TI_HOST_FORK_H
#define TI_HOST_FORK_H

#include "device/host.h"
#include "device/host_desk.h"

/* Arguments of so many bytes lie in the post. */
enum { TI_HOST_FEW_BYTES = 32 };

typedef struct ti_host_post {
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t number;
    ti_device_kernel *kernel;
    const void *args; /* NULL: `few` */
    _Alignas(16) char few[TI_HOST_FEW_BYTES];
} ti_host_post;

typedef struct ti_host_mark {
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t begun;
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t ended;
} ti_host_mark;

typedef struct ti_host_fork {
    const ti_host_desc *desc; /* of the device, which has so many workers */
    ti_host_desk *desks;
    int workers;
    ti_host_post *post; /* two of each worker */
    ti_host_mark *mark;
    int self;        /* who posts, as a worker, or -1: it is none; always the same */
    uint32_t number; /* of the latest kernel */
} ti_host_fork;

void ti_host_fork_init(ti_host_fork *fork, const ti_host_desc *desc, ti_host_desk *desks, int workers);
void ti_host_fork_fini(ti_host_fork *fork);

/* A kernel in as many parts as there are workers, or in one; the caller, as worker `self` (or -1: it has none), has run
 * its part then, and all kernels before have ended. Arguments that are more than few stay where they are until it has
 * ended. */
void ti_host_fork_run(ti_host_fork *fork, int self, ti_device_kernel *kernel, int parts, const void *args,
                      size_t bytes);
/* All of it has ended. */
void ti_host_fork_meet(ti_host_fork *fork);

/* Run the part that a worker has of a kernel, if nobody has begun it; as worker `by`. */
bool ti_host_fork_work_now(ti_host_fork *fork, int worker, uint32_t number, int by);
/* The worker: its part of the next kernel, if it is there. A look that reads one line. */
static inline bool ti_host_fork_work(ti_host_fork *fork, int worker)
{
    const uint32_t next = atomic_load_explicit(&fork->mark[worker].begun, memory_order_relaxed) + 1;
    const ti_host_post *post = &fork->post[2 * worker + (int)(next & 1)];
    return atomic_load_explicit(&post->number, memory_order_relaxed) == next &&
           ti_host_fork_work_now(fork, worker, next, worker);
}

#endif
