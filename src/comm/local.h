/* Many nodes in one process: the network of the tests, and of anything that wants several contexts to talk.
 *
 * A hub holds a mailbox per ordered pair of nodes. Messages up to `eager` bytes are copied at send and complete at once, others are copied when both
 * sides are there. With a seed, deliveries are delayed and reordered at random, to shake out orders that a real network would show.
 * Every endpoint may be polled by its own thread. */
#ifndef TI_COMM_LOCAL_H
#define TI_COMM_LOCAL_H

#include "comm/comm.h"

typedef struct ti_comm_hub ti_comm_hub;

ti_comm_hub *ti_comm_hub_create(int num_nodes, size_t eager, size_t early_bytes, uint64_t shake_seed /* 0: none */);
void ti_comm_hub_destroy(ti_comm_hub *hub); /* after all its endpoints */
ti_comm *ti_comm_local_create(ti_comm_hub *hub, int node);

#endif
