/* Which cores this process may use, in the order of the machine: see host.h.
 *
 * The system says which (cgroups, taskset, a launcher's binding); hwloc says which of them lie near each other, so that
 * neighbours in the list share caches and memory. Any thread, at tacit_init. */
#include "device/host.h"

#include <hwloc.h>

/* As the system numbers them. */
static int in_order_of_numbers(const ti_cores *cores, int *list)
{
    int count = 0;
    for (int core = 0; core < TI_MAX_CORES; core++) {
        if (ti_cores_has(cores, core)) {
            list[count++] = core;
        }
    }
    return count;
}

static bool load(hwloc_topology_t *topology)
{
    if (hwloc_topology_init(topology) != 0) {
        return false;
    }
    hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(*topology) != 0) {
        hwloc_topology_destroy(*topology);
        return false;
    }
    return true;
}

int ti_host_order(const ti_cores *cores, int list[TI_MAX_CORES])
{
    hwloc_topology_t topology;
    int count = 0, all = ti_cores_count(cores);
    if (load(&topology)) {
        hwloc_obj_t unit = NULL;
        while (count < all && (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit))) {
            if (ti_cores_has(cores, (int)unit->os_index)) {
                list[count++] = (int)unit->os_index;
            }
        }
        hwloc_topology_destroy(topology);
    }
    return count == all ? count : in_order_of_numbers(cores, list);
}

int ti_host_cores(void)
{
    ti_cores cores;
    ti_cores_of_process(&cores);
    return TI_MAX(ti_cores_count(&cores), 1);
}
