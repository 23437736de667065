/* A CUDA device among those of other nodes: collectives by NCCL, in a stream of their own.
 *
 * What one has to do for a collective (ti_device_exchange) becomes one group of NCCL's calls. Contents that lie in one
 * run are given and got in place; others are packed and unpacked in the stream, in memory that is kept for that.
 *
 * NCCL connects devices when they first need it, and would keep the caller until the others have come: they may wait
 * for messages of this very node. So the communicator does not block: a group is on its way until NCCL says that it is
 * in the stream, and only then the next one is started. Executor role, but for begin and end. */
#ifndef TI_CUDA_NCCL_H
#define TI_CUDA_NCCL_H

#include "device/cuda/session.h"

typedef struct ti_cuda_nccl ti_cuda_nccl;

/* Whose it is: groups become operations of the lane, whose stream this is. */
typedef struct ti_cuda_nccl_desc {
    ti_accelerator *device;
    ti_cuda_session *session;
    const ti_cuda_context *context;
    ti_cu_stream stream;
    int lane;
} ti_cuda_nccl_desc;

/* In the context, as all that follows. Waits for the others. NULL and the reason if they are not to be had. */
ti_cuda_nccl *ti_cuda_nccl_create(const ti_cuda_nccl_desc *desc, int node, int nodes, const void *id, ti_strbuf *why);
/* Nothing is under way, or ti_cuda_nccl_abort was called. */
void ti_cuda_nccl_destroy(ti_cuda_nccl *nccl);

void ti_cuda_nccl_exchange(ti_cuda_nccl *nccl, const ti_device_exchange *x, uint64_t token);
/* After the lane was polled: goes on with what waits. Errors of NCCL become the run's. */
void ti_cuda_nccl_turn(ti_cuda_nccl *nccl);
/* If anything is under way, it ends, whatever other nodes do. */
void ti_cuda_nccl_abort(ti_cuda_nccl *nccl);

#endif
