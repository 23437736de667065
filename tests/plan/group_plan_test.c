/* Collectives in groups: rows and columns of the grid of chunks that a task of two dimensions is split into, and near
 * misses in which one condition does not hold. Commands are stated literally, with the verdict. */
#include "plan.h"
#include "plan/holder/holder.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "plan_expect.h"

/* ---- tasks W, which writes, and R, which reads; both are split in two dimensions */

static gen_task task(const char *name, tacit_range range, gen_access access)
{
    return (gen_task){ .name = name, .range = range, .split = TACIT_SPLIT_2D, .access = { access } };
}

static gen_task writer(size_t n, size_t m)
{
    return task("W", tacit_range2(n, m), plan_write(0, tacit_one_to_one()));
}

static gen_task reader(size_t n, size_t m, tacit_mapper mapper)
{
    return task("R", tacit_range2(n, m), plan_read(0, mapper));
}

static tacit_mapper components(tacit_component a, tacit_component b)
{
    return tacit_components(a, b, tacit_full());
}

static void start(plan *p, int nodes, tacit_range range, size_t buffers)
{
    gen_buffer b = plan_buffer(range, false), list[] = { b, b, b };
    plan_start(p, &(plan_setup){ .nodes = nodes, .only = -1, .collectives = TI_COLLECTIVES_DISCOVER }, list, buffers);
}

/* With lookahead every reader gets forwards of its own; buffer B has contents. */
static void start_ahead(plan *p, int nodes, tacit_range range)
{
    gen_buffer list[] = { plan_buffer(range, false), plan_buffer(range, true) };
    plan_start(p,
               &(plan_setup){ .nodes = nodes, .only = -1, .collectives = TI_COLLECTIVES_LOOKAHEAD, .horizon_step = 99 },
               list, 2);
}

/* The task and the end of the window. */
static void plan_now(plan *p, gen_task t)
{
    plan_task(p, t);
    plan_fence(p, 1, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
}

static void expect_groups(const plan *p, ti_pattern pattern, int groups, int members)
{
    const ti_explain_edge *edge = plan_edge(p, "R", "A");
    expect_verdict(p, TI_VERDICT_COLLECTIVE);
    assert_string_equal(ti_pattern_name(edge->pattern), ti_pattern_name(pattern));
    assert_int_equal(edge->groups, groups);
    assert_int_equal(edge->members, members);
}

/* ---- what becomes a collective in groups */

static void rows(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(8, 8));
    plan_task(&p, reader(8, 8, tacit_slice(1)));
    expect(&p, 0, "all-gather in 2 groups of 2 A [0,8)x[0,8) give [0,4)x[0,4) get [0,4)x[4,8); execute [0,4)x[0,4)");
    expect(&p, 3, "all-gather in 2 groups of 2 A [0,8)x[0,8) give [4,8)x[4,8) get [4,8)x[0,4); execute [4,8)x[4,8)");
    expect_groups(&p, TI_PATTERN_ALL_GATHER, 2, 2);
    plan_task(&p, reader(8, 8, tacit_slice(1))); /* it is there */
    expect(&p, 3, "execute [4,8)x[4,8)");
    plan_fini(&p);
}

/* The grid is 3 x 2: in a column there are three nodes, two apart. Another length of the range in the other dimension
 * makes no difference. */
static void columns(void **state)
{
    (void)state;
    plan p;
    start(&p, 6, tacit_range2(6, 6), 1);
    plan_task(&p, writer(6, 6));
    plan_task(&p, reader(9, 6, tacit_slice(0)));
    expect(&p, 0, "all-gather in 2 groups of 3 A [0,6)x[0,6) give [0,2)x[0,3) get [2,6)x[0,3); execute [0,3)x[0,3)");
    expect(
        &p, 3,
        "all-gather in 2 groups of 3 A [0,6)x[0,6) give [2,4)x[3,6) get [0,2)x[3,6)+[4,6)x[3,6); execute [3,6)x[3,6)");
    expect_groups(&p, TI_PATTERN_ALL_GATHER, 2, 3);
    plan_fini(&p);
}

/* Both, of a product of matrices. */
static void product(void **state)
{
    (void)state;
    plan p;
    start(&p, 6, tacit_range2(6, 6), 3);
    gen_task multiply = reader(6, 6, tacit_slice(1)), fill = writer(6, 6);
    plan_task(&p, fill);
    fill.access[0].buffer = 1;
    plan_task(&p, fill);
    multiply.access[1] = plan_read(1, tacit_slice(0));
    multiply.access[2] = plan_write(2, tacit_one_to_one());
    plan_task(&p, multiply);
    expect(&p, 4,
           "all-gather in 3 groups of 2 A [0,6)x[0,6) give [4,6)x[0,3) get [4,6)x[3,6); "
           "all-gather in 2 groups of 3 B [0,6)x[0,6) give [4,6)x[0,3) get [0,4)x[0,3); execute [4,6)x[0,3)");
    plan_fini(&p);
}

/* A panel that one column of the grid has is a broadcast in each row; one that two of three columns have is an
 * all-gather to which the third gives nothing. */
static void panels(void **state)
{
    (void)state;
    plan p;
    start(&p, 6, tacit_range2(4, 6), 1); /* 2 x 3 */
    plan_task(&p, writer(4, 6));
    plan_task(&p, reader(4, 6, components(tacit_dim(0), tacit_span(2, 4))));
    expect(&p, 1, "broadcast from 1 in 2 groups of 3 A [0,4)x[2,4) give [0,2)x[2,4); execute [0,2)x[2,4)");
    expect(&p, 5, "broadcast from 1 in 2 groups of 3 A [0,4)x[2,4) get [2,4)x[2,4); execute [2,4)x[4,6)");
    expect_groups(&p, TI_PATTERN_BROADCAST, 2, 3);
    plan_fini(&p);
    start(&p, 6, tacit_range2(4, 6), 1);
    plan_task(&p, writer(4, 6));
    plan_task(&p, reader(4, 6, components(tacit_dim(0), tacit_span(1, 4))));
    expect(&p, 1, "all-gather in 2 groups of 3 A [0,4)x[1,4) give [0,2)x[2,4) get [0,2)x[1,2); execute [0,2)x[2,4)");
    expect(&p, 5, "all-gather in 2 groups of 3 A [0,4)x[1,4) get [2,4)x[1,4); execute [2,4)x[4,6)");
    plan_fini(&p);
    start(&p, 6, tacit_range2(4, 6), 1); /* some rows of each column */
    plan_task(&p, writer(4, 6));
    plan_task(&p, reader(4, 6, components(tacit_span(3, 4), tacit_dim(1))));
    expect(&p, 2, "broadcast from 1 in 3 groups of 2 A [3,4)x[0,6) get [3,4)x[4,6); execute [0,2)x[4,6)");
    expect(&p, 5, "broadcast from 1 in 3 groups of 2 A [3,4)x[0,6) give [3,4)x[4,6); execute [2,4)x[4,6)");
    plan_fini(&p);
}

/* What rows brought is not in the way of columns: they have only their own chunks in common. Then everything is
 * wanted, of which there are pieces. */
static void rows_then_columns(void **state)
{
    (void)state;
    plan p;
    start_ahead(&p, 4, tacit_range2(8, 8));
    plan_task(&p, writer(8, 8));
    plan_now(&p, reader(8, 8, tacit_slice(1)));
    expect(&p, 2,
           "all-gather in 2 groups of 2 A [0,8)x[0,8) give [4,8)x[0,4) get [4,8)x[4,8); execute [4,8)x[0,4); "
           "fence [0,1)x[0,1)");
    plan_now(&p, reader(8, 8, tacit_slice(0)));
    expect(&p, 2,
           "all-gather in 2 groups of 2 A [0,8)x[0,8) give [4,8)x[0,4) get [0,4)x[0,4); execute [4,8)x[0,4); "
           "fence [0,1)x[0,1)");
    plan_task(&p, reader(8, 8, tacit_all()));
    expect(&p, 0, "send 3 A [0,4)x[0,4); receive 3 A [4,8)x[4,8); execute [0,4)x[0,4)");
    expect_messages(&p, TI_VERDICT_MOVED);
    plan_fini(&p);
}

/* But a part of the rows is in the way of rows, and so are halos: what has come does not come again. */
static void parts_then_rows(void **state)
{
    (void)state;
    plan p;
    start_ahead(&p, 4, tacit_range2(8, 8));
    plan_task(&p, writer(8, 8));
    plan_now(&p, reader(8, 8, components(tacit_dim(0), tacit_span(2, 6))));
    plan_now(&p, reader(8, 8, tacit_slice(1)));
    expect(&p, 1,
           "all-gather in 2 groups of 2 A [0,8)x[0,2)+[0,8)x[6,8) give [0,4)x[6,8) get [0,4)x[0,2); "
           "execute [0,4)x[4,8); fence [0,1)x[0,1)");
    plan_fini(&p);
    start_ahead(&p, 4, tacit_range2(8, 8));
    plan_task(&p, writer(8, 8));
    plan_now(&p, reader(8, 8, tacit_neighborhood(1, 1, 0)));
    plan_now(&p, reader(8, 8, tacit_slice(1)));
    expect_messages(&p, TI_VERDICT_MOVED);
    plan_fini(&p);
}

/* Of 2 x 2 chunks on six nodes the last two nodes have none: they take part in the order of collectives only. */
static void nodes_without_chunks(void **state)
{
    (void)state;
    plan p;
    start(&p, 6, tacit_range2(8, 8), 1);
    gen_task w = writer(8, 8), r = reader(8, 8, tacit_slice(0));
    w.granularity[0] = w.granularity[1] = r.granularity[0] = r.granularity[1] = 4;
    plan_task(&p, w);
    plan_task(&p, r);
    expect(&p, 1, "all-gather in 2 groups of 2 A [0,8)x[0,8) give [0,4)x[4,8) get [4,8)x[4,8); execute [0,4)x[4,8)");
    expect(&p, 4, "all-gather in 2 groups of 2 A [0,8)x[0,8)");
    plan_fini(&p);
}

/* A grid of one column: rows stay where they are, and a column is everything. */
static void prime(void **state)
{
    (void)state;
    plan p;
    start(&p, 3, tacit_range2(6, 6), 1);
    plan_task(&p, writer(6, 6));
    plan_task(&p, reader(6, 6, tacit_slice(1)));
    expect_messages(&p, TI_VERDICT_FREE);
    plan_fini(&p);
    start(&p, 3, tacit_range2(6, 6), 1);
    plan_task(&p, writer(6, 6));
    plan_task(&p, reader(6, 6, tacit_slice(0)));
    expect(&p, 1, "all-gather A [0,6)x[0,6) give [2,4)x[0,6) get [0,2)x[0,6)+[4,6)x[0,6); execute [2,4)x[0,6)");
    expect_groups(&p, TI_PATTERN_ALL_GATHER, 0, 0);
    plan_fini(&p);
}

/* The buffer may have more dimensions than the range, or fewer, or others. */
static void other_dimensions(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range3(4, 4, 3), 1);
    tacit_mapper write = tacit_components(tacit_dim(1), tacit_dim(0), tacit_full());
    plan_task(&p, task("W", tacit_range2(4, 4), plan_write(0, write)));
    tacit_mapper read = tacit_components(tacit_full(), tacit_dim(0), tacit_span(1, 2));
    plan_task(&p, reader(4, 4, read));
    expect(&p, 1,
           "all-gather in 2 groups of 2 A [0,4)x[0,4)x[1,2) give [2,4)x[0,2)x[1,2) get [0,2)x[0,2)x[1,2); "
           "execute [0,2)x[2,4)");
    plan_fini(&p);
    start(&p, 4, tacit_range1(8),
          1); /* twice as many elements as rows; every second column wrote, of which there is one */
    gen_task w = task("W", tacit_range2(4, 1),
                      plan_write(0, tacit_components(tacit_dim_scaled(0, 2, 1, 0, 0), tacit_full(), tacit_full())));
    plan_task(&p, w);
    plan_task(&p, reader(4, 4, w.access[0].mapper));
    expect_messages(&p, TI_VERDICT_GROUP_GRID);
    plan_fini(&p);
}

/* Every number of nodes: no messages, all that is needed comes, and the numbers of groups are those of the grid. */
static void many_nodes(void **state)
{
    (void)state;
    for (int nodes = 4; nodes <= 64; nodes += nodes < 16 ? 1 : 16) {
        for (int row = 0; row < 2; row++) {
            plan p;
            int64_t grid[2];
            size_t n = (size_t)nodes + 3;
            ti_split_grid(nodes, grid);
            start(&p, nodes, tacit_range2(n, n), 1);
            plan_task(&p, writer(n, n));
            plan_task(&p, reader(n, n, tacit_slice(row ? 1 : 0)));
            for (int i = 0; i < nodes; i++) {
                assert_int_equal(p.node[i].messages, 0);
            }
            if (grid[1] > 1) {
                expect_groups(&p, TI_PATTERN_ALL_GATHER, (int)grid[row ? 0 : 1], (int)grid[row ? 1 : 0]);
            }
            plan_fini(&p);
        }
    }
}

/* The same work on every node, however many there are. */
static void flat(void **state)
{
    (void)state;
    static const int nodes[] = { 64, 65536 };
    uint64_t evaluated[2];
    for (int i = 0; i < 2; i++) {
        plan p;
        size_t n = 1024;
        gen_buffer b = plan_buffer(tacit_range2(n, n), false);
        plan_start(&p, &(plan_setup){ .nodes = nodes[i], .only = 5, .collectives = TI_COLLECTIVES_DISCOVER }, &b, 1);
        plan_task(&p, writer(n, n));
        plan_task(&p, reader(n, n, tacit_slice(0)));
        expect_groups(&p, TI_PATTERN_ALL_GATHER, i ? 256 : 8, i ? 256 : 8);
        evaluated[i] = p.node[0].evaluated;
        plan_fini(&p);
    }
    assert_int_equal(evaluated[0], evaluated[1]);
}

/* A grid in three dimensions, of which any may be followed: chunks of one group, and only those, touch the same. */
static void grids(void **state)
{
    (void)state;
    static const int members[8] = { 0, 12, 0, 4, 6, 3, 2, 0 }, strides[8] = { 0, 1, 0, 1, 4, 4, 12, 0 };
    uint64_t evaluated = 0;
    ti_split_cache splits;
    ti_holder_cache holders;
    ti_split_request request = {
        .range = { { 0, 0, 0 }, { 6, 6, 6 } }, .gran = { 1, 1, 1 }, .nodes = 24, .place = -1, .oversubscribe = 1
    };
    memcpy(request.grid, ((int64_t[]){ 2, 3, 4 }), sizeof(request.grid));
    ti_split_cache_init(&splits, 0);
    ti_holder_cache_init(&holders, &evaluated);
    ti_buffer_info info = { .extent = { { 0, 0, 0 }, { 6, 6, 6 } }, .dims = 3 };
    for (int follows = 0; follows < 8; follows++) {
        ti_mapper mapper = { .dims = 3, .custom = -1 };
        for (int d = 0; d < 3; d++) {
            mapper.c[d] = follows >> d & 1 ? tacit_dim(d) : tacit_full();
        }
        ti_access access = { .buffer = &info, .mode = TACIT_READ, .mapper = &mapper, .mappers = 1 };
        const ti_holder *h = ti_holder_get(&holders, &access, 0, ti_split_cache_get(&splits, &request));
        assert_int_equal(h->members, members[follows]);
        assert_int_equal(h->stride, strides[follows]);
        ti_collective c = { .nodes = 24, .members = h->members, .stride = h->stride, .to.split = h->split->split };
        for (int q = 0; h->members && q < 24 * 24; q++) {
            ti_box a = ti_split_chunk(&h->split->split, q % 24), b = ti_split_chunk(&h->split->split, q / 24);
            ti_box image[2];
            assert_true(ti_mapper_image(&mapper, &info.extent, &a, &image[0]));
            assert_true(ti_mapper_image(&mapper, &info.extent, &b, &image[1]));
            bool together = ti_collective_member(&c, q % 24, ti_collective_rank(&c, q / 24)) == q / 24;
            assert_int_equal(ti_box_equal(&image[0], &image[1]), together);
        }
    }
    ti_holder_cache_fini(&holders);
    ti_split_cache_fini(&splits);
}

/* ---- near misses */

static void after_writing(plan *p, gen_task w, gen_task r)
{
    start(p, 4, tacit_range2(16, 16), 1);
    plan_task(p, w);
    plan_task(p, r);
}

static void several_chunks(void **state)
{
    (void)state;
    plan p;
    gen_task w = writer(8, 8), r = reader(8, 8, tacit_slice(0));
    w.oversubscribe = r.oversubscribe = 2;
    after_writing(&p, w, r);
    expect_messages(&p, TI_VERDICT_GROUP_CHUNKS);
    plan_fini(&p);
}

static void other_grid(void **state)
{
    (void)state;
    plan p;
    gen_task w = writer(8, 8), r = reader(8, 8, tacit_slice(1));
    w.split = TACIT_SPLIT_1D;
    after_writing(&p, w, r);
    expect(&p, 0, "send 1 A [0,2)x[0,8); receive 1 A [2,4)x[0,8); execute [0,4)x[0,4)");
    expect_messages(&p, TI_VERDICT_GROUP_GRID);
    plan_fini(&p);
    start(&p, 4, tacit_range2(8, 8), 1); /* one node has it all */
    plan_placed(&p, 2, writer(8, 8));
    plan_task(&p, r);
    expect_messages(&p, TI_VERDICT_GROUP_GRID);
    plan_fini(&p);
    start(&p, 6, tacit_range2(4, 6), 1); /* the longer dimension is another one: 2 x 3, and 3 x 2 */
    plan_task(&p, writer(4, 6));
    plan_task(&p, reader(4, 3, tacit_slice(1)));
    expect_messages(&p, TI_VERDICT_GROUP_GRID);
    plan_fini(&p);
}

/* In the dimension that the rows follow: another offset, length, granularity or mapper; in the other one they may
 * differ. */
static void other_borders(void **state)
{
    (void)state;
    plan p;
    gen_task r = reader(8, 8, tacit_slice(1));
    gen_task miss[4] = { r, r, r, r }, hit[3] = { r, r, r };
    miss[0].offset[0] = 2;
    miss[0].range = tacit_range2(6, 8);
    miss[1].range = tacit_range2(7, 8);
    miss[2].granularity[0] = 3;
    miss[3].access[0].mapper = components(tacit_dim_scaled(0, 1, 1, -1, 1), tacit_full());
    for (int i = 0; i < 4; i++) {
        after_writing(&p, writer(8, 8), miss[i]);
        expect_messages(&p, TI_VERDICT_GROUP_BORDERS);
        plan_fini(&p);
    }
    hit[0].offset[1] = 2;
    hit[1].range = tacit_range2(8, 5);
    hit[2].granularity[1] = 3;
    for (int i = 0; i < 3; i++) {
        after_writing(&p, writer(8, 8), hit[i]);
        expect_groups(&p, TI_PATTERN_ALL_GATHER, 2, 2);
        plan_fini(&p);
    }
    /* Columns that were written as rows: node 1 has what node 2 needs. */
    after_writing(&p, task("W", tacit_range2(8, 8), plan_write(0, tacit_transposed(1, 0, 2))), r);
    expect_messages(&p, TI_VERDICT_GROUP_BORDERS);
    plan_fini(&p);
}

/* Rows with a halo overlap; two ways to read one region are no collective; a diagonal is no grid. */
static void other_reads(void **state)
{
    (void)state;
    plan p;
    after_writing(&p, writer(8, 8), reader(8, 8, components(tacit_dim_scaled(0, 1, 1, 1, 1), tacit_full())));
    expect_messages(&p, TI_VERDICT_NEITHER);
    plan_fini(&p);
    gen_task square = reader(8, 8, tacit_slice(1));
    square.access[1] = plan_read(0, tacit_slice(0));
    start_ahead(&p, 4, tacit_range2(8, 8));
    plan_task(&p, writer(8, 8));
    plan_now(&p, square);
    expect(&p, 0,
           "send 1 A [0,4)x[0,4); send 2 A [0,4)x[0,4); receive 1 A [0,4)x[4,8); receive 2 A [4,8)x[0,4); "
           "execute [0,4)x[0,4); fence [0,1)x[0,1)");
    expect_messages(&p, TI_VERDICT_SEVERAL_READS);
    plan_fini(&p);
    after_writing(&p, writer(8, 8), reader(8, 8, components(tacit_dim(0), tacit_dim(0))));
    expect_messages(&p, TI_VERDICT_NEITHER);
    plan_fini(&p);
    square.access[1] = plan_read(0, tacit_all()); /* everything is wanted anyway */
    start_ahead(&p, 4, tacit_range2(8, 8));
    plan_task(&p, writer(8, 8));
    plan_now(&p, square);
    expect_groups(&p, TI_PATTERN_ALL_GATHER, 0, 0);
    plan_fini(&p);
    gen_task wanted = reader(8, 8, tacit_slice(1));
    wanted.no_collectives = true;
    after_writing(&p, writer(8, 8), wanted);
    expect_messages(&p, TI_VERDICT_HINT);
    plan_fini(&p);
}

/* A part that another task wrote later is a forward of its own: from the node that has it, which is no grid. */
static void several_writers(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, tacit_range2(8, 8), 1);
    plan_task(&p, writer(8, 8));
    plan_placed(&p, 3, writer(4, 8));
    plan_task(&p, reader(8, 8, tacit_slice(1)));
    expect(&p, 0, "all-gather in 2 groups of 2 A [4,8)x[0,8); receive 3 A [0,4)x[0,8); execute [0,4)x[0,4)");
    expect(&p, 3,
           "all-gather in 2 groups of 2 A [4,8)x[0,8) give [4,8)x[4,8) get [4,8)x[0,4); send 0 A [0,4)x[0,8); "
           "send 1 A [0,4)x[0,8); execute [4,8)x[4,8)");
    plan_fini(&p);
}

/* With lookahead, rows that are followed by everything come with it, by one all-gather. */
static void ahead(void **state)
{
    (void)state;
    plan p;
    start_ahead(&p, 4, tacit_range2(8, 8));
    plan_task(&p, writer(8, 8));
    plan_task(&p, reader(8, 8, tacit_slice(1)));
    expect(&p, 2, "");
    plan_task(&p, reader(8, 8, tacit_all()));
    expect(&p, 2,
           "all-gather A [0,8)x[0,8) give [4,8)x[0,4) get [0,4)x[0,8)+[4,8)x[4,8); execute [4,8)x[0,4); "
           "execute [4,8)x[0,4)");
    plan_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(columns),
        cmocka_unit_test(product),
        cmocka_unit_test(panels),
        cmocka_unit_test(rows_then_columns),
        cmocka_unit_test(parts_then_rows),
        cmocka_unit_test(nodes_without_chunks),
        cmocka_unit_test(prime),
        cmocka_unit_test(other_dimensions),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(flat),
        cmocka_unit_test(grids),
        cmocka_unit_test(several_chunks),
        cmocka_unit_test(other_grid),
        cmocka_unit_test(other_borders),
        cmocka_unit_test(other_reads),
        cmocka_unit_test(several_writers),
        cmocka_unit_test(ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
