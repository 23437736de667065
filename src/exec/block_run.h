/* One part of a kernel in blocks (TACIT_REPRODUCIBLE): the kernel is called for each block with results of its own,
 * which are combined along the fixed tree (ir/block_tree.h) as soon as siblings are there. Worker threads; reads only
 * what stays as it is until the kernel has completed. */
#ifndef TI_BLOCK_RUN_H
#define TI_BLOCK_RUN_H

#include "device/device.h"

/* For ti_device_kernel::run; `user` is the instruction. The launch's views are those of all parts: views of reductions
 * begin at the first slot of the piece. */
void ti_block_run(ti_device_kernel *kernel, int part, int parts, tacit_launch *launch);

#endif
