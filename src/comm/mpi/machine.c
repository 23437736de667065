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
static bool attach(ti_mpi_state *self, const neighbour *all, int n, int me)
{
    ti_near *near = &self->near;
    near->parcels = &self->parcels;
    near->messages = &self->comm.stats.messages_near;
    near->limit = TI_NEAR_BYTES;
    for (int i = 0; i < n; i++) {
        near->limit = TI_MIN(near->limit, all[i].bytes);
        if (i != me) {
            self->memory.data[i] = ti_shared_attach(&all[i].name);
        }
        if (!self->memory.data[i].at) {
            return false;
        }
        if (i != me) {
            TI_ASSERT(i == 0 || all[i - 1].node < all[i].node);
            ti_vec_push(&near->peer, ((ti_near_peer){ .node = (int)all[i].node,
                                                      .in = mailbox(&self->memory.data[me], me, i),
                                                      .out = mailbox(&self->memory.data[i], i, me) }));
        }
    }
    return true;
}

void ti_mpi_machine_close(ti_mpi_state *self)
{
    ti_near_fini(&self->near);
    for (size_t i = 0; i < self->memory.count; i++) {
        ti_shared_fini(&self->memory.data[i]);
    }
    ti_vec_fini(&self->memory);
}

/* All nodes of `machine`, of which there are several. */
static bool open_mailboxes(ti_mpi_state *self, MPI_Comm machine, bool wanted)
{
    int n = 0, me = 0;
    if (!TI_MPI_CALLED(self, MPI_Comm_size, machine, &n) || !TI_MPI_CALLED(self, MPI_Comm_rank, machine, &me)) {
        return false;
    }
    neighbour mine = { .node = self->comm.node, .bytes = self->early_bytes / 2 };
    neighbour *all = TI_NEW_ARRAY(neighbour, (size_t)n);
    for (int i = 0; i < n; i++) {
        ti_vec_push(&self->memory, (ti_shared){ .file = -1 });
    }
    if (wanted && mine.bytes && n > 1) {
        mine.bytes--;
        self->memory.data[me] = ti_shared_create(size_for(n), &mine.name);
    }
    bool called = TI_MPI_CALLED(self, MPI_Allgather, &mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE,
                                machine);
    int have = called && attach(self, all, n, me), all_have = 0;
    called = called && TI_MPI_CALLED(self, MPI_Allreduce, &have, &all_have, 1, MPI_INT, MPI_MIN, machine);
    ti_free(all, (size_t)n * sizeof(*all));
    ti_shared_close_file(&self->memory.data[me]);
    if (!all_have) {
        ti_mpi_machine_close(self);
        ti_log(TI_LOG_INFO, "messages between nodes of this machine go by MPI: %s",
               wanted ? "they share no memory, or one of them has TACIT_LOCAL_MESSAGES=mpi"
                      : "TACIT_LOCAL_MESSAGES=mpi");
    }
    return called;
}

static bool open_groups(ti_mpi_state *self, MPI_Comm machine, const ti_comm_settings *settings)
{
    MPI_Comm group;
    return TI_MPI_CALLED(self, MPI_Comm_split, machine, self->comm.local_node % settings->near_groups, 0, &group) &&
           open_mailboxes(self, group, !settings->no_near) && TI_MPI_CALLED(self, MPI_Comm_free, &group);
}

bool ti_mpi_machine_open(ti_mpi_state *self, const ti_comm_settings *settings)
{
    ti_comm *comm = &self->comm;
    MPI_Comm machine = MPI_COMM_NULL;
    if (!TI_MPI_CALLED(self, MPI_Comm_split_type, self->mpi, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) ||
        !TI_MPI_CALLED(self, MPI_Comm_size, machine, &comm->local_nodes) ||
        !TI_MPI_CALLED(self, MPI_Comm_rank, machine, &comm->local_node) || !compare_cores(self, machine)) {
        return false;
    }
    TI_ASSERT(comm->local_nodes >= 1 && comm->local_nodes <= comm->num_nodes);
    bool opened = comm->local_nodes == 1 || (settings->near_groups ? open_groups(self, machine, settings)
                                                                   : open_mailboxes(self, machine, !settings->no_near));
    return opened && TI_MPI_CALLED(self, MPI_Comm_free, &machine);
}
