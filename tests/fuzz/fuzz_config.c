/* Fuzz target: settings, as strings of the environment and as fields of tacit_config. What is refused is so with a
 * sentence; with what is accepted a context starts and ends (inline: no threads, no files, no MPI). */
#include "fuzz_input.h"

#include "api/context.h"
#include "base/config.h"
#include "run/dry_run.h"

#include <string.h>

enum { MOST_VARIABLES = 4, LONGEST = 48 };

/* A string without NUL, of letters that settings are made of if the first byte says so. */
static void take_text(fuzz_input *in, char *out)
{
    static const char likely[] = "0123456789kMG:-+ discretesharedthreaderrorwarningTACIT_xX,.openclcuda/";
    bool any = fuzz_byte(in) % 4 == 0;
    int n = (int)fuzz_between(in, 0, LONGEST - 1);
    for (int i = 0; i < n; i++) {
        uint8_t b = fuzz_byte(in);
        char c = any ? (char)b : likely[b % (sizeof(likely) - 1)];
        out[i] = c ? c : '0';
    }
    out[n] = '\0';
}

/* The name of a setting, or nearly so. */
static void take_name(fuzz_input *in, char *out)
{
    size_t count = 0;
    while (ti_config_setting(count)) {
        count++;
    }
    const ti_setting *s = ti_config_setting(fuzz_byte(in) % count);
    snprintf(out, LONGEST, "%s", s->name);
    uint8_t change = fuzz_byte(in);
    if (change < 32 && out[6]) {
        out[6 + change % (strlen(out) - 6)] = (char)('A' + fuzz_byte(in) % 26);
    }
}

/* Mostly small, sometimes anything. */
static int take_int(fuzz_input *in)
{
    return fuzz_byte(in) % 8 ? (int)fuzz_between(in, -2, 40) : (int)fuzz_word(in);
}

static const char *maybe(fuzz_input *in, const char *text)
{
    return fuzz_byte(in) & 1 ? text : NULL;
}

static void fill_fields(fuzz_input *in, tacit_config *c, char texts[5][LONGEST])
{
    *c = (tacit_config){
        .workers = take_int(in),
        .threads = take_int(in),
        .progress = take_int(in),
        .run_ahead = take_int(in),
        .horizon_step = take_int(in),
        .horizon_front = take_int(in),
        .early_bytes = (size_t)fuzz_number(in),
        .watchdog = take_int(in),
        .log = take_int(in),
        .reproducible = take_int(in),
        .host_devices = maybe(in, texts[0]),
        .devices = maybe(in, texts[0]),
        .graph = maybe(in, texts[1]),
        .graph_tasks = maybe(in, texts[2]),
        .trace = maybe(in, texts[1]),
        .dry_run = maybe(in, texts[3]),
        .multicast = take_int(in),
        .latency = maybe(in, texts[4]),
        .pin = maybe(in, texts[4]),
        .kernel_cache = maybe(in, texts[4]),
        .device_memory = maybe(in, texts[4]),
        .comm_delay = take_int(in),
        .advice = take_int(in),
        .check_pure = take_int(in),
        .latency_tile = maybe(in, texts[4]),
        .overlap = take_int(in),
        .device_mpi = take_int(in),
        .nccl = take_int(in),
        .local_messages = take_int(in),
        .rounds = take_int(in),
        .balance = maybe(in, texts[4]),
    };
}

/* With settings that were accepted. What they must not do here is taken out: threads and files. */
static void start(tacit_config config)
{
    int nodes = 1, node = 0;
    ti_strbuf why = { 0 };
    bool good = !config.dry_run || ti_dry_run_parse(config.dry_run, &nodes, &node, &why);
    FUZZ_REQUIRE(good == (why.length == 0));
    ti_strbuf_fini(&why);
    tacit_context *ctx;
    config.threads = TACIT_THREADS_INLINE;
    config.progress = TACIT_PROGRESS_DEFAULT;
    config.workers = config.workers > 1 ? 1 : config.workers;
    config.devices = config.devices && (strstr(config.devices, "opencl:") || strstr(config.devices, "cuda:") ||
                                        strcmp(config.devices, "auto") == 0)
                         ? NULL
                         : config.devices; /* a driver's own */
    config.graph = NULL;
    config.trace = NULL;
    config.explain = NULL;
    config.dry_run = NULL;
    tacit_status status = good ? ti_context_create(&config, ti_comm_self_create(), &ctx) : TACIT_ERROR_CONFIG;
    if (status == TACIT_OK) {
        FUZZ_REQUIRE(tacit_finalize(ctx) == TACIT_OK);
    } else {
        FUZZ_REQUIRE(status == TACIT_ERROR_CONFIG && (!good || tacit_last_error(NULL)[0]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, data + size };
    fuzz_small_machine();
    char names[MOST_VARIABLES][LONGEST], texts[5][LONGEST], value[LONGEST];
    int variables = (int)fuzz_between(&in, 0, MOST_VARIABLES);
    for (int i = 0; i < variables; i++) {
        take_name(&in, names[i]);
        take_text(&in, value);
        setenv(names[i], value, 1);
    }
    tacit_config given = { 0 }, resolved;
    for (int i = 0; i < 5; i++) {
        take_text(&in, texts[i]);
    }
    if (fuzz_byte(&in) & 1) {
        fill_fields(&in, &given, texts);
    }
    ti_strbuf why = { 0 };
    tacit_status status = ti_config_resolve(&given, &resolved, &why);
    FUZZ_REQUIRE(status == TACIT_OK || status == TACIT_ERROR_CONFIG);
    FUZZ_REQUIRE((status == TACIT_OK) == (why.length == 0));
    for (size_t i = 0; ti_config_setting(i); i++) {
        (void)ti_config_source(i, &given);
    }
    if (status == TACIT_OK) {
        start(resolved);
    }
    ti_strbuf_fini(&why);
    for (int i = 0; i < variables; i++) {
        unsetenv(names[i]);
    }
    return 0;
}
