/* Kernels that one thread, mostly a worker itself, hands to the workers in an order that is known: shared by all of
 * them, when it runs its own part, or to one of them alone. For rounds that are carried out in order (exec/round.h).
 *
 * Each worker has a ring of posts, where it finds what is next for it, and what that waits for. It has counts of the
 * posts that it has begun, and of those that have ended, and one of the shared kernels among the latter, which all
 * workers get in the same order. So one cache line goes to a worker for each kernel, and one comes back. A shared
 * kernel begins when all before it has ended; who posts runs its own part first, so no more than two of them are under
 * way. Posts are begun in order. One that has not begun may be run by who waits for it, if that is a worker: the other
 * one's core may have been taken away.
 *
 * One thread posts and meets at a time. Workers look for posts before anything else. */
#ifndef TI_HOST_FORK_H
#define TI_HOST_FORK_H

#include "device/host.h"
#include "device/host_desk.h"

/* Arguments of so many bytes lie in the post. A worker has so many posts; one waits for so many others. */
enum { TI_HOST_FEW_BYTES = 32, TI_HOST_POSTS = 32, TI_HOST_WAITS = 2 };

/* What has to have ended: of a worker, the post with this count; or the shared kernel with this count, everywhere; or
 * nothing. */
enum { TI_HOST_NOBODY = -1, TI_HOST_ALL = -2 };
typedef struct ti_host_wait {
    int32_t worker; /* or one of these */
    uint32_t count;
} ti_host_wait;

typedef struct ti_host_post {
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t count; /* this is that worker's post number so many */
    uint8_t waits;
    bool is_few, is_shared;
    ti_device_kernel *kernel;
    ti_host_wait wait[TI_HOST_WAITS];
    union {
        _Alignas(16) char few[TI_HOST_FEW_BYTES];
        const void *args;
    } with;
} ti_host_post;

typedef struct ti_host_mark {
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t begun;
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t ended;
    _Atomic uint32_t shared; /* have ended */
} ti_host_mark;

/* What who posts knows of a worker: the count of its latest post, and of one that has ended. */
typedef struct ti_host_told {
    uint32_t count, ended;
    uint32_t at_point, before; /* the count at the latest point, and at the one before */
} ti_host_told;

typedef struct ti_host_fork {
    const ti_host_desc *desc; /* of the device, which has so many workers */
    ti_host_desk *desks;
    int workers;
    ti_host_post *post; /* TI_HOST_POSTS of each worker */
    ti_host_mark *mark;
    ti_host_told *told;
    int self;                      /* who posts, as a worker, or -1: it is none; always the same */
    int idle;                      /* of the others, who get no kernels alone */
    uint32_t shared, shared_ended; /* kernels; of which so many are known to have ended */
    bool is_shared;                /* the latest kernel */
    bool is_quiet;                 /* all posts are known to have ended */
    ti_host_post needing;          /* the next one: what it waits for */
} ti_host_fork;

void ti_host_fork_init(ti_host_fork *fork, const ti_host_desc *desc, ti_host_desk *desks, int workers);
void ti_host_fork_fini(ti_host_fork *fork);
/* Before anything else, when all has ended: who posts from now on, and how many others get no kernels alone. */
void ti_host_fork_begin(ti_host_fork *fork, int self, int idle);

/* ---- all workers, one after the other kernel */

/* A kernel in as many parts as there are workers; the caller has run its part then, if it is a worker, and all kernels
 * before have ended. Arguments that are more than few stay where they are until it has ended. */
ti_host_wait ti_host_fork_share(ti_host_fork *fork, ti_device_kernel *kernel, const void *args, size_t bytes);
/* A kernel that the caller runs when all before has ended. */
void ti_host_fork_run(ti_host_fork *fork, ti_device_kernel *kernel, const void *args);
/* This has ended; all of it has. */
void ti_host_fork_await(ti_host_fork *fork, const ti_host_wait *wait);
void ti_host_fork_meet(ti_host_fork *fork);

/* ---- one worker, when what it needs has ended */

/* The kernel that is handed to the worker next needs this. */
void ti_host_fork_need(ti_host_fork *fork, int worker, const ti_host_wait *wait);
/* All before the point before the latest one. */
void ti_host_fork_need_point(ti_host_fork *fork, int worker);
/* A kernel that this worker runs when all that it needs has ended; if that is who calls, then it has run it. */
ti_host_wait ti_host_fork_hand(ti_host_fork *fork, int worker, ti_device_kernel *kernel, const void *args,
                               size_t bytes);
/* A point has come. */
void ti_host_fork_note_point(ti_host_fork *fork);

/* ---- workers */

/* Run that post of a worker, if nobody has begun it; as worker `by`. */
bool ti_host_fork_work_now(ti_host_fork *fork, int worker, uint32_t count, int by);
/* The worker: its next post, if it is there. A look that reads one line. */
static inline bool ti_host_fork_work(ti_host_fork *fork, int worker)
{
    const uint32_t next = atomic_load_explicit(&fork->mark[worker].begun, memory_order_relaxed) + 1;
    const ti_host_post *post = &fork->post[TI_HOST_POSTS * worker + (int)(next % TI_HOST_POSTS)];
    return atomic_load_explicit(&post->count, memory_order_relaxed) == next &&
           ti_host_fork_work_now(fork, worker, next, worker);
}

#endif
