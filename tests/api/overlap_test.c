/* Kernels run while messages are under way: seen in the order of events of node 0, with two nodes in one process.
 *
 * Nothing is left to chance. What node 0 waits for comes only after a kernel of node 0 that does not need it has run:
 * the sender's kernel (or its program) blocks until then. A runtime that did not overlap them would never end, so the
 * blocked side gives up after a while and the test fails. */
#include "cluster.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SUBMIT(ctx, ...) REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ __VA_ARGS__ }))
#define KERNEL(f) .kernel = { .host = (f) }

enum { N = 4096, HALF = N / 2, GIVE_UP_S = 300 };

typedef struct gate {
    atomic_int open;
} gate;

static void wait_for(gate *g)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
        REQUIRE(now.tv_sec - start.tv_sec < GIVE_UP_S);
    } while (!atomic_load(&g->open));
}

/* ---- kernels; their argument is the gate */

static void fill(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[0], i) = (int)i;
    }
}

static void fill_late(const tacit_launch *k)
{
    gate *const *g = k->args;
    if (k->node == 1) {
        wait_for(*g);
    }
    fill(k);
}

static void add_neighbours(const tacit_launch *k)
{
    const tacit_view in = k->view[0];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[1], i) = (i ? TACIT_GET1(int, in, i - 1) : 0) +
                                        (i + 1 < N ? TACIT_GET1(int, in, i + 1) : 0);
    }
}

static void open_gate(const tacit_launch *k)
{
    gate *const *g = k->args;
    atomic_store(&(*g)->open, 1);
}

/* ---- programs */

static tacit_buffer *ints(tacit_context *ctx, const char *name)
{
    tacit_buffer *b;
    REQUIRE_OK(ctx,
               tacit_buffer_create(
                   ctx, &(tacit_buffer_desc){ .name = name, .range = TACIT_RANGE(N), .elem_size = sizeof(int) }, &b));
    return b;
}

static void check_sums(tacit_context *ctx, tacit_buffer *b, size_t end)
{
    static _Thread_local int got[N];
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, tacit_box1(0, end), got));
    for (int i = 0; i < (int)end; i++) {
        REQUIRE(got[i] == (i ? i - 1 : 0) + (i + 1 < N ? i + 1 : 0));
    }
}

/* Opens the gate when the kernels of node 0 that write `b` are complete, and not only about to be. */
static void open_after(tacit_context *ctx, tacit_buffer *b, size_t end, gate *g)
{
    SUBMIT(ctx, .name = "open", .range = TACIT_RANGE(1), KERNEL(open_gate), TACIT_ARGS(g), .place = tacit_place_node(0),
           .access = { tacit_read(b, tacit_fixed(tacit_box1(0, end))) });
}

/* Node 0 needs what node 1 makes; another task of node 0 needs nothing of it. */
static void another_task(tacit_context *ctx, void *user)
{
    gate *g = user;
    tacit_buffer *A = ints(ctx, "A"), *B = ints(ctx, "B"), *C = ints(ctx, "C");
    SUBMIT(ctx, .name = "make", .range = TACIT_RANGE(N), KERNEL(fill_late), TACIT_ARGS(g), .place = tacit_place_node(1),
           .access = { tacit_write(A, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "use", .range = TACIT_RANGE(N), KERNEL(add_neighbours), .place = tacit_place_node(0),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "free", .range = TACIT_RANGE(N), KERNEL(fill), .place = tacit_place_node(0),
           .access = { tacit_write(C, tacit_one_to_one()) });
    open_after(ctx, C, N, g);
    check_sums(ctx, B, N);
}

/* The same buffer: a task that reads what node 0 has of it. */
static void another_part(tacit_context *ctx, void *user)
{
    gate *g = user;
    tacit_buffer *A = ints(ctx, "A"), *B = ints(ctx, "B"), *C = ints(ctx, "C");
    SUBMIT(ctx, .name = "make", .range = TACIT_RANGE(N), KERNEL(fill_late), TACIT_ARGS(g),
           .access = { tacit_write(A, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "use", .range = TACIT_RANGE(N), KERNEL(add_neighbours),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "free", .range = TACIT_RANGE(HALF - 1), KERNEL(add_neighbours), .place = tacit_place_node(0),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(C, tacit_one_to_one()) });
    open_after(ctx, C, HALF - 1, g);
    check_sums(ctx, B, N);
    check_sums(ctx, C, HALF - 1);
}

/* The same task: of two chunks per node, one has no neighbour on the other node. */
static void another_chunk(tacit_context *ctx, void *user)
{
    gate *g = user;
    tacit_buffer *A = ints(ctx, "A"), *B = ints(ctx, "B");
    SUBMIT(ctx, .name = "make", .range = TACIT_RANGE(N), KERNEL(fill_late), TACIT_ARGS(g),
           .access = { tacit_write(A, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "free", .range = TACIT_RANGE(N), KERNEL(add_neighbours), .hint = { .oversubscribe = 2 },
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) });
    open_after(ctx, B, HALF / 2, g);
    check_sums(ctx, B, N);
}

/* A send that nobody has asked for yet: node 1 does not even submit before node 0's next kernel has run. */
static void a_send(tacit_context *ctx, void *user)
{
    gate *g = user;
    tacit_buffer *A = ints(ctx, "A"), *B = ints(ctx, "B"), *C = ints(ctx, "C");
    if (tacit_node(ctx) == 1) {
        wait_for(g);
    }
    SUBMIT(ctx, .name = "make", .range = TACIT_RANGE(N), KERNEL(fill), .place = tacit_place_node(0),
           .access = { tacit_write(A, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "use", .range = TACIT_RANGE(N), KERNEL(add_neighbours), .place = tacit_place_node(1),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) });
    /* Reads what is being sent, and runs when "make" is done, like the send: it starts after it. */
    SUBMIT(ctx, .name = "free", .range = TACIT_RANGE(N), KERNEL(add_neighbours), .place = tacit_place_node(0),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(C, tacit_one_to_one()) });
    open_after(ctx, C, N, g);
    check_sums(ctx, B, N);
    check_sums(ctx, C, N);
}

/* ---- the order of events on node 0 */

static int find(const timeline *t, ti_instruction_kind kind, const char *task, bool complete)
{
    for (size_t i = 0; i < t->events.count; i++) {
        const timeline_event *e = &t->events.data[i];
        if (e->kind == kind && e->complete == complete && (!task || strcmp(e->task, task) == 0)) {
            return (int)i;
        }
    }
    return -1;
}

static void check_order(const timeline *t, ti_instruction_kind transfer)
{
    int issued = find(t, transfer, NULL, false), arrived = find(t, transfer, NULL, true);
    int started = find(t, TI_INSTRUCTION_KERNEL, "free", false), ended = find(t, TI_INSTRUCTION_KERNEL, "free", true);
    if (!(issued >= 0 && issued < started && started < ended && ended < arrived)) {
        fail_msg("transfer events %d and %d, kernel events %d and %d", issued, arrived, started, ended);
    }
    int used = find(t, TI_INSTRUCTION_KERNEL, "use", false);
    assert_true(used < 0 || used > arrived);
}

static void run(cluster_program *program, ti_instruction_kind transfer)
{
    const tacit_config modes[] = {
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 1 },
        { .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 2 },
        { .progress = TACIT_PROGRESS_THREAD, .workers = 1 },
    };
    for (size_t m = 0; m < TI_COUNT(modes); m++) {
        gate g = { 0 };
        timeline events[2];
        timeline_init(&events[0]);
        timeline_init(&events[1]);
        cluster_run(&(cluster){
            .nodes = 2, .config = &modes[m], .eager = 1, .timeline = events, .program = program, .user = &g });
        check_order(&events[0], transfer);
        timeline_fini(&events[0]);
        timeline_fini(&events[1]);
    }
}

static void a_receive_overlaps_another_task(void **state)
{
    (void)state;
    run(another_task, TI_INSTRUCTION_RECEIVE);
}

static void a_receive_overlaps_the_rest_of_its_buffer(void **state)
{
    (void)state;
    run(another_part, TI_INSTRUCTION_RECEIVE);
}

static void a_receive_overlaps_another_chunk_of_its_task(void **state)
{
    (void)state;
    run(another_chunk, TI_INSTRUCTION_RECEIVE);
}

static void a_send_overlaps_readers_of_the_same_data(void **state)
{
    (void)state;
    run(a_send, TI_INSTRUCTION_SEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_overlaps_another_task),
        cmocka_unit_test(a_receive_overlaps_the_rest_of_its_buffer),
        cmocka_unit_test(a_receive_overlaps_another_chunk_of_its_task),
        cmocka_unit_test(a_send_overlaps_readers_of_the_same_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
