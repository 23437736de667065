/* CUDA devices: everything that the rest of tacit knows of them.
 *
 * libcuda.so.1, the driver, is loaded when the first device is asked for, and NVRTC, its compiler, when the first
 * kernel comes as text: one binary runs with and without them. No header of CUDA is needed to build this. Devices are
 * created and connected by the thread that creates the context; facts: any thread. */
#ifndef TI_CUDA_H
#define TI_CUDA_H

#include <stdio.h>

#include "base/failure.h"
#include "base/strbuf.h"
#include "device/device.h"
#include "ir/system.h"

/* What `tacit info` tells of a device. */
typedef struct ti_cuda_fact {
    char name[128];
    uint64_t memory;  /* bytes */
    double bandwidth; /* of it, bytes per second by its clock; 0: not known */
    int units;        /* multiprocessors */
    int major, minor; /* compute capability */
} ti_cuda_fact;

/* As TACIT_DEVICES names it. */
static inline void ti_cuda_name_format(int index, char text[TI_DEVICE_NAME])
{
    snprintf(text, TI_DEVICE_NAME, "cuda:%d", index);
}

/* `count` devices into `out`, all or none, by their indices in the order that the driver gives. One that is named twice
 * is two, with streams and memory each. `cache` is TACIT_KERNEL_CACHE, or NULL. False and a sentence in `why` if they
 * are not to be had. What fails later goes to `failure`. */
bool ti_cuda_create(const int *index, int count, const char *cache, ti_failure *failure, ti_device **out,
                    ti_strbuf *why);
/* Memory of the host that GPUs of this device's session copy from and to by themselves, without a detour: its users
 * have gone before the device. That takes as long as to touch the memory: `at_once`, or when it is first copied, for
 * programs that may not use devices at all. Executor role. */
ti_pinner ti_cuda_pinner(ti_device *device, bool at_once);
/* NCCL, by which the CUDA devices of all nodes reach each other, one of each node: libnccl.so.2, loaded when it is
 * asked for. False and the reason in `why` if it is not there. */
enum { TI_CUDA_ID_BYTES = 128 };
bool ti_cuda_may_connect(ti_strbuf *why);
/* A name for devices that are going to be connected, of TI_CUDA_ID_BYTES: one node makes it, all others get it. */
bool ti_cuda_make_id(void *id, ti_strbuf *why);
/* All nodes, each with one device; waits for all of them. Then the device has the operation `exchange`. False and the
 * reason in `why` if that is not possible, perhaps on this node alone: then all others have to disconnect theirs. */
bool ti_cuda_connect(ti_device *device, int node, int nodes, const void *id, ti_strbuf *why);
void ti_cuda_disconnect(ti_device *device);

/* Device `index`; false if there is none. */
bool ti_cuda_fact_of(int index, ti_cuda_fact *out);

#endif
