/* tacit/cuda.h: CUDA's types, for kernels that are functions (.kernel.cuda.launch).
 *
 * Needs cuda.h of the toolkit. tacit.h does not include it. */
#ifndef TACIT_CUDA_H
#define TACIT_CUDA_H

#include "tacit/view.h"

#include <cuda.h>

TACIT_C_BEGIN_

/* The stream that the function is given; it is also a cudaStream_t of the run-time library.
 *
 *   thread  any */
static inline CUstream tacit_cuda_stream(void *stream) { return (CUstream)stream; }

/* Where the view's first element is, in the memory of the device; 0 if there is nothing.
 *
 *   thread  any */
static inline CUdeviceptr tacit_cuda_address(const tacit_view *v) { return (CUdeviceptr)(size_t)v->data; }

TACIT_C_END_
#endif
