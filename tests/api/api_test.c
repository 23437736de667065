/* What programs mean: buffers, host tasks, placement, hints, fences, initial data, lifetimes, several contexts. See
 * programs.h; mappers and reductions are in mappers_test.c. `api_test PROGRAM` runs one program only. */
#include "effort.h"
#include "programs.h"

#include <unistd.h>

/* ---------------------------------------------------------------- buffers of 0 to 3 dimensions, elements of any size
 */

typedef struct odd {
    unsigned char b[3];
} odd;

static int mix(size_t i, size_t j, size_t l)
{
    return (int)(i * 10007 + j * 101 + l + 5);
}

static void fill1(const tacit_launch *k)
{
    FOR_I(k)
    {
        odd *o = &TACIT_AT1(odd, k->view[0], i);
        o->b[0] = (unsigned char)i, o->b[1] = (unsigned char)(i + 1), o->b[2] = (unsigned char)(2 * i);
    }
}

static void fill2(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) TACIT_AT2(double, k->view[0], i, j) = mix(i, j, 0);
}

static void fill3(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) FOR_L(k) TACIT_AT3(int, k->view[0], i, j, l) = mix(i, j, l);
}

static void add3(const tacit_launch *k)
{
    FOR_I(k) FOR_J(k) FOR_L(k) TACIT_AT3(int, k->view[0], i, j, l) += 1;
}

static void dimensions(tacit_context *ctx, void *user)
{
    (void)user;
    int zero, three[MOST];
    odd one[N];
    double two[ROWS * COLS];
    tacit_buffer *b0 = make(ctx, "b0", (tacit_range){ .dims = 0 }, sizeof(int), NULL);
    tacit_buffer *b1 = make(ctx, "b1", TACIT_RANGE(N), sizeof(odd), NULL);
    tacit_buffer *b2 = make(ctx, "b2", TACIT_RANGE(ROWS, COLS), sizeof(double), NULL);
    tacit_buffer *b3 = make(ctx, "b3", TACIT_RANGE(PLANES, ROWS, COLS), sizeof(int), NULL);
    SUBMIT(ctx, .name = "fill0", KERNEL(fill0), .access = { tacit_write(b0, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "fill1", .range = TACIT_RANGE(N), KERNEL(fill1),
           .access = { tacit_write(b1, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "fill2", .range = TACIT_RANGE(ROWS, COLS), KERNEL(fill2),
           .access = { tacit_write(b2, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "fill3", .range = TACIT_RANGE(PLANES, ROWS, COLS), KERNEL(fill3),
           .access = { tacit_write(b3, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "add3", .range = TACIT_RANGE(PLANES, ROWS, COLS), KERNEL(add3),
           .access = { tacit_update(b3, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b0, TACIT_BOX_ALL, &zero));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b1, TACIT_BOX_ALL, one));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b2, TACIT_BOX_ALL, two));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b3, TACIT_BOX_ALL, three));
    REQUIRE(zero == 77);
    for (size_t i = 0; i < N; i++) {
        REQUIRE(one[i].b[0] == i && one[i].b[1] == i + 1 && one[i].b[2] == (unsigned char)(2 * i));
    }
    for (size_t e = 0; e < ROWS * COLS; e++) {
        REQUIRE(two[e] == mix(e / COLS, e % COLS, 0));
    }
    for (size_t e = 0; e < MOST; e++) {
        REQUIRE(three[e] == mix(e / (ROWS * COLS), e / COLS % ROWS, e % COLS) + 1);
    }
}

/* Buffers larger than any memory, of which a little is touched. */
static void fill_far(const tacit_launch *k)
{
    const size_t *from = k->args;
    FOR_I(k) TACIT_AT1(short, k->view[0], *from + i) = (short)(100 + i);
}

static void vast_buffers(tacit_context *ctx, void *user)
{
    (void)user;
    enum { PIECE = 10 };
    const size_t n = (size_t)1 << 46, from = n - PIECE;
    short got[PIECE];
    tacit_buffer *b = make(ctx, "vast", TACIT_RANGE(n), sizeof(short), NULL);
    SUBMIT(ctx, .name = "far", .range = TACIT_RANGE(PIECE), KERNEL(fill_far), TACIT_ARGS(from),
           .place = tacit_place_node(0), .access = { tacit_write(b, tacit_fixed(tacit_box1(from, n))) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, tacit_box1(from, n), got));
    for (int i = 0; i < PIECE; i++) {
        REQUIRE(got[i] == 100 + i);
    }
    /* Many items that do nothing: a quarter of what a range may have. */
    const size_t m = (size_t)1 << 20;
    tacit_buffer *flag = make(ctx, "flag", (tacit_range){ .dims = 0 }, sizeof(int), NULL);
    SUBMIT(ctx, .name = "huge", .range = TACIT_RANGE(m, m, m), KERNEL(fill0), .place = tacit_place_node(0),
           .access = { tacit_write(flag, tacit_all()) });
    int value = 0;
    REQUIRE_OK(ctx, tacit_fence_read(ctx, flag, TACIT_BOX_ALL, &value));
    REQUIRE(value == 77);
}

/* ---------------------------------------------------------------- host tasks, placement */

typedef struct collected {
    int *out; /* of this node's process */
    atomic_int *calls;
    int node; /* that must run it */
} collected;

static void collect(const tacit_launch *k)
{
    const collected *c = k->args;
    REQUIRE(k->node == c->node && k->chunk.min[0] == 0 && k->chunk.max[0] == N);
    atomic_fetch_add(c->calls, 1);
    FOR_I(k) c->out[i] = TACIT_GET1(int, k->view[0], i);
}

static void mark_node(const tacit_launch *k)
{
    REQUIRE(k->worker >= 0 && k->worker < k->num_workers && k->node >= 0 && k->node < k->num_nodes);
    FOR_I(k) TACIT_AT1(int, k->view[0], i) = 1000 * (int)k->chunk.min[0] + (int)k->chunk.max[0];
}

static void host_tasks(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], out[N], got[N], nodes = tacit_num_nodes(ctx);
    count_up(a, N);
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL);
    for (int place = -1; place < nodes; place++) {
        atomic_int calls = 0;
        collected c = { out, &calls, TI_MAX(place, 0) };
        memset(out, 0, sizeof(out));
        SUBMIT(ctx, .name = "collect", .range = TACIT_RANGE(N), KERNEL(collect), TACIT_ARGS(c), .on = TACIT_ON_ONE_NODE,
               .place = place < 0 ? (tacit_place){ 0 } : tacit_place_node(place),
               .access = { tacit_read(A, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_wait(ctx));
        bool mine = tacit_node(ctx) == c.node;
        REQUIRE(atomic_load(&calls) == mine);
        REQUIRE(!mine || memcmp(a, out, sizeof(a)) == 0);
        SUBMIT(ctx, .name = "copy", .range = TACIT_RANGE(N), KERNEL(copy_checked), .on = TACIT_ON_HOST,
               .access = { tacit_read(A, tacit_one_to_one()), tacit_write(B, tacit_one_to_one()) });
        SUBMIT(ctx, .name = "next", .range = TACIT_RANGE(N), KERNEL(sum_all),
               .place = tacit_place_node(TI_MAX(place, 0)),
               .access = { tacit_read(B, tacit_fixed(tacit_box1(N - 1, N))), tacit_write(A, tacit_all()) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
        for (int i = 0; i < N; i++) {
            REQUIRE(got[i] == a[N - 1] + i);
        }
        memcpy(a, got, sizeof(a));
    }
    /* A split host task gets each node's chunk in one piece. */
    SUBMIT(ctx, .name = "mark", .range = TACIT_RANGE(N), KERNEL(mark_node), .on = TACIT_ON_HOST,
           .access = { tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0, end = 0; i < N; i = end) {
        end = got[i] % 1000;
        REQUIRE(got[i] / 1000 == i && end > i && (end - i == N / nodes || end - i == N / nodes + 1));
        for (int j = i; j < end; j++) {
            REQUIRE(got[j] == got[i]);
        }
    }
}

/* ---------------------------------------------------------------- hints */

static void check_hints(const tacit_launch *k)
{
    const tacit_hints *h = k->args;
    for (int d = 0; d < 2; d++) {
        size_t g = TI_MAX(h->granularity[d], (size_t)1);
        REQUIRE(k->chunk.min[d] % g == 0 && (k->chunk.max[d] % g == 0 || k->chunk.max[d] == (d ? COLS : ROWS)));
        REQUIRE(k->chunk.min[d] < k->chunk.max[d]);
    }
    REQUIRE(h->split == TACIT_SPLIT_2D || (k->chunk.min[1] == 0 && k->chunk.max[1] == COLS) ||
            k->chunk.max[0] - k->chunk.min[0] == 1);
    FOR_I(k) FOR_J(k) TACIT_AT2(int, k->view[1], i, j) += TACIT_GET2(int, k->view[0], i, j);
}

static void hints(tacit_context *ctx, void *user)
{
    (void)user;
    int a[ROWS * COLS], got[ROWS * COLS], nodes = tacit_num_nodes(ctx), count = 0;
    uint32_t weights[64];
    for (int i = 0; i < nodes; i++) {
        weights[i] = (uint32_t)(i * i); /* node 0 has weight 0, and still gets something */
    }
    count_up(a, ROWS * COLS);
    tacit_buffer *A = make(ctx, "A", TACIT_RANGE(ROWS, COLS), sizeof(int), a),
                 *B = make(ctx, "B", TACIT_RANGE(ROWS, COLS), sizeof(int), a);
    const tacit_hints all[] = {
        { 0 },
        { .split = TACIT_SPLIT_2D },
        { .split = TACIT_SPLIT_2D, .granularity = { 3, 2 } },
        { .granularity = { 4, 0, 0 } },
        { .granularity = { 1000, 0, 0 } },
        { .oversubscribe = 3 },
        { .oversubscribe = 2, .split = TACIT_SPLIT_2D, .granularity = { 1, 2, 0 } },
        { .oversubscribe = 1024 },
        { .priority = 1000 },
        { .priority = -1000, .whole_chunk = true },
        { .weights = weights },
        { .weights = weights, .oversubscribe = 3, .granularity = { 2, 0, 0 } },
        { .pure = true },
    };
    for (size_t i = 0; i < TI_COUNT(all); i++) {
        SUBMIT(ctx, .name = "hint", .range = TACIT_RANGE(ROWS, COLS), KERNEL(check_hints), TACIT_ARGS(all[i]),
               .hint = all[i], .access = { tacit_read(A, tacit_one_to_one()), tacit_update(B, tacit_one_to_one()) });
        count++;
    }
    memset(weights, 0xff, sizeof(weights)); /* copied */
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    for (int i = 0; i < ROWS * COLS; i++) {
        REQUIRE(got[i] == a[i] * (1 + count));
    }
}

static void count_calls(const tacit_launch *k)
{
    atomic_int *const *calls = k->args;
    atomic_fetch_add(*calls, 1);
    if (k->view[0].data) {
        FOR_I(k) TACIT_AT1(int, k->view[0], i) = (int)(k->chunk.max[0] - k->chunk.min[0]);
    }
}

static void count_mixed(const tacit_launch *k)
{
    atomic_int *const *calls = k->args;
    atomic_fetch_add(*calls, 1);
}

/* A chunk that is not to be cut comes in one call; weights decide its size. */
static void whole_chunks(tacit_context *ctx, void *user)
{
    (void)user;
    int got[N], nodes = tacit_num_nodes(ctx);
    atomic_int calls = 0, *at = &calls;
    uint32_t weights[64] = { 0 };
    tacit_buffer *A = ints(ctx, "A", N, NULL);
    SUBMIT(ctx, .name = "whole", .range = TACIT_RANGE(N), KERNEL(count_calls), TACIT_ARGS(at),
           .hint = { .whole_chunk = true }, .access = { tacit_write(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE(atomic_load(&calls) == 1);
    weights[nodes - 1] = 1000000;
    SUBMIT(ctx, .name = "weighted", .range = TACIT_RANGE(N), KERNEL(count_calls), TACIT_ARGS(at),
           .hint = { .whole_chunk = true, .weights = weights }, .access = { tacit_write(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    REQUIRE(atomic_load(&calls) == 2);
    REQUIRE(got[0] == (nodes == 1 ? N : 1) && got[N - 1] == N - nodes + 1);
    SUBMIT(ctx, .name = "over", .range = TACIT_RANGE(N), KERNEL(count_calls), TACIT_ARGS(at),
           .hint = { .whole_chunk = true, .oversubscribe = 3 }, .access = { tacit_write(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE(atomic_load(&calls) == 5);
    for (int order = 0; order < 2;
         order++) { /* items read what others write: one call, whichever access is named first */
        const tacit_access own = tacit_write(A, tacit_one_to_one()), all = tacit_read(A, tacit_all());
        SUBMIT(ctx, .name = "mixed", .range = TACIT_RANGE(N), KERNEL(count_mixed), TACIT_ARGS(at),
               .place = tacit_place_node(0), .access = { order ? all : own, order ? own : all });
        REQUIRE_OK(ctx, tacit_wait(ctx));
        REQUIRE(atomic_load(&calls) == 5 + (tacit_node(ctx) == 0 ? order + 1 : 0));
    }
    SUBMIT(ctx, .name = "no access", .range = TACIT_RANGE(3), KERNEL(fill0), .place = tacit_place_node(nodes - 1),
           .access = { tacit_write(make(ctx, NULL, (tacit_range){ .dims = 0 }, sizeof(int), NULL), tacit_all()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

enum { PARTS = 3 };

/* Element i of the buffer: how many parts this call has of item i. */
static void add_parts(const tacit_launch *k)
{
    atomic_int *const *calls = k->args;
    atomic_fetch_add(*calls, 1);
    FOR_I(k) TACIT_AT1(int, k->view[0], i) = (int)(k->chunk.max[1] - k->chunk.min[1]);
}

/* A kernel that has not run yet is cut for all workers. */
static void add_placed_parts(const tacit_launch *k)
{
    add_parts(k);
}

static void add_columns(const tacit_launch *k)
{
    atomic_int *const *calls = k->args;
    atomic_fetch_add(*calls, 1);
    for (size_t j = k->chunk.min[1]; j < k->chunk.max[1]; j++) {
        TACIT_AT1(int, k->view[0], j) = (int)(k->chunk.max[0] - k->chunk.min[0]);
    }
}

/* Items that write one element are in one call; others may be in several. */
static void items_that_write_together(tacit_context *ctx, void *user)
{
    (void)user;
    int got[N], nodes = tacit_num_nodes(ctx), node = tacit_node(ctx), workers = tacit_workers(ctx);
    atomic_int calls = 0, *at = &calls;
    tacit_buffer *A = ints(ctx, "A", N, NULL);
    const tacit_mapper rows = tacit_components(tacit_dim(0), tacit_full(), tacit_full()),
                       columns = tacit_components(tacit_dim(1), tacit_full(), tacit_full());
    for (int placed = 0; placed < 2; placed++) {
        atomic_store(&calls, 0);
        SUBMIT(ctx, .name = "parts", .range = TACIT_RANGE(N, PARTS), KERNEL(placed ? add_placed_parts : add_parts),
               TACIT_ARGS(at), .place = placed ? tacit_place_node(nodes - 1) : (tacit_place){ 0 },
               .access = { tacit_write(A, rows) });
        REQUIRE_OK(ctx, tacit_wait(ctx));
        const int expected = placed && node != nodes - 1 ? 0 : TI_MIN(workers, placed ? N : N / nodes);
        REQUIRE(atomic_load(&calls) == expected);
        REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
        for (int i = 0; i < N; i++) {
            REQUIRE(got[i] == PARTS);
        }
    }
    /* One row, of which the parts are all that there is; and parts along dimension 0. */
    atomic_store(&calls, 0);
    SUBMIT(ctx, .name = "row", .range = TACIT_RANGE(1, PARTS), KERNEL(add_parts), TACIT_ARGS(at),
           .place = tacit_place_node(0), .access = { tacit_write(A, rows) });
    SUBMIT(ctx, .name = "columns", .range = TACIT_RANGE(PARTS, N), KERNEL(add_columns), TACIT_ARGS(at),
           .place = tacit_place_node(0), .access = { tacit_write(A, columns) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE(atomic_load(&calls) == (node == 0 ? 2 : 0));
}

/* ---------------------------------------------------------------- fences, initial data, arguments, lifetimes */

static void add_args(const tacit_launch *k)
{
    const int *add = k->args;
    REQUIRE(k->args_size == 2 * sizeof(int) && strcmp(k->name, "add") == 0 && k->context != NULL);
    FOR_I(k) TACIT_AT1(int, k->view[0], i) += add[0] + add[1];
}

static void fences(tacit_context *ctx, void *user)
{
    (void)user;
    enum { STEPS = 12 };
    int a[N] = { 0 }, total = 0;
    char name[] = "add";
    tacit_fence_ticket *ticket[STEPS];
    tacit_buffer *A = ints(ctx, "A", N, a);
    for (int step = 0; step < STEPS; step++) {
        int add[2] = { step, 1 };
        strcpy(name, "add");
        SUBMIT(ctx, .name = name, .range = TACIT_RANGE(N), KERNEL(add_args), TACIT_ARGS(add),
               .access = { tacit_update(A, tacit_one_to_one()) });
        add[0] = -1000; /* copied */
        strcpy(name, "bad");
        REQUIRE_OK(ctx, tacit_fence(ctx, A, step % 2 ? TACIT_BOX_ALL : tacit_box1((size_t)step, N - 3), &ticket[step]));
    }
    /* Every ticket has the values of its time, in whatever order it is asked. */
    for (int i = 0; i < STEPS; i++) {
        int step = (i * 5) % STEPS;
        const void *data = NULL;
        total = step * (step + 1) / 2 + step + 1;
        if (step != 7) {
            REQUIRE_OK(ctx, tacit_fence_get(ticket[step], &data));
            size_t n = step % 2 ? N : N - 3 - (size_t)step;
            for (size_t e = 0; e < n; e++) {
                REQUIRE(((const int *)data)[e] == total);
            }
        }
        tacit_fence_release(ticket[step]);
    }
}

static void sub_boxes(tacit_context *ctx, void *user)
{
    (void)user;
    int cube[MOST], got[MOST];
    count_up(cube, MOST);
    tacit_buffer *C = make(ctx, "C", TACIT_RANGE(PLANES, ROWS, COLS), sizeof(int), cube);
    const tacit_box boxes[] = {
        tacit_box3(0, 1, 0, 1, 0, 1),
        tacit_box3(1, 4, 2, 9, 3, 5),
        tacit_box3(PLANES - 1, PLANES, 0, ROWS, COLS - 1, COLS),
        tacit_box3(0, SIZE_MAX, 3, 4, 0, SIZE_MAX),
        TACIT_BOX_ALL,
    };
    for (int round = 0; round < 2; round++) {
        for (size_t b = 0; b < TI_COUNT(boxes); b++) {
            size_t at = 0, n0 = TI_MIN(boxes[b].max[0], (size_t)PLANES), n1 = TI_MIN(boxes[b].max[1], (size_t)ROWS),
                   n2 = TI_MIN(boxes[b].max[2], (size_t)COLS);
            REQUIRE_OK(ctx, tacit_fence_read(ctx, C, boxes[b], got));
            for (size_t i = boxes[b].min[0]; i < n0; i++) {
                for (size_t j = boxes[b].min[1]; j < n1; j++) {
                    for (size_t l = boxes[b].min[2]; l < n2; l++) {
                        REQUIRE(got[at++] == cube[(i * ROWS + j) * COLS + l] + round);
                    }
                }
            }
        }
        SUBMIT(ctx, .name = "add3", .range = TACIT_RANGE(PLANES, ROWS, COLS), KERNEL(add3),
               .access = { tacit_update(C, tacit_one_to_one()) });
    }
}

static void add_one(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT1(int, k->view[0], i)++;
}

enum { PASSES = EFFORT(150, 60) };

/* A loop whose passes have fences, of one box and of several in turn, to memory of the program's and with tickets that
 * are asked later: planned once and repeated, each gets what its own pass has made. Something else comes between. */
static void fences_in_loops(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], got[N], other[2];
    tacit_fence_ticket *ticket = NULL;
    count_up(a, N);
    tacit_buffer *A = ints(ctx, "A", N, a);
    for (int pass = 1; pass <= PASSES; pass++) {
        SUBMIT(ctx, .name = "add_one", .range = TACIT_RANGE(N), KERNEL(add_one),
               .access = { tacit_update(A, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
        for (int i = 0; i < N; i++) {
            REQUIRE(got[i] == a[i] + pass);
        }
        const size_t at = (size_t)(pass % 3);
        if (pass > PASSES / 3) {
            REQUIRE_OK(ctx, tacit_fence_read(ctx, A, tacit_box1(at, at + 2), other));
            REQUIRE(other[0] == a[at] + pass && other[1] == a[at + 1] + pass);
        }
        if (ticket) { /* of the pass before */
            const void *data;
            REQUIRE_OK(ctx, tacit_fence_get(ticket, &data));
            REQUIRE(memcmp(data, (int[]){ a[N - 1] + pass - 1 }, sizeof(int)) == 0);
            tacit_fence_release(ticket);
        }
        REQUIRE_OK(ctx, tacit_fence(ctx, A, tacit_box1(N - 1, N), &ticket));
        if (pass == PASSES / 2) {
            REQUIRE_OK(ctx, tacit_wait(ctx));
        }
    }
    tacit_fence_release(ticket);
}

static void initial_data(tacit_context *ctx, void *user)
{
    (void)user;
    int *a = malloc(N * sizeof(int)), got[N];
    static const int borrowed[N] = { 4, 5, 6 };
    count_up(a, N);
    tacit_buffer *A = ints(ctx, "A", N, a), *B;
    memset(a, 0xff, N * sizeof(int));
    free(a);
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx,
                        &(tacit_buffer_desc){
                            .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = borrowed, .init_borrow = true },
                        &B));
    SUBMIT(ctx, .range = TACIT_RANGE(N), KERNEL(three_point),
           .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) }, .name = NULL);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, TACIT_BOX_ALL, got));
    REQUIRE(got[1] == 1 + 2 * 4 + 3 * 7);
    REQUIRE(borrowed[1] == 5);
    REQUIRE_OK(ctx, tacit_buffer_create(
                        ctx,
                        &(tacit_buffer_desc){
                            .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = borrowed, .init_borrow = true },
                        &B));
    REQUIRE_OK(ctx, tacit_fence_read(ctx, B, tacit_box1(1, 3), got));
    REQUIRE(got[0] == 5 && got[1] == 6);
}

static void never(const tacit_launch *k)
{
    (void)k;
    REQUIRE(!"a kernel of an empty range runs");
}

static void empty_ranges(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], got[N];
    count_up(a, N);
    tacit_counters before, after;
    tacit_buffer *A = ints(ctx, "A", N, a), *G = make(ctx, "G", TACIT_RANGE(ROWS, COLS), sizeof(int), NULL),
                 *R = make(ctx, "R", (tacit_range){ .dims = 0 }, 4, a);
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &before));
    for (int i = 0; i < 100; i++) {
        SUBMIT(ctx, .range = { .dims = 1 }, KERNEL(never), .access = { tacit_update(A, tacit_one_to_one()) });
        SUBMIT(ctx, .range = { .dims = 2, .size = { ROWS, 0 } }, KERNEL(never),
               .access = { tacit_write(G, tacit_one_to_one()) });
        SUBMIT(ctx, .range = { .dims = 1 }, KERNEL(never), .access = { tacit_reduce(R, tacit_sum(TACIT_INT32)) });
    }
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &after));
    REQUIRE(after.tasks == before.tasks);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    REQUIRE(memcmp(a, got, sizeof(a)) == 0);
    REQUIRE_OK(ctx, tacit_fence_read(ctx, R, TACIT_BOX_ALL, got));
    REQUIRE(got[0] == a[0]); /* a reduction over nothing leaves the old value, like any task that does nothing */
}

/* Buffers come and go while their tasks run; names and slots are used again. */
static void lifetimes(tacit_context *ctx, void *user)
{
    (void)user;
    enum { ROUNDS = 60 };
    int a[N], got[N], add[2] = { 2, 1 };
    count_up(a, N);
    tacit_buffer *keep = ints(ctx, "keep", N, a);
    for (int round = 0; round < ROUNDS; round++) {
        tacit_buffer *b = ints(ctx, "temporary", N, round % 3 ? a : NULL);
        if (round % 3 == 0) {
            SUBMIT(ctx, .range = TACIT_RANGE(N), KERNEL(copy_checked),
                   .access = { tacit_read(keep, tacit_one_to_one()), tacit_write(b, tacit_one_to_one()) });
        }
        SUBMIT(ctx, .name = "add", .range = TACIT_RANGE(N), KERNEL(add_args), TACIT_ARGS(add),
               .access = { tacit_update(b, tacit_one_to_one()) });
        SUBMIT(ctx, .range = TACIT_RANGE(N), KERNEL(copy_checked),
               .access = { tacit_read(b, tacit_one_to_one()), tacit_write(keep, tacit_one_to_one()) });
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, b));
        if (round % 20 == 19) {
            REQUIRE_OK(ctx, tacit_wait(ctx));
        }
    }
    tacit_fence_ticket *ticket;
    const void *data;
    REQUIRE_OK(ctx, tacit_fence(ctx, keep, TACIT_BOX_ALL, &ticket));
    REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, keep));
    REQUIRE_OK(ctx, tacit_fence_get(ticket, &data));
    memcpy(got, data, sizeof(got));
    tacit_fence_release(ticket);
    for (int i = 0; i < N; i++) {
        REQUIRE(got[i] == a[i] + 3);
    }
    tacit_counters counters;
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &counters));
    REQUIRE(counters.buffer_bytes == 0);
}

static void sixteen(const tacit_launch *k)
{
    for (int v = 1; v < TACIT_MAX_ACCESSES; v++) {
        FOR_I(k) TACIT_AT1(int, k->view[v], i) += TACIT_GET1(int, k->view[0], i) + v;
    }
}

static void many_accesses(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N], got[N];
    count_up(a, N);
    tacit_task t = { .name = "sixteen", .range = TACIT_RANGE(N), KERNEL(sixteen) };
    tacit_buffer *b[TACIT_MAX_ACCESSES];
    for (int v = 0; v < TACIT_MAX_ACCESSES; v++) {
        b[v] = ints(ctx, "b", N, a);
        t.access[v] = v ? tacit_update(b[v], tacit_one_to_one()) : tacit_read(b[v], tacit_one_to_one());
    }
    for (int i = 0; i < 10; i++) {
        REQUIRE_OK(ctx, tacit_submit(ctx, &t));
    }
    for (int v = 1; v < TACIT_MAX_ACCESSES; v++) {
        REQUIRE_OK(ctx, tacit_fence_read(ctx, b[v], TACIT_BOX_ALL, got));
        for (int i = 0; i < N; i++) {
            REQUIRE(got[i] == 11 * a[i] + 10 * v);
        }
    }
}

static void count_items(const tacit_launch *k)
{
    FOR_I(k) TACIT_AT0(int, k->view[0]) += 1;
}

/* Long loops: horizons come and are applied, and back-pressure works. */
static void long_loop(tacit_context *ctx, void *user)
{
    (void)user;
    enum { STEPS = EFFORT(300, 100) };
    int a[N], b[N], got[N];
    count_up(a, N);
    for (int i = 0; i < N; i++) {
        a[i] %= 2;
    }
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL),
                 *R = make(ctx, "R", (tacit_range){ .dims = 0 }, sizeof(int), NULL);
    const tacit_op sum = tacit_sum(TACIT_INT32);
    for (int step = 0; step < STEPS; step++) {
        SUBMIT(ctx, .range = TACIT_RANGE(N), KERNEL(three_point),
               .access = { tacit_read(A, tacit_neighborhood(1, 0, 0)), tacit_write(B, tacit_one_to_one()) },
               .name = "step", .hint = { .priority = step % 7 });
        for (int i = 0; i < N; i++) {
            b[i] =
                (int)((unsigned)(i ? a[i - 1] : 0) + 2u * (unsigned)a[i] + 3u * (unsigned)(i + 1 < N ? a[i + 1] : 0)) &
                0xffff;
        }
        memcpy(a, b, sizeof(a));
        tacit_buffer *swap = A;
        A = B;
        B = swap;
        int add[2] = { 0, 0 };
        SUBMIT(ctx, .name = "add", .range = TACIT_RANGE(N), KERNEL(add_args), TACIT_ARGS(add),
               .access = { tacit_update(A, tacit_one_to_one()) });
        if (step % 50 == 49) {
            SUBMIT(ctx, .name = "reduce", .range = TACIT_RANGE(N), KERNEL(count_items),
                   .access = { tacit_reduce(R, sum) });
            REQUIRE_OK(ctx, tacit_fence_read(ctx, R, TACIT_BOX_ALL, got));
            REQUIRE(got[0] == N);
        }
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, A, TACIT_BOX_ALL, got));
    for (int i = 0; i < N; i++) {
        REQUIRE((got[i] & 0xffff) == a[i]);
    }
}

static void counters(tacit_context *ctx, void *user)
{
    (void)user;
    int a[N];
    count_up(a, N);
    tacit_counters c;
    tacit_buffer *A = ints(ctx, "A", N, a), *B = ints(ctx, "B", N, NULL);
    SUBMIT(ctx, .name = "far", .range = TACIT_RANGE(N), KERNEL(look_up),
           .access = { tacit_read(A, tacit_all()), tacit_write(B, tacit_one_to_one()) });
    SUBMIT(ctx, .name = "far", .range = TACIT_RANGE(N), KERNEL(look_up),
           .access = { tacit_read(B, tacit_all()), tacit_write(A, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    uint64_t others = (uint64_t)tacit_num_nodes(ctx) - 1;
    REQUIRE(c.tasks - c.horizons == 4 && c.horizons >= 1); /* the wait is one */
    REQUIRE(c.commands >= 4 && c.instructions >= 5 && c.allocated_bytes > 0 && c.allocated_peak >= c.allocated_bytes);
    REQUIRE(c.messages_sent == 0 && c.collectives == TI_MIN(others, 1) &&
            (c.collective_bytes_sent > 0) == (others > 0));
    REQUIRE(c.buffer_bytes >= N * sizeof(int));
    SUBMIT(ctx, .name = "far", .range = TACIT_RANGE(N), KERNEL(look_up), .hint = { .no_collectives = true },
           .access = { tacit_read(A, tacit_all()), tacit_write(B, tacit_one_to_one()) });
    REQUIRE_OK(ctx, tacit_wait(ctx));
    REQUIRE_OK(ctx, tacit_get_counters(ctx, &c));
    REQUIRE(c.messages_sent == others && c.messages_received == others && c.collectives == TI_MIN(others, 1));
    REQUIRE(others == 0 || c.bytes_sent == c.bytes_sent / others * others);
}

/* ---------------------------------------------------------------- all of them, and several contexts */

const program programs[] = {
    { "dimensions", dimensions, false },
    { "vast_buffers", vast_buffers, false },
    { "host_tasks", host_tasks, false },
    { "hints", hints, false },
    { "whole_chunks", whole_chunks, false },
    { "items_that_write_together", items_that_write_together, false },
    { "fences", fences, false },
    { "sub_boxes", sub_boxes, false },
    { "fences_in_loops", fences_in_loops, false },
    { "initial_data", initial_data, false },
    { "empty_ranges", empty_ranges, false },
    { "lifetimes", lifetimes, true },
    { "many_accesses", many_accesses, false },
    { "long_loop", long_loop, false },
    { "counters", counters, true },
};
const size_t program_count = TI_COUNT(programs);

/* Several contexts at once on threads of their own, each with a run of its own. */
static void *independent_main(void *user)
{
    const tacit_config *mode = user;
    tacit_context *ctx;
    REQUIRE(tacit_init(mode, &ctx) == TACIT_OK);
    for (size_t p = 0; p < program_count; p++) {
        if (is_chosen(p) && !programs[p].fresh) {
            programs[p].run(ctx, NULL);
        }
    }
    REQUIRE(tacit_finalize(ctx) == TACIT_OK);
    return NULL;
}

static void contexts_at_the_same_time(void **state)
{
    (void)state;
    pthread_t thread[4];
    for (size_t i = 0; i < TI_COUNT(thread); i++) {
        REQUIRE(pthread_create(&thread[i], NULL, independent_main, (void *)(uintptr_t)&modes[i]) == 0);
    }
    for (size_t i = 0; i < TI_COUNT(thread); i++) {
        REQUIRE(pthread_join(thread[i], NULL) == 0);
    }
}

/* One thread, two contexts, in turns. */
static void contexts_in_turns(void **state)
{
    (void)state;
    tacit_context *ctx[3];
    tacit_buffer *b[3];
    int zeros[N] = { 0 }, got[N];
    for (int c = 0; c < 3; c++) {
        REQUIRE(tacit_init(&modes[c + 1], &ctx[c]) == TACIT_OK);
        b[c] = ints(ctx[c], "b", N, zeros);
    }
    for (int i = 0; i < 100; i++) {
        int add[2] = { i, 0 };
        SUBMIT(ctx[i % 3], .name = "add", .range = TACIT_RANGE(N), KERNEL(add_args), TACIT_ARGS(add),
               .access = { tacit_update(b[i % 3], tacit_one_to_one()) });
    }
    for (int c = 2; c >= 0; c--) {
        int sum = 0;
        for (int i = c; i < 100; i += 3) {
            sum += i;
        }
        REQUIRE_OK(ctx[c], tacit_fence_read(ctx[c], b[c], TACIT_BOX_ALL, got));
        REQUIRE(got[0] == sum && got[N - 1] == sum);
        REQUIRE(tacit_finalize(ctx[c]) == TACIT_OK);
    }
}

/* The strings of the settings may go, or be written to, as soon as tacit_init has returned. */
static void settings_are_copied(void **state)
{
    (void)state;
    char folder[] = "/tmp/api_test_XXXXXX", prefix[64], report[64], path[128];
    assert_non_null(mkdtemp(folder));
    snprintf(prefix, sizeof(prefix), "%s/g", folder);
    snprintf(report, sizeof(report), "%s/explained", folder);
    char *devices = strdup("1"), *tasks = strdup("0:100"), *limit = strdup("1G");
    tacit_config config = {
        .graph = prefix, .explain = report, .host_devices = devices, .graph_tasks = tasks, .memory_limit = limit
    };
    tacit_context *ctx;
    assert_int_equal(tacit_init(&config, &ctx), TACIT_OK);
    memset(prefix, 'x', sizeof(prefix));
    memset(report, 'x', sizeof(report));
    memset(&config, 0xff, sizeof(config));
    free(devices);
    free(tasks);
    free(limit);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    static const char *const names[] = { "g.task.dot", "g.command.0.dot", "g.instruction.0.dot", "explained" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        PROGRAM_TESTS,
        cmocka_unit_test(contexts_at_the_same_time),
        cmocka_unit_test(contexts_in_turns),
        cmocka_unit_test(settings_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
