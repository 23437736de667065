/* How a host device cuts a kernel for its workers: along the first dimension that has several items, at multiples of
 * its granule, into parts of equal size, or of about equal weights. Any thread. */
#ifndef TI_PARTS_H
#define TI_PARTS_H

#include "device/device.h"

/* At most one part per worker. */
int ti_parts_most(const ti_device_kernel *kernel, int workers);
/* Cuts `chunk`, which is the kernel's, down to a part. */
void ti_parts_cut(const ti_device_kernel *kernel, int parts, int part, tacit_box *chunk);
uint64_t ti_parts_items(const ti_device_kernel *kernel, const tacit_box *chunk);

#endif
