/* Numbers of tiles: equal boxes have one, others have others, and there is a bound. */
#include "grid/tile.h"

#include "random.h"

static ti_box square(int64_t i, int64_t j, int64_t side)
{
    return (ti_box){ { i * side, j * side, 0 }, { (i + 1) * side, (j + 1) * side, 1 } };
}

static void numbers(void **state)
{
    (void)state;
    enum { SIDE = 60 };
    ti_tiles *tiles = NULL;
    uint32_t last = 0;
    for (int round = 0; round < 2; round++) {
        uint32_t expected = 0;
        for (int64_t side = 1; side < 3; side++) { /* boxes of two sizes share corners */
            for (int64_t i = 0; i < (int64_t)SIDE * SIDE; i++) {
                const ti_box box = square(i / SIDE, i % SIDE, side);
                assert_int_equal(ti_tiles_number(&tiles, 2, &box), ++expected);
            }
        }
        last = expected;
    }
    const ti_box slab = { { 0, 0, 0 }, { 1, 2, 1 } };
    assert_int_equal(ti_tiles_number(&tiles, 2, &slab), last + 1);
    ti_tiles_destroy(tiles);
    ti_tiles_destroy(NULL);
}

static void is_bounded(void **state)
{
    (void)state;
    ti_tiles *tiles = NULL;
    uint64_t before = ti_alloc_live();
    for (int64_t i = 0; i < TI_TILES; i++) {
        const ti_box box = { { i, 0, 0 }, { i + 1, 1, 1 } };
        assert_int_equal(ti_tiles_number(&tiles, 1, &box), i + 1);
    }
    const ti_box first = { { 0, 0, 0 }, { 1, 1, 1 } }, more = { { TI_TILES, 0, 0 }, { TI_TILES + 1, 1, 1 } };
    assert_int_equal(ti_tiles_number(&tiles, 1, &more), 0);
    assert_int_equal(ti_tiles_number(&tiles, 1, &first), 1);
    assert_true(ti_alloc_live() - before < (uint64_t)28 * TI_TILES);
    ti_tiles_destroy(tiles);
    assert_int_equal(ti_alloc_live(), before);
}

static void notes(void **state)
{
    (void)state;
    ti_tile_notes *notes = NULL;
    assert_int_equal(ti_tile_note_of(notes, 5), 0);
    ti_tile_note(&notes, 0, 7);
    assert_null(notes);
    for (uint32_t i = 1; i < 3000; i += 7) {
        ti_tile_note(&notes, i, i + 1);
    }
    for (uint32_t i = 0; i < 4000; i++) {
        assert_int_equal(ti_tile_note_of(notes, i), i % 7 == 1 && i < 3000 ? i + 1 : 0);
    }
    ti_tile_notes_destroy(notes);
    ti_tile_notes_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers), cmocka_unit_test(is_bounded),
                                        cmocka_unit_test(notes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
