/* Arenas: contents stay, alignment, no allocation once the blocks are there; and the ring's rule which are recycled. */
#include "base/arena.h"

#include "random.h"

#include <string.h>

static uint64_t seed;

static void fill_arena(ti_arena *arena, rng *r)
{
    enum { PIECES = 400 };
    unsigned char *piece[PIECES];
    size_t size[PIECES];
    for (int i = 0; i < PIECES; i++) {
        size[i] = (size_t)(i % 50 == 49 ? rng_between(r, 0, 60000) : rng_between(r, 0, 300));
        piece[i] = ti_arena_alloc(arena, size[i]);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        memset(piece[i], i & 255, size[i]);
    }
    for (int i = 0; i < PIECES; i++) {
        for (size_t k = 0; k < size[i]; k++) {
            assert_int_equal(piece[i][k], i & 255);
        }
    }
}

static void contents_stay(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    ti_arena arena = { 0 };
    for (int round = 0; round < 20; round++) {
        fill_arena(&arena, &r);
    }
    int *zero = ti_arena_alloc_zero(&arena, 100 * sizeof(int));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(zero[i], 0);
    }
    const char *text = ti_arena_copy(&arena, "arena", 6);
    assert_string_equal(text, "arena");
    assert_non_null(ti_arena_copy(&arena, NULL, 0));
    assert_int_equal(*TI_ARENA_NEW(&arena, uint64_t), 0);
    ti_arena_fini(&arena);
    assert_int_equal(ti_alloc_live(), 0);
}

static void same_work_allocates_once(void **state)
{
    (void)state;
    ti_arena_ring ring;
    uint64_t calls = 0;
    ti_arena_ring_init(&ring);
    for (uint64_t round = 1; round < 10; round++) {
        rng r = rng_from(seed);
        fill_arena(ti_arena_ring_top(&ring), &r);
        ti_arena_ring_advance(&ring, round);
        ti_arena_ring_release(&ring, round);
        calls = round == 4 ? ti_alloc_calls() : calls; /* three rounds of blocks are under way at most */
    }
    assert_int_equal(ti_alloc_calls(), calls);
    ti_arena_ring_fini(&ring);
    assert_int_equal(ti_alloc_live(), 0);
}

/* Each arena holds a word that names the horizon that will close it; reuse of a recycled arena overwrites its word. */
static void ring_keeps_what_is_needed(void **state)
{
    (void)state;
    enum { HORIZONS = 500 };
    ti_arena_ring ring;
    uint64_t *word[HORIZONS + 1], executed = 0;
    rng r = rng_from(seed);
    ti_arena_ring_init(&ring);
    for (uint64_t h = 1; h <= HORIZONS; h++) {
        word[h] = ti_arena_alloc(ti_arena_ring_top(&ring), sizeof(uint64_t));
        *word[h] = h;
        ti_arena_ring_advance(&ring, h);
        if (rng_between(&r, 0, 2) || h - executed > 20) {
            executed += (uint64_t)rng_between(&r, 0, (int64_t)(h - executed));
            ti_arena_ring_release(&ring, executed);
        }
        for (uint64_t k = executed ? executed : 1; k <= h; k++) {
            assert_int_equal(*word[k], k);
        }
        assert_int_equal(ring.count, executed ? h - executed + 2 : h + 1);
    }
    ti_arena_ring_release(&ring, HORIZONS);
    assert_int_equal(ring.count, 2);
    ti_arena_ring_fini(&ring);
    assert_int_equal(ti_alloc_live(), 0);
}

static void ring_reaches_steady_state(void **state)
{
    (void)state;
    ti_arena_ring ring;
    uint64_t calls = 0;
    ti_arena_ring_init(&ring);
    for (uint64_t h = 1; h < 200; h++) {
        for (int i = 0; i < 2000; i++) {
            ti_arena_alloc(ti_arena_ring_top(&ring), 100);
        }
        ti_arena_ring_advance(&ring, h);
        ti_arena_ring_release(&ring, h > 4 ? h - 4 : 0);
        calls = h == 20 ? ti_alloc_calls() : calls;
    }
    assert_int_equal(ti_alloc_calls(), calls);
    ti_arena_ring_fini(&ring);
    assert_int_equal(ti_alloc_live(), 0);
}

/* What was released serves the next arena, whichever it is: three windows are needed, and no more are kept. */
static void ring_shares_blocks(void **state)
{
    (void)state;
    enum { PIECES = 10000, SIZE = 112 };
    ti_arena_ring ring;
    ti_arena_ring_init(&ring);
    for (uint64_t h = 1; h < 100; h++) {
        for (int i = 0; i < PIECES; i++) {
            memset(ti_arena_alloc(ti_arena_ring_top(&ring), SIZE), 1, SIZE);
        }
        ti_arena_ring_advance(&ring, h);
        ti_arena_ring_release(&ring, h);
    }
    assert_in_range(ti_arena_ring_bytes(&ring), 2 * PIECES * SIZE, 3 * PIECES * SIZE);
    ti_arena_ring_fini(&ring);
    assert_int_equal(ti_alloc_live(), 0);
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_stay),
        cmocka_unit_test(same_work_allocates_once),
        cmocka_unit_test(ring_keeps_what_is_needed),
        cmocka_unit_test(ring_reaches_steady_state),
        cmocka_unit_test(ring_shares_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
