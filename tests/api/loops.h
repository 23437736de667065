/* Random programs in loops, for tests of rounds (run/round.h): a few random tasks come again and again, with random
 * things in between, and every fence is compared with what a plain computation gets. */
#ifndef LOOPS_H
#define LOOPS_H

#include "api/cluster.h"
#include "unit/random.h"

#include <inttypes.h>
#include <string.h>

enum { BUFFERS = 4, MAX_ITEMS = 400, MAX_TASKS = 9, MAX_ARGS = 9, SUMS = 2 };

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

static uint64_t check_program(program *p)
{
    for (int b = 0; b < BUFFERS; b++) {
        read_box(p, b, 0, p->items, false);
    }
    return ti_runtime_in_rounds(p->ctx->runtime);
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

/* What is random of programs on several nodes, besides. */
static void start_program_of_nodes(program *p, tacit_context *ctx, uint64_t number, int waits)
{
    start_program(p, ctx, number);
    p->placed = number % 3 == 0 || waits ? (int)rng_between(&p->random, 2, 30) : 0;
    p->gathered = waits ? (int)rng_between(&p->random, 0, 5) : 0;
    p->waits = waits;
}

static void run_loops(program *p, int loops)
{
    for (int loop = 0; loop < loops; loop++) {
        run_loop(p, (int)rng_between(&p->random, 1, 300), (int)rng_between(&p->random, 0, 3) * 5);
    }
}

#endif
