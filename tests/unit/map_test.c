/* The hash map against an array: random insertions, removals and look-ups, with keys that collide. */
#include "base/map.h"

#include "random.h"

enum { KEYS = 600 };

static uint64_t seed;

/* What the map should hold for key number i. */
typedef struct model {
    bool present[KEYS];
    uint64_t key[KEYS], value[KEYS];
    size_t count;
} model;

static void check_all(const ti_map *map, const model *m)
{
    assert_int_equal(map->count, m->count);
    for (int i = 0; i < KEYS; i++) {
        const uint64_t *found = ti_map_find(map, m->key[i]);
        assert_int_equal(found != NULL, m->present[i]);
        if (found) {
            assert_int_equal(*found, m->value[i]);
        }
    }
}

static void put(ti_map *map, model *m, size_t i, uint64_t value)
{
    uint64_t *at = ti_map_at(map, m->key[i]);
    assert_int_equal(*at, m->present[i] ? m->value[i] : 0);
    *at = m->value[i] = value;
    m->count += !m->present[i];
    m->present[i] = true;
}

static void drop(ti_map *map, model *m, size_t i)
{
    uint64_t value = 12345;
    assert_int_equal(ti_map_remove(map, m->key[i], &value), m->present[i]);
    assert_int_equal(value, m->present[i] ? m->value[i] : 12345);
    m->count -= m->present[i];
    m->present[i] = false;
}

/* Keys of `kind` 0 are dense, of 1 random, of 2 such that their hashes end in few bit patterns. */
static void make_keys(model *m, rng *r, int kind)
{
    uint64_t next = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (kind == 1) {
            next = rng_next(r);
        } else {
            next++;
            while (kind == 2 && ti_hash64(next) % 512 > 3 && ti_hash64(next) % 512 < 510) {
                next++;
            }
        }
        m->key[i] = next;
    }
}

static void against_model(void **state)
{
    (void)state;
    rng r = rng_from(seed);
    for (int kind = 0; kind < 3; kind++) {
        model m = { .count = 0 };
        ti_map map = { 0 };
        make_keys(&m, &r, kind);
        assert_null(ti_map_find(&map, 1));
        assert_false(ti_map_remove(&map, 1, NULL));
        for (int step = 0; step < 20000; step++) {
            size_t i = (size_t)rng_between(&r, 0, step / 3000 % 2 ? KEYS - 1 : 40);
            if (rng_between(&r, 0, 9) < (step / 5000 % 2 ? 7 : 4)) {
                drop(&map, &m, i);
            } else {
                put(&map, &m, i, rng_next(&r));
            }
            if (step % 64 == 0) {
                check_all(&map, &m);
            }
        }
        check_all(&map, &m);
        ti_map_fini(&map);
        assert_int_equal(ti_alloc_live(), 0);
    }
}

static void zero_is_a_key(void **state)
{
    (void)state;
    ti_map map = { 0 };
    *ti_map_at(&map, 0) = 5;
    *ti_map_at(&map, UINT64_MAX) = 6;
    assert_int_equal(*ti_map_find(&map, 0), 5);
    assert_int_equal(*ti_map_find(&map, UINT64_MAX), 6);
    assert_true(ti_map_remove(&map, 0, NULL));
    assert_null(ti_map_find(&map, 0));
    ti_map_fini(&map);
}

static void hash_of_words(void **state)
{
    (void)state;
    uint64_t a[3] = { 1, 2, 3 }, b[3] = { 1, 2, 4 }, c[3] = { 2, 1, 3 };
    uint64_t h = ti_hash_words(a, sizeof(a), 0);
    assert_true(h == ti_hash_words(a, sizeof(a), 0));
    assert_true(h != ti_hash_words(b, sizeof(b), 0));
    assert_true(h != ti_hash_words(c, sizeof(c), 0));
    assert_true(h != ti_hash_words(a, sizeof(a), 1));
    assert_true(h != ti_hash_words(a, 2 * sizeof(*a), 0));
}

int main(int argc, char **argv)
{
    seed = test_seed(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(against_model), cmocka_unit_test(zero_is_a_key),
                                        cmocka_unit_test(hash_of_words) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
