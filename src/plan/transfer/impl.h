/* How the data of a task gets to where it is read: forwards and collectives, reductions, multicasts, and what is
 * replayed of the last time.
 *
 * Each of these files calls those before it only: divide, anticipate, edge, forward, reduce, replay, multicast, placed;
 * and those of plan/command. Included by this folder and plan/lookahead only. Scheduler thread. */
#ifndef TI_TRANSFER_IMPL_H
#define TI_TRANSFER_IMPL_H

#include "plan/command/impl.h"

/* divide.c: forwards of a task on the buffer that it uses so. */
ti_discovery_question ti_command_question(const ti_task *task, const ti_command_use *use, const ti_forward *forward);
/* Whether what is wanted on all nodes is all that is left of what the producer wrote; whether all nodes want that. */
bool ti_command_is_all(const ti_forward *forward, const ti_boxes *wanted);
bool ti_command_all_want_all(ti_command_graph *graph, const ti_discovery_question *question, const ti_forward *forward);
/* Fill `parts`; what they point to lives as long as the task. */
void ti_command_divide(ti_command_graph *graph, const ti_command_use *use, const ti_forward *forward);

/* anticipate.c */
/* The held task at hand is planned and has this forward: what this one and later ones want on all nodes comes first, at
 * once. NULL: nothing. */
const ti_collective *ti_command_window_hoist(ti_command_graph *graph, const ti_task *task, const ti_forward *forward);

/* edge.c: what became of the edges of a task on one buffer, whose transfers have been planned. */
void ti_command_note_edges(ti_command_graph *graph, const ti_task *task, const ti_command_use *use);

/* forward.c */
/* Forwards on the buffer become collectives where they fit a pattern. */
void ti_command_forward_data(ti_command_graph *graph, const ti_task *task, const ti_command_use *use);
/* What a task reads of a buffer goes by these messages, and not by a collective because of the verdict. */
void ti_command_count_missed(ti_command_graph *graph, ti_verdict verdict, const ti_messages *out,
                             const ti_messages *in);

/* reduce.c: combine the partial results of the access with this index; note who reads what a reduction has left. */
void ti_command_reduce(ti_command_graph *graph, const ti_task *task, uint32_t index, const ti_split_ref *split);
void ti_command_note_readers(ti_command_graph *graph, const ti_command_use *use);

/* replay.c: tasks whose messages and collectives are known from the last time. */
/* Afterwards, of each buffer either `replay.now` is known, or the versions are up to date. */
void ti_command_replay_begin(ti_command_graph *graph, const ti_task *task, const ti_command_shape *known);
/* Emit what is known; or record what has been emitted (`became`, `transfer`), if it is wanted. */
void ti_command_replay_transfers(ti_command_graph *graph, const ti_task *task, const ti_command_use *use);
void ti_command_replay_record(ti_command_graph *graph, const ti_task *task, const ti_command_use *use);
void ti_command_replay_end(const ti_task *task, const ti_command_shape *known);
/* Whether lookahead has nothing to wait for, as far as this buffer goes. */
bool ti_command_replay_passes(ti_command_graph *graph, const ti_task *task, const ti_buffer_info *buffer);

/* multicast.c */
void ti_command_multicast_init(ti_command_graph *graph);
void ti_command_multicast_fini(ti_command_graph *graph);
/* Whether the task waits in the window from now on; if not, it goes ahead. */
bool ti_command_multicast_waits(ti_command_graph *graph, const ti_task *task);
/* The next task that has waited long enough, or NULL; `all`: they all have. */
const ti_task *ti_command_multicast_next(ti_command_graph *graph, bool all);
/* The task is about to be planned: send what it is the first to read. */
void ti_command_multicast(ti_command_graph *graph, const ti_task *task);

/* placed.c: whether it concerns other nodes only; then the versions know of it. At once: if nothing waits at all. */
bool ti_command_passes_by(ti_command_graph *graph, const ti_task *task);
bool ti_command_passes_at_once(ti_command_graph *graph, const ti_task *task); /* looked at once only */
bool ti_command_brief_passes(ti_command_graph *graph, const ti_task *brief);

#endif
