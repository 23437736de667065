/* Kernels in CUDA C, compiled by NVRTC. Executor role. */
#ifndef TI_CUDA_PROGRAM_H
#define TI_CUDA_PROGRAM_H

#include "device/cuda/session.h"
#include "device/kernel_text.h"

/* What every program begins with. */
extern const char *const ti_cuda_prelude;

/* The machine code of a task's kernel for a GPU of this capability. False, and the run has failed, if it does not
 * compile. */
bool ti_cuda_compile(ti_cuda_session *session, const ti_cuda_context *context, const ti_device_kernel *job, int dims,
                     ti_strbuf *out);

#endif
