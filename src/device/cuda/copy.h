/* Giving a copy to a stream: within a GPU, between two of a session, or from and to pinned memory of the host. Executor
 * role. */
#ifndef TI_CUDA_COPY_H
#define TI_CUDA_COPY_H

#include "device/cuda/session.h"

/* In the context, in as few calls as can be. Runs and counts of both blocks are equal (ti_layout_match). */
ti_cu_result ti_cuda_give_copy(const ti_cuda_session *session, const ti_cuda_context *context, ti_cu_stream stream,
                               const ti_block *to, const ti_block *from);

#endif
