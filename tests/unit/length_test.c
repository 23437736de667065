/* How many parts kernels get by how long they took, what is tried, and what is forgotten. */
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
    ti_lengths_note(&l, &name, 20 * TI_PART_NS, 1);
    assert_int_equal(parts(&l, 100, &name), 8);
    ti_lengths_note(&l, &name, 3 * TI_PART_NS + 1, 1); /* a shorter time counts at once */
    assert_int_equal(parts(&l, 100, &name), 3);
    ti_lengths_note(&l, &name, TI_PART_NS - 1, 1);
    assert_int_equal(parts(&l, 100, &name), 1);
    assert_int_equal(parts(&l, 101, &other), 8); /* another number of items is another kernel */
    int launches = 0;
    while (parts(&l, 100, &name) < 8) { /* a longer one slowly, but it does */
        ti_lengths_note(&l, &name, 20 * TI_PART_NS, 1);
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
    ti_lengths_note(&l, &name, 1, 1);
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
            ti_lengths_note(&l, &name, (uint64_t)(k % 7 + 1) * TI_PART_NS, 1);
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
        ti_lengths_note(&l, &name[i], (1 + i % 5) * TI_PART_NS, 1);
    }
    for (uint64_t i = KERNELS; i-- > 0;) {
        ti_length_name again;
        int count = parts(&l, i, &again);
        assert_true(count == 8 || count == (int)(1 + i % 5));
        known += count != 8;
    }
    assert_in_range(known, TI_LENGTHS / 2, TI_LENGTHS);
}

/* A loop of two kernels that always take as long; a round has so many microseconds by the parts of the first. */
typedef struct loop {
    ti_lengths lengths;
    uint64_t now;
    const uint8_t *us; /* by parts; 0: they are never that many */
} loop;

/* How many rounds had so many parts. */
static void run_loop(loop *l, int rounds, int count[9])
{
    enum { BOTH_NS = 8 * TI_PART_NS, OTHER = FUNCTION + 64 };
    for (int i = 0; i < rounds; i++) {
        ti_length_name name, other;
        const int n = parts(&l->lengths, 100, &name);
        const int whole = ti_lengths_parts(&l->lengths, OTHER, 7, 1, &other);
        assert_in_range(n, 1, 8);
        assert_int_equal(whole, 1);
        assert_true(l->us[n] > 0);
        count[n]++;
        l->now += (uint64_t)l->us[n] * 1000;
        if (name.is_measured) {
            ti_lengths_note(&l->lengths, &name, BOTH_NS, l->now);
        }
        if (other.is_measured) {
            ti_lengths_note(&l->lengths, &other, 100, l->now);
        }
    }
}

static void what_a_round_takes_decides(void **state)
{
    (void)state;
    enum { ROUNDS = 100 * 1000, TRIALS = 20 };
    static loop l = { .now = 1 };
    int first[9] = { 0 }, then[9] = { 0 }, last[9] = { 0 };
    l.us = (const uint8_t[9]){ 0, 20, 12, 0, 16, 0, 0, 0, 20 };
    run_loop(&l, ROUNDS, first);
    assert_true(first[2] > ROUNDS * 9 / 10); /* by halves from eight, which its length says */
    l.us = (const uint8_t[9]){ 0, 20, 16, 0, 15, 0, 0, 0, 11 };
    run_loop(&l, 4 * ROUNDS, then); /* other cores, and another number is better */
    assert_true(then[8] > ROUNDS * 2);
    l.us = (const uint8_t[9]){ 0, 20, 16, 0, 11, 0, 0, 0, 11 }; /* no better: it stays */
    run_loop(&l, ROUNDS, last);
    assert_true(last[8] > ROUNDS - TRIALS * TI_TRIAL_LAUNCHES);
}

/* Kernels on trial that do not come again make room for others. */
static void a_trial_is_given_up(void **state)
{
    (void)state;
    static loop l = { .now = 1 };
    ti_length_name gone;
    int count[9] = { 0 };
    l.us = (const uint8_t[9]){ 0, 20, 12, 0, 16, 0, 0, 0, 20 };
    for (int i = 0; i < 2 * TI_TRIAL_LAUNCHES && l.lengths.tried == 0; i++) {
        (void)parts(&l.lengths, 5, &gone);
        ti_lengths_note(&l.lengths, &gone, 4 * TI_PART_NS, 1);
    }
    assert_true(l.lengths.tried != 0);
    run_loop(&l, 20 * 1000, count);
    assert_true(count[2] > 5 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_what_they_took),
                                        cmocka_unit_test(some_are_measured),
                                        cmocka_unit_test(neighbours_stay),
                                        cmocka_unit_test(places_are_lost),
                                        cmocka_unit_test(what_a_round_takes_decides),
                                        cmocka_unit_test(a_trial_is_given_up) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
