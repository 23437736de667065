/* Who calls tacit: kernels that do are refused and do not wait for themselves, and of two threads at once the second is
 * found in checked builds. */
#include "cluster.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 8 };

static const tacit_config modes[] = {
    { .threads = TACIT_THREADS_INLINE },
    { .workers = 1, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
    { .workers = 3, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED },
    { .workers = 2, .progress = TACIT_PROGRESS_THREAD },
};

/* ---- inside a kernel */

typedef struct calls {
    tacit_context *ctx;
    tacit_buffer *buffer;
    tacit_fence_ticket *ticket;
    int made, refused, named;
    bool asked;
} calls;

static void copy_nothing(const tacit_launch *k)
{
    (void)k;
}

static void image(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range, (void)user;
    tacit_region_add(out, *chunk);
}

static void note(calls *c, tacit_status status, const char *call)
{
    char start[100];
    const char *text = tacit_last_error(c->ctx);
    snprintf(start, sizeof(start), "%s: the kernel of task 'eager'", call);
    c->made++;
    c->refused += status == TACIT_ERROR_STATE;
    c->named += strncmp(text, start, strlen(start)) == 0 && strstr(text, "where tasks are submitted") != NULL;
}

static void call_all(const tacit_launch *k)
{
    calls *c = *(calls *const *)k->args;
    int out[ITEMS];
    const void *data;
    tacit_counters counters;
    tacit_buffer *b;
    tacit_fence_ticket *ticket;
    int mapper;
    tacit_host_object *object;
    tacit_weights *weights;
    c->ctx = k->context;
    tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int) };
    tacit_task task = { .name = "inner", .range = TACIT_RANGE(ITEMS), .kernel = { .host = copy_nothing } };
    note(c, tacit_submit(c->ctx, &task), "tacit_submit");
    note(c, tacit_wait(c->ctx), "tacit_wait");
    note(c, tacit_barrier(c->ctx), "tacit_barrier");
    note(c, tacit_flush(c->ctx), "tacit_flush");
    note(c, tacit_finalize(c->ctx), "tacit_finalize");
    note(c, tacit_fence_read(c->ctx, c->buffer, TACIT_BOX_ALL, out), "tacit_fence_read");
    note(c, tacit_fence_local(c->ctx, c->buffer, out), "tacit_fence_local");
    note(c, tacit_fence(c->ctx, c->buffer, TACIT_BOX_ALL, &ticket), "tacit_fence");
    note(c, tacit_fence_get(c->ticket, &data), "tacit_fence_get");
    note(c, tacit_buffer_create(c->ctx, &desc, &b), "tacit_buffer_create");
    note(c, tacit_buffer_destroy(c->ctx, c->buffer), "tacit_buffer_destroy");
    note(c, tacit_buffer_resize(c->ctx, c->buffer, TACIT_RANGE(ITEMS + 1)), "tacit_buffer_resize");
    note(c, tacit_weights_create(c->ctx, 1, &(uint64_t){ 1 }, &weights), "tacit_weights_create");
    note(c, tacit_mapper_create(c->ctx, image, NULL, 0, 0, &mapper), "tacit_mapper_create");
    note(c, tacit_host_object_create(c->ctx, &object), "tacit_host_object_create");
    note(c, tacit_host_object_fence(c->ctx, NULL, NULL), "tacit_host_object_fence");
    note(c, tacit_get_counters(c->ctx, &counters), "tacit_get_counters");
    c->asked = tacit_node(c->ctx) == 0 && tacit_num_nodes(c->ctx) == 1 && !tacit_is_dry_run(c->ctx);
    for (int i = 0; i < ITEMS; i++) {
        TACIT_AT1(int, k->view[0], i) = i;
    }
}

static void call_from(const tacit_config *config, tacit_on on)
{
    calls c = { 0 }, *p = &c;
    int out[ITEMS], zeros[ITEMS] = { 0 };
    const void *data;
    assert_int_equal(tacit_init(config, &c.ctx), TACIT_OK);
    tacit_context *ctx = c.ctx;
    const tacit_buffer_desc desc = {
        .name = "U", .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros
    };
    assert_int_equal(tacit_buffer_create(ctx, &desc, &c.buffer), TACIT_OK);
    assert_int_equal(tacit_fence(ctx, c.buffer, TACIT_BOX_ALL, &c.ticket), TACIT_OK);
    assert_int_equal(tacit_fence_get(c.ticket, &data), TACIT_OK);
    assert_int_equal(tacit_submit(ctx, &(tacit_task){ .name = "eager",
                                                      .on = on,
                                                      .range = TACIT_RANGE(ITEMS),
                                                      .hint.whole_chunk = true,
                                                      .kernel = { .host = call_all },
                                                      TACIT_ARGS(p),
                                                      .access = { tacit_write(c.buffer, tacit_one_to_one()) } }),
                     TACIT_OK);
    assert_int_equal(tacit_wait(ctx), TACIT_OK);
    assert_string_equal(tacit_last_error(ctx), "");
    assert_int_equal(c.made, 17);
    assert_int_equal(c.refused, c.made);
    assert_int_equal(c.named, c.made);
    assert_true(c.asked);
    assert_int_equal(tacit_fence_read(ctx, c.buffer, TACIT_BOX_ALL, out), TACIT_OK); /* the run goes on */
    assert_int_equal(out[ITEMS - 1], ITEMS - 1);
    tacit_fence_release(c.ticket);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void kernels_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TI_COUNT(modes); i++) {
        call_from(&modes[i], TACIT_ON_DEVICES);
        call_from(&modes[i], TACIT_ON_HOST);
    }
}

/* ---- a context of the kernel's own */

static void use_another(const tacit_launch *k)
{
    tacit_context *own;
    tacit_buffer *b;
    int *sum = &TACIT_AT1(int, k->view[0], 0), out[ITEMS], zeros[ITEMS] = { 0 };
    REQUIRE(tacit_init(&(tacit_config){ .threads = TACIT_THREADS_INLINE }, &own) == TACIT_OK);
    const tacit_buffer_desc desc = { .range = TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zeros };
    REQUIRE_OK(own, tacit_buffer_create(own, &desc, &b));
    REQUIRE_OK(own, tacit_submit(own, &(tacit_task){ .range = TACIT_RANGE(ITEMS),
                                                     .kernel = { .host = copy_nothing },
                                                     .access = { tacit_update(b, tacit_one_to_one()) } }));
    REQUIRE_OK(own, tacit_fence_read(own, b, TACIT_BOX_ALL, out));
    REQUIRE_OK(own, tacit_finalize(own));
    *sum = tacit_wait(k->context) == TACIT_ERROR_STATE; /* also after kernels of the other context */
}

static void another_context_is_usable(void **state)
{
    (void)state;
    for (size_t i = 0; i < TI_COUNT(modes); i++) {
        tacit_context *ctx;
        tacit_buffer *b;
        int out;
        assert_int_equal(tacit_init(&modes[i], &ctx), TACIT_OK);
        const tacit_buffer_desc desc = { .range = TACIT_RANGE(1), .elem_size = sizeof(int) };
        assert_int_equal(tacit_buffer_create(ctx, &desc, &b), TACIT_OK);
        assert_int_equal(tacit_submit(ctx, &(tacit_task){ .name = "nested",
                                                          .range = TACIT_RANGE(1),
                                                          .kernel = { .host = use_another },
                                                          .access = { tacit_write(b, tacit_one_to_one()) } }),
                         TACIT_OK);
        assert_int_equal(tacit_fence_read(ctx, b, TACIT_BOX_ALL, &out), TACIT_OK);
        assert_int_equal(out, 1);
        assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    }
}

/* ---- two threads */

typedef struct gate {
    _Atomic int entered, open;
} gate;

static void stay(const tacit_launch *k)
{
    gate *g = *(gate *const *)k->args;
    atomic_store(&g->entered, 1);
    while (!atomic_load(&g->open)) {
        sched_yield();
    }
}

typedef struct second {
    tacit_context *ctx;
    gate *gate;
} second;

/* Comes again and again, so also while the other thread is inside tacit_wait, which can only return when the gate opens
 * or the run fails. Whoever comes second is told so. */
static void *come_second(void *user)
{
    second *s = user;
    while (!atomic_load(&s->gate->open)) {
        if (atomic_load(&s->gate->entered)) {
            tacit_submit(
                s->ctx,
                &(tacit_task){ .name = "second", .range = TACIT_RANGE(ITEMS), .kernel = { .host = copy_nothing } });
        }
        sched_yield();
    }
    return NULL;
}

static void two_threads_are_found(void **state)
{
    (void)state;
#if TI_CHECKS >= 1 && !defined(__SANITIZE_THREAD__) /* which finds the race as well */
    gate g = { 0 }, *p = &g;
    second s = { .gate = &g };
    pthread_t thread;
    assert_int_equal(tacit_init(&modes[3], &s.ctx), TACIT_OK);
    assert_int_equal(
        tacit_submit(
            s.ctx,
            &(tacit_task){ .name = "first", .range = TACIT_RANGE(1), .kernel = { .host = stay }, TACIT_ARGS(p) }),
        TACIT_OK);
    assert_int_equal(pthread_create(&thread, NULL, come_second, &s), 0);
    assert_int_equal(tacit_wait(s.ctx), TACIT_ERROR_STATE);
    assert_non_null(strstr(tacit_last_error(s.ctx), "two threads use one context at the same time"));
    atomic_store(&g.open, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(tacit_finalize(s.ctx), TACIT_ERROR_STATE);
#else
    (void)stay, (void)come_second;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_refused),
        cmocka_unit_test(another_context_is_usable),
        cmocka_unit_test(two_threads_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
