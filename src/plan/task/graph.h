/* Stage 1, the task graph: what depends on what. The same on every node.
 *
 * Takes one task after the other, derives its dependencies from task-level images (the mapper applied to the whole
 * range), inserts horizons, and hands the tasks on. Tasks and all they point to live in an arena that is recycled when
 * the horizon after it has been executed. Nothing here knows of nodes. Application thread. */
#ifndef TI_TASK_GRAPH_H
#define TI_TASK_GRAPH_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "grid/tile.h"
#include "ir/brief.h"
#include "ir/system.h"
#include "ir/task.h"
#include "plan/track/tracker.h"

typedef struct ti_task_graph ti_task_graph;

ti_task_graph *ti_task_graph_create(const ti_system *system);
void ti_task_graph_destroy(ti_task_graph *graph);

/* A new task, whose shape lives as long as it does. */
ti_task *ti_task_graph_new(ti_task_graph *graph, ti_task_kind kind, const ti_shape *shape);
/* The arena of the next task: what the task points to may lie there. */
ti_arena *ti_task_graph_arena(ti_task_graph *graph);
/* ti_shape_new in that arena. */
ti_shape *ti_task_graph_shape(ti_task_graph *graph, const char *name);

/* The numbers of the boxes of a buffer that placed tasks name (ti_tiles_number). Not of all of a buffer, whose maps
 * have few entries then. `tracker` (or NULL) gets what tells which of them are entries. */
ti_tiles **ti_task_graph_tiles(ti_task_graph *graph, const ti_buffer_info *buffer, const ti_tracker **tracker);

/* This tile of the buffer is likely to come soon: what is known of it is brought into the caches. */
void ti_task_graph_expect(const ti_task_graph *graph, const ti_buffer_info *buffer, uint32_t tile);

/* Whether everything that a task of this shape, which has footprints, reads has been written. If not, `why` gets a
 * sentence. */
tacit_status ti_task_graph_check(ti_task_graph *graph, const ti_shape *shape, ti_strbuf *why);

/* Append the parts of `box` that somebody has written, disjoint. */
void ti_task_graph_written(ti_task_graph *graph, const ti_buffer_info *buffer, const ti_box *box, ti_boxes *out);

/* Give the task its id and dependencies. `out` gets the task and, if one is due, a horizon: 1 or 2 tasks. */
enum { TI_TASK_GRAPH_BATCH = 2 };
size_t ti_task_graph_add(ti_task_graph *graph, ti_task *task, const ti_task *out[TI_TASK_GRAPH_BATCH]);

/* The same of a task on another node that touches tiles, all of which the trackers know (ti_tracker_knows_tile), each
 * once: out comes a brief. 0: it has to be a task, and nothing has changed. */
size_t ti_task_graph_add_brief(ti_task_graph *graph, const ti_brief_desc *what,
                               const ti_task *out[TI_TASK_GRAPH_BATCH]);

/* Rounds that others carry out (run/round.h). The number (ti_task::again) of a round of a steady loop that begins with
 * the next task, or 0. So many of its tasks and horizons have come, in whole rounds; `horizons` of them. */
uint64_t ti_task_graph_round(const ti_task_graph *graph);
/* Whether a loop goes round, and is recorded or repeated, of which points where the program waits are no part. */
bool ti_task_graph_is_in_loop(const ti_task_graph *graph);
void ti_task_graph_pass(ti_task_graph *graph, uint64_t tasks, uint64_t horizons);

/* Horizon or epoch `id` has been executed: recycle what nobody refers to any more. */
void ti_task_graph_release(ti_task_graph *graph, uint64_t id);

/* Horizons and epochs handed out so far. */
uint64_t ti_task_graph_horizons(const ti_task_graph *graph);
uint64_t ti_task_graph_tasks(const ti_task_graph *graph);

/* Of these: what steady loops have repeated (plan/task/cycle.h). */
uint64_t ti_task_graph_repeated(const ti_task_graph *graph);

size_t ti_task_graph_entries(const ti_task_graph *graph);
size_t ti_task_graph_all_entries(const ti_task_graph *graph); /* with those of forwards */
size_t ti_task_graph_arena_bytes(const ti_task_graph *graph);

/* From now on, add the nanoseconds that making a horizon takes to *ns: benchmarks. */
void ti_task_graph_time_horizons(ti_task_graph *graph, uint64_t *ns);

#endif
