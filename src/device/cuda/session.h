/* What the CUDA devices of a node have in common: the driver, a context for each GPU, where memory lies, compiled
 * kernels.
 *
 * The contexts are the primary ones, which CUDA's run-time library uses as well: kernels and libraries of the program
 * share streams and memory with tacit. Addresses of all GPUs and of the host are different, so an address says where it
 * is. Executor role, but for creation and the end. */
#ifndef TI_CUDA_SESSION_H
#define TI_CUDA_SESSION_H

#include "device/accelerator/accelerator.h"
#include "device/cuda.h"
#include "device/cuda/driver.h"

typedef struct ti_cuda_context {
    int index; /* of the GPU, as the driver counts */
    char name[128];
    ti_cu_device device;
    ti_cu_context handle;
    int major, minor;
    uint64_t memory; /* bytes that allocations may have: the driver keeps some for itself */
    size_t pitch;    /* bytes from a row to the next that a copy may have, at most */
} ti_cuda_context;

/* What makes the list of a kernel's parameters. */
typedef struct ti_cuda_list {
    int views; /* -1: no list */
    size_t args_size, local_bytes;
} ti_cuda_list;

/* A kernel for ranges of `dims` dimensions on one GPU. */
typedef struct ti_cuda_kernel {
    const char *source, *entry;
    int dims;
    const ti_cuda_context *context;
    ti_cu_module module;
    ti_cu_function function;
    ti_cuda_list list; /* the latest one that the driver has found to be right */
} ti_cuda_kernel;

typedef struct ti_cuda_session {
    ti_session base; /* handles of memory are the contexts (ti_cu_context) that it is of */
    ti_cuda_api cu;
    int version;      /* of the driver */
    ti_nvrtc_api rtc; /* loaded when the first kernel comes as text */
    bool compiles;
    ti_cuda_context *context;
    int contexts, capacity;
    ti_memories pinned;  /* of the host, that is registered */
    ti_memories may_pin; /* that may be */
    TI_VEC(ti_cuda_kernel) kernel;
} ti_cuda_session;

/* The caller is its first user; `cache` is TACIT_KERNEL_CACHE, or NULL. NULL and a sentence in `why` if the devices are
 * not to be had. */
ti_cuda_session *ti_cuda_session_create(const int *index, int count, const char *cache, ti_failure *failure,
                                        ti_strbuf *why);
void ti_cuda_session_leave(ti_cuda_session *session);
const ti_cuda_context *ti_cuda_context_of(const ti_cuda_session *session, int index);

/* What follows happens in the context, until ti_cuda_exit. */
static inline ti_cu_result ti_cuda_enter(const ti_cuda_session *session, const ti_cuda_context *context)
{
    return session->cu.push(context->handle);
}
static inline void ti_cuda_exit(const ti_cuda_session *session)
{
    ti_cu_context old;
    session->cu.pop(&old);
}

/* In the context. TACIT_ERROR_MEMORY if there is none. */
tacit_status ti_cuda_memory_create(ti_cuda_session *session, const ti_cuda_context *context, size_t bytes, void **out);
void ti_cuda_memory_destroy(ti_cuda_session *session, void *address);

/* NULL: the address is not of a device of the session. */
static inline const ti_memory_piece *ti_cuda_memory_of(const ti_cuda_session *session, const void *address)
{
    return ti_memories_find(&session->base.memory, address);
}

/* Memory of the host that may be registered; it is, as far as that is granted; it is forgotten. In any context. */
void ti_cuda_may_pin(ti_cuda_session *session, void *memory, size_t bytes);
void ti_cuda_pin(ti_cuda_session *session, const void *memory);
void ti_cuda_unpin(ti_cuda_session *session, void *memory);
/* Whether the driver copies the block by itself: if its memory may be registered, it is now. */
bool ti_cuda_is_pinned(ti_cuda_session *session, const ti_block *block);

/* The compiled kernel of a task, in its context. NULL, and the run has failed, if it does not compile. */
ti_cuda_kernel *ti_cuda_kernel_of(ti_cuda_session *session, const ti_cuda_context *context,
                                  const ti_device_kernel *job);
void ti_cuda_kernels_fini(ti_cuda_session *session);

#endif
