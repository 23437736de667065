/* The communicator that kernels may use (tacit/mpi.h). Any thread. */
#include "api/context.h"
#include "base/log.h"

#include <string.h>

bool tacit_launch_communicator_sized(const tacit_launch *launch, const tacit_mpi_comm *out)
{
    ti_strbuf why = { 0 };
    const void *communicator = ti_runtime_communicator(launch->context->runtime, launch, out, &why);
    if (communicator) {
        memcpy(out->address, communicator, out->size);
    } else if (why.length) {
        /* Now, in case MPI ends the process because of a communicator that is none. */
        ti_log(TI_LOG_ERROR, "task '%s': %s", launch->name, why.text);
        tacit_kernel_fail(launch, "%s", why.text);
    }
    ti_strbuf_fini(&why);
    return communicator != NULL;
}
