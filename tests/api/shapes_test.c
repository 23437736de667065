/* Tasks that are submitted again and again (api/shapes.h): what is found is the shape that the description makes
 * anew, and a description that differs in anything is another one. */
#include "api/context.h"
#include "api/shapes.h"
#include "base/config.h"
#include "comm/comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 24, TIMES = 6 };

typedef struct setting {
    tacit_context *ctx;
    tacit_buffer *a, *b;
    tacit_weights *items;
    const ti_task *latest; /* that was submitted and is no horizon */
} setting;

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void nothing_else(const tacit_launch *k)
{
    (void)k;
}

static void take(void *user, const ti_task *task)
{
    setting *s = user;
    s->latest = task->kind == TI_TASK_EXECUTE || task->kind == TI_TASK_BRIEF ? task : s->latest;
}

static void open_setting(setting *s)
{
    static const double contents[N * N];
    const tacit_config given = { .workers = 1 };
    tacit_config config;
    ti_strbuf why = { 0 };
    assert_int_equal(ti_config_resolve(&given, &config, &why), TACIT_OK);
    ti_strbuf_fini(&why);
    config.dry_run = "as the network says";
    config.multicast = TACIT_MULTICAST_DYNAMIC; /* whoever plans multicasts has to know more than briefs say */
    assert_int_equal(ti_context_create(&config, ti_comm_dry_create(0, 4), &s->ctx), TACIT_OK);
    ti_runtime_divert(s->ctx->runtime, take, s, false);
    tacit_buffer_desc desc = {
        .name = "a", .range = TACIT_RANGE(N, N), .elem_size = sizeof(double), .init = contents, .init_borrow = true
    };
    assert_int_equal(tacit_buffer_create(s->ctx, &desc, &s->a), TACIT_OK);
    desc.name = "b";
    assert_int_equal(tacit_buffer_create(s->ctx, &desc, &s->b), TACIT_OK);
    uint64_t weight[N];
    for (uint64_t i = 0; i < N; i++) {
        weight[i] = i;
    }
    assert_int_equal(tacit_weights_create(s->ctx, N, weight, &s->items), TACIT_OK);
}

static tacit_task base(const setting *s)
{
    return (tacit_task){ .name = "base",
                         .range = TACIT_RANGE(N, N),
                         .kernel = { .host = nothing },
                         .access = { tacit_read(s->a, tacit_star(1, 2, 0)), tacit_update(s->b, tacit_one_to_one()) } };
}

static const ti_task *submit(setting *s, const tacit_task *t)
{
    s->latest = NULL;
    assert_int_equal(tacit_submit(s->ctx, t), TACIT_OK);
    assert_non_null(s->latest);
    return s->latest;
}

static void assert_same_access(const ti_task *x, const ti_task *y, uint32_t i)
{
    const ti_access *a = &x->shape->access[i], *b = &y->shape->access[i];
    assert_string_equal(a->buffer->name, b->buffer->name);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->mappers, b->mappers);
    assert_true(a->include_old == b->include_old && a->reducer.op.kind == b->reducer.op.kind &&
                a->reducer.op.type == b->reducer.op.type);
    for (uint32_t k = 0; k < a->mappers; k++) {
        ti_mapper one, other;
        assert_true(ti_mapper_equal(ti_shape_mapper(x->shape, i, k, &one), ti_shape_mapper(y->shape, i, k, &other)));
    }
    assert_int_equal(x->shape->footprint[i].boxes, y->shape->footprint[i].boxes);
    assert_true(ti_box_equal(&x->shape->footprint[i].bounding, &y->shape->footprint[i].bounding));
    for (uint32_t k = 0; k < x->shape->footprint[i].boxes; k++) {
        assert_true(ti_box_equal(&x->shape->footprint[i].box[k], &y->shape->footprint[i].box[k]));
    }
}

static void assert_same_task(const ti_task *x, const ti_task *y)
{
    assert_string_equal(x->shape->name, y->shape->name);
    assert_true(ti_box_equal(&x->shape->range, &y->shape->range));
    assert_true(memcmp(x->shape->gran, y->shape->gran, sizeof(x->shape->gran)) == 0);
    assert_true(x->shape->host == y->shape->host && x->shape->on == y->shape->on &&
                x->shape->place == y->shape->place && x->shape->dims == y->shape->dims);
    assert_true(x->shape->whole_chunk == y->shape->whole_chunk && x->shape->priority == y->shape->priority &&
                x->shape->two_dimensional == y->shape->two_dimensional &&
                x->shape->oversubscribe == y->shape->oversubscribe &&
                x->shape->no_collectives == y->shape->no_collectives && x->shape->pure == y->shape->pure &&
                x->shape->hash_args == y->shape->hash_args && x->shape->orders == y->shape->orders &&
                x->shape->cost == y->shape->cost);
    assert_int_equal(x->shape->args_size, y->shape->args_size);
    assert_true(x->shape->args_size == 0 || memcmp(x->args, y->args, x->shape->args_size) == 0);
    assert_true(!x->shape->weights == !y->shape->weights);
    assert_true(x->shape->borders == y->shape->borders && !x->shape->items == !y->shape->items);
    assert_true(!x->shape->border ||
                memcmp(x->shape->border, y->shape->border, (size_t)x->shape->borders * sizeof(int64_t)) == 0);
    assert_int_equal(x->shape->accesses, y->shape->accesses);
    for (uint32_t i = 0; i < x->shape->accesses; i++) {
        assert_same_access(x, y, i);
    }
}

/* ---- descriptions that differ from `base` in one thing */

typedef void change(const setting *s, tacit_task *t);

static void rename_it(const setting *s, tacit_task *t)
{
    (void)s;
    t->name = "bass";
}

static void other_kernel(const setting *s, tacit_task *t)
{
    (void)s;
    t->kernel.host = nothing_else;
}

static void smaller(const setting *s, tacit_task *t)
{
    (void)s;
    t->range = TACIT_RANGE(N, N - 1);
}

static void shifted(const setting *s, tacit_task *t)
{
    (void)s;
    t->range = TACIT_RANGE(N, N - 1);
    t->offset[1] = 1;
}

static void other_halo(const setting *s, tacit_task *t)
{
    t->access[0] = tacit_read(s->a, tacit_star(1, 3, 0));
}

static void other_kind(const setting *s, tacit_task *t)
{
    t->access[0] = tacit_read(s->a, tacit_neighborhood(1, 2, 0));
}

static void other_mode(const setting *s, tacit_task *t)
{
    t->access[1] = tacit_write(s->b, tacit_one_to_one());
}

static void other_buffers(const setting *s, tacit_task *t)
{
    t->access[0].buffer = s->b;
    t->access[1].buffer = s->a;
}

static void fewer(const setting *s, tacit_task *t)
{
    (void)s;
    t->access[1] = (tacit_access){ .mode = 0 };
}

static void reduced(const setting *s, tacit_task *t)
{
    t->access[1] = tacit_reduce(s->b, tacit_sum(TACIT_DOUBLE));
}

static void with_arguments(const setting *s, tacit_task *t)
{
    static const int number = 7;
    (void)s;
    t->args = &number;
    t->args_size = sizeof(number);
}

static void placed(const setting *s, tacit_task *t)
{
    (void)s;
    t->place = tacit_place_node(2);
}

static void on_host(const setting *s, tacit_task *t)
{
    (void)s;
    t->on = TACIT_ON_HOST;
}

static void split_2d(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.split = TACIT_SPLIT_2D;
}

static void coarse(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.granularity[0] = 3;
}

static void oversubscribed(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.oversubscribe = 2;
}

static void urgent(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.priority = 3;
}

static void whole(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.whole_chunk = true;
}

static void by_messages(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.no_collectives = true;
}

static void costly(const setting *s, tacit_task *t)
{
    (void)s;
    t->cost = 2.5;
}

static void hashed(const setting *s, tacit_task *t)
{
    (void)s;
    t->hash_args = true;
}

static void weighted(const setting *s, tacit_task *t)
{
    static const uint32_t weights[] = { 1, 2, 3, 4 };
    (void)s;
    t->hint.weights = weights;
}

static void weighted_items(const setting *s, tacit_task *t)
{
    (void)s;
    t->hint.item_weights = s->items;
}

static change *const changes[] = { rename_it,  other_kernel,  smaller,        shifted, other_halo,     other_kind,
                                   other_mode, other_buffers, fewer,          reduced, placed,         on_host,
                                   split_2d,   coarse,        urgent,         whole,   oversubscribed, weighted,
                                   hashed,     by_messages,   with_arguments, costly,  weighted_items };

/* What the description makes where nothing has been submitted before, changed or (NULL) not. */
static const ti_task *submit_fresh(setting *fresh, change *how)
{
    open_setting(fresh);
    tacit_task t = base(fresh);
    if (how) {
        how(fresh, &t);
    }
    return submit(fresh, &t);
}

static void the_same_again(void **state)
{
    (void)state;
    for (size_t c = 0; c <= TI_COUNT(changes); c++) {
        change *how = c < TI_COUNT(changes) ? changes[c] : NULL;
        setting s = { 0 }, fresh = { 0 };
        const ti_task *expected = submit_fresh(&fresh, how), *before = NULL;
        open_setting(&s);
        tacit_task t = base(&s);
        if (how) {
            how(&s, &t);
        }
        for (int i = 0; i < TIMES; i++) {
            const ti_task *task = submit(&s, &t);
            assert_true(task != before && (i < 2) == (!before || task->shape != before->shape));
            assert_true((i > 0) == (task->shape->serial > 0));
            assert_same_task(task, expected);
            before = task;
        }
        ti_context_discard(fresh.ctx);
        ti_context_discard(s.ctx);
    }
}

static void something_else(void **state)
{
    (void)state;
    setting first = { 0 };
    const ti_task *unchanged = submit_fresh(&first, NULL);
    for (size_t c = 0; c < TI_COUNT(changes); c++) {
        setting s = { 0 }, fresh = { 0 };
        const ti_task *changed = submit_fresh(&fresh, changes[c]);
        open_setting(&s);
        tacit_task plain = base(&s), other = base(&s);
        changes[c](&s, &other);
        for (int i = 0; i < 4 * TIMES; i++) {
            bool as_before = i < TIMES || (i < 3 * TIMES && i % 2);
            assert_same_task(submit(&s, as_before ? &plain : &other), as_before ? unchanged : changed);
        }
        ti_context_discard(fresh.ctx);
        ti_context_discard(s.ctx);
    }
    ti_context_discard(first.ctx);
}

/* Names, arguments, accesses and weights are the caller's, who may change them in place. */
static void changed_in_place(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    char name[] = "step 0";
    int number = 0;
    uint32_t weights[] = { 1, 2, 3, 4 };
    tacit_task t = base(&s);
    t.name = name;
    t.args = &number;
    t.args_size = sizeof(number);
    for (int i = 0; i < 2 * TIMES; number = ++i) {
        name[5] = (char)('0' + i / 4);
        weights[1] = (uint32_t)i / 3;
        t.hint.weights = i < TIMES ? NULL : weights;
        const ti_task *task = submit(&s, &t);
        assert_true(!task->shape->weights == (i < TIMES) && (i < TIMES || task->shape->weights[1] == weights[1]));
        assert_string_equal(task->shape->name, name);
        assert_int_equal(*(const int *)task->args, i);
        assert_true(task->shape->name != name && task->args != &number);
    }
    ti_context_discard(s.ctx);
}

static void what_was_good_is_refused(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    tacit_task t = base(&s), wrong = base(&s);
    for (int i = 0; i < TIMES; i++) {
        submit(&s, &t);
    }
    wrong.range = TACIT_RANGE(N, N + 1);
    assert_int_equal(tacit_submit(s.ctx, &wrong), TACIT_ERROR_RANGE);
    for (int i = 0; i < TIMES; i++) {
        submit(&s, &t);
    }
    assert_int_equal(tacit_buffer_destroy(s.ctx, s.a), TACIT_OK);
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_STATE);
    assert_non_null(strstr(tacit_last_error(s.ctx), "access 0"));
    ti_context_discard(s.ctx);
}

/* Bytes that no field has, and arguments, which are the task's and not the shape's. */
static bool says_nothing(size_t at, uint32_t accesses)
{
#define IN(from, to) (at + 1 > (from) && at < (to))
#define IS(field) IN(offsetof(tacit_task, field), offsetof(tacit_task, field) + sizeof(((tacit_task *)0)->field))
#define AFTER(field, next) IN(offsetof(tacit_task, field) + sizeof(((tacit_task *)0)->field), next)
    size_t first = offsetof(tacit_task, access), size = sizeof(tacit_access);
    if (IS(access)) {
        size_t in = (at - first) % size, c = in - offsetof(tacit_access, mapper);
        bool component = in >= offsetof(tacit_access, mapper) && c < sizeof(((tacit_mapper *)0)->c);
        return (at - first) / size > accesses ||
               ((at - first) / size == accesses && in != offsetof(tacit_access, mode)) ||
               (component && c % sizeof(tacit_component) >= offsetof(tacit_component, dim) + 1) ||
               (in >= offsetof(tacit_access, op) && in < offsetof(tacit_access, mode)) ||
               in >= offsetof(tacit_access, include_old);
    }
    return IS(name) || IS(args) || IS(hint.weights) || AFTER(range, offsetof(tacit_task, offset)) ||
           AFTER(on, offsetof(tacit_task, place)) || AFTER(place, offsetof(tacit_task, hint)) ||
           AFTER(hint.pure, offsetof(tacit_task, hint.weights)) ||
           AFTER(hint.no_collectives, offsetof(tacit_task, host_object)) ||
           AFTER(hash_args, offsetof(tacit_task, cost)) ||
           IN(offsetof(tacit_task, range) + sizeof(((tacit_range *)0)->size) + sizeof(int),
              offsetof(tacit_task, offset)) ||
           AFTER(hint.split, offsetof(tacit_task, hint.granularity));
}

/* A new field of tacit_task, or of what is in it, that the table of shapes does not look at is found here. */
static void every_byte_counts(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    ti_shapes *shapes = ti_shapes_create(s.ctx);
    tacit_task t;
    memset(&t, 0, sizeof(t));
    const tacit_task from = base(&s);
    t.name = from.name;
    t.range = from.range;
    t.kernel.host = nothing;
    memcpy(t.access, from.access, sizeof(t.access));
    assert_null(ti_shapes_find(shapes, &t, 1));
    assert_null(ti_shapes_begin(shapes, 0, false));
    assert_null(ti_shapes_find(shapes, &t, 2));
    ti_arena *arena = ti_shapes_begin(shapes, 0, false);
    assert_non_null(arena);
    ti_shapes_keep(shapes, &t, ti_shape_new(arena, "base"), 2);
    assert_non_null(ti_shapes_find(shapes, &t, 3));
    for (size_t i = 0; i < sizeof(t); i++) {
        tacit_task other = t;
        ((unsigned char *)&other)[i] ^= 1;
        if (!says_nothing(i, 2) && ti_shapes_find(shapes, &other, 4)) {
            fail_msg("byte %zu of a task is not looked at", i);
        }
    }
    tacit_task padded = t; /* lies there in another way, and says the same */
    ((unsigned char *)&padded.access[1])[sizeof(tacit_access) - 1] ^= 1;
    assert_non_null(ti_shapes_find(shapes, &padded, 5));
    ti_shapes_destroy(shapes);
    ti_context_discard(s.ctx);
}

/* ---- tiles, whose shapes are made of a form */

enum { TILE = 4, TILES = N / TILE };

static tacit_box tile(size_t i, size_t j)
{
    return tacit_box2(i * TILE, (i + 1) * TILE, j * TILE, (j + 1) * TILE);
}

/* Another one for each `i`. */
static tacit_task tile_task(const setting *s, size_t i)
{
    size_t row = i / TILES % TILES, column = i % TILES, other = (row + 1) % TILES;
    return (tacit_task){ .name = "tile",
                         .range = TACIT_RANGE(3),
                         .kernel = { .host = nothing },
                         .place = tacit_place_node((int)(i % 4)),
                         .hint = { .priority = 2 },
                         .access = { tacit_update(s->a, tacit_fixed(tile(row, column))),
                                     tacit_read(s->a, tacit_fixed(tile(other, column))),
                                     tacit_in_parts(
                                         tacit_read(s->b, tacit_fixed(i % 5 ? tile(column, row) : TACIT_BOX_ALL))) } };
}

static void tiles_share_a_form(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    const char *name = NULL;
    for (size_t i = 0; i < (size_t)TILES * TILES; i++) {
        setting fresh = { 0 };
        open_setting(&fresh);
        tacit_task t = tile_task(&s, i), first = tile_task(&fresh, i);
        const ti_task *expected = submit(&fresh, &first), *task = submit(&s, &t);
        assert_same_task(task, expected);
        assert_int_equal(task->shape->place, (int)(i % 4));
        assert_int_equal(task->shape->serial, 0);
        for (uint32_t k = 0; k < 3; k++) {
            assert_true(task->shape->access[k].in_parts == (k == 2) &&
                        task->shape->access[k].kind == TACIT_MAPPER_FIXED);
        }
        assert_true(i < 3 || task->shape->name == name); /* the form's */
        name = task->shape->name;
        ti_context_discard(fresh.ctx);
    }
    ti_context_discard(s.ctx);
}

/* Nodes compare them, and what is foreign to one is another's own: the mappers that a shape lacks count. */
static void assert_same_submission(const ti_task *x, const ti_task *y)
{
    ti_submission one, other;
    ti_submission_of_task(x, 4, &one);
    ti_submission_of_task(y, 4, &other);
    for (uint32_t i = 0; i < one.accesses; i++) {
        assert_int_equal(one.access[i].mapper, other.access[i].mapper);
    }
    ti_arena arena = { 0 };
    const ti_shape *whole = ti_shape_complete(x->shape, &arena);
    assert_true(!whole->bare && (whole == x->shape) == !x->shape->bare);
    for (uint32_t i = 0; i < whole->accesses; i++) {
        ti_mapper room;
        assert_true(ti_mapper_equal(whole->access[i].mapper, ti_shape_mapper(y->shape, i, 0, &room)));
    }
    ti_arena_fini(&arena);
}

/* Once placed tasks have written all tiles, a task that runs elsewhere has a shape without mappers. */
static void foreign_tiles_lack_mappers(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    int bare = 0;
    for (size_t i = 0; i < (size_t)4 * TILES * TILES; i++) {
        setting fresh = { 0 };
        open_setting(&fresh);
        tacit_task t = tile_task(&s, i), first = tile_task(&fresh, i);
        t.place.arg = first.place.arg = (int)((i + i / (TILES * TILES)) % 4);
        t.access[2] = first.access[2] = (tacit_access){ .mode = 0 };
        const ti_task *expected = submit(&fresh, &first), *task = submit(&s, &t);
        assert_same_task(task, expected);
        assert_same_submission(task, expected);
        assert_true(!task->shape->bare || task->shape->place != 0);
        bare += task->shape->bare;
        ti_context_discard(fresh.ctx);
    }
    assert_int_equal(bare, 3 * TILES * TILES * 3 / 4);
    ti_context_discard(s.ctx);
}

/* The same task as a brief and as a task: dependencies, and what nodes compare. */
static void assert_says_the_same(const ti_task *brief, const ti_task *task)
{
    ti_submission one, other;
    ti_arena arena = { 0 };
    const ti_task *whole = ti_brief_task(brief, &arena);
    assert_same_task(whole, task);
    assert_int_equal(whole->id, task->id);
    assert_int_equal(whole->deps, task->deps);
    assert_true(task->deps == 0 || memcmp(whole->dep, task->dep, task->deps * sizeof(task->dep[0])) == 0);
    ti_submission_of_task(brief, 4, &one);
    ti_submission_of_task(task, 4, &other);
    assert_int_equal(ti_submission_size(&one), ti_submission_size(&other));
    assert_memory_equal(&one, &other, ti_submission_size(&one));
    ti_arena_fini(&arena);
}

static void briefs_say_what_tasks_do(void **state)
{
    (void)state;
    enum { COUNT = 8 * TILES * TILES };
    setting s = { 0 }, other = { 0 };
    int briefs = 0;
    open_setting(&s);
    open_setting(&other);
    ti_runtime_divert(s.ctx->runtime, take, &s, true);
    for (size_t i = 0; i < COUNT; i++) {
        int number = (int)i;
        const size_t round = i / (TILES * TILES), row = (i / TILES + 1 + round % (TILES - 1)) % TILES;
        tacit_task t = tile_task(&s, i), same = tile_task(&other, i);
        t.place.arg = same.place.arg = (int)((i + round) % 4); /* so that no task comes twice */
        t.access[1] = tacit_read(s.a, tacit_fixed(tile(row, i % TILES)));
        same.access[1] = tacit_read(other.a, t.access[1].mapper);
        if (i % 2) {
            t.args = same.args = &number;
            t.args_size = same.args_size = sizeof(number);
            t.hash_args = same.hash_args = true;
        }
        const ti_task *task = submit(&s, &t), *expected = submit(&other, &same);
        assert_int_equal(expected->kind, TI_TASK_EXECUTE);
        if (task->kind == TI_TASK_BRIEF) {
            assert_true(ti_brief_of(task)->place == t.place.arg && t.place.arg != 0);
            assert_says_the_same(task, expected);
            assert_true(i % 2 == 0 || *(const int *)task->args == number);
            briefs++;
        } else {
            assert_same_task(task, expected);
        }
    }
    assert_in_range(briefs, COUNT / 4, COUNT * 3 / 4);
    ti_context_discard(other.ctx);
    ti_context_discard(s.ctx);
}

static void all_of_a_buffer_is_a_tile(void **state)
{
    (void)state;
    setting s = { 0 }, fresh = { 0 };
    open_setting(&s);
    open_setting(&fresh);
    tacit_task other = tile_task(&fresh, 0);
    other.access[1] = tacit_read(fresh.b, tacit_all());
    other.access[2] = (tacit_access){ .mode = 0 };
    const ti_task *expected = submit(&fresh, &other);
    for (size_t i = 0; i < 2 * TILES; i++) {
        tacit_task t = tile_task(&s, i);
        t.access[1] = tacit_read(s.b, tacit_all());
        t.access[2] = (tacit_access){ .mode = 0 };
        assert_same_access(submit(&s, &t), expected, 1);
    }
    ti_context_discard(fresh.ctx);
    ti_context_discard(s.ctx);
}

/* What only the checks of all descriptions can tell is left to them. */
static void bad_tiles_are_refused(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    for (size_t i = 0; i < TILES; i++) {
        const tacit_task t = tile_task(&s, i);
        submit(&s, &t);
    }
    tacit_task t = tile_task(&s, TILES);
    t.place.arg = 4;
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_RANGE);
    t.place.arg = -1;
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_RANGE);
    t = tile_task(&s, TILES);
    t.access[1] = tacit_read(s.a, tacit_fixed(tile(TILES, 0)));
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_RANGE);
    assert_non_null(strstr(tacit_last_error(s.ctx), "access 1"));
    t = tile_task(&s, TILES);
    t.access[0].mapper.c[1].lo = -1;
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_RANGE);
    t = tile_task(&s, TILES);
    t.access[1] = tacit_update(s.a, t.access[0].mapper);
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_OVERLAP);
    t = tile_task(&s, TILES);
    t.access[1] = tacit_read(s.a, tacit_fixed(tacit_box2(0, N, 0, N))); /* what it writes, and more */
    assert_true(submit(&s, &t)->shape->whole_chunk);
    t = tile_task(&s, TILES);
    t.access[1].mapper.c[0].hi = t.access[1].mapper.c[0].lo; /* touches nothing */
    assert_int_equal(submit(&s, &t)->shape->footprint[1].boxes, 0);
    t = tile_task(&s, TILES);
    assert_int_equal(tacit_buffer_destroy(s.ctx, s.b), TACIT_OK);
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_STATE);
    ti_context_discard(s.ctx);
}

static void tiles_that_nobody_wrote_are_refused(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    for (size_t i = 0; i < TILES; i++) {
        const tacit_task t = tile_task(&s, i);
        submit(&s, &t);
    }
    const tacit_buffer_desc desc = { .name = "empty", .range = TACIT_RANGE(N, N), .elem_size = sizeof(double) };
    tacit_buffer *empty;
    assert_int_equal(tacit_buffer_create(s.ctx, &desc, &empty), TACIT_OK);
    tacit_task t = tile_task(&s, TILES);
    t.access[2].buffer = empty;
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_UNINITIALIZED);
    ti_context_discard(s.ctx);
}

/* Nodes, buffers and boxes are not the form's, and components of dimensions that buffers do not have are nobody's. */
static bool is_of_no_form(size_t at)
{
    size_t first = offsetof(tacit_task, access), size = sizeof(tacit_access);
    if (IN(first, first + 3 * size)) {
        size_t in = (at - first) % size, c = in - offsetof(tacit_access, mapper);
        bool mapper = in >= offsetof(tacit_access, mapper) && c < offsetof(tacit_mapper, kind);
        return in < offsetof(tacit_access, buffer) + sizeof(void *) ||
               (mapper &&
                (c % sizeof(tacit_component) != offsetof(tacit_component, kind) || c / sizeof(tacit_component) >= 2)) ||
               (in >= offsetof(tacit_access, mapper) && c >= offsetof(tacit_mapper, arg) && c < sizeof(tacit_mapper));
    }
    return IN(offsetof(tacit_task, place.arg), offsetof(tacit_task, place.arg) + sizeof(int));
}

static void every_byte_of_a_form_counts(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    ti_shapes *shapes = ti_shapes_create(s.ctx);
    ti_arena arena = { 0 };
    tacit_task t;
    memset(&t, 0, sizeof(t));
    const tacit_task from = tile_task(&s, 0);
    t.name = from.name;
    t.range = from.range;
    t.kernel.host = nothing;
    t.place = from.place;
    memcpy(t.access, from.access, sizeof(t.access));
    ti_shape *shape = ti_shape_new(&arena, "tile");
    ti_touched *tiles;
    ti_access *access = ti_arena_alloc_zero(&arena, 3 * sizeof(ti_access));
    for (int i = 0; i < 3; i++) {
        access[i].buffer = from.access[i].buffer->info;
    }
    shape->accesses = 3;
    shape->access = access;
    for (uint64_t i = 1; i < 3; i++) {
        assert_null(ti_shapes_find(shapes, &t, i));
        assert_null(ti_shapes_form(shapes, &tiles));
        ti_shapes_keep_form(shapes, &t, shape, i);
    }
    assert_null(ti_shapes_find(shapes, &t, 3));
    assert_non_null(ti_shapes_form(shapes, &tiles));
    for (size_t i = 0; i < sizeof(t); i++) {
        tacit_task other;
        memcpy(&other, &t, sizeof(t));
        ((unsigned char *)&other)[i] ^= 1;
        if (says_nothing(i, 3) || is_of_no_form(i)) {
            continue;
        }
        assert_null(ti_shapes_find(shapes, &other, 4));
        if (ti_shapes_form(shapes, &tiles)) {
            fail_msg("byte %zu of a task is not looked at", i);
        }
    }
    ti_shapes_destroy(shapes);
    ti_arena_fini(&arena);
    ti_context_discard(s.ctx);
}

/* The forms of tasks that have not been executed stay, and there is a bound. */
static void forms_are_bounded(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    for (size_t i = 0; i < 40 * (size_t)TI_FORMS; i++) {
        char name[32];
        tacit_task t = tile_task(&s, i);
        snprintf(name, sizeof(name), "tile %zu", i / 8);
        t.name = name;
        assert_string_equal(submit(&s, &t)->shape->name, name);
    }
    ti_context_discard(s.ctx);
}

/* ---- the table */

enum { ROUNDS = 12 };

static tacit_task at_offset(const setting *s, size_t i)
{
    tacit_task t = base(s);
    t.range = TACIT_RANGE(1, 1);
    t.offset[0] = i / N % N;
    t.offset[1] = i % N;
    t.hint.priority = (int)(i / (N * N));
    return t;
}

/* Submits `count` descriptions in turn, ROUNDS times; how many of the last round were known. */
static size_t known_in_turn(setting *s, size_t count)
{
    size_t known = 0;
    for (int round = 0; round < ROUNDS; round++) {
        known = 0;
        for (size_t i = 0; i < count; i++) {
            const tacit_task t = at_offset(s, i);
            known += submit(s, &t)->shape->serial > 0;
        }
    }
    return known;
}

static void grows_with_the_program(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    assert_int_equal(known_in_turn(&s, 6000), 6000); /* more than are noted at the beginning as having come once */
    assert_int_equal(ti_shapes_count(s.ctx->shapes), 6000);
    assert_in_range(ti_shapes_bytes(s.ctx->shapes) / 6000, 1, 3000); /* two of three have their description twice */
    ti_context_discard(s.ctx);
}

/* A loop over more than there is room for finds what is there; and what is not used any more makes room. */
static void is_bounded(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    size_t known = known_in_turn(&s, TI_SHAPES + 1000);
    assert_true(known > TI_SHAPES / 2 && ti_shapes_count(s.ctx->shapes) <= TI_SHAPES);
    for (size_t k = 0; k < 2 * (size_t)TI_SHAPES; k++) {
        const tacit_task other = at_offset(&s, k % 8);
        submit(&s, &other);
    }
    for (int i = 0; i < 20 * TIMES; i++) { /* places are given up one at a time */
        tacit_task t = base(&s);
        t.hint.granularity[1] = 5;
        for (size_t k = 0; k < 8; k++) {
            const tacit_task other = at_offset(&s, k);
            submit(&s, &other);
        }
        assert_true(submit(&s, &t)->shape->serial > 0 || i < 18 * TIMES);
    }
    assert_true(ti_shapes_count(s.ctx->shapes) <= TI_SHAPES);
    ti_context_discard(s.ctx);
}

/* Shapes of tiles are cheap to make, and leave room for others. */
static void tiles_leave_room(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    for (size_t i = 0; i < (size_t)3 * 8000; i++) {
        tacit_task t = tile_task(&s, i % 80);
        t.hint.priority = (int)(i % 8000 / 80);
        submit(&s, &t);
    }
    size_t count = ti_shapes_count(s.ctx->shapes);
    assert_true(count <= TI_TILE_SHAPES && count > TI_TILE_SHAPES / 2);
    assert_int_equal(known_in_turn(&s, 600), 600);
    ti_context_discard(s.ctx);
}

static void what_never_comes_again_is_not_kept(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    size_t before = ti_shapes_bytes(s.ctx->shapes);
    for (size_t i = 0; i < 5000; i++) {
        const tacit_task t = at_offset(&s, i);
        assert_int_equal(submit(&s, &t)->shape->serial, 0);
    }
    assert_int_equal(ti_shapes_count(s.ctx->shapes), 0);
    assert_int_equal(ti_shapes_bytes(s.ctx->shapes), before);
    ti_context_discard(s.ctx);
}

static void a_buffer_takes_its_shapes_along(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    tacit_task t = base(&s), other = base(&s);
    other.access[0] = tacit_read(s.b, tacit_all());
    other.access[1] = (tacit_access){ .mode = 0 };
    for (int i = 0; i < TIMES; i++) {
        submit(&s, &t);
        submit(&s, &other);
    }
    assert_int_equal(ti_shapes_count(s.ctx->shapes), 2);
    assert_int_equal(tacit_buffer_destroy(s.ctx, s.a), TACIT_OK);
    assert_int_equal(ti_shapes_count(s.ctx->shapes), 1);
    assert_true(submit(&s, &other)->shape->serial > 0);
    assert_int_equal(tacit_submit(s.ctx, &t), TACIT_ERROR_STATE);
    ti_context_discard(s.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again),
        cmocka_unit_test(something_else),
        cmocka_unit_test(changed_in_place),
        cmocka_unit_test(what_was_good_is_refused),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(tiles_share_a_form),
        cmocka_unit_test(foreign_tiles_lack_mappers),
        cmocka_unit_test(briefs_say_what_tasks_do),
        cmocka_unit_test(all_of_a_buffer_is_a_tile),
        cmocka_unit_test(bad_tiles_are_refused),
        cmocka_unit_test(tiles_that_nobody_wrote_are_refused),
        cmocka_unit_test(every_byte_of_a_form_counts),
        cmocka_unit_test(forms_are_bounded),
        cmocka_unit_test(grows_with_the_program),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(tiles_leave_room),
        cmocka_unit_test(what_never_comes_again_is_not_kept),
        cmocka_unit_test(a_buffer_takes_its_shapes_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
