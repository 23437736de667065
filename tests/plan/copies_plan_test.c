/* Data travels once: every node that has read a part of a buffer is known to hold it until it is written again, however
 * many nodes there are and however they have read it. What is sent is compared with what a model of holders needs. */
#include "plan.h"

/* cmocka.h wants these first. */
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "unit/random.h"

enum { MANY_NODES = 100, MANY_TILES = 24 * 24 };

static uint64_t messages_of_latest(const plan *p)
{
    uint64_t ends = 0;
    for (int i = 0; i < p->count; i++) {
        ends += p->node[i].messages;
    }
    assert_true(ends % 2 == 0);
    return ends / 2;
}

static uint64_t elements_of_latest(const plan *p)
{
    uint64_t ends = 0;
    for (int i = 0; i < p->count; i++) {
        ends += p->node[i].elements;
    }
    return ends / 2;
}

/* ---- tiles: who holds each, by plain arithmetic */

typedef struct tiles {
    plan plan;
    int nodes, side;
    int owner[MANY_TILES];
    bool holds[MANY_TILES][MANY_NODES];
    uint64_t sent, needed;
} tiles;

static void tiles_init(tiles *t, int nodes, int side)
{
    gen_buffer b = plan_buffer(tacit_range2((size_t)side * 2, (size_t)side * 2), true);
    memset(t, 0, sizeof(*t));
    plan_init(&t->plan, nodes, -1, &b, 1);
    t->nodes = nodes;
    t->side = side;
    for (int i = 0; i < MANY_TILES; i++) {
        t->owner[i] = -1; /* all hold the initial contents */
        memset(t->holds[i], 1, sizeof(t->holds[i]));
    }
}

static tacit_mapper tile(const tiles *t, int index)
{
    size_t i = (size_t)(index / t->side), j = (size_t)(index % t->side);
    return tacit_fixed(tacit_box2(2 * i, 2 * i + 2, 2 * j, 2 * j + 2));
}

/* A task on `node` that updates one tile and reads others. Tiles of one owner come in one message. */
static void submit(tiles *t, int node, int updated, const int *read, int reads)
{
    gen_task task = { .name = "t", .range = tacit_range1(1), .access = { plan_update(0, tile(t, updated)) } };
    bool from[MANY_NODES] = { false };
    for (int k = -1; k < reads; k++) {
        int one = k < 0 ? updated : read[k];
        if (!t->holds[one][node]) {
            t->needed += !from[t->owner[one]];
            from[t->owner[one]] = true;
            t->holds[one][node] = true;
        }
        if (k >= 0) {
            task.access[k + 1] = plan_read(0, tile(t, one));
        }
    }
    plan_placed(&t->plan, node, task);
    t->sent += messages_of_latest(&t->plan);
    memset(t->holds[updated], 0, sizeof(t->holds[updated]));
    t->holds[updated][node] = true;
    t->owner[updated] = node;
    assert_int_equal(t->sent, t->needed);
}

static void cholesky(tiles *t, int p, int q)
{
    for (int k = 0; k < t->side; k++) {
        submit(t, k % p * q + k % q, k * t->side + k, NULL, 0);
        for (int i = k + 1; i < t->side; i++) {
            submit(t, i % p * q + k % q, i * t->side + k, (int[]){ k * t->side + k }, 1);
        }
        for (int i = k + 1; i < t->side; i++) {
            for (int j = k + 1; j <= i; j++) {
                submit(t, i % p * q + j % q, i * t->side + j, (int[]){ i * t->side + k, j * t->side + k },
                       i == j ? 1 : 2);
            }
        }
    }
}

static void a_tiled_factorisation_sends_each_tile_once(void **state)
{
    (void)state;
    static tiles t;
    for (int p = 2; p <= 10; p++) {
        int q = p == 7 ? 5 : p;
        tiles_init(&t, p * q, p < 8 ? 2 * p + 3 : p + 3);
        cholesky(&t, p, q);
        assert_true(t.needed > (uint64_t)(p * q));
        plan_fini(&t.plan);
    }
}

static void random_placed_tasks_send_what_is_needed(void **state)
{
    (void)state;
    static tiles t;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        rng r = rng_from(seed);
        tiles_init(&t, seed % 2 ? 64 : (int)rng_between(&r, 3, 99), (int)rng_between(&r, 2, 12));
        int all = t.side * t.side;
        for (int step = 0; step < 700; step++) {
            int read[3];
            for (int k = 0; k < 3; k++) {
                read[k] = (int)rng_between(&r, 0, all - 1);
            }
            int first = (int)rng_between(&r, 0, 3) ? (int)rng_between(&r, 0, 2) : (int)rng_between(&r, 0, all - 1);
            bool apart = first != read[0] && first != read[1] && first != read[2] && read[0] != read[1] &&
                         read[1] != read[2] && read[0] != read[2];
            submit(&t, (int)rng_between(&r, 0, t.nodes - 1), first, read, apart ? 3 : 0);
        }
        plan_fini(&t.plan);
    }
}

/* Columns of tiles of one node are not merged, to be cut again in the next round; who reads all of them makes one
 * entry. */
static void tiles_stay_entries(void **state)
{
    (void)state;
    static tiles t;
    for (int nodes = 5; nodes <= 11; nodes += 3) {
        tiles_init(&t, nodes, 24);
        int all = t.side * t.side;
        for (int i = 0; i < 5 * all; i++) {
            int at = i % all, column = at % t.side, across = (at + all / 2) % all; /* the halves in turns */
            int row = across % (all / 2) / t.side, read[3] = { across }, reads = 1;
            if (column + 1 < t.side) {
                read[reads++] = across + 1;
            }
            if (row > 0) {
                read[reads++] = across - t.side;
            }
            submit(&t, column % nodes, at, read, reads);
        }
        assert_in_range(plan_entries(&t.plan), all - 2 * t.side, all);
        size_t side = 2 * (size_t)t.side;
        gen_task everything = { .name = "R",
                                .range = tacit_range2(side, side),
                                .access = { plan_read(0, tacit_all()) } };
        plan_task(&t.plan, everything);
        assert_int_equal(plan_entries(&t.plan), 1);
        plan_fini(&t.plan);
    }
}

/* ---- one buffer, many readers */

static gen_task reads(tacit_range range, tacit_mapper mapper)
{
    return (gen_task){ .name = "R", .range = range, .access = { plan_read(0, mapper) } };
}

static gen_task writes(tacit_range range, tacit_mapper mapper)
{
    return (gen_task){ .name = "W", .range = range, .access = { plan_write(0, mapper) } };
}

static void placed_readers_are_all_remembered(void **state)
{
    (void)state;
    plan p;
    gen_buffer b = plan_buffer(tacit_range1(64), false);
    for (int nodes = 6; nodes <= 65; nodes += 59) {
        uint64_t sent = 0;
        plan_init(&p, nodes, -1, &b, 1);
        plan_placed(&p, 0, writes(tacit_range1(64), tacit_one_to_one()));
        for (int round = 0; round < 10; round++) {
            for (int q = 1; q < nodes; q++) {
                plan_placed(&p, q * 31 % nodes ? q * 31 % nodes : q, reads(tacit_range1(1), tacit_all()));
                sent += messages_of_latest(&p);
            }
        }
        assert_int_equal(sent, nodes - 1);
        assert_int_equal(plan_entries(&p), 1);
        plan_fini(&p);
    }
}

/* Parts of what the others have written, as many times as there are nodes: then nobody lacks anything. */
static void readers_of_a_split_write_are_remembered(void **state)
{
    (void)state;
    plan p;
    gen_buffer b = plan_buffer(tacit_range1(60), false);
    plan_init(&p, 12, -1, &b, 1);
    plan_task(&p, writes(tacit_range1(60), tacit_one_to_one()));
    uint64_t elements = 0, entries = 0;
    for (int round = 0; round < 3; round++) {
        for (int q = 0; q < 12; q++) {
            plan_placed(&p, q * 5 % 12, reads(tacit_range1(1), tacit_fixed(tacit_box1(7, 43))));
            elements += elements_of_latest(&p);
        }
        entries = round ? entries : plan_entries(&p);
    }
    /* each of twelve lacks what it did not write itself of [7,43) */
    assert_int_equal(elements, 12 * 36 - 36);
    assert_int_equal(plan_entries(&p), entries);
    plan_task(&p, reads(tacit_range1(12), tacit_fixed(tacit_box1(10, 40))));
    assert_int_equal(messages_of_latest(&p), 0);
    plan_task(&p, writes(tacit_range1(60), tacit_one_to_one()));
    assert_int_equal(plan_entries(&p), 1);
    plan_fini(&p);
}

/* A halo below of one width and above of another: none covers another. */
static tacit_mapper halo(int i)
{
    return tacit_components(tacit_dim_scaled(0, 1, 1, 8 - i, i + 1), tacit_full(), tacit_full());
}

static void eight_widths_in_turn_bring_each_element_once(void **state)
{
    (void)state;
    for (int widths = 2; widths <= 8; widths += 3) {
        plan p;
        gen_buffer b = plan_buffer(tacit_range1(320), false);
        plan_init(&p, 16, -1, &b, 1);
        plan_task(&p, writes(tacit_range1(320), tacit_one_to_one()));
        uint64_t elements = 0;
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < widths; i++) {
                plan_task(&p, reads(tacit_range1(320), halo(i)));
                elements += elements_of_latest(&p);
            }
        }
        /* below at most 8, above at most as many as there are widths: over 15 borders */
        assert_int_equal(elements, 15 * (8 + widths));
        plan_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tiled_factorisation_sends_each_tile_once),
        cmocka_unit_test(random_placed_tasks_send_what_is_needed),
        cmocka_unit_test(tiles_stay_entries),
        cmocka_unit_test(placed_readers_are_all_remembered),
        cmocka_unit_test(readers_of_a_split_write_are_remembered),
        cmocka_unit_test(eight_widths_in_turn_bring_each_element_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
