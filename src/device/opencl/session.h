/* What the OpenCL devices of a node have in common: the library, the context, where memory lies, compiled kernels.
 *
 * A piece of memory is a cl_mem, but tacit knows memory by addresses. So each gets a range of addresses that nothing is
 * mapped to: an address in it is the cl_mem and an offset, and whoever touches it by mistake is stopped by the system.
 * Executor role, but for creation and the end. */
#ifndef TI_OPENCL_SESSION_H
#define TI_OPENCL_SESSION_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS

#include "device/accelerator/accelerator.h"
#include "device/kernel_text.h"
#include "device/opencl.h"
#include "tacit/opencl.h"

#include <CL/cl.h>

/* All that is called of the library. */
#define TI_OPENCL_FUNCTIONS(X)                                                                                         \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetPlatformInfo)                                                                                               \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clCreateSubDevices)                                                                                              \
    X(clReleaseDevice)                                                                                                 \
    X(clCreateContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clReleaseCommandQueue)                                                                                           \
    X(clCreateBuffer)                                                                                                  \
    X(clReleaseMemObject)                                                                                              \
    X(clCreateProgramWithSource)                                                                                       \
    X(clCreateProgramWithBinary)                                                                                       \
    X(clGetProgramInfo)                                                                                                \
    X(clBuildProgram)                                                                                                  \
    X(clGetProgramBuildInfo)                                                                                           \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clGetKernelInfo)                                                                                                 \
    X(clSetKernelArg)                                                                                                  \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clEnqueueMarkerWithWaitList)                                                                                     \
    X(clEnqueueReadBufferRect)                                                                                         \
    X(clEnqueueWriteBufferRect)                                                                                        \
    X(clEnqueueCopyBufferRect)                                                                                         \
    X(clFlush)                                                                                                         \
    X(clFinish)                                                                                                        \
    X(clGetEventInfo)                                                                                                  \
    X(clWaitForEvents)                                                                                                 \
    X(clReleaseEvent)

#define TI_OPENCL_MEMBER(function) __typeof__(&(function)) function;
typedef struct ti_opencl_api {
    TI_OPENCL_FUNCTIONS(TI_OPENCL_MEMBER)
} ti_opencl_api;

/* A kernel for ranges of `dims` dimensions, for all devices of the session. */
typedef struct ti_opencl_kernel {
    const char *source, *entry;
    int dims;
    cl_program program;
    cl_kernel kernel;
    cl_uint parameters;
} ti_opencl_kernel;

typedef struct ti_opencl_session {
    ti_session base; /* addresses of memory are those of nothing, handles are cl_mem */
    ti_opencl_api cl;
    cl_context context;
    TI_VEC(cl_device_id) device; /* of the context, each once */
    TI_VEC(cl_device_id) made;   /* sub-devices, to be released */
    TI_VEC(ti_opencl_kernel) kernel;
} ti_opencl_session;

/* The devices of the names are left in `out`; `cache` is TACIT_KERNEL_CACHE, or NULL. The caller is its first user.
 * NULL and a sentence in `why` if they are not to be had. */
ti_opencl_session *ti_opencl_session_create(const ti_opencl_name *name, int count, const char *cache,
                                            ti_failure *failure, cl_device_id *out, ti_strbuf *why);
void ti_opencl_session_leave(ti_opencl_session *session);

/* TACIT_ERROR_MEMORY if there is none. */
tacit_status ti_opencl_memory_create(ti_opencl_session *session, size_t bytes, void **out);
void ti_opencl_memory_destroy(ti_opencl_session *session, void *address);

/* The compiled kernel of a task. NULL, and the run has failed, if it does not compile. The session keeps it. */
const ti_opencl_kernel *ti_opencl_kernel_of(ti_opencl_session *session, const ti_device_kernel *job);
void ti_opencl_kernels_fini(ti_opencl_session *session);

/* CL_INVALID_VALUE, for instance. */
const char *ti_opencl_error_name(cl_int code);

/* What every program begins with. */
extern const char *const ti_opencl_prelude;

#endif
