/* The devices of a node: created, stopped and destroyed together. The application thread. */
#ifndef TI_DEVICES_H
#define TI_DEVICES_H

#include "base/failure.h"
#include "comm/comm.h"
#include "device/host.h"
#include "ir/system.h"
#include "run/device_list.h"
#include "run/pin.h"

typedef struct ti_devices_desc {
    const ti_device_list *list;
    const ti_system *system;
    bool threads;             /* host devices have a thread for each worker */
    bool spare;               /* but for the last worker of device 0 */
    const ti_pin *pin;        /* what threads are bound to */
    bool is_dry;              /* nothing runs: accelerators are not looked for */
    ti_host_desc host;        /* what all host devices have in common */
    const char *kernel_cache; /* TACIT_KERNEL_CACHE, or NULL */
    ti_failure *failure;      /* of the run */
} ti_devices_desc;

/* system->devices of them; NULL and a sentence in `why` if they are not to be had. */
ti_device **ti_devices_create(const ti_devices_desc *desc, ti_strbuf *why);
/* TACIT_NCCL: the devices of all nodes reach each other, so that collectives are in their memory (system->nccl). All
 * nodes, before anything is planned. False and a sentence in `why` if that was asked for and is not possible. */
bool ti_devices_connect(ti_device **device, ti_system *system, const tacit_config *config, ti_comm *comm,
                        ti_strbuf *why);
/* Nothing runs any more, and nothing touches memory. NULL is allowed. */
void ti_devices_stop(ti_device **device, const ti_system *system);
void ti_devices_destroy(ti_device **device, const ti_system *system);

#endif
