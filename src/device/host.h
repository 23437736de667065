/* The host device: worker threads that run kernels and copies, cut into parts: one for each worker, or fewer if a
 * kernel was short the last times (length.h).
 *
 * Part i of p goes to the queue of worker i * workers / p, always the same one for the same shape, so that memory is
 * used by the worker that touched it first; a worker takes from its own queue first, and steals when that is empty. A
 * job of one part that a worker starts (in `idle`, or between two ti_device_host_work) goes to that worker's own queue.
 * `threads` of the `workers` are threads of the device, workers 0 to threads - 1; the others are lent by callers of
 * ti_device_host_work (a thread that waits in a fence). With no threads at all, launch runs nothing by itself. A worker
 * without a job, and a worker that has just completed one, calls `idle`, where the runtime lets it take over the
 * scheduler and executor roles. Priorities are the executor's business: the queues are short (room) and first in, first
 * out. */
#ifndef TI_DEVICE_HOST_H
#define TI_DEVICE_HOST_H

#include "base/cores.h"
#include "base/failure.h"
#include "base/park.h"
#include "device/device.h"

/* A part of a job that has run: the worker as kernels see it, which one of how many parts, the job's token, its items
 * (0: a copy), when it began, and its kernel's task, or NULL. */
typedef struct ti_host_part {
    int worker, part, parts;
    uint64_t token, items, start;
    const struct ti_task *task;
} ti_host_part;
typedef void ti_host_ran(void *told, const ti_host_part *part);

/* When a worker looks for something else to do: it has just completed a job, it waits and will look again at once, or
 * it has waited for a while and is about to give up its core. */
typedef enum ti_host_idle { TI_HOST_COMPLETED, TI_HOST_SPINS, TI_HOST_RESTS } ti_host_idle;
/* What came of it. Where another thread sees to all that may come, the worker looks up from its own queue less often,
 * since looks take cache lines away from that thread. */
typedef enum ti_host_found { TI_HOST_NOTHING, TI_HOST_SOMETHING, TI_HOST_OTHERS_LOOK } ti_host_found;

typedef struct ti_host_desc {
    int workers;    /* parts of a kernel that can run at once, at least 1 */
    int threads;    /* threads to start, 0 to workers */
    int first, all; /* kernels see worker i as first + i of all; 0 and 0: of workers */
    ti_host_found (*idle)(void *user, ti_host_idle when); /* NULL: workers only run jobs */
    bool (*polling)(void *user); /* whether somebody must keep polling (messages under way); NULL: nobody */
    void *user;
    ti_host_ran *ran;          /* told of every part when it has run; NULL: nobody. Any worker */
    void *listener;            /* its `told` */
    ti_lot *lot;               /* where workers sleep; woken by launch and by the runtime */
    uint32_t can;              /* what they can do there but for running kernels of the device (park.h) */
    uint32_t runs;             /* that: TI_CAN_RUN_ON(device), which all have who run them; 0: whoever sleeps there */
    bool wakes_all;            /* others have `runs` as well, and may be busy otherwise */
    ti_lot *told;              /* woken when a thread has completed a job; NULL: nobody, `idle` sees to it */
    uint32_t told_can;         /* who is woken there; 0: all */
    const ti_failure *failure; /* once there is one, kernels are not called: they may follow what has failed; or NULL */
    const char *name;          /* of the threads; NULL: tacit-NUMBER */
    /* What threads are bound to: worker i to the core cpus[i], or without a list all of them to `cores`; both NULL: as
     * the thread that creates them. Read before ti_device_host_create returns. */
    const int *cpus;
    const ti_cores *cores;
} ti_host_desc;

/* NULL if the system does not grant the threads. Threads may call `idle` and `polling` before it returns. */
ti_device *ti_device_host_create(const ti_host_desc *desc);
/* Run one part as worker `worker` if there is one. Returns whether there was. `looks`: for how many looks at the queues
 * of others this one stands, which take cache lines away from those; 0: it is at its own only. Any thread; one at a
 * time per lent worker. */
enum { TI_HOST_LOOKS_AT_REST = 1 };   /* the last look before a thread sleeps, or between naps, stands for so many */
enum { TI_HOST_LOOKS_PER_STEAL = 8 }; /* who looks again and again is at those only once in so many times */
enum { TI_HOST_LOOKS_PER_IDLE = 4 };  /* and for what else there is to do: only its own queue costs nothing */
bool ti_device_host_work(ti_device *device, int worker, uint32_t looks);
/* How long the kernel takes, as far as is known; 0: not. Executor role. */
uint64_t ti_device_host_ns(ti_device *device, const ti_device_kernel *kernel);
/* Kernels that all workers share; while nothing else is under way. */
struct ti_host_fork *ti_device_host_fork(ti_device *device);
/* Whether something has ended that was not polled, as far as is known by now: a look that writes nothing. Any
 * thread. */
bool ti_device_host_has_ended(const ti_device *device);
/* Whether all threads of the device are in kernels: a look that writes nothing. Any thread. */
bool ti_device_host_all_compute(const ti_device *device);
/* The calling thread is about to lend itself as that worker: what it launches from now on it runs itself. */
void ti_device_host_join(ti_device *device, int worker);
/* The calling thread no longer lends itself: what waits in its worker's queue is left to the others, one of which is
 * woken. */
void ti_device_host_leave(ti_device *device);
/* Stop and join the threads; what is still queued (after a failure) is never run. Called before the structures that
 * `idle` uses go away. */
void ti_device_host_stop(ti_device *device);

/* The name of a task whose kernel a worker has been in for `limit` nanoseconds, as far as calls of this function have
 * seen, and for how many; again when it has been as long once more. NULL: there is none (any more). Executor role. */
const char *ti_device_host_long_kernel(ti_device *device, uint64_t now, uint64_t limit, uint64_t *ns);

/* How many cores this process may use. */
int ti_host_cores(void);
/* These cores so that those that share caches and memory are neighbours. Returns their number. */
int ti_host_order(const ti_cores *cores, int list[TI_MAX_CORES]);

#endif
