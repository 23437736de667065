/* The functions of CUDA's driver, of NVRTC and of NCCL that are called, declared here: no toolkit is needed to build
 * tacit, and the libraries are loaded at run time.
 *
 * Names, numbers and layouts are those of their interfaces, which are stable; tests/unit/cuda_header_test.c compares
 * them with cuda.h and nccl.h where these are found. Any thread. */
#ifndef TI_CUDA_DRIVER_H
#define TI_CUDA_DRIVER_H

#include "base/strbuf.h"

typedef int ti_cu_result;
typedef int ti_cu_device;
typedef unsigned long long ti_cu_address;
typedef struct CUctx_st *ti_cu_context;
typedef struct CUstream_st *ti_cu_stream;
typedef struct CUevent_st *ti_cu_event;
typedef struct CUmod_st *ti_cu_module;
typedef struct CUfunc_st *ti_cu_function;

enum {
    TI_CU_SUCCESS = 0,
    TI_CU_ERROR_OUT_OF_MEMORY = 2,
    TI_CU_ERROR_NOT_FOUND = 500,
    TI_CU_ERROR_NOT_READY = 600,
};
enum { TI_CU_STREAM_NON_BLOCKING = 1, TI_CU_EVENT_DISABLE_TIMING = 2, TI_CU_HOST_PORTABLE = 1 };
enum { TI_CU_MEMORY_HOST = 1, TI_CU_MEMORY_DEVICE = 2 };
enum {
    TI_CU_MAX_PITCH = 11,
    TI_CU_MAX_SHARED_BYTES = 97, /* of a group, for kernels that ask */
    TI_CU_MULTIPROCESSOR_COUNT = 16,
    TI_CU_MEMORY_CLOCK_RATE = 36,       /* kHz */
    TI_CU_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
    TI_CU_CAPABILITY_MAJOR = 75,
    TI_CU_CAPABILITY_MINOR = 76,
};
enum { TI_CU_MAX_DYNAMIC_SHARED_BYTES = 8 };

/* One side of a copy, and a copy: CUDA_MEMCPY3D_PEER, whose contexts take the place of two reserved words of
 * CUDA_MEMCPY3D. */
typedef struct ti_cu_side {
    size_t x, y, z, lod;
    int type; /* TI_CU_MEMORY_HOST, or _DEVICE */
    const void *host;
    ti_cu_address device;
    void *array;
    ti_cu_context context; /* NULL in CUDA_MEMCPY3D */
    size_t pitch, height;
} ti_cu_side;
typedef struct ti_cu_copy {
    ti_cu_side from, to;
    size_t width, height, depth;
} ti_cu_copy;

/* X(name here, name in the library, parameters) */
#define TI_CUDA_FUNCTIONS(X)                                                                                           \
    X(init, cuInit, (unsigned))                                                                                        \
    X(version, cuDriverGetVersion, (int *))                                                                            \
    X(count, cuDeviceGetCount, (int *))                                                                                \
    X(get, cuDeviceGet, (ti_cu_device *, int))                                                                         \
    X(name, cuDeviceGetName, (char *, int, ti_cu_device))                                                              \
    X(total, cuDeviceTotalMem_v2, (size_t *, ti_cu_device))                                                            \
    X(attribute, cuDeviceGetAttribute, (int *, int, ti_cu_device))                                                     \
    X(can_access, cuDeviceCanAccessPeer, (int *, ti_cu_device, ti_cu_device))                                          \
    X(retain, cuDevicePrimaryCtxRetain, (ti_cu_context *, ti_cu_device))                                               \
    X(release, cuDevicePrimaryCtxRelease_v2, (ti_cu_device))                                                           \
    X(push, cuCtxPushCurrent_v2, (ti_cu_context))                                                                      \
    X(pop, cuCtxPopCurrent_v2, (ti_cu_context *))                                                                      \
    X(enable_peer, cuCtxEnablePeerAccess, (ti_cu_context, unsigned))                                                   \
    X(stream_create, cuStreamCreate, (ti_cu_stream *, unsigned))                                                       \
    X(stream_destroy, cuStreamDestroy_v2, (ti_cu_stream))                                                              \
    X(stream_wait, cuStreamSynchronize, (ti_cu_stream))                                                                \
    X(stream_query, cuStreamQuery, (ti_cu_stream))                                                                     \
    X(stream_wait_event, cuStreamWaitEvent, (ti_cu_stream, ti_cu_event, unsigned))                                     \
    X(event_create, cuEventCreate, (ti_cu_event *, unsigned))                                                          \
    X(event_destroy, cuEventDestroy_v2, (ti_cu_event))                                                                 \
    X(event_record, cuEventRecord, (ti_cu_event, ti_cu_stream))                                                        \
    X(event_query, cuEventQuery, (ti_cu_event))                                                                        \
    X(alloc, cuMemAlloc_v2, (ti_cu_address *, size_t))                                                                 \
    X(free, cuMemFree_v2, (ti_cu_address))                                                                             \
    X(host_alloc, cuMemHostAlloc, (void **, size_t, unsigned))                                                         \
    X(host_free, cuMemFreeHost, (void *))                                                                              \
    X(host_register, cuMemHostRegister_v2, (void *, size_t, unsigned))                                                 \
    X(host_unregister, cuMemHostUnregister, (void *))                                                                  \
    X(to_device, cuMemcpyHtoDAsync_v2, (ti_cu_address, const void *, size_t, ti_cu_stream))                            \
    X(from_device, cuMemcpyDtoHAsync_v2, (void *, ti_cu_address, size_t, ti_cu_stream))                                \
    X(within, cuMemcpyDtoDAsync_v2, (ti_cu_address, ti_cu_address, size_t, ti_cu_stream))                              \
    X(copy, cuMemcpy3DAsync_v2, (const ti_cu_copy *, ti_cu_stream))                                                    \
    X(copy_peer, cuMemcpy3DPeerAsync, (const ti_cu_copy *, ti_cu_stream))                                              \
    X(module_load, cuModuleLoadData, (ti_cu_module *, const void *))                                                   \
    X(module_unload, cuModuleUnload, (ti_cu_module))                                                                   \
    X(function, cuModuleGetFunction, (ti_cu_function *, ti_cu_module, const char *))                                   \
    X(function_set, cuFuncSetAttribute, (ti_cu_function, int, int))                                                    \
    X(launch, cuLaunchKernel,                                                                                          \
      (ti_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, ti_cu_stream, void **,    \
       void **))                                                                                                       \
    X(error_name, cuGetErrorName, (ti_cu_result, const char **))
/* Of drivers from 12.4 on. */
#define TI_CUDA_NEW_FUNCTIONS(X) X(parameter, cuFuncGetParamInfo, (ti_cu_function, size_t, size_t *, size_t *))

#define TI_CUDA_MEMBER(member, symbol, parameters) ti_cu_result(*member) parameters;
typedef struct ti_cuda_api {
    TI_CUDA_FUNCTIONS(TI_CUDA_MEMBER)
    TI_CUDA_NEW_FUNCTIONS(TI_CUDA_MEMBER) /* NULL: not there */
} ti_cuda_api;

typedef struct _nvrtcProgram *ti_nvrtc_program;
#define TI_NVRTC_FUNCTIONS(X)                                                                                          \
    X(version, nvrtcVersion, (int *, int *))                                                                           \
    X(create, nvrtcCreateProgram,                                                                                      \
      (ti_nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *))                 \
    X(destroy, nvrtcDestroyProgram, (ti_nvrtc_program *))                                                              \
    X(compile, nvrtcCompileProgram, (ti_nvrtc_program, int, const char *const *))                                      \
    X(log_size, nvrtcGetProgramLogSize, (ti_nvrtc_program, size_t *))                                                  \
    X(log, nvrtcGetProgramLog, (ti_nvrtc_program, char *))                                                             \
    X(binary_size, nvrtcGetCUBINSize, (ti_nvrtc_program, size_t *))                                                    \
    X(binary, nvrtcGetCUBIN, (ti_nvrtc_program, char *))
typedef struct ti_nvrtc_api {
    TI_NVRTC_FUNCTIONS(TI_CUDA_MEMBER)
} ti_nvrtc_api;

typedef struct ncclComm *ti_nccl_comm;
typedef struct ti_nccl_id {
    char internal[128];
} ti_nccl_id;
/* ncclConfig_t as it was when it came, with version 2.14: later ones know it by its size and version. */
typedef struct ti_nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
} ti_nccl_config;
enum { TI_NCCL_SUCCESS = 0, TI_NCCL_IN_PROGRESS = 7, TI_NCCL_INT8 = 0, TI_NCCL_VERSION = 21400 };
#define TI_NCCL_MAGIC 0xcafebeefu

#define TI_NCCL_FUNCTIONS(X)                                                                                           \
    X(version, ncclGetVersion, (int *))                                                                                \
    X(make_id, ncclGetUniqueId, (ti_nccl_id *))                                                                        \
    X(init, ncclCommInitRankConfig, (ti_nccl_comm *, int, ti_nccl_id, int, ti_nccl_config *))                          \
    X(state, ncclCommGetAsyncError, (ti_nccl_comm, int *))                                                             \
    X(finalize, ncclCommFinalize, (ti_nccl_comm))                                                                      \
    X(destroy, ncclCommDestroy, (ti_nccl_comm))                                                                        \
    X(abort, ncclCommAbort, (ti_nccl_comm))                                                                            \
    X(begin, ncclGroupStart, (void))                                                                                   \
    X(end, ncclGroupEnd, (void))                                                                                       \
    X(send, ncclSend, (const void *, size_t, int, int, ti_nccl_comm, ti_cu_stream))                                    \
    X(receive, ncclRecv, (void *, size_t, int, int, ti_nccl_comm, ti_cu_stream))                                       \
    X(all_gather, ncclAllGather, (const void *, void *, size_t, int, ti_nccl_comm, ti_cu_stream))                      \
    X(broadcast, ncclBroadcast, (const void *, void *, size_t, int, int, ti_nccl_comm, ti_cu_stream))
typedef struct ti_nccl_api {
    TI_NCCL_FUNCTIONS(TI_CUDA_MEMBER)
    const char *(*error_text)(int); /* ncclGetErrorString */
} ti_nccl_api;

/* False and a sentence in `why` if the driver is not there, or has no devices for us. */
bool ti_cuda_load(ti_cuda_api *cu, ti_strbuf *why);
/* False and the reason if NVRTC is not there. */
bool ti_nvrtc_load(ti_nvrtc_api *rtc, ti_strbuf *why);
/* False and the reason if NCCL is not there, or too old. */
bool ti_nccl_load(ti_nccl_api *nccl, ti_strbuf *why);
/* CUDA_ERROR_LAUNCH_FAILED, for instance; of static memory. */
const char *ti_cuda_error_name(const ti_cuda_api *cu, ti_cu_result code);

#endif
