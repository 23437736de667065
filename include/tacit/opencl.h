/* tacit/opencl.h: OpenCL's objects, for kernels that are functions (.kernel.opencl.launch).
 *
 * Needs OpenCL's headers. tacit.h does not include it. */
#ifndef TACIT_OPENCL_H
#define TACIT_OPENCL_H

#include "tacit/view.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

TACIT_C_BEGIN_

/* What such a function is called with, beside the launch. Everything in it belongs to tacit and is valid during
 * the call; a program or kernel of one's own may be kept for the next call, as the context stays the same until
 * tacit_finalize. */
struct tacit_opencl {
    cl_command_queue queue; /* in order; what is put into it is what tacit waits for */
    cl_context context;     /* of all OpenCL devices of the node */
    cl_device_id device;
    /* For each view: its memory, and where in it the view's first element is. `data` of the view is no
     * address, but for being NULL where there is nothing. */
    const cl_mem *memory;
    const size_t *offset; /* bytes */
};

TACIT_C_END_
#endif
