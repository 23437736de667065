/* Boxes against single indices: every operation on random pairs of small boxes is checked cell by cell. */
#include "grid/box.h"

#include "random.h"

#include <string.h>

enum { SIZE = 6 };

static uint64_t seed;

static bool has(const ti_box *b, const int64_t at[3])
{
    return b->min[0] <= at[0] && at[0] < b->max[0] && b->min[1] <= at[1] && at[1] < b->max[1] && b->min[2] <= at[2] &&
           at[2] < b->max[2];
}

/* How often the cell lies in one of n boxes. */
static int hits(const ti_box *b, int n, const int64_t at[3])
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += has(&b[i], at);
    }
    return count;
}

typedef struct pair {
    ti_box a, b, shared, pieces[6];
    int n;
    int64_t volume, both;
    bool covers;
} pair;

static void visit(pair *p, const int64_t at[3])
{
    bool a = has(&p->a, at), b = has(&p->b, at);
    p->volume += a;
    p->both += a && b;
    p->covers &= a || !b;
    assert_int_equal(has(&p->shared, at), a && b);
    assert_int_equal(hits(p->pieces, p->n, at), a && !b);
}

/* Dimension 0 first, below before above: each piece lies on the side of b that its place in the order says. */
static void check_cut_order(const pair *p)
{
    int last = -1;
    for (int i = 0; i < p->n && ti_box_meets(&p->a, &p->b); i++) {
        int side = -1;
        for (int d = 2; d >= 0; d--) {
            side = p->pieces[i].max[d] <= p->b.min[d] ? 2 * d : p->pieces[i].min[d] >= p->b.max[d] ? 2 * d + 1 : side;
        }
        assert_true(side > last);
        last = side;
    }
}

static void pairs(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int round = 0; round < 4000; round++) {
        pair p = { .covers = true };
        p.a = rng_box(&r, 3, SIZE, 1, SIZE);
        p.b = rng_box(&r, 3, SIZE, 1, SIZE);
        p.shared = ti_box_intersect(&p.a, &p.b);
        p.n = ti_box_subtract(&p.a, &p.b, p.pieces);
        assert_in_range(p.n, 0, 6);
        for (int64_t i = 0; i < SIZE * SIZE * SIZE; i++) {
            const int64_t at[3] = { i / SIZE / SIZE, i / SIZE % SIZE, i % SIZE };
            visit(&p, at);
        }
        check_cut_order(&p);
        assert_int_equal(ti_box_volume(&p.a), p.volume);
        assert_int_equal(ti_box_volume(&p.shared), p.both);
        assert_int_equal(ti_box_meets(&p.a, &p.b), p.both > 0);
        assert_int_equal(ti_box_is_empty(&p.shared), p.both == 0);
        assert_int_equal(ti_box_covers(&p.a, &p.b), p.covers);
    }
}

/* Two boxes join if and only if they are disjoint and their bounding box has no cell more than they. */
static void joins(void **state)
{
    (void)state;
    rng r = rng_from(seed + 1);
    int joined = 0;
    for (int round = 0; round < 20000; round++) {
        ti_box a = rng_box(&r, 3, 3, 1, 3), b = rng_box(&r, 3, 3, 1, 3), out;
        ti_box all = ti_box_bounding(&a, &b);
        assert_true(ti_box_covers(&all, &a) && ti_box_covers(&all, &b));
        bool expected = !ti_box_meets(&a, &b) && ti_box_volume(&all) == ti_box_volume(&a) + ti_box_volume(&b);
        assert_int_equal(ti_box_join(&a, &b, &out), expected);
        if (expected) {
            assert_true(ti_box_equal(&out, &all));
            joined++;
        }
    }
    assert_true(joined > 0);
}

static void order(void **state)
{
    (void)state;
    rng r = rng_from(seed + 2);
    for (int round = 0; round < 2000; round++) {
        ti_box a = rng_box(&r, 3, 3, 1, 3), b = rng_box(&r, 3, 3, 1, 3);
        int64_t x[6], y[6];
        memcpy(x, &a, sizeof(x));
        memcpy(y, &b, sizeof(y));
        int expected = 0;
        for (int i = 0; i < 6 && !expected; i++) {
            expected = (x[i] > y[i]) - (x[i] < y[i]);
        }
        int got = ti_box_compare(&a, &b);
        assert_int_equal((got > 0) - (got < 0), expected);
        assert_int_equal(ti_box_equal(&a, &b), expected == 0);
    }
}

static void text(void **state)
{
    (void)state;
    char buffer[TI_BOX_TEXT];
    ti_box a = { { 0, 2, -7 }, { 4, 3, 1 } };
    ti_box far = { { INT64_MIN, INT64_MIN, INT64_MIN }, { INT64_MAX, INT64_MAX, INT64_MAX } };
    assert_string_equal(ti_box_format(&a, 2, buffer), "[0,4)x[2,3)");
    assert_string_equal(ti_box_format(&a, 3, buffer), "[0,4)x[2,3)x[-7,1)");
    assert_string_equal(ti_box_format(&a, 0, buffer), "[]");
    assert_int_equal(strlen(ti_box_format(&far, 3, buffer)), 3 * 43 - 1);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(pairs), cmocka_unit_test(joins), cmocka_unit_test(order),
                                        cmocka_unit_test(text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
