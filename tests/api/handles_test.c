/* Every call with a handle that is finalized, destroyed, released, of another context, or garbage: TACIT_ERROR_STATE
 * and a sentence, and no memory is read that is not there (the address sanitizer looks on). */
#include "api/context.h"
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { N = 16, MANY = 3000 };

static const int zeros[N];

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void image(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)range, (void)user;
    tacit_region_add(out, *chunk);
}

static void combine(void *into, const void *from, size_t n, const void *user)
{
    (void)into, (void)from, (void)n, (void)user;
}

static tacit_context *start(void)
{
    tacit_context *ctx;
    assert_int_equal(tacit_init(&(tacit_config){ .workers = 2 }, &ctx), TACIT_OK);
    return ctx;
}

static tacit_buffer *create(tacit_context *ctx, const char *name)
{
    tacit_buffer *b;
    const tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(N), .elem_size = sizeof(int), .init = zeros };
    assert_int_equal(tacit_buffer_create(ctx, &desc, &b), TACIT_OK);
    return b;
}

static tacit_status use(tacit_context *ctx, tacit_buffer *b)
{
    return tacit_submit(ctx, &(tacit_task){ .name = "use",
                                            .range = TACIT_RANGE(N),
                                            .kernel = { .host = nothing },
                                            .access = { tacit_update(b, tacit_one_to_one()) } });
}

static void says(const char *text, const char *words)
{
    char word[200];
    while (*words) {
        size_t n = strcspn(words, "|");
        snprintf(word, sizeof(word), "%.*s", (int)n, words);
        if (!strstr(text, word)) {
            fail_msg("'%s' is not in: %s", word, text);
        }
        words += n + (words[n] == '|');
    }
}

/* ---- contexts */

static void refused(tacit_context *ctx, tacit_status status, const char *who)
{
    assert_int_equal(status, TACIT_ERROR_STATE);
    says(tacit_last_error(ctx), who);
    says(tacit_last_error(ctx), "the context is finalized, or is not one that tacit_init gave");
    assert_string_equal(tacit_last_error(ctx), tacit_last_error(NULL));
}

/* Every call that takes a context. */
static void call_everything(tacit_context *ctx, tacit_buffer *b)
{
    int out[N], handle = -7, node = -7;
    tacit_op op;
    tacit_buffer *made = NULL;
    tacit_fence_ticket *ticket = NULL;
    tacit_host_object *object = NULL;
    tacit_weights *weights = NULL;
    tacit_prepared *prepared = NULL;
    const uint64_t weight = 1;
    tacit_counters counters;
    const tacit_buffer_desc desc = { .name = "x", .range = TACIT_RANGE(N), .elem_size = 4 };
    const tacit_op_desc od = { .combine = combine, .identity = zeros, .elem_size = 4 };
    const tacit_distribution distribution = { .kind = TACIT_DISTRIBUTE_BLOCK };
    refused(ctx, use(ctx, b), "tacit_submit: ");
    refused(ctx, tacit_submit(ctx, NULL), "tacit_submit: ");
    refused(ctx, tacit_prepare(ctx, &(tacit_task){ .name = "x" }, &prepared), "tacit_prepare: ");
    refused(ctx, tacit_start(ctx, prepared, NULL), "tacit_start: ");
    refused(ctx, tacit_prepared_destroy(ctx, prepared), "tacit_prepared_destroy: ");
    refused(ctx, tacit_wait(ctx), "tacit_wait: ");
    refused(ctx, tacit_finalize(ctx), "tacit_finalize: ");
    refused(ctx, tacit_buffer_create(ctx, &desc, &made), "tacit_buffer_create: ");
    refused(ctx, tacit_buffer_destroy(ctx, b), "tacit_buffer_destroy: ");
    refused(ctx, tacit_buffer_destroy(ctx, NULL), "tacit_buffer_destroy: ");
    refused(ctx, tacit_fence_read(ctx, b, TACIT_BOX_ALL, out), "tacit_fence_read: ");
    refused(ctx, tacit_fence_local(ctx, b, out), "tacit_fence_local: ");
    refused(ctx, tacit_fence(ctx, b, TACIT_BOX_ALL, &ticket), "tacit_fence: ");
    refused(ctx, tacit_mapper_create(ctx, image, NULL, 0, 0, &handle), "tacit_mapper_create: ");
    refused(ctx, tacit_op_create(ctx, &od, &op), "tacit_op_create: ");
    refused(ctx, tacit_buffer_resize(ctx, b, TACIT_RANGE(N)), "tacit_buffer_resize: ");
    refused(ctx, tacit_weights_create(ctx, 1, &weight, &weights), "tacit_weights_create: ");
    refused(ctx, tacit_weights_destroy(ctx, weights), "tacit_weights_destroy: ");
    refused(ctx, tacit_host_object_create(ctx, &object), "tacit_host_object_create: ");
    refused(ctx, tacit_host_object_destroy(ctx, object), "tacit_host_object_destroy: ");
    refused(ctx, tacit_distribution_local(ctx, &distribution, TACIT_RANGE(N), 0, NULL, NULL),
            "tacit_distribution_local: ");
    refused(ctx, tacit_distribution_owner(ctx, &distribution, TACIT_RANGE(N), 0, 0, 0, &node),
            "tacit_distribution_owner: ");
    refused(ctx, tacit_get_counters(ctx, &counters), "tacit_get_counters: ");
    assert_int_equal(tacit_node(ctx), -1);
    assert_int_equal(tacit_num_nodes(ctx), -1);
    assert_int_equal(tacit_workers(ctx), -1);
    assert_false(tacit_is_dry_run(ctx));
    assert_true(!made && !ticket && !object && !prepared && handle == -7 && node == -7);
}

static void after_finalize(void **state)
{
    (void)state;
    tacit_context *ctx = start(), *other = start();
    tacit_buffer *b = create(ctx, "b");
    assert_int_equal(use(ctx, b), TACIT_OK);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    call_everything(ctx, b);
    tacit_context *later = start(); /* is another one, not the old one come back */
    assert_ptr_not_equal(later, ctx);
    call_everything(ctx, b);
    assert_int_equal(use(other, b), TACIT_ERROR_STATE);
    says(tacit_last_error(other),
         "task 'use', access 0: the buffer was destroyed some time ago, also by tacit_finalize");
    assert_int_equal(tacit_finalize(later), TACIT_OK);
    assert_int_equal(tacit_finalize(other), TACIT_OK);
}

static void garbage_as_a_context(void **state)
{
    (void)state;
    _Alignas(16) char on_stack[1024];
    memset(on_stack, 0x5a, sizeof(on_stack));
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, "b");
    call_everything((tacit_context *)(uintptr_t)16, b);
    call_everything((tacit_context *)(void *)on_stack, b);
    call_everything((tacit_context *)(void *)b, b);
    call_everything((tacit_context *)(void *)((char *)ctx + 16), b);
    assert_int_equal(use(ctx, b), TACIT_OK);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void a_null_context(void **state)
{
    (void)state;
    assert_int_equal(tacit_wait(NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(NULL), "tacit_wait: the context is NULL; pass the one that tacit_init gave");
    assert_int_equal(tacit_finalize(NULL), TACIT_OK);
    assert_int_equal(tacit_node(NULL), -1);
}

/* ---- buffers */

/* Every call that takes a buffer. */
static void use_buffer(tacit_context *ctx, tacit_buffer *b, const char *words)
{
    int out[N];
    tacit_fence_ticket *ticket = NULL;
    assert_int_equal(use(ctx, b), TACIT_ERROR_STATE);
    says(tacit_last_error(ctx), "task 'use', access 0: ");
    says(tacit_last_error(ctx), words);
    assert_int_equal(tacit_fence_read(ctx, b, TACIT_BOX_ALL, out), TACIT_ERROR_STATE);
    says(tacit_last_error(ctx), "tacit_fence_read: ");
    says(tacit_last_error(ctx), words);
    assert_int_equal(tacit_fence(ctx, b, TACIT_BOX_ALL, &ticket), TACIT_ERROR_STATE);
    says(tacit_last_error(ctx), "tacit_fence: ");
    says(tacit_last_error(ctx), words);
    assert_int_equal(tacit_fence_local(ctx, b, out), TACIT_ERROR_STATE);
    says(tacit_last_error(ctx), "tacit_fence_local: ");
    says(tacit_last_error(ctx), words);
    assert_int_equal(tacit_buffer_destroy(ctx, b), TACIT_ERROR_STATE);
    says(tacit_last_error(ctx), "tacit_buffer_destroy: ");
    says(tacit_last_error(ctx), words);
    assert_null(ticket);
}

static void destroyed_buffers(void **state)
{
    (void)state;
    static const char long_gone[] =
        "the buffer was destroyed some time ago, also by tacit_finalize, or is not one that "
        "tacit_buffer_create gave";
    tacit_context *ctx = start();
    tacit_buffer *kept = create(ctx, "kept"), *b = create(ctx, "gone");
    assert_int_equal(use(ctx, b), TACIT_OK);
    assert_int_equal(tacit_buffer_destroy(ctx, b), TACIT_OK);
    use_buffer(ctx, b, "buffer 'gone' is destroyed already; destroy it after the last call that names it");
    assert_int_equal(tacit_wait(ctx), TACIT_OK); /* now it is buried */
    use_buffer(ctx, b, long_gone);
    for (int i = 0; i < 100; i++) { /* others come and go, and do not take its place */
        tacit_buffer *other = create(ctx, "other");
        assert_ptr_not_equal(other, b);
        use_buffer(ctx, b, long_gone);
        assert_int_equal(tacit_buffer_destroy(ctx, other), TACIT_OK);
        assert_int_equal(tacit_wait(ctx), TACIT_OK);
    }
    assert_int_equal(use(ctx, kept), TACIT_OK);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

static void garbage_as_a_buffer(void **state)
{
    (void)state;
    _Alignas(16) char on_stack[1024];
    memset(on_stack, 0x5a, sizeof(on_stack));
    tacit_context *ctx = start(), *other = start();
    tacit_buffer *b = create(ctx, "b"), *foreign = create(other, "foreign");
    use_buffer(ctx, (tacit_buffer *)(uintptr_t)8, "is not one that tacit_buffer_create gave");
    use_buffer(ctx, (tacit_buffer *)(void *)on_stack, "is not one that tacit_buffer_create gave");
    use_buffer(ctx, (tacit_buffer *)(void *)ctx, "is not one that tacit_buffer_create gave");
    use_buffer(ctx, (tacit_buffer *)(void *)((char *)b + 1), "is not one that tacit_buffer_create gave");
    use_buffer(ctx, foreign, "buffer 'foreign' belongs to another context; create one here");
    assert_int_equal(use(ctx, b), TACIT_OK);
    assert_int_equal(tacit_finalize(other), TACIT_OK);
    use_buffer(ctx, foreign, "destroyed some time ago");
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* Handles are used again in the end: a program that makes and destroys buffers for ever needs no more memory. */
static void memory_is_bounded(void **state)
{
    (void)state;
    tacit_context *ctx = start();
    uint64_t early = 0;
    for (int i = 0; i < MANY; i++) {
        tacit_buffer *b = create(ctx, "b");
        assert_int_equal(use(ctx, b), TACIT_OK);
        assert_int_equal(tacit_buffer_destroy(ctx, b), TACIT_OK);
        if (i % 100 == 99) {
            assert_int_equal(tacit_wait(ctx), TACIT_OK);
        }
        early = i == MANY / 2 ? ti_alloc_live() : early;
    }
    assert_true(ti_alloc_live() <= early + early / 8);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* ---- tickets and host objects */

static void tickets(void **state)
{
    (void)state;
    tacit_context *ctx = start();
    tacit_buffer *b = create(ctx, "b");
    tacit_fence_ticket *ticket, *late;
    const void *data = NULL;
    assert_int_equal(tacit_fence(ctx, b, TACIT_BOX_ALL, &ticket), TACIT_OK);
    assert_int_equal(tacit_fence(ctx, b, TACIT_BOX_ALL, &late), TACIT_OK);
    assert_int_equal(tacit_fence_get(ticket, &data), TACIT_OK);
    assert_memory_equal(data, zeros, sizeof(zeros));
    tacit_fence_release(ticket);
    data = NULL;
    assert_int_equal(tacit_fence_get(ticket, &data), TACIT_ERROR_STATE);
    says(tacit_last_error(NULL), "tacit_fence_get: the ticket is released, or is not one that tacit_fence gave");
    tacit_fence_release(ticket); /* prints an error, and does nothing */
    tacit_fence_release((tacit_fence_ticket *)(void *)b);
    assert_int_equal(tacit_fence_get((tacit_fence_ticket *)(uintptr_t)4, &data), TACIT_ERROR_STATE);
    assert_int_equal(tacit_fence_get(NULL, &data), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(NULL), "tacit_fence_get: the ticket is NULL");
    assert_int_equal(tacit_fence_get(late, NULL), TACIT_ERROR_ARGUMENT);
    says(tacit_last_error(NULL), "tacit_fence_get: data is NULL");
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    assert_int_equal(tacit_fence_get(late, &data), TACIT_ERROR_STATE);
    says(tacit_last_error(NULL), "tacit_fence_get: the ticket's context is finalized; get the values before");
    assert_null(data);
    tacit_fence_release(late); /* its memory is freed even now */
    assert_int_equal(tacit_fence_get(late, &data), TACIT_ERROR_STATE);
}

static void host_objects(void **state)
{
    (void)state;
    tacit_context *ctx = start(), *other = start();
    tacit_host_object *object;
    assert_int_equal(tacit_host_object_create(ctx, &object), TACIT_OK);
    tacit_task t = { .name = "file",
                     .range = TACIT_RANGE(1),
                     .kernel = { .host = nothing },
                     .on = TACIT_ON_HOST,
                     .host_object = { object } };
    assert_int_equal(tacit_submit(ctx, &t), TACIT_OK);
    assert_int_equal(tacit_submit(other, &t), TACIT_ERROR_STATE);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    assert_int_equal(tacit_submit(other, &t), TACIT_ERROR_STATE);
    says(tacit_last_error(other), "task 'file', host object 0");
    assert_int_equal(tacit_host_object_destroy(other, object), TACIT_ERROR_STATE);
    t.host_object[0] = (tacit_host_object *)(uintptr_t)8;
    assert_int_equal(tacit_submit(other, &t), TACIT_ERROR_STATE);
    assert_int_equal(tacit_finalize(other), TACIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_finalize),
        cmocka_unit_test(garbage_as_a_context),
        cmocka_unit_test(a_null_context),
        cmocka_unit_test(destroyed_buffers),
        cmocka_unit_test(garbage_as_a_buffer),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(tickets),
        cmocka_unit_test(host_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
