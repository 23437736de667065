/* Fuzz target: descriptions with sizes up to what an integer holds, planned as any node of up to 64 and not executed
 * (a dry run): no arithmetic on what a program says may overflow. */
#include "fuzz_program.h"

#include "base/config.h"
#include "exec/dry.h"

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

enum { STEPS = 40, MOST_NODES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, data + size };
    fuzz_small_machine();
    int nodes = (int)fuzz_between(&in, 1, 4), node;
    nodes = fuzz_byte(&in) % 8 ? nodes : (int)fuzz_between(&in, 1, MOST_NODES);
    node = (int)fuzz_between(&in, 0, nodes - 1);
    uint8_t how = fuzz_byte(&in);
    tacit_config config = { .dry_run = "1",
                            .workers = how & 4 ? 3 : 1,
                            .host_devices = how % 3 == 0   ? NULL
                                            : how % 3 == 1 ? "2"
                                                           : "2:discrete",
                            .horizon_step = how & 16 ? 1 : 0,
                            .reproducible = how & 32 ? 1 : 0 };
    ti_strbuf why = { 0 };
    tacit_context *ctx;
    FUZZ_REQUIRE(ti_config_resolve(&config, &config, &why) == TACIT_OK);
    FUZZ_REQUIRE(ti_context_create(&config, ti_comm_dry_create(node, nodes), &ctx) == TACIT_OK);
    fuzz_program program = { .steps = STEPS, .vast = true };
    fuzz_program_run(&program, ctx, in.at, (size_t)(in.end - in.at));
    ti_context_discard(ctx);
    return 0;
}
