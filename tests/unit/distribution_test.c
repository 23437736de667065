/* Distributions: random ones against the definition, element by element, and ScaLAPACK's rule stated literally. */
#include "grid/distribution.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

/* ScaLAPACK's textbook case: 9 x 9 in blocks of 2 x 2 over 2 x 3 nodes. */
static void the_textbook_case(void **state)
{
    (void)state;
    const ti_box extent = { { 0, 0, 0 }, { 9, 9, 1 } };
    const tacit_distribution given = { .kind = TACIT_DISTRIBUTE_CYCLIC, .grid = { 2, 3 }, .block = { 2, 2 } };
    ti_distribution d = ti_distribution_make(&given, &extent, 6);
    static const int64_t rows[2] = { 5, 4 }, columns[3] = { 4, 3, 2 };
    for (int node = 0; node < 6; node++) {
        int64_t size[3];
        ti_distribution_local(&d, node, size);
        assert_int_equal(size[0], rows[node / 3]);
        assert_int_equal(size[1], columns[node % 3]);
    }
    assert_int_equal(ti_distribution_owner(&d, (const int64_t[3]){ 0, 0, 0 }), 0);
    assert_int_equal(ti_distribution_owner(&d, (const int64_t[3]){ 3, 5, 0 }), 5);
    assert_int_equal(ti_distribution_owner(&d, (const int64_t[3]){ 4, 6, 0 }), 0);
    assert_int_equal(ti_distribution_owner(&d, (const int64_t[3]){ 8, 8, 0 }), 1);
    ti_local_pieces pieces = { 0 };
    ti_distribution_pieces(&d, 1, &pieces); /* columns 2, 3 and 8; rows 0, 1, 4, 5 and 8 */
    assert_int_equal(pieces.count, 6);
    const ti_box last = { { 8, 8, 0 }, { 9, 9, 1 } };
    assert_true(ti_box_equal(&pieces.data[5].box, &last));
    assert_int_equal(8 - pieces.data[5].whole.min[0], 4); /* its place in the local array of 5 x 3 */
    assert_int_equal(8 - pieces.data[5].whole.min[1], 2);
    ti_vec_fini(&pieces);
}

/* Blocks that are dealt out once are a block distribution: the cheap form. */
static void one_round_is_a_block_distribution(void **state)
{
    (void)state;
    const ti_box extent = { { 0, 0, 0 }, { 10, 1, 1 } };
    const tacit_distribution once = { .kind = TACIT_DISTRIBUTE_CYCLIC, .grid = { 4 }, .block = { 3 } };
    const tacit_distribution twice = { .kind = TACIT_DISTRIBUTE_CYCLIC, .grid = { 3 }, .block = { 3 } };
    assert_false(ti_distribution_make(&once, &extent, 4).cyclic);
    assert_true(ti_distribution_make(&twice, &extent, 4).cyclic);
}

/* However large a block is said to be, it is one. */
static void huge_blocks(void **state)
{
    (void)state;
    const ti_box extent = { { 0, 0, 0 }, { 23, 7, 1 } };
    static const size_t sizes[] = { 23, 24, INT64_MAX - 1, INT64_MAX, (size_t)INT64_MAX + 1, SIZE_MAX };
    for (int kind = TACIT_DISTRIBUTE_BLOCK; kind <= TACIT_DISTRIBUTE_CYCLIC; kind++) {
        tacit_distribution given = { .kind = kind, .grid = { 3, 1, 1 }, .block = { 23, 1, 1 } };
        ti_distribution first = ti_distribution_make(&given, &extent, 3);
        for (size_t i = 0; i < TI_COUNT(sizes); i++) {
            given.block[0] = sizes[i];
            ti_distribution d = ti_distribution_make(&given, &extent, 3);
            assert_memory_equal(&d, &first, sizeof(d));
        }
        assert_int_equal(ti_distribution_owner(&first, (const int64_t[3]){ 22, 6, 0 }), 0);
    }
}

/* The default owns what a task's split over the same range gives each node. */
static void the_default_is_the_split(void **state)
{
    (void)state;
    const ti_box extent = { { 0, 0, 0 }, { 23, 7, 1 } };
    const tacit_distribution none = { 0 };
    ti_split_request request = { .range = extent, .gran = { 1, 1, 1 }, .nodes = 5, .place = -1, .oversubscribe = 1 };
    ti_split split = ti_split_make(&request, NULL);
    ti_distribution d = ti_distribution_make(&none, &extent, 5);
    assert_true(ti_split_equal(&d.split, &split));
}

static ti_distribution random_distribution(rng *r, int *nodes)
{
    tacit_distribution given = { .kind = (int)rng_between(r, 0, 1) };
    ti_box extent = { { 0, 0, 0 }, { rng_between(r, 1, 30), rng_between(r, 1, 12), rng_between(r, 1, 5) } };
    *nodes = (int)rng_between(r, 1, 12);
    int left = *nodes;
    for (int k = 0; k < 3; k++) {
        given.block[k] = (size_t)rng_between(r, 0, 5);
        int64_t block = TI_MAX((int64_t)given.block[k], 1), blocks = (extent.max[k] + block - 1) / block;
        int most = k && given.kind == TACIT_DISTRIBUTE_BLOCK ? (int)TI_MIN(blocks, left) : left;
        given.grid[k] = (int)rng_between(r, 1, most);
        left /= given.grid[k];
    }
    return ti_distribution_make(&given, &extent, *nodes);
}

/* Marks what a node's pieces cover; each place of its local array must be used once, and by the element whose rank it
 * is. */
static void check_node(const ti_distribution *d, int node, int *covered)
{
    ti_local_pieces pieces = { 0 };
    int64_t size[3], count = 0;
    ti_distribution_local(d, node, size);
    ti_distribution_pieces(d, node, &pieces);
    for (size_t i = 0; i < pieces.count; i++) {
        const ti_box *b = &pieces.data[i].box, *w = &pieces.data[i].whole;
        assert_true(ti_box_covers(w, b));
        count += ti_box_volume(b);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(w->max[k] - w->min[k], size[k]);
        }
        for (int64_t x = b->min[0]; x < b->max[0]; x++) {
            for (int64_t y = b->min[1]; y < b->max[1]; y++) {
                for (int64_t z = b->min[2]; z < b->max[2]; z++) {
                    const int64_t at[3] = { x, y, z };
                    assert_int_equal(ti_distribution_owner(d, at), node);
                    covered[(x * d->extent.max[1] + y) * d->extent.max[2] + z]++;
                }
            }
        }
    }
    assert_int_equal(count, size[0] * size[1] * size[2]);
    ti_vec_fini(&pieces);
}

static void every_element_has_one_owner(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int round = 0; round < 300; round++) {
        int nodes, covered[30 * 12 * 5] = { 0 };
        ti_distribution d = random_distribution(&r, &nodes);
        for (int node = 0; node < nodes; node++) {
            check_node(&d, node, covered);
        }
        for (int64_t i = 0; i < ti_box_volume(&d.extent); i++) {
            assert_int_equal(covered[i], 1);
        }
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_textbook_case),
        cmocka_unit_test(huge_blocks),
        cmocka_unit_test(one_round_is_a_block_distribution),
        cmocka_unit_test(the_default_is_the_split),
        cmocka_unit_test(every_element_has_one_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
