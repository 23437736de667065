/* The nodes of one machine: see machine.h.
 *
 * Each node has the mailboxes of what comes to it, one for each other node, in memory that it creates; the others open
 * that by its name. */
#include "comm/mpi/machine.h"

#include "base/check.h"
#include "base/cores.h"
#include "base/log.h"

/* Which cores each of the nodes of this machine may use. */
static bool compare_cores(ti_mpi_state *self, MPI_Comm machine)
{
    ti_comm *comm = &self->comm;
    ti_cores *of = TI_NEW_ARRAY(ti_cores, (size_t)comm->local_nodes);
    ti_cores mine;
    ti_cores_of_process(&mine);
    bool good = TI_MPI_CALLED(self, MPI_Allgather, &mine, sizeof(mine), MPI_BYTE, of, sizeof(mine), MPI_BYTE, machine);
    if (good) {
        comm->sharing = ti_cores_sharing(of, comm->local_nodes, comm->local_node, &comm->sharing_before);
    }
    ti_free(of, (size_t)comm->local_nodes * sizeof(*of));
    return good;
}

/* What a node tells the others. */
typedef struct neighbour {
    ti_shared_name name; /* of the memory where its mailboxes are */
    int64_t node;
    uint64_t bytes; /* the longest message that it sends so: one of those that the limit of early bytes counts */
} neighbour;

static size_t size_for(int nodes)
{
    return TI_SHARED_HEAD + ((size_t)nodes - 1) * sizeof(ti_mailbox_memory);
}

/* Node `from`'s mailbox in the memory of node `to`. */
static ti_mailbox mailbox(const ti_shared *memory, int to, int from)
{
    ti_mailbox_memory *first = (ti_mailbox_memory *)(void *)(memory->at + TI_SHARED_HEAD);
    return ti_mailbox_on(first + from - (from > to));
}

/* False: this node cannot have the memory of one of them. */
static bool attach(ti_mpi_state *self, const neighbour *all)
{
    ti_near *near = &self->near;
    const int n = self->comm.local_nodes, me = self->comm.local_node;
    near->parcels = &self->parcels;
    near->messages = &self->comm.stats.messages_near;
    near->limit = TI_NEAR_BYTES;
    for (int i = 0; i < n; i++) {
        near->limit = TI_MIN(near->limit, all[i].bytes);
        if (i != me) {
            self->memory[i] = ti_shared_attach(&all[i].name);
        }
        if (!self->memory[i].at) {
            return false;
        }
        if (i != me) {
            TI_ASSERT(i == 0 || all[i - 1].node < all[i].node);
            ti_vec_push(&near->peer, ((ti_near_peer){ .node = (int)all[i].node,
                                                      .in = mailbox(&self->memory[me], me, i),
                                                      .out = mailbox(&self->memory[i], i, me) }));
        }
    }
    return true;
}

void ti_mpi_machine_close(ti_mpi_state *self)
{
    ti_near_fini(&self->near);
    for (int i = 0; self->memory && i < self->comm.local_nodes; i++) {
        ti_shared_fini(&self->memory[i]);
    }
    ti_free(self->memory, (size_t)self->comm.local_nodes * sizeof(*self->memory));
    self->memory = NULL;
}

static bool open_mailboxes(ti_mpi_state *self, MPI_Comm machine, bool wanted)
{
    ti_comm *comm = &self->comm;
    const size_t n = (size_t)comm->local_nodes;
    neighbour mine = { .node = comm->node, .bytes = self->early_bytes / 2 }, *all = TI_NEW_ARRAY(neighbour, n);
    self->memory = TI_NEW_ARRAY(ti_shared, n);
    for (size_t i = 0; i < n; i++) {
        self->memory[i].file = -1;
    }
    ti_shared *own = &self->memory[comm->local_node];
    if (wanted && mine.bytes) {
        mine.bytes--;
        *own = ti_shared_create(size_for(comm->local_nodes), &mine.name);
    }
    bool called = TI_MPI_CALLED(self, MPI_Allgather, &mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE,
                                machine);
    int have = called && attach(self, all), all_have = 0;
    called = called && TI_MPI_CALLED(self, MPI_Allreduce, &have, &all_have, 1, MPI_INT, MPI_MIN, machine);
    ti_free(all, n * sizeof(*all));
    ti_shared_close_file(own);
    if (!all_have) {
        ti_mpi_machine_close(self);
        ti_log(TI_LOG_INFO, "messages between nodes of this machine go by MPI: %s",
               wanted ? "they share no memory, or one of them has TACIT_LOCAL_MESSAGES=mpi"
                      : "TACIT_LOCAL_MESSAGES=mpi");
    }
    return called;
}

bool ti_mpi_machine_open(ti_mpi_state *self, bool near)
{
    ti_comm *comm = &self->comm;
    MPI_Comm machine = MPI_COMM_NULL;
    if (!TI_MPI_CALLED(self, MPI_Comm_split_type, self->mpi, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) ||
        !TI_MPI_CALLED(self, MPI_Comm_size, machine, &comm->local_nodes) ||
        !TI_MPI_CALLED(self, MPI_Comm_rank, machine, &comm->local_node) || !compare_cores(self, machine)) {
        return false;
    }
    TI_ASSERT(comm->local_nodes >= 1 && comm->local_nodes <= comm->num_nodes);
    return (comm->local_nodes == 1 || open_mailboxes(self, machine, near)) &&
           TI_MPI_CALLED(self, MPI_Comm_free, &machine);
}
