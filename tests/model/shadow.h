/* OpenCL and CUDA devices for random programs, whose kernels are C functions: memory, copies, events and everything
 * that the planner knows are the devices'; a kernel runs here, on copies of what its views show.
 *
 * The program is linked with --wrap=ti_opencl_create and ti_cuda_create. CUDA devices are those of tests/cuda, if its
 * driver is in the path; then there are no others. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stdint.h>

/* "opencl" or "cuda": whose device 0 is there; NULL: there is none. */
const char *shadow_kind(void);
/* Kernels that have run on such devices so far. */
uint64_t shadow_kernels(void);
/* Of these, kernels with reductions. */
uint64_t shadow_reductions(void);
/* Parts of collectives that such devices have carried out among themselves. */
uint64_t shadow_exchanges(void);

#endif
