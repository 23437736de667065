/* Which communicator of the network's library a kernel may use, or why none. Any thread. */
#ifndef TI_KERNEL_COMMUNICATOR_H
#define TI_KERNEL_COMMUNICATOR_H

#include "base/strbuf.h"
#include "comm/comm.h"

/* See ti_runtime_communicator. */
const void *ti_kernel_communicator(const ti_comm *comm, bool is_inline, const tacit_launch *launch,
                                   const tacit_mpi_comm *like, ti_strbuf *why);

#endif
