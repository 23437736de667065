/* Collectives that the devices of nodes carry out among themselves, instead of the network: what one has to do for
 * them.
 *
 * What it is does not depend on where this node keeps its contents, since all nodes must take the same way. Executor
 * role. */
#ifndef TI_COLLECTIVE_DEVICE_H
#define TI_COLLECTIVE_DEVICE_H

#include "comm/exchange.h"
#include "device/device.h"

/* Zeroed: empty. Scratch, but for what nodes send each other. */
typedef struct ti_collective_device {
    TI_VEC(ti_device_share) share;
    ti_blocks block;
    ti_direct messages;
    ti_boxes boxes;
} ti_collective_device;

/* This node's part; valid until the next call. */
ti_device_exchange ti_collective_device_shares(ti_collective_device *self, const ti_exchange *x, int node);
void ti_collective_device_fini(ti_collective_device *self);

#endif
