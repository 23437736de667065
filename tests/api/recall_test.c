/* Tasks that are submitted again and again (api/recall.c): a task that is remembered is the task that the description makes anew, and a description that
 * differs in anything is another one. */
#include "api/context.h"
#include "base/config.h"
#include "comm/comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 24, TIMES = 6 };

typedef struct setting {
    tacit_context *ctx;
    tacit_buffer *a, *b;
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
    s->latest = task->kind == TI_TASK_EXECUTE ? task : s->latest;
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
    assert_int_equal(ti_context_create(&config, ti_comm_dry_create(0, 4), &s->ctx), TACIT_OK);
    ti_runtime_divert(s->ctx->runtime, take, s);
    tacit_buffer_desc desc = {
        .name = "a", .range = TACIT_RANGE(N, N), .elem_size = sizeof(double), .init = contents, .init_borrow = true
    };
    assert_int_equal(tacit_buffer_create(s->ctx, &desc, &s->a), TACIT_OK);
    desc.name = "b";
    assert_int_equal(tacit_buffer_create(s->ctx, &desc, &s->b), TACIT_OK);
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
    const ti_access *a = &x->access[i], *b = &y->access[i];
    assert_string_equal(a->buffer->name, b->buffer->name);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->mappers, b->mappers);
    assert_true(a->include_old == b->include_old && a->reducer.op.kind == b->reducer.op.kind &&
                a->reducer.op.type == b->reducer.op.type);
    for (uint32_t k = 0; k < a->mappers; k++) {
        assert_true(ti_mapper_equal(&a->mapper[k], &b->mapper[k]));
    }
    assert_int_equal(x->footprint[i].boxes, y->footprint[i].boxes);
    assert_true(ti_box_equal(&x->footprint[i].bounding, &y->footprint[i].bounding));
    for (uint32_t k = 0; k < x->footprint[i].boxes; k++) {
        assert_true(ti_box_equal(&x->footprint[i].box[k], &y->footprint[i].box[k]));
    }
}

static void assert_same_task(const ti_task *x, const ti_task *y)
{
    assert_string_equal(x->name, y->name);
    assert_true(ti_box_equal(&x->range, &y->range));
    assert_true(memcmp(x->gran, y->gran, sizeof(x->gran)) == 0);
    assert_true(x->kernel.host == y->kernel.host && x->on == y->on && x->place == y->place && x->dims == y->dims);
    assert_true(x->whole_chunk == y->whole_chunk && x->one_device == y->one_device && x->priority == y->priority &&
                x->two_dimensional == y->two_dimensional && x->oversubscribe == y->oversubscribe &&
                x->no_collectives == y->no_collectives && x->hash_args == y->hash_args && x->orders == y->orders);
    assert_int_equal(x->args_size, y->args_size);
    assert_true(x->args_size == 0 || memcmp(x->args, y->args, x->args_size) == 0);
    assert_true(!x->weights == !y->weights);
    assert_int_equal(x->accesses, y->accesses);
    for (uint32_t i = 0; i < x->accesses; i++) {
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

static change *const changes[] = { rename_it,  other_kernel,  smaller,       shifted, other_halo,     other_kind,
                                   other_mode, other_buffers, fewer,         reduced, placed,         on_host,
                                   split_2d,   coarse,        urgent,        whole,   oversubscribed, weighted,
                                   hashed,     by_messages,   with_arguments };

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
            assert_true(task != before && (!before || task->access != before->access));
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

/* Names, arguments and accesses are the caller's, who may change them in place. */
static void changed_in_place(void **state)
{
    (void)state;
    setting s = { 0 };
    open_setting(&s);
    char name[] = "step 0";
    int number = 0;
    tacit_task t = base(&s);
    t.name = name;
    t.args = &number;
    t.args_size = sizeof(number);
    for (int i = 0; i < 2 * TIMES; i++) {
        number = i;
        name[5] = (char)('0' + i / 4);
        const ti_task *task = submit(&s, &t);
        assert_string_equal(task->name, name);
        assert_int_equal(*(const int *)task->args, i);
        assert_true(task->name != name && task->args != &number);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again),
        cmocka_unit_test(something_else),
        cmocka_unit_test(changed_in_place),
        cmocka_unit_test(what_was_good_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
