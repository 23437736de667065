/* Steady loops that the program's thread carries out itself (run/round.h): random loops with random things in between
 * get what a plain computation gets, and most of their tasks are carried out so.
 *
 * Usage: round_test [SEED]. Which tasks are carried out so depends on how threads run; results do not. */
#include "loops.h"

#include "effort.h"

static uint64_t seed;

#define SHARED .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED

static const tacit_config modes[] = {
    { SHARED, .workers = 2, .rounds = TACIT_ROUNDS_ON },
    { SHARED, .workers = 2, .rounds = TACIT_ROUNDS_AUTO },
    { SHARED, .workers = 1, .rounds = TACIT_ROUNDS_ON },
    { SHARED, .workers = 3, .rounds = TACIT_ROUNDS_ON, .horizon_step = 1 },
    { SHARED, .workers = 5, .rounds = TACIT_ROUNDS_ON, .horizon_step = 7 },
    { SHARED, .workers = 4, .rounds = TACIT_ROUNDS_AUTO },
    { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_AUTO },
    { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .reproducible = 1 },
    { SHARED, .workers = 2, .rounds = TACIT_ROUNDS_ON, .run_ahead = 1 },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 3, .rounds = TACIT_ROUNDS_ON },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 11, .rounds = TACIT_ROUNDS_ON },
    { .progress = TACIT_PROGRESS_THREAD, .workers = 1, .rounds = TACIT_ROUNDS_AUTO },
};

/* ---- random programs on one node */

static void open_program(program *p, const tacit_config *config, uint64_t number)
{
    tacit_context *ctx;
    assert_int_equal(tacit_init(config, &ctx), TACIT_OK);
    start_program(p, ctx, number);
}

static uint64_t close_program(program *p)
{
    const uint64_t in_rounds = check_program(p);
    assert_int_equal(tacit_finalize(p->ctx), TACIT_OK);
    return in_rounds;
}

static uint64_t run_random_program(const tacit_config *config, uint64_t number)
{
    program p;
    open_program(&p, config, number);
    run_loops(&p, 4);
    return close_program(&p);
}

/* Programs that failed once. */
static void known_programs(void **state)
{
    (void)state;
    /* A fence that a round had carried out was repeated outside, without a place to copy to. */
    run_random_program(&modes[3], 1795959173);
}

static void random_loops(void **state)
{
    (void)state;
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        uint64_t in_rounds = 0;
        for (int i = 0; i < EFFORT(12, 1); i++) {
            in_rounds += run_random_program(&modes[m], seed + 100 * m + (uint64_t)i);
        }
        print_message("%zu: %" PRIu64 " tasks\n", m, in_rounds);
        /* Sums in blocks are combined by workers; else it depends on how long kernels take, unless they always are. */
        assert_true(in_rounds > 0 || modes[m].reproducible || modes[m].rounds != TACIT_ROUNDS_ON);
    }
}

/* ---- several nodes: the same, where messages are short */

enum { ROUNDS_OF_NODES = EFFORT(800, 200), WAITS_EACH = 40, WAITS = ROUNDS_OF_NODES / WAITS_EACH };

typedef struct nodes_run {
    uint64_t number;
    int waits; /* of a thousand tasks so many are waited for: then some tasks are placed, and some read everything */
    int wait_each; /* rounds, in one of which there is a wait */
    _Atomic uint64_t in_rounds, tasks;
} nodes_run;

static void loops_of_a_node(tacit_context *ctx, void *user)
{
    nodes_run *run = user;
    program p;
    start_program_of_nodes(&p, ctx, run->number, run->waits);
    run_loops(&p, 3);
    run->in_rounds += check_program(&p);
}

static void run_nodes(nodes_run *run, int nodes, const tacit_config *config, size_t count)
{
    for (size_t m = 0; m < count * EFFORT(2, 1); m++) {
        run->number++;
        cluster_run(&(cluster){ .nodes = nodes,
                                .config = &config[m % count],
                                .shake = m % 3 ? run->number : 0,
                                .eager = m % 2 ? 100 : 0,
                                .program = loops_of_a_node,
                                .user = run });
    }
}

static void random_loops_of_nodes(void **state)
{
    static const tacit_config inlined[] = {
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .horizon_step = 2 },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .collectives = TACIT_COLLECTIVES_OFF },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .divergence = TACIT_DIVERGENCE_OFF },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .collectives = TACIT_COLLECTIVES_DISCOVER },
    };
    static const tacit_config others[] = {
        { SHARED, .workers = 2 },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 2, .horizon_step = 2 },
        { SHARED, .workers = 1, .latency = "halo:3" },
        { SHARED, .workers = 2, .collectives = TACIT_COLLECTIVES_LOOKAHEAD, .horizon_step = 7 },
        { SHARED, .workers = 2, .lookahead = TACIT_LOOKAHEAD_OFF, .run_ahead = 1 },
    };
    nodes_run run = { .number = seed };
    (void)state;
    for (int nodes = 2; nodes <= EFFORT(5, 3); nodes++) {
        const uint64_t before = run.in_rounds;
        run_nodes(&run, nodes, inlined, TI_COUNT(inlined));
        print_message("%d nodes: %" PRIu64 " tasks\n", nodes, run.in_rounds - before);
        run_nodes(&run, nodes, others, TI_COUNT(others));
    }
    assert_true(run.in_rounds > 0);
}

/* A wait that is no point comes after any task, also where nodes hold tasks back. */
static void loops_with_waits_among_placed_tasks(void **state)
{
    static const tacit_config configs[] = {
        { .threads = TACIT_THREADS_INLINE, .horizon_step = 1 },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .horizon_step = 2 },
        { SHARED, .workers = 2, .horizon_step = 1, .latency = "halo:3" },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .multicast = TACIT_MULTICAST_PLANNED },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 1, .horizon_step = 1, .multicast = TACIT_MULTICAST_DYNAMIC },
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON, .collectives = TACIT_COLLECTIVES_DISCOVER },
        { SHARED, .workers = 1, .horizon_step = 1, .collectives = TACIT_COLLECTIVES_LOOKAHEAD },
    };
    nodes_run run = { .number = seed, .waits = 20 };
    (void)state;
    for (int nodes = 2; nodes <= EFFORT(5, 3); nodes++) {
        run_nodes(&run, nodes, configs, TI_COUNT(configs));
    }
    assert_true(run.in_rounds > 0);
}

/* How many tasks there are in the end, waits among them, if they are points. */
static void wait_in_a_loop(tacit_context *ctx, void *user)
{
    nodes_run *run = user;
    program p;
    start_program(&p, ctx, run->number);
    const step steps[] = { { .kind = MIX, .a = 0, .b = 1, .args = 1 },
                           { .kind = SUM, .a = 1 },
                           { .kind = MIX, .a = 1, .b = 0 },
                           { .kind = READ_SUM } };
    for (int round = 0; round < ROUNDS_OF_NODES; round++) {
        for (size_t s = 0; s < TI_COUNT(steps); s++) {
            run_step(&p, &steps[s]);
            if (round % run->wait_each == 0 && round / run->wait_each % (int)TI_COUNT(steps) == (int)s) {
                must(&p, tacit_wait(p.ctx));
            }
        }
    }
    run->tasks = ti_runtime_tasks(ctx->runtime);
    run->in_rounds += check_program(&p);
}

/* After many horizons a wait is no task any more; where a node keeps no rounds, it is one on all of them. */
static void waits_in_loops_are_no_points(void **state)
{
    static const tacit_config configs[] = {
        { .threads = TACIT_THREADS_INLINE },
        { SHARED, .workers = 2 },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 1 },
    }, odd[] = {
        { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_OFF },
        { .threads = TACIT_THREADS_INLINE, .bounds_check = 1 },
    };
    (void)state;
    for (size_t m = 0; m < TI_COUNT(configs); m++) {
        uint64_t least = 0;
        for (size_t last = 0; last <= TI_COUNT(odd); last++) {
            nodes_run run = { .number = seed + m, .wait_each = WAITS_EACH };
            cluster_run(&(cluster){ .nodes = 2 + (int)m,
                                    .config = &configs[m],
                                    .last = last ? &odd[last - 1] : NULL,
                                    .program = wait_in_a_loop,
                                    .user = &run });
            print_message("%zu, %zu: %" PRIu64 " tasks\n", m, last, run.tasks);
            assert_true(last ? run.tasks >= least + WAITS / 2 : run.tasks > 0); /* horizons fall otherwise */
            least = last ? least : run.tasks;
        }
    }
}

/* Seen as part of the loop: as where no node keeps rounds. */
static void waits_after_few_passes_are_points(void **state)
{
    static const tacit_config config = { .threads = TACIT_THREADS_INLINE },
                              off = { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_OFF };
    (void)state;
    nodes_run run = { .number = seed, .wait_each = 3 }, other = run;
    cluster_run(&(cluster){ .nodes = 2, .config = &config, .program = wait_in_a_loop, .user = &run });
    cluster_run(&(cluster){ .nodes = 2, .config = &config, .last = &off, .program = wait_in_a_loop, .user = &other });
    assert_true(run.tasks == other.tasks && run.tasks > 0);
}

static void wait_between_placed_tasks(tacit_context *ctx, void *user)
{
    nodes_run *run = user;
    program p;
    start_program(&p, ctx, run->number);
    for (int round = 0; round < ROUNDS_OF_NODES; round++) {
        for (int node = 0; node < tacit_num_nodes(ctx); node++) {
            run_step(&p, &(step){ .kind = WRITE, .a = node % 2, .b = 1 - node % 2, .node = 1 + node });
            run_step(&p, &(step){ .kind = MIX, .a = 1 - node % 2, .b = 2, .args = 1, .node = 1 + node });
        }
        if (round % WAITS_EACH == WAITS_EACH - 1) {
            must(&p, tacit_wait(ctx));
        }
    }
    run->in_rounds += check_program(&p);
}

/* Rounds go on behind them. */
static void waits_between_placed_tasks_are_no_points(void **state)
{
    (void)state;
    nodes_run run = { .number = seed };
    const tacit_config config = { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON };
    cluster_run(&(cluster){ .nodes = 2, .config = &config, .program = wait_between_placed_tasks, .user = &run });
    const uint64_t all = 2 * 4 * ROUNDS_OF_NODES; /* each node's round has all tasks */
    print_message("%" PRIu64 " of %" PRIu64 " tasks\n", (uint64_t)run.in_rounds, all);
    assert_true(run.in_rounds > all - all / 10);
}

/* So many different tasks that some of them are remembered later than others, on each node different ones. */
static void wait_among_many(tacit_context *ctx, void *user)
{
    enum { TASKS = 1500, ROUNDS = 6, NAME = 24 };
    nodes_run *run = user;
    char(*name)[NAME] = calloc(TASKS, NAME);
    void *odd = calloc((size_t)tacit_node(ctx) + 1, 100); /* so that addresses differ */
    program p;
    start_program(&p, ctx, run->number);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TASKS; i++) {
            snprintf(name[i], NAME, "task %d", i);
            submit(&p, NULL, name[i], do_write, tacit_read(p.x[i % 2], tacit_one_to_one()),
                   tacit_write(p.x[1 - i % 2], tacit_one_to_one()), NULL);
            for (size_t k = 0; k < p.items; k++) {
                p.expected[1 - i % 2][k] = 5 * p.expected[i % 2][k] + k;
            }
        }
        must(&p, tacit_wait(ctx));
    }
    run->in_rounds += check_program(&p);
    free(name);
    free(odd);
}

static void nodes_wait_alike_among_many_tasks(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= 3; nodes++) {
        nodes_run run = { .number = seed };
        const tacit_config config = { .threads = TACIT_THREADS_INLINE };
        cluster_run(&(cluster){ .nodes = nodes, .config = &config, .program = wait_among_many, .user = &run });
    }
}

/* ---- what ends in waits */

static void count_end(void *contents)
{
    ++*(int *)contents;
}

/* The loop does not name the object, so it goes on when that is destroyed. */
static void destroy_in_a_loop(tacit_context *ctx, void *user)
{
    enum { ROUNDS = 400 };
    nodes_run *run = user;
    program p;
    tacit_host_object *object;
    int ended = 0;
    start_program(&p, ctx, run->number);
    must(&p, tacit_host_object_create_with(ctx, &(tacit_host_object_desc){ &ended, count_end }, &object));
    for (int round = 0; round < ROUNDS; round++) {
        run_step(&p, &(step){ .kind = MIX, .a = round % 2, .b = 1 - round % 2, .args = 1 });
        if (round == ROUNDS - 1) {
            REQUIRE(ended == 0);
            must(&p, tacit_host_object_destroy(ctx, object));
        }
    }
    must(&p, tacit_wait(ctx));
    REQUIRE(ended == 1);
    run->in_rounds += check_program(&p);
}

static void objects_end_in_waits(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= 3; nodes++) {
        nodes_run run = { .number = seed };
        const tacit_config config = { .threads = TACIT_THREADS_INLINE, .rounds = TACIT_ROUNDS_ON };
        cluster_run(&(cluster){ .nodes = nodes, .config = &config, .program = destroy_in_a_loop, .user = &run });
    }
}

/* Nothing else comes: all but the first few hundred tasks. */
static void most_tasks_of_a_loop(void **state)
{
    enum { ROUNDS = 2000 };
    (void)state;
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        if (modes[m].rounds != TACIT_ROUNDS_ON) {
            continue;
        }
        program p;
        open_program(&p, &modes[m], seed + m);
        const step steps[] = { { .kind = MIX, .a = 0, .b = 1, .args = 3 },
                               { .kind = SUM, .a = 1 },
                               { .kind = SPREAD, .a = 0 },
                               { .kind = READ_SUM },
                               { .kind = WRITE, .a = 1, .b = 2 },
                               { .kind = WAIT } };
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t s = 0; s < TI_COUNT(steps); s++) {
                if (steps[s].kind != WAIT || round % 400 == 399) {
                    run_step(&p, &steps[s]);
                }
            }
        }
        const uint64_t in_rounds = close_program(&p);
        print_message("%zu: %" PRIu64 " of %d\n", m, in_rounds, 5 * ROUNDS);
        assert_true(in_rounds > 4 * ROUNDS || modes[m].reproducible);
    }
}

/* ---- errors */

static _Atomic int called_after;

static void fail_in_step(const tacit_launch *k)
{
    const numbers *n = k->args;
    if (n->value[0] == 1500) {
        tacit_kernel_fail(k, "as it should");
    }
    called_after += n->value[0] > 1500;
}

static void a_kernel_that_fails_ends_it(void **state)
{
    (void)state;
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        program p;
        tacit_status status = TACIT_OK;
        called_after = 0;
        open_program(&p, &modes[m], seed + m);
        for (uint64_t s = 0; s < 3000 && status == TACIT_OK; s++) {
            const numbers n = { .count = 1, .value[0] = s };
            const tacit_task task = { .name = "fails",
                                      .range = TACIT_RANGE(p.items),
                                      .kernel.host = fail_in_step,
                                      TACIT_ARGS(n),
                                      .access = { tacit_update(p.x[0], tacit_one_to_one()) } };
            status = tacit_submit(p.ctx, &task);
        }
        status = status == TACIT_OK ? tacit_wait(p.ctx) : status;
        assert_int_equal(status, TACIT_ERROR_KERNEL);
        assert_non_null(strstr(tacit_last_error(p.ctx), "as it should"));
        assert_int_equal(called_after, 0);
        assert_int_equal(tacit_finalize(p.ctx), TACIT_ERROR_KERNEL);
    }
}

/* ---- what is left to the workers */

/* Events: how often the loop is given back, not how long anything takes. */
static void off_is_off(void **state)
{
    (void)state;
    const tacit_config config = { SHARED, .workers = 2, .rounds = TACIT_ROUNDS_OFF };
    program p;
    open_program(&p, &config, seed);
    for (int round = 0; round < 500; round++) {
        run_step(&p, &(step){ .kind = MIX, .a = round % 2, .b = 1 - round % 2, .args = 1 });
    }
    assert_int_equal(close_program(&p), 0);
}

static void busy(void)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 50000);
}

/* The program's thread has so much else to do that workers should carry out what it submits. */
static void a_busy_program_leaves_it_to_workers(void **state)
{
    enum { ROUNDS = 1000 };
    (void)state;
    const tacit_config config = { SHARED, .workers = 2 };
    program p;
    open_program(&p, &config, seed);
    for (int round = 0; round < ROUNDS; round++) {
        run_step(&p, &(step){ .kind = MIX, .a = round % 2, .b = 1 - round % 2, .args = 1 });
        for (int i = 0; i < 8; i++) {
            busy();
        }
    }
    const uint64_t in_rounds = close_program(&p);
    print_message("%" PRIu64 " of %d\n", in_rounds, ROUNDS);
    assert_true(in_rounds < ROUNDS / 2);
}

/* Kernels that were short are not any more: others should run beside them. */
static void lengthen(const tacit_launch *k)
{
    for (int i = 0; i < 4 * *(const int *)k->args; i++) {
        busy();
    }
    do_write(k);
}

static void long_kernels_are_left_to_workers(void **state)
{
    enum { ROUNDS = 3000, SHORT = 2000 };
    (void)state;
    const tacit_config config = { SHARED, .workers = 2 };
    program p;
    open_program(&p, &config, seed);
    uint64_t before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const int is_long = round >= SHORT;
        before = round == SHORT ? ti_runtime_in_rounds(p.ctx->runtime) : before;
        must(&p, tacit_submit(p.ctx, &(tacit_task){ .name = "lengthen",
                                                    .range = TACIT_RANGE(p.items),
                                                    .kernel.host = lengthen,
                                                    TACIT_ARGS(is_long),
                                                    .access = { tacit_read(p.x[0], tacit_one_to_one()),
                                                                tacit_write(p.x[1], tacit_one_to_one()) } }));
    }
    for (size_t i = 0; i < p.items; i++) {
        p.expected[1][i] = 5 * p.expected[0][i] + i;
    }
    const uint64_t in_rounds = close_program(&p);
    print_message("%" PRIu64 " and %" PRIu64 "\n", before, in_rounds - before);
    assert_true(in_rounds - before < (ROUNDS - SHORT) / 2);
}

/* Two contexts take turns. */
static void contexts_beside_each_other(void **state)
{
    (void)state;
    program p[2];
    open_program(&p[0], &modes[0], seed);
    open_program(&p[1], &modes[3], seed + 1);
    for (int round = 0; round < 600; round++) {
        for (int i = 0; i < 2; i++) {
            run_step(&p[i], &(step){ .kind = MIX, .a = round % 2, .b = 1 - round % 2, .args = 2 });
            run_step(&p[i], &(step){ .kind = SUM, .a = 1 });
        }
    }
    assert_true(close_program(&p[0]) > 0);
    assert_true(close_program(&p[1]) > 0);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(known_programs),
                                        cmocka_unit_test(random_loops),
                                        cmocka_unit_test(random_loops_of_nodes),
                                        cmocka_unit_test(loops_with_waits_among_placed_tasks),
                                        cmocka_unit_test(waits_in_loops_are_no_points),
                                        cmocka_unit_test(waits_after_few_passes_are_points),
                                        cmocka_unit_test(waits_between_placed_tasks_are_no_points),
                                        cmocka_unit_test(nodes_wait_alike_among_many_tasks),
                                        cmocka_unit_test(objects_end_in_waits),
                                        cmocka_unit_test(most_tasks_of_a_loop),
                                        cmocka_unit_test(a_kernel_that_fails_ends_it),
                                        cmocka_unit_test(off_is_off),
                                        cmocka_unit_test(a_busy_program_leaves_it_to_workers),
                                        cmocka_unit_test(long_kernels_are_left_to_workers),
                                        cmocka_unit_test(contexts_beside_each_other) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
