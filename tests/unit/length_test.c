/* How many parts kernels get by how long they took, and what is forgotten. */
#include "device/length.h"

#include "random.h"

/* A function, by an address that is the same in every run: with others two kernels may have one place. */
enum { FUNCTION = 0x401136 };

static int parts(ti_lengths *l, uint64_t items, ti_length_name *name)
{
    return ti_lengths_parts(l, FUNCTION, items, 8, name);
}

static void by_what_they_took(void **state)
{
    (void)state;
    ti_lengths l = { .launches = { 0 } };
    ti_length_name name, other;
    assert_int_equal(parts(&l, 100, &name), 8);
    assert_true(name.is_measured);
    assert_int_equal(parts(&l, 100, &name), 8); /* nobody has noted anything */
    assert_true(name.is_measured);
    ti_lengths_note(&l, &name, 20 * TI_PART_NS);
    assert_int_equal(parts(&l, 100, &name), 8);
    ti_lengths_note(&l, &name, 3 * TI_PART_NS + 1); /* a shorter time counts at once */
    assert_int_equal(parts(&l, 100, &name), 3);
    ti_lengths_note(&l, &name, TI_PART_NS - 1);
    assert_int_equal(parts(&l, 100, &name), 1);
    assert_int_equal(parts(&l, 101, &other), 8); /* another number of items is another kernel */
    int launches = 0;
    while (parts(&l, 100, &name) < 8) { /* a longer one slowly, but it does */
        ti_lengths_note(&l, &name, 20 * TI_PART_NS);
        assert_in_range(++launches, 1, 8);
    }
    assert_in_range(launches, 3, 8);
}

static void some_are_measured(void **state)
{
    (void)state;
    enum { LAUNCHES = 80 };
    ti_lengths l = { .launches = { 0 } };
    ti_length_name name;
    int measured = 0;
    (void)parts(&l, 1, &name);
    ti_lengths_note(&l, &name, 1);
    for (int i = 0; i < LAUNCHES; i++) {
        (void)parts(&l, 1, &name); /* not launched: does not count */
        ti_lengths_drop(&l, &name);
        (void)parts(&l, 1, &name);
        measured += name.is_measured;
    }
    assert_int_equal(measured, LAUNCHES / 8);
}

/* As many kernels as there are ways are known side by side, wherever their functions lie. */
static void neighbours_stay(void **state)
{
    (void)state;
    rng r = rng_from(42);
    for (int round = 0; round < 20000; round++) {
        ti_lengths l = { .launches = { 0 } };
        uintptr_t function[TI_LENGTH_WAYS];
        ti_length_name name;
        for (int k = 0; k < TI_LENGTH_WAYS; k++) {
            function[k] = (uintptr_t)(rng_next(&r) >> 16);
            assert_int_equal(ti_lengths_parts(&l, function[k], 10, 8, &name), 8);
            ti_lengths_note(&l, &name, (uint64_t)(k % 7 + 1) * TI_PART_NS);
        }
        for (int k = 0; k < TI_LENGTH_WAYS; k++) {
            assert_int_equal(ti_lengths_parts(&l, function[k], 10, 8, &name), k % 7 + 1);
        }
    }
}

/* More kernels than places: each is either known as it is, or not at all. */
static void places_are_lost(void **state)
{
    (void)state;
    enum { KERNELS = 4 * TI_LENGTHS };
    ti_lengths l = { .launches = { 0 } };
    ti_length_name name[KERNELS];
    int known = 0;
    for (uint64_t i = 0; i < KERNELS; i++) {
        assert_int_equal(parts(&l, i, &name[i]), 8);
    }
    for (uint64_t i = 0; i < KERNELS; i++) { /* most have lost their places by now */
        ti_lengths_note(&l, &name[i], (1 + i % 5) * TI_PART_NS);
    }
    for (uint64_t i = KERNELS; i-- > 0;) {
        ti_length_name again;
        int count = parts(&l, i, &again);
        assert_true(count == 8 || count == (int)(1 + i % 5));
        known += count != 8;
    }
    assert_in_range(known, TI_LENGTHS / 2, TI_LENGTHS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_what_they_took), cmocka_unit_test(some_are_measured),
                                        cmocka_unit_test(neighbours_stay), cmocka_unit_test(places_are_lost) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
