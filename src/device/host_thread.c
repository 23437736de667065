/* The thread of collective host tasks: see host_thread.h. */
#include "device/host_thread.h"

#include "base/alloc.h"
#include "base/check.h"
#include "device/bounds/check.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>

enum { NAP_NS = 1000 * 1000 * 1000 };

typedef enum state { STATE_IDLE, STATE_LAUNCHED, STATE_DONE } state;

struct ti_host_thread {
    pthread_t id;
    ti_lot *pollers;
    ti_lot own; /* where the thread sleeps */
    atomic_bool stop;
    _Atomic int state; /* launch: idle -> launched, the thread: -> done, poll: -> idle */
    ti_device_kernel *kernel;
};

static void *run(void *user)
{
    ti_host_thread *t = user;
    for (;;) {
        uint32_t ticket = ti_lot_ticket(&t->own);
        if (atomic_load_explicit(&t->stop, memory_order_acquire)) {
            return NULL;
        }
        if (atomic_load_explicit(&t->state, memory_order_acquire) != STATE_LAUNCHED) {
            ti_lot_sleep(&t->own, ticket, NAP_NS);
            continue;
        }
        tacit_launch launch = t->kernel->launch;
        launch.worker = 0;
        launch.num_workers = 1;
        ti_kernel_call(t->kernel, &launch);
        atomic_store_explicit(&t->state, STATE_DONE, memory_order_release);
        ti_lot_wake(t->pollers, INT_MAX);
    }
}

/* Signals are for the threads of the program. */
static bool start(ti_host_thread *t)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&t->id, NULL, run, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

ti_host_thread *ti_host_thread_create(ti_lot *lot)
{
    ti_host_thread *t = TI_NEW(ti_host_thread);
    t->pollers = lot;
    if (!start(t)) {
        TI_DELETE(t);
        return NULL;
    }
    pthread_setname_np(t->id, "tacit-host-task");
    return t;
}

void ti_host_thread_destroy(ti_host_thread *t)
{
    atomic_store_explicit(&t->stop, true, memory_order_release);
    ti_lot_wake(&t->own, 1);
    pthread_join(t->id, NULL);
    TI_DELETE(t);
}

void ti_host_thread_launch(ti_host_thread *t, ti_device_kernel *kernel)
{
    TI_ASSERT(atomic_load(&t->state) == STATE_IDLE);
    t->kernel = kernel;
    atomic_store_explicit(&t->state, STATE_LAUNCHED, memory_order_release);
    ti_lot_wake(&t->own, 1);
}

bool ti_host_thread_poll(ti_host_thread *t, uint64_t *token)
{
    if (atomic_load_explicit(&t->state, memory_order_acquire) != STATE_DONE) {
        return false;
    }
    TI_ASSERT(t->kernel);
    *token = t->kernel->token;
    atomic_store_explicit(&t->state, STATE_IDLE, memory_order_relaxed);
    return true;
}
