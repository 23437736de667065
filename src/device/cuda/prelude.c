/* The text that every CUDA program begins with, before the macros of views and items (device/kernel_text.c): see
 * program.h. It has names that OpenCL C has and CUDA C does not, and the indices of work-items.
 *
 * Dynamic shared memory is no parameter of CUDA's kernels. TACIT_SCRATCH is one all the same, of a type that stands for
 * it, so that parameters are the same in both languages. A constant. */
#include "device/cuda/program.h"

const char *const ti_cuda_prelude =
    "typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint;\n"
    "typedef unsigned long ulong;\n"
    "typedef signed char int8_t; typedef uchar uint8_t; typedef short int16_t; typedef ushort uint16_t;\n"
    "typedef int int32_t; typedef uint uint32_t; typedef long int64_t; typedef ulong uint64_t;\n"
    "#define TACIT_KERNEL extern \"C\" __global__ void\n"
    "#define TACIT_IN_MEMORY_\n"
    "#define TACIT_GLOBAL\n"
    "#define TACIT_SHARED\n"
    "extern __shared__ __align__(16) char tacit_shared_[];\n"
    "template <class T> struct tacit_scratch_ { char none;\n"
    "    __device__ operator T *() const { return (T *)tacit_shared_; } };\n"
    "#define TACIT_SCRATCH(type, x) const tacit_scratch_<type> x\n"
    "static __device__ inline uint tacit_group_id_(int d)\n"
    "{ return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }\n"
    "static __device__ inline uint tacit_group_size_(int d)\n"
    "{ return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }\n"
    "static __device__ inline ulong tacit_global_(int d)\n"
    "{ return (ulong)(d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z) * tacit_group_size_(d) +\n"
    "         tacit_group_id_(d); }\n"
    "#define TACIT_GROUP_ID(d) ((ulong)tacit_group_id_(TACIT_DIMS - 1 - (d)))\n"
    "#define TACIT_GROUP_SIZE(d) ((ulong)tacit_group_size_(TACIT_DIMS - 1 - (d)))\n"
    "#define TACIT_BARRIER() __syncthreads()\n"
    "#define TACIT_ADD(p, n) ((void)atomicAdd((unsigned long long *)(p), (unsigned long long)(n)))\n"
    "#define tacit_group_() blockIdx.x\n"
    "#define tacit_groups_() gridDim.x\n"
    "#define tacit_place_() threadIdx.x\n"
    "#define tacit_places_() blockDim.x\n";
