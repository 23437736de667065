/* How much memory this machine lets the process use: see machine.h.
 *
 * A line of /proc/self/cgroup is `0::/path` (version 2: the limit is memory.max) or `5:memory:/path` (version 1:
 * memory.limit_in_bytes below memory/). Limits of all groups up to the root hold. In a container the path may not exist
 * as it is seen from outside; then the root's file has the container's limit. */
#include "base/machine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number in a file; "max" or no file: none. */
static uint64_t limit_in(const char *path)
{
    unsigned long long bytes = 0;
    FILE *file = fopen(path, "r");
    bool found = file && fscanf(file, "%llu", &bytes) == 1 && bytes > 0;
    if (file) {
        fclose(file);
    }
    return found ? bytes : UINT64_MAX;
}

static uint64_t limit_of_group(const char *root, const char *controller, const char *name, char *group)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s%s%s/%s", root, controller, group, name);
        uint64_t limit = n > 0 && n < (int)sizeof(path) ? limit_in(path) : UINT64_MAX;
        least = TI_MIN(least, limit);
        char *slash = strrchr(group, '/');
        if (!slash) {
            return least;
        }
        *slash = '\0';
    }
}

uint64_t ti_cgroup_limit(const char *list, const char *root)
{
    uint64_t least = UINT64_MAX;
    char line[PATH_MAX];
    FILE *file = fopen(list, "r");
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *group++ = '\0';
        controllers++;
        uint64_t limit = UINT64_MAX;
        if (*controllers == '\0') {
            limit = limit_of_group(root, "", "memory.max", group);
        } else if (strstr(controllers, "memory")) {
            limit = limit_of_group(root, "/memory", "memory.limit_in_bytes", group);
        }
        least = TI_MIN(least, limit);
    }
    if (file) {
        fclose(file);
    }
    return least;
}

uint64_t ti_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t physical = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    uint64_t limit = ti_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    uint64_t memory = TI_MIN(physical, limit);
    return memory == UINT64_MAX ? 0 : memory;
}
