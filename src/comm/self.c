/* The communicator of a run with one node, and of a dry run, which plans as one node of many: see comm.h.
 *
 * There is nobody to talk to: with one node planners make no message, and a dry run's executor starts none. One that is
 * started nevertheless is a bug and ends the process. Barriers are kept in the order of their start and all complete at
 * the next poll. Called by one thread at a time. */
#include "base/check.h"
#include "base/vec.h"
#include "comm/comm.h"

#include <stdlib.h>
#include <string.h>

typedef struct self_comm {
    ti_comm comm;
    TI_VEC(uint64_t) barriers;
} self_comm;

static void self_destroy(ti_comm *comm)
{
    self_comm *self = (self_comm *)comm;
    ti_vec_fini(&self->barriers);
    TI_DELETE(self);
}

static void self_transfer(ti_comm *comm, int peer, uint64_t counter, const ti_payload *payload, uint64_t token)
{
    (void)comm, (void)peer, (void)counter, (void)payload, (void)token;
    TI_UNREACHABLE();
}

static void self_collective(ti_comm *comm, const ti_exchange *x, uint64_t token)
{
    (void)comm, (void)x, (void)token;
    TI_UNREACHABLE();
}

static void self_barrier(ti_comm *comm, uint64_t token)
{
    self_comm *self = (self_comm *)comm;
    ti_vec_push(&self->barriers, token);
    comm->pending++;
}

static int64_t self_sum(ti_comm *comm, int64_t value)
{
    return value * comm->num_nodes; /* a dry run: the others are taken to be like this one */
}

static int self_poll(ti_comm *comm, uint64_t *tokens, int max)
{
    self_comm *self = (self_comm *)comm;
    if (!comm->pending || max <= 0) {
        return 0;
    }
    TI_ASSERT(comm->pending == self->barriers.count);
    size_t n = TI_MIN(self->barriers.count, (size_t)max);
    memcpy(tokens, self->barriers.data, n * sizeof(*tokens));
    self->barriers.count -= n;
    memmove(self->barriers.data, self->barriers.data + n, self->barriers.count * sizeof(*tokens));
    comm->pending -= n;
    return (int)n;
}

/* Exit handlers are skipped: they might wait for threads that will never answer. */
static void self_abort(ti_comm *comm, const char *why)
{
    (void)comm, (void)why;
    _Exit(EXIT_FAILURE);
}

#define OPS(called)                                                                                                    \
    {                                                                                                                  \
        .name = (called), .destroy = self_destroy, .send = self_transfer, .receive = self_transfer,                    \
        .collective = self_collective, .barrier = self_barrier, .sum = self_sum, .poll = self_poll,                    \
        .abort = self_abort                                                                                            \
    }

static const ti_comm_ops self_ops = OPS("self"), dry_ops = OPS("dry");

ti_comm *ti_comm_self_create(void)
{
    return ti_comm_dry_create(0, 1);
}

ti_comm *ti_comm_dry_create(int node, int num_nodes)
{
    TI_ASSERT(node >= 0 && node < num_nodes);
    self_comm *self = TI_NEW(self_comm);
    self->comm.ops = num_nodes > 1 ? &dry_ops : &self_ops;
    self->comm.node = node;
    self->comm.num_nodes = num_nodes;
    self->comm.local_nodes = 1;
    self->comm.sharing = 1;
    return &self->comm;
}
