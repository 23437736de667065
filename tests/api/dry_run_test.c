/* Dry runs: huge ones, what programs see of them, their reports; and that the plan of node K of M is that of node K
 * in a live run of M nodes.
 *
 * `dry_run_test [SEED [COUNT]]`: the random programs that are compared. */
#include "cluster.h"
#include "effort.h"
#include "model_run.h"
#include "plan_digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t first_seed = 1, seeds = EFFORT(40, 15);

static void never(const tacit_launch *k)
{
    (void)k;
    fprintf(stderr, "a dry run has called a kernel\n");
    abort();
}

static tacit_context *start(const char *dry_run, const char *report)
{
    tacit_context *ctx;
    const tacit_config config = { .dry_run = dry_run, .dry_run_report = report, .workers = 2 };
    tacit_status status = tacit_init(&config, &ctx);
    if (status != TACIT_OK) {
        fail_msg("%s", tacit_last_error(NULL));
    }
    assert_true(tacit_is_dry_run(ctx));
    return ctx;
}

/* Steps of a stencil on N x N elements, in two buffers. */
static void stencil(tacit_context *ctx, size_t n, const void *init, int steps, tacit_buffer *buffer[2])
{
    for (int i = 0; i < 2; i++) {
        tacit_buffer_desc desc = {
            .name = i ? "odd" : "even", .range = TACIT_RANGE(n, n), .elem_size = 8, .init = i ? NULL : init
        };
        assert_int_equal(tacit_buffer_create(ctx, &desc, &buffer[i]), TACIT_OK);
    }
    tacit_task task = { .name = "fill", .range = TACIT_RANGE(n, n), .kernel = { .host = never } };
    task.access[0] = tacit_write(buffer[0], tacit_one_to_one());
    assert_int_equal(init ? TACIT_OK : tacit_submit(ctx, &task), TACIT_OK);
    for (int i = 0; i < steps; i++) {
        task.name = "step";
        task.access[0] = tacit_read(buffer[i % 2], tacit_neighborhood(1, 1, 0));
        task.access[1] = tacit_write(buffer[1 - i % 2], tacit_one_to_one());
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
    }
}

/* A million nodes and 8 petabytes. */
static void huge(void **state)
{
    (void)state;
    enum { NODES = 1000000, STEPS = 1000 };
    tacit_context *ctx = start("1000000:500000", NULL);
    tacit_buffer *buffer[2];
    tacit_counters c;
    assert_int_equal(tacit_node(ctx), NODES / 2);
    assert_int_equal(tacit_num_nodes(ctx), NODES);
    stencil(ctx, (size_t)32 * NODES, NULL, STEPS, buffer);
    assert_int_equal(tacit_wait(ctx), TACIT_OK);
    assert_int_equal(tacit_get_counters(ctx, &c), TACIT_OK);
    assert_int_equal(c.messages_sent, 2 * STEPS);
    assert_int_equal(c.messages_received, 2 * STEPS);
    assert_int_equal(c.bytes_sent, (uint64_t)2 * STEPS * 32 * NODES * 8); /* rows */
    assert_int_equal(c.buffer_bytes, 0);
    assert_true(c.allocated_peak < 16 << 20);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* Initial contents are not looked at, and fences give zeros. */
static void contents(void **state)
{
    (void)state;
    enum { N = 64 };
    size_t bytes = (size_t)N * N * 8;
    void *forbidden = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(forbidden != MAP_FAILED);
    tacit_context *ctx = start("16:3", NULL);
    tacit_buffer *buffer[2];
    double value[N][2], expected[N][2] = { { 0 } };
    memset(value, 1, sizeof(value));
    stencil(ctx, N, forbidden, 10, buffer);
    assert_int_equal(tacit_fence_read(ctx, buffer[0], tacit_box2(0, N, 5, 7), value), TACIT_OK);
    assert_memory_equal(value, expected, sizeof(value));
    tacit_fence_ticket *ticket;
    const void *data;
    assert_int_equal(tacit_fence(ctx, buffer[1], tacit_box2(3, 4, 0, 2), &ticket), TACIT_OK);
    assert_int_equal(tacit_fence_get(ticket, &data), TACIT_OK);
    assert_memory_equal(data, expected, 16);
    tacit_fence_release(ticket);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    munmap(forbidden, bytes);
}

/* What is wrong is refused as in a live run. */
static void errors(void **state)
{
    (void)state;
    tacit_context *ctx = start("4", NULL);
    tacit_buffer *buffer[2];
    stencil(ctx, 16, NULL, 0, buffer);
    tacit_task task = { .name = "early", .range = TACIT_RANGE(16, 16), .kernel = { .host = never } };
    task.access[0] = tacit_read(buffer[1], tacit_all());
    assert_int_equal(tacit_submit(ctx, &task), TACIT_ERROR_UNINITIALIZED);
    assert_non_null(strstr(tacit_last_error(ctx), "nobody has written"));
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void malformed(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "0", "-1", "x", "4:4", "4:-1", "4:", "4 ", " 4", "4:1:1", "100000001", "99999999999999999999"
    };
    for (size_t i = 0; i < TI_COUNT(wrong); i++) {
        tacit_context *ctx;
        const tacit_config config = { .dry_run = wrong[i] };
        assert_int_equal(tacit_init(&config, &ctx), TACIT_ERROR_CONFIG);
        assert_non_null(strstr(tacit_last_error(NULL), "must be NODES or NODES:NODE"));
    }
}

static char *read_file(const char *path)
{
    static char text[65536];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    return text;
}

static void report(void **state)
{
    (void)state;
    char path[] = "dry_run_report_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    tacit_context *ctx = start("16:3", path);
    tacit_buffer *buffer[2];
    stencil(ctx, 64, NULL, 10, buffer);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    static const char *const expected[] = {
        "\"dry_run\": true",
        "\"nodes\": 16,",
        "\"node\": 3,",
        "\"workers\": 2,",
        "\"execute\": 11,",
        "\"messages_sent\": 20,",
        "\"bytes_sent\": 10240,",
        "\"peers\": 2,",
        "\"horizon_front\": 1024,",
        "\"collective_host\": 0, \"send\": 20, \"receive\": 20,",
        "\"items\": 2816,",
        "\"kernel\": 11,",
        "\"name\": \"step\", \"kernels\": 10, \"items\": 2560,",
    };
    char *text = read_file(path);
    unlink(path);
    for (size_t i = 0; i < TI_COUNT(expected); i++) {
        if (!strstr(text, expected[i])) {
            fail_msg("the report does not contain %s:\n%s", expected[i], text);
        }
    }
}

static void report_cannot_be_written(void **state)
{
    (void)state;
    tacit_context *ctx = start("2", "/no/such/folder/report");
    assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_CONFIG);
}

/* ---- dry plans are live plans */

typedef struct member {
    pthread_t thread;
    ti_comm *comm;
    const tacit_config *config;
    const gen_program *program;
    const oracle *truth;
    plan_digest plan;
} member;

static void *run_member(void *user)
{
    member *m = user;
    tacit_context *ctx;
    model_result result = { 0 };
    tacit_config resolved = cluster_config(m->config);
    bool dry = resolved.dry_run != NULL;
    REQUIRE(ti_context_create(&resolved, m->comm, &ctx) == TACIT_OK);
    plan_digest_init(&m->plan);
    ti_runtime_tap(ctx->runtime, &m->plan.tap, NULL);
    model_run(ctx, m->program, m->truth, NULL, &result);
    if (result.failed && !dry) { /* the values of a dry run are wrong */
        fprintf(stderr, "%s\n", result.why);
        abort();
    }
    REQUIRE(tacit_finalize(ctx) == TACIT_OK);
    REQUIRE(model_end(&result));
    return NULL;
}

static void run_live(member *members, int nodes, bool machines)
{
    local_hub *hub = local_hub_create(nodes, 4096, 1 << 20, 0);
    for (int i = 0; i < nodes; i++) {
        members[i].comm = local_comm_create(hub, i);
        members[i].comm->local_nodes = machines ? 1 : nodes;
        members[i].comm->local_node = machines ? 0 : i;
    }
    for (int i = 0; i < nodes; i++) {
        REQUIRE(pthread_create(&members[i].thread, NULL, run_member, &members[i]) == 0);
    }
    for (int i = 0; i < nodes; i++) {
        REQUIRE(pthread_join(members[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
}

static void compare_node(const member *live, int node, int nodes, uint64_t seed)
{
    tacit_config config = *live->config;
    config.dry_run = "as the network says";
    config.explain = config.explain ? NULL : "/dev/null"; /* which changes no plan */
    member dry = {
        .comm = ti_comm_dry_create(node, nodes), .config = &config, .program = live->program, .truth = live->truth
    };
    run_member(&dry);
    const char *difference = plan_digest_difference(&live->plan, &dry.plan);
    if (difference) {
        fprintf(stderr, "seed %llu, node %d of %d: %s\n", (unsigned long long)seed, node, nodes, difference);
        abort();
    }
    plan_digest_fini(&dry.plan);
}

static int nodes_for(uint64_t seed)
{
    static const int nodes[] = { 2, 3, 4, 5, 7, 8, 13, 16, 1, 33 };
    return seed % 40 == 0 ? 64 : nodes[seed % TI_COUNT(nodes)];
}

static uint64_t compare_program(uint64_t seed)
{
    gen_rng r = { gen_mix(seed ^ 0xd27) };
    int nodes = nodes_for(seed);
    gen_options options = { .seed = seed, .nodes = nodes, .steps = nodes > 20 ? 12 : 30, .public_rules = true };
    gen_program *program = gen_create(&options);
    oracle truth;
    tacit_config config;
    uint64_t messages = 0;
    member *live = TI_NEW_ARRAY(member, (size_t)nodes);
    oracle_run(&truth, program);
    char balance[MODEL_BALANCE];
    model_config(&r, &config);
    model_balance(&r, nodes, balance, &config);
    /* Which measure in live runs. */
    config.balance = strcmp(balance, "auto") == 0 ? NULL : balance;
    config.latency = config.latency && strcmp(config.latency, "auto") == 0 ? NULL : config.latency;
    /* Whether a window of allocations is closed because nothing comes depends on time. */
    config.lookahead = config.lookahead == TACIT_LOOKAHEAD_OFF ? TACIT_LOOKAHEAD_OFF : TACIT_LOOKAHEAD_FULL;
    /* A dry run takes each node to have a machine and threads of its own, which these have only if they are told. */
    const bool machines = gen_chance(&r, 50);
    config.threads = machines ? TACIT_THREADS_ON : config.threads;
    config.multicast = machines || config.multicast > TACIT_MULTICAST_AUTO ? config.multicast : TACIT_MULTICAST_OFF;
    config.workers = TI_MAX(config.workers, 1); /* which would follow from the cores of the machine */
    for (int i = 0; i < nodes; i++) {
        live[i] = (member){ .config = &config, .program = program, .truth = &truth };
    }
    run_live(live, nodes, machines);
    for (int i = 0; i < nodes; i++) {
        compare_node(&live[i], i, nodes, seed);
        messages += live[i].plan.messages;
        plan_digest_fini(&live[i].plan);
    }
    ti_free(live, (size_t)nodes * sizeof(member));
    oracle_fini(&truth);
    gen_destroy(program);
    return messages;
}

static void dry_plan_is_live_plan(void **state)
{
    (void)state;
    uint64_t messages = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        messages += compare_program(seed);
    }
    assert_true(messages > seeds);
}

int main(int argc, char **argv)
{
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : first_seed;
    seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : seeds;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge),
        cmocka_unit_test(contents),
        cmocka_unit_test(errors),
        cmocka_unit_test(malformed),
        cmocka_unit_test(report),
        cmocka_unit_test(report_cannot_be_written),
        cmocka_unit_test(dry_plan_is_live_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
