/* Compiled kernels on disk: what was kept is found, by its whole key; what is damaged in any byte or cut off anywhere
 * is not there, and can be kept again; several processes use one directory; a place that cannot be written is a
 * warning, once. */
#include "device/kernel_cache.h"

#include "base/log.h"
#include "random.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/kernel_cache_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* The name of a file in the folder, and how many there are. */
static int list(char name[400])
{
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] != '.') {
            snprintf(name, 400, "%s/%s", folder, e->d_name);
            count++;
        }
    }
    if (d) {
        closedir(d);
    }
    return count;
}

static int remove_folder(void **state)
{
    char name[400];
    (void)state;
    while (list(name) > 0 && unlink(name) == 0) {
    }
    return rmdir(folder);
}

static ti_strbuf text_of(const char *text)
{
    ti_strbuf out = { 0 };
    ti_strbuf_add(&out, "%s", text);
    return out;
}

static void keep(ti_kernel_cache *cache, const char *key, const char *code)
{
    ti_strbuf k = text_of(key), c = text_of(code);
    ti_kernel_cache_keep(cache, &k, &c);
    ti_strbuf_fini(&k);
    ti_strbuf_fini(&c);
}

/* Whether something is found; if so, it must be the code. */
static bool finds(ti_kernel_cache *cache, const char *key, const char *code)
{
    ti_strbuf k = text_of(key), c = { 0 };
    bool found = ti_kernel_cache_find(cache, &k, &c);
    if (found) {
        assert_int_equal(c.length, strlen(code));
        assert_memory_equal(c.text, code, c.length);
    } else {
        assert_null(c.text);
    }
    ti_strbuf_fini(&k);
    ti_strbuf_fini(&c);
    return found;
}

static void what_is_kept_is_found(void **state)
{
    (void)state;
    ti_kernel_cache cache, later;
    char name[400];
    ti_kernel_cache_init(&cache, folder);
    assert_false(finds(&cache, "a kernel", "code"));
    keep(&cache, "a kernel", "code");
    keep(&cache, "another", "other code");
    assert_true(finds(&cache, "a kernel", "code"));
    assert_true(finds(&cache, "another", "other code"));
    assert_false(finds(&cache, "a kernel ", "code"));
    assert_false(finds(&cache, "a kerne", "code"));
    ti_kernel_cache_init(&later, folder);
    assert_true(finds(&later, "another", "other code"));
    keep(&later, "another", "newer code");
    assert_true(finds(&cache, "another", "newer code"));
    assert_int_equal(list(name), 2);
    ti_kernel_cache_fini(&cache);
    ti_kernel_cache_fini(&later);
}

/* ---- damage */

static void write_file(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void damaged_files_are_not_there(void **state)
{
    (void)state;
    enum { MOST = 1000 };
    ti_kernel_cache cache;
    char name[400], whole[MOST + 1], bad[MOST + 1];
    ti_kernel_cache_init(&cache, folder);
    keep(&cache, "a kernel with a key of some length", "code that is longer than sixteen bytes, and not by a multiple");
    assert_int_equal(list(name), 1);
    FILE *file = fopen(name, "rb");
    size_t length = fread(whole, 1, MOST, file);
    fclose(file);
    assert_true(length > 100 && length < MOST);
    for (size_t i = 0; i < length; i++) {
        memcpy(bad, whole, length);
        bad[i] = (char)(bad[i] ^ (1 << i % 8));
        write_file(name, bad, length);
        assert_false(finds(&cache, "a kernel with a key of some length", ""));
        write_file(name, whole, i);
        assert_false(finds(&cache, "a kernel with a key of some length", ""));
    }
    memcpy(bad, whole, length);
    bad[length] = 0;
    write_file(name, bad, length + 1);
    assert_false(finds(&cache, "a kernel with a key of some length", ""));
    keep(&cache, "a kernel with a key of some length", "new code");
    assert_true(finds(&cache, "a kernel with a key of some length", "new code"));
    assert_int_equal(list(name), 1);
    ti_kernel_cache_fini(&cache);
}

/* ---- several processes */

static void text_for(int key, char out[2000])
{
    memset(out, 'a' + key, 2000);
    out[1000 + 300 * key] = '\0';
}

static void use(uint64_t seed)
{
    enum { ROUNDS = 60, KEYS = 3 };
    ti_kernel_cache cache;
    rng r = rng_from(seed);
    char name[8], code[2000];
    ti_kernel_cache_init(&cache, folder);
    for (int i = 0; i < ROUNDS; i++) {
        int key = (int)rng_between(&r, 0, KEYS - 1);
        snprintf(name, sizeof(name), "%d", key);
        text_for(key, code);
        if (!finds(&cache, name, code) || rng_between(&r, 0, 1)) {
            keep(&cache, name, code);
        }
        assert_true(finds(&cache, name, code));
    }
    assert_false(cache.has_warned);
    ti_kernel_cache_fini(&cache);
}

static void processes_share_a_directory(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    char name[400];
    pid_t child[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        assert_true(child[p] >= 0);
        if (child[p] == 0) {
            use((uint64_t)p + 1);
            _exit(0); /* a failed assertion ends otherwise */
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = -1;
        assert_int_equal(waitpid(child[p], &status, 0), child[p]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(list(name), 3); /* nothing else is left */
}

/* ---- where */

static void off_keeps_nothing(void **state)
{
    (void)state;
    ti_kernel_cache cache;
    ti_kernel_cache_init(&cache, "off");
    keep(&cache, "a kernel", "code");
    assert_false(finds(&cache, "a kernel", "code"));
    ti_kernel_cache_fini(&cache);
}

static void expect_folder(const char *caches, const char *home, const char *expected)
{
    ti_kernel_cache cache;
    caches ? setenv("XDG_CACHE_HOME", caches, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    ti_kernel_cache_init(&cache, NULL);
    if (expected) {
        assert_string_equal(cache.folder, expected);
    } else {
        assert_null(cache.folder);
    }
    ti_kernel_cache_fini(&cache);
}

static void the_usual_directory(void **state)
{
    (void)state;
    expect_folder("/var/mine", "/home/me", "/var/mine/tacit");
    expect_folder("relative", "/home/me", "/home/me/.cache/tacit");
    expect_folder("", "/home/me", "/home/me/.cache/tacit");
    expect_folder(NULL, "/home/me", "/home/me/.cache/tacit");
    expect_folder(NULL, NULL, NULL);
    expect_folder(NULL, "", NULL);
}

/* Directories that are missing are made. Behind a file there are none, whoever asks. */
static void a_place_that_cannot_be_written(void **state)
{
    (void)state;
    char path[100], name[400], said[2000];
    ti_kernel_cache cache;
    snprintf(path, sizeof(path), "%s/deep/below", folder);
    ti_kernel_cache_init(&cache, path);
    keep(&cache, "a kernel", "code");
    assert_true(finds(&cache, "a kernel", "code"));
    ti_kernel_cache_fini(&cache);
    snprintf(name, sizeof(name), "rm -r '%s/deep'", folder);
    assert_int_equal(system(name), 0);
    snprintf(path, sizeof(path), "%s/file", folder);
    write_file(path, "", 0);
    snprintf(path, sizeof(path), "%s/file/below", folder);
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    ti_kernel_cache_init(&cache, path);
    for (int i = 0; i < 3; i++) {
        keep(&cache, "a kernel", "code");
    }
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(file);
    size_t length = fread(said, 1, sizeof(said) - 1, file);
    said[length] = '\0';
    fclose(file);
    const char *warning = strstr(said, "compiled kernels cannot be kept");
    assert_non_null(warning);
    assert_non_null(strstr(warning, path));
    assert_null(strstr(warning + 1, "compiled kernels"));
    ti_kernel_cache_fini(&cache);
}

int main(void)
{
    ti_log_setup(TI_LOG_WARNING, -1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_kept_is_found, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(damaged_files_are_not_there, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(processes_share_a_directory, make_folder, remove_folder),
        cmocka_unit_test(off_keeps_nothing),
        cmocka_unit_test(the_usual_directory),
        cmocka_unit_test_setup_teardown(a_place_that_cannot_be_written, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
