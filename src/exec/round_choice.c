/* Which kernels of a round are cut: see round_choice.h. */
#include "exec/round_choice.h"

#include "base/check.h"

/* A block takes so many nanoseconds at least, and a trial must be better by so many hundredths. Blocks between trials,
 * doubled so many times at most. Blocks as long as this are tried after a rest only: a trial of them takes so long that
 * the loop may have ended before that has paid. */
enum { BLOCK_NS = 200 * 1000, GAIN = 2, REST = 128, MAX_DOUBLINGS = 6, MAX_SIZE = 1 << 20, LONG_NS = 800 * 1000 };
/* Choices of earlier rounds. */
enum { MAX_KNOWN = 256 };

void ti_round_choices_fini(ti_round_choices *c)
{
    ti_vec_fini(&c->choice);
}

void ti_round_choices_clear(ti_round_choices *c)
{
    if (c->choice.count > MAX_KNOWN) {
        ti_vec_clear(&c->choice);
    }
    for (size_t i = 0; i < c->choice.count; i++) {
        c->choice.data[i].may_differ = false;
    }
}

size_t ti_round_choices_add(ti_round_choices *c, uint64_t kernel, bool is_cut, bool may_differ)
{
    for (size_t i = 0; i < c->choice.count; i++) {
        if (c->choice.data[i].kernel == kernel) {
            c->choice.data[i].may_differ = may_differ;
            c->choice.data[i].is_cut = may_differ ? c->choice.data[i].is_cut : is_cut;
            return i;
        }
    }
    ti_vec_push(&c->choice, ((ti_round_choice){ .kernel = kernel, .is_cut = is_cut, .may_differ = may_differ }));
    return c->choice.count - 1;
}

/* ---- what is tried: all cut, none cut, each one by itself */

static size_t trials(const ti_round_choices *c)
{
    return 2 + c->choice.count;
}

static bool is_other(const ti_round_choices *c, size_t trial, size_t i)
{
    const ti_round_choice *is = &c->choice.data[i];
    return is->may_differ && (trial == 1 ? !is->is_cut : trial == 2 ? is->is_cut : trial == 3 + i);
}

/* Whether anything would be another one. */
static bool set_trial(ti_round_choices *c, size_t trial)
{
    bool any = false;
    for (size_t i = 0; i < c->choice.count; i++) {
        c->choice.data[i].tries = trial && is_other(c, trial, i);
        any |= c->choice.data[i].tries;
    }
    return any;
}

static void rest(ti_round_choices *c)
{
    c->trial = 0;
    set_trial(c, 0);
    c->fruitless = c->gained ? 0 : TI_MIN(c->fruitless + 1, (uint32_t)MAX_DOUBLINGS);
    c->left = c->size * ((uint64_t)REST << c->fruitless);
    c->begun = 0;
}

/* The next one that is any other than what is; blocks of what is and of that one, in turns. */
static void start_trial(ti_round_choices *c)
{
    while (++c->trial <= trials(c) && !set_trial(c, c->trial)) {
    }
    c->blocks = 0;
    set_trial(c, 0);
    if (c->trial > trials(c)) {
        rest(c);
    }
}

/* Of the pairs so far. */
static uint32_t worse_ones(const ti_round_choices *c)
{
    uint32_t worse = 0;
    for (uint32_t p = 0; p < c->blocks / 2; p++) {
        worse += c->ns[1][p] * 100 >= c->ns[0][p] * (100 - GAIN);
    }
    return worse;
}

/* It must be better in all pairs but one, so it ends with the second that is worse. */
static bool is_decided(const ti_round_choices *c)
{
    return c->blocks == 2 * TI_ROUND_PAIRS || (c->blocks % 2 == 0 && worse_ones(c) > 1);
}

static void end_trial(ti_round_choices *c)
{
    if (worse_ones(c) <= 1) {
        c->gained = true;
        for (size_t i = 0; i < c->choice.count; i++) {
            ti_round_choice *is = &c->choice.data[i];
            is->is_cut = is->is_cut != is_other(c, c->trial, i);
        }
    }
    start_trial(c);
}

void ti_round_choices_begin(ti_round_choices *c)
{
    set_trial(c, 0);
    c->trial = 0;
    c->size = 1;
    c->left = c->begun = 0;
    c->fruitless = 0;
    c->rested = false;
}

void ti_round_choices_next(ti_round_choices *c, uint64_t now)
{
    const uint64_t ns = now - c->begun;
    const bool is_measured = c->begun > 0;
    TI_ASSERT(c->size > 0 && c->left == 0);
    c->begun = now;
    if (is_measured && c->trial) {
        c->ns[c->blocks & 1][c->blocks / 2] = ns;
        c->blocks++;
        if (is_decided(c)) {
            end_trial(c);
        } else {
            set_trial(c, c->blocks & 1 ? c->trial : 0);
        }
    } else if (is_measured && ns < BLOCK_NS && c->size < MAX_SIZE) {
        c->size *= 2;
    } else if (is_measured && ns >= LONG_NS && !c->rested) {
        c->rested = true;
        c->begun = 0;
        c->left = REST;
    } else if (is_measured) {
        c->gained = false;
        start_trial(c);
    }
    if (c->begun) { /* else it rests */
        c->left = c->size - 1;
    }
}
