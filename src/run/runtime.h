/* The runtime of one node: creates and destroys all modules in one visible order, and lets threads take the roles.
 *
 * Two roles, each under a lock of its own. The scheduler role takes tasks from the channel and plans them; the executor
 * role takes instructions and drives devices and network. Three ways to fill them:
 *   inline  the application thread does everything, in a fixed order: one core, debugging, single-threaded MPI
 *   shared  whoever has nothing to do takes a free role: workers between kernels, the application thread as it waits
 *   thread  a scheduler thread and an executor thread
 * The application thread calls the functions below; no others may, but where it says so. */
#ifndef TI_RUNTIME_H
#define TI_RUNTIME_H

#include "comm/comm.h"
#include "exec/executor.h"
#include "ir/signal.h"
#include "ir/submission.h"
#include "plan/task/graph.h"
#include "run/balance.h"
#include "run/pin.h"
#include "run/scheduler.h"
#include "run/tune.h"
#include "trace/advice.h"

typedef struct ti_runtime ti_runtime;

typedef struct ti_runtime_desc {
    tacit_config config; /* resolved */
    ti_comm *comm;       /* owned by the runtime from now on */
    tacit_context *context;
} ti_runtime_desc;

/* NULL, a status and a sentence in `why` on failure; the communicator is destroyed then, and the job of several nodes
 * ends. */
ti_runtime *ti_runtime_create(const ti_runtime_desc *desc, tacit_status *status, ti_strbuf *why);
/* After a final epoch. Stops the threads and frees everything. */
void ti_runtime_destroy(ti_runtime *rt);

const ti_system *ti_runtime_system(const ti_runtime *rt);
const ti_pin *ti_runtime_pin(const ti_runtime *rt);
ti_task_graph *ti_runtime_task_graph(ti_runtime *rt);
/* Without tasks that have been carried out in rounds: for what these do not change, such as the numbers of tiles. */
ti_task_graph *ti_runtime_task_graph_now(ti_runtime *rt);
ti_failure *ti_runtime_failure(ti_runtime *rt);

/* The run has failed: wakes everybody who waits, and ends the job on all nodes. Any thread. */
#define ti_runtime_fail(rt, ...) ti_failure_set(ti_runtime_failure(rt), __VA_ARGS__)

/* Tasks and horizons so far. */
uint64_t ti_runtime_tasks(const ti_runtime *rt);
/* Whether a task of this shape, or a fence, has been carried out at once, as the next one of a steady loop (round.h).
 * Else it has to be submitted. */
bool ti_runtime_repeat(ti_runtime *rt, const ti_shape *shape, const void *args, ti_user_copy *fence);
/* Wait until all is done that was submitted, without a point, as in such loops. False: there has to be one. `is_long`:
 * the program has gone through its loop many times since the last one, alike on all nodes. */
bool ti_runtime_rest(ti_runtime *rt, bool is_long);
/* Shapes may go away. */
void ti_runtime_forget_round(ti_runtime *rt);
/* Hand a task, made with ti_task_graph_new, to the pipeline. Helps while the program is too far ahead. */
void ti_runtime_submit(ti_runtime *rt, ti_task *task);
/* The same of a task on tiles that runs on another node (ti_task_graph_add_brief). False: it has to be a task. */
bool ti_runtime_submit_brief(ti_runtime *rt, const ti_brief_desc *what);
/* Wait until the signal is set. Returns early if the run has failed. */
void ti_runtime_wait_signal(ti_runtime *rt, const ti_signal *signal);
/* Set a signal, and wake who waits for it. Any thread. */
void ti_runtime_set_signal(ti_runtime *rt, ti_signal *signal);
/* How many fences there are so far. */
uint64_t ti_runtime_fences(const ti_runtime *rt);
/* The program gets the values of a fence, which was the n-th: they are recorded, or replaced by recorded ones. */
void ti_runtime_give_values(ti_runtime *rt, uint64_t fence, void *data, size_t bytes);
/* Wait until all horizons and epochs so far are executed. Returns early if the run has failed. */
void ti_runtime_wait_points(ti_runtime *rt);
/* The network library's communicator for the kernel of a task on every node, or NULL: `why` is empty if the run has
 * none, and else says what is wrong. Any thread. */
const void *ti_runtime_communicator(const ti_runtime *rt, const tacit_launch *launch, const tacit_mpi_comm *like,
                                    ti_strbuf *why);
/* The network gets what kernels of a group of collective host tasks need. All nodes, after an epoch with a barrier. */
void ti_runtime_open_group(ti_runtime *rt, int group);
/* Id of the task of the last executed horizon or epoch: everything with a smaller id is done. */
uint64_t ti_runtime_executed(const ti_runtime *rt);

/* Give tasks to `take` instead of the pipeline, from now on: benchmarks and tests that call the planners themselves.
 * NULL: the pipeline again. With `briefs` it also gets such (ir/brief.h). */
typedef void ti_runtime_taker(void *user, const ti_task *task);
void ti_runtime_divert(ti_runtime *rt, ti_runtime_taker *take, void *user, bool briefs);

/* Tests look on: at every plan, and at what is executed; NULL: nobody. Taps stay where they are. Before the first
 * task. */
void ti_runtime_tap(ti_runtime *rt, const ti_plan_tap *plans, const ti_executor_tap *executed);

const ti_dry_run *ti_runtime_dry(const ti_runtime *rt); /* NULL: a live run */
/* End the process and the job at once, from any thread: nothing returns. */
void ti_runtime_abort(ti_runtime *rt, const char *why);
/* A dry run: whether there was a fence. */
bool ti_runtime_has_fenced(const ti_runtime *rt);
/* At the end: the reports of a dry run and of TACIT_EXPLAIN, where they are wanted. False and a sentence in `why` on
 * failure. */
bool ti_runtime_report(ti_runtime *rt, ti_strbuf *why);
/* What is chosen by measurements. Whether the program's next wait should choose; the same on all nodes. Then, after an
 * epoch with a barrier, and if the run has not failed: choose what is due, or all there is if the program has asked for
 * that. Whether ti_balance_weights has others now. */
bool ti_runtime_is_due(const ti_runtime *rt);
bool ti_runtime_choose(ti_runtime *rt, bool asked);
const ti_balance *ti_runtime_balance(const ti_runtime *rt);
/* TACIT_CHECK_PURE: whether all waits are barriers, and compare then what nodes have computed redundantly. What differs
 * is a failure on all nodes. `last`: nothing comes after. */
bool ti_runtime_checks_pure(const ti_runtime *rt);
void ti_runtime_check_pure(ti_runtime *rt, bool last);
/* A call of the program that all nodes must make and that is no task. */
void ti_runtime_note(ti_runtime *rt, ti_submission_kind kind, uint64_t number, uint64_t bytes, unsigned properties);
/* The program will submit nothing more: wait until the neighbours know that they have submitted the same. Returns early
 * if the run has failed. */
void ti_runtime_settle(ti_runtime *rt);

/* The application keeps so many bytes of results from now on, or gives them back. False if they would not fit beside
 * what is allocated. */
bool ti_runtime_keep_results(ti_runtime *rt, uint64_t bytes);
void ti_runtime_drop_results(ti_runtime *rt, uint64_t bytes);

/* How many kernels were started by who ended the one before: tests. Application thread. */
uint64_t ti_runtime_followed(ti_runtime *rt);
/* How many tasks were carried out in rounds: tests. */
uint64_t ti_runtime_in_rounds(const ti_runtime *rt);
void ti_runtime_counters(ti_runtime *rt, tacit_counters *out);
/* At the end, on all nodes, when everything is executed: what there is to say about the run, if somebody wants to hear
 * it; else, or if the run has failed, nothing. */
void ti_runtime_advise(ti_runtime *rt, ti_advice_facts *facts);
/* Write the graphs, if TACIT_GRAPH asked for them. False and a sentence in `why` on failure. */
bool ti_runtime_write_graphs(ti_runtime *rt, ti_strbuf *why);

#endif
