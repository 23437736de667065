/* The memory of the machine, and limits of control groups, read from files that the test writes. */
#include "base/machine.h"

#include "random.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "machine_test_XXXXXX";

static void write_file(const char *path, const char *text)
{
    char name[PATH_MAX];
    snprintf(name, sizeof(name), "%s/%s", folder, path);
    for (char *slash = strchr(name + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static uint64_t limit_of(const char *list)
{
    char name[PATH_MAX];
    write_file("list", list);
    snprintf(name, sizeof(name), "%s/list", folder);
    return ti_cgroup_limit(name, folder);
}

static void this_machine(void **state)
{
    (void)state;
    assert_true(ti_machine_memory() > 16 << 20);
    assert_true(ti_machine_memory() <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void remove_file(const char *format, int c, int i)
{
    char path[100], name[PATH_MAX];
    snprintf(path, sizeof(path), format, c, i);
    snprintf(name, sizeof(name), "%s/%s", folder, path);
    assert_int_equal(remove(name), 0);
}

static void remove_caches(void)
{
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 2; i++) {
            remove_file("cpu%d/cache/index%d/level", c, i);
            remove_file("cpu%d/cache/index%d/size", c, i);
            remove_file("cpu%d/cache/index%d/shared_cpu_list", c, i);
            remove_file("cpu%d/cache/index%d", c, i);
        }
        remove_file("cpu%d/cache", c, 0);
        remove_file("cpu%d", c, 0);
    }
}

/* Two cores share a cache, a third has its own, of another size, and a fourth says nothing. */
static void caches(void **state)
{
    (void)state;
    ti_cores cores = { { 0 } };
    for (int c = 0; c < 3; c++) {
        static const char *const text[][3] = { { "1\n", "32K\n", "" }, { "3\n", "2048K\n", "0-1\n" } };
        for (int i = 0; i < 2; i++) {
            static const char *const name[] = { "level", "size", "shared_cpu_list" };
            for (int k = 0; k < 3; k++) {
                char path[100], own[20];
                snprintf(path, sizeof(path), "cpu%d/cache/index%d/%s", c, i, name[k]);
                snprintf(own, sizeof(own), "%d\n", c);
                const bool third = c == 2 && i == 1;
                write_file(path, k == 2 && (i == 0 || third) ? own : third && k == 1 ? "1M\n" : text[i][k]);
            }
        }
    }
    assert_int_equal(ti_cache_of(&cores, folder), 0);
    ti_cores_add(&cores, 1);
    assert_int_equal(ti_cache_of(&cores, folder), 2 << 20);
    ti_cores_add(&cores, 0);
    assert_int_equal(ti_cache_of(&cores, folder), 2 << 20);
    ti_cores_add(&cores, 2);
    ti_cores_add(&cores, 3);
    assert_int_equal(ti_cache_of(&cores, folder), 3 << 20);
    remove_caches();
}

static void version_2(void **state)
{
    (void)state;
    write_file("memory.max", "max\n");
    write_file("user/memory.max", "5000000\n");
    write_file("user/job/memory.max", "max\n");
    write_file("user/small/memory.max", "4000000\n");
    assert_true(limit_of("0::/\n") == UINT64_MAX);
    assert_int_equal(limit_of("0::/user\n"), 5000000);
    assert_int_equal(limit_of("0::/user/job\n"), 5000000);
    assert_int_equal(limit_of("0::/user/small\n"), 4000000);
    assert_int_equal(limit_of("0::/user/seen/from/outside\n"), 5000000);
}

static void version_1(void **state)
{
    (void)state;
    write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("memory/job/memory.limit_in_bytes", "3000000\n");
    assert_int_equal(limit_of("12:cpu,cpuacct:/x\n5:memory:/job\n1:name=systemd:/y\n0::/user\n"), 3000000);
    assert_true(limit_of("12:cpu:/job\n") == UINT64_MAX);
}

static void what_is_not_understood(void **state)
{
    (void)state;
    assert_true(limit_of("") == UINT64_MAX);
    assert_true(limit_of("nothing\n:\n") == UINT64_MAX);
    assert_true(ti_cgroup_limit("no such file", folder) == UINT64_MAX);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const paths[] = { "memory/job/memory.limit_in_bytes",
                                         "memory/job",
                                         "memory/memory.limit_in_bytes",
                                         "memory",
                                         "user/small/memory.max",
                                         "user/small",
                                         "user/job/memory.max",
                                         "user/job",
                                         "user/memory.max",
                                         "user",
                                         "memory.max",
                                         "list",
                                         "." };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(paths); i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof(name), "%s/%s", folder, paths[i]);
        remove(strcmp(paths[i], ".") == 0 ? folder : name);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine),
        cmocka_unit_test(caches),
        cmocka_unit_test(version_2),
        cmocka_unit_test(version_1),
        cmocka_unit_test(what_is_not_understood),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
