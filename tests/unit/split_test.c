/* Splits: random ones against enumeration, and the rules of the split stated literally. */
#include "grid/split.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

enum { MOST_PARTS = 64 * 4 };

static ti_split_request random_request(rng *r, uint32_t *weights)
{
    ti_split_request q = { .nodes = (int)rng_between(r, 1, 64),
                           .place = -1,
                           .oversubscribe = (int)rng_between(r, 1, 3) };
    for (int d = 0; d < 3; d++) {
        q.range.min[d] = d < 2 || rng_between(r, 0, 1) ? rng_between(r, 0, 9) : 0;
        q.range.max[d] = q.range.min[d] + rng_between(r, 1, d == 0 ? 200 : 12);
        q.gran[d] = rng_between(r, 1, 4) == 1 ? rng_between(r, 1, 7) : 1;
    }
    q.two_dimensional = rng_between(r, 0, 1);
    if (rng_between(r, 0, 4) == 0) {
        q.place = (int)rng_between(r, 0, q.nodes - 1);
    }
    for (int i = 0; i < q.nodes; i++) {
        weights[i] = (uint32_t)rng_between(r, 0, 9);
    }
    if (rng_between(r, 0, 2) == 0) {
        q.two_dimensional = false;
        q.weights = weights;
    }
    return q;
}

static bool has(const ti_box *b, const int64_t at[3])
{
    return b->min[0] <= at[0] && at[0] < b->max[0] && b->min[1] <= at[1] && at[1] < b->max[1] && b->min[2] <= at[2] &&
           at[2] < b->max[2];
}

/* Chunks are not empty, lie on granules, and every index lies in the chunk of its parts and in no other. */
static void check_chunks(const ti_split *s, const ti_split_request *q)
{
    int64_t volume = 0;
    for (int64_t c = 0; c < s->chunks; c++) {
        ti_box b = ti_split_chunk(s, c);
        assert_false(ti_box_is_empty(&b));
        volume += ti_box_volume(&b);
        for (int d = 0; d < 3; d++) {
            assert_true(b.min[d] >= q->range.min[d] && b.max[d] <= q->range.max[d]);
            assert_int_equal((b.min[d] - q->range.min[d]) % q->gran[d], 0);
            assert_true(b.max[d] == q->range.max[d] || (b.max[d] - q->range.min[d]) % q->gran[d] == 0);
        }
    }
    assert_int_equal(volume, ti_box_volume(&q->range));
}

static void check_parts(const ti_split *s, const ti_split_request *q, rng *r)
{
    for (int i = 0; i < 50; i++) {
        int64_t at[3], part[3];
        for (int d = 0; d < 3; d++) {
            at[d] = rng_between(r, q->range.min[d], q->range.max[d] - 1);
            part[d] = ti_split_part(s, d, at[d]);
        }
        int64_t chunk = (part[0] * s->parts[1] + part[1]) * s->parts[2] + part[2];
        ti_box b = ti_split_chunk(s, chunk);
        assert_true(chunk >= 0 && chunk < s->chunks && has(&b, at));
    }
}

static void check_nodes(const ti_split *s, const ti_split_request *q)
{
    int a, b;
    ti_split_nodes(s, &a, &b);
    int64_t sum = 0;
    for (int n = 0; n < q->nodes; n++) {
        int64_t first, count = ti_split_chunks_of(s, n, &first);
        sum += count;
        assert_int_equal(count > 0, a <= n && n < b);
        for (int64_t c = first; c < first + count; c++) {
            assert_int_equal(ti_split_node(s, c), n);
        }
    }
    assert_int_equal(sum, s->chunks);
    assert_true(q->place < 0 || (a == q->place && b == q->place + 1 && s->chunks == 1));
    assert_true(s->per_node <= q->oversubscribe);
}

static void random_splits(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int i = 0; i < 2000; i++) {
        uint32_t weights[64];
        int64_t table[MOST_PARTS], other[MOST_PARTS];
        ti_split_request q = random_request(&r, weights);
        ti_split s = ti_split_make(&q, table), same = ti_split_make(&q, other);
        check_chunks(&s, &q);
        check_parts(&s, &q, &r);
        check_nodes(&s, &q);
        assert_true(ti_split_equal(&s, &same) && ti_split_hash(&s) == ti_split_hash(&same));
        q.range.max[0]++;
        ti_split longer = ti_split_make(&q, other);
        assert_false(ti_split_equal(&s, &longer));
    }
}

static ti_split split_of(int64_t n0, int64_t n1, int nodes, bool two, int64_t gran)
{
    ti_split_request q = {
        .range = { { 0, 0, 0 }, { n0, n1, 1 } }, .gran = { gran, 1, 1 }, .nodes = nodes, .place = -1, .oversubscribe = 1
    };
    q.two_dimensional = two;
    return ti_split_make(&q, NULL);
}

/* Ten items over four nodes: 3, 3, 2, 2. With granules of four: 4, 4, 2, and the last node has nothing. */
static void one_dimension(void **state)
{
    (void)state;
    static const int64_t borders[] = { 0, 3, 6, 8, 10 }, coarse[] = { 0, 4, 8, 10 };
    ti_split s = split_of(10, 1, 4, false, 1);
    assert_int_equal(s.chunks, 4);
    for (int i = 0; i <= 4; i++) {
        assert_int_equal(ti_split_border(&s, 0, i), borders[i]);
    }
    s = split_of(10, 1, 4, false, 4);
    assert_int_equal(s.chunks, 3);
    for (int i = 0; i <= 3; i++) {
        assert_int_equal(ti_split_border(&s, 0, i), coarse[i]);
    }
}

/* Parts are as square as the number of nodes allows, more of them along the longer side. */
static void two_dimensions(void **state)
{
    (void)state;
    static const int64_t expected[][5] = { { 64, 64, 16, 4, 4 }, { 64, 32, 6, 3, 2 }, { 32, 64, 6, 2, 3 },
                                           { 64, 64, 7, 7, 1 },  { 3, 64, 16, 3, 4 }, { 64, 64, 2, 2, 1 },
                                           { 32, 64, 2, 1, 2 },  { 1, 1, 9, 1, 1 } };
    for (size_t i = 0; i < TI_COUNT(expected); i++) {
        const int64_t *e = expected[i];
        ti_split s = split_of(e[0], e[1], (int)e[2], true, 1);
        assert_int_equal(s.parts[0], e[3]);
        assert_int_equal(s.parts[1], e[4]);
        assert_int_equal(s.parts[2], 1);
    }
}

/* Shares follow the weights; a weight of zero still gets a granule. */
static void weights(void **state)
{
    (void)state;
    static const uint32_t w[] = { 1, 3, 4, 2 }, none[] = { 0, 100, 100, 100 };
    static const int64_t borders[] = { 0, 10, 40, 80, 100 };
    int64_t table[5];
    ti_split_request q = { .range = { { 0, 0, 0 }, { 100, 1, 1 } },
                           .gran = { 1, 1, 1 },
                           .nodes = 4,
                           .place = -1,
                           .oversubscribe = 1,
                           .weights = w };
    ti_split s = ti_split_make(&q, table);
    for (int i = 0; i <= 4; i++) {
        assert_int_equal(ti_split_border(&s, 0, i), borders[i]);
    }
    q.weights = none;
    s = ti_split_make(&q, table);
    assert_true(ti_split_border(&s, 0, 1) >= 1 && ti_split_border(&s, 0, 1) <= 2);
    ti_split uniform = split_of(100, 1, 4, false, 1);
    assert_false(ti_split_equal(&s, &uniform));
}

/* A million nodes: parts of any index in constant time, and exactly. */
static void many_nodes(void **state)
{
    (void)state;
    int nodes = 1 << 20;
    ti_split s = split_of(3 * (int64_t)nodes + 5, 1, nodes, false, 1);
    assert_int_equal(s.chunks, nodes);
    assert_int_equal(ti_split_border(&s, 0, 5), 20);
    assert_int_equal(ti_split_border(&s, 0, 6), 23);
    assert_int_equal(ti_split_part(&s, 0, 19), 4);
    assert_int_equal(ti_split_part(&s, 0, 20), 5);
    assert_int_equal(ti_split_part(&s, 0, 3 * (int64_t)nodes + 4), nodes - 1);
}

/* One chunk per node, each of which is the whole range, whatever else was asked for. */
static void everywhere(void **state)
{
    (void)state;
    ti_split_request q = { .range = { { 2, 0, 0 }, { 9, 4, 1 } },
                           .gran = { 3, 1, 1 },
                           .nodes = 5,
                           .place = TI_PLACE_EVERYWHERE,
                           .oversubscribe = 2,
                           .two_dimensional = true };
    ti_split s = ti_split_make(&q, NULL);
    int a, b;
    ti_split_nodes(&s, &a, &b);
    assert_true(a == 0 && b == 5 && s.chunks == 5);
    for (int n = 0; n < 5; n++) {
        int64_t first;
        assert_int_equal(ti_split_chunks_of(&s, n, &first), 1);
        assert_int_equal(ti_split_node(&s, first), n);
        ti_box chunk = ti_split_chunk(&s, first);
        assert_true(ti_box_equal(&chunk, &q.range));
    }
    q.gran[0] = 1;
    q.two_dimensional = false;
    q.oversubscribe = 1;
    ti_split same = ti_split_make(&q, NULL);
    assert_true(ti_split_equal(&s, &same) && ti_split_hash(&s) == ti_split_hash(&same));
    q.place = TI_PLACE_SPLIT;
    same = ti_split_make(&q, NULL);
    assert_false(ti_split_equal(&s, &same));
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_splits), cmocka_unit_test(one_dimension), cmocka_unit_test(two_dimensions),
        cmocka_unit_test(weights),       cmocka_unit_test(many_nodes),    cmocka_unit_test(everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
