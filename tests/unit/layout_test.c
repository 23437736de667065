/* Blocks and copies against element-wise addressing: every element of random boxes in random allocations, and the exact
 * folding of the shapes that matter. */
#include "grid/layout.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

static ti_box box3(int64_t a0, int64_t b0, int64_t a1, int64_t b1, int64_t a2, int64_t b2)
{
    return (ti_box){ { a0, a1, a2 }, { b0, b1, b2 } };
}

static void expect_block(const ti_box *whole, const ti_box *box, size_t elem_size, const ti_block *expected)
{
    char *base = (char *)(uintptr_t)0x1000;
    ti_block b = ti_layout_block(base, whole, box, elem_size);
    assert_int_equal(b.base - base, (intptr_t)expected->base);
    assert_int_equal(b.run, expected->run);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(b.count[i], expected->count[i]);
        assert_int_equal(b.stride[i], expected->stride[i]);
    }
}

#define EXPECT(whole, box, at, length, c0, c1, s0, s1)                                                                 \
    expect_block(&(whole), &(box), 8,                                                                                  \
                 &(ti_block){ (char *)(uintptr_t)(8 * (at)), 8 * (length), { c0, c1 }, { 8 * (s0), 8 * (s1) } })

static void folding_is_exact(void **state)
{
    (void)state;
    ti_box whole = box3(10, 14, 20, 25, 30, 36);
    ti_box all = whole, planes = box3(11, 13, 20, 25, 30, 36), rows = box3(11, 12, 21, 24, 30, 36);
    EXPECT(whole, all, 0, 120, 1, 1, 120, 120);
    EXPECT(whole, planes, 30, 60, 1, 1, 60, 60);
    EXPECT(whole, rows, 36, 18, 1, 1, 18, 18);
    ti_box row_part = box3(11, 12, 21, 22, 32, 35), one = box3(13, 14, 24, 25, 35, 36);
    EXPECT(whole, row_part, 38, 3, 1, 1, 3, 3);
    EXPECT(whole, one, 119, 1, 1, 1, 1, 1);
    ti_box rows_of_planes = box3(10, 13, 21, 23, 30, 36), inner = box3(11, 13, 21, 24, 31, 35);
    EXPECT(whole, rows_of_planes, 6, 12, 1, 3, 90, 30);
    EXPECT(whole, inner, 37, 4, 2, 3, 30, 6);
    ti_box column = box3(10, 11, 20, 25, 33, 34), columns = box3(10, 14, 20, 25, 33, 34);
    ti_box deep = box3(10, 14, 22, 23, 33, 34);
    EXPECT(whole, column, 3, 1, 1, 5, 30, 6);
    EXPECT(whole, columns, 3, 1, 1, 20, 120, 6);
    EXPECT(whole, deep, 15, 1, 1, 4, 120, 30);
    ti_box line = box3(0, 100, 0, 1, 0, 1), part = box3(40, 60, 0, 1, 0, 1), nothing = box3(40, 40, 0, 1, 0, 1);
    EXPECT(line, part, 40, 20, 1, 1, 20, 20);
    ti_block empty = ti_layout_block(NULL, &line, &nothing, 8);
    assert_int_equal(ti_block_bytes(&empty), 0);
}

static ti_box random_around(rng *r, const ti_box *box)
{
    ti_box whole = *box;
    for (int d = 0; d < 3; d++) {
        whole.min[d] -= rng_between(r, 0, 1) ? 0 : rng_between(r, 0, 3);
        whole.max[d] += rng_between(r, 0, 1) ? 0 : rng_between(r, 0, 3);
    }
    return whole;
}

static unsigned char *element(unsigned char *base, const ti_box *whole, const int64_t at[3], size_t elem_size)
{
    int64_t rows = whole->max[1] - whole->min[1], columns = whole->max[2] - whole->min[2];
    int64_t index = ((at[0] - whole->min[0]) * rows + (at[1] - whole->min[1])) * columns + (at[2] - whole->min[2]);
    return base + (size_t)index * elem_size;
}

/* Copies one box by elements. */
static void copy_plainly(unsigned char *to, const ti_box *to_whole, unsigned char *from, const ti_box *from_whole,
                         const ti_box *box, size_t elem_size)
{
    for (int64_t x = box->min[0]; x < box->max[0]; x++) {
        for (int64_t y = box->min[1]; y < box->max[1]; y++) {
            for (int64_t z = box->min[2]; z < box->max[2]; z++) {
                const int64_t at[3] = { x, y, z };
                unsigned char *t = element(to, to_whole, at, elem_size);
                assert_int_equal(t - to, ti_layout_offset(to_whole, at, elem_size));
                memcpy(t, element(from, from_whole, at, elem_size), elem_size);
            }
        }
    }
}

static void copies_every_element(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 2, 3, 4, 8, 12, 16, 24, 100 };
    rng r = rng_from(seed);
    for (int round = 0; round < 3000; round++) {
        ti_box box = rng_box(&r, (int)rng_between(&r, 0, 3), 6, round % 20 == 0 ? 0 : 1, 6);
        ti_box to_whole = random_around(&r, &box), from_whole = random_around(&r, &box);
        size_t elem_size = sizes[rng_between(&r, 0, TI_COUNT(sizes) - 1)];
        size_t to_size = (size_t)ti_box_volume(&to_whole) * elem_size;
        size_t from_size = (size_t)ti_box_volume(&from_whole) * elem_size;
        unsigned char *to = malloc(to_size + 1), *expected = malloc(to_size + 1), *from = malloc(from_size + 1);
        for (size_t i = 0; i < from_size; i++) {
            from[i] = (unsigned char)rng_next(&r);
        }
        memset(to, 0xee, to_size);
        memset(expected, 0xee, to_size);
        ti_block t = ti_layout_block((char *)to, &to_whole, &box, elem_size);
        ti_block f = ti_layout_block((char *)from, &from_whole, &box, elem_size);
        assert_int_equal(ti_block_bytes(&t), (size_t)ti_box_volume(&box) * elem_size);
        ti_layout_copy(&t, &f);
        copy_plainly(expected, &to_whole, from, &from_whole, &box, elem_size);
        assert_memory_equal(to, expected, to_size);
        if (!ti_box_is_empty(&box)) { /* the same, folded alike */
            memset(to, 0xee, to_size);
            ti_layout_match(&t, &f);
            assert_true(t.run == f.run && t.count[0] == f.count[0] && t.count[1] == f.count[1]);
            assert_true(t.count[0] == 1 || t.count[1] > 1);
            ti_layout_copy(&t, &f);
            assert_memory_equal(to, expected, to_size);
        }
        free(to);
        free(expected);
        free(from);
    }
}

/* An allocation that grows in place holds what a copy into a new one would. */
static void widening_moves_every_element(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 3, 8, 12 };
    rng r = rng_from(seed + 1);
    for (int round = 0; round < 3000; round++) {
        ti_box old = rng_box(&r, (int)rng_between(&r, 0, 3), 6, 1, 6), whole = random_around(&r, &old);
        size_t elem_size = sizes[rng_between(&r, 0, TI_COUNT(sizes) - 1)];
        size_t old_size = (size_t)ti_box_volume(&old) * elem_size, size = (size_t)ti_box_volume(&whole) * elem_size;
        unsigned char *grown = malloc(size + 1), *expected = malloc(size + 1), *from = malloc(old_size + 1);
        for (size_t i = 0; i < old_size; i++) {
            from[i] = (unsigned char)rng_next(&r);
        }
        memcpy(grown, from, old_size);
        copy_plainly(expected, &whole, from, &old, &old, elem_size);
        ti_layout_widen((char *)grown, &old, &whole, elem_size);
        for (int64_t x = old.min[0]; x < old.max[0]; x++) {
            for (int64_t y = old.min[1]; y < old.max[1]; y++) {
                const int64_t at[3] = { x, y, old.min[2] };
                size_t row = (size_t)(old.max[2] - old.min[2]) * elem_size,
                       first = ti_layout_offset(&whole, at, elem_size);
                assert_memory_equal(grown + first, expected + first, row);
            }
        }
        free(grown);
        free(expected);
        free(from);
    }
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(folding_is_exact), cmocka_unit_test(copies_every_element),
                                        cmocka_unit_test(widening_moves_every_element) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
