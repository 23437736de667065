/* How far submission may be ahead: a node's own work is what counts, and the tasks of all nodes are bounded. */
#include "exec/ahead.h"
#include "unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed;

typedef struct program {
    int nodes, length; /* tasks between horizons */
    uint64_t tasks;
    ti_ahead ahead;
} program;

/* Task number `tasks`, and a horizon where one is due. Placed on the nodes in turn, or split. */
static void submit(program *p, bool placed)
{
    const ti_shape shape = { .place = placed ? (int)(p->tasks % (uint64_t)p->nodes) : TI_PLACE_SPLIT };
    ti_ahead_note(&p->ahead, &(ti_task){ .kind = TI_TASK_EXECUTE, .shape = &shape }, 0);
    if (++p->tasks % (uint64_t)p->length == 0) {
        ti_ahead_note(&p->ahead, &(ti_task){ .kind = TI_TASK_HORIZON }, 0);
    }
}

/* How many tasks a program may submit while nothing is executed. */
static uint64_t tasks_ahead(program *p, bool placed, uint64_t executed, uint64_t horizons)
{
    uint64_t before = p->tasks;
    while (ti_ahead_is_near(&p->ahead, executed, horizons)) {
        submit(p, placed);
    }
    return p->tasks - before;
}

static void own_tasks_count(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int i = 0; i < 200; i++) {
        program p = { .nodes = (int)rng_between(&r, 1, 300), .length = (int)rng_between(&r, 1, 1024) };
        uint64_t horizons = (uint64_t)rng_between(&r, 1, 20), length = (uint64_t)p.length;
        program q = p;
        assert_int_equal(tasks_ahead(&q, false, 0, horizons), (horizons + 1) * length);
        uint64_t many = tasks_ahead(&p, true, 0, horizons), nodes = (uint64_t)p.nodes;
        assert_true(many >= (horizons + 1) * length);
        assert_true(many <= TI_AHEAD_TASKS + length || many == (horizons + 1) * length);
        bool bounded = many > TI_AHEAD_TASKS || p.ahead.points >= TI_AHEAD_POINTS;
        /* own tasks: as many as if this node were alone, but for what rounding up adds to a horizon */
        assert_true(bounded || many / nodes + 1 >= horizons * length * 9 / 10 || length < 10 * nodes);
        assert_true(many / nodes <= (horizons + 1) * length);
    }
}

/* With as much executed as there is room for, the bound holds at every moment of a long run. */
static void memory_is_bounded(void **state)
{
    (void)state;
    rng r = rng_from(seed + 1);
    for (int nodes = 1; nodes <= 1000; nodes *= 10) {
        program p = { .nodes = nodes, .length = (int)rng_between(&r, 100, 1024) };
        uint64_t executed = 0;
        for (int i = 0; i < 400; i++) {
            (void)tasks_ahead(&p, true, executed, 8);
            uint64_t ahead = p.tasks - executed * (uint64_t)p.length;
            assert_true(ahead <= (uint64_t)TI_AHEAD_TASKS + (uint64_t)p.length);
            assert_true(p.ahead.points - executed <= TI_AHEAD_POINTS);
            executed += (uint64_t)rng_between(&r, 1, (int64_t)(p.ahead.points - executed));
        }
    }
}

/* 1 600 cores on 100 nodes have more than 8 horizons of 1 024 tasks. */
static void many_nodes_have_work(void **state)
{
    (void)state;
    program p = { .nodes = 100, .length = 1024 };
    assert_true(tasks_ahead(&p, true, 0, 8) >= 40 * 1600);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_tasks_count),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(many_nodes_have_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
