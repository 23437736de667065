/* Custom mappers for writing: those that let two chunks write one element are refused by the submitting call, on all
 * nodes alike, and on one node too; others are not, and loops pay for the check once. */
#include "cluster.h"
#include "effort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { N = 96, NODES = 3, LOOPS = 200 };

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static atomic_int evaluated;

static void add(tacit_region *out, const tacit_range *range, size_t begin, size_t end)
{
    atomic_fetch_add(&evaluated, 1);
    tacit_region_add(out, tacit_box1(begin, end < range->size[0] ? end : range->size[0]));
}

static void same(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)user;
    add(out, r, c->min[0], c->max[0]);
}

static void wider(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)user;
    add(out, r, c->min[0], c->max[0] + 1);
}

/* Two items share an element. */
static void halved(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)user;
    add(out, r, c->min[0] / 2, (c->max[0] + 1) / 2);
}

/* In several pieces: item i writes i mod 2 * N/2 + i / 2. */
static void shuffled(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)user;
    for (size_t i = c->min[0]; i < c->max[0]; i++) {
        add(out, r, i % 2 * (N / 2) + i / 2, i % 2 * (N / 2) + i / 2 + 1);
    }
}

static void constant(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)c, (void)user;
    add(out, r, 3, 7);
}

/* Only the last item does what the first one does too. */
static void bites_its_tail(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)user;
    add(out, r, c->min[0], c->max[0]);
    if (c->max[0] == N) {
        add(out, r, 0, 1);
    }
}

static void rows(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)r, (void)user;
    atomic_fetch_add(&evaluated, 1);
    tacit_region_add(out, tacit_box2(c->min[0], c->max[0], 0, r->size[1]));
}

static void transposed_box(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    (void)r, (void)user;
    tacit_region_add(out, tacit_box2(c->min[1], c->max[1], c->min[0], c->max[0]));
}

typedef struct context {
    tacit_context *ctx;
    tacit_buffer *line, *square;
    int same, wider, halved, shuffled, constant, tail, rows, transposed;
} context;

static int mapper(tacit_context *ctx, tacit_mapper_fn *fn)
{
    int handle;
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, fn, NULL, 0, 0, &handle));
    return handle;
}

static context setup(tacit_context *ctx)
{
    static const int zeros[N * N];
    context c = { .ctx = ctx };
    tacit_buffer_desc desc = { .name = "line", .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = zeros };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &c.line));
    desc.name = "square";
    desc.range = TACIT_RANGE(N, N);
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &c.square));
    c.same = mapper(ctx, same);
    c.wider = mapper(ctx, wider);
    c.halved = mapper(ctx, halved);
    c.shuffled = mapper(ctx, shuffled);
    c.constant = mapper(ctx, constant);
    c.tail = mapper(ctx, bites_its_tail);
    c.rows = mapper(ctx, rows);
    c.transposed = mapper(ctx, transposed_box);
    return c;
}

static tacit_task writing(const context *c, int handle)
{
    return (tacit_task){ .name = "scatter",
                         .range = TACIT_RANGE(N),
                         .kernel = { .host = nothing },
                         .access = { tacit_update(c->line, tacit_custom(handle)) } };
}

static tacit_task writing_square(const context *c, int handle, int split)
{
    return (tacit_task){ .name = "scatter",
                         .range = TACIT_RANGE(N, N),
                         .kernel = { .host = nothing },
                         .access = { tacit_write(c->square, tacit_custom(handle)) },
                         .hint = { .split = split } };
}

static void allowed(const context *c, tacit_task t)
{
    REQUIRE_OK(c->ctx, tacit_submit(c->ctx, &t));
}

static void refused(const context *c, tacit_task t, const char *words)
{
    char word[100];
    tacit_status status = tacit_submit(c->ctx, &t);
    const char *text = tacit_last_error(c->ctx);
    if (status != TACIT_ERROR_OVERLAP) {
        fprintf(stderr, "%s: %s, expected %s\n", tacit_status_name(status), text, words);
        abort();
    }
    for (; *words; words += strcspn(words, "|") + (words[strcspn(words, "|")] == '|')) {
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, "|"), words);
        if (!strstr(text, word)) {
            fprintf(stderr, "'%s' is not in: %s\n", word, text);
            abort();
        }
    }
}

static const char cure[] = "task 'scatter', access 0 to buffer |granularity|tacit_replicated()|place the task";

/* What holds for any number of nodes. */
static void anywhere(const context *c)
{
    allowed(c, writing(c, c->same));
    allowed(c, writing(c, c->shuffled));
    refused(c, writing(c, c->wider), cure);
    refused(c, writing(c, c->halved), cure);
    refused(c, writing(c, c->constant), cure);
    refused(c, writing(c, c->constant), "both write [3,7)");
    refused(c, writing(c, c->tail), cure);
    refused(c, writing(c, c->tail), "both write [0,1)");

    tacit_task t = writing(c, c->halved);
    t.hint.granularity[0] = 2; /* then no border divides what shares an element */
    allowed(c, t);
    t = writing(c, c->constant);
    t.place = tacit_place_node(0);
    allowed(c, t);
    t = writing(c, c->wider);
    t.on = TACIT_ON_ONE_NODE;
    allowed(c, t);
    t = writing(c, c->wider);
    t.range = TACIT_RANGE(1); /* one item is one chunk, always */
    allowed(c, t);
    t = writing(c, c->wider);
    t.hint.oversubscribe = 3;
    refused(c, t, cure);

    allowed(c, writing_square(c, c->rows, TACIT_SPLIT_1D));
    refused(c, writing_square(c, c->rows, TACIT_SPLIT_2D), cure); /* chunks beside each other write whole rows */
    allowed(c, writing_square(c, c->transposed, TACIT_SPLIT_2D));
}

/* In place: through the same mapper, or different elements; else results would depend on the split. */
static void in_place(const context *c)
{
    tacit_task t = writing(c, c->same);
    t.access[0] = tacit_write(c->line, tacit_custom(c->same));
    t.access[1] = tacit_read(c->line, tacit_custom(c->same));
    allowed(c, t);
    t.access[1] = tacit_read(c->line, tacit_custom(c->wider));
    refused(c, t,
            "task 'scatter', access 1 to buffer 'line': access 1 reads [0,96), which access 0 may write for other "
            "items|read with the mapper that writes|second buffer");
    t.access[1] = tacit_read(c->line, tacit_neighborhood(1, 0, 0));
    refused(c, t, "access 1 reads [0,96), which access 0 may write");
    t.access[0] = tacit_read(c->line, tacit_fixed(tacit_box1(5, 7)));
    t.access[1] = tacit_update(c->line, tacit_custom(c->same));
    refused(c, t, "access 0 reads [5,7), which access 1 may write");
    t.access[0] = tacit_read(c->line, tacit_custom(c->constant));
    refused(c, t, "access 0 reads [3,7), which access 1 may write");
    t.range = TACIT_RANGE(N / 2);
    t.offset[0] = 7; /* behind what is read */
    allowed(c, t);
    t.access[0] = tacit_read(c->line, tacit_fixed(tacit_box1(7 + N / 2, N)));
    allowed(c, t);
    t.access[2] = tacit_write(c->line, tacit_custom(c->shuffled));
    refused(c, t, "task 'scatter', access 2 to buffer 'line': access 0 reads [|which access 2 may write");
    t.access[0] = tacit_update(c->line, tacit_custom(c->same));
    t.access[1] = tacit_write(c->line, tacit_custom(c->shuffled));
    t.access[2].mode = 0;
    refused(c, t, "task 'scatter', access 1 to buffer 'line': |two writing accesses");
    t.access[0] = tacit_read(c->line, tacit_custom(c->constant));
    t.access[1] = tacit_update(c->line, tacit_custom(c->same));
    t.access[2] = tacit_read(c->line, tacit_replicated());
    t.access[2].mode = TACIT_WRITE;
    refused(c, t, "which access 2 may write");
    t.range = TACIT_RANGE(0);
    t.access[2].mode = 0;
    t.access[0] = tacit_read(c->line, tacit_custom(c->wider)); /* which is not asked about nothing */
    allowed(c, t);
}

/* ---- red and black: the cells of one colour of a board are updated in place from their neighbours, of the other */

enum { BOARD = 19, SWEEPS = 5 };

/* Of the rows of the chunk, and `halo` more on both sides, the cells of a colour. */
typedef struct cells {
    size_t colour, halo;
} cells;

static void cells_of(const tacit_box *c, const tacit_range *r, const void *user, tacit_region *out)
{
    const cells *what = user;
    REQUIRE(c->min[0] < c->max[0]);
    size_t begin = c->min[0] < what->halo ? 0 : c->min[0] - what->halo;
    for (size_t i = begin; i < TI_MIN(c->max[0] + what->halo, r->size[0]); i++) {
        for (size_t j = (i + what->colour) % 2; j < r->size[1]; j += 2) {
            tacit_region_add(out, tacit_box2(i, i + 1, j, j + 1));
        }
    }
}

static void relax(const tacit_launch *k)
{
    const cells *what = k->args;
    const tacit_view own = k->view[0], other = k->view[1];
    TACIT_FOR (i, k->chunk, 0) {
        for (size_t j = (i + what->colour) % 2; j < BOARD; j += 2) {
            uint64_t sum = i ? TACIT_GET2(uint64_t, other, i - 1, j) : 3;
            sum += i + 1 < BOARD ? 5 * TACIT_GET2(uint64_t, other, i + 1, j) : 7;
            sum += j ? 11 * TACIT_GET2(uint64_t, other, i, j - 1) : 13;
            sum += j + 1 < BOARD ? 17 * TACIT_GET2(uint64_t, other, i, j + 1) : 19;
            TACIT_AT2(uint64_t, own, i, j) = 23 * TACIT_AT2(uint64_t, own, i, j) + sum;
        }
    }
}

static void relax_alone(uint64_t board[BOARD][BOARD], size_t colour)
{
    for (size_t i = 0; i < BOARD; i++) {
        for (size_t j = (i + colour) % 2; j < BOARD; j += 2) {
            uint64_t sum = (i ? board[i - 1][j] : 3) + (i + 1 < BOARD ? 5 * board[i + 1][j] : 7) +
                           (j ? 11 * board[i][j - 1] : 13) + (j + 1 < BOARD ? 17 * board[i][j + 1] : 19);
            board[i][j] = 23 * board[i][j] + sum;
        }
    }
}

static void red_and_black(tacit_context *ctx, void *user)
{
    uint64_t board[BOARD][BOARD], got[BOARD][BOARD];
    int own[2], other[2];
    tacit_buffer *b;
    (void)user;
    for (size_t i = 0; i < (size_t)BOARD * BOARD; i++) {
        board[i / BOARD][i % BOARD] = i * i;
    }
    REQUIRE_OK(ctx, tacit_buffer_create(ctx,
                                        &(tacit_buffer_desc){ .name = "board",
                                                              .range = TACIT_RANGE(BOARD, BOARD),
                                                              .elem_size = sizeof(uint64_t),
                                                              .init = board },
                                        &b));
    for (size_t colour = 0; colour < 2; colour++) {
        const cells mine = { colour, 0 }, others = { 1 - colour, 1 };
        REQUIRE_OK(ctx, tacit_mapper_create(ctx, cells_of, &mine, sizeof(mine), 0, &own[colour]));
        REQUIRE_OK(ctx, tacit_mapper_create(ctx, cells_of, &others, sizeof(others), 0, &other[colour]));
    }
    for (size_t step = 0; step < (size_t)2 * SWEEPS; step++) {
        const cells what = { step % 2, 0 };
        REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "relax",
                                                         .range = TACIT_RANGE(BOARD),
                                                         .kernel = { .host = relax },
                                                         TACIT_ARGS(what),
                                                         .access = { tacit_update(b, tacit_custom(own[step % 2])),
                                                                     tacit_read(b, tacit_custom(other[step % 2])) } }));
        relax_alone(board, step % 2);
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, got));
    REQUIRE(memcmp(board, got, sizeof(board)) == 0);
}

static void red_and_black_in_place(void **unused)
{
    (void)unused;
    const tacit_config config[] = { { .workers = 2 },
                                    { .workers = 2, .bounds_check = 1 },
                                    { .workers = 2, .host_devices = "2" },
                                    { .workers = 2, .host_devices = "2:discrete" } };
    for (int nodes = 1; nodes <= EFFORT(5, 3); nodes++) {
        for (size_t i = 0; i < TI_COUNT(config); i++) {
            cluster_run(&(cluster){ .nodes = nodes, .config = &config[i], .program = red_and_black });
        }
    }
}

/* The first time all chunks are evaluated; then none, also by tasks of another name; and chunks of another range
 * once. */
static void paid_once(const context *c)
{
    tacit_task t = writing(c, c->same);
    allowed(c, t);
    REQUIRE_OK(c->ctx, tacit_wait(c->ctx));
    int before = atomic_load(&evaluated);
    for (int i = 0; i < LOOPS; i++) {
        t.name = i % 2 ? "scatter" : "scatter too";
        allowed(c, t);
    }
    REQUIRE_OK(c->ctx, tacit_wait(c->ctx));
    REQUIRE(atomic_load(&evaluated) == before);
    before = atomic_load(&evaluated);
    t.offset[0] = 1; /* another question */
    t.range = TACIT_RANGE(N - 2);
    allowed(c, t);
    REQUIRE(atomic_load(&evaluated) - before > 10);
}

static void one_node(void **unused)
{
    (void)unused;
    tacit_context *ctx;
    tacit_config config = { .workers = 2 };
    assert_int_equal(tacit_init(&config, &ctx), TACIT_OK);
    context c = setup(ctx);
    anywhere(&c);
    in_place(&c);
    refused(&c, writing(&c, c.wider),
            "the items [0,2) and the items [2,4), which more workers or nodes would compute, both write [2,3)");
    paid_once(&c);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void on_nodes(tacit_context *ctx, void *user)
{
    static const uint32_t weights[NODES] = { 1, 1, 2 };
    context c = setup(ctx);
    (void)user;
    anywhere(&c);
    in_place(&c);
    refused(&c, writing(&c, c.wider), "the items [0,32) and the items [32,64), of nodes 0 and 1, both write [32,33)");
    tacit_task t = writing(&c, c.wider);
    t.hint.weights = weights;
    refused(&c, t, "the items [0,24) and the items [24,48), of nodes 0 and 1, both write [24,25)");
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

static void several_nodes(void **unused)
{
    (void)unused;
    cluster_run(&(cluster){ .nodes = NODES, .config = &(tacit_config){ .workers = 2 }, .program = on_nodes });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_node), cmocka_unit_test(several_nodes),
                                        cmocka_unit_test(red_and_black_in_place) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
