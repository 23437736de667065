/* Giving a task's kernel to a stream. Executor role. */
#ifndef TI_CUDA_LAUNCH_H
#define TI_CUDA_LAUNCH_H

#include "device/cuda/session.h"

/* In the context. False: the run has failed, with a sentence of its own; else `code` is what the driver says. */
bool ti_cuda_give_kernel(ti_cuda_session *session, const ti_cuda_context *context, ti_cu_stream stream,
                         const ti_device_kernel *job, ti_cu_result *code);

#endif
