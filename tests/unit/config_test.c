/* Settings: the environment wins over the program, the program over the default; misspelled names and malformed values
 * are refused with a sentence that helps. */
#include "base/config.h"

#include "random.h"

#include <string.h>

extern char **environ;

/* No variable of this project is set. */
static int without_settings(void **state)
{
    (void)state;
    for (char **e = environ; *e;) {
        if (strncmp(*e, "TACIT_", 6) == 0) {
            char *name = strdup(*e);
            *strchr(name, '=') = '\0';
            unsetenv(name);
            free(name);
            e = environ;
        } else {
            e++;
        }
    }
    return 0;
}

static void expect_ok(const tacit_config *from, tacit_config *out)
{
    ti_strbuf why = { 0 };
    assert_int_equal(ti_config_resolve(from, out, &why), TACIT_OK);
    assert_string_equal(ti_strbuf_text(&why), "");
    ti_strbuf_fini(&why);
}

/* The sentence of the refusal contains both words. */
static void expect_refusal(const tacit_config *from, const char *word, const char *other)
{
    tacit_config out;
    ti_strbuf why = { 0 };
    assert_int_equal(ti_config_resolve(from, &out, &why), TACIT_ERROR_CONFIG);
    assert_non_null(strstr(ti_strbuf_text(&why), word));
    assert_non_null(strstr(ti_strbuf_text(&why), other));
    ti_strbuf_fini(&why);
}

static void defaults(void **state)
{
    (void)state;
    tacit_config out, zero = { 0 };
    expect_ok(NULL, &out);
    assert_int_equal(out.run_ahead, 8);
    assert_int_equal(out.horizon_step, 4);
    assert_int_equal(out.early_bytes, 1 << 20);
    assert_int_equal(out.log, 2);
    expect_ok(&zero, &out);
    assert_int_equal(out.run_ahead, 8);
}

static void environment_wins(void **state)
{
    (void)state;
    tacit_config out,
        from = { .workers = 3, .run_ahead = 5, .early_bytes = 4096, .graph = "mine", .trace = "here", .log = 1 };
    expect_ok(&from, &out);
    assert_int_equal(out.workers, 3);
    assert_int_equal(out.run_ahead, 5);
    assert_int_equal(out.early_bytes, 4096);
    assert_string_equal(out.graph, "mine");
    assert_string_equal(out.trace, "here");
    assert_int_equal(out.log, 1);
    setenv("TACIT_WORKERS", "7", 1);
    setenv("TACIT_EARLY_BYTES", "2M", 1);
    setenv("TACIT_GRAPH", "theirs", 1);
    setenv("TACIT_TRACE", "there", 1);
    setenv("TACIT_LOG", "debug", 1);
    setenv("TACIT_PROGRESS", "thread", 1);
    setenv("TACIT_THREADS", "0", 1);
    expect_ok(&from, &out);
    assert_int_equal(out.workers, 7);
    assert_int_equal(out.run_ahead, 5);
    assert_int_equal(out.early_bytes, 2 << 20);
    assert_string_equal(out.graph, "theirs");
    assert_string_equal(out.trace, "there");
    assert_int_equal(out.log, 4);
    assert_int_equal(out.progress, TACIT_PROGRESS_THREAD);
    assert_int_equal(out.threads, TACIT_THREADS_INLINE);
    setenv("TACIT_THREADS", "1", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.threads, TACIT_THREADS_ON);
    assert_int_equal(out.advice, TACIT_ADVICE_DEFAULT);
    setenv("TACIT_ADVICE", "0", 1);
    expect_ok(&(tacit_config){ .advice = TACIT_ADVICE_ON }, &out);
    assert_int_equal(out.advice, TACIT_ADVICE_OFF);
    setenv("TACIT_ADVICE", "1", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.advice, TACIT_ADVICE_ON);
    setenv("TACIT_ADVICE", "yes", 1);
    expect_refusal(NULL, "TACIT_ADVICE", "0|1");
    unsetenv("TACIT_ADVICE");
    assert_int_equal(out.reproducible, 0);
    setenv("TACIT_REPRODUCIBLE", "1", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.reproducible, 1);
    setenv("TACIT_REPRODUCIBLE", "0", 1);
    expect_ok(&(tacit_config){ .reproducible = 1 }, &out);
    assert_int_equal(out.reproducible, 0);
    assert_int_equal(out.check_pure, 0);
    setenv("TACIT_CHECK_PURE", "1", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.check_pure, 1);
    setenv("TACIT_CHECK_PURE", "2", 1);
    expect_refusal(NULL, "TACIT_CHECK_PURE", "0|1");
    unsetenv("TACIT_CHECK_PURE");
    assert_int_equal(out.overlap, TACIT_OVERLAP_AUTO);
    assert_int_equal(out.device_mpi, TACIT_DEVICE_MPI_AUTO);
    assert_int_equal(out.nccl, TACIT_NCCL_AUTO);
    setenv("TACIT_NCCL", "on", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.nccl, TACIT_NCCL_ON);
    setenv("TACIT_NCCL", "yes", 1);
    expect_refusal(NULL, "TACIT_NCCL", "auto|on|off");
    unsetenv("TACIT_NCCL");
    assert_int_equal(out.local_messages, TACIT_LOCAL_MESSAGES_AUTO);
    setenv("TACIT_LOCAL_MESSAGES", "mpi", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.local_messages, TACIT_LOCAL_MESSAGES_MPI);
    setenv("TACIT_LOCAL_MESSAGES", "on", 1);
    expect_refusal(NULL, "TACIT_LOCAL_MESSAGES", "auto|mpi");
    unsetenv("TACIT_LOCAL_MESSAGES");
    assert_int_equal(out.rounds, TACIT_ROUNDS_AUTO);
    setenv("TACIT_ROUNDS", "off", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.rounds, TACIT_ROUNDS_OFF);
    setenv("TACIT_ROUNDS", "1", 1);
    expect_refusal(NULL, "TACIT_ROUNDS", "auto|on|off");
    unsetenv("TACIT_ROUNDS");
    setenv("TACIT_OVERLAP", "on", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.overlap, TACIT_OVERLAP_ON);
    setenv("TACIT_OVERLAP", "off", 1);
    expect_ok(&(tacit_config){ .overlap = TACIT_OVERLAP_ON }, &out);
    assert_int_equal(out.overlap, TACIT_OVERLAP_OFF);
    setenv("TACIT_OVERLAP", "1", 1);
    expect_refusal(NULL, "TACIT_OVERLAP", "auto|on|off");
    unsetenv("TACIT_OVERLAP");
    setenv("TACIT_REPRODUCIBLE", "yes", 1);
    expect_refusal(NULL, "TACIT_REPRODUCIBLE", "0|1");
}

static void units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } good[] = { { "1024", 1024 }, { "1k", 1024 }, { "3M", 3 << 20 }, { "2G", (size_t)2 << 30 } };
    tacit_config out;
    for (size_t i = 0; i < TI_COUNT(good); i++) {
        setenv("TACIT_EARLY_BYTES", good[i].text, 1);
        expect_ok(NULL, &out);
        assert_int_equal(out.early_bytes, good[i].bytes);
    }
    static const char *const bad[] = { "", "k", "12x", "1kk", "1MB", "-1k", "10", "99999999999999999999", "1.5M" };
    for (size_t i = 0; i < TI_COUNT(bad); i++) {
        setenv("TACIT_EARLY_BYTES", bad[i], 1);
        expect_refusal(NULL, "TACIT_EARLY_BYTES", "must be 1024 bytes (1k) to 1T, with k, M, G or T");
    }
}

static void malformed_values(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "TACIT_WORKERS", "" },       { "TACIT_WORKERS", "0" },         { "TACIT_WORKERS", "-3" },
        { "TACIT_WORKERS", "many" },   { "TACIT_WORKERS", "4 cores" },   { "TACIT_WORKERS", "4k" },
        { "TACIT_WORKERS", "100000" }, { "TACIT_THREADS", "2" },         { "TACIT_THREADS", "yes" },
        { "TACIT_PROGRESS", "" },      { "TACIT_PROGRESS", "Thread" },   { "TACIT_LOG", "loud" },
        { "TACIT_GRAPH", "" },         { "TACIT_HORIZON_STEP", "0x10" }, { "TACIT_LOG", "" },
    };
    for (size_t i = 0; i < TI_COUNT(bad); i++) {
        setenv(bad[i][0], bad[i][1], 1);
        expect_refusal(NULL, bad[i][0], "must be");
        unsetenv(bad[i][0]);
    }
    expect_refusal(&(tacit_config){ .workers = -1 }, "tacit_config", "TACIT_WORKERS");
    expect_refusal(&(tacit_config){ .workers = 1000000 }, "tacit_config", "1..4096");
    expect_refusal(&(tacit_config){ .progress = 3 }, "tacit_config", "shared|thread");
    expect_refusal(&(tacit_config){ .threads = 7 }, "tacit_config", "TACIT_THREADS");
    expect_refusal(&(tacit_config){ .log = 9 }, "tacit_config", "TACIT_LOG");
}

static void memory_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* on a machine of 1000 MiB */
    } good[] = { { "1", 1 },
                 { "4096", 4096 },
                 { "64k", 64 << 10 },
                 { "64K", 64 << 10 },
                 { "12M", 12 << 20 },
                 { "3G", (uint64_t)3 << 30 },
                 { "2T", (uint64_t)2 << 40 },
                 { "100%", 1000 << 20 },
                 { "80%", 800 << 20 },
                 { "1%", 10 << 20 } };
    tacit_config out;
    uint64_t bytes;
    expect_ok(NULL, &out);
    assert_null(out.memory_limit);
    for (size_t i = 0; i < TI_COUNT(good); i++) {
        setenv("TACIT_MEMORY_LIMIT", good[i].text, 1);
        expect_ok(&(tacit_config){ .memory_limit = "7" }, &out);
        assert_string_equal(out.memory_limit, good[i].text);
        assert_true(ti_config_memory(out.memory_limit, 1000 << 20, &bytes));
        assert_true(bytes == good[i].bytes);
    }
    static const char *const bad[] = { "",     "0",    "0k",  "-1", "%",   "0%", "101%", "-5%",       "8 0%", "80 %",
                                       "80%%", "1.5G", "1GB", "G",  "12x", "1P", "+1G",  "99999999T", "1k%",  "half" };
    for (size_t i = 0; i < TI_COUNT(bad); i++) {
        setenv("TACIT_MEMORY_LIMIT", bad[i], 1);
        expect_refusal(NULL, "TACIT_MEMORY_LIMIT", "bytes, with k, M, G or T, or 1% to 100%");
    }
    unsetenv("TACIT_MEMORY_LIMIT");
    expect_refusal(&(tacit_config){ .memory_limit = "lots" }, "tacit_config", "TACIT_MEMORY_LIMIT");
    setenv("TACIT_MEMORY_LIMITS", "1G", 1);
    expect_refusal(NULL, "there is no setting TACIT_MEMORY_LIMITS", "did you mean TACIT_MEMORY_LIMIT?");
}

static void lookahead(void **state)
{
    (void)state;
    tacit_config out;
    setenv("TACIT_LOOKAHEAD", "off", 1);
    expect_ok(NULL, &out);
    assert_int_equal(out.lookahead, TACIT_LOOKAHEAD_OFF);
    setenv("TACIT_LOOKAHEAD", "full", 1);
    expect_ok(&(tacit_config){ .lookahead = TACIT_LOOKAHEAD_OFF }, &out);
    assert_int_equal(out.lookahead, TACIT_LOOKAHEAD_FULL);
    setenv("TACIT_LOOKAHEAD", "yes", 1);
    expect_refusal(NULL, "TACIT_LOOKAHEAD", "off|on|full");
    unsetenv("TACIT_LOOKAHEAD");
    expect_refusal(&(tacit_config){ .lookahead = 4 }, "tacit_config", "TACIT_LOOKAHEAD");
}

/* Where compiled kernels are kept is any text, what devices may allocate an amount. */
static void devices(void **state)
{
    (void)state;
    tacit_config out;
    expect_ok(NULL, &out);
    assert_null(out.kernel_cache);
    assert_null(out.device_memory);
    setenv("TACIT_KERNEL_CACHE", "off", 1);
    setenv("TACIT_DEVICE_MEMORY", "80%", 1);
    expect_ok(&(tacit_config){ .kernel_cache = "/mine", .device_memory = "3G" }, &out);
    assert_string_equal(out.kernel_cache, "off");
    assert_string_equal(out.device_memory, "80%");
    setenv("TACIT_DEVICE_MEMORY", "101%", 1);
    expect_refusal(NULL, "TACIT_DEVICE_MEMORY", "1% to 100% of the device's memory");
    unsetenv("TACIT_DEVICE_MEMORY");
    setenv("TACIT_KERNEL_CACHE", "", 1);
    expect_refusal(NULL, "TACIT_KERNEL_CACHE", "directory, or off");
    unsetenv("TACIT_KERNEL_CACHE");
    expect_refusal(&(tacit_config){ .device_memory = "lots" }, "tacit_config", "TACIT_DEVICE_MEMORY");
}

/* Each word of "off|on|full" is a value of its own, which the program may give, too; parts of it and other words are
 * none. */
static void words(void **state)
{
    (void)state;
    const ti_setting *setting;
    int checked = 0;
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        tacit_config out, before;
        if (!strchr(setting->values, '|')) {
            continue;
        }
        char copy[100];
        snprintf(copy, sizeof(copy), "%s", setting->values);
        for (char *word = strtok(copy, "|"); word; word = strtok(NULL, "|"), checked++) {
            char longer[110];
            setenv(setting->name, word, 1);
            expect_ok(NULL, &before);
            unsetenv(setting->name);
            expect_ok(&before, &out);
            assert_memory_equal(&out, &before, sizeof(out));
            snprintf(longer, sizeof(longer), "%s|", word);
            setenv(setting->name, longer, 1);
            expect_refusal(NULL, setting->name, setting->values);
        }
        setenv(setting->name, setting->values, 1);
        expect_refusal(NULL, setting->name, setting->values);
        setenv(setting->name, "", 1);
        expect_refusal(NULL, setting->name, setting->values);
        unsetenv(setting->name);
    }
    assert_int_equal(checked, 52);
}

/* Every name with one letter wrong, missing or too many leads back to the name. */
static void nearest_name(void **state)
{
    (void)state;
    const ti_setting *setting;
    assert_non_null(ti_config_setting(5));
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        size_t length = strlen(setting->name);
        char wrong[100], hint[120];
        snprintf(hint, sizeof(hint), "did you mean %s?", setting->name);
        for (int kind = 0; kind < 3; kind++) {
            size_t at = 6 + (length - 6) / 2;
            snprintf(wrong, sizeof(wrong), "%.*sQ%s", (int)at, setting->name, setting->name + at + (kind == 0));
            if (kind == 2) {
                snprintf(wrong, sizeof(wrong), "%.*s%s", (int)at, setting->name, setting->name + at + 1);
            }
            setenv(wrong, "1", 1);
            expect_refusal(NULL, wrong, hint);
            unsetenv(wrong);
        }
    }
}

static void table_is_complete(void **state)
{
    (void)state;
    const ti_setting *setting;
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        assert_int_equal(strncmp(setting->name, "TACIT_", 6), 0);
        assert_true(setting->values && *setting->values && setting->initial && *setting->initial);
        assert_true(setting->help && *setting->help);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(setting->name, ti_config_setting(j)->name);
        }
    }
}

/* Default, program, environment: each wins over the one before. */
static void sources(void **state)
{
    (void)state;
    const ti_setting *setting;
    const tacit_config zero = { 0 };
    tacit_config from;
    memset(&from, 1, sizeof(from)); /* no field is zero; none is looked at otherwise */
    for (size_t i = 0; (setting = ti_config_setting(i)); i++) {
        assert_int_equal(ti_config_source(i, NULL), TI_FROM_DEFAULT);
        assert_int_equal(ti_config_source(i, &zero), TI_FROM_DEFAULT);
        assert_int_equal(ti_config_source(i, &from), TI_FROM_PROGRAM);
        setenv(setting->name, "1", 1);
        assert_int_equal(ti_config_source(i, NULL), TI_FROM_ENVIRONMENT);
        assert_int_equal(ti_config_source(i, &from), TI_FROM_ENVIRONMENT);
        unsetenv(setting->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, without_settings),
        cmocka_unit_test_setup(environment_wins, without_settings),
        cmocka_unit_test_setup(units, without_settings),
        cmocka_unit_test_setup(malformed_values, without_settings),
        cmocka_unit_test_setup(memory_limits, without_settings),
        cmocka_unit_test_setup(lookahead, without_settings),
        cmocka_unit_test_setup(devices, without_settings),
        cmocka_unit_test_setup(words, without_settings),
        cmocka_unit_test_setup(nearest_name, without_settings),
        cmocka_unit_test(table_is_complete),
        cmocka_unit_test_setup(sources, without_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
