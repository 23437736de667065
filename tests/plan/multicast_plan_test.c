/* Planned multicasts: what each node sends and receives for placed tasks that read one version. Every tree is stated
 * literally. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "comm/tree.h"
#include "plan_expect.h"

enum { A, B, TILES = 4, TILE = 4 };

static tacit_mapper tile(size_t i)
{
    return tacit_fixed(tacit_box1(i * TILE, (i + 1) * TILE));
}

static void start(plan *p, int nodes, ti_tree tree, int collectives)
{
    const gen_buffer list[] = { plan_buffer(tacit_range1(TILES * TILE), true),
                                plan_buffer(tacit_range1(TILES * TILE), true) };
    plan_start(p,
               &(plan_setup){ .nodes = nodes,
                              .only = -1,
                              .collectives = collectives,
                              .multicast = TI_MULTICAST_TREES + (int)tree,
                              .horizon_step = 1000 },
               list, 2);
}

static void write_tile(plan *p, int node, size_t i)
{
    plan_placed(p, node, (gen_task){ .name = "W", .range = tacit_range1(1), .access = { plan_write(A, tile(i)) } });
}

static void read_tile(plan *p, int node, size_t i, int priority)
{
    plan_placed(
        p, node,
        (gen_task){ .name = "R", .range = tacit_range1(1), .access = { plan_read(A, tile(i)) }, .priority = priority });
}

/* All that waits is planned; nothing else happens, since B is the same on all nodes. */
static void look(plan *p)
{
    plan_fence(p, B, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
}

static void the_first_reader_brings_it_to_all(void **state)
{
    (void)state;
    plan p;
    start(&p, 6, TI_TREE_BINOMIAL, TI_COLLECTIVES_OFF);
    write_tile(&p, 2, 1);
    expect(&p, 2, "execute [0,1)"); /* nobody waits for it */
    for (int node = 0; node < 6; node++) {
        read_tile(&p, node, 1, 0);
        expect(&p, node, "");
    }
    look(&p);
    expect(&p, 2, "send 0 A [4,8); send 1 A [4,8); send 4 A [4,8); execute [0,1); fence [0,1)");
    expect(&p, 0, "receive 2 A [4,8); send 3 A [4,8); send 5 A [4,8); execute [0,1); fence [0,1)");
    expect(&p, 1, "receive 2 A [4,8); execute [0,1); fence [0,1)");
    expect(&p, 3, "receive 0 A [4,8); execute [0,1); fence [0,1)");
    expect(&p, 4, "receive 2 A [4,8); execute [0,1); fence [0,1)");
    expect(&p, 5, "receive 0 A [4,8); execute [0,1); fence [0,1)");
    assert_int_equal(ti_command_graph_counts(p.node[2].graph).multicast.multicasts, 1);
    assert_int_equal(ti_command_graph_counts(p.node[2].graph).multicast.recipients, 5);
    assert_int_equal(ti_command_graph_counts(p.node[2].graph).multicast.depth, 2);
    assert_int_equal(ti_command_graph_counts(p.node[1].graph).multicast.forwards, 0);
    assert_int_equal(ti_command_graph_counts(p.node[0].graph).multicast.forwards, 2);
    plan_fini(&p);
}

static void trees_are_those_of_the_setting(void **state)
{
    (void)state;
    static const char *const root[] = { "send 1 A [0,4); send 2 A [0,4); send 3 A [0,4)",
                                        "send 1 A [0,4); send 2 A [0,4)", "send 1 A [0,4); send 2 A [0,4)",
                                        "send 1 A [0,4)" };
    static const char *const last[] = { "receive 0 A [0,4); execute [0,1)", "receive 1 A [0,4); execute [0,1)",
                                        "receive 1 A [0,4); execute [0,1)", "receive 2 A [0,4); execute [0,1)" };
    for (int tree = 0; tree < TI_TREE_KINDS; tree++) {
        plan p;
        char text[200];
        start(&p, 4, (ti_tree)tree, TI_COLLECTIVES_OFF);
        write_tile(&p, 0, 0);
        for (int node = 1; node < 4; node++) {
            read_tile(&p, node, 0, 0);
        }
        look(&p);
        snprintf(text, sizeof(text), "%s; fence [0,1)", root[tree]);
        expect(&p, 0, text);
        snprintf(text, sizeof(text), "%s; fence [0,1)", last[tree]);
        expect(&p, 3, text);
        plan_fini(&p);
    }
}

static void urgent_readers_are_near_the_root(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, TI_TREE_CHAIN, TI_COLLECTIVES_OFF);
    write_tile(&p, 0, 0);
    read_tile(&p, 1, 0, 0);
    read_tile(&p, 2, 0, 3);
    read_tile(&p, 3, 0, 1);
    look(&p);
    expect(&p, 0, "send 2 A [0,4); fence [0,1)");
    expect(&p, 2, "receive 0 A [0,4); send 3 A [0,4); execute [0,1); fence [0,1)");
    expect(&p, 3, "receive 2 A [0,4); send 1 A [0,4); execute [0,1); fence [0,1)");
    expect(&p, 1, "receive 3 A [0,4); execute [0,1); fence [0,1)");
    plan_fini(&p);
}

/* Node 1 reads more, and node 3 less than the tile: both get what they want from its owners, and nobody is asked
 * to send on what it lacks. */
static void other_boxes_travel_by_themselves(void **state)
{
    (void)state;
    plan p;
    start(&p, 5, TI_TREE_CHAIN, TI_COLLECTIVES_OFF);
    write_tile(&p, 0, 0);
    write_tile(&p, 2, 1);
    plan_placed(&p, 1,
                (gen_task){ .name = "R",
                            .range = tacit_range1(1),
                            .access = { plan_read(A, tacit_fixed(tacit_box1(0, 2 * TILE))) } });
    expect(&p, 0, "send 1 A [0,4)"); /* at once: there is nothing to look ahead for */
    expect(&p, 1, "receive 0 A [0,4); receive 2 A [4,8); execute [0,1)");
    expect(&p, 2, "send 1 A [4,8)");
    read_tile(&p, 2, 0, 0);
    plan_placed(
        &p, 3,
        (gen_task){ .name = "R", .range = tacit_range1(1), .access = { plan_read(A, tacit_fixed(tacit_box1(1, 3))) } });
    read_tile(&p, 4, 0, 0);
    look(&p);
    expect(&p, 0, "send 2 A [0,4); send 3 A [1,3); fence [0,1)");
    expect(&p, 2, "receive 0 A [0,4); send 4 A [0,4); execute [0,1); fence [0,1)");
    expect(&p, 3, "receive 0 A [1,3); execute [0,1); fence [0,1)");
    expect(&p, 4, "receive 2 A [0,4); execute [0,1); fence [0,1)");
    plan_fini(&p);
}

/* Of what is written again in between, the new contents travel to those who read them. */
static void a_tile_is_written_again(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, TI_TREE_CHAIN, TI_COLLECTIVES_OFF);
    write_tile(&p, 0, 0);
    read_tile(&p, 1, 0, 0);
    read_tile(&p, 2, 0, 0);
    write_tile(&p, 0, 0);
    read_tile(&p, 2, 0, 0);
    read_tile(&p, 3, 0, 0);
    look(&p);
    expect(&p, 0, "send 1 A [0,4); execute [0,1); send 2 A [0,4); fence [0,1)");
    expect(&p, 1, "receive 0 A [0,4); send 2 A [0,4); execute [0,1); fence [0,1)");
    expect(&p, 2, "receive 1 A [0,4); execute [0,1); receive 0 A [0,4); send 3 A [0,4); execute [0,1); fence [0,1)");
    expect(&p, 3, "receive 2 A [0,4); execute [0,1); fence [0,1)");
    plan_fini(&p);
}

/* Node 1 has read it before the window began. */
static void who_has_it_is_left_out(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, TI_TREE_CHAIN, TI_COLLECTIVES_OFF);
    write_tile(&p, 0, 0);
    read_tile(&p, 1, 0, 0);
    look(&p);
    expect(&p, 1, "receive 0 A [0,4); execute [0,1); fence [0,1)");
    read_tile(&p, 1, 0, 0);
    read_tile(&p, 2, 0, 0);
    read_tile(&p, 3, 0, 0);
    look(&p);
    expect(&p, 0, "send 2 A [0,4); fence [0,1)");
    expect(&p, 1, "execute [0,1); fence [0,1)");
    expect(&p, 2, "receive 0 A [0,4); send 3 A [0,4); execute [0,1); fence [0,1)");
    plan_fini(&p);
}

/* A task of all nodes comes in between, in its order; what all read is a collective of its own. */
static void collectives_stay_what_they_are(void **state)
{
    (void)state;
    for (int mode = TI_COLLECTIVES_DISCOVER; mode <= TI_COLLECTIVES_LOOKAHEAD; mode++) {
        plan p;
        start(&p, 4, TI_TREE_CHAIN, mode);
        plan_task(&p, (gen_task){ .name = "S",
                                  .range = tacit_range1(TILES * TILE),
                                  .access = { plan_write(B, tacit_one_to_one()) } });
        write_tile(&p, 0, 0);
        read_tile(&p, 1, 0, 0);
        read_tile(&p, 2, 0, 0);
        plan_task(&p, (gen_task){
                          .name = "G", .range = tacit_range1(TILES * TILE), .access = { plan_read(B, tacit_all()) } });
        expect(&p, 1, "");
        plan_fence(&p, B, (gen_box){ { 0, 0, 0 }, { 1, 1, 1 } });
        expect(&p, 1,
               "receive 0 A [0,4); send 2 A [0,4); execute [0,1); all-gather B [0,16) give [4,8) get [0,4)+[8,16); "
               "execute [4,8); fence [0,1)");
        plan_fini(&p);
    }
}

/* The report of edges says what came by a multicast, and what came with it. Node 0 neither sends nor receives. */
static void it_is_reported(void **state)
{
    (void)state;
    plan p;
    start(&p, 5, TI_TREE_BINOMIAL, TI_COLLECTIVES_OFF);
    write_tile(&p, 4, 2);
    plan_placed(&p, 3, (gen_task){ .name = "R", .range = tacit_range1(1), .access = { plan_read(A, tile(2)) } });
    for (int node = 1; node < 3; node++) {
        plan_placed(&p, node, (gen_task){ .name = "S", .range = tacit_range1(1), .access = { plan_read(A, tile(2)) } });
    }
    look(&p);
    expect(&p, 0, "fence [0,1)");
    const ti_explain_edge *first = plan_edge(&p, "R", "A"), *later = plan_edge(&p, "S", "A");
    assert_int_equal(first->verdict, TI_VERDICT_MULTICAST);
    assert_int_equal(first->recipients, 3);
    assert_int_equal(first->depth, 2);
    assert_int_equal(first->messages, 0);
    assert_int_equal(later->verdict, TI_VERDICT_CAME);
    plan_placed(&p, 0, (gen_task){ .name = "T", .range = tacit_range1(1), .access = { plan_read(A, tile(2)) } });
    look(&p);
    assert_int_equal(plan_edge(&p, "T", "A")->verdict, TI_VERDICT_ONE_TO_ONE); /* nobody else wants it any more */
    assert_int_equal(plan_edge(&p, "T", "A")->messages, 1);
    plan_fini(&p);
}

/* A report changes no plan: node 0 has one, and looks at reads of tasks without collectives only for that. What it finds
 * must not make it forget who wrote the tiles, or it would not wait for their readers as the others do. */
static void a_report_forgets_no_source(void **state)
{
    (void)state;
    const gen_buffer list[] = { plan_buffer(tacit_range1(TILES * TILE), true) };
    const plan_setup setup = { .nodes = 3,
                               .only = -1,
                               .collectives = TI_COLLECTIVES_OFF,
                               .multicast = TI_MULTICAST_TREES + TI_TREE_BINOMIAL,
                               .old_producers = 1,
                               .horizon_step = 1 };
    plan p;
    plan_start(&p, &setup, list, 1);
    write_tile(&p, 2, 0);
    write_tile(&p, 2, 1);
    for (int i = 0; i < 4; i++) { /* horizons pass these two */
        write_tile(&p, 2, 3);
    }
    plan_task(&p, (gen_task){ .name = "N",
                              .range = tacit_range1(2 * TILE),
                              .access = { plan_read(A, tacit_one_to_one()) },
                              .no_collectives = true });
    read_tile(&p, 0, 1, 0);
    for (int node = 0; node < 3; node++) {
        expect(&p, node, "");
    }
    plan_fini(&p);
}

/* A loop comes back to the same versions: multicasts and their readers are repeated as they were. Node 0 explains, so
 * it plans each time; the others must agree with it. */
static void loops_are_replayed(void **state)
{
    (void)state;
    plan p;
    start(&p, 4, TI_TREE_CHAIN, TI_COLLECTIVES_OFF);
    for (int i = 0; i < 12; i++) {
        uint64_t before = p.node[2].replayed;
        p.shape = (uint64_t)(4 * (i % 2) + 1);
        write_tile(&p, 0, i % 2);
        for (int node = 1; node < 4; node++) {
            p.shape = (uint64_t)(4 * (i % 2) + node + 1);
            read_tile(&p, node, i % 2, 0);
        }
        p.shape = 0;
        look(&p);
        const char *text[] = { "send 1 A [%d,%d); fence [0,1)",
                               "receive 0 A [%d,%d); send 2 A [%d,%d); execute [0,1); fence [0,1)",
                               "receive 1 A [%d,%d); send 3 A [%d,%d); execute [0,1); fence [0,1)",
                               "receive 2 A [%d,%d); execute [0,1); fence [0,1)" };
        for (int node = 0; node < 4; node++) {
            char whole[200];
            int a = i % 2 * TILE, b = a + TILE;
            snprintf(whole, sizeof(whole), text[node], a, b, a, b);
            expect(&p, node, whole);
        }
        assert_true(i < 8 || p.node[2].replayed == before + 5); /* and the multicast */
        for (int node = 1; i % 3 == 2 && node < 4; node++) {
            assert_true(ti_command_graph_digest(p.node[node].graph) == ti_command_graph_digest(p.node[0].graph));
        }
        assert_int_equal(ti_command_graph_counts(p.node[2].graph).multicast.forwards, i + 1);
        assert_int_equal(ti_command_graph_counts(p.node[0].graph).multicast.recipients, 3 * (i + 1));
    }
    plan_fini(&p);
}

/* The same contents and the same first reader, but others behind it. */
static void other_readers_are_another_step(void **state)
{
    (void)state;
    plan p;
    start(&p, 5, TI_TREE_CHAIN, TI_COLLECTIVES_OFF);
    for (int i = 0; i < 12; i++) {
        uint64_t before = p.node[2].replayed;
        int third = i % 3 ? 3 : 4;
        p.shape = 1;
        write_tile(&p, 0, 0);
        for (int k = 0; k < 3; k++) {
            int node = k < 2 ? k + 1 : third;
            p.shape = (uint64_t)node + 1;
            read_tile(&p, node, 0, 0);
        }
        p.shape = 0;
        look(&p);
        expect(&p, 1, "receive 0 A [0,4); send 2 A [0,4); execute [0,1); fence [0,1)");
        expect(&p, 2,
               third == 3 ? "receive 1 A [0,4); send 3 A [0,4); execute [0,1); fence [0,1)"
                          : "receive 1 A [0,4); send 4 A [0,4); execute [0,1); fence [0,1)");
        expect(&p, third, "receive 2 A [0,4); execute [0,1); fence [0,1)");
        expect(&p, 7 - third, "fence [0,1)");
        assert_true(i < 9 || p.node[2].replayed == before + 5);
    }
    plan_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_reader_brings_it_to_all),
        cmocka_unit_test(trees_are_those_of_the_setting),
        cmocka_unit_test(urgent_readers_are_near_the_root),
        cmocka_unit_test(other_boxes_travel_by_themselves),
        cmocka_unit_test(a_tile_is_written_again),
        cmocka_unit_test(who_has_it_is_left_out),
        cmocka_unit_test(collectives_stay_what_they_are),
        cmocka_unit_test(a_report_forgets_no_source),
        cmocka_unit_test(loops_are_replayed),
        cmocka_unit_test(it_is_reported),
        cmocka_unit_test(other_readers_are_another_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
