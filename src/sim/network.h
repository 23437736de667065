/* What simulated nodes do with messages: the network itself, its progress, the limit on early bytes, broadcasts. Not
 * for others than the simulator. One thread. */
#ifndef TI_SIM_NETWORK_H
#define TI_SIM_NETWORK_H

#include "sim/impl.h"

/* Messages: sim/wire.c. */
void ti_sim_send(ti_cluster *c, int from, int to, uint64_t key, double bytes, uint64_t sender);
/* It asks first, however short it is. */
void ti_sim_send_asking(ti_cluster *c, int from, int to, uint64_t key, double bytes, uint64_t sender);
void ti_sim_receive(ti_cluster *c, int to, uint64_t key, uint64_t receiver, bool combines);
/* Take back a receive that is posted, and not met by its message. False: it is not. */
bool ti_sim_withdraw(ti_cluster *c, int to, uint64_t key, uint64_t *receiver);
/* A message of the plan, in the counts of the report. */
void ti_sim_count(ti_cluster *c, int from, int to, double bytes, bool paired);
/* The token of the side that is done with its message by this event; 0: none. */
uint64_t ti_sim_wire_event(ti_cluster *c, const ti_event *event);

/* Who looks after messages while kernels run: sim/progress.c.
 * The executor's thread is used for `ns`. Returns the end. */
double ti_sim_use_executor(const ti_cluster *c, node *n, double ns);
/* Inline, the thread that does this is used until then. */
void ti_sim_keep_thread(const ti_cluster *c, node *n, double until);
/* Nobody looks after messages, since all that could are in kernels. */
bool ti_sim_is_away(const ti_cluster *c, const node *n);
/* The node sends a message, or posts a receive. */
void ti_sim_call_attendant(const ti_cluster *c, node *n);
/* Whether the event has to wait until somebody looks; then it is kept, with its chain. */
bool ti_sim_put_off(ti_cluster *c, const ti_event *event);

/* Messages that may have to wait for the limit on early bytes: sim/early.c. */
void ti_sim_send_early(ti_cluster *c, node *n, int to, uint64_t counter, double bytes, uint64_t token);
void ti_sim_point_passed(ti_cluster *c, node *n, size_t peer);
void ti_sim_fini_early(node *n);
/* How a message of an instruction is known: by its origin and its number among those from there. */
static inline uint64_t ti_sim_key(int origin, uint64_t counter)
{
    return (uint64_t)origin << 40 | counter;
}

/* Messages of instructions, and broadcasts: sim/transfer.c. */
void ti_sim_open_relay(ti_cluster *c, node *n, const ti_cluster_desc *desc);
void ti_sim_fini_relay(node *n);
void ti_sim_free_frames(ti_cluster *c);
void ti_sim_start_send(ti_cluster *c, node *n, const ti_instruction *send);
void ti_sim_start_receive(ti_cluster *c, node *n, const ti_instruction *receive);
/* Sends that wait in the outbox leave. */
void ti_sim_empty_outbox(ti_cluster *c, node *n);
/* A frame has come, or a segment is gone or has come. */
void ti_sim_relay_message(ti_cluster *c, node *n, uint64_t token);

/* Records of what a relay passes on (note.c). */
uint64_t ti_sim_note_clock(const ti_cluster *c);
void ti_sim_note_relayed(node *n, const ti_relayed *what);

#endif
