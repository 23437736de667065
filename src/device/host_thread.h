/* A thread for collective host tasks: they may wait for other nodes, so they must not keep a worker from its work.
 *
 * Such tasks follow each other in one order, so there is at most one at a time. The executor role launches and polls;
 * the thread runs the kernel and says so. In `lot` sleep those who poll. */
#ifndef TI_HOST_THREAD_H
#define TI_HOST_THREAD_H

#include "base/park.h"
#include "device/device.h"

typedef struct ti_host_thread ti_host_thread;

/* NULL if the system does not grant the thread. */
ti_host_thread *ti_host_thread_create(ti_lot *lot);
/* Waits for a kernel that runs. */
void ti_host_thread_destroy(ti_host_thread *thread);

/* Call the kernel once, for its whole chunk, as worker 0 of 1. It lives until its token was polled, and so long there
 * is no other. */
void ti_host_thread_launch(ti_host_thread *thread, ti_device_kernel *kernel);
/* Whether the kernel is done; its token. */
bool ti_host_thread_poll(ti_host_thread *thread, uint64_t *token);

#endif
