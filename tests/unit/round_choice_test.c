/* Which kernels of a round are cut, by how long rounds take: a machine whose kernels take this or that is simulated. */
#include "exec/round_choice.h"

#include "random.h"

enum { KERNELS = 4, MANY_ROUNDS = 200 * 1000 };

/* How long a round takes: each kernel by itself, and more where one that is cut meets one that is not. */
typedef struct machine {
    uint64_t cut[KERNELS], whole[KERNELS], moves;
    size_t choice[KERNELS];
    uint64_t clock;
    int slow_every; /* one round of so many is disturbed; 0: none */
    uint64_t reads; /* of the clock */
} machine;

static uint64_t round_of(const machine *m, const ti_round_choices *c)
{
    uint64_t ns = 0;
    for (int k = 0; k < KERNELS; k++) {
        const bool is = ti_round_choices_cuts(c, m->choice[k]),
                   before = ti_round_choices_cuts(c, m->choice[(k + KERNELS - 1) % KERNELS]);
        ns += (is ? m->cut[k] : m->whole[k]) + (is != before ? m->moves : 0);
    }
    return ns;
}

static void run_rounds(machine *m, ti_round_choices *c, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        if (ti_round_choices_is_due(c)) {
            ti_round_choices_next(c, m->clock);
            m->reads++;
        }
        m->clock += round_of(m, c) + (m->slow_every && r % m->slow_every == 0 ? 300 * 1000 : 0);
    }
}

static void begin(machine *m, ti_round_choices *c, bool cut)
{
    m->clock = 1000;
    for (uint64_t k = 0; k < KERNELS; k++) {
        m->choice[k] = ti_round_choices_add(c, 100 + k, cut, true);
        assert_int_equal(m->choice[k], k);
    }
    ti_round_choices_begin(c);
}

static void expect(const ti_round_choices *c, unsigned cut)
{
    for (size_t k = 0; k < KERNELS; k++) {
        assert_int_equal(c->choice.data[k].is_cut, cut >> k & 1);
    }
}

/* Each of them is better cut or not, however it begins. */
static void each_finds_its_own(void **state)
{
    (void)state;
    for (unsigned best = 0; best < 1 << KERNELS; best++) {
        for (int cut = 0; cut < 2; cut++) {
            ti_round_choices c = { .trial = 0 };
            machine m = { .moves = 0 };
            for (int k = 0; k < KERNELS; k++) {
                m.cut[k] = best >> k & 1 ? 1000 : 2000;
                m.whole[k] = 3000 - m.cut[k];
            }
            begin(&m, &c, cut);
            run_rounds(&m, &c, MANY_ROUNDS);
            expect(&c, best);
            ti_round_choices_fini(&c);
        }
    }
}

/* One by itself would be worse, since what it needs moves: but all together are better. */
static void all_change_together(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        ti_round_choices c = { .trial = 0 };
        machine m = { .moves = 2000 };
        for (int k = 0; k < KERNELS; k++) {
            m.cut[k] = cut ? 1500 : 1000;
            m.whole[k] = cut ? 1000 : 1500;
        }
        begin(&m, &c, cut);
        run_rounds(&m, &c, MANY_ROUNDS);
        expect(&c, cut ? 0 : (1 << KERNELS) - 1);
        ti_round_choices_fini(&c);
    }
}

/* What does not differ by much stays, also where some rounds are disturbed. */
static void little_changes_nothing(void **state)
{
    (void)state;
    ti_round_choices c = { .trial = 0 };
    machine m = { .slow_every = 977 };
    for (int k = 0; k < KERNELS; k++) {
        m.cut[k] = 1000;
        m.whole[k] = 995;
    }
    begin(&m, &c, true);
    run_rounds(&m, &c, MANY_ROUNDS);
    expect(&c, (1 << KERNELS) - 1);
    /* And it is tried more and more rarely. */
    const uint64_t reads = m.reads;
    run_rounds(&m, &c, MANY_ROUNDS);
    assert_true(m.reads - reads < reads / 2);
    ti_round_choices_fini(&c);
}

/* Cores may move. */
static void it_is_tried_again(void **state)
{
    (void)state;
    ti_round_choices c = { .trial = 0 };
    machine m = { .moves = 0 };
    for (int k = 0; k < KERNELS; k++) {
        m.cut[k] = 1000;
        m.whole[k] = 1500;
    }
    begin(&m, &c, true);
    run_rounds(&m, &c, MANY_ROUNDS);
    expect(&c, (1 << KERNELS) - 1);
    for (int k = 0; k < KERNELS; k++) {
        m.cut[k] = 2500;
    }
    run_rounds(&m, &c, 4 * MANY_ROUNDS);
    expect(&c, 0);
    ti_round_choices_fini(&c);
}

/* What is worse is given up soon: of some hundred blocks all but a few are as they were. */
static void what_is_worse_is_given_up(void **state)
{
    enum { US = 1000 };
    (void)state;
    ti_round_choices c = { .trial = 0 };
    machine m = { .moves = 0 };
    for (int k = 0; k < KERNELS; k++) {
        m.cut[k] = 190 * US;
        m.whole[k] = 290 * US;
    }
    begin(&m, &c, true);
    const uint64_t begun = m.clock;
    run_rounds(&m, &c, 100);
    expect(&c, (1 << KERNELS) - 1);
    /* Two blocks of a round each with all whole, and two with each of them. */
    const uint64_t lost = 2 * KERNELS * 100 * US + 2 * KERNELS * 100 * US;
    assert_int_equal(m.clock - begun, 100 * KERNELS * 190 * US + lost);
    ti_round_choices_fini(&c);
}

/* Loops of long rounds may have ended soon: nothing is tried at first. */
static void long_rounds_come_first(void **state)
{
    enum { US = 1000 };
    (void)state;
    ti_round_choices c = { .trial = 0 };
    machine m = { .moves = 0 };
    for (int k = 0; k < KERNELS; k++) {
        m.cut[k] = 300 * US;
        m.whole[k] = 290 * US;
    }
    begin(&m, &c, true);
    run_rounds(&m, &c, 100);
    assert_int_equal(m.clock, 1000 + 100 * KERNELS * 300 * US);
    run_rounds(&m, &c, 100);
    expect(&c, 0);
    ti_round_choices_fini(&c);
}

/* What is known of earlier rounds is neither tried nor kept for ever. */
static void earlier_rounds_cost_nothing(void **state)
{
    enum { MANY = 5000, BOUND = 300, MINE = 1 };
    (void)state;
    ti_round_choices c = { .trial = 0 };
    for (uint64_t k = 0; k < MANY; k++) {
        ti_round_choices_clear(&c);
        const size_t own = ti_round_choices_add(&c, MINE, false, true);
        const size_t other = ti_round_choices_add(&c, 100 + k, true, true);
        assert_true(own != other && c.choice.count < BOUND);
    }
    ti_round_choices_clear(&c);
    const size_t own = ti_round_choices_add(&c, MINE, false, true);
    ti_round_choices_begin(&c);
    uint64_t clock = 1000, tried = 0;
    for (int r = 0; r < 2000; r++) {
        if (ti_round_choices_is_due(&c)) {
            ti_round_choices_next(&c, clock);
        }
        for (size_t k = 0; k < c.choice.count; k++) {
            assert_true(k == own || !c.choice.data[k].tries);
        }
        tried += c.choice.data[own].tries;
        clock += ti_round_choices_cuts(&c, own) ? 310 * 1000 : 300 * 1000;
    }
    assert_true(tried > 0 && !c.choice.data[own].is_cut);
    ti_round_choices_fini(&c);
}

/* What must be as it is stays, and what is known of others holds when they come again. */
static void some_have_no_choice(void **state)
{
    (void)state;
    ti_round_choices c = { .trial = 0 };
    machine m = { .moves = 0 };
    for (int k = 0; k < KERNELS; k++) {
        m.cut[k] = 1000;
        m.whole[k] = 2000;
    }
    begin(&m, &c, false);
    ti_round_choices_add(&c, 101, false, false);
    run_rounds(&m, &c, MANY_ROUNDS);
    expect(&c, 0xd);
    assert_int_equal(ti_round_choices_add(&c, 100, false, true), 0);
    assert_true(c.choice.data[0].is_cut);
    ti_round_choices_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_finds_its_own),          cmocka_unit_test(all_change_together),
        cmocka_unit_test(little_changes_nothing),      cmocka_unit_test(it_is_tried_again),
        cmocka_unit_test(what_is_worse_is_given_up),   cmocka_unit_test(long_rounds_come_first),
        cmocka_unit_test(earlier_rounds_cost_nothing), cmocka_unit_test(some_have_no_choice)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
