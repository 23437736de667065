/* Weights of items: borders against the rules that weights.h states, at random, and a few literally. */
#include "grid/weights.h"

#include "grid/split.h"
#include "random.h"

#include <math.h>

static uint64_t seed;

enum { MOST_ITEMS = 300, MOST_PARTS = 40 };

static ti_weights make(const uint64_t *weight, size_t count)
{
    ti_weights w;
    assert_int_equal(ti_weights_init(&w, weight, count), TI_WEIGHTS_OK);
    return w;
}

static uint64_t sum(const uint64_t *weight, int64_t from, int64_t to)
{
    uint64_t s = 0;
    for (int64_t i = from; i < to; i++) {
        s += weight[i];
    }
    return s;
}

static void draw(rng *r, uint64_t *weight, int64_t count)
{
    int64_t heavy = rng_between(r, 0, 2) ? 0 : 2000, zeros = rng_between(r, 0, 3);
    for (int64_t i = 0; i < count; i++) {
        weight[i] = zeros == 3 || (zeros && rng_between(r, 0, zeros) == 0) ? 0 : (uint64_t)rng_between(r, 1, 9);
        weight[i] += heavy && rng_between(r, 0, 20) == 0 ? (uint64_t)rng_between(r, 1, heavy) : 0;
    }
}

/* The heaviest granule of the cut. */
static uint64_t heaviest(const uint64_t *weight, const ti_weights_cut *c)
{
    uint64_t most = 0;
    for (int64_t at = c->lo; at < c->hi; at += c->gran) {
        uint64_t s = sum(weight, at, TI_MIN(at + c->gran, c->hi));
        most = TI_MAX(most, s);
    }
    return most;
}

static void check_borders(const uint64_t *weight, const ti_weights_cut *c, const int64_t *border)
{
    uint64_t most = 0;
    assert_int_equal(border[0], c->lo);
    assert_int_equal(border[c->parts], c->hi);
    for (int64_t p = 0; p < c->parts; p++) {
        assert_true(border[p] < border[p + 1]);
        assert_int_equal((border[p] - c->lo) % c->gran, 0);
        uint64_t s = sum(weight, border[p], border[p + 1]);
        most = TI_MAX(most, s);
    }
    double average = (double)sum(weight, c->lo, c->hi) / (double)c->parts;
    if (!c->share) {
        assert_true((double)most <= average + (double)heaviest(weight, c) * (1 + log((double)c->parts)) + 1e-6);
    }
}

static void random_cuts(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int i = 0; i < 20000; i++) {
        uint64_t weight[MOST_ITEMS];
        uint32_t share[MOST_PARTS];
        int64_t border[MOST_PARTS + 1], count = rng_between(&r, 1, MOST_ITEMS), one[2];
        draw(&r, weight, count);
        ti_weights w = make(weight, (size_t)count);
        ti_weights_cut c = { .lo = rng_between(&r, 0, count - 1), .gran = rng_between(&r, 1, 5), .per = 1 };
        c.hi = rng_between(&r, c.lo + 1, count);
        c.parts = rng_between(&r, 1, TI_MIN((int64_t)MOST_PARTS, ti_ceil_div(c.hi - c.lo, c.gran)));
        for (int p = 0; p < MOST_PARTS; p++) {
            share[p] = (uint32_t)rng_between(&r, 0, 4);
        }
        c.share = rng_between(&r, 0, 1) ? share : NULL;
        c.per = rng_between(&r, 1, 3);
        ti_weights_borders(&w, &c, border);
        check_borders(weight, &c, border);
        int64_t p = rng_between(&r, 0, c.parts - 1);
        ti_weights_part(&w, &c, p, one);
        assert_true(one[0] == border[p] && one[1] == border[p + 1]);
        ti_weights_fini(&w);
    }
}

#define BORDERS(weights_, gran_, ...)                                                                                  \
    do {                                                                                                               \
        const uint64_t given_[] = { __VA_ARGS__ };                                                                     \
        ti_weights w_ = make(weights_, sizeof(weights_) / sizeof(weights_[0]));                                        \
        int64_t border_[MOST_PARTS + 1];                                                                               \
        const ti_weights_cut c_ = { .hi = w_.count, .gran = gran_, .parts = (int64_t)TI_COUNT(given_) - 1 };           \
        ti_weights_borders(&w_, &c_, border_);                                                                         \
        for (size_t i_ = 0; i_ < TI_COUNT(given_); i_++) {                                                             \
            assert_int_equal(border_[i_], given_[i_]);                                                                 \
        }                                                                                                              \
        ti_weights_fini(&w_);                                                                                          \
    } while (0)

static void literally(void **state)
{
    (void)state;
    static const uint64_t even[] = { 1, 1, 1, 1, 1, 1, 1, 1 }, ramp[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const uint64_t first[] = { 90, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, last[] = { 1, 1, 1, 1, 1, 1, 1, 90 };
    static const uint64_t none[] = { 0, 0, 0, 0, 0, 0, 0, 0 }, tail[] = { 5, 5, 0, 0, 0, 0, 0, 0 };
    BORDERS(even, 1, 0, 4, 8);
    BORDERS(even, 1, 0, 3, 6, 8);
    BORDERS(ramp, 1, 0, 5, 8); /* 15 and 21 are equally near to 18: the first counts */
    BORDERS(ramp, 4, 0, 4, 8);
    BORDERS(first, 1, 0, 1, 4, 7, 10); /* the heavy one alone, and the others share the rest */
    BORDERS(last, 1, 0, 7, 8);
    BORDERS(none, 1, 0, 2, 4, 6, 8);
    BORDERS(tail, 1, 0, 1, 2, 5, 8); /* nothing is left for the last two */
}

/* Nodes with weights get sums in proportion. */
static void shares(void **state)
{
    (void)state;
    uint64_t weight[120];
    const uint32_t share[] = { 1, 2, 0, 4 };
    int64_t border[5];
    for (int i = 0; i < 120; i++) {
        weight[i] = i < 40 ? 4 : 1;
    }
    ti_weights w = make(weight, 120);
    const ti_split_request q = { .range = { { 0, 0, 0 }, { 120, 3, 1 } },
                                 .gran = { 1, 1, 1 },
                                 .nodes = 4,
                                 .place = -1,
                                 .oversubscribe = 1,
                                 .weights = share };
    assert_int_equal(ti_split_cut(&q, &w, border), 5); /* of 240: 30, 60, 30, 120 */
    assert_true(border[1] == 7 || border[1] == 8);
    assert_true(sum(weight, border[3], 120) >= 116 && sum(weight, border[3], 120) <= 124);
    ti_split_request with = q;
    with.border = border;
    ti_split s = ti_split_make(&with, NULL);
    for (int64_t c = 0; c < 4; c++) {
        ti_box b = ti_split_chunk(&s, c);
        assert_true(b.min[0] == border[c] && b.max[0] == border[c + 1] && b.max[1] == 3);
        assert_int_equal(ti_split_node(&s, c), c);
        assert_int_equal(ti_split_part(&s, 0, border[c]), c);
        assert_int_equal(ti_split_part(&s, 0, border[c + 1] - 1), c);
    }
    ti_weights_fini(&w);
}

static void equal_and_not(void **state)
{
    (void)state;
    const uint64_t x[] = { 1, 2, 3 }, y[] = { 1, 2, 3 }, z[] = { 1, 3, 2 };
    const uint64_t much[] = { (uint64_t)1 << 61, (uint64_t)1 << 61, 1 };
    ti_weights a = make(x, 3), b = make(y, 3), c = make(z, 3), d = make(x, 2), e = make(much, 2), f;
    assert_true(ti_weights_equal(&a, &b));
    assert_false(ti_weights_equal(&a, &c));
    assert_false(ti_weights_equal(&a, &d));
    assert_int_equal(ti_weights_init(&f, much, 3), TI_WEIGHTS_TOO_MUCH);
    const ti_weights_cut cut = { .hi = 2, .gran = 1, .parts = 2 };
    int64_t border[3];
    ti_weights_borders(&e, &cut, border);
    assert_int_equal(border[1], 1);
    ti_weights *all[] = { &a, &b, &c, &d, &e };
    for (size_t i = 0; i < TI_COUNT(all); i++) {
        ti_weights_fini(all[i]);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cuts),
        cmocka_unit_test(literally),
        cmocka_unit_test(shares),
        cmocka_unit_test(equal_and_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
