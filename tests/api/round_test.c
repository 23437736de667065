/* Steady loops that the program's thread carries out itself (run/round.h): random loops with random things in between
 * get what a plain computation gets, and most of their tasks are carried out so.
 *
 * Usage: round_test [SEED]. Which tasks are carried out so depends on how threads run; results do not. */
#include "../unit/random.h"
#include "cluster.h"
#include "effort.h"

#include <inttypes.h>
#include <string.h>

enum { BUFFERS = 4, MAX_ITEMS = 400, MAX_TASKS = 9, MAX_ARGS = 9, SUMS = 2 };

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

/* Numbers that differ each time; how many is part of the task. */
typedef struct numbers {
    uint64_t count, value[MAX_ARGS];
} numbers;

typedef struct program {
    tacit_context *ctx;
    rng random;
    size_t items;
    int placed;   /* of so many tasks one, if there are several nodes; 0: none */
    int gathered; /* likewise, that read all of a buffer; 0: none */
    int waits;    /* of a thousand tasks so many are waited for */
    tacit_buffer *x[BUFFERS], *sum[SUMS];
    uint64_t expected[BUFFERS][MAX_ITEMS], expected_sum[SUMS];
} program;

static void must(program *p, tacit_status status)
{
    REQUIRE_OK(p->ctx, status);
}

/* ---- kernels, and what they compute */

static uint64_t total(const numbers *n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n->count; i++) {
        sum = 31 * sum + n->value[i];
    }
    return sum;
}

static uint64_t mixed(uint64_t old, uint64_t left, uint64_t right, uint64_t with)
{
    return 3 * old + (left ^ (right << 1)) + with;
}

/* Views: what is read around an item, and what is updated. */
static void do_mix(const tacit_launch *k)
{
    const size_t last = k->view[0].extent[0] - 1;
    const uint64_t with = total(k->args);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        uint64_t *x = &TACIT_AT1(uint64_t, k->view[1], i);
        *x = mixed(*x, TACIT_GET1(uint64_t, k->view[0], i ? i - 1 : i),
                   TACIT_GET1(uint64_t, k->view[0], i < last ? i + 1 : i), with);
    }
}

static void do_write(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(uint64_t, k->view[1], i) = 5 * TACIT_GET1(uint64_t, k->view[0], i) + i;
    }
}

static void do_sum(const tacit_launch *k)
{
    uint64_t *sum = &TACIT_AT0(uint64_t, k->view[1]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        *sum += TACIT_GET1(uint64_t, k->view[0], i);
    }
}

static void do_spread(const tacit_launch *k)
{
    const uint64_t sum = TACIT_GET0(uint64_t, k->view[0]);
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(uint64_t, k->view[1], i) += sum + i;
    }
}

static void do_gather(const tacit_launch *k)
{
    uint64_t all = 0;
    for (size_t i = 0; i < k->view[0].extent[0]; i++) {
        all = 7 * all + TACIT_GET1(uint64_t, k->view[0], i);
    }
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(uint64_t, k->view[1], i) += all ^ i;
    }
}

/* One call, whatever the number of workers. */
static void do_whole(const tacit_launch *k)
{
    REQUIRE(k->chunk.max[0] - k->chunk.min[0] == k->view[0].extent[0] || k->num_nodes > 1);
    do_write(k);
}

/* ---- tasks of a loop */

typedef enum kind { MIX, WRITE, SUM, SPREAD, WHOLE, READ_SUM, READ_BOX, TICKET, WAIT, KINDS, GATHER } kind;

typedef struct step {
    kind kind;
    int a, b, sum;
    uint64_t args;
    int node; /* that it is placed on, plus 1, if it is a task that may be; else 0 */
} step;

static step random_step(program *p)
{
    rng *r = &p->random;
    step s = { .kind = (kind)rng_between(r, 0, 2 * KINDS - 1) };
    s.kind = s.kind < KINDS ? s.kind : (kind)rng_between(r, MIX, SPREAD); /* few waits and fences */
    s.a = (int)rng_between(r, 0, BUFFERS - 1);
    s.b = (s.a + (int)rng_between(r, 1, BUFFERS - 1)) % BUFFERS;
    s.sum = (int)rng_between(r, 0, SUMS - 1);
    s.args = (uint64_t)rng_between(r, 1, MAX_ARGS);
    if (p->gathered && rng_between(r, 1, p->gathered) == 1) {
        s.kind = GATHER;
    }
    if (p->placed && rng_between(r, 1, p->placed) == 1) {
        s.node = (int)rng_between(r, 1, tacit_num_nodes(p->ctx));
    }
    return s;
}

static void submit(program *p, const step *s, const char *name, tacit_host_kernel *kernel, tacit_access first,
                   tacit_access second, const numbers *args)
{
    const size_t bytes = args ? (1 + args->count) * sizeof(args->value[0]) : 0;
    tacit_task t = { .name = name,
                     .range = TACIT_RANGE(p->items),
                     .kernel.host = kernel,
                     .hint.whole_chunk = kernel == do_whole,
                     .args = args,
                     .args_size = bytes,
                     .access = { first, second } };
    if (s && s->node) {
        t.place = tacit_place_node(s->node - 1);
    }
    must(p, tacit_submit(p->ctx, &t));
}

static void mix(program *p, const step *s)
{
    numbers n = { .count = s->args };
    for (uint64_t i = 0; i < n.count; i++) {
        n.value[i] = (uint64_t)rng_between(&p->random, 0, 1000000);
    }
    submit(p, s, "mix", do_mix, tacit_read(p->x[s->a], tacit_neighborhood(1, 0, 0)),
           tacit_update(p->x[s->b], tacit_one_to_one()), &n);
    for (size_t i = 0; i < p->items; i++) {
        const uint64_t *a = p->expected[s->a];
        p->expected[s->b][i] = mixed(p->expected[s->b][i], a[i ? i - 1 : i], a[i + 1 < p->items ? i + 1 : i],
                                     total(&n));
    }
}

static void gather(program *p, const step *s)
{
    uint64_t all = 0;
    submit(p, s, "gather", do_gather, tacit_read(p->x[s->a], tacit_all()), tacit_update(p->x[s->b], tacit_one_to_one()),
           NULL);
    for (size_t i = 0; i < p->items; i++) {
        all = 7 * all + p->expected[s->a][i];
    }
    for (size_t i = 0; i < p->items; i++) {
        p->expected[s->b][i] += all ^ i;
    }
}

static void expect_box(const program *p, int buffer, const uint64_t *got, size_t min, size_t max)
{
    for (size_t i = min; i < max; i++) {
        if (got[i - min] != p->expected[buffer][i]) {
            fprintf(stderr, "buffer %d of %zu items is %" PRIu64 " at %zu, not %" PRIu64 "\n", buffer, p->items,
                    got[i - min], i, p->expected[buffer][i]);
            abort();
        }
    }
}

static void read_box(program *p, int buffer, size_t min, size_t max, bool by_ticket)
{
    const tacit_box box = tacit_box1(min, max);
    uint64_t got[MAX_ITEMS];
    if (!by_ticket) {
        must(p, tacit_fence_read(p->ctx, p->x[buffer], box, got));
        expect_box(p, buffer, got, min, max);
        return;
    }
    tacit_fence_ticket *ticket;
    const void *data;
    must(p, tacit_fence(p->ctx, p->x[buffer], box, &ticket));
    must(p, tacit_fence_get(ticket, &data));
    expect_box(p, buffer, data, min, max);
    tacit_fence_release(ticket);
}

static void run_step(program *p, const step *s)
{
    uint64_t got;
    switch (s->kind) {
    case MIX:
        mix(p, s);
        break;
    case WRITE:
    case WHOLE:
        submit(p, s, "write", s->kind == WHOLE ? do_whole : do_write, tacit_read(p->x[s->a], tacit_one_to_one()),
               tacit_write(p->x[s->b], tacit_one_to_one()), NULL);
        for (size_t i = 0; i < p->items; i++) {
            p->expected[s->b][i] = 5 * p->expected[s->a][i] + i;
        }
        break;
    case SUM:
        submit(p, s, "sum", do_sum, tacit_read(p->x[s->a], tacit_one_to_one()),
               tacit_reduce(p->sum[s->sum], tacit_sum(TACIT_UINT64)), NULL);
        p->expected_sum[s->sum] = 0;
        for (size_t i = 0; i < p->items; i++) {
            p->expected_sum[s->sum] += p->expected[s->a][i];
        }
        break;
    case SPREAD:
        submit(p, s, "spread", do_spread, tacit_read(p->sum[s->sum], tacit_all()),
               tacit_update(p->x[s->a], tacit_one_to_one()), NULL);
        for (size_t i = 0; i < p->items; i++) {
            p->expected[s->a][i] += p->expected_sum[s->sum] + i;
        }
        break;
    case GATHER:
        gather(p, s);
        break;
    case READ_SUM:
        must(p, tacit_fence_read(p->ctx, p->sum[s->sum], TACIT_BOX_ALL, &got));
        REQUIRE(got == p->expected_sum[s->sum]);
        break;
    case READ_BOX:
    case TICKET:
        read_box(p, s->a, p->items / 3, p->items, s->kind == TICKET);
        break;
    case WAIT:
    case KINDS:
        must(p, tacit_wait(p->ctx));
        break;
    }
}

/* ---- what programs do besides */

static void replace_buffer(program *p)
{
    const int b = (int)rng_between(&p->random, 0, BUFFERS - 1);
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(p->items),
                                     .elem_size = sizeof(uint64_t),
                                     .init = p->expected[b] };
    must(p, tacit_buffer_destroy(p->ctx, p->x[b]));
    must(p, tacit_buffer_create(p->ctx, &desc, &p->x[b]));
}

static void add_one(void *into, const void *from, size_t count, const void *user)
{
    (void)user;
    for (size_t i = 0; i < count; i++) {
        ((uint64_t *)into)[i] += ((const uint64_t *)from)[i];
    }
}

/* An operator that comes and goes. */
static void sum_by_own_operator(program *p)
{
    tacit_op op;
    const uint64_t zero = 0;
    must(p, tacit_op_create(
                p->ctx, &(tacit_op_desc){ .elem_size = sizeof(uint64_t), .identity = &zero, .combine = add_one }, &op));
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        submit(p, NULL, "own", do_sum, tacit_read(p->x[0], tacit_one_to_one()), tacit_reduce(p->sum[0], op), NULL);
    }
    for (size_t i = 0; i < p->items; i++) {
        sum += p->expected[0][i];
    }
    p->expected_sum[0] = sum;
    must(p, tacit_op_destroy(p->ctx, op));
}

static void do_something_else(program *p)
{
    tacit_counters before, after;
    const step extra = random_step(p);
    switch (rng_between(&p->random, 0, 7)) {
    case 0:
        must(p, tacit_get_counters(p->ctx, &before));
        run_step(p, &extra);
        must(p, tacit_get_counters(p->ctx, &after));
        REQUIRE(after.tasks >= before.tasks);
        break;
    case 1:
        replace_buffer(p);
        break;
    case 2:
        must(p, tacit_flush(p->ctx));
        break;
    case 3:
        must(p, tacit_barrier(p->ctx));
        break;
    case 4:
        sum_by_own_operator(p);
        break;
    case 5:
        must(p, tacit_wait(p->ctx));
        break;
    case 6:
        read_box(p, 1, 0, p->items / 2 + 1, true);
        break;
    default:
        run_step(p, &extra);
    }
}

/* ---- programs */

static void start_program(program *p, tacit_context *ctx, uint64_t number)
{
    memset(p, 0, sizeof(*p));
    p->ctx = ctx;
    p->random = rng_from(number);
    p->items = (size_t)rng_between(&p->random, 1, MAX_ITEMS);
    for (int b = 0; b < BUFFERS; b++) {
        for (size_t i = 0; i < p->items; i++) {
            p->expected[b][i] = 100 * (uint64_t)b + i;
        }
        const tacit_buffer_desc desc = { .range = TACIT_RANGE(p->items),
                                         .elem_size = sizeof(uint64_t),
                                         .init = p->expected[b] };
        must(p, tacit_buffer_create(p->ctx, &desc, &p->x[b]));
    }
    for (int s = 0; s < SUMS; s++) {
        const tacit_buffer_desc desc = { .elem_size = sizeof(uint64_t), .init = &p->expected_sum[s] };
        must(p, tacit_buffer_create(p->ctx, &desc, &p->sum[s]));
    }
}

static void open_program(program *p, const tacit_config *config, uint64_t number)
{
    tacit_context *ctx;
    assert_int_equal(tacit_init(config, &ctx), TACIT_OK);
    start_program(p, ctx, number);
}

static uint64_t check_program(program *p)
{
    for (int b = 0; b < BUFFERS; b++) {
        read_box(p, b, 0, p->items, false);
    }
    return ti_runtime_in_rounds(p->ctx->runtime);
}

static uint64_t close_program(program *p)
{
    const uint64_t in_rounds = check_program(p);
    assert_int_equal(tacit_finalize(p->ctx), TACIT_OK);
    return in_rounds;
}

/* A loop of a few tasks, which may end in the middle. */
static void run_loop(program *p, int rounds, int disturbed)
{
    step steps[MAX_TASKS];
    const int count = (int)rng_between(&p->random, 1, MAX_TASKS);
    for (int s = 0; s < count; s++) {
        steps[s] = random_step(p);
    }
    const int end = (int)rng_between(&p->random, 0, count - 1);
    for (int round = 0; round < rounds; round++) {
        for (int s = 0; s < count && (round + 1 < rounds || s <= end); s++) {
            run_step(p, &steps[s]);
            if (disturbed && rng_between(&p->random, 0, 1000) < disturbed) {
                do_something_else(p);
            }
            if (p->waits && rng_between(&p->random, 0, 1000) < p->waits) {
                must(p, tacit_wait(p->ctx));
            }
        }
    }
}

static uint64_t run_random_program(const tacit_config *config, uint64_t number)
{
    program p;
    open_program(&p, config, number);
    for (int loop = 0; loop < 4; loop++) {
        run_loop(&p, (int)rng_between(&p.random, 1, 300), (int)rng_between(&p.random, 0, 3) * 5);
    }
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
        for (int i = 0; i < EFFORT(12, 2); i++) {
            in_rounds += run_random_program(&modes[m], seed + 100 * m + (uint64_t)i);
        }
        print_message("%zu: %" PRIu64 " tasks\n", m, in_rounds);
        /* Sums in blocks are combined by workers; else it depends on how long kernels take, unless they always are. */
        assert_true(in_rounds > 0 || modes[m].reproducible || modes[m].rounds != TACIT_ROUNDS_ON);
    }
}

/* ---- several nodes: the same, where messages are short */

enum { ROUNDS_OF_NODES = EFFORT(800, 400), WAITS_EACH = 40, WAITS = ROUNDS_OF_NODES / WAITS_EACH };

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
    start_program(&p, ctx, run->number);
    p.placed = run->number % 3 == 0 || run->waits ? (int)rng_between(&p.random, 2, 30) : 0;
    p.gathered = run->waits ? (int)rng_between(&p.random, 0, 5) : 0;
    p.waits = run->waits;
    for (int loop = 0; loop < 3; loop++) {
        run_loop(&p, (int)rng_between(&p.random, 1, 300), (int)rng_between(&p.random, 0, 3) * 5);
    }
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
    for (int nodes = 2; nodes <= 5; nodes++) {
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
    for (int nodes = 2; nodes <= 5; nodes++) {
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
