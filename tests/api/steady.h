/* Programs for tests of memory: it does not grow with the length of a run.
 *
 * Each program submits a number of tasks. When a third of them has been submitted, 100 000 at the latest, memory and
 * calls of malloc are noted, and compared with the end. What tacit allocated stays below 16 MiB at any time.
 *
 * How much there is depends on how far submission is ahead, and where nothing but messages holds a node, that depends
 * on the machine's other load. So two nodes of one process first get as far apart as they can, both ways: what that
 * takes is part of what is noted. */
#ifndef STEADY_H
#define STEADY_H

#include "api/cluster.h"
#include "effort.h"
#include "run/impl.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SUBMIT(ctx, ...) REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ __VA_ARGS__ }))
#define KERNEL(f) .kernel = { .host = (f) }

/* Sanitizers keep freed memory, and are slow. A third of the tasks fills what is kept of tasks. */
enum { DEFAULT_TASKS = EFFORT(300000, 45000), COUNTS_RESIDENT = EFFORT(1, 0) };

enum { N = 512, TILES = 64, WARM = 100000 };
static const uint64_t most_allocated = 16 << 20, most_growth = 1 << 20;

/* Set once, by main. */
static uint64_t wanted_tasks = DEFAULT_TASKS;
static const char *only;

/* The nodes that have been as far ahead as they may be; cleared before a program starts. */
static _Atomic bool was_ahead[2];

typedef struct usage {
    uint64_t tasks, resident, calls, peak;
    uint64_t live; /* the most at any look since the measurement before: how far nodes are apart changes all the time */
} usage;

typedef struct state {
    tacit_context *ctx;
    tacit_buffer *A, *B, *sum, *tile[TILES];
    tacit_fence_ticket *ticket;
    uint64_t step;
} state;

typedef struct program {
    const char *name;
    void (*step)(state *s); /* submits a few tasks */
    int calls; /* of malloc that 1 000 tasks may take: buffers, tickets of fences, messages inside the process */
    int nodes; /* of this process; 0: as many as there are processes */
    tacit_config config;
    int divide; /* the number of tasks by this: for slow programs */
    bool apart; /* its two nodes first get as far apart as they can; it waits for nothing */
} program;

/* ---- kernels */

static inline void touch(const tacit_launch *k)
{
    for (size_t i = k->view[0].box.min[0]; i < k->view[0].box.max[0]; i++) {
        TACIT_AT1(uint32_t, k->view[0], i) += 1;
    }
}

static inline void average(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        uint32_t left = i ? TACIT_GET1(uint32_t, in, i - 1) : 0,
                 right = i + 1 < N ? TACIT_GET1(uint32_t, in, i + 1) : 0;
        TACIT_AT1(uint32_t, k->view[1], i) = (left + right) / 2;
    }
}

static inline void count(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT0(uint32_t, k->view[1]) += 1;
    }
}

static inline void consume_slowly(const tacit_launch *k)
{
    volatile uint32_t sum = 0;
    for (int i = 0; i < 3000; i++) {
        sum = sum + TACIT_GET1(uint32_t, k->view[0], 0);
    }
    TACIT_AT1(uint32_t, k->view[1], 0) += sum;
}

static inline void wait_until_ahead(int node)
{
    while (!atomic_load(&was_ahead[node])) {
        usleep(100);
    }
}

static inline void hold(const tacit_launch *k)
{
    (void)k;
    wait_until_ahead(0);
}

/* ---- programs, one step each */

static inline void independent(state *s)
{
    SUBMIT(s->ctx, .range = TACIT_RANGE(1), KERNEL(touch),
           .access = { tacit_update(s->tile[s->step % TILES], tacit_all()) }, .on = TACIT_ON_DEVICES,
           .place = tacit_place_node((int)(s->step % (uint64_t)tacit_num_nodes(s->ctx))));
}

static inline void chain(state *s)
{
    SUBMIT(s->ctx, .range = TACIT_RANGE(1), KERNEL(touch), .access = { tacit_update(s->tile[0], tacit_all()) },
           .place = tacit_place_node(0));
}

static inline void stencil(state *s)
{
    SUBMIT(s->ctx, .name = "average", .range = TACIT_RANGE(N), KERNEL(average),
           .access = { tacit_read(s->A, tacit_neighborhood(1, 0, 0)), tacit_write(s->B, tacit_one_to_one()) });
    tacit_buffer *swap = s->A;
    s->A = s->B;
    s->B = swap;
}

/* What the stencil reads was written by two tasks. */
static inline void fragments(state *s)
{
    SUBMIT(s->ctx, .range = TACIT_RANGE(1), KERNEL(touch),
           .access = { tacit_update(s->A, tacit_fixed(tacit_box1(0, N / 3))) }, .place = tacit_place_node(0));
    SUBMIT(s->ctx, .range = TACIT_RANGE(1), KERNEL(touch),
           .access = { tacit_update(s->A, tacit_fixed(tacit_box1(N / 3, N))) }, .place = tacit_place_node(0));
    stencil(s);
}

static inline void reduction(state *s)
{
    SUBMIT(s->ctx, .name = "count", .range = TACIT_RANGE(N), KERNEL(count),
           .access = { tacit_read(s->A, tacit_one_to_one()), tacit_reduce(s->sum, tacit_sum(TACIT_UINT32)) });
    stencil(s);
}

static inline void fences(state *s)
{
    uint32_t values[N];
    stencil(s);
    if (s->step % 16 == 0) {
        REQUIRE_OK(s->ctx, tacit_fence_read(s->ctx, s->A, tacit_box1(3, 9), values));
    }
    if (s->step % 50 == 0) {
        tacit_fence_release(s->ticket);
        REQUIRE_OK(s->ctx, tacit_fence(s->ctx, s->A, TACIT_BOX_ALL, &s->ticket));
    }
    if (s->step % 1000 == 0) {
        REQUIRE_OK(s->ctx, tacit_wait(s->ctx));
    }
}

static inline void buffers(state *s)
{
    uint32_t init[TILES] = { 1 };
    tacit_buffer *b;
    const tacit_buffer_desc desc = {
        .name = "temporary", .range = TACIT_RANGE(TILES), .elem_size = 4, .init = s->step % 8 ? NULL : init
    };
    REQUIRE_OK(s->ctx, tacit_buffer_create(s->ctx, &desc, &b));
    if (desc.init) {
        SUBMIT(s->ctx, .range = TACIT_RANGE(1), KERNEL(touch), .access = { tacit_update(b, tacit_all()) },
               .place = tacit_place_node(0));
    }
    REQUIRE_OK(s->ctx, tacit_buffer_destroy(s->ctx, b));
}

/* Now and then the buffer of a chain goes, and another chain begins on a new one. */
static inline void replaced(state *s)
{
    static const uint32_t zeros[1] = { 0 };
    chain(s);
    if (s->step % 20000 == 19999) {
        const tacit_buffer_desc one = {
            .name = "tile", .range = TACIT_RANGE(1), .elem_size = sizeof(uint32_t), .init = zeros
        };
        REQUIRE_OK(s->ctx, tacit_buffer_destroy(s->ctx, s->tile[0]));
        REQUIRE_OK(s->ctx, tacit_buffer_create(s->ctx, &one, &s->tile[0]));
    }
}

static inline void mixed(state *s)
{
    independent(s);
    chain(s);
    stencil(s);
    if (s->step % 10 == 0) {
        reduction(s);
        fences(s);
    }
    if (s->step % 100 == 0) {
        buffers(s);
    }
}

/* Node 0 runs ahead as far as it may: a small message per task to the last one, which takes longer for each. */
static inline void slow_consumer(state *s)
{
    SUBMIT(s->ctx, .name = "make", .range = TACIT_RANGE(1), KERNEL(touch),
           .access = { tacit_update(s->tile[s->step % TILES], tacit_all()) }, .place = tacit_place_node(0));
    SUBMIT(s->ctx, .name = "use", .range = TACIT_RANGE(1), KERNEL(consume_slowly),
           .place = tacit_place_node(tacit_num_nodes(s->ctx) - 1),
           .access = { tacit_read(s->tile[s->step % TILES], tacit_all()),
                       tacit_update(s->tile[(s->step + 1) % TILES], tacit_all()) });
}

/* The same with nothing that comes back: node 0 never waits for it. */
static inline void slow_sink(state *s)
{
    SUBMIT(s->ctx, .name = "make", .range = TACIT_RANGE(1), KERNEL(touch),
           .access = { tacit_update(s->tile[s->step % TILES], tacit_all()) }, .place = tacit_place_node(0));
    SUBMIT(s->ctx, .name = "use", .range = TACIT_RANGE(1), KERNEL(consume_slowly),
           .place = tacit_place_node(tacit_num_nodes(s->ctx) - 1),
           .access = { tacit_read(s->tile[s->step % TILES], tacit_all()), tacit_update(s->B, tacit_all()) });
}

static inline bool is_chosen(const program *p)
{
    return !only || strcmp(only, p->name) == 0;
}

/* ---- measuring */

static inline uint64_t resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    REQUIRE(f && fscanf(f, "%lu %lu", &total, &resident) == 2);
    fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* `live` is the most that has been allocated lately. */
static inline usage measure(tacit_context *ctx, uint64_t live)
{
    tacit_counters c;
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    return (usage){ c.tasks, resident_bytes(), ti_alloc_calls(), c.allocated_peak, TI_MAX(live, c.allocated_bytes) };
}

static inline state make_state(tacit_context *ctx)
{
    static const uint32_t zeros[N] = { 0 };
    state s = { .ctx = ctx };
    const tacit_buffer_desc line = {
        .name = "line", .range = TACIT_RANGE(N), .elem_size = sizeof(uint32_t), .init = zeros
    };
    const tacit_buffer_desc one = {
        .name = "tile", .range = TACIT_RANGE(1), .elem_size = sizeof(uint32_t), .init = zeros
    };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &line, &s.A));
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &line, &s.B));
    REQUIRE_OK(ctx,
               tacit_buffer_create(ctx, &(tacit_buffer_desc){ .name = "sum", .elem_size = sizeof(uint32_t) }, &s.sum));
    for (int i = 0; i < TILES; i++) {
        REQUIRE_OK(ctx, tacit_buffer_create(ctx, &one, &s.tile[i]));
    }
    return s;
}

static inline void free_state(state *s)
{
    tacit_buffer *all[] = { s->A, s->B, s->sum };
    tacit_fence_release(s->ticket);
    for (size_t i = 0; i < TI_COUNT(all); i++) {
        REQUIRE_OK(s->ctx, tacit_buffer_destroy(s->ctx, all[i]));
    }
    for (int i = 0; i < TILES; i++) {
        REQUIRE_OK(s->ctx, tacit_buffer_destroy(s->ctx, s->tile[i]));
    }
    REQUIRE_OK(s->ctx, tacit_wait(s->ctx));
}

static inline void judge(const program *p, int node, const usage *warm, const usage *end)
{
    uint64_t tasks = end->tasks - warm->tasks, calls = end->calls - warm->calls;
    printf(
        "%-18s node %d: %9llu tasks: allocated at most %5llu KiB (before %5llu, peak %5llu), malloc calls +%llu, resident +%lld KiB\n",
        p->name, node, (unsigned long long)end->tasks, (unsigned long long)end->live >> 10,
        (unsigned long long)warm->live >> 10, (unsigned long long)(end->peak >> 10), (unsigned long long)calls,
        ((long long)end->resident - (long long)warm->resident) / 1024);
    fflush(stdout);
    REQUIRE(end->peak < most_allocated);
    REQUIRE(end->live < warm->live + most_growth);
    REQUIRE(calls <= 200 + (uint64_t)p->calls * tasks / 1000);
    REQUIRE(!COUNTS_RESIDENT || end->resident < warm->resident + most_growth * (uint64_t)TI_MAX(p->nodes, 1));
}

/* Node 1 begins with a kernel that lasts until node 0 is far ahead. */
static inline void hold_node_1(state *s)
{
    SUBMIT(s->ctx, .name = "hold", .range = TACIT_RANGE(1), KERNEL(hold), .access = { tacit_update(s->B, tacit_all()) },
           .place = tacit_place_node(1));
}

/* Then node 0 submits nothing until node 1 is, which waits for its messages. Far ahead: a horizon more, and the next
 * submission waits until one has been executed. */
static inline void note_lead(tacit_context *ctx)
{
    const ti_runtime *rt = ctx->runtime;
    const int node = tacit_node(ctx);
    if (!atomic_load(&was_ahead[node]) &&
        !ti_ahead_is_near(&rt->ahead, atomic_load(&rt->progress.points), (uint64_t)rt->config.run_ahead - 1)) {
        atomic_store(&was_ahead[node], true);
        wait_until_ahead(node ? node : 1);
    }
}

/* Runs on every node. Every process measures itself, while the others may be anywhere; nodes of one process do so
 * together. */
static inline void run(tacit_context *ctx, void *user)
{
    const program *p = user;
    state s = make_state(ctx);
    const uint64_t wanted = wanted_tasks / (uint64_t)p->divide, warm_at = TI_MIN((uint64_t)WARM, wanted / 3),
                   before = measure(ctx, 0).tasks;
    usage warm = { 0 };
    tacit_counters c = { .tasks = before };
    uint64_t live = 0;
    if (p->apart) {
        hold_node_1(&s);
    }
    while (c.tasks - before < wanted) {
        for (int i = 0; i < 100; i++, s.step++) {
            p->step(&s);
            if (p->apart) {
                note_lead(ctx);
            }
        }
        REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
        live = TI_MAX(live, c.allocated_bytes);
        if (c.tasks - before >= warm_at && !warm.tasks) {
            warm = measure(ctx, live);
            live = 0;
        }
    }
    usage end = measure(ctx, live);
    free_state(&s);
    if (tacit_node(ctx) == 0 || p->nodes == 0) {
        judge(p, tacit_node(ctx), &warm, &end);
    }
}

#endif
