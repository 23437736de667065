/* How many cores this process may use: see ti_host_cores in host.h.
 *
 * hwloc says which processing units are allowed (cgroups) and to which the process is bound (taskset, a launcher's
 * binding). Any thread, at tacit_init. */
#include "device/host.h"

#include <hwloc.h>
#include <sched.h>

/* Without a topology: what the kernel says. */
static int in_affinity_mask(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? TI_MAX(CPU_COUNT(&set), 1) : 1;
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

int ti_host_cores(void)
{
    hwloc_topology_t topology;
    if (!load(&topology)) {
        return in_affinity_mask();
    }
    int total = 0;
    hwloc_cpuset_t set = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_cpuset_t bound = hwloc_bitmap_alloc();
    if (set && bound && hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(set, set, bound);
        total = hwloc_bitmap_weight(set);
    }
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(topology);
    return total > 0 ? total : in_affinity_mask();
}
