/* The communicator for kernels: see kernel_communicator.h. */
#include "run/kernel_communicator.h"

const void *ti_kernel_communicator(const ti_comm *comm, bool is_inline, const tacit_launch *launch,
                                   const tacit_mpi_comm *like, ti_strbuf *why)
{
    const void *found = NULL;
    if (launch->on != TACIT_ON_EVERY_NODE) {
        ti_strbuf_add(why, "tacit_launch_communicator: only tasks on every node may wait for other nodes; set .on = "
                           "TACIT_ON_EVERY_NODE");
    } else if (!comm->ops->communicator) {
        return NULL;
    } else if (comm->threads != TI_COMM_THREADS_ALL && !is_inline) {
        ti_strbuf_add(why,
                      "tacit_launch_communicator: this MPI grants %s only, so a kernel may not call it while tacit "
                      "does; set TACIT_THREADS=0",
                      comm->thread_level);
    } else if (!(found = comm->ops->communicator(comm, like, launch->group))) {
        ti_strbuf_add(why,
                      "tacit_launch_communicator: the program is compiled with another MPI than tacit, which has "
                      "%s; compile it with that one",
                      ti_comm_mpi_library());
    }
    return found;
}
