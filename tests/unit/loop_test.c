/* Loops (plan/track/loop.h): rounds of any length are found, and only what repeats itself. */
#include "gen.h"
#include "plan/track/loop.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void end(ti_loop *l, uint64_t word)
{
    ti_loop_note(l, word);
    ti_loop_end_segment(l);
}

/* How many segments pass until a round is seen, of which there are `round`, all different. */
static int until_seen(ti_loop *l, uint64_t base, size_t round)
{
    int segments = 0;
    do {
        end(l, base + (uint64_t)segments % round);
        segments++;
    } while (ti_loop_round(l) == 0 && segments < 10 * TI_LOOP_SEGMENTS);
    return segments;
}

static void rounds_are_found(void **state)
{
    (void)state;
    for (size_t round = 1; round <= 256; round++) {
        ti_loop *l = TI_NEW(ti_loop);
        assert_int_equal(until_seen(l, 1000, round), round == 1 ? 3 : 2 * round + 1);
        assert_int_equal(ti_loop_round(l), round);
        ti_loop_forget(l); /* the same once more, after something else */
        end(l, 7);
        assert_int_equal(until_seen(l, 1000, round), round == 1 ? 3 : 2 * round + 1);
        assert_int_equal(ti_loop_round(l), round);
        ti_loop_fini(l);
        TI_DELETE(l);
    }
}

/* Long ones are looked for once there have been no short ones for a while; and from then on as these are. */
static void long_rounds_are_found(void **state)
{
    (void)state;
    for (size_t round = 257; round <= TI_LOOP_SEGMENTS; round += round < 260 || round > TI_LOOP_SEGMENTS - 3 ? 1 : 31) {
        ti_loop *l = TI_NEW(ti_loop);
        assert_true((size_t)until_seen(l, 1000, round) <= 5 * round);
        assert_int_equal(ti_loop_round(l), round);
        ti_loop_forget(l);
        end(l, 7);
        assert_int_equal(until_seen(l, 1000, round), 2 * round + 1);
        assert_int_equal(ti_loop_round(l), round);
        ti_loop_fini(l);
        TI_DELETE(l);
    }
}

/* Longer ones are not, nor is there one where nothing comes again. */
static void others_are_not(void **state)
{
    (void)state;
    ti_loop *l = TI_NEW(ti_loop);
    assert_int_equal(until_seen(l, 0, TI_LOOP_SEGMENTS + 1), 10 * TI_LOOP_SEGMENTS);
    for (uint64_t i = 0; i < 5000; i++) {
        end(l, 100000 + i);
        assert_int_equal(ti_loop_round(l), 0);
    }
    ti_loop_fini(l);
    TI_DELETE(l);
}

/* What is seen as a round has been twice, whatever comes. */
static void what_is_seen_has_been(void **state)
{
    (void)state;
    enum { SEGMENTS = 4000 };
    static uint64_t word[SEGMENTS];
    int seen = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        gen_rng rng = { gen_mix(seed) };
        ti_loop *l = TI_NEW(ti_loop);
        const int64_t kinds = gen_between(&rng, 2, 30), length = gen_between(&rng, 1, 40);
        for (int64_t i = 0; i < SEGMENTS; i++) {
            const bool again = i >= length && !gen_chance(&rng, 1);
            word[i] = again ? word[i - length] : (uint64_t)gen_between(&rng, 1, kinds);
            end(l, word[i]);
            const int64_t round = (int64_t)ti_loop_round(l);
            for (int64_t k = 0; k < round; k++) {
                assert_int_equal(word[i - k], word[i - k - round]);
            }
            seen += round > 0;
        }
        ti_loop_fini(l);
        TI_DELETE(l);
    }
    assert_true(seen > SEGMENTS);
}

/* A round that was of no use is tried again at once, since what was before the loop may not have been forgotten; then
 * less and less often. One that was of use, at once. */
static void failures_pause(void **state)
{
    (void)state;
    ti_loop *l = TI_NEW(ti_loop);
    for (int i = -1; i < 6; i++) {
        const int segments = until_seen(l, 0, 5);
        assert_int_equal(ti_loop_round(l), i < 0 ? 5 : 5 * (1 + i % 4));
        assert_true(i <= 0 || segments >= 5 << i);
        assert_true(i != 0 || segments <= 3 * 5 + 1); /* the loop is interrupted, and two rounds of it are seen */
        l->phase = TI_LOOP_RECORDS;
        ti_loop_give_up(l, false);
    }
    l->phase = TI_LOOP_REPEATS;
    ti_loop_give_up(l, true);
    assert_true(until_seen(l, 0, 5) <= 11);
    ti_loop_fini(l);
    TI_DELETE(l);
}

/* A pass of some equal segments and one other: the equal ones are a round, until two passes have been. What that round
 * has repeated counts, however long. */
static void loops_in_loops_are_found(void **state)
{
    (void)state;
    for (uint64_t inner = 4; inner < TI_LOOP_SEGMENTS; inner += 7) {
        ti_loop *l = TI_NEW(ti_loop);
        int passes = 0;
        for (size_t round = 0; round <= 1 && passes < 10; passes++) {
            uint64_t done = 0;
            while (done < inner && round <= 1) {
                end(l, 1);
                done++;
                round = ti_loop_round(l);
                if (round == 1) { /* recorded by the next segment, and repeated up to the end of the pass */
                    const uint64_t repeated = inner - TI_MIN(inner, done + 1);
                    end(l, 1);
                    ti_loop_go_on(l, repeated);
                    done += 1 + repeated;
                }
            }
            if (round <= 1) {
                end(l, 2);
                round = ti_loop_round(l);
            }
            assert_true(round <= 1 || round == inner + 1);
        }
        assert_true(passes <= (inner < TI_LOOP_SEGMENTS / 2 ? 4 : 5));
        ti_loop_fini(l);
        TI_DELETE(l);
    }
}

/* A long round that ends with a short loop: that is found each time, and repeated for a while, and so is the long one
 * in the end. */
static void short_loops_do_not_hide_long_rounds(void **state)
{
    (void)state;
    enum { ROWS = 300, PASSES = 20 };
    for (uint64_t inner = 2; inner <= 30; inner += 4) {
        ti_loop *l = TI_NEW(ti_loop);
        size_t longest = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            for (uint64_t i = 0; i < ROWS; i++) {
                end(l, 1000 + i);
                longest = TI_MAX(longest, ti_loop_round(l));
            }
            for (uint64_t i = 0; i < inner; i++) {
                end(l, 1 + i % 2);
                const size_t round = ti_loop_round(l);
                longest = TI_MAX(longest, round);
                if (round == 2 && i + 3 < inner) { /* recorded, and repeated up to the end of the pass */
                    end(l, 1 + (i + 1) % 2);
                    end(l, 1 + i % 2);
                    ti_loop_go_on(l, inner - i - 3);
                    i = inner;
                }
            }
        }
        assert_true(longest >= ROWS + inner);
        ti_loop_fini(l);
        TI_DELETE(l);
    }
}

/* A stage that records and repeats what is found, as cycles do: how many segments come until a round of `wanted` of
 * them is recorded. */
static uint64_t until_repeated(const uint64_t *word, uint64_t count, size_t wanted)
{
    enum { WORTH = 2 };
    ti_loop *l = TI_NEW(ti_loop);
    uint64_t recorded_from = 0, found = count;
    for (uint64_t i = 0; i < count && found == count;) {
        end(l, word[i++]);
        size_t round = l->phase == TI_LOOP_LOOKS ? ti_loop_round(l) : 0;
        if (!round) {
            continue;
        }
        if (round % wanted == 0) {
            found = i;
        }
        l->phase = TI_LOOP_RECORDS;
        recorded_from = i;
        for (size_t k = 0; k < round && i < count; k++) {
            end(l, word[i++]);
        }
        uint64_t repeated = 0;
        l->phase = TI_LOOP_REPEATS;
        while (i < count && word[i] == word[recorded_from + repeated % round]) {
            repeated++;
            i++;
        }
        ti_loop_give_up(l, repeated / round >= WORTH);
        ti_loop_go_on(l, repeated);
    }
    ti_loop_fini(l);
    TI_DELETE(l);
    return found;
}

/* Solutions by iterations: a start and some iterations of three tasks, with a horizon after every four tasks. A
 * solution need not be whole segments, so several of them are a round. */
static void solutions_are_found(void **state)
{
    (void)state;
    enum { PER_SEGMENT = 4, ROUNDS = 12 };
    static uint64_t word[TI_LOOP_SEGMENTS * ROUNDS];
    for (uint64_t iterations = 2; iterations <= 60; iterations++) {
        const uint64_t tasks = 1 + 3 * iterations;
        const size_t wanted = (size_t)(tasks % 4 == 0 ? tasks / 4 : tasks % 2 == 0 ? tasks / 2 : tasks);
        const uint64_t count = ROUNDS * wanted;
        for (uint64_t i = 0; i < count; i++) {
            word[i] = 0;
            for (uint64_t t = PER_SEGMENT * i; t < PER_SEGMENT * (i + 1); t++) {
                word[i] = 10 * word[i] + (t % tasks ? 1 + t % tasks % 3 : 9);
            }
        }
        assert_true(until_repeated(word, count, wanted) <= 2 * wanted + wanted / 3 + 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_found),
        cmocka_unit_test(long_rounds_are_found),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(what_is_seen_has_been),
        cmocka_unit_test(failures_pause),
        cmocka_unit_test(loops_in_loops_are_found),
        cmocka_unit_test(short_loops_do_not_hide_long_rounds),
        cmocka_unit_test(solutions_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
