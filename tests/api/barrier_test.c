/* tacit_barrier: returns nowhere before all nodes have executed what was submitted before. tacit_wait may. */
#include "api/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

enum { ROUNDS = 4, MOST_NODES = 4 };

static _Atomic int ran;    /* kernels so far, on all nodes */
static _Atomic int passed; /* nodes whose barrier has returned */
static _Atomic int early;  /* kernels that saw one of their own round */

/* On the last node: looks for a while whether somebody goes on without it. */
static void linger(const tacit_launch *k)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    const int *round = k->args;
    for (int i = 0; i < 20; i++) {
        nanosleep(&pause, NULL);
        atomic_fetch_add(&early, atomic_load(&passed) > *round * k->num_nodes);
    }
    atomic_fetch_add(&ran, 1);
}

static void program(tacit_context *ctx, void *user)
{
    (void)user;
    int nodes = tacit_num_nodes(ctx);
    for (int round = 0; round < ROUNDS; round++) {
        const tacit_task lingering = { .name = "linger",
                                       .range = TACIT_RANGE(1),
                                       .kernel = { .host = linger },
                                       .args = &round,
                                       .args_size = sizeof(round),
                                       .place = tacit_place_node(nodes - 1) };
        REQUIRE_OK(ctx, tacit_submit(ctx, &lingering));
        REQUIRE_OK(ctx, tacit_barrier(ctx));
        REQUIRE(atomic_load(&ran) > round);
        atomic_fetch_add(&passed, 1);
    }
}

static void all_nodes_meet(void **state)
{
    (void)state;
    static const tacit_config configs[] = {
        { .threads = TACIT_THREADS_INLINE },
        { .threads = TACIT_THREADS_ON, .workers = 2, .progress = TACIT_PROGRESS_SHARED },
        { .threads = TACIT_THREADS_ON, .workers = 1, .progress = TACIT_PROGRESS_THREAD },
    };
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        for (int nodes = 1; nodes <= MOST_NODES; nodes += 1 + (nodes == 2)) {
            atomic_store(&ran, 0);
            atomic_store(&passed, 0);
            cluster_run(&(cluster){ .nodes = nodes, .config = &configs[i], .shake = i, .program = program });
            assert_int_equal(atomic_load(&ran), ROUNDS);
            assert_int_equal(atomic_load(&early), 0);
        }
    }
}

static void a_context_is_needed(void **state)
{
    (void)state;
    assert_int_equal(tacit_barrier(NULL), TACIT_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_nodes_meet), cmocka_unit_test(a_context_is_needed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
