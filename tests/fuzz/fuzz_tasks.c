/* Fuzz target: descriptions of everything, executed on one to three nodes in this process, with one or two devices.
 * All nodes get the same statuses, nothing crashes, and nothing waits for ever (the timeout of libFuzzer). */
#include "fuzz_program.h"

#include "base/config.h"
#include "local_comm.h"

#include <pthread.h>

/* Buffers too large for the sanitizer's allocator. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

enum { MOST_NODES = 3, STEPS = 40 };

typedef struct node {
    pthread_t thread;
    ti_comm *comm;
    tacit_config config;
    const uint8_t *data;
    size_t size;
    uint64_t statuses;
} node;

static void *node_main(void *user)
{
    node *n = user;
    tacit_context *ctx;
    fuzz_program program = { .steps = STEPS };
    FUZZ_REQUIRE(ti_context_create(&n->config, n->comm, &ctx) == TACIT_OK);
    fuzz_program_run(&program, ctx, n->data, n->size);
    n->statuses = program.statuses;
    FUZZ_REQUIRE(tacit_finalize(ctx) == TACIT_OK);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, data + size };
    fuzz_small_machine();
    int nodes = (int)fuzz_between(&in, 1, MOST_NODES);
    uint8_t how = fuzz_byte(&in);
    tacit_config config = { .threads = TACIT_THREADS_INLINE,
                            .host_devices = how % 3 == 0   ? NULL
                                            : how % 3 == 1 ? "2"
                                                           : "2:discrete",
                            .horizon_step = how & 16 ? 1 : 0,
                            .reproducible = how & 32 ? 1 : 0,
                            .early_bytes = how & 64 ? 1024 : 0 };
    ti_strbuf why = { 0 };
    node n[MOST_NODES];
    FUZZ_REQUIRE(ti_config_resolve(&config, &config, &why) == TACIT_OK);
    local_hub *hub = local_hub_create(nodes, how & 128 ? 1 : 1024, 1 << 12, 0);
    for (int i = 0; i < nodes; i++) {
        n[i] = (node){
            .comm = local_comm_create(hub, i), .config = config, .data = in.at, .size = (size_t)(in.end - in.at)
        };
    }
    for (int i = 1; i < nodes; i++) {
        FUZZ_REQUIRE(pthread_create(&n[i].thread, NULL, node_main, &n[i]) == 0);
    }
    node_main(&n[0]);
    for (int i = 1; i < nodes; i++) {
        FUZZ_REQUIRE(pthread_join(n[i].thread, NULL) == 0);
        FUZZ_REQUIRE(n[i].statuses == n[0].statuses);
    }
    local_hub_destroy(hub);
    return 0;
}
