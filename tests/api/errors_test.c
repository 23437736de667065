/* Every error that tacit.h promises: the status, a sentence that names the task, the buffer and a cure, and that the
 * call changed nothing.
 *
 * After each refused call the fixture's buffer is incremented and read back: the program goes on and is right. One
 * process, one node; what depends on the number of nodes is refused on one node too. */
#include "cluster.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Sanitizers would end the program where malloc must return NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

enum { N = 12, ROWS = 4, COLS = 3 };

typedef struct fixture {
    tacit_context *ctx, *other;
    tacit_buffer *line;    /* N ints, initialised */
    tacit_buffer *grid;    /* ROWS x COLS doubles, initialised */
    tacit_buffer *blank;   /* N ints that nobody writes */
    tacit_buffer *one;     /* one int64 */
    tacit_buffer *foreign; /* of the other context */
    int adds;              /* to `line` so far */
} fixture;

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void add_one(const tacit_launch *k)
{
    const tacit_view v = k->view[0];
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, v, i) += 1;
    }
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    const int zeros[N] = { 0 };
    const double values[ROWS * COLS] = { 0 };
    const int64_t five = 5;
    tacit_config config = { .workers = 2 };
    assert_int_equal(tacit_init(&config, &f->ctx), TACIT_OK);
    assert_int_equal(tacit_init(&config, &f->other), TACIT_OK);
    const tacit_buffer_desc line = { .name = "line", .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = zeros };
    const tacit_buffer_desc grid = {
        .name = "grid", .range = TACIT_RANGE(ROWS, COLS), .elem_size = sizeof(double), .init = values
    };
    const tacit_buffer_desc blank = { .name = "blank", .range = TACIT_RANGE(N), .elem_size = sizeof(int) };
    const tacit_buffer_desc one = { .name = "one", .elem_size = sizeof(int64_t), .init = &five };
    assert_int_equal(tacit_buffer_create(f->ctx, &line, &f->line), TACIT_OK);
    assert_int_equal(tacit_buffer_create(f->ctx, &grid, &f->grid), TACIT_OK);
    assert_int_equal(tacit_buffer_create(f->ctx, &blank, &f->blank), TACIT_OK);
    assert_int_equal(tacit_buffer_create(f->ctx, &one, &f->one), TACIT_OK);
    assert_int_equal(tacit_buffer_create(f->other, &line, &f->foreign), TACIT_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    assert_int_equal(tacit_finalize(f->other), TACIT_OK);
    assert_int_equal(tacit_finalize(f->ctx), TACIT_OK);
    free(f);
    return 0;
}

/* The program goes on, and computes what it should. */
static void still_right(fixture *f)
{
    int got[N];
    assert_int_equal(tacit_submit(f->ctx, &(tacit_task){ .name = "add",
                                                         .range = TACIT_RANGE(N),
                                                         .kernel = { .host = add_one },
                                                         .access = { tacit_update(f->line, tacit_one_to_one()) } }),
                     TACIT_OK);
    f->adds++;
    assert_int_equal(tacit_fence_read(f->ctx, f->line, TACIT_BOX_ALL, got), TACIT_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(got[i], f->adds);
    }
    assert_string_equal(tacit_last_error(f->ctx), "");
}

static uint64_t tasks_so_far(tacit_context *ctx)
{
    tacit_counters counters;
    assert_int_equal(tacit_get_counters(ctx, &counters), TACIT_OK);
    return counters.tasks;
}

/* The sentence has each of the words, which are separated by '|'. */
static void says(const char *text, const char *words)
{
    char copy[400], *rest = copy;
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word; (word = strsep(&rest, "|"));) {
        if (!strstr(text, word)) {
            fail_msg("\"%s\" does not say \"%s\"", text, word);
        }
    }
}

/* ---- tasks */

static void refused(fixture *f, tacit_task task, tacit_status expected, const char *words)
{
    uint64_t before = tasks_so_far(f->ctx);
    task.name = task.name ? task.name : "wrong";
    tacit_status got = tacit_submit(f->ctx, &task);
    if (got != expected) {
        fail_msg("%s instead of %s (%s): %s", tacit_status_name(got), tacit_status_name(expected), words,
                 tacit_last_error(f->ctx));
    }
    says(tacit_last_error(f->ctx), "task 'wrong'");
    says(tacit_last_error(f->ctx), words);
    assert_int_equal(tasks_so_far(f->ctx), before);
    still_right(f);
}

/* A task on one line of N items with one access. */
static tacit_task with(tacit_access access)
{
    return (tacit_task){ .range = TACIT_RANGE(N), .kernel = { .host = nothing }, .access = { access } };
}

static tacit_task with2(tacit_access a, tacit_access b)
{
    tacit_task t = with(a);
    t.access[1] = b;
    return t;
}

/* A task on the extent of `grid`. */
static tacit_task on_grid(tacit_access access)
{
    tacit_task t = with(access);
    t.range = TACIT_RANGE(ROWS, COLS);
    return t;
}

static void ranges_are_checked(void **state)
{
    fixture *f = *state;
    tacit_task t = with(tacit_read(f->line, tacit_all()));
    t.range.dims = 4;
    refused(f, t, TACIT_ERROR_DIMENSION, "4 dimensions|use 0 to 3");
    t.range.dims = -1;
    refused(f, t, TACIT_ERROR_DIMENSION, "-1 dimensions|use 0 to 3");
    t = with(tacit_read(f->line, tacit_all()));
    t.range.size[0] = SIZE_MAX;
    refused(f, t, TACIT_ERROR_RANGE, "items in dimension 0|check its range");
    t = with(tacit_read(f->line, tacit_all()));
    t.offset[0] = SIZE_MAX - 3;
    refused(f, t, TACIT_ERROR_RANGE, "dimension 0|offset");
    t = with(tacit_read(f->line, tacit_all()));
    t.hint.granularity[0] = SIZE_MAX;
    refused(f, t, TACIT_ERROR_RANGE, "dimension 0|granularity");
    t = on_grid(tacit_read(f->grid, tacit_all()));
    t.range.size[1] = (size_t)1 << 60;
    refused(f, t, TACIT_ERROR_RANGE, "dimension 1");
    t.range = TACIT_RANGE((size_t)1 << 46, (size_t)1 << 16, 2);
    refused(f, t, TACIT_ERROR_RANGE, "more than 2^62 items in all|check the sizes");
}

static void places_and_kernels_are_checked(void **state)
{
    fixture *f = *state;
    tacit_task t = with(tacit_read(f->line, tacit_all()));
    t.place = tacit_place_node(1);
    refused(f, t, TACIT_ERROR_RANGE, "placed on node 1|nodes 0 to 0");
    t.place = tacit_place_node(-1);
    refused(f, t, TACIT_ERROR_RANGE, "node -1");
    t.place = tacit_place_owner(1);
    refused(f, t, TACIT_ERROR_ARGUMENT, "owner of access 1|has 1 accesses");
    t.place = tacit_place_owner(-1);
    refused(f, t, TACIT_ERROR_ARGUMENT, "owner of access -1");
    t.place.kind = -7;
    refused(f, t, TACIT_ERROR_ARGUMENT, "no placement of kind -7|tacit_place_node");
    t = with(tacit_read(f->line, tacit_all()));
    t.on = (tacit_on)4;
    refused(f, t, TACIT_ERROR_ARGUMENT, "there is no .on = 4|TACIT_ON_EVERY_NODE");
    t.on = (tacit_on)-1;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".on = -1");
    t = with(tacit_read(f->line, tacit_all()));
    t.kernel.host = NULL;
    refused(f, t, TACIT_ERROR_ARGUMENT, "no host kernel|.host = FUNCTION");
    t.kernel.opencl.source = "kernel void f() {}";
    refused(f, t, TACIT_ERROR_UNSUPPORTED, "no host kernel|TACIT_DEVICES names no device|.host = FUNCTION");
}

static void hints_are_checked(void **state)
{
    fixture *f = *state;
    const uint32_t weights[1] = { 1 };
    tacit_task t = with(tacit_read(f->line, tacit_all()));
    t.hint.split = 3;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".split|TACIT_SPLIT_1D");
    t.hint.split = -1;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".split");
    t.hint = (tacit_hints){ .oversubscribe = -1 };
    refused(f, t, TACIT_ERROR_ARGUMENT, ".oversubscribe 0 to 1024");
    t.hint = (tacit_hints){ .oversubscribe = INT32_MAX };
    refused(f, t, TACIT_ERROR_ARGUMENT, ".oversubscribe");
    t.hint = (tacit_hints){ .priority = 1001 };
    refused(f, t, TACIT_ERROR_ARGUMENT, ".priority is 1001|-1000 to 1000");
    t.hint = (tacit_hints){ .priority = INT32_MIN };
    refused(f, t, TACIT_ERROR_ARGUMENT, ".priority");
    t.hint = (tacit_hints){ .split = TACIT_SPLIT_2D, .weights = weights };
    refused(f, t, TACIT_ERROR_ARGUMENT, ".weights|1D");
    t.hint = (tacit_hints){ 0 };
    t.cost = -0.5;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".cost is -0.5 ns per item|from 0 to 1e18");
    t.cost = NAN;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".cost");
    t.cost = 0;
    t.args_size = 8;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".args is NULL|.args_size is 8|TACIT_ARGS");
    t.args = &t;
    t.args_size = SIZE_MAX;
    refused(f, t, TACIT_ERROR_ARGUMENT, ".args_size is 18446744073709551615|at most 16777216|buffer");
}

static void access_lists_are_checked(void **state)
{
    fixture *f = *state;
    refused(f, with(tacit_read(NULL, tacit_all())), TACIT_ERROR_ARGUMENT,
            "access 0|buffer is NULL|tacit_buffer_create");
    tacit_task placed = with(tacit_read(NULL, tacit_all())); /* whose tiles are looked for before anything is checked */
    placed.place = tacit_place_node(0);
    refused(f, placed, TACIT_ERROR_ARGUMENT, "access 0|buffer is NULL|tacit_buffer_create");
    tacit_task full = with(tacit_read(f->line, tacit_all())); /* a list may be full */
    for (int i = 1; i < TACIT_MAX_ACCESSES; i++) {
        full.access[i] = full.access[0];
    }
    assert_int_equal(tacit_submit(f->ctx, &full), TACIT_OK);
    full.access[TACIT_MAX_ACCESSES] = full.access[0];
    refused(f, full, TACIT_ERROR_ARGUMENT, "task 'wrong' has more than 16 accesses|two tasks");
    full.access[TACIT_MAX_ACCESSES].mode = 0;
    full.access[TACIT_MAX_ACCESSES - 1].buffer = NULL;
    refused(f, full, TACIT_ERROR_ARGUMENT, "access 15|buffer is NULL");
    refused(f, with2(tacit_read(f->line, tacit_all()), tacit_read(NULL, tacit_all())), TACIT_ERROR_ARGUMENT,
            "access 1|buffer is NULL");
    refused(f, with(tacit_read(f->foreign, tacit_all())), TACIT_ERROR_STATE, "access 0|another context");
    refused(f, with(tacit_access_make(f->line, 5, tacit_all())), TACIT_ERROR_ARGUMENT,
            "buffer 'line'|mode 5|use tacit_read");
    refused(f, with(tacit_access_make(f->line, -1, tacit_all())), TACIT_ERROR_ARGUMENT, "buffer 'line'|mode -1");
    tacit_buffer *gone;
    const tacit_buffer_desc desc = { .name = "gone", .range = TACIT_RANGE(N), .elem_size = 4 };
    assert_int_equal(tacit_buffer_create(f->ctx, &desc, &gone), TACIT_OK);
    assert_int_equal(tacit_buffer_destroy(f->ctx, gone), TACIT_OK);
    assert_int_equal(tacit_submit(f->ctx, &(tacit_task){ .name = "wrong",
                                                         .range = TACIT_RANGE(N),
                                                         .kernel = { .host = nothing },
                                                         .access = { tacit_write(gone, tacit_one_to_one()) } }),
                     TACIT_ERROR_STATE);
    says(tacit_last_error(f->ctx), "task 'wrong'|access 0|destroyed");
    still_right(f);
}

static void pairs_are_checked(void **state)
{
    fixture *f = *state;
    const tacit_mapper each = tacit_one_to_one(), near = tacit_neighborhood(1, 0, 0);
    refused(f, with2(tacit_read(f->line, near), tacit_write(f->line, each)), TACIT_ERROR_OVERLAP,
            "access 1|'line'|which access 1 may write|second buffer");
    refused(f, with2(tacit_update(f->line, each), tacit_read(f->line, tacit_all())), TACIT_ERROR_OVERLAP,
            "access 1|'line'|second buffer");
    refused(f, with2(tacit_write(f->line, each), tacit_write(f->line, each)), TACIT_ERROR_OVERLAP,
            "two writing accesses|merge");
    refused(f, with2(tacit_update(f->line, each), tacit_write(f->line, each)), TACIT_ERROR_OVERLAP,
            "two writing accesses|merge");
    const tacit_op sum = tacit_sum(TACIT_INT64);
    refused(f, with2(tacit_reduce(f->one, sum), tacit_reduce(f->one, sum)), TACIT_ERROR_OVERLAP,
            "'one'|two writing accesses");
    refused(f, with2(tacit_reduce(f->one, sum), tacit_read(f->one, tacit_all())), TACIT_ERROR_OVERLAP, "'one'");
    /* Each call of the kernel would see what calls before it wrote: how many there are depends on nodes and hints. */
    refused(f, with2(tacit_read(f->line, tacit_all()), tacit_write(f->line, tacit_replicated())), TACIT_ERROR_OVERLAP,
            "'line'|second buffer");
}

/* ---- mappers */

static void kinds_are_checked(void **state)
{
    fixture *f = *state;
    tacit_mapper m = tacit_all();
    m.kind = 0;
    refused(f, with(tacit_read(f->line, m)), TACIT_ERROR_MAPPER, "'line'|mapper of kind 0|tacit_*");
    m.kind = 99;
    refused(f, with(tacit_read(f->line, m)), TACIT_ERROR_MAPPER, "kind 99");
    m.kind = INT32_MIN;
    refused(f, with(tacit_read(f->line, m)), TACIT_ERROR_MAPPER, "kind -");
    refused(f, with(tacit_read(f->grid, tacit_one_to_one())), TACIT_ERROR_DIMENSION,
            "'grid'|task has 1 and the buffer 2|tacit_components");
    refused(f, with(tacit_read(f->grid, tacit_neighborhood(1, 1, 0))), TACIT_ERROR_DIMENSION, "equal dimensions");
    refused(f, with(tacit_read(f->grid, tacit_star(1, 1, 0))), TACIT_ERROR_DIMENSION, "equal dimensions");
    refused(f, with(tacit_read(f->grid, tacit_periodic(1, 1, 0))), TACIT_ERROR_DIMENSION, "equal dimensions");
    refused(f, with(tacit_write(f->line, tacit_periodic(1, 0, 0))), TACIT_ERROR_MAPPER, "overlapping|halo of 1 and 1");
    refused(f, with(tacit_update(f->line, tacit_periodic(1, 0, 0))), TACIT_ERROR_MAPPER, "overlapping");
    refused(f, with(tacit_read(f->grid, tacit_slice(0))), TACIT_ERROR_DIMENSION, "equal dimensions");
    refused(f, on_grid(tacit_read(f->grid, tacit_slice(2))), TACIT_ERROR_DIMENSION, "tacit_slice(2)|2 dimensions");
    refused(f, on_grid(tacit_read(f->grid, tacit_slice(-1))), TACIT_ERROR_DIMENSION, "tacit_slice(-1)");
    refused(f, with(tacit_read(f->line, tacit_custom(0))), TACIT_ERROR_MAPPER, "custom mapper 0|tacit_mapper_create");
    refused(f, with(tacit_read(f->line, tacit_custom(-1))), TACIT_ERROR_MAPPER, "custom mapper -1");
    refused(f, with(tacit_read(f->line, tacit_replicated())), TACIT_ERROR_MAPPER,
            "tacit_replicated() is for tacit_write|tacit_all()");
    refused(f, with(tacit_update(f->line, tacit_replicated())), TACIT_ERROR_MAPPER,
            "tacit_replicated() is for tacit_write");
    refused(f, with(tacit_write(f->line, tacit_all())), TACIT_ERROR_MAPPER, "whole buffer|tacit_replicated()|place");
    refused(f, with(tacit_update(f->line, tacit_all())), TACIT_ERROR_MAPPER, "whole buffer");
}

static void components_are_checked(void **state)
{
    fixture *f = *state;
    const tacit_component none = tacit_full();
    refused(f, with(tacit_read(f->line, tacit_fixed(tacit_box1(3, N + 1)))), TACIT_ERROR_RANGE, "'line'|[3,13)|[0,12)");
    refused(f, with(tacit_read(f->line, tacit_fixed(tacit_box1(5, 3)))), TACIT_ERROR_RANGE, "[5,3)");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_span(SIZE_MAX - 1, SIZE_MAX), none, none))),
            TACIT_ERROR_RANGE, "span");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_span(1, SIZE_MAX), none, none))), TACIT_ERROR_RANGE,
            "span");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim(1), none, none))), TACIT_ERROR_DIMENSION,
            "follows dimension 1|has 1");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim(-1), none, none))), TACIT_ERROR_DIMENSION,
            "follows dimension");
    refused(f, with(tacit_read(f->line, tacit_components((tacit_component){ .kind = 77 }, none, none))),
            TACIT_ERROR_MAPPER, "component|tacit_full");
    refused(f, with(tacit_read(f->line, tacit_components((tacit_component){ 0 }, none, none))), TACIT_ERROR_MAPPER,
            "component|tacit_full");
    refused(f, on_grid(tacit_read(f->grid, tacit_transposed(0, 3, 0))), TACIT_ERROR_DIMENSION, "follows dimension 3");
    const int bad[][2] = { { 0, 1 }, { 1, 0 }, { -1, 1 }, { 1, -1 }, { INT32_MIN, 1 }, { 1, INT32_MAX }, { 16385, 1 } };
    for (size_t i = 0; i < TI_COUNT(bad); i++) {
        tacit_component c = tacit_dim_scaled(0, bad[i][0], bad[i][1], 0, 0);
        refused(f, with(tacit_read(f->line, tacit_components(c, none, none))), TACIT_ERROR_MAPPER,
                "scale|must be 1 to 16384");
    }
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim_scaled(0, 2, 1, 0, 0), none, none))),
            TACIT_ERROR_RANGE, "[0,24)|[0,12)");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim_scaled(0, 2, 1, 1, 2), none, none))),
            TACIT_ERROR_RANGE, "[0,24)|[0,12)|halos and shifts|smaller|larger");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim_scaled(0, 2, 1, 1, -1), none, none))),
            TACIT_ERROR_RANGE, "[-1,23)|[0,12)");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim_scaled(0, 1, 1, INT64_MIN, 0), none, none))),
            TACIT_ERROR_RANGE, "halo");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim_scaled(0, 1, 1, 0, INT64_MAX), none, none))),
            TACIT_ERROR_RANGE, "halo");
    refused(f, with(tacit_read(f->line, tacit_neighborhood(SIZE_MAX, 0, 0))), TACIT_ERROR_RANGE, "halo");
    refused(f, with(tacit_read(f->line, tacit_periodic(SIZE_MAX, 0, 0))), TACIT_ERROR_RANGE, "halo");
    refused(f, with(tacit_read(f->line, tacit_components(tacit_dim_periodic(1, 1), none, none))), TACIT_ERROR_DIMENSION,
            "follows dimension 1");
    tacit_component turned = tacit_dim_periodic(0, 1);
    turned.lo = -1; /* a ring does not shift */
    refused(f, with(tacit_read(f->line, tacit_components(turned, none, none))), TACIT_ERROR_RANGE, "halo");
    turned = tacit_dim_periodic(0, 1);
    turned.mul = 2; /* the range itself stays in the buffer */
    refused(f, with(tacit_read(f->line, tacit_components(turned, none, none))), TACIT_ERROR_RANGE, "[0,24)|[0,12)");
    refused(f, with(tacit_read(f->line, tacit_star(SIZE_MAX / 2 + 7, 0, 0))), TACIT_ERROR_RANGE, "halo");
    tacit_task t = with(tacit_read(f->line, tacit_one_to_one()));
    t.offset[0] = 1;
    refused(f, t, TACIT_ERROR_RANGE, "[1,13)|[0,12)");
}

static void writers_are_checked(void **state)
{
    fixture *f = *state;
    const tacit_component full = tacit_full();
    refused(f, with(tacit_write(f->line, tacit_neighborhood(1, 0, 0))), TACIT_ERROR_MAPPER,
            "overlapping|halo of 1 and 1|without a halo");
    refused(f, with(tacit_update(f->line, tacit_star(2, 0, 0))), TACIT_ERROR_MAPPER, "overlapping");
    refused(f, with(tacit_write(f->line, tacit_fixed(tacit_box1(0, 3)))), TACIT_ERROR_OVERLAP,
            "split along dimension 0|place|tacit_replicated()");
    refused(f, on_grid(tacit_write(f->grid, tacit_slice(0))), TACIT_ERROR_OVERLAP, "split along dimension 0");
    refused(f, on_grid(tacit_write(f->line, tacit_components(tacit_dim(1), full, full))), TACIT_ERROR_OVERLAP,
            "split along dimension 0");
    tacit_task t = on_grid(tacit_write(f->line, tacit_components(tacit_dim(0), full, full)));
    t.hint.split = TACIT_SPLIT_2D;
    refused(f, t, TACIT_ERROR_OVERLAP, "split along dimension 1");
    t = on_grid(tacit_write(f->grid, tacit_components(tacit_dim(1), tacit_dim(1), full)));
    refused(f, t, TACIT_ERROR_MAPPER, "dimension 1 of the task twice");
    t = with(tacit_write(f->line, tacit_components(tacit_dim_scaled(0, 1, 2, 0, 0), full, full)));
    t.offset[0] = 1;
    refused(f, t, TACIT_ERROR_MAPPER, "begins at 1|1/2");
}

static void reductions_are_checked(void **state)
{
    fixture *f = *state;
    refused(f, with(tacit_reduce(f->one, tacit_sum(TACIT_INT32))), TACIT_ERROR_ARGUMENT, "'one'|4 bytes|8 bytes");
    refused(f, with(tacit_reduce(f->one, tacit_sum((tacit_type)0))), TACIT_ERROR_ARGUMENT, "'one'|operator");
    refused(f, with(tacit_reduce(f->one, tacit_sum((tacit_type)99))), TACIT_ERROR_ARGUMENT, "'one'|operator");
    refused(f, with(tacit_reduce(f->one, tacit_sum((tacit_type)-5))), TACIT_ERROR_ARGUMENT, "'one'|operator");
    refused(f, with(tacit_reduce(f->one, tacit_bitand(TACIT_DOUBLE))), TACIT_ERROR_ARGUMENT, "'one'|operator|double");
    refused(f, with(tacit_reduce(f->one, tacit_op_make(77, TACIT_INT64))), TACIT_ERROR_ARGUMENT, "'one'|operator");
    refused(f, with(tacit_reduce(f->one, tacit_op_make(-1, TACIT_INT64))), TACIT_ERROR_ARGUMENT, "'one'|operator");
    tacit_buffer *vast;
    const size_t n = ((size_t)1 << 34) + 1;
    const tacit_buffer_desc desc = { .name = "vast", .range = TACIT_RANGE(n), .elem_size = sizeof(int64_t) };
    assert_int_equal(tacit_buffer_create(f->ctx, &desc, &vast), TACIT_OK);
    refused(f, with(tacit_reduce(vast, tacit_sum(TACIT_INT64))), TACIT_ERROR_RANGE, "'vast'|more than 2^34|fewer");
    assert_int_equal(tacit_buffer_destroy(f->ctx, vast), TACIT_OK);
}

static void unwritten_elements_are_not_read(void **state)
{
    fixture *f = *state;
    refused(f, with(tacit_read(f->blank, tacit_one_to_one())), TACIT_ERROR_UNINITIALIZED,
            "[0,12)|'blank'|nobody has written|.init");
    refused(f, with(tacit_update(f->blank, tacit_one_to_one())), TACIT_ERROR_UNINITIALIZED,
            "'blank'|tacit_write if old contents");
    tacit_buffer *half;
    const tacit_buffer_desc desc = { .name = "half", .range = TACIT_RANGE(N), .elem_size = sizeof(int) };
    assert_int_equal(tacit_buffer_create(f->ctx, &desc, &half), TACIT_OK);
    tacit_task t = with(tacit_write(half, tacit_one_to_one()));
    t.range = TACIT_RANGE(N / 2);
    assert_int_equal(tacit_submit(f->ctx, &t), TACIT_OK);
    refused(f, with(tacit_read(half, tacit_one_to_one())), TACIT_ERROR_UNINITIALIZED, "[6,12)|'half'");
    int got[N];
    assert_int_equal(tacit_fence_read(f->ctx, half, TACIT_BOX_ALL, got), TACIT_ERROR_UNINITIALIZED);
    says(tacit_last_error(f->ctx), "fence|[6,12)|'half'");
    tacit_fence_ticket *ticket = NULL;
    assert_int_equal(tacit_fence(f->ctx, half, tacit_box1(5, 7), &ticket), TACIT_ERROR_UNINITIALIZED);
    assert_null(ticket);
    says(tacit_last_error(f->ctx), "fence|[6,7)|'half'");
    assert_int_equal(tacit_buffer_destroy(f->ctx, half), TACIT_OK);
    still_right(f);
}

/* Calls that are refused leave nothing behind, however often they are made. */
static void refused_calls_take_no_memory(void **state)
{
    fixture *f = *state;
    tacit_counters before, after;
    int got[N];
    const tacit_task t = with(tacit_read(f->blank, tacit_all()));
    tacit_task empty = with(tacit_update(f->line, tacit_one_to_one()));
    empty.range.size[0] = 0;
    for (int i = 0; i < 30000; i++) {
        if (i == 10000) {
            tacit_get_counters(f->ctx, &before);
        }
        assert_int_equal(tacit_submit(f->ctx, &t), TACIT_ERROR_UNINITIALIZED);
        assert_int_equal(tacit_fence_read(f->ctx, f->blank, TACIT_BOX_ALL, got), TACIT_ERROR_UNINITIALIZED);
        assert_int_equal(tacit_submit(f->ctx, &empty), TACIT_OK);
    }
    tacit_get_counters(f->ctx, &after);
    assert_int_equal(after.tasks, before.tasks);
    assert_true(after.allocated_bytes <= before.allocated_bytes);
    still_right(f);
}

/* ---- other calls */

static void buffers_are_checked(void **state)
{
    fixture *f = *state;
    tacit_buffer *out = NULL;
    const struct {
        tacit_buffer_desc desc;
        tacit_status status;
        const char *words;
    } cases[] = {
        { { .name = "wrong", .range = TACIT_RANGE(4) }, TACIT_ERROR_ARGUMENT, "elem_size 0|sizeof" },
        { { .name = "wrong", .range = { { 4, 4, 4 }, 4 }, .elem_size = 4 },
          TACIT_ERROR_DIMENSION,
          "4 dimensions|use 0 to 3" },
        { { .name = "wrong", .range = { { 4, 4, 4 }, -1 }, .elem_size = 4 }, TACIT_ERROR_DIMENSION, "-1 dimensions" },
        { { .name = "wrong", .range = TACIT_RANGE(4, 0), .elem_size = 4 },
          TACIT_ERROR_RANGE,
          "size 0 in dimension 1|at least 1" },
        { { .name = "wrong", .range = TACIT_RANGE(SIZE_MAX), .elem_size = 1 },
          TACIT_ERROR_RANGE,
          "more than 2^46 elements in dimension 0|check the sizes" },
        { { .name = "wrong", .range = TACIT_RANGE(2, ((size_t)1 << 46) + 1), .elem_size = 1 },
          TACIT_ERROR_RANGE,
          "more than 2^46 elements in dimension 1|check the sizes" },
        { { .name = "wrong", .range = TACIT_RANGE(1), .elem_size = SIZE_MAX },
          TACIT_ERROR_RANGE,
          "larger than|check the sizes" },
        { { .name = "wrong", .elem_size = SIZE_MAX }, TACIT_ERROR_RANGE, "larger than|check the sizes" },
        { { .name = "wrong", .range = TACIT_RANGE((size_t)1 << 46, (size_t)1 << 46, 4), .elem_size = 1 },
          TACIT_ERROR_RANGE,
          "larger than" },
        { { .name = "wrong", .range = TACIT_RANGE((size_t)1 << 31, (size_t)1 << 31, 2), .elem_size = 1 },
          TACIT_ERROR_RANGE,
          "larger than" },
        { { .name = "wrong", .range = TACIT_RANGE((size_t)1 << 33, (size_t)1 << 31), .elem_size = 1 },
          TACIT_ERROR_RANGE,
          "larger than" },
    };
    for (size_t i = 0; i < TI_COUNT(cases); i++) {
        tacit_status got = tacit_buffer_create(f->ctx, &cases[i].desc, &out);
        if (got != cases[i].status) {
            fail_msg("case %zu: %s", i, tacit_status_name(got));
        }
        says(tacit_last_error(f->ctx), "buffer 'wrong'");
        says(tacit_last_error(f->ctx), cases[i].words);
        assert_null(out);
        still_right(f);
    }
    const tacit_buffer_desc good = { .name = "good", .elem_size = 1 };
    assert_int_equal(tacit_buffer_create(NULL, &good, &out), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_buffer_create(f->ctx, NULL, &out), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_buffer_create|description|NULL");
    assert_int_equal(tacit_buffer_create(f->ctx, &good, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_buffer_create|out|NULL");
    assert_null(out);
    still_right(f);
}

static void refused_distribution(fixture *f, tacit_distribution d, tacit_status expected, const char *words)
{
    tacit_buffer *b = NULL;
    int node;
    tacit_range local;
    tacit_buffer_desc desc = { .name = "owned", .range = TACIT_RANGE(8, 8), .elem_size = 8, .distribution = d };
    assert_int_equal(tacit_buffer_create(f->ctx, &desc, &b), expected);
    says(tacit_last_error(f->ctx), "buffer 'owned'");
    says(tacit_last_error(f->ctx), words);
    assert_null(b);
    assert_int_equal(tacit_distribution_owner(f->ctx, &d, desc.range, 0, 0, 0, &node), expected);
    says(tacit_last_error(f->ctx), words);
    assert_int_equal(tacit_distribution_local(f->ctx, &d, desc.range, 0, NULL, &local), expected);
    says(tacit_last_error(f->ctx), words);
    still_right(f);
}

static void distributions_are_checked(void **state)
{
    fixture *f = *state;
    int node;
    char part[4];
    tacit_buffer *b;
    refused_distribution(f, (tacit_distribution){ .kind = 7 }, TACIT_ERROR_ARGUMENT,
                         "no distribution of kind 7|TACIT_DISTRIBUTE_CYCLIC");
    refused_distribution(f, (tacit_distribution){ .grid = { 2, 1 } }, TACIT_ERROR_RANGE,
                         "2 x 1 x 1|the run, which has 1");
    refused_distribution(f, (tacit_distribution){ .grid = { 1, 0 } }, TACIT_ERROR_DIMENSION, "0 nodes in dimension 1");
    refused_distribution(f, (tacit_distribution){ .grid = { 1, -1 } }, TACIT_ERROR_DIMENSION,
                         "-1 nodes in dimension 1");
    refused_distribution(f, (tacit_distribution){ .grid = { 1, 1, 2 } }, TACIT_ERROR_DIMENSION,
                         "2 nodes in dimension 2");
    tacit_distribution tiny = { .kind = TACIT_DISTRIBUTE_CYCLIC };
    tacit_range large = TACIT_RANGE((size_t)1 << 13, (size_t)1 << 12);
    assert_int_equal(tacit_distribution_owner(f->ctx, &tiny, large, 0, 0, 0, &node), TACIT_ERROR_RANGE);
    says(tacit_last_error(f->ctx), "2^24 blocks|larger blocks");
    assert_int_equal(tacit_distribution_owner(f->ctx, NULL, large, 0, 0, 0, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_distribution_owner|node is NULL");
    assert_int_equal(tacit_distribution_owner(f->ctx, NULL, large, 0, (size_t)1 << 12, 0, &node), TACIT_ERROR_RANGE);
    says(tacit_last_error(f->ctx), "index 4096 in dimension 1");
    assert_int_equal(tacit_distribution_owner(f->ctx, NULL, large, 0, 0, 0, NULL), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_distribution_local(f->ctx, NULL, large, 1, NULL, NULL), TACIT_ERROR_RANGE);
    says(tacit_last_error(f->ctx), "no node 1|nodes 0 to 0");
    tacit_buffer_desc both = { .name = "both", .range = TACIT_RANGE(4), .elem_size = 1, .init = part };
    both.init_local = part;
    assert_int_equal(tacit_buffer_create(f->ctx, &both, &b), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "buffer 'both'|.init and .init_local");
    assert_int_equal(tacit_fence_local(f->ctx, f->line, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "destination is NULL|owns part of buffer");
    assert_int_equal(tacit_fence_local(f->ctx, NULL, part), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_fence_local(NULL, f->line, part), TACIT_ERROR_ARGUMENT);
    still_right(f);
}

static void handles_are_checked(void **state)
{
    fixture *f = *state;
    tacit_buffer *b;
    int got[N];
    tacit_fence_ticket *ticket = NULL;
    const tacit_buffer_desc desc = { .name = "b", .range = TACIT_RANGE(N), .elem_size = sizeof(int) };
    assert_int_equal(tacit_buffer_destroy(NULL, f->line), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_buffer_destroy(f->ctx, NULL), TACIT_OK);
    assert_int_equal(tacit_buffer_destroy(f->ctx, f->foreign), TACIT_ERROR_STATE);
    says(tacit_last_error(f->ctx), "tacit_buffer_destroy|another context");
    assert_int_equal(tacit_buffer_create(f->ctx, &desc, &b), TACIT_OK);
    assert_int_equal(tacit_buffer_destroy(f->ctx, b), TACIT_OK);
    assert_int_equal(tacit_buffer_destroy(f->ctx, b), TACIT_ERROR_STATE);
    says(tacit_last_error(f->ctx), "tacit_buffer_destroy|destroyed already");
    assert_int_equal(tacit_fence_read(f->ctx, b, TACIT_BOX_ALL, got), TACIT_ERROR_STATE);
    says(tacit_last_error(f->ctx), "tacit_fence_read|destroyed");
    assert_int_equal(tacit_fence(f->ctx, b, TACIT_BOX_ALL, &ticket), TACIT_ERROR_STATE);
    assert_int_equal(tacit_fence_read(f->ctx, f->foreign, TACIT_BOX_ALL, got), TACIT_ERROR_STATE);
    assert_null(ticket);
    still_right(f);
}

static void fences_are_checked(void **state)
{
    fixture *f = *state;
    int got[N];
    tacit_fence_ticket *ticket = NULL;
    const void *data = NULL;
    const tacit_box wrong[] = {
        tacit_box1(3, 3),        tacit_box1(5, 2),
        tacit_box1(0, N + 1),    tacit_box1(N, N + 1),
        tacit_box2(0, 2, 0, 2),  tacit_box1(SIZE_MAX - 1, SIZE_MAX),
        tacit_box1(1, SIZE_MAX), { { 0, 0, 0 }, { 0, 0, 0 } },
    };
    for (size_t i = 0; i < TI_COUNT(wrong); i++) {
        assert_int_equal(tacit_fence_read(f->ctx, f->line, wrong[i], got), TACIT_ERROR_RANGE);
        says(tacit_last_error(f->ctx), "tacit_fence_read|'line'|[0,12)|TACIT_BOX_ALL");
        assert_int_equal(tacit_fence(f->ctx, f->line, wrong[i], &ticket), TACIT_ERROR_RANGE);
        says(tacit_last_error(f->ctx), "tacit_fence|'line'");
        assert_null(ticket);
    }
    assert_int_equal(tacit_fence_read(NULL, f->line, TACIT_BOX_ALL, got), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_fence_read(f->ctx, NULL, TACIT_BOX_ALL, got), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_fence_read|buffer is NULL");
    assert_int_equal(tacit_fence_read(f->ctx, f->line, TACIT_BOX_ALL, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_fence_read|destination is NULL");
    assert_int_equal(tacit_fence(f->ctx, f->line, TACIT_BOX_ALL, NULL), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_fence_get(NULL, &data), TACIT_ERROR_ARGUMENT);
    tacit_fence_release(NULL);
    assert_int_equal(tacit_fence(f->ctx, f->line, TACIT_BOX_ALL, &ticket), TACIT_OK);
    assert_int_equal(tacit_fence_get(ticket, NULL), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_fence_get(ticket, &data), TACIT_OK);
    assert_non_null(data);
    tacit_fence_release(ticket);
    still_right(f);
}

/* A fence of something that no memory holds is refused, not attempted. */
static void fences_too_large_for_memory(void **state)
{
    fixture *f = *state;
    tacit_buffer *vast;
    tacit_fence_ticket *ticket = NULL;
    const size_t n = (size_t)1 << 46;
    const tacit_buffer_desc desc = { .name = "vast", .range = TACIT_RANGE(n), .elem_size = 1 << 16 };
    assert_int_equal(tacit_buffer_create(f->ctx, &desc, &vast), TACIT_OK);
    assert_int_equal(tacit_fence(f->ctx, vast, TACIT_BOX_ALL, &ticket), TACIT_ERROR_MEMORY);
    says(tacit_last_error(f->ctx), "tacit_fence|'vast'|read it in parts");
    assert_null(ticket);
    assert_int_equal(tacit_buffer_destroy(f->ctx, vast), TACIT_OK);
    still_right(f);
}

static void add_all(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)chunk;
    (void)user;
    tacit_region_add(out, tacit_box1(0, range->size[0]));
}

static void mappers_are_checked(void **state)
{
    fixture *f = *state;
    int handle = -5;
    assert_int_equal(tacit_mapper_create(NULL, add_all, NULL, 0, 0, &handle), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_mapper_create(f->ctx, NULL, NULL, 0, 0, &handle), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_mapper_create|function is NULL");
    assert_int_equal(tacit_mapper_create(f->ctx, add_all, NULL, 0, 0, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_mapper_create|out is NULL");
    assert_int_equal(tacit_mapper_create(f->ctx, add_all, NULL, 4, 0, &handle), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_mapper_create|user is NULL");
    assert_int_equal(tacit_mapper_create(f->ctx, add_all, NULL, 0, ~0u, &handle), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_mapper_create|properties|TACIT_MAPPER_CONSTANT");
    assert_int_equal(tacit_mapper_create(f->ctx, add_all, &handle, SIZE_MAX / 2, 0, &handle), TACIT_ERROR_MEMORY);
    says(tacit_last_error(f->ctx), "tacit_mapper_create|no memory|9223372036854775807 bytes|user_size");
    assert_int_equal(handle, -5);
    still_right(f);
}

static void combine_nothing(void *into, const void *from, size_t n, const void *user)
{
    (void)into, (void)from, (void)n, (void)user;
}

static void operators_are_checked(void **state)
{
    fixture *f = *state;
    tacit_op op = { .kind = -5 };
    const int zero = 0;
    tacit_op_desc good = { .combine = combine_nothing, .identity = &zero, .elem_size = sizeof(zero) }, desc = good;
    assert_int_equal(tacit_op_create(NULL, &good, &op), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_op_create(f->ctx, NULL, &op), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_op_create|description is NULL");
    assert_int_equal(tacit_op_create(f->ctx, &good, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_op_create|out is NULL");
    desc.combine = NULL;
    assert_int_equal(tacit_op_create(f->ctx, &desc, &op), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_op_create|.combine is missing");
    desc = good;
    desc.identity = NULL;
    assert_int_equal(tacit_op_create(f->ctx, &desc, &op), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_op_create|.identity is missing");
    desc = good;
    desc.elem_size = 0;
    assert_int_equal(tacit_op_create(f->ctx, &desc, &op), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_op_create|.elem_size is missing");
    desc = good;
    desc.user_size = 4;
    assert_int_equal(tacit_op_create(f->ctx, &desc, &op), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_op_create|.user is missing");
    desc.user = &zero;
    desc.user_size = SIZE_MAX / 2;
    assert_int_equal(tacit_op_create(f->ctx, &desc, &op), TACIT_ERROR_MEMORY);
    says(tacit_last_error(f->ctx), "tacit_op_create|no memory|.user_size");
    desc = good;
    desc.elem_size = SIZE_MAX - 7;
    assert_int_equal(tacit_op_create(f->ctx, &desc, &op), TACIT_ERROR_MEMORY);
    says(tacit_last_error(f->ctx), "tacit_op_create|no memory|.elem_size");
    assert_int_equal(op.kind, -5);
    still_right(f);
}

static void other_calls_take_null(void **state)
{
    fixture *f = *state;
    tacit_counters counters;
    assert_int_equal(tacit_submit(NULL, &(tacit_task){ .range = TACIT_RANGE(1) }), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_submit(f->ctx, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(f->ctx), "tacit_submit|NULL");
    assert_int_equal(tacit_wait(NULL), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_finalize(NULL), TACIT_OK);
    assert_int_equal(tacit_get_counters(NULL, &counters), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_get_counters(f->ctx, NULL), TACIT_ERROR_ARGUMENT);
    assert_int_equal(tacit_node(NULL), -1);
    assert_int_equal(tacit_num_nodes(NULL), -1);
    assert_non_null(tacit_last_error(NULL));
    assert_string_equal(tacit_status_name((tacit_status)-99), "TACIT_ERROR_UNKNOWN");
    assert_string_equal(tacit_status_name(TACIT_ERROR_OVERLAP), "TACIT_ERROR_OVERLAP");
    still_right(f);
}

/* Structs of older and newer callers: what they do not have is zero, what the library does not know is ignored. */
static void structs_may_be_shorter_and_longer(void **state)
{
    fixture *f = *state;
    struct {
        tacit_task task;
        char more[64];
    } later = { .task = { .name = "add",
                          .range = TACIT_RANGE(N),
                          .kernel = { .host = add_one },
                          .access = { tacit_update(f->line, tacit_one_to_one()) } } };
    memset(later.more, 0xff, sizeof(later.more));
    assert_int_equal(tacit_submit_sized(f->ctx, &later.task, sizeof(later)), TACIT_OK);
    f->adds++;
    later.task.args_size = 77; /* beyond what an older caller knows */
    assert_int_equal(tacit_submit_sized(f->ctx, &later.task, offsetof(tacit_task, args)), TACIT_OK);
    f->adds++;
    tacit_buffer *b;
    const tacit_buffer_desc desc = {
        .name = "b", .range = TACIT_RANGE(N), .elem_size = 4, .init = (void *)(uintptr_t)1
    };
    assert_int_equal(tacit_buffer_create_sized(f->ctx, &desc, offsetof(tacit_buffer_desc, init), &b), TACIT_OK);
    assert_int_equal(tacit_buffer_destroy(f->ctx, b), TACIT_OK);
    still_right(f);
}

/* ---- starting */

static void settings_are_checked(void **state)
{
    (void)state;
    tacit_context *ctx = (tacit_context *)(uintptr_t)1;
    assert_int_equal(tacit_init(NULL, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(NULL), "tacit_init|out is NULL");
    const tacit_config wrong[] = {
        { .workers = -1 },
        { .run_ahead = -1 },
        { .horizon_step = -2 },
        { .horizon_front = INT32_MIN },
        { .graph = "/tmp/x", .graph_tasks = "what" },
    };
    for (size_t i = 0; i < TI_COUNT(wrong); i++) {
        assert_int_equal(tacit_init(&wrong[i], &ctx), TACIT_ERROR_CONFIG);
        assert_null(ctx);
        assert_true(strlen(tacit_last_error(NULL)) > 10);
    }
    assert_int_equal(setenv("TACIT_WORKES", "2", 1), 0);
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_ERROR_CONFIG);
    says(tacit_last_error(NULL), "TACIT_WORKES|did you mean TACIT_WORKERS");
    assert_null(ctx);
    assert_int_equal(unsetenv("TACIT_WORKES"), 0);
    assert_int_equal(setenv("TACIT_RUN_AHEAD", "many", 1), 0);
    assert_int_equal(tacit_init(NULL, &ctx), TACIT_ERROR_CONFIG);
    says(tacit_last_error(NULL), "TACIT_RUN_AHEAD|'many'|must be");
    assert_int_equal(unsetenv("TACIT_RUN_AHEAD"), 0);
}

/* ---- errors that come later */

static void slow(const tacit_launch *k)
{
    const struct timespec ms = { 0, 1000000 };
    (void)k;
    nanosleep(&ms, NULL);
}

/* Memory runs out behind `busy` kernels: every later call says so, and the end is orderly. */
static void out_of_memory(const tacit_config *config, int busy)
{
    tacit_context *ctx;
    tacit_buffer *vast, *small;
    const int zeros[N] = { 0 };
    int got[N];
    const size_t n = (size_t)1 << 44;
    assert_int_equal(tacit_init(config, &ctx), TACIT_OK);
    const tacit_buffer_desc small_desc = {
        .name = "small", .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = zeros
    };
    const tacit_buffer_desc vast_desc = { .name = "vast", .range = TACIT_RANGE(n), .elem_size = 4096 };
    assert_int_equal(tacit_buffer_create(ctx, &small_desc, &small), TACIT_OK);
    assert_int_equal(tacit_buffer_create(ctx, &vast_desc, &vast), TACIT_OK);
    for (int i = 0; i < busy; i++) {
        assert_int_equal(tacit_submit(ctx, &(tacit_task){ .name = "slow",
                                                          .range = TACIT_RANGE(N),
                                                          .kernel = { .host = slow },
                                                          .access = { tacit_read(small, tacit_one_to_one()) } }),
                         TACIT_OK);
    }
    tacit_status status = tacit_submit(ctx, &(tacit_task){ .name = "fill",
                                                           .range = TACIT_RANGE(n),
                                                           .kernel = { .host = nothing },
                                                           .access = { tacit_write(vast, tacit_one_to_one()) } });
    assert_int_equal(status, TACIT_OK);
    assert_int_equal(tacit_wait(ctx), TACIT_ERROR_MEMORY);
    says(tacit_last_error(ctx), "task 'fill' writes all of buffer 'vast' by tacit_one_to_one|64.0 PiB|more nodes");
    assert_int_equal(
        tacit_submit(ctx, &(tacit_task){ .name = "later", .range = TACIT_RANGE(1), .kernel = { .host = nothing } }),
        TACIT_ERROR_MEMORY);
    says(tacit_last_error(ctx), "task 'fill'");
    assert_int_equal(tacit_fence_read(ctx, small, TACIT_BOX_ALL, got), TACIT_ERROR_MEMORY);
    assert_int_equal(tacit_buffer_create(ctx, &small_desc, &small), TACIT_ERROR_MEMORY);
    assert_int_equal(tacit_wait(ctx), TACIT_ERROR_MEMORY);
    assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_MEMORY);
}

static void memory_runs_out_inline(void **state)
{
    (void)state;
    out_of_memory(&(tacit_config){ .threads = TACIT_THREADS_INLINE }, 16);
}

static void memory_runs_out_shared(void **state)
{
    (void)state;
    out_of_memory(&(tacit_config){ .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED, .workers = 3 }, 16);
}

static void memory_runs_out_thread(void **state)
{
    (void)state;
    out_of_memory(&(tacit_config){ .progress = TACIT_PROGRESS_THREAD, .workers = 2 }, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(places_and_kernels_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(hints_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(access_lists_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(pairs_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(components_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(writers_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(reductions_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(unwritten_elements_are_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_calls_take_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(buffers_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(distributions_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(handles_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(fences_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(fences_too_large_for_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(mappers_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(operators_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(other_calls_take_null, setup, teardown),
        cmocka_unit_test_setup_teardown(structs_may_be_shorter_and_longer, setup, teardown),
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(memory_runs_out_inline),
        cmocka_unit_test(memory_runs_out_shared),
        cmocka_unit_test(memory_runs_out_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
