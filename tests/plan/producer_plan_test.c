/* Forwards of what was written long ago: producers that a horizon has passed become one, and the versions tell apart
 * who has what. So a task has few forwards, finds the collectives all the same, and nothing grows with the length of
 * the run. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "plan/task/producer.h"
#include "plan_expect.h"

enum { A, B, NODES = 4, WIDTH = 16 };

/* There is a horizon after every second row that is written. */
static void start(plan *p, int collectives, size_t rows)
{
    gen_buffer list[] = { plan_buffer(tacit_range2(rows, WIDTH), false), plan_buffer(tacit_range1(WIDTH), true) };
    plan_start(p, &(plan_setup){ .nodes = NODES, .only = -1, .collectives = collectives, .horizon_step = 2 }, list, 2);
}

/* Every node writes its part of a row, for which it looks at its part of the row before. */
static void write_row(plan *p, size_t row, const char *name)
{
    tacit_mapper part = tacit_components(tacit_span(row, row + 1), tacit_dim(0), tacit_full());
    gen_task task = { .name = name, .range = tacit_range1(WIDTH), .access = { plan_write(A, part) } };
    if (row > 0) {
        task.access[1] = plan_read(A, tacit_components(tacit_span(row - 1, row), tacit_dim(0), tacit_full()));
    }
    plan_task(p, task);
}

/* All nodes read columns of the first rows. */
static void read_columns(plan *p, size_t rows, size_t first, size_t end)
{
    tacit_mapper part = tacit_components(tacit_span(0, rows), tacit_span(first, end), tacit_full());
    plan_task(p, (gen_task){ .name = "R", .range = tacit_range1(WIDTH), .access = { plan_read(A, part) } });
}

/* With lookahead a read of parts is held until its window closes. */
static void close_window(plan *p)
{
    if (p->node[0].system.collectives == TI_COLLECTIVES_LOOKAHEAD) {
        plan_fence(p, B, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
    }
}

static void expect_read(const plan *p, int node, const char *text)
{
    char whole[1024];
    bool held = p->node[node].system.collectives == TI_COLLECTIVES_LOOKAHEAD;
    snprintf(whole, sizeof(whole), "%s%s", text, held ? "; fence [0,1)" : "");
    expect(p, node, whole);
}

/* What the task graph holds beside its trackers. */
static size_t producers_of(const plan *p, int node)
{
    return ti_task_graph_all_entries(p->node[node].tasks) - ti_task_graph_entries(p->node[node].tasks);
}

static void each_source_is_a_collective(void **state)
{
    (void)state;
    for (int mode = TI_COLLECTIVES_DISCOVER; mode <= TI_COLLECTIVES_LOOKAHEAD; mode++) {
        plan p;
        start(&p, mode, 6);
        for (size_t row = 0; row < 6; row++) {
            write_row(&p, row, row % 2 ? "odd" : "even");
        }
        assert_int_equal(producers_of(&p, 1), 6);
        read_columns(&p, 6, 0, 4); /* they have a producer each, and a forward each */
        close_window(&p);
        expect_read(&p, 0,
                    "broadcast from 0 A [0,1)x[0,4) give [0,1)x[0,4); broadcast from 0 A [1,2)x[0,4) give [1,2)x[0,4); "
                    "broadcast from 0 A [2,3)x[0,4) give [2,3)x[0,4); broadcast from 0 A [3,4)x[0,4) give [3,4)x[0,4); "
                    "broadcast from 0 A [4,5)x[0,4) give [4,5)x[0,4); broadcast from 0 A [5,6)x[0,4) give [5,6)x[0,4); "
                    "execute [0,4)");
        assert_true(producers_of(&p, 1) <= 2); /* from now on one forward, which the rows divide */
        read_columns(&p, 2, 8, 16);
        close_window(&p);
        expect_read(
            &p, 0,
            "all-gather A [0,1)x[8,16) get [0,1)x[8,16); all-gather A [1,2)x[8,16) get [1,2)x[8,16); execute [0,4)");
        expect_read(&p, 2,
                    "all-gather A [0,1)x[8,16) give [0,1)x[8,12) get [0,1)x[12,16); "
                    "all-gather A [1,2)x[8,16) give [1,2)x[8,12) get [1,2)x[12,16); execute [8,12)");
        expect_verdict(&p, TI_VERDICT_COLLECTIVE);
        read_columns(&p, 2, 0, 16); /* all there is, so it is not held; the rest of it is new to others than node 1 */
        expect(
            &p, 3,
            "broadcast from 1 A [0,1)x[4,8) get [0,1)x[4,8); broadcast from 1 A [1,2)x[4,8) get [1,2)x[4,8); execute [12,16)");
        read_columns(&p, 2, 0, 16); /* of which nothing is new */
        expect(&p, 3, "execute [12,16)");
        expect_verdict(&p, mode == TI_COLLECTIVES_DISCOVER ? TI_VERDICT_EARLIER : TI_VERDICT_CAME);
        plan_fini(&p);
    }
}

static void what_is_written_again_has_a_producer_again(void **state)
{
    (void)state;
    plan p;
    start(&p, TI_COLLECTIVES_LOOKAHEAD, 6);
    for (size_t row = 0; row < 6; row++) {
        write_row(&p, row, "W");
    }
    read_columns(&p, 6, 0, 16);
    write_row(&p, 3, "again");
    read_columns(&p, 6, 0, 16);
    expect(&p, 1, "all-gather A [3,4)x[0,16) give [3,4)x[4,8) get [3,4)x[0,4)+[3,4)x[8,16); execute [4,8)");
    const ti_explain_edge *edge = plan_edge(&p, "R", "A");
    assert_string_equal(edge->producer, "again");
    assert_string_equal(edge->region, "[3,4)x[0,16)");
    plan_fini(&p);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) {
        count++;
    }
    return count;
}

/* Sources are told apart up to a number; what the others have goes by messages. Node 0 explains, which makes no
 * difference. */
static void very_many_sources(void **state)
{
    (void)state;
    enum { ROWS = 70, APART = 64 };
    plan p;
    start(&p, TI_COLLECTIVES_LOOKAHEAD, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        write_row(&p, row, "W");
    }
    read_columns(&p, ROWS - 2, 0, 4);
    close_window(&p);
    read_columns(&p, 3, 0, 16); /* so that there is something that stays */
    close_window(&p);
    read_columns(&p, ROWS, 8, 16);
    close_window(&p);
    for (int node = 0; node < NODES; node++) {
        assert_int_equal(count_of(plan_text(&p, node), "all-gather"),
                         APART - 1 + 2); /* two rows have producers of their own */
        assert_true(count_of(plan_text(&p, node), "receive") > 0);
    }
    plan_fini(&p);
}

/* The report keeps names apart as far as there are few, and changes no plan: the first node reports, the others do
 * not. */
static void names_are_kept(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    plan p;
    char name[ROWS][8];
    uint64_t bytes = 0;
    start(&p, TI_COLLECTIVES_LOOKAHEAD, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        snprintf(name[row], sizeof(name[row]), "W%zu", row);
        write_row(&p, row, name[row]);
    }
    read_columns(&p, ROWS, 0, 1);
    read_columns(&p, ROWS, 1, 16);
    close_window(&p);
    assert_true(producers_of(&p, 0) > producers_of(&p, 1));
    assert_true(producers_of(&p, 0) <= 40);
    bool others = false;
    for (size_t i = 0; i < ti_explain_rows(p.explain); i++) {
        uint64_t times;
        const ti_explain_edge *edge = ti_explain_row(p.explain, i, &times);
        bytes += strcmp(edge->consumer, "R") == 0 ? edge->bytes : 0;
        others |= strcmp(edge->producer, "(earlier tasks)") == 0;
    }
    assert_true(others);
    assert_int_equal(bytes, ROWS * WIDTH * 8);
    plan_fini(&p);
}

static void what_nobody_reads_is_bounded(void **state)
{
    (void)state;
    enum { BOUND = 64, WRITES = 10 * BOUND };
    ti_producers ps;
    ti_producers_init(&ps, NULL);
    ps.bound = BOUND;
    for (int64_t i = 0; i < WRITES; i++) {
        ti_producer p = { .task = (uint64_t)i + 1, .box = { { i, 0, 0 }, { i + 1, 1, 1 } } };
        ti_producers_write(&ps, &p, 0, (uint64_t)i / 10 * 10); /* a horizon passes ten at once */
        assert_true(ps.map.count <= BOUND + 11);
    }
    assert_int_equal(ps.merged_volume + (int64_t)ps.listed, WRITES);
    assert_true(ps.listed + ps.merged.count <= BOUND + 12);
    ti_producers_fini(&ps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_source_is_a_collective),
        cmocka_unit_test(what_is_written_again_has_a_producer_again),
        cmocka_unit_test(very_many_sources),
        cmocka_unit_test(names_are_kept),
        cmocka_unit_test(what_nobody_reads_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
