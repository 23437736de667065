/* Sets of cores: lists as text, who shares which, and that nobody gets cores that another one has. */
#include "base/cores.h"

#include "random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ti_cores some(const char *text)
{
    ti_cores cores;
    assert_true(ti_cores_parse(text, &cores));
    return cores;
}

static void lists(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "a", "1,", ",1", "3-1", "1-", "-1", "1024", "0-1024", "1 2", "1;2", "0x1", "99999999999999999999"
    };
    ti_cores cores = some("0-2,5,63-64,1023");
    assert_int_equal(ti_cores_count(&cores), 7);
    for (int core = -1; core <= TI_MAX_CORES; core++) {
        bool has = (core >= 0 && core <= 2) || core == 5 || core == 63 || core == 64 || core == 1023;
        assert_int_equal(ti_cores_has(&cores, core), has);
    }
    for (size_t i = 0; i < TI_COUNT(wrong); i++) {
        assert_false(ti_cores_parse(wrong[i], &cores));
    }
}

static void shares(void **state)
{
    (void)state;
    int before = -1;
    const ti_cores alike[] = { some("0-3"), some("4-7"), some("0-3"), some("0-3") };
    assert_int_equal(ti_cores_sharing(alike, 4, 0, &before), 3);
    assert_int_equal(before, 0);
    assert_int_equal(ti_cores_sharing(alike, 4, 3, &before), 3);
    assert_int_equal(before, 2);
    assert_int_equal(ti_cores_sharing(alike, 4, 1, &before), 1);
    assert_int_equal(before, 0);
    const ti_cores crossed[] = { some("0-3"), some("3-7"), some("8") };
    assert_int_equal(ti_cores_sharing(crossed, 3, 0, &before), 0);
    assert_int_equal(ti_cores_sharing(crossed, 3, 1, &before), 0);
    assert_int_equal(ti_cores_sharing(crossed, 3, 2, &before), 1);
}

/* Whether another process could have them now. */
static bool other_may_take(const ti_cores *cores)
{
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(ti_cores_take(cores) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

/* A child inherits what its parent has taken, so children here are made while nothing is taken, and wait. */
static void taken_by_one(void **state)
{
    (void)state;
    const ti_cores low = some("0-1"), high = some("2-9"), middle = some("1-2");
    int go[2];
    char byte;
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(go[1]);
        bool asked = read(go[0], &byte, 1) == 1;
        _exit(asked && !ti_cores_take(&middle) && !ti_cores_take(&low) && ti_cores_take(&high) ? 0 : 1);
    }
    close(go[0]);
    assert_true(ti_cores_take(&low));
    assert_false(ti_cores_take(&low));
    assert_false(ti_cores_take(&middle));
    assert_int_equal(write(go[1], "x", 1), 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(go[1]);
    assert_true(ti_cores_take(&high)); /* the child has ended without giving them back */
    ti_cores_give_back(&low);
    assert_true(ti_cores_take(&low));
    ti_cores_give_back(&high);
    ti_cores_give_back(&low);
    assert_true(other_may_take(&middle));
}

/* What is refused leaves nothing behind. */
static void refused_as_a_whole(void **state)
{
    (void)state;
    const ti_cores last = some("7"), all = some("0-7"), rest = some("0-6");
    assert_true(ti_cores_take(&last));
    assert_false(ti_cores_take(&all));
    assert_true(ti_cores_take(&rest));
    ti_cores_give_back(&rest);
    ti_cores_give_back(&last);
    assert_true(ti_cores_take(&all));
    ti_cores_give_back(&all);
}

static void threads(void **state)
{
    (void)state;
    ti_cores before, one = { .word = { 0 } }, now;
    ti_cores_of_process(&before);
    assert_true(ti_cores_count(&before) >= 1);
    int first = 0;
    while (!ti_cores_has(&before, first)) {
        first++;
    }
    ti_cores_add(&one, first);
    assert_true(ti_cores_take(&one));
    ti_cores_bind(0, &one);
    ti_cores_of_thread(&now);
    assert_memory_equal(&now, &one, sizeof(now));
    ti_cores_of_process(&now); /* still what it was */
    assert_memory_equal(&now, &before, sizeof(now));
    ti_cores_bind(ti_cores_thread(), &before);
    ti_cores_of_thread(&now);
    assert_memory_equal(&now, &before, sizeof(now));
    ti_cores_give_back(&one);
}

/* Other tests take cores, too: here, these find each other in a folder of their own. */
static int in_own_folder(void **state)
{
    static char folder[] = "cores_test.XXXXXX";
    (void)state;
    return mkdtemp(folder) && setenv("XDG_RUNTIME_DIR", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[100];
    const char *folder = getenv("XDG_RUNTIME_DIR");
    snprintf(path, sizeof(path), "%s/tacit-cores-%ld", folder, (long)getuid());
    return unlink(path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists), cmocka_unit_test(shares),
                                        cmocka_unit_test(taken_by_one), cmocka_unit_test(refused_as_a_whole),
                                        cmocka_unit_test(threads) };
    return cmocka_run_group_tests(tests, in_own_folder, remove_folder);
}
