/* Custom mappers for writing: those that let two chunks write one element are refused by the submitting call, on all
 * nodes alike, and on one node too; others are not, and loops pay for the check once. */
#include "cluster.h"

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

/* In place through another mapper: results would depend on the split. */
static void in_place(const context *c)
{
    tacit_task t = writing(c, c->same);
    t.access[0] = tacit_write(c->line, tacit_custom(c->same));
    t.access[1] = tacit_read(c->line, tacit_custom(c->same));
    allowed(c, t);
    t.access[1] = tacit_read(c->line, tacit_custom(c->wider));
    refused(c, t, "task 'scatter', access 1 to buffer 'line'|another mapper");
    t.access[1] = tacit_read(c->line, tacit_neighborhood(1, 0, 0));
    refused(c, t, "task 'scatter', access 1 to buffer 'line'|another mapper");
    t.access[1] = tacit_write(c->line, tacit_custom(c->shuffled));
    refused(c, t, "two writing accesses");
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_node), cmocka_unit_test(several_nodes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
