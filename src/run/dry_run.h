/* What a dry run is asked for, what it notes about planning, and its report.
 *
 * A dry run plans as one node of many, in one thread, and executes nothing but epochs and fences (exec/dry.h). All
 * stages are the real ones, so the plan is that of a live run. Here are the times of the stages, what they made, and
 * the peaks of what they hold. Application thread, which has all roles in a dry run. */
#ifndef TI_DRY_RUN_H
#define TI_DRY_RUN_H

#include "base/strbuf.h"
#include "exec/dry.h"
#include "ir/system.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"
#include "run/simulation.h"

#include <stdio.h>

enum { TI_TASK_KINDS = TI_TASK_DESTROY + 1, TI_COMMAND_KINDS = TI_COMMAND_DESTROY + 1 };

typedef enum ti_stage { TI_STAGE_TASK, TI_STAGE_COMMAND, TI_STAGE_INSTRUCTION, TI_STAGES } ti_stage;

typedef struct ti_dry_run {
    ti_dry executed;                  /* the executor's part */
    uint64_t ns[TI_STAGES], fence_ns; /* planning of all but fences, and of fences in the last two stages */
    uint64_t tasks[TI_TASK_KINDS], commands[TI_COMMAND_KINDS];
    uint64_t chunks_evaluated;
    uint64_t items;                     /* of the tasks, on all nodes together */
    uint64_t tracking_peak, arena_peak; /* entries of all maps, bytes of all arenas: at horizons and epochs */
    ti_multicast_counts multicast;      /* so far */
    ti_simulation *simulation;          /* or NULL */
} ti_dry_run;

/* "NODES" or "NODES:NODE". False and a sentence in `why` if it is something else. */
bool ti_dry_run_parse(const char *text, int *nodes, int *node, ti_strbuf *why);

/* Say that what follows is no real run. */
void ti_dry_run_announce(int nodes, int node, bool simulated, FILE *out);

ti_dry_run *ti_dry_run_create(ti_comm_stats *network);
void ti_dry_run_destroy(ti_dry_run *run);

/* What one stage made, and the time it took. */
void ti_dry_run_note_commands(ti_dry_run *run, const ti_task *task, ti_command_batch batch, uint64_t ns);
void ti_dry_run_note_time(ti_dry_run *run, const ti_task *task, ti_stage stage, uint64_t ns);
void ti_dry_run_note_held(ti_dry_run *run, const ti_task_graph *tasks, const ti_command_graph *commands,
                          const ti_instruction_graph *instructions);

/* Where a simulation is wanted; NULL as `run` does nothing. First what it simulates, of which `system` gets the number
 * of all workers, from which horizons follow; then the cluster itself. False and a sentence if either cannot be. */
bool ti_dry_run_simulate(ti_dry_run *run, const tacit_config *config, ti_system *system, ti_strbuf *why);
bool ti_dry_run_begin(ti_dry_run *run, const tacit_config *config, const ti_system *system, ti_strbuf *why);
/* Whether the program is told. It is not where a recorded run is followed: it must submit what it submitted then. */
bool ti_dry_run_is_known(const ti_dry_run *run);
void ti_dry_run_take(ti_dry_run *run, const ti_task *const *task, size_t count);
void ti_dry_run_wait(ti_dry_run *run, ti_cluster_event what);
/* Windows of pure tasks are what the system says from here on. */
void ti_dry_run_choose(ti_dry_run *run, const ti_system *system);
/* The program gets values of a fence: those of the recorded run that is followed, if there is one and has them. */
void ti_dry_run_give_values(ti_dry_run *run, uint64_t fence, void *data, size_t bytes);
/* Up to which point tasks are not needed any more, if execution is at `executed`. */
uint64_t ti_dry_run_executed(const ti_dry_run *run, uint64_t executed);

/* A table for people on stderr, and one JSON object in `path` unless it is NULL. False and a sentence if that cannot be
 * written. */
bool ti_dry_run_report(ti_dry_run *run, const ti_system *system, const tacit_config *config, ti_strbuf *why);

#endif
