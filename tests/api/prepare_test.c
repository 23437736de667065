/* Prepared tasks: starting one is submitting its description, whatever comes between; what is wrong has a sentence. */
#include "../unit/random.h"
#include "api/shapes.h"
#include "base/alloc.h"
#include "cluster.h"
#include "effort.h"

#include <string.h>

/* ---- random programs */

static uint64_t below(rng *r, uint64_t n)
{
    return rng_next(r) % n;
}

enum { N = 96, BUFFERS = 3, TASKS = 12, STEPS = 60, FEW = 30, MANY = 400 };

typedef struct mix_args {
    uint64_t factor;
    bool all; /* of y is read: an item reads the one at the other end; else one to one */
} mix_args;

typedef struct what {
    int x, y, place; /* x is updated from y; place: -1: split */
    size_t begin, end;
    mix_args args;
} what;

typedef struct state {
    uint64_t value[BUFFERS][N];
} state;

static uint64_t mixed(uint64_t x, uint64_t y, size_t i, uint64_t factor)
{
    return factor * x + y + i;
}

static void do_mix(const tacit_launch *k)
{
    const mix_args *a = k->args;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        uint64_t *x = &TACIT_AT1(uint64_t, k->view[0], i);
        *x = mixed(*x, TACIT_GET1(uint64_t, k->view[1], a->all ? N - 1 - i : i), i, a->factor);
    }
}

static void expect_mix(state *s, const what *w, uint64_t factor)
{
    for (size_t i = w->begin; i < w->end; i++) {
        uint64_t *x = &s->value[w->x][i];
        *x = mixed(*x, s->value[w->y][w->args.all ? N - 1 - i : i], i, factor);
    }
}

static what draw(rng *r, int nodes)
{
    what w = { .x = (int)below(r, BUFFERS),
               .place = (int)below(r, (uint64_t)nodes + 1) - 1,
               .args = { .factor = 1 + below(r, 9), .all = below(r, 3) == 0 } };
    w.y = (w.x + 1 + (int)below(r, BUFFERS - 1)) % BUFFERS;
    w.begin = below(r, N - 1);
    w.end = w.begin + 1 + below(r, N - 1 - w.begin);
    return w;
}

static tacit_task description(const what *w, tacit_buffer *const *buffer)
{
    return (tacit_task){ .name = "mix",
                         .range = TACIT_RANGE(w->end - w->begin),
                         .offset = { w->begin },
                         .kernel.host = do_mix,
                         .place = w->place < 0 ? (tacit_place){ 0 } : tacit_place_node(w->place),
                         TACIT_ARGS(w->args),
                         .access = { tacit_update(buffer[w->x], tacit_one_to_one()),
                                     tacit_read(buffer[w->y], w->args.all ? tacit_all() : tacit_one_to_one()) } };
}

typedef struct random_program {
    uint64_t seed;
    uint64_t *in_rounds;
} random_program;

/* One of the tasks in one of the ways. The same on all nodes. */
static void do_one(tacit_context *ctx, tacit_prepared *prepared, const what *w, tacit_buffer *const *buffer,
                   uint64_t way, state *s)
{
    const tacit_task t = description(w, buffer);
    const mix_args other = { 11, w->args.all };
    if (way == 0) {
        REQUIRE_OK(ctx, tacit_submit(ctx, &t));
        expect_mix(s, w, w->args.factor);
    } else if (way == 1) {
        REQUIRE_OK(ctx, tacit_start(ctx, prepared, &other));
        expect_mix(s, w, other.factor);
    } else {
        REQUIRE_OK(ctx, tacit_start(ctx, prepared, NULL));
        expect_mix(s, w, w->args.factor);
    }
}

static void check(tacit_context *ctx, tacit_buffer *const *buffer, const state *expected)
{
    uint64_t got[N];
    for (int b = 0; b < BUFFERS; b++) {
        REQUIRE_OK(ctx, tacit_fence_read(ctx, buffer[b], TACIT_BOX_ALL, got));
        REQUIRE(memcmp(got, expected->value[b], sizeof(got)) == 0);
    }
}

static tacit_prepared *prepare(tacit_context *ctx, const what *w, tacit_buffer *const *buffer)
{
    tacit_prepared *p;
    const tacit_task t = description(w, buffer);
    REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p));
    return p;
}

static void run_random(tacit_context *ctx, void *user)
{
    const random_program *program = user;
    rng r = rng_from(program->seed);
    tacit_buffer *buffer[BUFFERS];
    tacit_prepared *prepared[TASKS];
    what w[TASKS];
    state s;
    for (size_t i = 0; i < BUFFERS * N; i++) {
        s.value[i / N][i % N] = i;
    }
    for (int b = 0; b < BUFFERS; b++) {
        REQUIRE_OK(ctx, tacit_buffer_create(ctx,
                                            &(tacit_buffer_desc){ .name = "b",
                                                                  .range = TACIT_RANGE(N),
                                                                  .elem_size = sizeof(uint64_t),
                                                                  .init = s.value[b] },
                                            &buffer[b]));
    }
    for (int t = 0; t < TASKS; t++) {
        w[t] = draw(&r, tacit_num_nodes(ctx));
        prepared[t] = prepare(ctx, &w[t], buffer);
    }
    for (int step = 0; step < STEPS; step++) {
        const uint64_t passes = 1 + below(&r, below(&r, 4) ? FEW : MANY), tasks = 1 + below(&r, 4);
        int task[4];
        uint64_t way[4];
        for (uint64_t k = 0; k < tasks; k++) {
            task[k] = (int)below(&r, TASKS);
            way[k] = below(&r, 4);
        }
        for (uint64_t k = 0; k < passes * tasks; k++) {
            do_one(ctx, prepared[task[k % tasks]], &w[task[k % tasks]], buffer, way[k % tasks], &s);
        }
        if (below(&r, 4) == 0) {
            check(ctx, buffer, &s);
        }
        const size_t gone = (size_t)below(&r, TASKS);
        REQUIRE_OK(ctx, tacit_prepared_destroy(ctx, prepared[gone]));
        w[gone] = draw(&r, tacit_num_nodes(ctx));
        prepared[gone] = prepare(ctx, &w[gone], buffer);
    }
    check(ctx, buffer, &s);
    if (tacit_node(ctx) == 0) {
        *program->in_rounds += ti_runtime_in_rounds(ctx->runtime);
    }
}

static void random_programs(void **unused)
{
    (void)unused;
    uint64_t in_rounds = 0;
    for (uint64_t seed = 1; seed <= EFFORT(24, 8); seed++) {
        const tacit_config config = { .workers = 1 + (int)(seed % 2),
                                      .rounds = seed % 3 ? TACIT_ROUNDS_ON : TACIT_ROUNDS_AUTO,
                                      .threads = seed % 4 < 2 ? TACIT_THREADS_ON : TACIT_THREADS_INLINE };
        random_program program = { seed, &in_rounds };
        cluster_run(
            &(cluster){ .nodes = 1 + (int)(seed % 4), .config = &config, .program = run_random, .user = &program });
    }
    print_message("%llu tasks in rounds\n", (unsigned long long)in_rounds);
    assert_true(in_rounds > 1000);
}

/* ---- one node */

static tacit_context *start(void)
{
    tacit_context *ctx;
    assert_int_equal(tacit_init(&(tacit_config){ .workers = 2, .rounds = TACIT_ROUNDS_ON }, &ctx), TACIT_OK);
    return ctx;
}

static tacit_buffer *create(tacit_context *ctx, size_t n)
{
    static const int zeros[1];
    tacit_buffer *b;
    REQUIRE_OK(ctx,
               tacit_buffer_create(
                   ctx, &(tacit_buffer_desc){ .name = "line", .range = TACIT_RANGE(n), .elem_size = sizeof(int) }, &b));
    REQUIRE_OK(ctx, tacit_fill(ctx, b, zeros));
    return b;
}

static void do_add(const tacit_launch *k)
{
    const int number = k->args_size ? *(const int *)k->args : 1;
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[0], i) += number;
    }
}

static tacit_task add(tacit_buffer *b, size_t n)
{
    return (tacit_task){
        .name = "add", .range = TACIT_RANGE(n), .kernel.host = do_add, .access = { tacit_update(b, tacit_one_to_one()) }
    };
}

static void expect(tacit_context *ctx, tacit_buffer *b, size_t at, int value)
{
    int got;
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, tacit_box1(at, at + 1), &got));
    assert_int_equal(got, value);
}

/* All that the description points to goes away. */
static void descriptions_are_copied(void **unused)
{
    (void)unused;
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, N);
    char name[] = "add many";
    uint32_t weights[] = { 3 };
    int number = 5;
    const int seven = 7;
    tacit_prepared *p;
    tacit_task t = add(b, N);
    t.name = name;
    t.hint.weights = weights;
    t.args = &number;
    t.args_size = sizeof(number);
    REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p));
    memset(name, 'x', sizeof(name));
    memset(weights, 0xff, sizeof(weights));
    memset(&t, 0x55, sizeof(t));
    number = 1000;
    for (int i = 0; i < 10; i++) {
        REQUIRE_OK(ctx, tacit_start(ctx, p, i < 5 ? NULL : &seven));
    }
    expect(ctx, b, N / 2, 5 * 5 + 5 * 7);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* A program of an older header has a smaller struct, one of a later one a larger one. */
static void structs_may_differ_in_size(void **unused)
{
    (void)unused;
    struct {
        tacit_task task;
        char more[64];
    } later = { .more = "something" };
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, N);
    tacit_prepared *p;
    later.task = add(b, N);
    REQUIRE_OK(ctx, tacit_prepare_sized(ctx, &later.task, sizeof(later), &p));
    REQUIRE_OK(ctx, tacit_start(ctx, p, NULL));
    REQUIRE_OK(ctx, tacit_prepare_sized(ctx, &later.task, offsetof(tacit_task, hash_args), &p));
    REQUIRE_OK(ctx, tacit_start(ctx, p, NULL));
    expect(ctx, b, 0, 2);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void an_empty_range_does_nothing(void **unused)
{
    (void)unused;
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, N);
    const tacit_task t = add(b, 0);
    tacit_prepared *p;
    REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p));
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(ctx, tacit_start(ctx, p, NULL));
    }
    expect(ctx, b, 0, 0);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void refused(tacit_context *ctx, tacit_status got, tacit_status status, const char *words)
{
    assert_int_equal(got, status);
    if (!strstr(tacit_last_error(ctx), words)) {
        fail_msg("'%s' is not in: %s", words, tacit_last_error(ctx));
    }
}

static void wrong_handles_are_refused(void **unused)
{
    (void)unused;
    static const char none[] = "the prepared task is destroyed, belongs to another context, or is not what "
                               "tacit_prepare gave";
    _Alignas(16) char on_stack[256];
    memset(on_stack, 0x5a, sizeof(on_stack));
    tacit_context *ctx = start(), *other = start();
    tacit_buffer *b = create(ctx, N);
    tacit_prepared *p = NULL, *q;
    tacit_task t = add(b, N);
    refused(ctx, tacit_prepare(ctx, NULL, &p), TACIT_ERROR_ARGUMENT, "tacit_prepare: the task is NULL");
    refused(ctx, tacit_prepare(ctx, &t, NULL), TACIT_ERROR_ARGUMENT, "tacit_prepare: out is NULL");
    refused(ctx, tacit_start(ctx, NULL, NULL), TACIT_ERROR_ARGUMENT, "tacit_start: the prepared task is NULL");
    refused(ctx, tacit_start(ctx, (tacit_prepared *)(void *)on_stack, NULL), TACIT_ERROR_STATE, none);
    refused(ctx, tacit_start(ctx, (tacit_prepared *)(void *)b, NULL), TACIT_ERROR_STATE, none);
    t.hint.priority = 5000;
    refused(ctx, tacit_prepare(ctx, &t, &p), TACIT_ERROR_ARGUMENT, "task 'add'");
    assert_null(p);
    t.hint.priority = 0;
    REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p));
    refused(other, tacit_start(other, p, NULL), TACIT_ERROR_STATE, none);
    refused(ctx, tacit_start(ctx, (tacit_prepared *)(void *)((char *)p + 8), NULL), TACIT_ERROR_STATE, none);
    REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &q));
    REQUIRE_OK(ctx, tacit_start(ctx, p, NULL));
    assert_int_equal(tacit_prepared_destroy(ctx, p), TACIT_OK);
    assert_int_equal(tacit_prepared_destroy(ctx, NULL), TACIT_OK);
    refused(ctx, tacit_prepared_destroy(ctx, p), TACIT_ERROR_STATE, none);
    refused(ctx, tacit_start(ctx, p, NULL), TACIT_ERROR_STATE, none);
    refused(other, tacit_prepared_destroy(other, q), TACIT_ERROR_STATE, none);
    REQUIRE_OK(ctx, tacit_start(ctx, q, NULL));
    expect(ctx, b, 0, 2);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    refused(other, tacit_start(other, q, NULL), TACIT_ERROR_STATE, none);
    refused(ctx, tacit_start(ctx, q, NULL), TACIT_ERROR_STATE, "tacit_start: the context is finalized");
    assert_int_equal(tacit_finalize(other), TACIT_OK);
}

/* What the description names is destroyed, in the middle of a loop: the others go on. */
static void what_is_destroyed_is_named(void **unused)
{
    (void)unused;
    tacit_context *ctx = start();
    tacit_buffer *b[2] = { create(ctx, N), create(ctx, N) };
    tacit_prepared *p[2];
    for (int i = 0; i < 2; i++) {
        const tacit_task t = add(b[i], N);
        REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p[i]));
    }
    for (int i = 0; i < 2000; i++) {
        REQUIRE_OK(ctx, tacit_start(ctx, p[i % 2], NULL));
    }
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b[0]));
    refused(ctx, tacit_start(ctx, p[0], NULL), TACIT_ERROR_STATE, "task 'add', access 0: buffer 'line' is destroyed");
    for (int i = 0; i < 1000; i++) {
        REQUIRE_OK(ctx, tacit_start(ctx, p[1], NULL));
    }
    expect(ctx, b[1], 3, 2000);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void unwritten_buffers_are_named_when_it_starts(void **unused)
{
    (void)unused;
    tacit_context *ctx = start();
    tacit_buffer *b;
    tacit_prepared *p;
    const int one = 1;
    REQUIRE_OK(ctx,
               tacit_buffer_create(
                   ctx, &(tacit_buffer_desc){ .name = "new", .range = TACIT_RANGE(N), .elem_size = sizeof(int) }, &b));
    const tacit_task t = add(b, N);
    REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p));
    refused(ctx, tacit_start(ctx, p, NULL), TACIT_ERROR_UNINITIALIZED, "task 'add'");
    REQUIRE_OK(ctx, tacit_fill(ctx, b, &one));
    REQUIRE_OK(ctx, tacit_start(ctx, p, NULL));
    expect(ctx, b, 1, 2);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* More tasks on tiles than would be remembered if nobody said that they come again: their loop is found. */
static void long_loops_over_tiles_are_known(void **unused)
{
    (void)unused;
    enum { TILES = TI_TILE_SHAPES + 1000, PASSES = 60 };
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, TILES);
    static tacit_prepared *p[TILES];
    for (size_t i = 0; i < TILES; i++) {
        tacit_task t = add(b, 1);
        t.offset[0] = i;
        t.place = tacit_place_node(0);
        t.access[1] = tacit_read(b, tacit_fixed(tacit_box1(i ? i - 1 : TILES - 1, i ? i : TILES)));
        REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p[i]));
    }
    for (size_t i = 0; i < (size_t)PASSES * TILES; i++) {
        REQUIRE_OK(ctx, tacit_start(ctx, p[i % TILES], NULL));
    }
    expect(ctx, b, TILES - 1, PASSES);
    assert_true(ti_shapes_count(ctx->shapes) >= TILES);
    print_message("%llu of %d tasks in rounds\n", (unsigned long long)ti_runtime_in_rounds(ctx->runtime),
                  PASSES * TILES);
    assert_true(ti_runtime_in_rounds(ctx->runtime) > (uint64_t)PASSES * TILES / 2);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void memory_is_given_back(void **unused)
{
    (void)unused;
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, N);
    const tacit_task t = add(b, N);
    uint64_t early = 0;
    for (int i = 0; i < 5000; i++) {
        tacit_prepared *p;
        REQUIRE_OK(ctx, tacit_prepare(ctx, &t, &p));
        REQUIRE_OK(ctx, tacit_start(ctx, p, NULL));
        if (i % 8) { /* some end with the context */
            REQUIRE_OK(ctx, tacit_prepared_destroy(ctx, p));
        }
        early = i == 2500 ? ti_alloc_live() : early;
    }
    assert_true(ti_alloc_live() <= early + early / 4 + (uint64_t)(2500 / 8) * 1024);
    expect(ctx, b, 0, 5000);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(descriptions_are_copied),
        cmocka_unit_test(structs_may_differ_in_size),
        cmocka_unit_test(an_empty_range_does_nothing),
        cmocka_unit_test(wrong_handles_are_refused),
        cmocka_unit_test(what_is_destroyed_is_named),
        cmocka_unit_test(unwritten_buffers_are_named_when_it_starts),
        cmocka_unit_test(long_loops_over_tiles_are_known),
        cmocka_unit_test(memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
