/* Whether all nodes submit the same: found out while the run goes on, and the first difference is named.
 *
 * Every submission (ir/submission.h) is put into a ring and into a running sum (a hash of all so far). At every
 * 64th submission, a function of the count alone, a node *tells* its right neighbour (node + 1) its
 * sum there; the neighbour compares it with its own at the same submission, when it gets there. If not all nodes agree,
 * two neighbours do not. So a node sends and receives one note per window, whatever the number of nodes, and nobody
 * waits.
 *
 * A node that waits for long also tells where it stands, and *asks* its left neighbour for the sum at its own last
 * submission: so a program that hangs because nodes submit different tasks is found too. In tacit_finalize nodes
 * compare their whole sequences and wait until their neighbours have; the barrier that follows is passed by nobody if
 * some differ.
 *
 * When sums differ, the right neighbour searches for the first difference by asking for the sums in between, freezes
 * both rings, and says what both have submitted there. A node that is very far ahead remembers sums only, at multiples
 * of powers of the window; then the difference is found, but may not be named.
 *
 * Threads: note, idle and finish: application thread; turn: executor role; the lock orders them. Only with several
 * nodes. */
#ifndef TI_AGREEMENT_H
#define TI_AGREEMENT_H

#include "base/failure.h"
#include "base/strbuf.h"
#include "comm/comm.h"
#include "ir/submission.h"

typedef struct ti_agreement ti_agreement;

/* All nodes. NULL if there is one node, the network has no notes or has failed (stats.error), or a node does not want
 * it. */
ti_agreement *ti_agreement_create(ti_comm *comm, const tacit_config *config);
void ti_agreement_destroy(ti_agreement *agreement);

void ti_agreement_note(ti_agreement *agreement, const ti_task *task);
/* A task whose arguments are not compared, like `as` but for its id: it is noted when there is time, or somebody asks.
 * `as` stays as it is until ti_agreement_catch_up. */
void ti_agreement_note_later(ti_agreement *agreement, const ti_task *as, uint64_t id);
void ti_agreement_catch_up(ti_agreement *agreement);
void ti_agreement_note_call(ti_agreement *agreement, ti_submission_kind kind, uint64_t number, uint64_t bytes,
                            unsigned properties);
/* Whether the application thread has been waiting for a while. */
void ti_agreement_idle(ti_agreement *agreement, bool idle);
/* The program ends: nothing that comes now counts. */
void ti_agreement_finish(ti_agreement *agreement);

/* To be called after every step of the executor, which was `busy` or found nothing to do: now and then send, receive
 * and compare what there is. Nodes that differ, and a network that fails, are a failure; its lot is woken then, and
 * when neighbours have settled. Executor role. */
void ti_agreement_turn(ti_agreement *agreement, bool busy, ti_failure *failure);

/* A message of a wrong length, which nodes that submit different tasks get, is looked into: false if that took too
 * long, or there is no agreement. Executor role. */
bool ti_agreement_explains(void *agreement);

/* After ti_agreement_finish: whether the neighbours agree and know it. Any thread. */
bool ti_agreement_is_settled(const ti_agreement *agreement);
/* Whether an answer is expected soon, so that sleeping long would delay it. Any thread. */
bool ti_agreement_is_busy(const ti_agreement *agreement);

/* Append how far the neighbours are, as far as they are known to be. Executor role. */
void ti_agreement_describe(ti_agreement *agreement, ti_strbuf *out);

#endif
