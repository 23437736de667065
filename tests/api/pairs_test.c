/* Several accesses of one task to one buffer: which are taken, and that a buffer can grow row by row out of its own
 * earlier rows. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, COLUMNS = 30 };

/* Row t is the sum of all earlier rows, column by column, and of the left neighbours of the row before. */
static void append_row(const tacit_launch *k)
{
    const size_t t = *(const size_t *)k->args;
    const tacit_view earlier = k->view[0], row = k->view[1];
    for (size_t j = k->chunk.min[0]; j < k->chunk.max[0]; j++) {
        uint64_t sum = 0;
        for (size_t s = 0; s < t; s++) {
            sum += TACIT_GET2(uint64_t, earlier, s, j);
        }
        TACIT_AT2(uint64_t, row, t, j) = sum +
                                         (j > earlier.box.min[1] ? TACIT_GET2(uint64_t, earlier, t - 1, j - 1) : 0) % 7;
    }
}

static void grow(tacit_context *ctx, void *user)
{
    (void)user;
    static const uint64_t zeros[ROWS * COLUMNS];
    uint64_t init[ROWS * COLUMNS], out[ROWS * COLUMNS], expected[ROWS * COLUMNS];
    tacit_buffer *b;
    memcpy(init, zeros, sizeof(init));
    for (size_t j = 0; j < COLUMNS; j++) {
        init[j] = j * j + 1;
    }
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx,
                        &(tacit_buffer_desc){
                            .name = "rows", .range = TACIT_RANGE(ROWS, COLUMNS), .elem_size = 8, .init = init },
                        &b));
    memcpy(expected, init, sizeof(expected));
    for (size_t t = 1; t < ROWS; t++) {
        const tacit_component row = tacit_span(t, t + 1), before = tacit_span(0, t);
        REQUIRE_OK(
            ctx,
            tacit_submit(
                ctx, &(tacit_task){ .name = "append",
                                    .range = TACIT_RANGE(COLUMNS),
                                    .kernel = { .host = append_row },
                                    TACIT_ARGS(t),
                                    .access = { tacit_read(b, tacit_components(before, tacit_full(), tacit_full())),
                                                tacit_write(b, tacit_components(row, tacit_dim(0), tacit_full())) } }));
        for (size_t j = 0; j < COLUMNS; j++) {
            uint64_t sum = 0;
            for (size_t s = 0; s < t; s++) {
                sum += expected[s * COLUMNS + j];
            }
            expected[t * COLUMNS + j] = sum + (j ? expected[(t - 1) * COLUMNS + j - 1] : 0) % 7;
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, out));
    REQUIRE(memcmp(out, expected, sizeof(out)) == 0);
}

static void rows_grow_out_of_rows(void **state)
{
    (void)state;
    static const char *const devices[] = { NULL, "2:discrete" };
    for (int nodes = 1; nodes <= 5; nodes++) {
        for (size_t d = 0; d < TI_COUNT(devices); d++) {
            tacit_config config = { .workers = 2, .host_devices = devices[d] };
            cluster_run(&(cluster){ .nodes = nodes, .config = &config, .eager = 64, .program = grow });
        }
    }
}

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static tacit_status submit_pair(tacit_context *ctx, tacit_access x, tacit_access y)
{
    return tacit_submit(
        ctx,
        &(tacit_task){ .name = "pair", .range = TACIT_RANGE(8), .kernel = { .host = nothing }, .access = { x, y } });
}

static void what_is_taken(void **state)
{
    (void)state;
    tacit_context *ctx;
    tacit_buffer *b;
    static const uint64_t zeros[16];
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_OK);
    assert_int_equal(
        tacit_buffer_create(
            ctx, &(tacit_buffer_desc){ .name = "B", .range = TACIT_RANGE(16), .elem_size = 8, .init = zeros }, &b),
        TACIT_OK);
    const tacit_mapper low = tacit_components(tacit_dim(0), tacit_full(), tacit_full());
    const tacit_mapper high = tacit_components(tacit_dim_scaled(0, 1, 1, -8, 8), tacit_full(), tacit_full());
    const tacit_mapper wide = tacit_components(tacit_dim_scaled(0, 1, 1, 1, 1), tacit_full(), tacit_full());
    assert_int_equal(submit_pair(ctx, tacit_read(b, low), tacit_write(b, high)), TACIT_OK);
    assert_int_equal(submit_pair(ctx, tacit_write(b, low), tacit_update(b, high)), TACIT_OK);
    assert_int_equal(submit_pair(ctx, tacit_read(b, low), tacit_write(b, low)), TACIT_OK);
    assert_int_equal(submit_pair(ctx, tacit_read(b, wide), tacit_write(b, low)), TACIT_ERROR_OVERLAP);
    assert_int_equal(submit_pair(ctx, tacit_read(b, wide), tacit_write(b, high)), TACIT_ERROR_OVERLAP); /* element 8 */
    assert_int_equal(submit_pair(ctx, tacit_write(b, low), tacit_write(b, low)), TACIT_ERROR_OVERLAP);
    assert_int_equal(submit_pair(ctx, tacit_read(b, tacit_fixed(TACIT_BOX_ALL)), tacit_read(b, low)), TACIT_OK);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_grow_out_of_rows), cmocka_unit_test(what_is_taken) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
