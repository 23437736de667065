/* The state of a runtime, for the sources that make it up:
 *
 *   runtime.c  the application's calls: creation, submission, waiting, the end
 *   round.c    steady loops that the application thread carries out itself
 *   waiting.c  what the application thread does while it waits
 *   roles.c    what threads do that plan and execute
 *   home.c     which threads leave which role to others
 *   reports.c  counters, advice and reports
 *
 * Which thread calls a function is said above it, or above its group. */
#ifndef TI_RUN_IMPL_H
#define TI_RUN_IMPL_H

#include "device/host.h"
#include "exec/ahead.h"
#include "exec/busy.h"
#include "run/advice.h"
#include "run/agreement.h"
#include "run/attendant.h"
#include "run/choose.h"
#include "run/claim.h"
#include "run/devices.h"
#include "run/graph_files.h"
#include "run/round.h"
#include "run/runtime.h"
#include "run/siblings.h"
#include "run/tracing.h"
#include "run/watchdog.h"

#include <pthread.h>

enum { TI_PLAN_BUDGET = 16 }; /* tasks that are planned at once, where others wait for the thread */

struct ti_runtime {
    ti_system system;
    tacit_config config;
    ti_run_mode mode;
    int lent_worker; /* which one of device 0 has no thread: the application thread while it waits; -1: none */
    ti_lock lending; /* or an idle worker of another device: one at a time */
    bool attended;
    ti_siblings_member member; /* inline, on several nodes */
    ti_comm *comm;
    ti_device_list devices;
    ti_pin pin;
    uint32_t share;     /* of the cores: base/crowd.h */
    ti_device **device; /* system.devices of them */
    ti_task_graph *tasks;
    ti_graph_files graphs;
    ti_tracing trace;
    ti_dry_run *dry; /* NULL: a live run */
    ti_runtime_taker *take;
    void *take_user;
    bool briefs; /* tasks on tiles of other nodes are handed on as such (ir/brief.h) */
    ti_ahead ahead;
    ti_round round;
    uint64_t released, fences;
    uint32_t unplanned; /* tasks since this thread planned last, while that is its role */
    uint64_t held;      /* inline: tasks after which nothing but planning was done */
    uint32_t passes;    /* inline: so many submissions do not wait for the kernel before but look once; */
    uint32_t passed;    /* the last time that waiting was fruitless, they were so many */
    ti_executor_progress progress;
    _Alignas(TI_CACHE_LINE) _Atomic uint32_t at_home; /* roles that the program's thread sees to: home.c */
    _Alignas(TI_CACHE_LINE) ti_lock scheduling;
    ti_scheduler scheduler;
    _Alignas(TI_CACHE_LINE) ti_lock executing;
    bool under_way;         /* messages, at the end of the last step */
    _Atomic uint64_t looks; /* steps so far */
    ti_executor *executor;
    _Atomic bool has_executor; /* and all devices: before, workers that exist already must not look at either */
    ti_bounds *bounds;         /* TACIT_BOUNDS_CHECK, or NULL */
    ti_purity *purity;         /* TACIT_CHECK_PURE, or NULL */
    bool ended;                /* the other nodes were told of a failure */
    ti_agreement *agreement;   /* or NULL */
    ti_watchdog watchdog;
    ti_tune tune;
    ti_balance balance;
    ti_busy busy; /* where it measures kernels of accelerators */
    ti_advisor advisor;
    ti_claim claim;
    ti_attendant attendant;
    _Atomic bool stop;
    pthread_t threads[2]; /* `started` of them */
    int started;
};

/* One step of the scheduler or the executor, unless another thread is at it; whether anything was done. The executor's
 * is also a callback, whose `user` is the runtime. Any thread. */
bool ti_roles_schedule(ti_runtime *rt, int budget);
bool ti_roles_execute(void *user);
/* The same, but that the network and accelerators are not asked. */
bool ti_roles_start(ti_runtime *rt);
/* The same of a thread that waits: not if it can be seen from outside that there is nothing to do. */
bool ti_roles_execute_idly(ti_runtime *rt);
/* Run a part of a kernel as the worker that has no thread, unless somebody else does; `looks` as in
 * ti_device_host_work. */
bool ti_roles_lend(ti_runtime *rt, uint32_t looks);
/* Callbacks: whether somebody must poll for messages, or look at all; before sends leave; of idle workers. */
bool ti_roles_must_poll(void *user);
bool ti_roles_must_look(void *user);
bool ti_roles_plan_first(void *user);
ti_host_found ti_roles_idle_worker(void *user, ti_host_idle when);
/* Who has had the executor's role, and was not there for its sake, gives it back: others may have wanted it. */
void ti_roles_leave_executor(ti_runtime *rt);
/* Who has it has made a step, or lets the next one come. */
void ti_roles_note_step(ti_runtime *rt);
/* Threads of the mode `thread`. */
void *ti_roles_scheduler_main(void *user);
void *ti_roles_executor_main(void *user);
void ti_roles_start_attendant(ti_runtime *rt);
/* After an error nothing more is started, and the other nodes are told, once. By who has the executor's role. */
void ti_roles_end_job(ti_runtime *rt);

/* ---- waiting.c: the program's thread */

/* Until this holds; with a signal for TI_CAUSE_SIGNAL. Returns early if the run has failed. */
void ti_waiting_until(ti_runtime *rt, ti_trace_cause kind, const ti_signal *signal);
bool ti_waiting_holds(ti_runtime *rt, ti_trace_cause kind, const ti_signal *signal);
/* Nothing waits any more for tasks that the program has not submitted. */
void ti_waiting_let_go(ti_runtime *rt);
/* Run a part of a kernel, if this thread may. */
bool ti_waiting_compute(ti_runtime *rt, uint32_t looks);
/* As ti_runtime_executed; and what the task graph keeps of such tasks goes. */
uint64_t ti_waiting_executed(const ti_runtime *rt);
void ti_waiting_release(ti_runtime *rt);

/* ---- home.c: whether the program's thread or the workers take a role, TI_CAN_PLAN or TI_CAN_EXECUTE */

/* Whether nothing has come for the executor since its last step; whether there is anything to plan. As far as can be
 * seen: nothing is written. */
bool ti_home_is_quiet(ti_runtime *rt);
bool ti_home_is_behind(ti_runtime *rt);
/* The program's thread begins to wait, and sees to these roles; it stops. */
void ti_home_enter(ti_runtime *rt, uint32_t roles);
void ti_home_leave(ti_runtime *rt, uint32_t roles);
/* Whether the program's thread sees to this role. */
static inline bool ti_home_is_program(const ti_runtime *rt, uint32_t role)
{
    return atomic_load_explicit(&rt->at_home, memory_order_relaxed) & role;
}
/* Roles that an idle worker leaves to the program's thread. Called at each look, or less often if that is all roles. */
uint32_t ti_home_left_by_worker(ti_runtime *rt, ti_host_idle when);
/* Whether there is anything to do for these roles, as far as can be seen. */
bool ti_home_has_work(ti_runtime *rt, uint32_t roles);
/* Whether the program's thread, which waits, leaves the executor's role to workers. Called at each look; `completed`:
 * this thread has just completed parts of kernels. */
bool ti_home_left_by_program(ti_runtime *rt, bool completed);

#endif
