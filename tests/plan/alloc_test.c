/* Planning calls malloc only until it has seen a loop for a while, then never: every pattern of the benchmarks, on
 * one node and on many.
 *
 * Counted are tacit's own calls (base/alloc.h) and, with glibc and without sanitizers, all calls of malloc and its
 * relatives in the process: qsort of the C library, for one, may call it behind our back. */
#include "planning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 1
static _Atomic uint64_t malloc_calls;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);

void *malloc(size_t size)
{
    malloc_calls++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    malloc_calls++;
    return __libc_calloc(n, size);
}

void *realloc(void *ptr, size_t size)
{
    malloc_calls++;
    return __libc_realloc(ptr, size);
}
#else
#define COUNTS_MALLOC 0
static const uint64_t malloc_calls = 0;
#endif

/* Rounds come more than twice before anything is counted: what comes for the second time is kept. */
enum { WARM_UP = 4400, MEASURED = 1000, ROUND = 400, PER_BLOCK = 4 };

static void plan_tasks(planning *p, int tasks)
{
    uint64_t ns[PLANNING_STAGES] = { 0 };
    for (int i = 0; i < tasks; i += PER_BLOCK) {
        planning_block(p, PER_BLOCK, ns);
    }
}

static void check(const pattern *what, int nodes, int node, int collectives)
{
    planning p;
    uint64_t ns[PLANNING_STAGES] = { 0 };
    const planning_options options = { .pattern = what,
                                       .nodes = nodes,
                                       .node = node,
                                       .collectives = collectives,
                                       .horizon_front = 64,
                                       .tasks = what->grows ? WARM_UP + MEASURED : ROUND };
    planning_open(&p, &options, ns);
    plan_tasks(&p, WARM_UP);
    uint64_t own = ti_alloc_calls(), all = malloc_calls;
    plan_tasks(&p, MEASURED);
    own = ti_alloc_calls() - own;
    all = malloc_calls - all;
    planning_close(&p);
    /* Where tasks differ, lists of readers reach their lengths one after the other. */
    uint64_t allowed = what->submit ? MEASURED / 20 : 0;
    if (own > allowed || all > allowed) {
        fail_msg("%s, node %d of %d, collectives %d: %llu allocations by tacit, %llu in all, in %d tasks", what->name,
                 node, nodes, collectives, (unsigned long long)own, (unsigned long long)all, MEASURED);
    }
}

static void no_allocation_per_task(void **state)
{
    (void)state;
    const pattern *what;
    for (size_t i = 0; (what = pattern_at(i)); i++) {
        check(what, 1, 0, 0);
        for (int mode = TACIT_COLLECTIVES_OFF; mode <= TACIT_COLLECTIVES_LOOKAHEAD; mode++) {
            check(what, 16, 9, mode);
            if (!what->all_peers && !what->submit) { /* rounds grow with the number of nodes */
                check(what, 1024, 527, mode);
            }
        }
    }
}

/* The counting itself. */
static void malloc_is_counted(void **state)
{
    (void)state;
    uint64_t before = malloc_calls;
    void *volatile block = malloc(10);
    free(block);
    assert_int_equal(malloc_calls - before, COUNTS_MALLOC);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(malloc_is_counted), cmocka_unit_test(no_allocation_per_task) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
