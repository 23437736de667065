/* Creating a communicator over MPI: see comm/comm.h for the calls, state.h for what is filled in.
 *
 * start.c says on which processes. Then all of them together duplicate MPI's communicator, once for each purpose
 * (messages, collectives, kernels, broadcasts), compare their settings, and measure collectives if they are asked to.
 * Each call waits for all processes. The thread that creates the context. */
#include "base/check.h"
#include "comm/mpi/guard.h"
#include "comm/mpi/machine.h"
#include "comm/mpi/measure.h"
#include "comm/mpi/settings.h"
#include "comm/mpi/start.h"
#include "comm/mpi/state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef ti_mpi_state mpi_comm;

/* Of reductions as messages (comm/combining.h): what comes from all nodes for one step, the least from one of them, and
 * what is sent to everybody. Of broadcasts: what is forwarded while the next comes. */
enum { SEGMENTS = 1 << 20, SEGMENT = 64 * 1024, WHOLE = 32 * 1024 };

static bool open_communicator(mpi_comm *self, MPI_Comm parent)
{
    ti_comm *comm = &self->comm;
    int *largest = NULL, has_largest = 0;
    if (!TI_MPI_CALLED(self, MPI_Comm_dup, parent, &self->mpi) ||
        !TI_MPI_CALLED(self, MPI_Comm_set_errhandler, self->mpi, MPI_ERRORS_RETURN) ||
        !TI_MPI_CALLED(self, MPI_Comm_rank, self->mpi, &comm->node) ||
        !TI_MPI_CALLED(self, MPI_Comm_size, self->mpi, &comm->num_nodes) ||
        !TI_MPI_CALLED(self, MPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &largest, &has_largest)) {
        return false;
    }
    self->tags = (has_largest ? (uint64_t)*largest : 32767u) + 1; /* what the standard guarantees */
    return true;
}

/* Now, since all nodes are here. Errors are the kernels' business: reported as the application has it, or as MPI does
 * if nobody says. */
static bool open_kernels_communicator(mpi_comm *self, MPI_Comm parent)
{
    return TI_MPI_CALLED(self, MPI_Comm_dup, parent, &self->kernels) &&
           (!self->finalizes || TI_MPI_CALLED(self, MPI_Comm_set_errhandler, self->kernels, MPI_ERRORS_ARE_FATAL));
}

static bool open_collectives(mpi_comm *self, int schedule)
{
    ti_mpi_collectives *shared = &self->shared;
    if (!TI_MPI_CALLED(self, MPI_Comm_dup, self->mpi, &self->collectives)) {
        return false;
    }
    self->combining =
        (ti_combining){ .send = ti_mpi_send_combining,
                        .receive = ti_mpi_receive_combining,
                        .send_at_once = ti_mpi_send_combining_at_once,
                        .receive_at_once = ti_mpi_receive_combining_at_once,
                        .comm = self,
                        .node = self->comm.node,
                        .segment = TI_MAX(SEGMENTS / (size_t)TI_MAX(self->comm.num_nodes - 1, 1), (size_t)SEGMENT),
                        .whole = WHOLE };
    const bool near = self->near.peer.count + 1 == (size_t)self->comm.num_nodes;
    int code = ti_mpi_collectives_init(shared, self->collectives, self->comm.node, self->comm.num_nodes, schedule,
                                       near);
    bool measures = schedule == TACIT_COLLECTIVE_SCHEDULE_MEASURE && self->comm.num_nodes > 1;
    return ti_mpi_succeeded(self, code, shared->call) && (!measures || ti_mpi_measure(&self->comm, &shared->choice));
}

/* The fewest nodes with a relay: a chain of a root and two recipients. */
enum { RELAY_NODES = 3 };

static bool open_relays(mpi_comm *self, const ti_comm_settings *settings)
{
    const ti_tree tree = ti_tree_of_setting(settings->broadcast, self->comm.local_nodes == self->comm.num_nodes);
    self->relay = (ti_relay){ .ops = &ti_mpi_relay_ops,
                              .comm = self,
                              .node = self->comm.node,
                              .tree = tree,
                              .limit = settings->relay_bytes,
                              .segment = TI_RELAY_SEGMENT,
                              .stats = &self->comm.stats.relay,
                              .tap = &self->comm.tap };
    return self->comm.num_nodes < RELAY_NODES || tree == TI_TREE_FLAT ||
           TI_MPI_CALLED(self, MPI_Comm_dup, self->mpi, &self->relays);
}

static bool compare_settings(mpi_comm *self, const char *text)
{
    const char *call = "";
    if (self->comm.num_nodes == 1 || !text) {
        return true;
    }
    int code = ti_mpi_compare_settings(self->mpi, self->comm.node, text, &call);
    return ti_mpi_succeeded(self, code, call);
}

/* An extension, which Open MPI and MPICH have: their headers differ, and not every build declares it. */
static bool takes_cuda_addresses(void)
{
    int (*query)(void) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&query, &found, sizeof(found));
    return query && query() == 1;
}

static tacit_status create(const ti_mpi_start *start, const ti_comm_settings *settings, ti_comm **out, char *why,
                           size_t why_size)
{
    mpi_comm *self = TI_NEW(mpi_comm);
    self->comm.ops = &ti_mpi_ops;
    self->comm.threads = start->threads;
    self->comm.thread_level = start->level;
    self->mpi = self->kernels = self->collectives = self->relays = MPI_COMM_NULL;
    for (int i = 0; i < TACIT_MAX_COLLECTIVE_GROUPS; i++) {
        self->group[i] = MPI_COMM_NULL;
    }
    self->direct = (ti_direct){ .send = ti_mpi_send_part, .receive = ti_mpi_receive_part };
    self->finalizes = start->finalizes;
    self->early_bytes = settings->early_bytes;
    self->comm.reaches_cuda = takes_cuda_addresses();
    ti_mpi_types_init(&self->types);
    bool ok = open_communicator(self, start->parent) && compare_settings(self, settings->text) &&
              ti_mpi_machine_open(self, settings) && open_kernels_communicator(self, start->parent) &&
              open_collectives(self, settings->schedule) && open_relays(self, settings);
    ti_mpi_guard_arm(self->comm.node);
    *out = ok ? &self->comm : NULL;
    if (!ok) {
        snprintf(why, why_size, "%s", self->error);
        ti_mpi_destroy(&self->comm);
    }
    return ok ? TACIT_OK : TACIT_ERROR_NETWORK;
}

ti_comm *ti_comm_mpi_create(const ti_comm_settings *settings, char *why, size_t why_size)
{
    ti_mpi_start start;
    ti_comm *comm = NULL;
    if (ti_mpi_start_world(&start, why, why_size)) {
        (void)create(&start, settings, &comm, why, why_size);
    } else if (!start.over) {
        ti_mpi_guard_arm(-1); /* others may wait for this process */
    }
    return comm;
}

tacit_status ti_comm_mpi_adopt(const tacit_mpi_comm *given, const ti_comm_settings *settings, ti_comm **out, char *why,
                               size_t why_size)
{
    ti_mpi_start start;
    tacit_status status = ti_mpi_start_on(given, &start, why, why_size);
    *out = NULL;
    return status == TACIT_OK ? create(&start, settings, out, why, why_size) : status;
}
