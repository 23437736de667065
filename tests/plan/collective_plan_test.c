/* Which transfers become collectives: Table 2 of Knorr et al., doi 10.1007/s10766-024-00767-y, case by case, each
 * with near misses in which one condition does not hold. Commands are stated literally, with the verdict. Then the
 * same for every number of nodes up to 64, and for random built-in mappers against custom ones that cover the same. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "plan_expect.h"

/* ---- tasks W, which writes, and R, which reads */

static gen_task writer(tacit_range range, tacit_mapper mapper)
{
    return (gen_task){ .name = "W", .range = range, .access = { plan_write(0, mapper) } };
}

static gen_task reader(tacit_range range, tacit_mapper mapper)
{
    return (gen_task){ .name = "R", .range = range, .access = { plan_read(0, mapper) } };
}

static void start(plan *p, int nodes, tacit_range range, size_t buffers)
{
    gen_buffer b = plan_buffer(range, false), list[] = { b, b, b };
    plan_start(p, &(plan_setup){ .nodes = nodes, .only = -1, .collectives = TI_COLLECTIVES_DISCOVER }, list, buffers);
}

/* ---- the rows of the table */

static void all_gather(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "all-gather A [0,16) give [0,4) get [4,16); execute [0,4)");
    expect(&p, 2, "all-gather A [0,16) give [8,12) get [0,8)+[12,16); execute [8,12)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_task(&p, reader(tacit_range1(16), tacit_all())); /* it is there */
    expect(&p, 2, "execute [8,12)");
    plan_task(&p, reader(tacit_range1(16), tacit_neighborhood(1, 0, 0)));
    expect(&p, 2, "execute [8,12)");
    plan_fini(&p);
}

static void gather(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_placed(&p, 1, reader(tacit_range1(1), tacit_all()));
    expect(&p, 0, "gather to 1 A [0,16) give [0,4)");
    expect(&p, 1, "gather to 1 A [0,16) give [4,8) get [0,4)+[8,16); execute [0,1)");
    expect(&p, 3, "gather to 1 A [0,16) give [12,16)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_fini(&p);
    /* Whatever the mapper of the one node: its only chunk is all there is. */
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_placed(&p, 3, reader(tacit_range1(14), tacit_neighborhood(1, 0, 0)));
    expect(&p, 0, "gather to 3 A [0,15) give [0,4)");
    expect(&p, 3, "gather to 3 A [0,15) give [12,15) get [0,12); execute [0,14)");
    plan_fini(&p);
}

static void broadcast(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 2, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "broadcast from 2 A [0,16) get [0,16); execute [0,4)");
    expect(&p, 2, "broadcast from 2 A [0,16) give [0,16); execute [8,12)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_fini(&p);
    /* One item on one of the nodes is one node, too. */
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(1), tacit_fixed(tacit_box1(0, 16))));
    plan_task(&p, reader(tacit_range1(4), tacit_all()));
    expect(&p, 0, "broadcast from 0 A [0,16) give [0,16); execute [0,1)");
    expect(&p, 3, "broadcast from 0 A [0,16) get [0,16); execute [3,4)");
    plan_fini(&p);
}

static void scatter(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 2, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(16), tacit_one_to_one()));
    expect(&p, 0, "scatter from 2 A [0,16) get [0,4); execute [0,4)");
    expect(&p, 2, "scatter from 2 A [0,16) give [0,16); execute [8,12)");
    expect(&p, 3, "scatter from 2 A [0,16) get [12,16); execute [12,16)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_fini(&p);
}

static void all_to_all(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range2(8, 8), tacit_transposed(1, 0, 2)));
    expect(&p, 0, "all-to-all A [0,8)x[0,8) give [0,2)x[0,8) get [2,8)x[0,2); execute [0,2)x[0,8)");
    expect(&p, 1, "all-to-all A [0,8)x[0,8) give [2,4)x[0,8) get [0,2)x[2,4)+[4,8)x[2,4); execute [2,4)x[0,8)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_fini(&p);
    /* Each chunk reads columns by a mapper of its own range. */
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(8), tacit_components(tacit_full(), tacit_dim(0), tacit_full())));
    expect(&p, 3, "all-to-all A [0,8)x[0,8) give [6,8)x[0,8) get [0,6)x[6,8); execute [6,8)");
    plan_fini(&p);
}

/* Two ways to say the same: rows by items and rows by slices lie on the same nodes, so nothing moves. */
static void divided_alike(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range2(8, 6), tacit_slice(1)));
    expect(&p, 1, "execute [2,4)x[0,6)");
    expect_messages(&p, TI_VERDICT_FREE);
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(8), tacit_components(tacit_dim(0), tacit_span(2, 5), tacit_full())));
    expect_messages(&p, TI_VERDICT_FREE);
    plan_fini(&p);
    /* Near misses: another granularity, another length of the range. */
    start(&p, 2, tacit_range2(8, 8), 1);
    gen_task coarse = reader(tacit_range1(8), tacit_components(tacit_dim(0), tacit_full(), tacit_full()));
    coarse.granularity[0] = 3;
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, coarse);
    expect(&p, 0, "receive 1 A [4,6)x[0,8); execute [0,6)");
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(6), tacit_components(tacit_dim(0), tacit_full(), tacit_full())));
    expect(&p, 0, "execute [0,2)");
    expect(&p, 3, "receive 2 A [5,6)x[0,8); execute [5,6)");
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
}

/* ---- near misses */

/* Fewer producers than nodes: still an all-gather, to which some give nothing; but no gather, and no all-to-all. */
static void few_give(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p,
              writer(tacit_range1(2), tacit_components(tacit_dim_scaled(0, 8, 1, 0, 0), tacit_full(), tacit_full())));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 1, "all-gather A [0,16) give [8,16) get [0,8); execute [4,8)");
    expect(&p, 3, "all-gather A [0,16) get [0,16); execute [12,16)");
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p,
              writer(tacit_range1(2), tacit_components(tacit_dim_scaled(0, 8, 1, 0, 0), tacit_full(), tacit_full())));
    plan_placed(&p, 1, reader(tacit_range1(1), tacit_all()));
    expect(&p, 0, "send 1 A [0,8)");
    expect(&p, 1, "receive 0 A [0,8); execute [0,1)");
    expect(&p, 3, "");
    expect_messages(&p, TI_VERDICT_FEW_GIVE);
    plan_fini(&p);
    start(&p, 4, tacit_range2(2, 8), 1); /* two rows, four nodes */
    plan_task(&p, writer(tacit_range2(2, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(8), tacit_components(tacit_full(), tacit_dim(0), tacit_full())));
    expect(&p, 0,
           "send 1 A [0,1)x[2,4); send 2 A [0,1)x[4,6); send 3 A [0,1)x[6,8); receive 1 A [1,2)x[0,2); execute [0,2)");
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
}

/* Fewer consumers than nodes, but more than one. */
static void few_get(void **state)
{
    (void)state;
    plan p;
    for (int placed = 0; placed < 2; placed++) {
        start(&p, 4, tacit_range1(16), 1);
        plan_placed(&p, placed ? 3 : -1, writer(tacit_range1(16), tacit_one_to_one()));
        plan_task(&p, reader(tacit_range1(2), tacit_all()));
        expect(&p, 1,
               placed ? "receive 3 A [0,16); execute [1,2)"
                      : "send 0 A [4,8); receive 0 A [0,4); receive 2 A [8,12); receive 3 A [12,16); execute [1,2)");
        expect(&p, 2, placed ? "" : "send 0 A [8,12); send 1 A [8,12)");
        expect_messages(&p, TI_VERDICT_FEW_GET);
        plan_fini(&p);
    }
    /* A scatter of which only some get anything: the others' chunks lie beyond the buffer's part that is read. */
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 3, writer(tacit_range1(16), tacit_one_to_one()));
    gen_task coarse = reader(tacit_range1(16), tacit_one_to_one());
    coarse.granularity[0] = 8;
    plan_task(&p, coarse);
    expect(&p, 0, "receive 3 A [0,8); execute [0,8)");
    expect(&p, 2, "");
    expect_messages(&p, TI_VERDICT_FEW_GET);
    plan_fini(&p);
}

/* The consumer's mapper is neither constant nor non-overlapping. */
static void neither(void **state)
{
    (void)state;
    plan p;
    for (int placed = 0; placed < 2; placed++) {
        start(&p, 4, tacit_range1(16), 1);
        plan_placed(&p, placed ? 0 : -1, writer(tacit_range1(16), tacit_one_to_one()));
        plan_task(&p, reader(tacit_range1(16), tacit_neighborhood(1, 0, 0)));
        expect(&p, 1,
               placed ? "receive 0 A [3,9); execute [4,8)"
                      : "send 0 A [4,5); send 2 A [7,8); receive 0 A [3,4); receive 2 A [8,9); execute [4,8)");
        expect_messages(&p, TI_VERDICT_NEITHER);
        plan_fini(&p);
    }
}

/* The producer's parts overlap: which tasks must not do, so this is of planners only. */
static void overlap(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_neighborhood(1, 0, 0)));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect_messages(&p, TI_VERDICT_OVERLAP);
    plan_fini(&p);
}

/* Three nodes have read half of what two wrote and share it since then; the other half lies where it was written. */
static void mixed(void **state)
{
    (void)state;
    plan p;
    tacit_mapper eights = tacit_components(tacit_dim_scaled(0, 8, 1, 0, 0), tacit_full(), tacit_full());
    gen_task half = { .name = "H", .no_collectives = true };
    half.access[0] = plan_read(0, tacit_fixed(tacit_box1(4, 12)));
    start(&p, 4, tacit_range1(16), 1);
    half.range = tacit_range1(3);
    plan_task(&p, writer(tacit_range1(2), eights));
    plan_task(&p, half);
    expect(&p, 0, "send 1 A [4,8); send 2 A [4,8); receive 1 A [8,12); execute [0,1)");
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "send 1 A [0,4); send 2 A [0,4); send 3 A [0,4)+[4,12); receive 1 A [12,16); execute [0,4)");
    expect(&p, 1, "send 0 A [12,16); send 2 A [12,16); send 3 A [12,16); receive 0 A [0,4); execute [4,8)");
    expect(&p, 3, "receive 0 A [0,4)+[4,12); receive 1 A [12,16); execute [12,16)");
    expect_messages(&p, TI_VERDICT_MIXED);
    plan_fini(&p);
    /* All nodes have read it: what is left has one source. */
    start(&p, 4, tacit_range1(16), 1);
    half.range = tacit_range1(4);
    plan_task(&p, writer(tacit_range1(2), eights));
    plan_task(&p, half);
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "all-gather A [0,4)+[12,16) give [0,4) get [12,16); execute [0,4)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_fini(&p);
}

/* One node to one node. */
static void one_to_one(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 2, writer(tacit_range1(16), tacit_one_to_one()));
    plan_placed(&p, 0, reader(tacit_range1(16), tacit_one_to_one()));
    expect(&p, 0, "receive 2 A [0,16); execute [0,16)");
    expect_messages(&p, TI_VERDICT_ONE_TO_ONE);
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 2, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(1), tacit_all()));
    expect(&p, 0, "receive 2 A [0,16); execute [0,1)");
    expect_messages(&p, TI_VERDICT_ONE_TO_ONE);
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 2, writer(tacit_range1(16), tacit_one_to_one()));
    plan_placed(&p, 2, reader(tacit_range1(16), tacit_all()));
    expect(&p, 2, "execute [0,16)");
    expect_messages(&p, TI_VERDICT_FREE);
    plan_fini(&p);
}

/* Two partitions that are no transposition: other borders, a shift, rows to squares. */
static void partition(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    gen_task uneven = writer(tacit_range1(16), tacit_one_to_one());
    uneven.granularity[0] = 3;
    plan_task(&p, uneven); /* 6, 3, 3, 4 */
    plan_task(&p, reader(tacit_range1(16), tacit_one_to_one()));
    expect(&p, 0, "send 1 A [4,6); execute [0,4)");
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p,
              reader(tacit_range1(16), tacit_components(tacit_dim_scaled(0, 1, 1, -1, 1), tacit_full(), tacit_full())));
    expect(&p, 1, "send 0 A [4,5); receive 2 A [8,9); execute [4,8)");
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
    start(&p, 4, tacit_range2(8, 8), 1);
    gen_task squares = reader(tacit_range2(8, 8), tacit_one_to_one());
    squares.split = TACIT_SPLIT_2D;
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, squares);
    expect(&p, 0, "send 1 A [0,2)x[4,8); receive 1 A [2,4)x[0,4); execute [0,4)x[0,4)");
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
    /* A transposition of a part: not all of what was written. */
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(tacit_range2(8, 8), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range2(8, 4), tacit_transposed(1, 0, 2)));
    expect_messages(&p, TI_VERDICT_PARTITION);
    plan_fini(&p);
}

static gen_task reads_two(tacit_range range, tacit_mapper a, tacit_mapper b)
{
    gen_task two = reader(range, a);
    two.access[1] = plan_read(0, b);
    return two;
}

static tacit_mapper shifted(int64_t by)
{
    return tacit_components(tacit_dim_scaled(0, 1, 1, -by, by), tacit_full(), tacit_full());
}

static void several_reads(void **state)
{
    (void)state;
    plan p;
    /* Apart, each is a collective of its own. */
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 0, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reads_two(tacit_range1(8), tacit_one_to_one(), shifted(8)));
    expect(&p, 1, "scatter from 0 A [0,8) get [2,4); scatter from 0 A [8,16) get [10,12); execute [2,4)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    plan_fini(&p);
    /* What both want is not brought twice. */
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 0, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reads_two(tacit_range1(8), tacit_one_to_one(), shifted(4)));
    expect(&p, 1, "receive 0 A [2,4)+[6,8); execute [2,4)");
    expect_messages(&p, TI_VERDICT_SEVERAL_READS);
    plan_fini(&p);
    /* What all read comes first, and the rest as it can. */
    start(&p, 4, tacit_range1(16), 1);
    plan_placed(&p, 0, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reads_two(tacit_range1(8), tacit_one_to_one(), tacit_fixed(tacit_box1(12, 16))));
    expect(&p, 1, "broadcast from 0 A [12,16) get [12,16); scatter from 0 A [0,8) get [2,4); execute [2,4)");
    plan_placed(&p, 0, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reads_two(tacit_range1(8), tacit_neighborhood(1, 0, 0), tacit_fixed(tacit_box1(12, 16))));
    expect(&p, 1, "broadcast from 0 A [12,16) get [12,16); receive 0 A [1,5); execute [2,4)");
    expect_verdict(&p, TI_VERDICT_COLLECTIVE);
    assert_string_equal(ti_verdict_name(plan_edge(&p, "R", "A")->rest), ti_verdict_name(TI_VERDICT_NEITHER));
    plan_fini(&p);
}

/* Several parts that all read are one collective, however many they are and whether or not they overlap. */
static void several_constant_reads(void **state)
{
    (void)state;
    plan p;
    for (int alone = 0; alone <= 1; alone++) {
        gen_task r = reads_two(tacit_range1(16), tacit_fixed(tacit_box1(0, 5)), tacit_fixed(tacit_box1(9, 13)));
        r.access[2] = plan_read(0, tacit_fixed(tacit_box1(3, 7)));
        start(&p, 4, tacit_range1(16), 1);
        if (alone) {
            plan_placed(&p, 2, writer(tacit_range1(16), tacit_one_to_one()));
        } else {
            plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
        }
        plan_task(&p, r);
        expect(&p, 1,
               alone ? "broadcast from 2 A [0,7)+[9,13) get [0,7)+[9,13); execute [4,8)"
                     : "all-gather A [0,7)+[9,13) give [4,7) get [0,4)+[9,13); execute [4,8)");
        plan_fini(&p);
    }
}

/* Elimination in place: all read one row, which one node wrote. */
static void a_row_of_what_all_wrote(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 3), 1);
    plan_task(&p, writer(tacit_range2(8, 3), tacit_one_to_one()));
    for (size_t row = 0; row < 3; row++) {
        gen_task step = reader(tacit_range2(7 - row, 3), tacit_fixed(tacit_box2(row, row + 1, 0, 3)));
        step.offset[0] = row + 1;
        step.access[1] = plan_update(0, tacit_one_to_one());
        plan_task(&p, step);
        for (int i = 0; i < 4; i++) {
            const char *expected = "broadcast from 0 A ";
            assert_memory_equal(plan_text(&p, i), expected, strlen(expected));
        }
    }
    plan_fini(&p);
}

static void expect_collective(const plan *p, const char *begins)
{
    for (int i = 0; i < p->count; i++) {
        assert_memory_equal(plan_text(p, i), begins, strlen(begins));
        assert_null(strstr(plan_text(p, i), "send"));
    }
    expect_verdict(p, TI_VERDICT_COLLECTIVE);
}

/* Parts of the region were read before: they do not travel again, unless they are so few that one collective for all is
 * less. */
static void moved(void **state)
{
    (void)state;
    plan p;
    gen_buffer b = plan_buffer(tacit_range1(16), false);
    plan_start(&p, &(plan_setup){ .nodes = 4, .only = -1, .collectives = TI_COLLECTIVES_LOOKAHEAD }, &b, 1);
    gen_task first = reader(tacit_range1(16), tacit_all());
    first.no_collectives = true;
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, first);
    expect_messages(&p, TI_VERDICT_HINT);
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 1, "execute [4,8)");
    expect_verdict(&p, TI_VERDICT_CAME);
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(16), tacit_neighborhood(1, 0, 0)));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(
        &p, 0,
        "send 1 A [0,3); send 2 A [0,4); send 3 A [0,4); receive 1 A [5,8); receive 2 A [8,12); receive 3 A [12,16); execute [0,4)");
    expect_messages(&p, TI_VERDICT_EARLIER);
    plan_fini(&p);
    for (size_t halo = 1; halo <= 2; halo++) { /* an eighth of what travels, and more */
        start(&p, 4, tacit_range1(16), 1);
        gen_task first_read = reader(tacit_range1(16), tacit_neighborhood(halo, 0, 0));
        first_read.no_collectives = true; /* so that it has no forward */
        plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
        plan_task(&p, first_read);
        plan_task(&p, reader(tacit_range1(16), tacit_all()));
        if (halo == 2) {
            expect_messages(&p, TI_VERDICT_MOVED);
        } else {
            expect_collective(&p, "all-gather A");
        }
        plan_fini(&p);
    }
    /* One node has it all already, of few or of many. */
    for (int nodes = 4; nodes <= 16; nodes += 12) {
        start(&p, nodes, tacit_range1(32), 1);
        plan_task(&p, writer(tacit_range1(32), tacit_one_to_one()));
        gen_task early = reader(tacit_range1(1), tacit_all());
        early.no_collectives = true;
        plan_placed(&p, 1, early);
        plan_task(&p, reader(tacit_range1(32), tacit_all()));
        if (nodes == 4) {
            expect_messages(&p, TI_VERDICT_MOVED);
        } else {
            expect_collective(&p, "all-gather A");
        }
        plan_fini(&p);
    }
    /* What is gathered is there in part, whatever else the other nodes have. */
    start(&p, 4, tacit_range1(64), 1);
    gen_task halo = reader(tacit_range1(64), tacit_neighborhood(1, 0, 0));
    halo.no_collectives = true;
    plan_task(&p, writer(tacit_range1(64), tacit_one_to_one()));
    plan_task(&p, halo);
    plan_placed(&p, 2, reader(tacit_range1(1), tacit_all()));
    expect_collective(&p, "gather to 2 A");
    plan_fini(&p);
}

/* Several nodes have all of it, or all nodes. */
static void replicated(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(2), tacit_replicated()));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "send 2 A [0,16); execute [0,4)");
    expect_messages(&p, TI_VERDICT_REPLICATED);
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(4), tacit_replicated()));
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "execute [0,4)");
    expect_messages(&p, TI_VERDICT_CAME);
    plan_fini(&p);
}

static void off_or_unwanted(void **state)
{
    (void)state;
    plan p;
    gen_buffer b = plan_buffer(tacit_range1(16), false);
    for (int hint = 0; hint < 2; hint++) {
        plan_start(
            &p,
            &(plan_setup){ .nodes = 4, .only = -1, .collectives = hint ? TI_COLLECTIVES_DISCOVER : TI_COLLECTIVES_OFF },
            &b, 1);
        gen_task r = reader(tacit_range1(16), tacit_all());
        r.no_collectives = hint;
        plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
        plan_task(&p, r);
        expect(&p, 3,
               "send 0 A [12,16); send 1 A [12,16); send 2 A [12,16); receive 0 A [0,4); receive 1 A [4,8); "
               "receive 2 A [8,12); execute [12,16)");
        expect_messages(&p, hint ? TI_VERDICT_HINT : TI_VERDICT_OFF);
        plan_fini(&p);
    }
}

/* ---- shapes */

/* Buffers of no, one, two and three dimensions; what is strided in memory is no matter here. */
static void dimensions(void **state)
{
    (void)state;
    plan p;
    start(&p, 3, tacit_range_make(0, 1, 1, 1), 1);
    plan_placed(&p, 1, writer(tacit_range1(1), tacit_all()));
    plan_task(&p, reader(tacit_range1(3), tacit_all()));
    expect(&p, 0, "broadcast from 1 A [0,1) get [0,1); execute [0,1)");
    plan_fini(&p);
    start(&p, 2, tacit_range2(4, 4), 1);
    plan_task(&p, writer(tacit_range1(4), tacit_components(tacit_full(), tacit_dim(0), tacit_full()))); /* columns */
    plan_task(&p, reader(tacit_range1(2), tacit_all()));
    expect(&p, 1, "all-gather A [0,4)x[0,4) give [0,4)x[2,4) get [0,4)x[0,2); execute [1,2)");
    plan_fini(&p);
    start(&p, 2, tacit_range3(4, 4, 4), 1);
    plan_task(&p, writer(tacit_range3(4, 4, 4), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range3(4, 4, 4), tacit_transposed(2, 1, 0)));
    expect(&p, 0,
           "all-to-all A [0,4)x[0,4)x[0,4) give [0,2)x[0,4)x[0,4) get [2,4)x[0,4)x[0,2); execute [0,2)x[0,4)x[0,4)");
    plan_fini(&p);
    start(&p, 2, tacit_range3(4, 4, 4), 1);
    plan_placed(&p, 0, writer(tacit_range3(4, 4, 4), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(4), tacit_components(tacit_full(), tacit_full(), tacit_dim(0))));
    expect(&p, 1, "scatter from 0 A [0,4)x[0,4)x[0,4) get [0,4)x[0,4)x[2,4); execute [2,4)");
    plan_fini(&p);
}

/* What is read is a part of the buffer, or of what was written; what others wrote beside it plays no part. */
static void parts_of_buffers(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(16), tacit_fixed(tacit_box1(2, 15))));
    expect(&p, 0, "all-gather A [2,15) give [2,4) get [4,15); execute [0,4)");
    expect(&p, 3, "all-gather A [2,15) give [12,15) get [2,12); execute [12,16)");
    plan_task(&p, reader(tacit_range1(16), tacit_all())); /* the rest: of nodes 0 and 3 */
    expect(&p, 1, "all-gather A [0,2)+[15,16) get [0,2)+[15,16); execute [4,8)");
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_placed(&p, 3, writer(tacit_range1(4), tacit_one_to_one())); /* overwrites what node 0 had */
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "broadcast from 3 A [0,4) get [0,4); all-gather A [4,16) get [4,16); execute [0,4)");
    expect(&p, 3, "broadcast from 3 A [0,4) give [0,4); all-gather A [4,16) give [12,16) get [4,12); execute [12,16)");
    plan_fini(&p);
    start(&p, 4, tacit_range1(16), 1);
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, reader(tacit_range1(16), tacit_fixed(tacit_box1(4, 6)))); /* of one node only */
    expect(&p, 0, "broadcast from 1 A [4,6) get [4,6); execute [0,4)");
    plan_fini(&p);
}

/* Each buffer of a task by itself, in the order of its accesses. */
static void several_buffers(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range1(16), 3);
    gen_task w = writer(tacit_range1(16), tacit_one_to_one()), r = reader(tacit_range1(16), tacit_all());
    w.access[1] = plan_write(1, tacit_one_to_one());
    r.access[0] = plan_read(2, tacit_one_to_one());
    r.access[1] = plan_read(1, tacit_all());
    r.access[2] = plan_read(0, tacit_neighborhood(1, 0, 0));
    plan_task(&p, w);
    plan_placed(&p, 3,
                (gen_task){ .name = "V", .range = tacit_range1(16), .access = { plan_write(2, tacit_one_to_one()) } });
    plan_task(&p, r);
    expect(
        &p, 0,
        "scatter from 3 C [0,16) get [0,4); all-gather B [0,16) give [0,4) get [4,16); send 1 A [3,4); receive 1 A [4,5); execute [0,4)");
    assert_string_equal(ti_verdict_name(plan_edge(&p, "R", "C")->verdict), "collective");
    assert_int_equal(plan_edge(&p, "R", "B")->pattern, TI_PATTERN_ALL_GATHER);
    assert_string_equal(ti_verdict_name(plan_edge(&p, "R", "A")->verdict), "neither");
    plan_fini(&p);
}

/* A tree of messages leaves its result on one node; the old contents that a reduction includes are read by one. */
static void reductions(void **state)
{
    (void)state;
    plan p;
    gen_access sum = { .mode = TACIT_REDUCE, .mapper = tacit_all(), .op = tacit_sum(TACIT_UINT64) };
    gen_buffer b = plan_buffer(tacit_range1(4), false);
    plan_start(&p, &(plan_setup){ .nodes = 4, .only = -1, .collectives = TI_COLLECTIVES_DISCOVER }, &b, 1);
    plan_task(&p, (gen_task){ .name = "W", .range = tacit_range1(16), .no_collectives = true, .access = { sum } });
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 3, "broadcast from 0 A [0,4) get [0,4); execute [12,16)");
    plan_placed(&p, 2, writer(tacit_range1(4), tacit_one_to_one()));
    sum.include_old = true;
    plan_task(&p, (gen_task){ .name = "R", .range = tacit_range1(16), .access = { sum } });
    expect(&p, 0, "receive 2 A [0,4); execute [0,4); all-reduce and the old value");
    expect_messages(&p, TI_VERDICT_ONE_TO_ONE);
    plan_fini(&p);
}

/* A fence brings its box to all nodes. */
static void fences(void **state)
{
    (void)state;
    plan p;
    start(&p, 3, tacit_range1(10), 1);
    plan_task(&p, writer(tacit_range1(10), tacit_one_to_one())); /* 4, 3, 3 */
    plan_fence(&p, 0, (gen_box){ { 0, 0, 0 }, { 10, 1, 1 } });
    expect(&p, 1, "all-gather A [0,10) give [4,7) get [0,4)+[7,10); fence [0,10)");
    plan_fini(&p);
}

/* ---- any number of nodes */

static void add_range(ti_strbuf *text, const char *word, int64_t a, int64_t b)
{
    if (a < b) {
        ti_strbuf_add(text, "%s[%lld,%lld)", word, (long long)a, (long long)b);
    }
}

/* The first ones of `n` nodes get one more, if `size` is not a multiple. */
static int64_t border(int64_t size, int64_t n, int64_t i)
{
    return size / n * i + TI_MIN(i, size % n);
}

/* What node `r` of `n` does for a reader of all, of what all wrote. */
static void expect_all_gather(const plan *p, int n, int r, int64_t size)
{
    ti_strbuf text = { 0 };
    int64_t a = border(size, n, r), b = border(size, n, r + 1);
    ti_strbuf_add(&text, "all-gather A [0,%lld)", (long long)size);
    add_range(&text, " give ", a, b);
    add_range(&text, " get ", 0, a);
    add_range(&text, a > 0 ? "+" : " get ", b, size);
    add_range(&text, "; execute ", a, b);
    expect(p, r, ti_strbuf_text(&text));
    ti_strbuf_fini(&text);
}

static void expect_scatter(const plan *p, int n, int r, int root, int64_t size)
{
    ti_strbuf text = { 0 };
    int64_t a = border(size, n, r), b = border(size, n, r + 1);
    ti_strbuf_add(&text, "scatter from %d A [0,%lld)", root, (long long)size);
    add_range(&text, " give ", 0, r == root ? size : 0);
    add_range(&text, " get ", a, r == root ? a : b);
    add_range(&text, "; execute ", a, b);
    expect(p, r, ti_strbuf_text(&text));
    ti_strbuf_fini(&text);
}

/* One node has nothing to exchange; all others have the same patterns, whether the split is even or not. */
static void any_number_of_nodes(void **state)
{
    (void)state;
    for (int n = 1; n <= 64; n++) {
        int64_t size = 3 * n + n / 2;
        tacit_range range = tacit_range1((size_t)size);
        plan p;
        start(&p, n, range, 1);
        plan_task(&p, writer(range, tacit_one_to_one()));
        plan_task(&p, reader(range, tacit_all()));
        for (int r = 0; r < n && n > 1; r++) {
            expect_all_gather(&p, n, r, size);
        }
        plan_placed(&p, n / 3, writer(range, tacit_one_to_one()));
        plan_task(&p, reader(range, tacit_one_to_one()));
        for (int r = 0; r < n && n > 1; r++) {
            expect_scatter(&p, n, r, n / 3, size);
        }
        if (n == 1) {
            expect(&p, 0, "execute [0,3)");
            assert_null(plan_edge(&p, "R", "A"));
        }
        plan_fini(&p);
    }
}

/* Figures 1 and 2 of the paper: positions P are all-gathered between drift and kick, velocities V stay. */
static void nbody(void **state)
{
    (void)state;
    gen_buffer b = plan_buffer(tacit_range1(16), true), buffers[] = { b, b };
    gen_task kick = { .name = "kick",
                      .range = tacit_range1(16),
                      .access = { plan_read(0, tacit_all()), plan_update(1, tacit_one_to_one()) } };
    gen_task drift = { .name = "drift",
                       .range = tacit_range1(16),
                       .access = { plan_read(1, tacit_one_to_one()), plan_update(0, tacit_one_to_one()) } };
    for (int mode = TI_COLLECTIVES_DISCOVER; mode <= TI_COLLECTIVES_LOOKAHEAD; mode++) {
        plan p;
        plan_start(&p, &(plan_setup){ .nodes = 4, .only = -1, .collectives = mode }, buffers, 2);
        for (int i = 0; i < 6; i++) {
            plan_task(&p, kick);
            expect(&p, 0, i == 0 ? "execute [0,4)" : "all-gather A [0,16) give [0,4) get [4,16); execute [0,4)");
            plan_task(&p, drift);
            expect(&p, 0, "execute [0,4)");
        }
        uint64_t times;
        assert_int_equal(ti_explain_rows(p.explain), 4);
        for (size_t i = 0; i < 4; i++) {
            const ti_explain_edge *e = ti_explain_row(p.explain, i, &times);
            bool gathered = strcmp(e->producer, "drift") == 0 && strcmp(e->consumer, "kick") == 0;
            assert_string_equal(e->buffer, strcmp(e->producer, "drift") == 0 ? "A" : "B");
            assert_int_equal(e->verdict, gathered ? TI_VERDICT_COLLECTIVE : TI_VERDICT_FREE);
            assert_int_equal(e->messages, 0);
            assert_int_equal(times, strcmp(e->producer, "kick") == 0 && strcmp(e->consumer, "drift") == 0 ? 6 : 5);
        }
        plan_fini(&p);
    }
}

/* What lookahead has merged: the first task has the collective of both, the second one finds everything there. */
static void merged(void **state)
{
    (void)state;
    plan p;
    gen_buffer b = plan_buffer(tacit_range1(16), false);
    plan_start(&p, &(plan_setup){ .nodes = 4, .only = -1, .collectives = TI_COLLECTIVES_LOOKAHEAD }, &b, 1);
    gen_task first = reader(tacit_range1(16), tacit_neighborhood(1, 0, 0));
    first.name = "halo";
    plan_task(&p, writer(tacit_range1(16), tacit_one_to_one()));
    plan_task(&p, first);
    expect(&p, 0, "");
    plan_task(&p, reader(tacit_range1(16), tacit_all()));
    expect(&p, 0, "all-gather A [0,16) give [0,4) get [4,16); execute [0,4); execute [0,4)");
    const ti_explain_edge *halo = plan_edge(&p, "halo", "A");
    assert_int_equal(halo->verdict, TI_VERDICT_COLLECTIVE);
    assert_int_equal(halo->pattern, TI_PATTERN_ALL_GATHER);
    assert_true(halo->merged);
    assert_int_equal(halo->received, 12 * 8);
    expect_verdict(&p, TI_VERDICT_CAME);
    ti_strbuf text = { 0 };
    ti_explain_text(p.explain, &p.node[0].system, &text);
    assert_non_null(strstr(ti_strbuf_text(&text), "all-gather for several tasks"));
    assert_non_null(strstr(ti_strbuf_text(&text), "came before"));
    ti_strbuf_fini(&text);
    plan_fini(&p);
}

/* ---- custom mappers */

typedef struct likeness {
    tacit_mapper mapper;
    int dims;
} likeness;

/* A custom mapper that covers what a built-in one covers. */
static void cover(const tacit_box *chunk, const tacit_range *range, const void *user, tacit_region *out)
{
    const likeness *l = user;
    gen_program program = { .nodes = 1 };
    gen_buffer buffer = { .range = *range };
    gen_access access = { .mode = TACIT_READ, .mapper = l->mapper };
    gen_boxes boxes = { 0 };
    gen_box items;
    for (int d = 0; d < 3; d++) {
        items.min[d] = (int64_t)chunk->min[d];
        items.max[d] = (int64_t)chunk->max[d];
    }
    ti_vec_push(&program.buffer, buffer);
    gen_image(&program, &access, &items, &boxes);
    for (size_t i = 0; i < boxes.count; i++) {
        tacit_box box;
        for (int d = 0; d < 3; d++) {
            box.min[d] = (size_t)boxes.data[i].min[d];
            box.max[d] = (size_t)boxes.data[i].max[d];
        }
        tacit_region_add(out, box);
    }
    ti_vec_fini(&boxes);
    ti_vec_fini(&program.buffer);
}

/* What became of W and R on all nodes: verdict, pattern, and the commands of every node. */
static ti_verdict outcome(const gen_task *w, int place, const gen_task *r, int nodes, tacit_range range,
                          const likeness *custom, ti_strbuf *out)
{
    plan p;
    gen_buffer b = plan_buffer(range, true);
    ti_custom_mapper mappers[2];
    for (int i = 0; i < 2; i++) {
        mappers[i] = (ti_custom_mapper){
            .fn = cover, .user = (void *)(uintptr_t)&custom[i], .user_size = sizeof(likeness), .handle = i
        };
    }
    plan_start(
        &p,
        &(plan_setup){
            .nodes = nodes, .only = -1, .collectives = TI_COLLECTIVES_DISCOVER, .custom = mappers, .customs = 2 },
        &b, 1);
    plan_placed(&p, place, *w);
    plan_task(&p, *r);
    for (int i = 0; i < nodes; i++) {
        ti_strbuf_add(out, "%d: %s\n", i, plan_text(&p, i));
    }
    const ti_explain_edge *edge = plan_edge(&p, "R", "A");
    ti_verdict verdict = edge ? edge->verdict : TI_VERDICT_FREE;
    plan_fini(&p);
    return verdict;
}

static tacit_mapper random_read(gen_rng *r, int dims)
{
    static const int64_t shifts[] = { 0, 0, 0, 1, 2 };
    tacit_component c[3] = { tacit_full(), tacit_full(), tacit_full() };
    for (int d = 0; d < dims; d++) {
        int64_t choice = gen_between(r, 0, 9), lo = shifts[gen_between(r, 0, 4)];
        if (choice < 6) {
            static const int scale[][2] = { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 2, 1 }, { 1, 2 }, { 3, 2 } };
            const int *by = scale[gen_between(r, 0, 5)];
            c[d] = tacit_dim_scaled((int)gen_between(r, 0, dims - 1), by[0], by[1], lo, gen_chance(r, 50) ? -lo : lo);
        } else if (choice < 8) {
            int64_t a = gen_between(r, 0, 3);
            c[d] = tacit_span((size_t)a, (size_t)(a + gen_between(r, 1, 3)));
        }
    }
    return tacit_components(c[0], c[1], c[2]);
}

/* Built-in mappers are judged by their components, custom ones by the chunks of all nodes: the verdict and the plan
 * must be the same. Components are taken to overlap where they might: with a divisor of which the granularity is no
 * multiple, or where chunks beyond the end of the buffer touch nothing. Such cases must be rare. What is free by
 * equal mappers has no counterpart among custom ones, which are never equal to built-in ones; nor have rows and
 * columns of a grid of chunks, which are looked for among components only. */
static void custom_mappers_like_built_in_ones(void **state)
{
    (void)state;
    int collectives = 0, compared = 0, taken = 0;
    for (uint64_t seed = 1; seed <= 2500; seed++) {
        gen_rng rng = { gen_mix(seed ^ 0xc0) };
        int dims = (int)gen_between(&rng, 1, 3), nodes = (int)gen_between(&rng, 2, 7);
        size_t n = (size_t)gen_between(&rng, 7, 12);
        tacit_range range = tacit_range_make(dims, n, dims > 1 ? n : 1, dims > 2 ? n : 1);
        int place = gen_chance(&rng, 30) ? (int)gen_between(&rng, 0, nodes - 1) : -1;
        gen_task w = writer(range, tacit_one_to_one()), r = reader(range, random_read(&rng, dims));
        if (gen_chance(&rng, 30)) {
            r = reader(range, gen_chance(&rng, 50) ? tacit_all() : tacit_transposed(dims > 1, 0, 2));
        }
        r.split = dims > 1 && gen_chance(&rng, 20) ? TACIT_SPLIT_2D : TACIT_SPLIT_1D;
        if (dims > 1 && gen_chance(&rng, 30)) {
            w.access[0].mapper = tacit_transposed(1, 0, 2);
        }
        likeness alike[2] = { { w.access[0].mapper, dims }, { r.access[0].mapper, dims } };
        ti_strbuf built_in = { 0 }, custom = { 0 };
        ti_verdict expected = outcome(&w, place, &r, nodes, range, alike, &built_in);
        int64_t which = gen_between(&rng, 0, 3);
        r.access[0].mapper = which != 0 ? tacit_custom(1) : r.access[0].mapper;
        w.access[0].mapper = which < 2 ? tacit_custom(0) : w.access[0].mapper;
        ti_verdict found = outcome(&w, place, &r, nodes, range, alike, &custom);
        bool careful = expected == TI_VERDICT_NEITHER && found != expected;
        if (expected != TI_VERDICT_FREE && expected != TI_VERDICT_CAME && !careful) {
            bool alone = expected == TI_VERDICT_GROUP_GRID && found == TI_VERDICT_NEITHER;
            if ((found != expected && !alone) || strcmp(ti_strbuf_text(&built_in), ti_strbuf_text(&custom)) != 0) {
                print_error("seed %llu: built-in: %s\n%scustom: %s\n%s", (unsigned long long)seed,
                            ti_verdict_name(expected), ti_strbuf_text(&built_in), ti_verdict_name(found),
                            ti_strbuf_text(&custom));
                fail();
            }
            compared++;
            collectives += found == TI_VERDICT_COLLECTIVE;
        }
        taken += careful;
        ti_strbuf_fini(&built_in);
        ti_strbuf_fini(&custom);
    }
    assert_true(compared > 1500);
    assert_true(collectives > 1000);
    assert_true(taken < compared / 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_gather),
        cmocka_unit_test(gather),
        cmocka_unit_test(broadcast),
        cmocka_unit_test(scatter),
        cmocka_unit_test(all_to_all),
        cmocka_unit_test(divided_alike),
        cmocka_unit_test(few_give),
        cmocka_unit_test(few_get),
        cmocka_unit_test(neither),
        cmocka_unit_test(overlap),
        cmocka_unit_test(mixed),
        cmocka_unit_test(one_to_one),
        cmocka_unit_test(partition),
        cmocka_unit_test(several_reads),
        cmocka_unit_test(several_constant_reads),
        cmocka_unit_test(a_row_of_what_all_wrote),
        cmocka_unit_test(moved),
        cmocka_unit_test(replicated),
        cmocka_unit_test(off_or_unwanted),
        cmocka_unit_test(dimensions),
        cmocka_unit_test(parts_of_buffers),
        cmocka_unit_test(several_buffers),
        cmocka_unit_test(reductions),
        cmocka_unit_test(fences),
        cmocka_unit_test(any_number_of_nodes),
        cmocka_unit_test(nbody),
        cmocka_unit_test(merged),
        cmocka_unit_test(custom_mappers_like_built_in_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
