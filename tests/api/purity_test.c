/* TACIT_CHECK_PURE: kernels that are marked pure and are not are found, in one and two dimensions, under both
 * strategies, with parts of chunks on several devices; others are compared, and nothing is said. */
#include "cluster.h"

#include "run/impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 96, COLS = 24, STEPS = 24, MOST_NODES = 8 };

typedef struct arguments {
    int dims, step;
    bool in_place;
    double of_node; /* what node n adds: times n */
    int at;         /* the step in which it does; -1: in all */
} arguments;

/* Larger than what numbers of registers hold, with bytes that nothing is said of. */
typedef struct cell {
    float value[5];
} cell;

static float value_at(const tacit_view v, int dims, int64_t i, int64_t j)
{
    bool there = i >= 0 && i < ROWS && j >= 0 && j < COLS;
    if (!there) {
        return 0;
    }
    return dims == 1 ? TACIT_GET1(cell, v, (size_t)i).value[0] : TACIT_GET2(cell, v, (size_t)i, (size_t)j).value[0];
}

static void relax(const tacit_launch *k)
{
    const arguments *a = k->args;
    float more = a->at < 0 || a->at == a->step ? (float)(a->of_node * k->node) : 0;
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_FOR (j, k->chunk, 1) {
            int64_t row = (int64_t)i, col = a->dims == 1 ? 0 : (int64_t)j;
            cell *to = a->dims == 1 ? &TACIT_AT1(cell, k->view[1], i) : &TACIT_AT2(cell, k->view[1], i, j);
            float sum = value_at(k->view[0], a->dims, row - 1, col) + value_at(k->view[0], a->dims, row + 1, col);
            float old = a->in_place ? to->value[0] : 1;
            *to = (cell){ { 0.3f * old + 0.21f * sum + more, (float)row, (float)col, 1, 2 } };
        }
    }
}

typedef struct outcome {
    tacit_status status[MOST_NODES];
    char text[MOST_NODES][600];
    uint64_t elements[MOST_NODES], tasks[MOST_NODES];
    arguments a;
    int steps, wait_every;
} outcome;

static void program(tacit_context *ctx, outcome *out)
{
    arguments a = out->a;
    tacit_buffer *b[2];
    static const cell zeros[ROWS * COLS];
    int node = tacit_node(ctx);
    for (int i = 0; i < 2; i++) {
        tacit_buffer_desc desc = {
            .name = i ? "B" : "A", .range = TACIT_RANGE(ROWS), .elem_size = sizeof(cell), .init = zeros
        };
        desc.range = a.dims == 2 ? tacit_range2(ROWS, COLS) : desc.range;
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b[i]));
    }
    tacit_status status = TACIT_OK;
    for (a.step = 0; a.step < out->steps && status == TACIT_OK; a.step++) {
        const tacit_task task = {
            .name = "relax",
            .range = a.dims == 2 ? tacit_range2(ROWS, COLS) : tacit_range1(ROWS),
            .kernel = { .host = relax },
            .args = &a,
            .args_size = sizeof(a),
            .hint = { .pure = true, .split = a.dims == 2 ? TACIT_SPLIT_2D : TACIT_SPLIT_1D },
            .access = { tacit_read(b[a.step % 2], a.dims == 2 ? tacit_star(1, 1, 0) : tacit_neighborhood(1, 0, 0)),
                        a.in_place ? tacit_update(b[(a.step + 1) % 2], tacit_one_to_one())
                                   : tacit_write(b[(a.step + 1) % 2], tacit_one_to_one()) },
        };
        status = tacit_submit(ctx, &task);
        if (status == TACIT_OK && a.step % out->wait_every == out->wait_every - 1) {
            status = tacit_wait(ctx);
        }
    }
    status = status ? status : tacit_wait(ctx);
    out->status[node] = status;
    snprintf(out->text[node], sizeof(out->text[node]), "%s", tacit_last_error(ctx));
    out->elements[node] = ti_purity_elements(ctx->runtime->purity);
    out->tasks[node] = ti_purity_tasks(ctx->runtime->purity);
}

static void *member(void *user)
{
    const cluster_member *self = user;
    outcome *out = self->cluster->user;
    tacit_context *ctx;
    tacit_config config = cluster_config(self->cluster->config);
    REQUIRE(ti_context_create(&config, local_comm_create(self->hub, self->node), &ctx) == TACIT_OK);
    program(ctx, out);
    REQUIRE(tacit_finalize(ctx) == out->status[self->node]);
    return NULL;
}

static void run(int nodes, const tacit_config *config, outcome *out)
{
    cluster c = { .nodes = nodes, .config = config, .user = out };
    cluster_member m[MOST_NODES];
    local_hub *hub = local_hub_create(nodes, 1024, 1 << 20, 0);
    out->steps = out->steps ? out->steps : STEPS;
    out->wait_every = out->wait_every ? out->wait_every : out->steps;
    for (int i = 0; i < nodes; i++) {
        m[i] = (cluster_member){ .cluster = &c, .hub = hub, .node = i };
        REQUIRE(pthread_create(&m[i].thread, NULL, member, &m[i]) == 0);
    }
    for (int i = 0; i < nodes; i++) {
        pthread_join(m[i].thread, NULL);
    }
    local_hub_destroy(hub);
}

static tacit_config config_of(const char *latency, const char *devices)
{
    return (
        tacit_config){ .threads = TACIT_THREADS_INLINE, .latency = latency, .host_devices = devices, .check_pure = 1 };
}

static void expect_silent(int nodes, const tacit_config *config, outcome *out)
{
    run(nodes, config, out);
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(out->status[i], TACIT_OK);
        assert_int_equal(out->tasks[i], out->tasks[0]);
        assert_true(out->elements[i] >= 16);
    }
}

static void expect_found(int nodes, const tacit_config *config, outcome *out, const char *element)
{
    run(nodes, config, out);
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(out->status[i], TACIT_ERROR_KERNEL);
        assert_string_equal(out->text[i], out->text[0]);
    }
    assert_non_null(strstr(out->text[0], "task 'relax' is marked pure, but it has written "));
    assert_non_null(strstr(out->text[0], element));
    assert_non_null(strstr(out->text[0], "whose part it is"));
}

static void pure_kernels(void **state)
{
    static const char *const settings[] = { "halo:2", "halo:4", "staged:4", "auto:off,4" };
    static const int nodes[] = { 2, 3, 4, 7 };
    (void)state;
    for (size_t i = 0; i < TI_COUNT(settings); i++) {
        for (size_t n = 0; n < TI_COUNT(nodes); n++) {
            const tacit_config config = config_of(settings[i], i % 2 ? "2" : n % 2 ? "1:discrete" : NULL);
            outcome out = { .a = { .dims = 1 + (int)(n % 2), .in_place = i % 2, .at = -1 }, .wait_every = 12 };
            out.steps = i == 3 ? 96 : STEPS; /* it has no windows at first */
            expect_silent(nodes[n], &config, &out);
        }
    }
}

/* More tasks between two waits than are kept, on a shape that comes again and again. */
static void long_stretches(void **state)
{
    const tacit_config config = config_of("halo:4", NULL);
    outcome out = { .a = { .dims = 1, .at = -1 }, .steps = 1400 };
    (void)state;
    expect_silent(3, &config, &out);
    assert_in_range(out.tasks[0], 128, 256);
    out = (outcome){ .a = { .dims = 1, .at = -1, .of_node = 0.5 }, .steps = 1400 };
    expect_found(2, &config, &out, "element [");
}

static void impure_kernels(void **state)
{
    const tacit_config halo = config_of("halo:4", "2"), staged = config_of("staged:4", NULL);
    outcome out = { .a = { .dims = 1, .of_node = 1, .at = -1 } };
    (void)state;
    expect_found(3, &halo, &out, " (bytes from 0 on) to element [");
    out = (outcome){ .a = { .dims = 1, .of_node = 1e-3, .at = -1, .in_place = true } };
    expect_found(2, &staged, &out, "of buffer '");
    out = (outcome){ .a = { .dims = 2, .of_node = 1e-3, .at = 8 } }; /* the first of a window */
    expect_found(2, &halo, &out, "][");
}

/* Without windows nothing is computed twice, so nothing is found. */
static void no_windows(void **state)
{
    const tacit_config config = config_of(NULL, NULL);
    outcome out = { .a = { .dims = 1, .of_node = 1, .at = -1 } };
    (void)state;
    run(2, &config, &out);
    assert_int_equal(out.status[0], TACIT_OK);
    assert_int_equal(out.tasks[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pure_kernels),
        cmocka_unit_test(long_stretches),
        cmocka_unit_test(impure_kernels),
        cmocka_unit_test(no_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
