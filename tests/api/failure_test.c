/* A kernel that fails, and what becomes of the run: on one node in every thread mode, and on several nodes of which
 * one fails. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 4, FAILING = 2, ELEMENTS = 64 };

static void fail_at_40(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        if (i == 40) {
            tacit_kernel_fail(k, "element %zu is not to my liking", i);
            return;
        }
        TACIT_AT1(int, k->view[0], i) = (int)i;
    }
}

static void copy(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        TACIT_AT1(int, k->view[1], i) = TACIT_GET1(int, k->view[0], i);
    }
}

/* Submits steps until an error comes back; returns it. */
static tacit_status run_until_error(tacit_context *ctx)
{
    tacit_buffer *a, *b;
    int zeros[ELEMENTS] = { 0 }, out[ELEMENTS];
    tacit_buffer_desc desc = { .name = "A", .range = TACIT_RANGE(ELEMENTS), .elem_size = sizeof(int), .init = zeros };
    tacit_status status = tacit_buffer_create(ctx, &desc, &a);
    desc.name = "B";
    status = status ? status : tacit_buffer_create(ctx, &desc, &b);
    for (int step = 0; step < 1000 && status == TACIT_OK; step++) {
        status = tacit_submit(ctx, &(tacit_task){ .name = "picky",
                                                  .range = TACIT_RANGE(ELEMENTS),
                                                  .kernel = { .host = step == 3 ? fail_at_40 : copy },
                                                  .access = { tacit_update(a, tacit_one_to_one()),
                                                              tacit_write(b, tacit_one_to_one()) } });
        status = status ? status : tacit_fence_read(ctx, b, TACIT_BOX_ALL, out);
    }
    return status;
}

static void expect_failure(tacit_context *ctx, tacit_status status)
{
    REQUIRE(status == TACIT_ERROR_KERNEL);
    REQUIRE(strstr(tacit_last_error(ctx), "picky") && strstr(tacit_last_error(ctx), "element 40 is not to my liking"));
    REQUIRE(tacit_wait(ctx) == TACIT_ERROR_KERNEL); /* and so does every later call */
}

static void one_node(const tacit_config *config)
{
    tacit_context *ctx;
    assert_int_equal(tacit_init(config, &ctx), TACIT_OK);
    expect_failure(ctx, run_until_error(ctx));
    assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_KERNEL);
}

static void inline_mode(void **state)
{
    (void)state;
    one_node(&(tacit_config){ .threads = TACIT_THREADS_INLINE });
}

static void shared_mode(void **state)
{
    (void)state;
    one_node(&(tacit_config){ .workers = 3, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED });
}

static void thread_mode(void **state)
{
    (void)state;
    one_node(&(tacit_config){ .workers = 2, .progress = TACIT_PROGRESS_THREAD });
}

/* ---- several nodes: the others hear of it */

static void *member(void *user)
{
    const cluster_member *self = user;
    tacit_context *ctx;
    tacit_config config = cluster_config(self->cluster->config);
    REQUIRE(ti_context_create(&config, local_comm_create(self->hub, self->node), &ctx) == TACIT_OK);
    tacit_status status = run_until_error(ctx);
    if (self->node == FAILING) {
        expect_failure(ctx, status);
    } else {
        REQUIRE(status == TACIT_ERROR_NETWORK);
        REQUIRE(strstr(tacit_last_error(ctx), "node 2 ended the job") &&
                strstr(tacit_last_error(ctx), "not to my liking"));
    }
    REQUIRE(tacit_finalize(ctx) == status);
    return NULL;
}

static void on_several_nodes(const tacit_config *config)
{
    cluster c = { .nodes = NODES, .config = config };
    cluster_member m[NODES];
    local_hub *hub = local_hub_create(NODES, 1024, 1 << 20, 0);
    for (int i = 0; i < NODES; i++) {
        m[i] = (cluster_member){ .cluster = &c, .hub = hub, .node = i };
        REQUIRE(pthread_create(&m[i].thread, NULL, member, &m[i]) == 0);
    }
    for (int i = 0; i < NODES; i++) {
        pthread_join(m[i].thread, NULL);
    }
    local_hub_destroy(hub);
}

static void several_nodes(void **state)
{
    (void)state;
    on_several_nodes(&(tacit_config){ .threads = TACIT_THREADS_INLINE });
    on_several_nodes(&(tacit_config){ .workers = 2, .threads = TACIT_THREADS_ON, .progress = TACIT_PROGRESS_SHARED });
    on_several_nodes(&(tacit_config){ .workers = 2, .progress = TACIT_PROGRESS_THREAD });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inline_mode),
        cmocka_unit_test(shared_mode),
        cmocka_unit_test(thread_mode),
        cmocka_unit_test(several_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
