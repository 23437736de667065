/* How much memory this machine lets the process use, and its caches: see machine.h.
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

/* ---- caches */

/* The first line of a file in the folder of a core's cache; whether there is one. */
static bool read_line(const char *root, int core, int index, const char *name, char *out, int size)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/cpu%d/cache/index%d/%s", root, core, index, name);
    FILE *file = n > 0 && n < (int)sizeof(path) ? fopen(path, "r") : NULL;
    bool found = file && fgets(out, size, file);
    if (file) {
        fclose(file);
    }
    return found;
}

/* "32768K" */
static uint64_t bytes_in(const char *text)
{
    unsigned long long n = 0;
    char unit = '\0';
    int read = sscanf(text, "%llu%c", &n, &unit);
    return read < 1 ? 0 : n << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
}

/* The cache of the highest level that the core has, unless one of the cores before it shares it. */
static uint64_t last_cache_of(const ti_cores *cores, int core, const char *root)
{
    enum { CACHES = 16, LINE = 256 };
    char text[LINE];
    int level = 0, last = -1;
    ti_cores sharing;
    for (int i = 0; i < CACHES && read_line(root, core, i, "level", text, LINE); i++) {
        if (text[0] - '0' >= level) {
            level = text[0] - '0';
            last = i;
        }
    }
    if (last < 0 || !read_line(root, core, last, "shared_cpu_list", text, LINE)) {
        return 0;
    }
    text[strcspn(text, "\n")] = '\0';
    bool known = ti_cores_parse(text, &sharing);
    for (int c = 0; known && c < core; c++) {
        if (ti_cores_has(cores, c) && ti_cores_has(&sharing, c)) {
            return 0;
        }
    }
    return read_line(root, core, last, "size", text, LINE) ? bytes_in(text) : 0;
}

uint64_t ti_cache_of(const ti_cores *cores, const char *root)
{
    uint64_t bytes = 0;
    for (int c = 0; c < TI_MAX_CORES; c++) {
        bytes += ti_cores_has(cores, c) ? last_cache_of(cores, c, root) : 0;
    }
    return bytes;
}

uint64_t ti_machine_cache(void)
{
    ti_cores cores;
    ti_cores_of_process(&cores);
    return ti_cache_of(&cores, "/sys/devices/system/cpu");
}
