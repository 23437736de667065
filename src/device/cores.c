/* Which cores this process may use: see ti_host_cores in host.h.
 *
 * hwloc says which processing units are allowed (cgroups) and to which the process is bound (taskset, a launcher's
 * binding). They are numbered so that every core comes once before its second hardware thread: the first n numbers use
 * as many cores as there are. Any thread, at tacit_init. */
#include "base/vec.h"
#include "device/host.h"

#include <hwloc.h>
#include <sched.h>

/* Without a topology: what the kernel says. */
static int from_affinity_mask(int *cpus, int max)
{
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        return 1;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            if (cpus && count < max) {
                cpus[count] = cpu;
            }
            count++;
        }
    }
    return TI_MAX(count, 1);
}

static bool load(hwloc_topology_t *topology)
{
    if (hwloc_topology_init(topology) != 0) {
        return false;
    }
    hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(*topology) != 0) {
        hwloc_topology_destroy(*topology);
        return false;
    }
    return true;
}

/* How many processing units of its core stand before this one in `set`. */
static int sibling_rank(hwloc_topology_t topology, hwloc_const_cpuset_t set, hwloc_obj_t unit)
{
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
    int rank = 0, cpu;
    if (!core) {
        return 0;
    }
    hwloc_bitmap_foreach_begin(cpu, core->cpuset)
        rank += cpu < (int)unit->os_index && hwloc_bitmap_isset(set, (unsigned)cpu);
    hwloc_bitmap_foreach_end();
    return rank;
}

static void list_units(hwloc_topology_t topology, hwloc_const_cpuset_t set, int total, int *cpus, int max)
{
    int count = 0;
    for (int rank = 0; count < TI_MIN(total, max); rank++) {
        hwloc_obj_t unit = NULL;
        int before = count;
        while ((unit = hwloc_get_next_obj_inside_cpuset_by_type(topology, set, HWLOC_OBJ_PU, unit)) != NULL &&
               count < max) {
            if (sibling_rank(topology, set, unit) == rank) {
                cpus[count++] = (int)unit->os_index;
            }
        }
        if (count == before && rank >= total) {
            break;
        }
    }
}

int ti_host_cores(int *cpus, int max)
{
    hwloc_topology_t topology;
    if (!load(&topology)) {
        return from_affinity_mask(cpus, max);
    }
    int total = 0;
    hwloc_cpuset_t set = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_cpuset_t bound = hwloc_bitmap_alloc();
    if (set && bound && hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(set, set, bound);
        total = hwloc_bitmap_weight(set);
    }
    if (total > 0 && cpus) {
        list_units(topology, set, total, cpus, max);
    }
    hwloc_bitmap_free(bound);
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(topology);
    return total > 0 ? total : from_affinity_mask(cpus, max);
}
