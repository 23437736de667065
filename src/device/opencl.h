/* OpenCL devices: everything that the rest of tacit knows of them.
 *
 * libOpenCL.so.1 is loaded when the first device is asked for, so one binary runs with and without it. The devices of a
 * node are on one platform, and share a context (device/opencl/session.h). In builds without OpenCL's headers there are
 * none (device/opencl/none.c). Devices are created by the thread that creates the context; facts: any thread. */
#ifndef TI_OPENCL_H
#define TI_OPENCL_H

#include <stdio.h>

#include "base/failure.h"
#include "base/strbuf.h"
#include "device/device.h"
#include "ir/system.h"

/* Device `index`, counted over all platforms in the order that OpenCL gives; or part `part` of `parts` equal ones that
 * it is divided into. One that is named twice is two, with a queue and memories each. */
typedef struct ti_opencl_name {
    int index, part, parts;
} ti_opencl_name;
/* As TACIT_DEVICES names it. */
static inline void ti_opencl_name_format(const ti_opencl_name *name, char text[TI_DEVICE_NAME])
{
    const char *format = name->parts > 1 ? "opencl:%d/%d, part %d" : "opencl:%d";
    snprintf(text, TI_DEVICE_NAME, format, name->index, name->parts, name->part);
}

/* What `tacit info` tells of a device. */
typedef struct ti_opencl_fact {
    char name[128], platform[128];
    uint64_t memory; /* bytes */
    int units;       /* that compute */
    bool is_gpu, has_doubles;
} ti_opencl_fact;

bool ti_opencl_is_built(void);
/* `count` devices into `out`, all or none; `cache` is TACIT_KERNEL_CACHE, or NULL. False and a sentence in `why` if
 * they are not to be had. What fails later goes to `failure`. */
bool ti_opencl_create(const ti_opencl_name *name, int count, const char *cache, ti_failure *failure, ti_device **out,
                      ti_strbuf *why);
/* Device `index`; false if there is none. */
bool ti_opencl_fact_of(int index, ti_opencl_fact *out);

#endif
