/* The devices of a node: see devices.h. */
#include "run/devices.h"

#include "base/alloc.h"
#include "base/log.h"
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
        device[d]->pinner = ti_cuda_pinner(device[hosts], !list->unasked);
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

/* ---- NCCL */

/* Whether this node has what it takes; all nodes must. */
static bool may_connect(const ti_system *system, const tacit_config *config, ti_strbuf *why)
{
    if (system->accelerator != TI_CUDA || system->accelerators != 1 || !system->idle_host) {
        ti_strbuf_add(why, "a node has to have one CUDA device, and no other one (TACIT_DEVICES=cuda:0)");
        return false;
    }
    if (config->comm_delay) {
        ti_strbuf_add(why, "TACIT_COMM_DELAY cannot delay it");
        return false;
    }
    return ti_cuda_may_connect(why);
}

/* What node 0 has, in words that are sums. */
static void spread(ti_comm *comm, int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        words[i] = comm->ops->sum(comm, comm->node == 0 ? words[i] : 0);
    }
}

static bool on_all(ti_comm *comm, bool here)
{
    return comm->ops->sum(comm, here) == comm->num_nodes;
}

/* All nodes take the same way through this, whatever they find. */
static bool connect_all(ti_device *device, ti_comm *comm, ti_strbuf *why)
{
    int64_t id[TI_CUDA_ID_BYTES / sizeof(int64_t)] = { 0 };
    const bool named = comm->node != 0 || ti_cuda_make_id(id, why);
    if (!on_all(comm, named)) {
        return false;
    }
    spread(comm, id, TI_COUNT(id));
    const bool connected = ti_cuda_connect(device, comm->node, comm->num_nodes, id, why);
    if (!on_all(comm, connected)) {
        ti_cuda_disconnect(device);
        return false;
    }
    return true;
}

bool ti_devices_connect(ti_device **device, ti_system *system, const tacit_config *config, ti_comm *comm,
                        ti_strbuf *why)
{
    ti_strbuf reason = { 0 };
    if (config->nccl == TACIT_NCCL_OFF || config->dry_run || comm->num_nodes == 1) {
        return true;
    }
    const bool may = on_all(comm, may_connect(system, config, &reason));
    system->nccl = may && connect_all(device[ti_system_hosts(system)], comm, &reason);
    const bool wanted = config->nccl == TACIT_NCCL_ON && !system->nccl;
    const char *text = reason.length ? ti_strbuf_text(&reason) : "another node cannot";
    if (system->nccl) {
        ti_log(TI_LOG_INFO, "collectives in the memory of CUDA devices are NCCL's");
    } else if (wanted) {
        ti_strbuf_add(why, "TACIT_NCCL=on, but NCCL cannot be used: %s", text);
    } else if (system->accelerator == TI_CUDA) {
        ti_log(TI_LOG_INFO, "collectives are MPI's, not NCCL's: %s", text);
    }
    ti_strbuf_fini(&reason);
    return !wanted;
}

/* ---- the end */

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
