/* Which number of parts a trial says is better, and what counts. */
#include "device/trial.h"

#include "random.h"

enum { NOW = 4, OTHER = 2, A_TURN = TI_TRIAL_SETTLES + TI_TRIAL_COUNTS };

/* Launches until all are noted; each takes so long by its parts, and those of one turn so much longer. */
typedef struct course {
    uint64_t now_ns, other_ns;
    int slow_turn; /* none: -1 */
    uint64_t clock;
} course;

static uint64_t length_of(const course *c, int launch, int parts)
{
    const uint64_t ns = parts == NOW ? c->now_ns : c->other_ns;
    return launch / A_TURN == c->slow_turn ? 50 * ns : ns;
}

/* The better number; *launches: how many it took to know. */
static int run(ti_trial *t, course *c, int *launches)
{
    int i = 0;
    for (; !ti_trial_has_ended(t); i++) {
        uint32_t mark;
        assert_true(i < TI_TRIAL_LAUNCHES);
        const int parts = ti_trial_next(t, &mark);
        assert_int_equal(parts, (i / A_TURN ^ i / A_TURN / 2) % 2 ? OTHER : NOW);
        c->clock += length_of(c, i, parts);
        if (mark) {
            ti_trial_note(t, mark, c->clock);
        }
    }
    *launches = i;
    return ti_trial_better(t);
}

static int outcome(uint64_t now_ns, uint64_t other_ns, int slow_turn)
{
    ti_trial t = { .next = 0 };
    course c = { now_ns, other_ns, slow_turn, 1 };
    int launches, better;
    ti_trial_begin(&t, NOW, OTHER);
    better = run(&t, &c, &launches);
    /* Two pairs that gain nothing are enough. */
    assert_in_range(launches, 4 * A_TURN, better == OTHER ? TI_TRIAL_LAUNCHES : 6 * A_TURN);
    return better;
}

static void only_a_gain_counts(void **state)
{
    (void)state;
    assert_int_equal(outcome(1000, 900, -1), OTHER);
    assert_int_equal(outcome(1000, 970, -1), NOW);
    assert_int_equal(outcome(1000, 1000, -1), NOW);
    assert_int_equal(outcome(900, 1000, -1), NOW);
}

static void one_slow_turn_makes_no_difference(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2 * TI_TRIAL_TURNS; turn++) {
        assert_int_equal(outcome(1000, 900, turn), OTHER);
        assert_int_equal(outcome(900, 1000, turn), NOW);
        assert_int_equal(outcome(1000, 970, turn), NOW);
    }
}

/* All launches slow down by and by, or become faster, for whatever reason. */
static int outcome_of_drift(uint64_t ns, int64_t drift, bool gains)
{
    ti_trial t = { .next = 0 };
    uint64_t clock = 1;
    ti_trial_begin(&t, NOW, OTHER);
    for (int i = 0; i < TI_TRIAL_LAUNCHES; i++) {
        uint32_t mark;
        const int parts = ti_trial_next(&t, &mark);
        clock += gains && parts == OTHER ? ns * 7 / 10 : ns;
        ns += (uint64_t)drift;
        if (mark) {
            ti_trial_note(&t, mark, clock);
        }
    }
    assert_true(ti_trial_has_ended(&t));
    return ti_trial_better(&t);
}

static void drift_makes_no_difference(void **state)
{
    (void)state;
    assert_int_equal(outcome_of_drift(1000, 3, false), NOW);
    assert_int_equal(outcome_of_drift(1000, 3, true), OTHER);
    assert_int_equal(outcome_of_drift(2500, -3, false), NOW);
    assert_int_equal(outcome_of_drift(2500, -3, true), OTHER);
}

/* A launch that was not made after all is marked once more; and whoever notes one late has the next word. */
static void what_is_dropped_is_marked_again(void **state)
{
    (void)state;
    ti_trial t = { .next = 0 };
    uint32_t mark = 0, again, late = 0;
    int marks = 0;
    ti_trial_begin(&t, NOW, OTHER);
    for (int i = 0; i < TI_TRIAL_LAUNCHES; i++) {
        (void)ti_trial_next(&t, &mark);
        if (mark) {
            ti_trial_drop(&t, mark);
            (void)ti_trial_next(&t, &again);
            assert_int_equal(again, mark);
            late = late ? late : mark;
            marks++;
        }
        if (mark && mark != late) {
            ti_trial_note(&t, mark, (uint64_t)i + 1);
        }
    }
    assert_int_equal(marks, 4 * TI_TRIAL_TURNS);
    assert_false(ti_trial_has_ended(&t));
    assert_int_equal(ti_trial_next(&t, &mark), NOW); /* until it is known */
    assert_int_equal(mark, 0);
    ti_trial_note(&t, late, 1);
    assert_true(ti_trial_has_ended(&t));
}

static void earlier_trials_do_not_count(void **state)
{
    (void)state;
    ti_trial t = { .next = 0 };
    uint32_t mark = 0, old = 0;
    ti_trial_begin(&t, NOW, OTHER);
    while (!old) {
        (void)ti_trial_next(&t, &old);
    }
    ti_trial_begin(&t, NOW, OTHER);
    for (int i = 0; i < TI_TRIAL_LAUNCHES; i++) {
        (void)ti_trial_next(&t, &mark);
        if (mark && i > A_TURN) {
            ti_trial_note(&t, mark, (uint64_t)i);
        }
    }
    ti_trial_note(&t, old, 77);
    assert_false(ti_trial_has_ended(&t));
    assert_int_equal(t.end[0][0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_gain_counts),          cmocka_unit_test(one_slow_turn_makes_no_difference),
        cmocka_unit_test(drift_makes_no_difference),   cmocka_unit_test(what_is_dropped_is_marked_again),
        cmocka_unit_test(earlier_trials_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
