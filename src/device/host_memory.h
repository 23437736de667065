/* Memory of host devices, as their table of operations has it. Executor role. */
#ifndef TI_HOST_MEMORY_H
#define TI_HOST_MEMORY_H

#include "device/device.h"

tacit_status ti_host_alloc(ti_device *device, size_t bytes, void **out);
void ti_host_free(ti_device *device, void *ptr, size_t bytes);
tacit_status ti_host_grow(ti_device *device, void *ptr, size_t bytes, size_t more, void **out);

#endif
