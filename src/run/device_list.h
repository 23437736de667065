/* TACIT_DEVICES: which devices a node is to have, as text and as a list.
 *
 *     entry[,entry...]    host, host:COUNT, host:COUNT:discrete (at most one of these),
 *                         opencl:INDEX, opencl:INDEX/PARTS (its sub-devices, a device each),
 *                         cuda:INDEX (not beside OpenCL devices);
 *     ENTRY*WEIGHT        so many times as large a part for each device of the entry, 1 to 1000 (else 1);
 *     auto                all GPUs that CUDA has, else those of OpenCL's first driver that has any, dealt out among the
 *                         nodes of the machine; else host
 *
 * Without a setting it is `auto`, where files say that the machine has a GPU: programs need not wait for drivers that
 * find none. Reading a list is pure; what a machine has is looked at for `auto` only. Any thread. */
#ifndef TI_DEVICE_LIST_H
#define TI_DEVICE_LIST_H

#include "base/strbuf.h"
#include "device/opencl.h"

enum { TI_MAX_DEVICES = 32 };

typedef struct ti_device_list {
    int hosts;      /* at least 1 */
    bool discrete;  /* each with a memory of its own */
    bool idle_host; /* the only one; it was not named */
    bool automatic; /* the rest is to be found: ti_device_list_find */
    bool unasked;   /* by default, not because somebody said so */
    int opencls;
    ti_opencl_name opencl[TI_MAX_DEVICES];
    int cudas;
    int cuda[TI_MAX_DEVICES]; /* indices */
    int host_weight;
    int weight[TI_MAX_DEVICES];                /* of OpenCL's devices, or of CUDA's */
    char name[TI_MAX_DEVICES][TI_DEVICE_NAME]; /* of all, host devices first: ti_device_list_name */
} ti_device_list;

/* `devices` and `hosts` are TACIT_DEVICES and TACIT_HOST_DEVICES, each NULL if it is not set; the former counts. False
 * and a sentence in `why` if it means nothing. */
bool ti_device_list_parse(const char *devices, const char *hosts, ti_device_list *out, ti_strbuf *why);
/* Whether there may be GPUs, by the files of their drivers; takes microseconds. */
bool ti_device_list_may_find(void);
/* What `auto` is on this machine. */
void ti_device_list_find(ti_device_list *list);
/* The part of the devices found that node `local` of `nodes` on the machine gets: all have some, as many as can be, in
 * order; where there are fewer devices than nodes, nodes that follow each other share one. */
void ti_device_list_deal(ti_device_list *list, int local, int nodes);
/* Fill in the names of all that is in the list now: as its entries say. */
void ti_device_list_name(ti_device_list *list);

#endif
