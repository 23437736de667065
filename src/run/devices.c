/* The devices of a node: see devices.h. */
#include "run/devices.h"

#include "base/alloc.h"
#include "device/cuda.h"

static ti_device *create_host(const ti_devices_desc *desc, int index)
{
    ti_host_desc host = desc->host;
    const int workers = desc->system->workers, hosts = ti_system_hosts(desc->system);
    const bool is_host = index < hosts;
    host.workers = workers;
    host.threads = !desc->threads || !is_host ? 0 : workers - (index == 0 && desc->spare);
    host.first = index * workers;
    host.all = hosts * workers;
    host.runs = TI_CAN_RUN_ON(index);
    host.wakes_all = hosts > TI_CAN_DEVICES;
    if (desc->spare && hosts > 1) { /* workers of the others lend themselves to the first one */
        host.can |= TI_CAN_RUN_ON(0);
        host.wakes_all |= index == 0;
    }
    host.cpus = ti_pin_list(desc->pin, host.first);
    host.cores = ti_pin_set(desc->pin);
    return ti_device_host_create(&host);
}

static bool create_all(const ti_devices_desc *desc, ti_device **device, ti_strbuf *why)
{
    /* In a dry run nothing is started on the host devices that stand for others. */
    int hosts = desc->is_dry ? desc->system->devices : ti_system_hosts(desc->system);
    for (int d = 0; d < hosts; d++) {
        device[d] = create_host(desc, d);
        if (!device[d]) {
            ti_strbuf_add(why, "%d worker threads cannot be started; set TACIT_WORKERS to fewer",
                          desc->system->workers);
            return false;
        }
    }
    if (hosts == desc->system->devices) {
        return true;
    }
    const ti_device_list *list = desc->list;
    if (desc->system->accelerator == TI_OPENCL) {
        return ti_opencl_create(list->opencl, list->opencls, desc->kernel_cache, desc->failure, &device[hosts], why);
    }
    if (!ti_cuda_create(list->cuda, list->cudas, desc->kernel_cache, desc->failure, &device[hosts], why)) {
        return false;
    }
    for (int d = 0; d < hosts; d++) {
        device[d]->pinner = ti_cuda_pinner(device[hosts]);
    }
    return true;
}

ti_device **ti_devices_create(const ti_devices_desc *desc, ti_strbuf *why)
{
    ti_device **device = TI_NEW_ARRAY(ti_device *, (size_t)desc->system->devices);
    if (create_all(desc, device, why)) {
        return device;
    }
    ti_devices_stop(device, desc->system);
    ti_devices_destroy(device, desc->system);
    return NULL;
}

void ti_devices_stop(ti_device **device, const ti_system *system)
{
    for (int d = 0; device && d < system->devices; d++) {
        if (device[d]) {
            device[d]->ops->stop(device[d]);
        }
    }
}

void ti_devices_destroy(ti_device **device, const ti_system *system)
{
    for (int d = 0; device && d < system->devices; d++) {
        if (device[d]) {
            device[d]->ops->destroy(device[d]);
        }
    }
    if (device) {
        ti_free(device, (size_t)system->devices * sizeof(*device));
    }
}
