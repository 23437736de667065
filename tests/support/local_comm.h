/* Many nodes in one process: the network of the tests.
 *
 * A hub holds a mailbox per ordered pair of nodes. Messages up to `eager` bytes are copied at send and complete at
 * once, others are copied when both sides are there. With a seed, deliveries are delayed and reordered at random, to
 * shake out orders that a real network would show. Every endpoint may be polled by its own thread. */
#ifndef TEST_LOCAL_COMM_H
#define TEST_LOCAL_COMM_H

#include "comm/comm.h"

typedef struct local_hub local_hub;

local_hub *local_hub_create(int num_nodes, size_t eager, size_t early_bytes, uint64_t shake_seed /* 0: none */);
void local_hub_destroy(local_hub *hub); /* after all its endpoints */
/* Each endpoint is created by a thread of its own, so that sums wait for all nodes from the start. */
void local_hub_set_threaded(local_hub *hub);
ti_comm *local_comm_create(local_hub *hub, int node);

#endif
